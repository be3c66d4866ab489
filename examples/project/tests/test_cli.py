from tidemark.cli import main


def test_a_file_is_summed_up(tmp_path, capsys):
    log = tmp_path / "app.log"
    log.write_text("2026-03-01 12:00:07 INFO ready\nnoise\n2026-03-01 12:00:08 INFO ready\n")
    assert main([str(log)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("2 entries, busiest hour 2026-03-01 12:00\n")
    assert shown.endswith("     2  ready\n")


def test_a_file_without_entries_is_an_error(tmp_path, capsys):
    log = tmp_path / "empty.log"
    log.write_text("")
    assert main([str(log)]) == 1
    assert capsys.readouterr().err == "tidemark: no log entries found\n"


def test_a_missing_file_is_named(tmp_path, capsys):
    missing = tmp_path / "no.log"
    assert main([str(missing)]) == 1
    assert capsys.readouterr().err == f"tidemark: {missing}: No such file or directory\n"
