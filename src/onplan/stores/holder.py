"""Who holds a session: the identity of this process, and whether another one still lives."""

from __future__ import annotations

import os
from pathlib import Path

from onplan.protocols import Holder

_SAME_START = 1.0
"""Seconds by which two readings of one process's start may differ."""


def this_process() -> Holder:
    """The holder that stands for the running process.

    `start` is counted in seconds after the host's boot, so that a clock that is set back or forth does not
    make a living process look like another; 0.0 where the system does not tell.
    """
    pid = os.getpid()
    return Holder(host=os.uname().nodename, pid=pid, start=_start_of(pid) or 0.0)


def is_alive(holder: Holder) -> bool:
    """Whether `holder` may still be running. One on another host cannot be seen, so it counts as alive."""
    if holder.host != os.uname().nodename:
        return True
    if not _exists(holder.pid):
        return False
    start = _start_of(holder.pid)
    if start is None or not holder.start:
        return True
    return abs(start - holder.start) <= _SAME_START


def _exists(pid: int) -> bool:
    if pid <= 0:
        return False  # for kill(2) these name groups of processes
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    # A process that was killed and that its parent has not waited for still answers to kill(pid, 0).
    fields = _stat(pid)
    return bool(fields) and fields[0] in ("Z", "X")


def _start_of(pid: int) -> float | None:
    fields = _stat(pid)
    return int(fields[19]) / os.sysconf("SC_CLK_TCK") if fields else None


def _stat(pid: int) -> list[str]:
    """The fields of `/proc/PID/stat` after the command, state first (proc(5)); empty where there is none."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    fields = line.rpartition(")")[2].split()
    return fields if len(fields) > 19 else []
