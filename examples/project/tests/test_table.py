from tidemark import render_table


def test_bars_are_in_proportion_and_fit_the_width():
    table = render_table([("INFO", 4), ("ERROR", 2)], width=24)
    assert table == "INFO   4 ███████████████\nERROR  2 ███████"
    assert max(map(len, table.splitlines())) == 24


def test_no_rows_make_no_table():
    assert render_table([]) == ""
