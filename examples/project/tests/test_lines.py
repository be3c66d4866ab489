from datetime import datetime

import pytest

from tidemark import Entry, parse_line, read_entries


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-01 12:00:07 WARN disk is almost full",
        "2026-03-01T12:00:07Z WARNING disk is almost full\n",
        "[2026-03-01 12:00:07,123] [WARNING] disk is almost full",
        "2026-03-01T12:00:07.5+01:00 WARNING: disk is almost full",
    ],
)
def test_the_usual_formats_give_the_same_entry(line):
    assert parse_line(line) == Entry(datetime(2026, 3, 1, 12, 0, 7), "WARNING", "disk is almost full")


def test_other_lines_are_left_out():
    lines = ["Traceback (most recent call last):", "", "2026-03-01 12:00:07 ERROR it broke", "  File x.py"]
    assert [entry.message for entry in read_entries(lines)] == ["it broke"]
