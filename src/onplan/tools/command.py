"""One bash command: started in its directory, marked, its output read, ended with all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from onplan.errors import ConfigError, ToolError
from onplan.tools.capture import Capture, Progress, Reader
from onplan.tools.processes import Process, Tree, end_processes, uncancelled
from onplan.tools.sandbox import Sandbox

_MARK = "ONPLAN_CALL"
_LOOK_EVERY = 0.04
_REAP_GRACE = 1.0


async def start(
    command: str,
    directory: Path,
    env: Mapping[str, str],
    sandbox: Sandbox | None,
    limit: int,
    progress: Progress,
) -> RunningCommand:
    """Start `command` in `directory`, in `sandbox` where there is one; at most `limit` characters of its
    output are kept, all of it goes to `progress`. Raises `ToolError` for what cannot be started."""
    mark = os.urandom(8).hex()
    # A harness inside a harness: the outer one must still find what the inner one started.
    marked = {**env, _MARK: f"{env.get(_MARK, '')}:{mark}"}
    with contextlib.ExitStack() as always, contextlib.ExitStack() as on_failure:
        try:
            read_end, write_end = os.pipe()
            on_failure.callback(os.close, read_end)
            always.callback(os.close, write_end)
            handle, record = tempfile.mkstemp(prefix="onplan-cwd-")
            on_failure.callback(os.unlink, record)
            os.close(handle)
            tree = Tree(mark, pipe=os.fstat(read_end).st_ino)
            argv = _argv(_script(command, record), Path(record), directory, env, sandbox)
            process = await _spawn(argv, directory, marked, write_end, tree)
        except ConfigError as error:
            raise ToolError(f"could not start: {error}") from None
        except OSError as error:
            hint = ": write the command to a file and run that" if error.errno == errno.E2BIG else ""
            raise ToolError(f"could not start: {error.strerror}{hint}") from None
        on_failure.pop_all()
    reader = Reader(read_end, Capture(limit), progress)
    records = [Path(record)]
    if sandbox is not None and sandbox.temporary is not None:
        records.append(sandbox.temporary / records[0].name)  # where the file was mounted in its /tmp
    return RunningCommand(process, tree.with_session(process.pid), reader, records)


async def _spawn(
    argv: _Argv, directory: Path, env: Mapping[str, str], output: int, tree: Tree
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *argv.words,
            executable=argv.program,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=env,
            start_new_session=True,
        )
    except asyncio.CancelledError as cancelled:
        await uncancelled(end_processes(tree.alive, 0))
        vars(cancelled).update(partial="", seconds=0.0)
        raise


@dataclass(frozen=True, slots=True)
class _Argv:
    program: str
    words: Sequence[str]


def _argv(
    script: str, record: Path, directory: Path, env: Mapping[str, str], sandbox: Sandbox | None
) -> _Argv:
    # By its name, which stands in front of its messages.
    path = env.get("PATH", os.defpath)
    found = shutil.which("bash", path=path) or shutil.which("sh", path=path)
    shell = Path(found or "/bin/sh")
    if sandbox is None:
        return _Argv(str(shell), [shell.name, "-c", script])
    name = shell.name if found else str(shell)
    words = sandbox.wrap([name, "-c", script], cwd=directory, writable=(record,))
    return _Argv(words[0], words)


def _script(command: str, record: str) -> str:
    """`command` as it is, and around it what writes the last directory to the file `record`.

    A trap, for `exit` and `set -e`; and again behind the command, for one that sets its own trap. Both
    are silent under `set -x`, write under `set -C`, and keep the exit code.
    """
    write = f"{{ command pwd -P || printf '%s\\n' \"$PWD\"; }} >|{shlex.quote(record)}"
    trap = shlex.quote(f"{{ {write}; }} 2>/dev/null")
    again = f'{{ set -- "$?"; {write}; set +x; }} 2>/dev/null; exit "$1"'
    if command.rstrip("\n").endswith("\\"):
        command += "\n\n"  # after a last backslash `eval` reads on into the text behind it
    return f"trap {trap} EXIT; eval {shlex.quote(command)}\n{again}"


class RunningCommand:
    """A command that was started: its shell, its output, and all that descends from it."""

    def __init__(
        self, process: asyncio.subprocess.Process, tree: Tree, reader: Reader, records: Sequence[Path]
    ) -> None:
        self._process = process
        self._reader = reader
        self._records = records
        self._started = time.monotonic()
        self.tree = tree
        self.capture = reader.capture

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def exit_code(self) -> int:
        """As a shell gives it: 128 and the signal's number for a shell that a signal ended."""
        code = self._process.returncode or 0
        return code if code >= 0 else 128 - code

    async def exits_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            return self._process.returncode is not None
        return True

    async def end(self, grace: float) -> list[Process]:
        """End everything that the command started. Answers what could not be ended."""
        left = await end_processes(self.tree.alive, grace)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REAP_GRACE):
                await self._process.wait()
        self._reader.drain()
        return left

    async def settle(self, seconds: float) -> list[Process]:
        """Wait shortly for the last output and for what is just ending. Answers what goes on running."""
        self._reader.drain()
        deadline = time.monotonic() + seconds
        left = self.tree.alive()
        while (left or not self._reader.ended) and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_EVERY)
            left = self.tree.alive()
        self._reader.drain()
        return left

    def last_directory(self) -> Path | None:
        with contextlib.suppress(OSError):
            written = self._records[0].read_bytes().removesuffix(b"\n")
            return Path(os.fsdecode(written)) if written else None
        return None

    def release(self) -> None:
        for record in self._records:
            with contextlib.suppress(OSError):
                record.unlink()
        self._reader.close()
