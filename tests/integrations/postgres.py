"""A PostgreSQL server of one's own for a test run: made, started on a Unix socket, ended and removed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def binaries() -> Path | None:
    """Where `initdb` and `pg_ctl` are, or `None`."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)
    places = [*reversed(installed), *(Path(found).parent for found in [shutil.which("initdb")] if found)]
    return next((path for path in places if (path / "initdb").exists() and (path / "pg_ctl").exists()), None)


@contextmanager
def running_server(home: Path) -> Iterator[str]:
    """The address of a fresh server that listens on no network, only on a socket; it ends with the block."""
    # The path of a socket may not be longer than about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        _hand_over(base)
        data = base / "data"
        _run(home, "initdb", "-D", str(data), "-U", "tests", "--auth=trust", "--no-sync", "-E", "UTF8")
        options = f"-k {base} -c listen_addresses='' -c fsync=off"
        _run(home, "pg_ctl", "-D", str(data), "-l", str(base / "log"), "-w", "-o", options, "start")
        try:
            yield f"postgresql://tests@/postgres?host={base}"
        finally:
            _run(home, "pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")


def _hand_over(folder: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")


def _run(home: Path, program: str, *arguments: str) -> None:
    """Run one of the server's programs; as the user postgres where we are root, which it refuses to be."""
    drop: Sequence[str] = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
    command = [*(drop if os.geteuid() == 0 else ()), str(home / program), *arguments]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # the server inherits it: a pipe would never end
        stderr=subprocess.DEVNULL,
        cwd="/",
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{program} ended with {done.returncode}")
