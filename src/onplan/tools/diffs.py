"""The difference of two texts in few lines, as an answer shows it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import msgspec

from onplan.tools.lines import lines_of

LONGEST = 60
"""Lines of a diff that are ever shown."""
_MAX_COMPARED = 1_000


class Diff(msgspec.Struct, frozen=True):
    """`added` and `removed` count lines; `lines` are those of the hunks, long ones cut."""

    added: int
    removed: int
    lines: tuple[str, ...]

    def shown(self, limit: int) -> list[str]:
        if len(self.lines) <= limit:
            return list(self.lines)
        return [*self.lines[: limit - 1], f"… ({len(self.lines) - limit + 1} more lines of the diff)"]


def diff_of(before: bytes, after: bytes) -> Diff:
    """The difference by lines, in hunks with the line numbers of both sides, as `diff -U2` writes it."""
    old, new = lines_of(before), lines_of(after)
    head, tail = common_ends(old, new)
    start = max(0, head - 2)
    old, new = old[start : len(old) - max(0, tail - 2)], new[start : len(new) - max(0, tail - 2)]
    added = removed = 0
    lines: list[str] = []
    for group in _groups(old, new, head - start, min(tail, 2)):
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        lines.append(f"@@ -{start + i1 + 1},{i2 - i1} +{start + j1 + 1},{j2 - j1} @@")
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                lines += _marked(" ", old[a1:a2])
                continue
            removed += a2 - a1
            added += b2 - b1
            lines += [*_marked("-", old[a1:a2]), *_marked("+", new[b1:b2])]
    return Diff(added, removed, tuple(lines))


def _groups(
    old: list[str], new: list[str], head: int, tail: int
) -> Iterator[list[tuple[str, int, int, int, int]]]:
    if max(len(old), len(new)) <= _MAX_COMPARED:
        import difflib  # with the first edit, not with every start

        yield from difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(2)
        return
    # Comparing takes time by the square of the lines: a large change is one block.
    a, b = len(old) - tail, len(new) - tail
    yield [("equal", 0, head, 0, head), ("replace", head, a, head, b), ("equal", a, a + tail, b, b + tail)]


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in itertools.islice(lines, LONGEST + 1):
        text = line.rstrip("\r\n")
        yield mark + (text if len(text) <= 200 else f"{text[:200]}…")


def common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines the two begin with in common, and how many of the rest they end with."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - head
    return head, next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
