"""The `bash` tool: runs command lines in a kept directory; knows no permissions, no loop and no terminal."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import errno
import io
import math
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from onplan.errors import ToolError
from onplan.toolset import Ctx, Injected, ToolOutput, tool

T = TypeVar("T")
Progress = Callable[[str], None]

_MARK = "ONPLAN_CALL"
_UNATTENDED = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_PAGER": "cat", "PAGER": "cat"}
_LEAST_LIMIT = 400
_CHUNK = 65_536
_PIPE_AT_MOST = 1 << 20
_DRAIN = 0.3
_POLL = 0.02
_TERM_GRACE = 0.8
_KILL_GRACE = 1.0
_PROGRESS_EVERY = 0.1
_PROGRESS_CHARACTERS = 4_000
_NAMED_AT_MOST = 5


@dataclass(frozen=True, slots=True)
class Process:
    """A process that a command left. `started` tells it from a later one that got the same `pid`."""

    pid: int
    command: str = field(compare=False)  # `exec` changes it
    started: str = ""


class Shell:
    """Runs the commands of one session and answers for every process that they start.

    `limit`: characters of a whole answer, at least 400. `env`: instead of the inherited environment.
    Times are in seconds. Nothing survives `close`.
    """

    def __init__(
        self,
        root: Path,
        *,
        env: Mapping[str, str] | None = None,
        limit: int = 30_000,
        default_timeout: float = 120.0,
        max_timeout: float = 600.0,
    ) -> None:
        if limit < _LEAST_LIMIT:
            raise ValueError(f"limit must be at least {_LEAST_LIMIT} characters, not {limit}")
        self._root = root
        self._cwd = root
        self._env = env
        self._limit = limit
        self._default_timeout = default_timeout
        self._max_timeout = max_timeout
        self._background: list[_Tree] = []

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
                await call.end()
            left = await call.settle()
        except asyncio.CancelledError as cancelled:
            # The same exception goes on: `asyncio.timeout` does not recognise a subclass before 3.13.
            left = await _uncancelled(call.end())
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
            await _uncancelled(_end(alive, _TERM_GRACE))
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

    def _keep(self, tree: _Tree, left: list[Process]) -> None:
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


class Capture:
    """Decodes a stream of bytes and keeps its beginning and its end, in memory bounded by `limit`.

    What it answers depends on the bytes alone, never on how they were cut into pieces.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = io.StringIO()
        self._tail = io.StringIO()
        self._characters = 0
        self._newlines = 0

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """Take the next bytes; answers the text that they completed."""
        text = self._decoder.decode(data, final)
        missing = max(0, self._limit - self._characters)
        self._characters += len(text)
        self._newlines += text.count("\n")
        if missing:
            self._head.write(text[:missing])
        self._tail.write(text[missing:][-self._limit :])
        if self._tail.tell() > 4 * self._limit:
            kept = self._tail.getvalue()[-self._limit :]
            self._tail = io.StringIO()
            self._tail.write(kept)
        return text

    def excerpt(self, room: int) -> tuple[str, int]:
        """The text in at most `room` characters (never more than `limit`), and how many it leaves out.

        What is left out is the middle, cut at line ends where some are near; a line in its place says
        how much it was.
        """
        room = min(room, self._limit)
        if self._characters <= room:
            return self._head.getvalue(), 0
        keep = room - len(_omission(self._characters, self._newlines + 2)) - 2
        if keep <= 0:
            return "", self._characters
        first, last = _head_of(self._head.getvalue(), keep * 2 // 5), self._last(keep - keep * 2 // 5)
        omitted = self._characters - len(first) - len(last)
        lines = self._newlines - first.count("\n") - last.count("\n")
        separator = "" if not first or first.endswith("\n") else "\n"
        return f"{first}{separator}{_omission(omitted, max(1, lines))}\n{last}", omitted

    def _last(self, size: int) -> str:
        kept = self._tail.getvalue()
        if len(kept) < size:
            kept = self._head.getvalue() + kept
        return _tail_of(kept, size)


def _head_of(text: str, size: int) -> str:
    cut = text[:size]
    line_end = cut.rfind("\n") + 1
    return cut[:line_end] if line_end > len(cut) - len(cut) // 8 else cut


def _tail_of(text: str, size: int) -> str:
    cut = text[len(text) - size :]
    line_start = cut.find("\n") + 1
    return cut[line_start:] if 0 < line_start < len(cut) // 8 else cut


def _omission(characters: int, lines: int) -> str:
    return (
        f"[... {characters:,} characters ({lines:,} line{'' if lines == 1 else 's'}) omitted: "
        "filter the output, or send it to a file and read parts ...]"
    )


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
            tree = _Tree(mark, pipe=os.fstat(read_end).st_ino)
            process = await _spawn(_script(command, record), directory, marked, write_end, tree)
        except OSError as error:
            hint = ": write the command to a file and run that" if error.errno == errno.E2BIG else ""
            raise ToolError(f"could not start: {error.strerror}{hint}") from None
        on_failure.pop_all()
    reader = _Reader(read_end, Capture(limit), progress)
    return _Call(process, tree.with_session(process.pid), reader, Path(record))


async def _spawn(
    script: str, directory: Path, env: Mapping[str, str], output: int, tree: _Tree
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
        await _uncancelled(_end(tree.alive, 0))
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

    def __init__(
        self, process: asyncio.subprocess.Process, tree: _Tree, reader: _Reader, record: Path
    ) -> None:
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

    async def end(self) -> list[Process]:
        """End everything that the command started. Answers what could not be ended."""
        left = await _end(self.tree.alive, _TERM_GRACE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_KILL_GRACE):
                await self._process.wait()
        self._reader.drain()
        return left

    async def settle(self) -> list[Process]:
        """Wait shortly for the last output and for what is just ending. Answers what goes on running."""
        self._reader.drain()
        deadline = time.monotonic() + _DRAIN
        left = self.tree.alive()
        while (left or not self._reader.ended) and time.monotonic() < deadline:
            await asyncio.sleep(2 * _POLL)
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


class _Reader:
    """Takes what arrives on a pipe into a capture, and shows it."""

    def __init__(self, pipe: int, capture: Capture, progress: Progress) -> None:
        self.capture = capture
        self.ended = False
        self._pipe = pipe
        self._shown = _Shown(progress)
        os.set_blocking(pipe, False)
        asyncio.get_running_loop().add_reader(pipe, self._take)

    def drain(self) -> None:
        """Take what is in the pipe now, which is all that a process wrote that has exited."""
        taken = 0
        while taken < _PIPE_AT_MOST and (size := self._take()):
            taken += size

    def close(self) -> None:
        """Take nothing more. A pipe that is still written to is emptied elsewhere."""
        asyncio.get_running_loop().remove_reader(self._pipe)
        if self.ended:
            os.close(self._pipe)
        else:
            self.capture.feed(b"", final=True)
            threading.Thread(target=_discard, args=(self._pipe,), daemon=True).start()
        self._shown.close()

    def _take(self) -> int:
        if self.ended:
            return 0
        try:
            data = os.read(self._pipe, _CHUNK)
        except BlockingIOError:
            return 0
        if not data:
            self.ended = True
            asyncio.get_running_loop().remove_reader(self._pipe)
        self._shown.add(self.capture.feed(data, final=not data))
        return len(data)


def _discard(pipe: int) -> None:
    # A closed pipe would end a background server at its next line, a full one would stop it.
    os.set_blocking(pipe, True)
    with contextlib.suppress(OSError), open(pipe, "rb", buffering=0) as late:
        while late.read(_CHUNK):
            time.sleep(_POLL)


class _Shown:
    """Passes text on as it comes, several times a second at most, and of a flood only the newest."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._pending = ""
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        self._pending = (self._pending + text)[-_PROGRESS_CHARACTERS:]
        if self._timer is None:
            self._show()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._pending:
            self._progress(self._pending)

    def _show(self) -> None:
        self._timer = None
        if not self._pending:
            return
        text, self._pending = self._pending, ""
        self._timer = asyncio.get_running_loop().call_later(_PROGRESS_EVERY, self._show)
        self._progress(text)


# --- processes --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tree:
    """Finds what descends from one call: by the mark in the environment, which `setsid` does not lose;
    by the session, which `env -i` does not lose; by the output pipe; and by parentage from these."""

    mark: str
    pipe: int = -1
    session: int = -1
    known: frozenset[Process] = frozenset()

    def with_session(self, session: int) -> _Tree:
        return replace(self, session=session)

    def narrowed_to(self, known: list[Process]) -> _Tree:
        """For later on: the numbers of an ended session and pipe may be somebody else's by then."""
        return _Tree(self.mark, known=frozenset(known))

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


async def _end(find: Callable[[], list[Process]], grace: float) -> list[Process]:
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


async def _uncancelled(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` through further cancellations: it is short, and what it ends must not stay behind."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    return task.result()


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
