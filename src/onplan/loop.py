"""The loop: ask the model, execute its calls, again until it is done. Knows no plan, permission or vendor.

`ask` is one request, `execute` one batch of calls, `run` both in turn. Everything that happens is
appended to the log first and told outside second; product features hang on hooks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from onplan.cancellation import INTERRUPTS, is_cancelled, raise_if_cancelled, unbroken
from onplan.errors import ModelError, StoreError
from onplan.events import (
    Compacted,
    EndReason,
    RequestStarted,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    Warned,
    encode_record,
)
from onplan.execution import execute, finish
from onplan.hooks import Block, Continue, EndTurn, Turn, consult, consult_one
from onplan.messages import Assistant, Call, Note, Part, Text, ToolResult, User
from onplan.parts import Limits, Log, Parts
from onplan.protocols import Delta, Model, Request

__all__ = ["Limits", "Log", "Parts", "ask", "execute", "hear", "run"]

SAME_CALL_ENDS_THE_TURN = 5
_STUMBLES = 3
_REMEMBERED = 50
"""Calls of a turn that are remembered to see whether they come again."""


async def run(parts: Parts, user: User) -> TurnEnded:
    """One turn: from a user message to the reply that calls no tool, or to whatever ends it (I9).

    Never raises for a failing model, tool, hook or store: that is a reason. Cancellation is passed on
    after every outstanding call has got its result; a `KeyboardInterrupt` becomes one.
    """
    turn = Turn()
    reason: EndReason | None = None
    error = ""
    try:
        if blocked := await _begin(parts, user, turn):
            return _told(parts, TurnEnded("blocked", error=blocked.reason))
        while reason is None and (reason := parts.limits.reached(turn)) is None:
            await raise_if_cancelled()
            turn = await _before_request(parts, turn)
            turn = replace(turn, requests=turn.requests + 1)
            try:
                reply = await ask(parts, number=turn.requests)
            except ModelError as failure:
                turn = await _made_shorter(parts, turn, failure)
                reply = await ask(parts, number=turn.requests)
            turn = replace(turn, usage=turn.usage + reply.usage)
            turn, reason = await (_round if reply.calls else _stop)(parts, turn, reply)
    except ModelError as failure:
        reason, error = "model_error", str(failure)
    except StoreError as failure:
        reason, error = "store_error", str(failure)
    except INTERRUPTS:
        await finish(parts, _ended(parts, turn, "interrupted"))
        raise asyncio.CancelledError from None
    return await _ended(parts, turn, reason, error)


async def _begin(parts: Parts, user: User, turn: Turn) -> Block | None:
    """Put the user message into the log, unless a hook blocks it."""
    hooks, view, warn = parts.hooks, parts.view(turn), parts.emit
    answers = await consult(hooks.user_prompt, user.text, view, warn=warn, known=(Note, Block))
    for answer in answers:
        if isinstance(answer, Block):
            return answer
    if not any(isinstance(message, User) for message in parts.log.messages):
        answers = await consult(hooks.session_start, view, warn=warn, known=(Note,)) + answers
    await raise_if_cancelled()
    await parts.log.append(user, *answers)
    return None


async def _before_request(parts: Parts, turn: Turn) -> Turn:
    """The turn, with what it took to make the conversation shorter where that was done."""
    # One at a time: the next hook sees what the one before it added (I8).
    for hook in parts.hooks.before_model:
        answers = await consult_one(hook, parts.view(turn), warn=parts.emit, known=(Note, Compacted))
        if answers:
            await parts.log.append(*answers)
        for answer in answers:
            if isinstance(answer, Compacted):
                turn = replace(turn, usage=turn.usage + answer.usage, too_long=False)
    return turn


async def _made_shorter(parts: Parts, turn: Turn, failure: ModelError) -> Turn:
    """The turn before its next request, once a hook has made a conversation shorter that the model did not
    take for its length. Raises `failure` if that was not it, or no hook does."""
    if not failure.too_long:
        raise failure
    turn = await _before_request(parts, replace(turn, too_long=True))
    if turn.too_long:
        raise failure
    return replace(turn, requests=turn.requests + 1)


# --- asking -----------------------------------------------------------------------------------------


async def ask(parts: Parts, *, number: int = 1) -> Assistant:
    """One request. The reply is in the log when this returns.

    A stream that is cut or cancelled leaves its text in the log as interrupted; its unfinished calls and
    its thinking are dropped. Raises `ModelError` for whatever an adapter raises, and `StoreError`.
    """
    log = parts.log
    parts.emit(RequestStarted(number, len(log.messages)))
    heard: list[str] = []
    try:
        request = Request(log.system, log.tools, log.messages)
        reply = await hear(parts.model, request, lambda delta: _tell(parts, delta, heard))
    except (ModelError, *INTERRUPTS):
        if "".join(heard).strip():
            cut = Assistant((Text("".join(heard)),), "interrupted", model=parts.model.name)
            await finish(parts, log.append(cut))
        raise
    reply = _with_distinct_ids(reply, log)
    await log.append(reply)
    return reply


async def hear(model: Model, request: Request, tell: Callable[[Delta], None]) -> Assistant:
    """The whole reply; its pieces are told as they come. Whatever an adapter raises is a `ModelError`."""
    try:
        reply = await _listen(model, request, tell)
    except ModelError:
        raise
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        raise ModelError(f"{model.name} gave up by itself", retryable=True) from None
    except Exception as error:
        raise ModelError(f"{model.name} failed: {type(error).__name__}: {error}") from error
    if reply is None:
        raise ModelError(f"{model.name} ended its stream without a reply", retryable=True)
    return reply


async def _listen(model: Model, request: Request, tell: Callable[[Delta], None]) -> Assistant | None:
    """The whole reply, if there is one. The stream is closed when this returns."""
    stream = model.stream(request)
    try:
        async for item in stream:
            if isinstance(item, Assistant):
                return item
            tell(item)
        return None
    finally:
        await _close(stream)


async def _close(stream: AsyncIterator[Delta | Assistant]) -> None:
    if isinstance(stream, AsyncGenerator):
        with contextlib.suppress(Exception):  # the reply is there, or its own error is on its way
            await stream.aclose()


def _tell(parts: Parts, delta: Delta, heard: list[str]) -> None:
    if delta.kind == "thinking":
        parts.emit(ThinkingDelta(delta.text))
        return
    heard.append(delta.text)
    parts.emit(TextDelta(delta.text))


def _with_distinct_ids(reply: Assistant, log: Log) -> Assistant:
    """The reply with an id of its own for every call of the session: some servers send none, or the same
    again and again (I1)."""
    ids = [call.id for call in reply.calls]
    if all(ids) and len(set(ids)) == len(ids) and log.call_ids.isdisjoint(ids):
        return reply
    base = len(log.call_ids)  # grows with each such reply; a conversation may have got shorter
    parts: list[Part] = []
    for n, part in enumerate(reply.parts):
        parts.append(replace(part, id=f"call_{base}_{n}") if isinstance(part, Call) else part)
    return replace(reply, parts=tuple(parts))


# --- a round ----------------------------------------------------------------------------------------


async def _round(parts: Parts, turn: Turn, reply: Assistant) -> tuple[Turn, EndReason | None]:
    """The calls of a reply, and the reason if the turn ends with them."""
    results = await execute(parts, reply.calls, turn)
    turn = _after_round(turn, reply.calls, results)
    known = (Note, EndTurn)
    decisions = await consult(parts.hooks.after_round, parts.view(turn), warn=parts.emit, known=known)
    if notes := [decision for decision in decisions if isinstance(decision, Note)]:
        await parts.log.append(*notes)
    for decision in decisions:
        if isinstance(decision, EndTurn):
            return turn, decision.reason
    looping = max(turn.repeats.values(), default=0) >= SAME_CALL_ENDS_THE_TURN
    return turn, "call_loop" if looping else None


def _after_round(turn: Turn, calls: Sequence[Call], results: Sequence[ToolResult]) -> Turn:
    repeats = dict(turn.repeats)
    for call, result in zip(calls, results, strict=True):
        same = _same_call(call, result)
        count = repeats.pop(same, 0) + 1
        if result.changed:
            repeats.clear()
        repeats[same] = count
    while len(repeats) > _REMEMBERED:
        del repeats[next(iter(repeats))]
    return replace(
        turn,
        rounds=turn.rounds + 1,
        stumbles=0,
        repeats=MappingProxyType(repeats),
        blocked=any(_is_blocked(result) for result in results),
        nobody=turn.nobody + sum(bool((result.details or {}).get("nobody")) for result in results),
    )


def _same_call(call: Call, result: ToolResult) -> int:
    """The same number for the same call with the same result, within this process."""
    try:
        arguments = msgspec.json.encode(call.arguments, order="deterministic")
    except (TypeError, ValueError, RecursionError):
        arguments = encode_record(Assistant((replace(call, id=""),)))
    return hash((call.name, arguments, result.content, result.media))


def _is_blocked(result: ToolResult) -> bool:
    return result.outcome == "denied" or bool((result.details or {}).get("unanswered"))


# --- the end of a turn ------------------------------------------------------------------------------


async def _stop(parts: Parts, turn: Turn, reply: Assistant) -> tuple[Turn, EndReason | None]:
    """What follows a reply without calls: another request, or the reason why the turn ends."""
    await raise_if_cancelled()
    match reply.stop:
        case "refusal":
            return turn, "refusal"
        case "paused":
            return replace(turn, rounds=turn.rounds + 1), None
        case "length":
            return await _stumbled(parts, turn, "length", "was cut at its length limit. Go on from there.")
        case _ if not _says_anything(reply):
            if EndTurn("done") in await _stop_decisions(parts, turn, reply):
                return turn, "done"  # its last words came with its last calls
            return await _stumbled(parts, turn, "empty", "was empty. Go on, or say that you are done.")
        case _:
            return await _consult_stop(parts, turn, reply)


def _says_anything(reply: Assistant) -> bool:
    return bool(reply.text.strip())


async def _stumbled(parts: Parts, turn: Turn, reason: EndReason, told: str) -> tuple[Turn, EndReason | None]:
    if turn.stumbles + 1 >= _STUMBLES:
        return turn, reason
    note = Note(f"<notice>Your reply {told}</notice>", reason, "message")
    await parts.log.append(note)
    return replace(turn, stumbles=turn.stumbles + 1), None


async def _stop_decisions(parts: Parts, turn: Turn, reply: Assistant) -> list[Continue | EndTurn]:
    known = (Continue, EndTurn)
    return await consult(parts.hooks.stop, reply, parts.view(turn), warn=parts.emit, known=known)


async def _consult_stop(parts: Parts, turn: Turn, reply: Assistant) -> tuple[Turn, EndReason | None]:
    decisions = await _stop_decisions(parts, turn, reply)
    goes_on = [decision for decision in decisions if isinstance(decision, Continue)]
    if goes_on and turn.continuations < parts.limits.continuations:
        await parts.log.append(*(decision.note for decision in goes_on))
        return replace(turn, continuations=turn.continuations + 1, stumbles=0), None
    if goes_on:
        parts.emit(Warned(f"stop hook overridden: the turn was continued {turn.continuations} times already"))
    for decision in decisions:
        match decision:
            case EndTurn(reason=reason) | Continue(otherwise=reason) if reason != "done":
                return turn, reason
            case _:
                pass
    return turn, "done"


async def _ended(parts: Parts, turn: Turn, reason: EndReason, error: str = "") -> TurnEnded:
    ended = TurnEnded(reason, turn.rounds, turn.requests, turn.usage, turn.nobody, error)
    try:
        await unbroken(parts.log.append(ended))
    except StoreError as failure:
        return _told(parts, replace(ended, error=error or str(failure)))
    return ended


def _told(parts: Parts, ended: TurnEnded) -> TurnEnded:
    """The end of a turn that is not in the log: those who listen learn of it all the same."""
    parts.emit(ended)
    return ended
