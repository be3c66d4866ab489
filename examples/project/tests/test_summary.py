from tidemark import Summary, read_entries, shape_of, summarise

LOG = """\
2026-03-01 11:59:58 INFO user 'kim' logged in from 10.0.0.7
2026-03-01 12:00:07 INFO user 'lee' logged in from 10.0.0.9
2026-03-01 12:00:08 ERROR request 4711 failed after 2.5 s
"""


def test_messages_of_one_shape_are_counted_together():
    assert summarise(read_entries(LOG.splitlines())) == Summary(
        total=3,
        levels=(("INFO", 2), ("ERROR", 1)),
        messages=(("user <text> logged in from <ip>", 2), ("request <n> failed after <n> s", 1)),
        busiest_hour="2026-03-01 12:00",
    )


def test_only_the_most_frequent_messages_are_kept():
    assert len(summarise(read_entries(LOG.splitlines()), top=1).messages) == 1


def test_an_empty_log_has_an_empty_summary():
    assert summarise([]) == Summary(0, (), (), "")


def test_ids_are_replaced():
    assert shape_of("job 3f2c8a10-9b1d-4c55-8e21-0a4b6c7d8e9f done") == "job <id> done"
