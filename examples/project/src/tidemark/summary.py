"""Counts entries: by level, by shape of message and by hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tidemark.lines import Entry
from tidemark.shapes import shape_of


@dataclass(frozen=True, slots=True)
class Summary:
    """What a log comes to. Each list is sorted by count, the largest first."""

    total: int
    levels: tuple[tuple[str, int], ...]
    messages: tuple[tuple[str, int], ...]
    busiest_hour: str


def summarise(entries: Iterable[Entry], top: int = 5) -> Summary:
    """Count entries and keep the `top` most frequent messages."""
    levels: Counter[str] = Counter()
    shapes: Counter[str] = Counter()
    hours: Counter[str] = Counter()
    for entry in entries:
        levels[entry.level] += 1
        shapes[shape_of(entry.message)] += 1
        hours[f"{entry.time:%Y-%m-%d %H:00}"] += 1
    busiest = max(hours, key=lambda hour: (hours[hour], hour), default="")
    return Summary(levels.total(), _sorted(levels), _sorted(shapes)[:top], busiest)


def _sorted(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
