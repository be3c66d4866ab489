"""Reading, writing and editing text files of the workspace; every byte that an edit does not name is kept."""

from __future__ import annotations

import difflib
import itertools
import re
import sys
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from onplan.errors import ToolError
from onplan.tools.workspace import MAX_RESULT, Workspace, fingerprint
from onplan.toolset import Injected, Tool, ToolOutput, tool

MAX_FILE = 20_000_000
MAX_LINE = 2_000
"""Bytes of a file that is read at all; characters of a line that are shown."""

_ANY_ENDING = r"(?:\r\n|(?<!\r)\n)"
_BOM = b"\xef\xbb\xbf"
_HEAD = 8_192
_NOTES = 400
"""Characters of an answer that are kept free for the remarks at its end."""
_MAX_COMPARED = 1_000
_MAX_CHECKED = 1_000_000
_MAX_CANDIDATES = 2_000
_WRITE_DIFF = 40
_EDIT_DIFF = 60


class Edit(msgspec.Struct, frozen=True):
    """One replacement."""

    old: str
    new: str
    replace_all: bool = False


def file_tools() -> tuple[Tool, ...]:
    """`read_file`, `write_file` and `edit_file`. They need a provider of `workspace`."""
    return (tool(read_only=True, parallel=True)(read_file), tool()(write_file), tool()(edit_file))


# --- read_file --------------------------------------------------------------------------------------


async def read_file(
    path: str, workspace: Injected[Workspace], offset: int = 1, limit: int = 2000
) -> ToolOutput:
    """Read a text file, or a window of its lines. A last line in parentheses says what is not shown.

    Args:
        path: relative to the workspace
        offset: first line, from 1
        limit: number of lines
    """
    if offset < 1 or limit < 1:
        raise ToolError(f"offset and limit count from 1; got offset={offset}, limit={limit}")
    real = workspace.resolve(path)
    with _failures(workspace, real, "read"):
        head, size = workspace.read(real, limit=_HEAD)
        if (kind := _not_text(head, size)) is not None:
            return ToolOutput(kind)
        data = _whole(workspace, real)
    if b"\0" in data:
        return ToolOutput(f"binary file, {len(data):,} bytes")
    workspace.remember(real, fingerprint(data))
    return ToolOutput(_window(data, offset, limit, workspace.show(real)))


def _window(data: bytes, offset: int, limit: int, shown: str) -> str:
    text, is_utf8 = _shown_text(data)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    if not total:
        return "(empty file)"
    if offset > total:
        raise ToolError(f"{shown} has {total} line{_s(total)}; offset={offset} is beyond its end")
    picked = list(_fitting(lines[offset - 1 : offset - 1 + limit]))
    last = offset - 1 + len(picked)
    notes: list[str] = []
    if offset > 1 or last < total:
        more = f"; continue with offset={last + 1}" if last < total else ""
        notes.append(f"(lines {offset}-{last} of {total}{more})")
    if not is_utf8:
        notes.append("(not UTF-8: the bytes that could not be read are shown as \ufffd)")
    ending = "\n" if notes or text.endswith("\n") else ""
    return "\n".join(picked) + ending + "\n".join(notes)


def _fitting(lines: Sequence[str]) -> Iterator[str]:
    room = MAX_RESULT - _NOTES
    for line in lines:
        cut = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… (line of {len(line):,} characters, cut)"
        room -= len(cut) + 1
        if room < 0:
            return
        yield cut


def _shown_text(data: bytes) -> tuple[str, bool]:
    body = data.removeprefix(_BOM)
    try:
        text, is_utf8 = body.decode(), True
    except UnicodeDecodeError:
        text, is_utf8 = body.decode(errors="replace"), False
    return text.replace("\r\n", "\n"), is_utf8


