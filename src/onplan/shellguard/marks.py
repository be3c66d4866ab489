"""Characters that stand for what plain text cannot say inside an expanded word; knows nothing of trees."""

from __future__ import annotations

import re
from itertools import islice

# Noncharacters of Unicode: no text that means anything holds them, and a line that does is asked.
UNKNOWN = "\ufdd0"
"""Any text at all, blanks and slashes included."""
SOME = "\ufdd1"
"""A name, or a path below a directory, that cannot lead out of it: never empty, no `..`."""
STAR, QUEST, CLASS = "\ufdd2", "\ufdd3", "\ufdd4"
"""The unquoted `*`, `?` and `[`: they match names."""
STREAM = "\ufdd5"
"""Begins a word that is a process substitution; the rest of the word is what could be read from it."""
FILE = "\ufdd6"
"""As standard input: the contents of a file that the line names."""
OPEN, COMMA, CLOSE = "\ufdd7", "\ufdd8", "\ufdd9"
SPLIT, QUOTE, TILDE = "\ufdda", "\ufddb", "\ufddc"

ALL = "".join(map(chr, range(0xFDD0, 0xFDF0)))
MAX_FIELDS = 256
MAX_BRACES = 64

_PLAIN = str.maketrans({STAR: "*", QUEST: "?", CLASS: "[", OPEN: "{", COMMA: ",", CLOSE: "}", TILDE: "~"})
_SHOWN = {**_PLAIN, ord(UNKNOWN): "…", ord(SOME): "…", ord(FILE): "…", ord(STREAM): "", ord(QUOTE): ""}
_ACTIVE = str.maketrans({"*": STAR, "?": QUEST, "[": CLASS})
_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.-?\d+)?")
_marked = re.compile(f"[{ALL}]").search


def has_marks(text: str) -> bool:
    """Whether `text` holds any mark."""
    return _marked(text) is not None


def is_known(text: str) -> bool:
    """Whether every character of `text` was resolved; patterns count as resolved."""
    return UNKNOWN not in text and FILE not in text


def is_pattern(text: str) -> bool:
    """Whether `text` has an unquoted `*`, `?` or `[`."""
    return STAR in text or QUEST in text or CLASS in text


def plain(text: str) -> str:
    """`text` with the shell's own characters back in place."""
    return text.translate(_PLAIN)


def shown(text: str) -> str:
    """`text` for a person: what is not known is `…`."""
    if text.startswith(STREAM):
        return "/dev/fd/63"
    return text.translate(_SHOWN)


def active(text: str) -> str:
    """`text` as the value of an unquoted expansion: its `*`, `?` and `[` match names."""
    return text.translate(_ACTIVE)


def fields(text: str) -> list[str]:
    """The words that the marked `text` becomes: braces expanded, split, empty ones dropped if not quoted."""
    found: list[str] = []
    for alternative in islice(_braces(text), MAX_FIELDS):
        for piece in alternative.split(SPLIT):
            word = piece.replace(QUOTE, "")
            if word or QUOTE in piece:
                found.append(word.translate({ord(OPEN): "{", ord(COMMA): ",", ord(CLOSE): "}"}))
    return found if len(found) <= MAX_FIELDS else [*found[:MAX_FIELDS], UNKNOWN]


def _braces(text: str) -> list[str]:
    """`text` with its outermost first brace expanded, recursively; at most a little over `MAX_FIELDS`."""
    if OPEN not in text:
        return [text]
    if text.count(OPEN) > MAX_BRACES:
        return [UNKNOWN]
    done: list[str] = []
    todo = [text]
    while todo and len(done) + len(todo) <= MAX_FIELDS:
        current = todo.pop()
        parts = _first_brace(current)
        if parts is None:
            done.append(current)
            continue
        before, options, after = parts
        todo.extend(f"{before}{option}{after}" for option in reversed(options))
    return [*done, *([UNKNOWN] if todo else [])]


def _first_brace(text: str) -> tuple[str, list[str], str] | None:
    start = text.find(OPEN)
    while start >= 0:
        options, end = _options(text, start)
        if options:
            return text[:start], options, text[end:]
        start = text.find(OPEN, start + 1)
    return None


def _options(text: str, start: int) -> tuple[list[str], int]:
    """The alternatives of the brace that opens at `start`, and where it ends; none if it is not one."""
    depth, begin = 0, start + 1
    options: list[str] = []
    for index in range(start, len(text)):
        match text[index]:
            case "\ufdd7":
                depth += 1
            case "\ufdd8" if depth == 1:
                options.append(text[begin:index])
                begin = index + 1
            case "\ufdd9":
                depth -= 1
                if depth == 0:
                    options.append(text[begin:index])
                    return (options if len(options) > 1 else _range(options[0])), index + 1
            case _:
                pass
    return [], len(text)


def _range(text: str) -> list[str]:
    """`1..9` and `a..e` in full, or both ends of a long one: nothing here depends on a number between."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return []
    first, last = found.groups()
    if first.isalpha() != last.isalpha() or max(len(first), len(last)) > 12:
        return [UNKNOWN]
    low, high = (ord(first), ord(last)) if first.isalpha() else (int(first), int(last))
    step = 1 if high >= low else -1
    values = range(low, high + step, step)
    chosen = values if len(values) <= 64 else [*values[:8], *values[-8:]]
    return [chr(value) if first.isalpha() else str(value) for value in chosen]
