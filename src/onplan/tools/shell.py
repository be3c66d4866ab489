"""The `bash` tool: runs command lines in a kept directory; knows no permissions, no loop and no terminal."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from onplan.errors import ToolError
from onplan.tools.capture import Capture, Progress, Reader
from onplan.tools.processes import Process, Tree, end_processes, uncancelled
from onplan.toolset import Ctx, Injected, ToolOutput, tool

_MARK = "ONPLAN_CALL"
_UNATTENDED = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_PAGER": "cat", "PAGER": "cat"}
_LEAST_LIMIT = 400
_LOOK_EVERY = 0.04
_REAP_GRACE = 1.0
_NAMED_AT_MOST = 5


class Shell:
    """Runs the commands of one session and answers for every process that they start.

    `limit`: characters of a whole answer, at least 400. `env`: instead of the inherited environment.
    `grace`: from asking a process to end until it is killed. `settle`: how long an answer waits at most
    for the last output of what goes on in the background. Times are in seconds. Nothing survives `close`.
    """

    def __init__(
        self,
        root: Path,
        *,
        env: Mapping[str, str] | None = None,
        limit: int = 30_000,
        default_timeout: float = 120.0,
        max_timeout: float = 600.0,
        grace: float = 0.8,
        settle: float = 0.3,
    ) -> None:
        if limit < _LEAST_LIMIT:
            raise ValueError(f"limit must be at least {_LEAST_LIMIT} characters, not {limit}")
        self._root = root
        self._cwd = root
        self._env = env
        self._limit = limit
        self._default_timeout = default_timeout
        self._max_timeout = max_timeout
        self._grace = grace
        self._settle = settle
        self._background: list[Tree] = []

    @property
    def cwd(self) -> Path:
        """Where the next command starts."""
        return self._cwd

    @property
    def survivors(self) -> list[Process]:
        """What earlier commands left running in the background."""
        return [process for tree in self._background for process in tree.alive()]

    async def run(
        self, command: str, *, timeout: float | None = None, progress: Progress = lambda _: None
    ) -> ToolOutput:
        """Run one command line and answer its output, with the exit code (or the timeout) on the last line.

        Returns soon after the shell itself has exited, whatever still runs in the background. Raises
        `ToolError` for what cannot be run. When cancelled, everything that the command started is
        ended first; the `CancelledError` then carries `partial` (str, the output so far) and `seconds`.
        """
        _check_command(command)
        seconds, notes = self._allowed(timeout)
        directory, gone = self._directory()
        call = await _start(command, directory, self._environment(), self._limit, progress)
        timed_out = False
        left: list[Process] = []
        try:
            timed_out = not await call.exits_within(seconds)
            if timed_out:
                await call.end(self._grace)
            left = await call.settle(self._settle)
        except asyncio.CancelledError as cancelled:
            # The same exception goes on: `asyncio.timeout` does not recognise a subclass before 3.13.
            left = await uncancelled(call.end(self._grace))
            partial, _ = call.capture.excerpt(self._limit)
            vars(cancelled).update(partial=partial, seconds=call.seconds)
            raise
        finally:
            self._cwd = call.last_directory() or directory
            self._keep(call.tree, left)
            call.release()
        notes = [*gone, *notes, *_left_note(left), *(self._timeout_note() if timed_out else ())]
        return self._answer(call, notes, left, seconds if timed_out else None)

    async def close(self) -> list[Process]:
        """End everything that still runs in the background; answers what that was. May be called again."""
        trees, self._background = self._background, []

        def alive() -> list[Process]:
            return [process for tree in trees for process in tree.alive()]

        ended = alive()
        if ended:
            await uncancelled(end_processes(alive, self._grace))
        return ended

    def _allowed(self, timeout: object) -> tuple[float, list[str]]:
        longest = self._max_timeout
        if timeout is None:
            return min(self._default_timeout, longest), []
        if not isinstance(timeout, (int, float)) or isinstance(timeout, bool) or not 0 < timeout < math.inf:
            raise ToolError(
                f"timeout must be a number of seconds above 0 and at most {longest:g}, not {timeout!r:.40}"
            )
        if timeout > longest:
            return longest, [f"(timeout lowered to {longest:g} s, the longest allowed)"]
        return float(timeout), []

    def _directory(self) -> tuple[Path, list[str]]:
        if os.access(self._cwd, os.X_OK) and self._cwd.is_dir():
            return self._cwd, []
        if not self._root.is_dir():
            raise ToolError(f"could not start: the project directory {self._root} does not exist")
        return self._root, [f"(the working directory {self._cwd} is gone: this ran in {self._root})"]

    def _environment(self) -> dict[str, str]:
        return {**(os.environ if self._env is None else self._env), **_UNATTENDED}

    def _keep(self, tree: Tree, left: list[Process]) -> None:
        self._background = [kept for kept in self._background if kept.alive()]
        if left:
            self._background.append(tree.narrowed_to(left))

    def _timeout_note(self) -> list[str]:
        return [
            f"(stopped with everything it had started: pass a longer timeout, at most {self._max_timeout:g}, "
            "or start it with & and its output in a file)"
        ]

    def _answer(
        self, call: _Call, notes: list[str], left: list[Process], timed_out_after: float | None
    ) -> ToolOutput:
        timed_out = timed_out_after is not None
        code = 124 if timed_out else call.exit_code
        last = f"exit code: {code}"
        if timed_out:
            last = f"timed out after {timed_out_after:g} s, {last}"
        said = "".join(f"{note[: self._limit // 5]}\n" for note in notes)
        text, omitted = call.capture.excerpt(self._limit - len(said) - len(last) - 1)
        body = text or (f"({omitted:,} characters omitted)" if omitted else "(no output)")
        separator = "" if body.endswith("\n") else "\n"
        details = {
            "exit_code": code,
            "seconds": round(call.seconds, 3),
            "timed_out": timed_out,
            "omitted": omitted,
            "background": [process.pid for process in left],
        }
        return ToolOutput(f"{body}{separator}{said}{last}", details, is_error=timed_out)


@tool()
async def bash(command: str, timeout: float | None = None, *, shell: Injected[Shell], ctx: Ctx) -> ToolOutput:
    """Run a shell command. Answers stdout and stderr, in order, and the exit code.

    The working directory is kept from call to call; variables and functions are not. There is no
    terminal and no input: pass what a prompt would ask for as options (`--yes`, `-m "text"`). Long output
    loses its middle: filter it, or send it to a file and read parts. Start servers and watchers with
    `&` and their output in a file; they run until the session ends.

    Args:
        command: The command line for bash; it may have several lines.
        timeout: Seconds until the command and everything it started is stopped. Default 120, at most 600.
    """
    return await shell.run(command, timeout=timeout, progress=ctx.progress)


# --- one call ---------------------------------------------------------------------------------------


async def _start(
    command: str, directory: Path, env: Mapping[str, str], limit: int, progress: Progress
) -> _Call:
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
            process = await _spawn(_script(command, record), directory, marked, write_end, tree)
        except OSError as error:
            hint = ": write the command to a file and run that" if error.errno == errno.E2BIG else ""
            raise ToolError(f"could not start: {error.strerror}{hint}") from None
        on_failure.pop_all()
    reader = Reader(read_end, Capture(limit), progress)
    return _Call(process, tree.with_session(process.pid), reader, Path(record))


async def _spawn(
    script: str, directory: Path, env: Mapping[str, str], output: int, tree: Tree
) -> asyncio.subprocess.Process:
    shell = _shell_of(env)
    try:
        return await asyncio.create_subprocess_exec(
            shell.name,
            "-c",
            script,
            executable=shell,
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


def _shell_of(env: Mapping[str, str]) -> Path:
    path = env.get("PATH", os.defpath)
    return Path(shutil.which("bash", path=path) or shutil.which("sh", path=path) or "/bin/sh")


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


class _Call:
    """A command that was started: its shell, its output, and all that descends from it."""

    def __init__(self, process: asyncio.subprocess.Process, tree: Tree, reader: Reader, record: Path) -> None:
        self._process = process
        self._reader = reader
        self._record = record
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
            written = self._record.read_bytes().removesuffix(b"\n")
            return Path(os.fsdecode(written)) if written else None
        return None

    def release(self) -> None:
        self._record.unlink(missing_ok=True)
        self._reader.close()


# --- words ------------------------------------------------------------------------------------------


def _check_command(command: str) -> None:
    if not command.strip():
        raise ToolError("the command is empty: pass the command line to run")
    if "\0" in command:
        raise ToolError("the command holds a NUL character: remove it, or write it as an escape")


def _left_note(left: list[Process]) -> list[str]:
    if not left:
        return []
    named = ", ".join(f"{process.pid} {process.command[:80]}" for process in left[:_NAMED_AT_MOST])
    more = f" and {len(left) - _NAMED_AT_MOST} more" if len(left) > _NAMED_AT_MOST else ""
    return [
        f"(still running in the background: {named}{more}; what they print from now on is lost unless it "
        "goes to a file)"
    ]