def _not_text(head: bytes, size: int) -> str | None:
    if (image := _image(head)) is not None:
        return f"image file ({image}, {size:,} bytes)"
    if head.startswith(b"%PDF-"):
        return f"PDF file ({size:,} bytes); a converter such as pdftotext shows its text"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"binary file, {size:,} bytes (UTF-16 text, it seems; iconv converts it)"
    return f"binary file, {size:,} bytes" if b"\0" in head else None


def _image(head: bytes) -> str | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return f"PNG, {_number(head[16:20])}x{_number(head[20:24])}"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return f"GIF, {_number(head[7:5:-1])}x{_number(head[9:7:-1])}"
    if head.startswith(b"\xff\xd8\xff"):
        return f"JPEG{_jpeg_size(head)}"
    return "WebP" if head.startswith(b"RIFF") and head[8:12] == b"WEBP" else None


def _jpeg_size(head: bytes) -> str:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        # The frame headers are C0 to CF, without the tables C4, C8 and CC.
        if 0xC0 <= head[at + 1] <= 0xCF and head[at + 1] not in (0xC4, 0xC8, 0xCC):
            return f", {_number(head[at + 7 : at + 9])}x{_number(head[at + 5 : at + 7])}"
        at += 2 + _number(head[at + 2 : at + 4])
    return ""


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


# --- write_file -------------------------------------------------------------------------------------


async def write_file(path: str, content: str, workspace: Injected[Workspace]) -> ToolOutput:
    """Create a file or replace it whole. An existing file must have been read first; to change a part
    of one, use edit_file.

    Args:
        path: relative to the workspace; missing directories are made
        content: the whole new text
    """
    real = workspace.resolve(path)
    shown = workspace.show(real)
    if path.endswith("/"):
        raise ToolError(f"{shown}/ names a directory: give the path of a file")
    with _failures(workspace, real, "write"):
        before = _current(workspace, real)
        after, notes = _fitted(content, before)
        if before == after:
            return ToolOutput(f"No change: {shown} already has this content.")
        if before is not None:
            _check_known(workspace.seen(real), before, shown)
        workspace.write(real, after)
    workspace.remember(real, fingerprint(after))
    diff = _diff(before or b"", after)
    lines = f"{len(_lines(after))} line{_s(len(_lines(after)))}"
    warning = _syntax_warning(shown, before, after)
    if before is None:
        return _output([f"Created {shown} ({lines}).", *notes, *warning], shown, diff)
    first = f"Replaced {shown} ({lines}, +{diff.added} -{diff.removed})."
    return _output([first, *notes, *warning, *diff.shown(_WRITE_DIFF)], shown, diff)


def _current(workspace: Workspace, real: Path) -> bytes | None:
    try:
        return _whole(workspace, real)
    except FileNotFoundError:
        return None


def _check_known(seen: str | None, before: bytes, shown: str) -> None:
    if seen == fingerprint(before) or not before:
        return
    if seen is None:
        raise ToolError(
            f"{shown} exists and has not been read: read_file it first, or change it by edit_file"
        )
    raise ToolError(f"{shown} has changed on disk since it was read: read_file it again before replacing it")


def _fitted(content: str, before: bytes | None) -> tuple[bytes, list[str]]:
    """The bytes to write, and what to say: the old file's byte order mark and uniform CRLF stay."""
    notes: list[str] = []
    if before is not None and "\r" not in content and "\n" in content and _is_crlf(before):
        content = content.replace("\n", "\r\n")
        notes.append("The CRLF line endings of the file were kept.")
    data = _encoded(content)
    if before is not None and before.startswith(_BOM) and not data.startswith(_BOM):
        data = _BOM + data
        notes.append("The byte order mark of the file was kept.")
    if before is not None and not _shown_text(before)[1]:
        notes.append("The file was not UTF-8; now it is.")
    return data, notes


# --- edit_file --------------------------------------------------------------------------------------


