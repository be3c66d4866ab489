"""Reads log lines: time, level and message, in the formats that most programs write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

_LINE = re.compile(
    r"\[?(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)\S*\s+"
    r"\[?(?P<level>DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\]?:?\s+"
    r"(?P<message>.*)"
)
_SAME_LEVEL = {"WARN": "WARNING", "FATAL": "CRITICAL"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a log, taken apart."""

    time: datetime
    level: str
    message: str


def parse_line(line: str) -> Entry | None:
    """Take one log line apart; a line of another kind gives `None`.

    >>> entry = parse_line("2026-03-01 12:00:07 WARN disk is almost full")
    >>> entry.level, entry.message
    ('WARNING', 'disk is almost full')
    """
    match = _LINE.match(line.strip())
    if match is None:
        return None
    level = _SAME_LEVEL.get(match["level"], match["level"])
    return Entry(datetime.fromisoformat(match["time"]), level, match["message"])


def read_entries(lines: Iterable[str]) -> Iterator[Entry]:
    """The entries among `lines`; what is no entry, such as a traceback, is left out."""
    return (entry for line in lines if (entry := parse_line(line)))
