"""Executing the calls of one reply: one result each, in call order, whatever happens (I1)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from msgspec.structs import replace

from onplan.cancellation import INTERRUPTS, finished, is_cancelled, raise_if_cancelled
from onplan.errors import StoreError
from onplan.events import Decided, ToolProgress, ToolStarted, Warned
from onplan.hooks import (
    Allow,
    Ask,
    Deny,
    Replace,
    Rewrite,
    Skip,
    Turn,
    View,
    consult_one,
    settled,
)
from onplan.messages import Call, Note, ToolResult
from onplan.parts import Parts
from onplan.toolset import Ctx, Tool, ToolOutput


async def execute(parts: Parts, calls: Sequence[Call], turn: Turn | None = None) -> list[ToolResult]:
    """Exactly one result for each call, in call order, each in the log before the next call runs (I1).

    Neighbours whose tools are declared safe for it run side by side. On cancellation, and when the log
    fails, the calls without result get theirs (interrupted, or not executed) before that is passed on.
    """
    batch = _Batch(parts, parts.view(turn or Turn()))
    try:
        await batch.run(calls)
    except INTERRUPTS:
        await finish(parts, batch.interrupt(calls, "by the user"))
        raise
    except StoreError:
        await finish(parts, batch.interrupt(calls, "because the session log failed"))
        raise
    if batch.notes:
        await parts.log.append(*batch.notes)
    return batch.results


class _Batch:
    """The calls of one reply on their way to results."""

    def __init__(self, parts: Parts, view: View) -> None:
        self._parts = parts
        self._view = view
        self._task = asyncio.current_task()
        self._group: list[Call] = []  # may run, side by side
        self._decided: list[Decided] = []  # not in the log yet
        self._started: set[str] = set()
        self._ready: dict[str, ToolResult] = {}
        self._said: dict[str, list[Note]] = {}
        self.results: list[ToolResult] = []
        self.notes: list[Note] = []

    async def run(self, calls: Sequence[Call]) -> None:
        for sent in calls:
            call = self._parts.toolset.canonical(sent)
            tool = self._parts.toolset.find(call.name)
            alone = tool is None or not tool.parallel
            if alone and self._group:
                await self._run_group()
            await self._admit(call, tool)
            if alone:
                await self._run_group()
        if self._group:
            await self._run_group()

    async def interrupt(self, calls: Sequence[Call], by: str) -> None:
        """Give every call without result the one it deserves."""
        if self._decided:
            await self._parts.log.append(*self._decided)
        answered = {result.call_id for result in self.results}
        for call in calls:
            if call.id not in answered:
                done = self._ready.get(call.id)
                await self._log(done or interrupted_result(call, started=call.id in self._started, by=by))
        if self.notes:
            await self._parts.log.append(*self.notes)

    # --- before a call ---

    async def _admit(self, call: Call, tool: Tool | None) -> None:
        """Put the call into the group; or log the result that it has because it does not run."""
        await raise_if_cancelled()
        # The toolset answers an unknown tool with the names there are: nothing to decide.
        verdict = call if tool is None else await self._decide(call, tool)
        if isinstance(verdict, Call):
            self._group.append(verdict)
            return
        self._ready[call.id] = verdict
        await self._run_group()
        await self._log(verdict)

    async def _decide(self, call: Call, tool: Tool) -> Call | ToolResult:
        """The call as it is to run, or the result that it has because it does not. Every hook is heard, and
        each knows what those before it said: no permission jumps over an objection."""
        known = (Allow, Ask, Deny, Rewrite, Skip, Note)
        decided: tuple[Allow | Ask | Deny, ...] = ()
        sent = call
        for hook in self._parts.hooks.before_tool:
            view = replace(self._view, decided=decided)
            for decision in await consult_one(hook, call, tool, view, warn=self._parts.emit, known=known):
                match decision:
                    case Skip(content=content, details=details):
                        return ToolResult(call.id, call.name, content, "not_executed", details)
                    case Rewrite(arguments=arguments):
                        call = Call(call.id, call.name, arguments)
                        # A permission was for the arguments as they were.
                        decided = tuple(one for one in decided if not isinstance(one, Allow))
                    case Note():
                        self._said.setdefault(call.id, []).append(decision)
                    case _:
                        decided = (*decided, decision)
        return self._verdict(call, settled(decided), rewritten=call is not sent)

    def _verdict(self, call: Call, verdict: Allow | Deny | None, *, rewritten: bool) -> Call | ToolResult:
        ran = call.arguments if rewritten else None
        match verdict:
            case None:
                return call
            case Allow(by=by, reason=reason, rule=rule):
                self._decided.append(Decided(call.id, "allow", by, reason, rule, ran))
                return call
            case Deny(reason=reason, by=by, nobody=nobody, rule=rule):
                self._decided.append(Decided(call.id, "deny", by, reason, rule, ran))
                details = {"denied": by, "nobody": True} if nobody else {"denied": by}
                return ToolResult(call.id, call.name, f"Error: not run: {reason}", "denied", details)

    # --- the calls ---

    async def _run_group(self) -> None:
        group, self._group = self._group, []
        if self._decided or group:
            await self._parts.log.append(*self._decided, *(ToolStarted(call.id) for call in group))
            self._decided.clear()
        await raise_if_cancelled()
        self._started.update(call.id for call in group)
        if len(group) == 1:
            await self._call(group[0])
        elif group:
            async with asyncio.TaskGroup() as tasks:
                for call in group:
                    tasks.create_task(self._call(call))
        for call in group:
            await self._log(self._ready[call.id])

    async def _call(self, call: Call) -> None:
        try:
            await self._answer(call)
        except asyncio.CancelledError as error:
            self._ready.setdefault(call.id, interrupted_result(call, started=True, error=error))
            raise
        except KeyboardInterrupt as error:
            self._ready.setdefault(call.id, interrupted_result(call, started=True, error=error))
            if self._task is not None:
                self._task.cancel()
            raise asyncio.CancelledError from None

    async def _answer(self, call: Call) -> None:
        result = _result(call, self._parts.toolset.find(call.name), await self._output(call))
        self._ready[call.id] = result
        for hook in self._parts.hooks.after_tool:
            known = (Replace, Note)
            for decision in await consult_one(
                hook, call, result, self._view, warn=self._parts.emit, known=known
            ):
                match decision:
                    case Replace(content=content):
                        # A hook that hides something saw the text only.
                        result = replace(result, content=content, media=())
                        self._ready[call.id] = result
                    case note:
                        self._said.setdefault(call.id, []).append(note)

    async def _output(self, call: Call) -> ToolOutput:
        def progress(text: str) -> None:
            self._parts.emit(ToolProgress(call.id, text))

        try:
            return await self._parts.toolset.call(call, Ctx(call.id, progress))
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return ToolOutput(f"Error: {call.name} gave up by itself", is_error=True)

    async def _log(self, result: ToolResult) -> None:
        try:
            await self._parts.log.append(result)
        except StoreError as error:
            # the result was not kept, so what it says did not happen for the plan: say that instead
            text = f"Error: the result could not be saved ({error}). A plan write did not take effect."
            result = ToolResult(result.call_id, result.name, text, "error")
            await self._parts.log.append(result)
            self._parts.emit(Warned(f"the result of {result.name} could not be saved: {error}"))
        self.results.append(result)
        self.notes += self._said.pop(result.call_id, [])


def _result(call: Call, tool: Tool | None, output: ToolOutput) -> ToolResult:
    return ToolResult(
        call.id,
        call.name,
        output.content,
        "error" if output.is_error else "ok",
        output.details,
        changed=tool is not None and not tool.read_only and not output.is_error,
        media=() if output.is_error else output.media,
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
    try:
        await finished(work)
    except StoreError as error:
        parts.emit(Warned(f"the end of the turn could not be saved: {error}"))
