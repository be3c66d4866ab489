"""Reading, writing and editing text files of the workspace; every byte that an edit does not name is kept."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from onplan.errors import ToolError
from onplan.messages import Media
from onplan.tools.diffs import LONGEST, Diff, diff_of
from onplan.tools.editing import Edit, apply_edits
from onplan.tools.kinds import kind_of
from onplan.tools.lines import decoded, fitted, lines_of
from onplan.tools.media import fault_of, largest, media_type_of
from onplan.tools.syntax import syntax_warning
from onplan.tools.workspace import MAX_RESULT, Workspace, fingerprint
from onplan.toolset import Injected, Tool, ToolOutput, tool

MAX_FILE = 20_000_000
MAX_LINE = 2_000
"""Bytes of a file that is read at all; characters of a line that are shown."""

_HEAD = 8_192
_NOTES = 400
"""Characters of an answer that are kept free for the remarks at its end."""
_MAX_CANDIDATES = 2_000
_WRITE_DIFF = 40


def file_tools() -> tuple[Tool, ...]:
    """`read_file`, `write_file` and `edit_file`. They need a provider of `workspace`."""
    return (tool(read_only=True, parallel=True)(read_file), tool()(write_file), tool()(edit_file))


# --- read_file --------------------------------------------------------------------------------------


async def read_file(
    path: str, workspace: Injected[Workspace], offset: int = 1, limit: int = 2000
) -> ToolOutput:
    """Read a text file, or a window of its lines; images and PDFs are shown whole. A last line in
    parentheses says what is not shown.

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
        if (kind := kind_of(head, size)) is not None:
            return _shown(workspace, real, kind, head)
        data = _whole(workspace, real)
    if b"\0" in data:
        return ToolOutput(f"binary file, {len(data):,} bytes")
    workspace.remember(real, fingerprint(data))
    return ToolOutput(_window(data, offset, limit, workspace.show(real)))


def _shown(workspace: Workspace, real: Path, kind: str, head: bytes) -> ToolOutput:
    """What is no text: its kind, and the thing itself where a model may be able to see it."""
    media_type = media_type_of(head)
    if not media_type:
        return ToolOutput(kind)
    data, _ = workspace.read(real, limit=largest(media_type) + 1)
    if fault := fault_of(media_type, data):
        return ToolOutput(f"{kind}\n(not shown: {fault})")
    import base64  # only for what is shown

    media = Media(media_type, base64.b64encode(data).decode(), workspace.show(real))
    return ToolOutput(kind, media=(media,))


def _window(data: bytes, offset: int, limit: int, shown: str) -> str:
    text, is_utf8 = decoded(data)
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
        after, notes = fitted(content, before)
        if before == after:
            return ToolOutput(f"No change: {shown} already has this content.")
        if before is not None:
            _check_known(workspace.seen(real), before, shown)
        workspace.write(real, after)
    workspace.remember(real, fingerprint(after))
    diff = diff_of(before or b"", after)
    lines = f"{len(lines_of(after))} line{_s(len(lines_of(after)))}"
    warning = syntax_warning(shown, before, after)
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
        after, count = apply_edits(before, wanted, shown)
        if after == before:
            raise ToolError(f"no change: the edit leaves {shown} as it is (its line endings are kept)")
        workspace.write(real, after)
    # An edit proves that its old text was known, not the rest of the file.
    if workspace.seen(real) == fingerprint(before):
        workspace.remember(real, fingerprint(after))
    diff = diff_of(before, after)
    places = f"{count} replacements, " if count > 1 else ""
    first = f"Edited {shown} ({places}+{diff.added} -{diff.removed})."
    return _output([first, *syntax_warning(shown, before, after), *diff.shown(LONGEST)], shown, diff)


def _wanted(single: Edit, edits: list[Edit] | None) -> list[Edit]:
    if not edits:
        return [single]
    if single.old or single.new:
        raise ToolError("give either old and new, or edits, not both; nothing was changed")
    return edits


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
    import difflib  # only for a path that is not there

    close = difflib.get_close_matches(real.name, sorted(names), 3, 0.6)
    if not close:
        return ": find it with glob"
    return ". Close names: " + ", ".join(workspace.show(folder / name) for name in close)


def _output(lines: list[str], shown: str, diff: Diff) -> ToolOutput:
    details = {"path": shown, "added": diff.added, "removed": diff.removed, "diff": diff.shown(LONGEST)}
    return ToolOutput("\n".join(lines), details)


def _s(count: int) -> str:
    return "" if count == 1 else "s"
