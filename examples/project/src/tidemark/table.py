"""Draws small text tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def render_table(rows: Sequence[tuple[str, int]], width: int = 72) -> str:
    """A table of names and counts with a bar for each row.

    >>> print(render_table([("INFO", 4), ("ERROR", 2)], width=24))
    INFO   4 ███████████████
    ERROR  2 ███████
    """
    if not rows:
        return ""
    names = max(len(name) for name, _ in rows)
    digits = len(str(max(count for _, count in rows)))
    room = max(width - names - digits - 3, 1)
    most = max(max(count for _, count in rows), 1)
    return "\n".join(
        f"{name:<{names}}  {count:>{digits}} {'█' * (count * room // most)}" for name, count in rows
    )