async def edit_file(
    path: str,
    workspace: Injected[Workspace],
    old: str = "",
    new: str = "",
    replace_all: bool = False,
    edits: list[Edit] | None = None,
) -> ToolOutput:
    """Replace exact text in a file. Give old and new, or several edits, which are made in order, all or
    none. The file's line endings are kept.

    Args:
        path: relative to the workspace
        old: text that occurs once; add lines around it until it does
        replace_all: replace every occurrence
    """
    real = workspace.resolve(path)
    shown = workspace.show(real)
    wanted = _wanted(Edit(old, new, replace_all), edits)
    with _failures(workspace, real, "edit"):
        before = _whole(workspace, real)
        after, count = _edited(before, wanted, shown)
        if after == before:
            raise ToolError(f"no change: the edit leaves {shown} as it is (its line endings are kept)")
        workspace.write(real, after)
    # An edit proves that its old text was known, not the rest of the file.
    if workspace.seen(real) == fingerprint(before):
        workspace.remember(real, fingerprint(after))
    diff = _diff(before, after)
    places = f"{count} replacements, " if count > 1 else ""
    first = f"Edited {shown} ({places}+{diff.added} -{diff.removed})."
    return _output([first, *_syntax_warning(shown, before, after), *diff.shown(_EDIT_DIFF)], shown, diff)


def _wanted(single: Edit, edits: list[Edit] | None) -> list[Edit]:
    if not edits:
        return [single]
    if single.old or single.new:
        raise ToolError("give either old and new, or edits, not both; nothing was changed")
    return edits


def _edited(before: bytes, edits: list[Edit], shown: str) -> tuple[bytes, int]:
    if b"\0" in before:
        raise ToolError(f"{shown} is a binary file; edit_file changes text only")
    bom = _BOM if before.startswith(_BOM) else b""
    try:
        text = before.removeprefix(bom).decode()
    except UnicodeDecodeError as error:
        raise ToolError(
            f"{shown} is not UTF-8 (byte {error.start}), so an edit could damage it; nothing was changed. "
            "Convert it first (iconv), or change it by a command that works on bytes (sed)"
        ) from None
    is_crlf = _is_crlf(before)
    replaced = 0
    for number, edit in enumerate(edits, 1):
        try:
            text, count = _replaced(text, edit, shown, is_crlf=is_crlf)
        except ToolError as error:
            if len(edits) == 1:
                raise
            raise ToolError(f"edit {number} of {len(edits)}: {error}\nNone of the edits was made.") from None
        replaced += count
    return bom + _encoded(text), replaced


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
    old_lines = _split(found)
    new_lines = _split(new.replace("\r\n", "\n"))
    plain = [line.replace("\r\n", "\n") for line in old_lines]
    head, tail = _common_ends(plain, new_lines)
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


# --- text -------------------------------------------------------------------------------------------


def _split(text: str) -> list[str]:
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _lines(data: bytes) -> list[str]:
    return _split(data.removeprefix(_BOM).decode(errors="replace"))


def _is_crlf(data: bytes) -> bool:
    return b"\n" in data and data.count(b"\r\n") == data.count(b"\n")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the text holds a lone surrogate (U+{ord(text[error.start]):04X}, character {error.start}), "
            "which no file can; nothing was written"
        ) from None


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines the two begin with in common, and how many of the rest they end with."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - head
    return head, next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)


# --- files ------------------------------------------------------------------------------------------


def _whole(workspace: Workspace, real: Path) -> bytes:
    data, size = workspace.read(real, limit=MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise ToolError(
            f"{workspace.show(real)} is too large ({size:,} bytes; at most {MAX_FILE:,}): "
            "use a shell command that picks a part of it (sed -n, head, tail)"
        )
    return data


@contextmanager
def _failures(workspace: Workspace, real: Path, verb: str) -> Generator[None, None, None]:
    """Turns what the system says about a file into a `ToolError` with the way out."""
    shown = workspace.show(real)
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f"there is no file {shown}{_suggestion(workspace, real)}") from None
    except IsADirectoryError:
        raise ToolError(f'{shown} is a directory: list it with glob (pattern "*", path "{shown}")') from None
    except OSError as error:
        raise ToolError(f"cannot {verb} {shown}: {error.strerror or error}") from None


