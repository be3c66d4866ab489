"""A lock on a directory that tells who repairs a database alone; knows nothing of what lies in it."""

from __future__ import annotations

import os
import time
from pathlib import Path

_PAUSE = 0.02


class DirectoryLock:
    """Held shared while a store is open, exclusively while one repairs its file.

    The directory is what is locked (flock(2)): that leaves no file behind, and to open the database a second
    time for it would drop SQLite's own locks on close. Where the system cannot lock a directory, everybody
    counts as alone.
    """

    def __init__(self, directory: Path) -> None:
        try:
            self._fd: int | None = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._fd = None
        self.share()

    def share(self) -> None:
        """Take or keep the shared lock; waits while another process repairs."""
        self._lock(exclusive=False)

    def be_alone(self, patience: float) -> bool:
        """Whether everybody else let go within `patience` seconds. If not, the lock is shared again."""
        deadline = time.monotonic() + patience
        while not self._lock(exclusive=True):
            if time.monotonic() >= deadline:
                self.share()
                return False
            time.sleep(_PAUSE)
        return True

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _lock(self, *, exclusive: bool) -> bool:
        if self._fd is None:
            return True
        import fcntl

        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH)
        except BlockingIOError:
            return False
        except OSError:
            self.close()
        return True
