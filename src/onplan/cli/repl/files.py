"""The files of a directory as a person would name them: what git knows of, what changed in front."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onplan.context.git import git_state

_MOST = 20_000
_PATIENCE = 3.0
"""Seconds that git has."""

# What a repository configures must not run because somebody typed an @: its file-system monitor is a command.
_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")


@dataclass(frozen=True, slots=True)
class Files:
    """`paths` are relative, with `/`. `changed`: which of them git has not committed, in a word."""

    paths: tuple[str, ...] = ()
    changed: Mapping[str, str] = field(default_factory=dict[str, str])


async def files_of(root: Path) -> Files:
    """All files of a directory. In a git repository: those in it and new ones, without what is ignored;
    elsewhere those that are not hidden. At most 20,000."""
    known = await _git(root, "ls-files", "-z", "--cached", "--deduplicate")
    if known is None:
        return Files(tuple(_walked(root)))
    new = await _git(root, "ls-files", "-z", "--others", "--exclude-standard") or ()
    prefix = "".join(await _git(root, "rev-parse", "--show-prefix") or ()).strip()
    state = await git_state(root)
    changed = {path.removeprefix(prefix): "changed" for path in (state.changed if state else ())}
    return Files((*known, *new)[:_MOST], {**changed, **dict.fromkeys(new, "new")})


async def _git(root: Path, *arguments: str) -> Sequence[str] | None:
    """What git lists; `None` where it is no repository, or git is not there or takes too long."""
    try:
        process = await asyncio.create_subprocess_exec(
            *_GIT,
            *arguments,
            cwd=root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_PATIENCE):
            output, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        return None
    return tuple(path for path in output.decode("utf-8", "replace").split("\0") if path)


def _walked(root: Path) -> Iterator[str]:
    count = 0
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith(".") and name != "node_modules")
        for name in sorted(files):
            if name.startswith("."):
                continue
            yield Path(directory, name).relative_to(root).as_posix()
            count += 1
            if count >= _MOST:
                return


def ranked(files: Files, typed: str, most: int) -> list[str]:
    """The paths that `typed` may mean, the likeliest first: by where they match, then changed ones."""
    wanted = typed.casefold()
    found = [
        (rank, path not in files.changed, len(path), path)
        for path in files.paths
        if (rank := _rank(path, wanted))
    ]
    return [path for *_, path in sorted(found)[:most]]


def _rank(path: str, wanted: str) -> int:
    """1: the name begins so · 2: the path does · 3: it is in the name · 4: in the path · 5: its letters are,
    in order · 0: not at all."""
    low = path.casefold()
    name = low.rpartition("/")[2]
    if name.startswith(wanted):
        return 1
    if low.startswith(wanted):
        return 2
    if wanted in low:
        return 3 if wanted in name else 4
    letters = iter(low)
    return 5 if all(letter in letters for letter in wanted) else 0
