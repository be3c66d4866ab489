"""Finding and ending what a command started; knows nothing of shells or of output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_POLL = 0.02
_KILL_GRACE = 1.0


@dataclass(frozen=True, slots=True)
class Process:
    """A process that a command left. `started` tells it from a later one that got the same `pid`."""

    pid: int
    command: str = field(compare=False)  # `exec` changes it
    started: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """Finds what descends from one call: by the mark in the environment, which `setsid` does not lose;
    by the session, which `env -i` does not lose; by the output pipe; and by parentage from these."""

    mark: str
    pipe: int = -1
    session: int = -1
    known: frozenset[Process] = frozenset()

    def with_session(self, session: int) -> Tree:
        return replace(self, session=session)

    def narrowed_to(self, known: list[Process]) -> Tree:
        """For later on: the numbers of an ended session and pipe may be somebody else's by then."""
        return Tree(self.mark, known=frozenset(known))

    def alive(self) -> list[Process]:
        table = read_processes()
        found = {pid for pid, entry in table.items() if self._owns(entry)}
        while more := {pid for pid, entry in table.items() if entry.parent in found} - found:
            found |= more
        return [table[pid].process for pid in sorted(found - {os.getpid()})]

    def _owns(self, entry: Entry) -> bool:
        if entry.session == self.session or entry.process in self.known:
            return True
        directory = f"/proc/{entry.process.pid}"
        if self.mark.encode() in _contents(f"{directory}/environ"):
            return True
        pipe = f"pipe:[{self.pipe}]"
        return any(_link(f"{directory}/fd/{number}") == pipe for number in "12")


@dataclass(frozen=True, slots=True)
class Entry:
    """A running process. `session`: its session where the system tells, else its process group."""

    process: Process
    parent: int
    session: int


def read_processes(proc: Path = Path("/proc")) -> dict[int, Entry]:
    """The running processes by their ids, not those that wait to be reaped; from `ps` where `proc` is not."""
    if not (proc / "self" / "stat").exists():
        return _ps()
    entries: dict[int, Entry] = {}
    for pid in map(int, filter(str.isdecimal, os.listdir(proc))):
        name, _, rest = _contents(f"{proc}/{pid}/stat").decode(errors="replace").rpartition(")")
        state, parent, _, session, *more = rest.split() or ["X", "0", "0", "0"]
        if state not in "ZX":
            words = _contents(f"{proc}/{pid}/cmdline").decode(errors="replace").replace("\0", " ")
            process = Process(pid, _one_line(words or name.partition("(")[2]), more[15])
            entries[pid] = Entry(process, int(parent), int(session))
    return entries


def _contents(path: str) -> bytes:
    """Empty for a process that has ended or is not ours to look at."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _ps() -> dict[int, Entry]:
    columns = "pid=,ppid=,pgid=,stat=,lstart=,command="
    listing = subprocess.run(
        ["ps", "-A", "-o", columns], capture_output=True, text=True, errors="replace", check=False
    )
    entries: dict[int, Entry] = {}
    for line in listing.stdout.splitlines():
        pid, parent, group, state, *more = line.split()
        if not state.startswith("Z"):
            process = Process(int(pid), _one_line(" ".join(more[5:])), " ".join(more[:5]))
            entries[process.pid] = Entry(process, int(parent), int(group))
    return entries


def _one_line(text: str) -> str:
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


async def end_processes(find: Callable[[], list[Process]], grace: float) -> list[Process]:
    """TERM, and KILL after `grace`, until nothing is found any more. Answers what could not be ended."""
    deadline = time.monotonic() + grace
    asked: set[Process] = set()
    empty = 0
    left: list[Process] = []
    try:
        # Twice empty: during `exec` a process has no readable environment for a moment.
        while empty < 2 and time.monotonic() < deadline + _KILL_GRACE:
            left = find()
            empty = 0 if left else empty + 1
            if time.monotonic() > deadline:
                _send(left, signal.SIGKILL)
            else:
                _send([process for process in left if process not in asked], signal.SIGTERM)
                asked.update(left)
            await asyncio.sleep(_POLL)
    except asyncio.CancelledError:
        for _ in range(3):  # what was forked between a look and a kill is seen at the next look
            _kill(find())
        raise
    return left


def _kill(processes: list[Process]) -> None:
    _send(processes, signal.SIGKILL)


def _send(processes: list[Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)


async def uncancelled(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` through further cancellations: it is short, and what it ends must not stay behind."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    return task.result()
