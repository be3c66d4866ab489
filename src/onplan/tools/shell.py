"""The `bash` tool: runs command lines in a kept directory; knows no permissions, no loop and no terminal."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onplan.errors import ConfigError, ToolError
from onplan.toolset import Ctx, Injected, ToolOutput, tool

if TYPE_CHECKING:
    from onplan.tools.capture import Progress
    from onplan.tools.command import RunningCommand
    from onplan.tools.processes import Process, Tree
    from onplan.tools.sandbox import Sandbox

_UNATTENDED = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_PAGER": "cat", "PAGER": "cat"}
_LEAST_LIMIT = 400
_NAMED_AT_MOST = 5


class Shell:
    """Runs the commands of one session and answers for every process that they start.

    `limit`: characters of a whole answer, at least 400. `env`: instead of the inherited environment.
    `grace`: from asking a process to end until it is killed. `settle`: how long an answer waits at most
    for the last output of what goes on in the background. Times are in seconds. Nothing survives `close`.
    `sandbox`: every command runs inside it; one that allows no lingering ends what a command leaves.
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
        sandbox: Sandbox | None = None,
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
        self._sandbox = sandbox
        self._background: list[Tree] = []

    @property
    def cwd(self) -> Path:
        """Where the next command starts."""
        return self._cwd

    @property
    def survivors(self) -> list[Process]:
        """What earlier commands left running in the background."""
        return self._asked_for(_alive(self._background))

    async def run(
        self, command: str, *, timeout: float | None = None, progress: Progress = lambda _: None
    ) -> ToolOutput:
        """Run one command line and answer its output, with the exit code (or the timeout) on the last line.

        Returns soon after the shell itself has exited, whatever still runs in the background. Raises
        `ToolError` for what cannot be run. When cancelled, everything that the command started is
        ended first; the `CancelledError` then carries `partial` (str, the output so far) and `seconds`.
        """
        # With the first command, not with every start.
        from onplan.tools.command import start
        from onplan.tools.processes import uncancelled

        _check_command(command)
        seconds, notes = self._allowed(timeout)
        directory, gone = self._directory()
        call = await start(command, directory, self._environment(), self._sandbox, self._limit, progress)
        timed_out = False
        left: list[Process] = []
        try:
            timed_out = not await call.exits_within(seconds)
            if timed_out:
                await call.end(self._grace)
            left = await call.settle(self._settle)
            if left and self._sandbox and not self._sandbox.lingering:
                left = await call.end(self._grace)
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
        told = self._asked_for(left)
        notes = [*gone, *notes, *self._left_note(told), *(self._timeout_note() if timed_out else ())]
        return self._answer(call, notes, told, seconds if timed_out else None)

    async def close(self) -> list[Process]:
        """End everything that still runs in the background; answers what that was. May be called again."""
        trees, self._background = self._background, []
        ended = _alive(trees)
        if ended:
            from onplan.tools.processes import end_processes, uncancelled

            await uncancelled(end_processes(lambda: _alive(trees), self._grace))
        return self._asked_for(ended)

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
        if os.access(self._cwd, os.X_OK) and self._cwd.is_dir() and self._shows(self._cwd):
            return self._cwd, []
        if not self._root.is_dir():
            raise ToolError(f"could not start: the project directory {self._root} does not exist")
        return self._root, [f"(the working directory {self._cwd} is gone: this ran in {self._root})"]

    def _shows(self, directory: Path) -> bool:
        if self._sandbox is None:
            return True
        try:
            return self._sandbox.shows(directory)
        except ConfigError as error:
            raise ToolError(f"could not start: {error}") from None

    def _environment(self) -> dict[str, str]:
        env = os.environ if self._env is None else self._env
        return {**(self._sandbox.environment(env) if self._sandbox else env), **_UNATTENDED}

    def _asked_for(self, processes: list[Process]) -> list[Process]:
        sandbox = self._sandbox
        return [process for process in processes if not (sandbox and sandbox.is_its_own(process.command))]

    def _keep(self, tree: Tree, left: list[Process]) -> None:
        self._background = [kept for kept in self._background if kept.alive()]
        if left:
            self._background.append(tree.narrowed_to(left))

    def _left_note(self, left: list[Process]) -> list[str]:
        if not left:
            return []
        # Inside, each command sees its own processes only.
        reach = "later commands cannot see or stop them, they end with the session; " if self._sandbox else ""
        return [
            f"(still running in the background: {named(left)}; {reach}what they print from now on is lost "
            "unless it goes to a file)"
        ]

    def _timeout_note(self) -> list[str]:
        return [
            f"(stopped with everything it had started: pass a longer timeout, at most {self._max_timeout:g}, "
            "or start it with & and its output in a file)"
        ]

    def _answer(
        self, call: RunningCommand, notes: list[str], left: list[Process], timed_out_after: float | None
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


def _alive(trees: Sequence[Tree]) -> list[Process]:
    return [process for tree in trees for process in tree.alive()]


# --- words ------------------------------------------------------------------------------------------


def _check_command(command: str) -> None:
    if not command.strip():
        raise ToolError("the command is empty: pass the command line to run")
    if "\0" in command:
        raise ToolError("the command holds a NUL character: remove it, or write it as an escape")


def named(processes: list[Process]) -> str:
    """The processes with their ids, the first few by name."""
    listed = ", ".join(f"{process.pid} {process.command[:80]}" for process in processes[:_NAMED_AT_MOST])
    more = len(processes) - _NAMED_AT_MOST
    return f"{listed} and {more} more" if more > 0 else listed