def _suggestion(workspace: Workspace, real: Path) -> str:
    folder = real.parent
    if not folder.is_dir():
        while not folder.exists() and folder != workspace.root:
            folder = folder.parent
        return f": the way there ends at {workspace.show(folder)}"
    try:
        names = [entry.name for entry in itertools.islice(folder.iterdir(), _MAX_CANDIDATES)]
    except OSError:
        return ""
    close = difflib.get_close_matches(real.name, sorted(names), 3, 0.6)
    if not close:
        return ": find it with glob"
    return ". Close names: " + ", ".join(workspace.show(folder / name) for name in close)


# --- what changed -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Diff:
    added: int
    removed: int
    lines: tuple[str, ...]

    def shown(self, limit: int) -> list[str]:
        if len(self.lines) <= limit:
            return list(self.lines)
        return [*self.lines[: limit - 1], f"… ({len(self.lines) - limit + 1} more lines of the diff)"]


def _output(lines: list[str], shown: str, diff: _Diff) -> ToolOutput:
    details = {"path": shown, "added": diff.added, "removed": diff.removed, "diff": diff.shown(_EDIT_DIFF)}
    return ToolOutput("\n".join(lines), details)


def _diff(before: bytes, after: bytes) -> _Diff:
    """The difference by lines, in hunks with the line numbers of both sides, as `diff -U2` writes it."""
    old, new = _lines(before), _lines(after)
    head, tail = _common_ends(old, new)
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
    return _Diff(added, removed, tuple(lines))


def _groups(
    old: list[str], new: list[str], head: int, tail: int
) -> Iterator[list[tuple[str, int, int, int, int]]]:
    if max(len(old), len(new)) <= _MAX_COMPARED:
        yield from difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(2)
        return
    # Comparing takes time by the square of the lines: a large change is one block.
    a, b = len(old) - tail, len(new) - tail
    yield [("equal", 0, head, 0, head), ("replace", head, a, head, b), ("equal", a, a + tail, b, b + tail)]


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in itertools.islice(lines, _EDIT_DIFF + 1):
        text = line.rstrip("\r\n")
        yield mark + (text if len(text) <= 200 else f"{text[:200]}…")


# --- does it still parse ----------------------------------------------------------------------------


def _syntax_warning(shown: str, before: bytes | None, after: bytes) -> list[str]:
    """One line when a file stops parsing; work in progress is legitimate, so it is written all the same."""
    suffix = Path(shown).suffix
    fault = _fault(suffix, after)
    if fault is None or (before is not None and _fault(suffix, before) is not None):
        return []
    verb = "does not parse" if before is None else "no longer parses"
    return [f"warning: {shown} {verb}: {fault}"]


def _fault(suffix: str, data: bytes) -> str | None:
    if len(data) > _MAX_CHECKED:
        return None
    text = data.removeprefix(_BOM).decode(errors="replace")
    try:
        match suffix:
            case ".py" | ".pyi":
                return _python_fault(text)
            case ".json":
                return _json_fault(text)
            case ".toml":
                return _toml_fault(text)
            case _:
                return None
    except (RecursionError, MemoryError, ValueError) as error:
        return str(error) or "it is nested too deeply"


def _python_fault(text: str) -> str | None:
    import ast

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        return f"line {error.lineno or 1}: {error.msg} ({version})"
    return None


def _json_fault(text: str) -> str | None:
    import json

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: {error.msg}"
    return None


def _toml_fault(text: str) -> str | None:
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column \d+\)", str(error))
        message = str(error).partition(" (at ")[0]
        return f"line {place[1]}: {message}" if place else message
    return None
