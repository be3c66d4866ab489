"""Executing the calls of one reply: one result each, in call order, whatever happens (I1)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

import msgspec

from onplan.errors import StoreError
from onplan.events import Decided, Record, ToolProgress, ToolStarted, Warned
from onplan.hooks import Allow, Deny, Replace, Rewrite, Skip, Turn, View, consult_one
from onplan.messages import Call, Note, ToolResult
from onplan.parts import Parts
from onplan.toolset import Ctx, Tool, ToolOutput, Toolset


async def execute(parts: Parts, calls: Sequence[Call], turn: Turn | None = None) -> list[ToolResult]:
    """Exactly one result for each call, in call order, each in the log before the next call runs (I1).

    Neighbours whose tools are declared safe for it run side by side. On cancellation the calls without
    result get theirs (interrupted, or not executed) before the cancellation is passed on.
    """
    batch = _Batch(parts, parts.view(turn or Turn()))
    try:
        for group in _groups(calls, parts.toolset):
            await batch.run(group)
    except asyncio.CancelledError as error:
        await finish(parts, batch.interrupt(calls, error))
        raise
    if batch.notes:
        await parts.log.append(*batch.notes)
    return batch.results


def _groups(calls: Sequence[Call], toolset: Toolset) -> Iterator[list[Call]]:
    """Runs of neighbours that may go side by side; every other call by itself."""
    group: list[Call] = []
    for call in calls:
        tool = toolset.find(call.name)
        if tool is not None and tool.parallel:
            group.append(call)
            continue
        if group:
            yield group
        group = []
        yield [call]
    if group:
        yield group


class _Batch:
    """The calls of one reply on their way to results."""

    def __init__(self, parts: Parts, view: View) -> None:
        self._parts = parts
        self._view = view
        self._ready: dict[str, ToolResult] = {}
        self._started: set[str] = set()
        self.results: list[ToolResult] = []
        self.notes: list[Note] = []

    async def run(self, group: list[Call]) -> None:
        chosen: list[Call] = []
        decided: list[Record] = []
        for call in group:
            allowed = await self._decide(call, decided)
            if allowed is not None:
                chosen.append(allowed)
        started = [ToolStarted(call.id) for call in chosen]
        if decided or started:
            await self._parts.log.append(*decided, *started)
        self._started.update(call.id for call in chosen)
        if len(chosen) == 1:
            await self._call(chosen[0])
        elif chosen:
            async with asyncio.TaskGroup() as tasks:
                for call in chosen:
                    tasks.create_task(self._call(call))
        for call in group:
            await self._log(self._ready.pop(call.id))

    async def _decide(self, call: Call, decided: list[Record]) -> Call | None:
        """The call to run, or `None` once its result is ready because it does not run."""
        tool = self._parts.toolset.find(call.name)
        if tool is None:
            return call  # the toolset answers it with the names there are
        for hook in self._parts.hooks.before_tool:
            match await consult_one(hook, call, tool, self._view, warn=self._parts.emit):
                case Allow(by=by, reason=reason):
                    decided.append(Decided(call.id, "allow", by, reason))
                    return call
                case Deny(reason=reason, by=by, nobody=nobody):
                    decided.append(Decided(call.id, "deny", by, reason))
                    details = {"denied": by, "nobody": True} if nobody else {"denied": by}
                    text = f"Error: not run: {reason}"
                    self._ready[call.id] = ToolResult(call.id, call.name, text, "denied", details)
                    return None
                case Skip(content=content, details=details):
                    self._ready[call.id] = ToolResult(call.id, call.name, content, "not_executed", details)
                    return None
                case Rewrite(arguments=arguments):
                    call = Call(call.id, call.name, arguments)
                case _:
                    pass
        return call

    async def _call(self, call: Call) -> None:
        def progress(text: str) -> None:
            self._parts.emit(ToolProgress(call.id, text))

        tool = self._parts.toolset.find(call.name)
        try:
            output = await self._parts.toolset.call(call, Ctx(call.id, progress))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            output = ToolOutput(f"Error: {call.name} gave up by itself", is_error=True)
        result = _result(call, tool, output)
        for hook in self._parts.hooks.after_tool:
            match await consult_one(hook, call, result, self._view, warn=self._parts.emit):
                case Replace(content=content):
                    result = msgspec.structs.replace(result, content=content)
                case Note() as note:
                    self.notes.append(note)
                case _:
                    pass
        self._ready[call.id] = result

    async def _log(self, result: ToolResult) -> None:
        try:
            await self._parts.log.append(result)
        except StoreError as error:
            # the result was not kept, so what it says did not happen for the plan: say that instead
            result = ToolResult(
                result.call_id,
                result.name,
                f"Error: the result could not be saved ({error}). A plan write did not take effect.",
                "error",
            )
            await self._parts.log.append(result)
            self._parts.emit(Warned(f"the result of {result.name} could not be saved: {error}"))
        self.results.append(result)

    async def interrupt(self, calls: Sequence[Call], error: asyncio.CancelledError) -> None:
        """Give every call without result the one it deserves."""
        answered = {result.call_id for result in self.results}
        for call in calls:
            if call.id not in answered:
                done = self._ready.get(call.id)
                running = call.id in self._started
                await self._log(done or interrupted_result(call, started=running, error=error))


def _result(call: Call, tool: Tool | None, output: ToolOutput) -> ToolResult:
    return ToolResult(
        call.id,
        call.name,
        output.content,
        "error" if output.is_error else "ok",
        output.details,
        changed=tool is not None and not tool.read_only and not output.is_error,
    )


def interrupted_result(
    call: Call, *, started: bool, error: BaseException | None = None, by: str = "by the user"
) -> ToolResult:
    """The result of a call that a cancellation, or a crash, left without one.

    A tool may attach what it had put out so far (`partial`) and how long it ran (`seconds`) to the error.
    """
    if not started:
        return ToolResult(call.id, call.name, f"Error: not executed (interrupted {by}).", "not_executed")
    seconds = getattr(error, "seconds", None)
    partial = getattr(error, "partial", "")
    after = "" if seconds is None else f" after {seconds:.0f} s"
    shown = f"\nOutput until then:\n{partial}" if partial else ""
    text = f"Error: interrupted {by}: was running, stopped{after}; side effects are possible.{shown}"
    return ToolResult(call.id, call.name, text, "interrupted")


async def finish(parts: Parts, work: Coroutine[Any, Any, object]) -> None:
    """Do `work` to its end although this task is being cancelled; a store that fails becomes a warning."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue
        except StoreError:
            break
    if error := task.exception():
        parts.emit(Warned(f"the end of the turn could not be saved: {error}"))
