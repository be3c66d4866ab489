"""The `glob` and `grep` tools: what they take, what they answer; ripgrep does the walking."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from onplan.errors import ToolError
from onplan.tools.globs import matcher
from onplan.tools.ripgrep import Search, only_names_like, pruned
from onplan.tools.workspace import MAX_RESULT, Workspace, legible
from onplan.toolset import Injected, Tool, ToolOutput, tool

MAX_FOUND = 200
"""Files that one answer of `glob` names."""

_MAX_GREP_FILE = 10_000_000
_MAX_GREP_LIMIT = 1_000
_COUNTED_BEYOND = 1_000
"""Matches past the limit that are still counted, so that the answer can say how many there are."""
_MAX_TEXT = 300
_MAX_PATTERN = 2_000
_NOTES = 400
"""Characters of an answer that are kept free for the remarks at its end."""
_WILD = re.compile(r"[*?\[{]")
_HEAD = 65_536


def search_tools(*, seconds: float = 10.0, entries: int = 500_000) -> tuple[Tool, ...]:
    """`glob` and `grep`. They need a provider of `workspace`.

    A search ends after `seconds`, `glob` also after it has looked at `entries` files; the answer then
    holds what was found so far and says so.
    """

    @tool(read_only=True, parallel=True)
    async def glob(pattern: str, workspace: Injected[Workspace], path: str = ".") -> ToolOutput:
        """Find files by name, sorted by path. Ignored files (.gitignore), .git and dependency folders
        such as node_modules are left out unless named.

        Args:
            pattern: such as **/*.py or src/{a,b}/*.ts; * alone lists a directory
            path: directory to start from
        """
        return await _glob(workspace, pattern, path, seconds, entries)

    @tool(read_only=True, parallel=True)
    async def grep(
        pattern: str,
        workspace: Injected[Workspace],
        path: str = ".",
        include: str = "",
        ignore_case: bool = False,
        limit: int = 100,
    ) -> ToolOutput:
        """Search file contents by a regular expression, line by line. Answers path:line: text. Leaves out
        what glob leaves out, and binary files.

        Args:
            pattern: ripgrep syntax; escape ( [ { . * to find them as they are
            path: directory or file
            include: only files that match this, such as *.py
            limit: number of matches shown
        """
        return await _grep(workspace, _Wanted(pattern, path, include, ignore_case, limit), seconds)

    return (glob, grep)


# --- glob -------------------------------------------------------------------------------------------


async def _glob(workspace: Workspace, pattern: str, path: str, seconds: float, entries: int) -> ToolOutput:
    _check_text("pattern", pattern)
    base, rest = _start(workspace, pattern, path)
    matches = matcher(rest)
    names_folders = "**" not in rest and (rest.endswith("/") or rest.rpartition("/")[2] == "*")
    names_files = not rest.endswith("/")
    search = Search(workspace, base, seconds)
    arguments = ["--files", *pruned(workspace, base, rest)]
    if names_files and not names_folders:
        arguments += only_names_like(rest)
    found: set[tuple[str, ...]] = set()
    looked_at = 0
    async with aclosing(search.names(arguments)) as all_names:
        async for name in all_names:
            if looked_at == entries:
                search.stopped = f"{entries:,} entries"
                break
            looked_at += 1
            parts = tuple(search.relative(name).split("/"))
            if names_files and matches(parts):
                found.add(parts)
            if names_folders:
                found.update((*folder, "") for folder in _folders(parts) if matches(folder))
    names = [_name(workspace, base, parts) for parts in sorted(found)[:MAX_FOUND]]
    if not names and not search.stopped:
        return ToolOutput(_none_match(workspace, base, rest))
    return ToolOutput(_answer(names, f"{len(found):,}", "paths", search.stopped, len(found)))


def _none_match(workspace: Workspace, base: Path, rest: str) -> str:
    deeper = f" For the directories below it: **/{legible(rest)}" if "/" not in rest and rest != "*" else ""
    shown = workspace.show(base)
    return f"No files match {legible(rest)} in {shown} (ignored files are not searched).{deeper}"


def _start(workspace: Workspace, pattern: str, path: str) -> tuple[Path, str]:
    """The directory to walk, and the pattern from there on.

    The fixed beginning of a pattern is walked to, not matched: an absolute pattern stands for itself,
    whatever `path` says, and must lead to a place inside the workspace. The name of a directory lists it.
    """
    *folders, last = (pattern.rstrip("/") or "/").split("/")
    wild = next((at for at, folder in enumerate(folders) if _WILD.search(folder)), len(folders))
    fixed = "/".join(folders[:wild]) or ("/" if pattern.startswith("/") else ".")
    start = fixed if pattern.startswith("/") else f"{path or '.'}/{fixed}"
    base = workspace.resolve(start)
    rest = "/".join([*folders[wild:], last]) + ("/" if pattern.endswith("/") else "")
    if wild == len(folders) and not _WILD.search(last):
        named = workspace.resolve(f"{start}/{last}")
        base, rest = (named, "*") if named.is_dir() else (base, rest)
    if not base.is_dir():
        what = "is a file" if base.exists() else "does not exist"
        raise ToolError(f"{workspace.show(base)} {what}: glob starts from a directory")
    _check_not_git(workspace, base)
    return base, rest


