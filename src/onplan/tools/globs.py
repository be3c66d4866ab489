"""Glob patterns over path components, in linear time for any pattern; knows no file system."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence

from onplan.errors import ToolError

_MAX_PATTERNS = 64
_NEVER = re.compile(r"(?!)")


def matcher(pattern: str) -> Callable[[tuple[str, ...]], bool]:
    """Whether path components match a glob: `**` is any number of them, `{a,b}` either, the rest as
    `fnmatch` has it within one component. Takes linear time for any pattern."""
    compiled = [[_component(part) for part in one.split("/")] for one in _expanded(pattern.rstrip("/"))]
    return lambda parts: any(_matches(parts, one) for one in compiled)


def _component(part: str) -> re.Pattern[str] | None:
    return None if part == "**" else re.compile(fnmatch.translate(part))


def _matches(parts: tuple[str, ...], pattern: Sequence[re.Pattern[str] | None]) -> bool:
    at = wanted = mark = 0
    star = -1
    while at < len(parts):
        one = pattern[wanted] if wanted < len(pattern) else _NEVER
        if one is None:
            star, mark = wanted, at
            wanted += 1
        elif one.match(parts[at]):
            at += 1
            wanted += 1
        elif star >= 0:
            mark += 1
            at, wanted = mark, star + 1
        else:
            return False
    return all(one is None for one in pattern[wanted:])


def _expanded(pattern: str) -> list[str]:
    """The patterns that the braces of one stand for. Braces that do not close are plain characters."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        if len(done) + len(waiting) > _MAX_PATTERNS:
            raise ToolError(f"the braces of the pattern stand for more than {_MAX_PATTERNS} patterns")
        one = waiting.pop()
        inner = re.search(r"\{([^{}]*,[^{}]*)\}", one)
        if inner is None:
            done.append(one)
            continue
        waiting += [one[: inner.start()] + choice + one[inner.end() :] for choice in inner[1].split(",")]
    return done
