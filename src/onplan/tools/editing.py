"""Matching and applying edits: exact text in, whole bytes out; touches no file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import msgspec

from onplan.errors import ToolError
from onplan.tools.diffs import common_ends
from onplan.tools.lines import BOM, encoded, ends_in_crlf, split_lines

_ANY_ENDING = r"(?:\r\n|(?<!\r)\n)"
_MAX_CANDIDATES = 2_000


class Edit(msgspec.Struct, frozen=True):
    """One replacement."""

    old: str
    new: str
    replace_all: bool = False


def apply_edits(before: bytes, edits: list[Edit], shown: str) -> tuple[bytes, int]:
    """The bytes after all `edits`, made in order, and the number of places replaced.

    `shown` names the file in errors. Raises `ToolError` if any of the edits cannot be made.
    """
    if b"\0" in before:
        raise ToolError(f"{shown} is a binary file; edit_file changes text only")
    bom = BOM if before.startswith(BOM) else b""
    try:
        text = before.removeprefix(bom).decode()
    except UnicodeDecodeError as error:
        raise ToolError(
            f"{shown} is not UTF-8 (byte {error.start}), so an edit could damage it; nothing was changed. "
            "Convert it first (iconv), or change it by a command that works on bytes (sed)"
        ) from None
    is_crlf = ends_in_crlf(before)
    replaced = 0
    for number, edit in enumerate(edits, 1):
        try:
            text, count = _replaced(text, edit, shown, is_crlf=is_crlf)
        except ToolError as error:
            if len(edits) == 1:
                raise
            raise ToolError(f"edit {number} of {len(edits)}: {error}\nNone of the edits was made.") from None
        replaced += count
    return bom + encoded(text), replaced


def _replaced(text: str, edit: Edit, shown: str, *, is_crlf: bool) -> tuple[str, int]:
    """`text` after one edit, and the number of places.

    A line ending in `old` matches LF and CRLF alike, so that the two spellings of one text at different
    places are ambiguous, not a matter of which was tried first.
    """
    if not edit.old:
        raise ToolError("old is empty: give the text to replace, or use write_file for a new or empty file")
    pattern = re.compile(_ANY_ENDING.join(re.escape(line) for line in re.split(r"\r?\n", edit.old)))
    starts = list(itertools.islice(_starts(pattern, text), 101))
    if not starts:
        raise ToolError(_not_found(text, edit.old, shown))
    if len(starts) > 1 and not edit.replace_all:
        raise ToolError(_ambiguous(text, starts, shown))
    return pattern.subn(lambda match: _replacement(match[0], edit, is_crlf=is_crlf), text)


def _starts(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    at = -1
    while (match := pattern.search(text, at + 1)) is not None:
        at = match.start()
        yield at


def _replacement(found: str, edit: Edit, *, is_crlf: bool) -> str:
    if found == edit.old:
        return re.sub(r"\r?\n", "\r\n", edit.new) if is_crlf else edit.new
    return _with_endings_of(found, edit.new)


def _with_endings_of(found: str, new: str) -> str:
    """`new` in the line endings of the text it replaces: the first and last lines that both share stay
    as they are, the lines between get the ending that `found` has most."""
    old_lines = split_lines(found)
    new_lines = split_lines(new.replace("\r\n", "\n"))
    plain = [line.replace("\r\n", "\n") for line in old_lines]
    head, tail = common_ends(plain, new_lines)
    ending = "\r\n" if 2 * found.count("\r\n") > found.count("\n") else "\n"
    middle = [line.replace("\n", ending) for line in new_lines[head : len(new_lines) - tail]]
    return "".join([*old_lines[:head], *middle, *old_lines[len(old_lines) - tail :]])


def _ambiguous(text: str, starts: list[int], shown: str) -> str:
    numbers = ", ".join(str(text.count("\n", 0, start) + 1) for start in starts[:8])
    count = "over 100" if len(starts) > 100 else str(len(starts))
    more = ", …" if len(starts) > 8 else ""
    return (
        f"old matches {count} places in {shown} (lines {numbers}{more}): "
        "add lines around it until it is unique, or set replace_all to true"
    )


def _not_found(text: str, old: str, shown: str) -> str:
    lines = text.splitlines()
    wanted = [line.strip() for line in old.strip().splitlines()]
    first = f"old was not found in {shown}."
    if not any(wanted):
        return first
    stripped = [line.strip() for line in lines]
    for at in (at for at, line in enumerate(stripped) if line == wanted[0]):
        if stripped[at : at + len(wanted)] == wanted:
            where = f"{at + 1}-{at + len(wanted)}" if len(wanted) > 1 else f"{at + 1}"
            region = _cut_lines(lines[at : at + len(wanted)], 10)
            return f"{first} Lines {where} differ from it only in blanks:\n{region}"
    anchor = max(wanted, key=len)
    import difflib  # only for an edit that fails

    close = difflib.get_close_matches(
        anchor[:200], [line[:200] for line in stripped[:_MAX_CANDIDATES]], 1, 0.6
    )
    if not close:
        return f"{first} No line is like it: read the file again"
    at = next(at for at, line in enumerate(stripped) if line[:200] == close[0])
    return f"{first} The closest line is {at + 1}:\n{_cut_lines([lines[at]], 1)}"


def _cut_lines(lines: Sequence[str], limit: int) -> str:
    shown = [line[:200] for line in lines[:limit]]
    return "\n".join([*shown, "…"] if len(lines) > limit else shown)