def _folders(parts: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    return (parts[:end] for end in range(1, len(parts)))


def _name(workspace: Workspace, base: Path, parts: tuple[str, ...]) -> str:
    return workspace.show(base.joinpath(*parts)) + ("/" if parts[-1] == "" else "")


# --- grep -------------------------------------------------------------------------------------------


class _Wanted(msgspec.Struct, frozen=True):
    pattern: str
    path: str
    include: str
    ignore_case: bool
    limit: int


async def _grep(workspace: Workspace, wanted: _Wanted, seconds: float) -> ToolOutput:
    _check_text("pattern", wanted.pattern)
    if wanted.limit < 1:
        raise ToolError(f"limit must be at least 1; got {wanted.limit}")
    limit = min(wanted.limit, _MAX_GREP_LIMIT)
    base = workspace.resolve(wanted.path or ".")
    _check_searchable(workspace, base)
    included = _included(wanted.include)
    search = Search(workspace, base, seconds)
    case = "--ignore-case" if wanted.ignore_case else "--case-sensitive"
    arguments = [*_GREP, case, f"--regexp={wanted.pattern}"]
    arguments += [*only_names_like(wanted.include), *pruned(workspace, base, wanted.include)]
    lines: list[str] = []
    async with aclosing(search.lines(arguments)) as records:
        async for record in records:
            printed, is_match, rest = record.partition(b"\0")
            name = search.relative(printed)
            # Without the mark it is a remark of ripgrep's, or the rest of a name with a line break.
            if not is_match or not included(tuple((name or base.name).split("/"))):
                continue
            lines.append(_match_line(workspace, base, name, rest))
            if len(lines) == limit + _COUNTED_BEYOND:
                break
    if not lines and not search.stopped:
        return ToolOutput(_no_matches(workspace, base, wanted))
    more = "+" if len(lines) == limit + _COUNTED_BEYOND else ""
    return ToolOutput(_answer(lines[:limit], f"{len(lines):,}{more}", "matches", search.stopped, len(lines)))


def _no_matches(workspace: Workspace, base: Path, wanted: _Wanted) -> str:
    where = workspace.show(base) + (f", files {legible(wanted.include)}" if wanted.include else "")
    what = legible(wanted.pattern[:200])
    return f"No matches for {what} in {where} (ignored and binary files are not searched)."


_GREP = (
    "--null",
    "--line-number",
    "--with-filename",
    "--no-heading",
    "--crlf",
    f"--max-filesize={_MAX_GREP_FILE}",
    "--max-columns=2000",
    "--max-columns-preview",
)


def _match_line(workspace: Workspace, base: Path, name: str, rest: bytes) -> str:
    number, _, text = rest.decode(errors="replace").rstrip("\r\n").partition(":")
    cut = text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
    return f"{workspace.show(base / name if name else base)}:{number}: {cut}"


def _included(include: str) -> Callable[[tuple[str, ...]], bool]:
    """Whether a file is wanted. A pattern without a slash speaks of the file's name alone."""
    if not include:
        return lambda parts: True
    _check_text("include", include)
    matches = matcher(include.removeprefix("./"))
    return matches if "/" in include else lambda parts: matches(parts[-1:])


def _check_searchable(workspace: Workspace, base: Path) -> None:
    _check_not_git(workspace, base)
    try:
        found = os.stat(base)
        if not stat.S_ISDIR(found.st_mode):
            _check_file(workspace, base, found)
    except OSError as error:
        shown = workspace.show(base)
        raise ToolError(f"cannot search {shown}: {error.strerror}; find the path with glob") from None


def _check_file(workspace: Workspace, base: Path, found: os.stat_result) -> None:
    """Ripgrep searches a file that is named outright whatever it is, so what cannot be is refused here."""
    shown = workspace.show(base)
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{shown} is not a regular file")
    if found.st_size > _MAX_GREP_FILE:
        size = f"{found.st_size:,} bytes; at most {_MAX_GREP_FILE:,}"
        raise ToolError(f"{shown} is too large ({size}): use the shell (grep)")
    head, _ = workspace.read(base, limit=_HEAD)
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ToolError(f"{shown} is a binary file")


def _check_not_git(workspace: Workspace, base: Path) -> None:
    if ".git" in base.relative_to(workspace.root).parts:
        raise ToolError(f"{workspace.show(base)}: .git is not searched; ask git itself by a shell command")


def _check_text(name: str, text: str) -> None:
    if not text:
        raise ToolError(f"{name} is empty")
    if len(text) > _MAX_PATTERN:
        raise ToolError(f"{name} is too long ({len(text):,} characters; at most {_MAX_PATTERN:,})")
    if "\0" in text or any(0xD800 <= ord(char) < 0xE000 for char in text):
        raise ToolError(f"{name} holds a NUL or a lone surrogate, which no search can find")


# --- answers ----------------------------------------------------------------------------------------


def _answer(found: Sequence[str], total: str, things: str, stopped: str, count: int) -> str:
    lines: list[str] = []
    room = MAX_RESULT - _NOTES
    for line in found:
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    if len(lines) < count:
        lines.append(f"({len(lines):,} of {total} {things} shown; narrow the pattern or the path)")
    if stopped:
        lines.append(f"(stopped after {stopped}: there may be more; narrow the path or the pattern)")
    return "\n".join(lines)
