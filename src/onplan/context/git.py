"""What git has not committed in a directory, asked without letting the directory run anything."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from onplan.messages import Note
from onplan.plan.text import one_line

_NAMED = 8

_QUIET: Mapping[str, str] = {
    "GIT_OPTIONAL_LOCKS": "0",  # the index stays as it is, so no hook hears of it
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "",  # nothing that is missing in a partial clone is fetched
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_OVERRULED = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "status.renames=false")
"""Settings of a repository by which `git status` would run what the repository names."""


class GitState(msgspec.Struct, frozen=True):
    """Paths from the repository's root. `branch`: empty where HEAD is on none."""

    branch: str = ""
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not (self.changed or self.untracked)

    def summary(self) -> str:
        """`3 changed and 1 new file not committed (on main)`; empty where all is."""
        if self.is_clean:
            return ""
        counts = ((len(self.changed), "changed"), (len(self.untracked), "new"))
        parts = " and ".join(f"{count} {word}" for count, word in counts if count)
        files = "file" if len(self.changed) + len(self.untracked) == 1 else "files"
        return f"{parts} {files} not committed{f' (on {one_line(self.branch)})' if self.branch else ''}"

    def note(self) -> Note | None:
        """What the model is told of it with the first message."""
        if self.is_clean:
            return None
        named = "; ".join(
            f"{word}: {_listed(paths)}"
            for word, paths in (("changed", self.changed), ("new", self.untracked))
            if paths
        )
        text = (
            f"<notice>Before you begin, git shows {self.summary()}. They are the person's: {named}. "
            "Keep them.</notice>"
        )
        return Note(text, "git")


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(one_line(path)[:200] for path in paths[:_NAMED]) + more


async def git_state(root: Path, *, timeout: float = 2.0) -> GitState | None:
    """What is not committed in the repository that holds `root`, submodules left out.

    `None` without git or a repository, after `timeout` seconds, or where the repository's own settings name
    a filter: to look would then mean to run it. Nothing is written, fetched, asked or run.
    """
    try:
        async with asyncio.timeout(timeout):
            scoped = await _git(root, "config", "--list", "--show-scope", "--name-only", "-z")
            if scoped is None or _names_filter(scoped):
                return None
            told = await _git(
                root,
                *(word for setting in _OVERRULED for word in ("-c", setting)),
                *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"),
                "--ignore-submodules=all",
            )
    except (TimeoutError, OSError):
        return None
    return None if told is None else _parsed(told)


def _names_filter(scoped: str) -> bool:
    fields = scoped.split("\0")
    settings = zip(fields[::2], fields[1::2], strict=False)
    return any(scope in ("local", "worktree") and name.startswith("filter.") for scope, name in settings)


async def _git(root: Path, *arguments: str) -> str | None:
    process = await asyncio.create_subprocess_exec(
        "git",
        "-C",
        str(root),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **_QUIET},
    )
    try:
        output, _ = await process.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
        raise
    return output.decode("utf-8", "replace") if process.returncode == 0 else None


def _parsed(told: str) -> GitState:
    """Of `--porcelain=v2 -z` without renames; see git-status(1), "Porcelain Format Version 2"."""
    branch, changed, untracked = "", list[str](), list[str]()
    for entry in told.split("\0"):
        match entry[:2]:
            case "# " if entry.startswith("# branch.head "):
                head = entry.removeprefix("# branch.head ")
                branch = "" if head == "(detached)" else head
            case "1 ":
                changed.append(entry.split(" ", 8)[-1])
            case "u ":
                changed.append(entry.split(" ", 10)[-1])
            case "? ":
                untracked.append(entry[2:])
            case _:
                pass
    return GitState(branch, tuple(changed), tuple(untracked))
