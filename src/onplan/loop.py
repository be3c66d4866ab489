"""The loop: ask the model, execute its calls, again until it is done. Knows no plan, permission or vendor.

`ask` is one request, `execute` one batch of calls, `run` both in turn. Everything that happens is
appended to the log first and told outside second; product features hang on hooks.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import msgspec

from onplan.errors import ModelError, StoreError
from onplan.events import EndReason, RequestStarted, TextDelta, ThinkingDelta, TurnEnded, Warned
from onplan.execution import execute, finish
from onplan.hooks import Block, Continue, EndTurn, Turn, consult
from onplan.messages import Assistant, Call, Message, Note, Part, Text, Thinking, ToolResult, User
from onplan.parts import Limits, Log, Parts
from onplan.protocols import Delta, Request

__all__ = ["Limits", "Log", "Parts", "ask", "execute", "run"]

SAME_CALL_ENDS_THE_TURN = 5
_STUMBLES = 3


async def run(parts: Parts, user: User) -> TurnEnded:
    """One turn: from a user message to the reply that calls no tool, or to whatever ends it (I9).

    Never raises for a failing model, tool, hook or store: that is a reason. Cancellation is passed on
    after every outstanding call has got its result.
    """
    turn = Turn()
    try:
        blocked, notes = await _prompt(parts, user, turn)
        if blocked is not None:
            return TurnEnded("blocked", error=blocked.reason)
        await parts.log.append(user, *notes)
        while True:
            turn, reason = await _step(parts, turn)
            if reason is not None:
                return await _ended(parts, turn, reason)
    except ModelError as error:
        return await _ended(parts, turn, "model_error", str(error))
    except StoreError as error:
        return await _ended(parts, turn, "store_error", str(error))
    except asyncio.CancelledError:
        await finish(parts, _ended(parts, turn, "interrupted"))
        raise


async def _step(parts: Parts, turn: Turn) -> tuple[Turn, EndReason | None]:
    """One request and what follows from it; the reason if the turn ends with it."""
    if capped := parts.limits.reached(turn):
        return turn, capped
    for note in await consult(parts.hooks.before_model, parts.view(turn), warn=parts.emit):
        await parts.log.append(note)
    turn = replace(turn, requests=turn.requests + 1)
    reply = await ask(parts, number=turn.requests)
    turn = replace(turn, usage=turn.usage + reply.usage)
    if reply.calls:
        results = await execute(parts, reply.calls, turn)
        return await _close_round(parts, _after_round(turn, reply.calls, results), results)
    return await _stop(parts, turn, reply)


# --- asking -----------------------------------------------------------------------------------------


async def ask(parts: Parts, *, number: int = 1) -> Assistant:
    """One request. The reply is in the log when this returns.

    A stream that is cut or cancelled leaves its text in the log as interrupted; its unfinished calls and
    its thinking are dropped. Raises `ModelError`, `StoreError`.
    """
    log = parts.log
    parts.emit(RequestStarted(number, len(log.messages)))
    heard: list[str] = []
    try:
        async for item in parts.model.stream(Request(log.system, log.tools, log.messages)):
            if isinstance(item, Assistant):
                reply = _with_distinct_ids(item, log.messages)
                await log.append(reply)
                return reply
            _tell(parts, item, heard)
    except (ModelError, asyncio.CancelledError):
        if "".join(heard).strip():
            cut = Assistant((Text("".join(heard)),), "interrupted", model=parts.model.name)
            await finish(parts, log.append(cut))
        raise
    raise ModelError(f"{parts.model.name} ended its stream without a reply", retryable=True)


def _tell(parts: Parts, delta: Delta, heard: list[str]) -> None:
    if delta.kind == "thinking":
        parts.emit(ThinkingDelta(delta.text))
        return
    heard.append(delta.text)
    parts.emit(TextDelta(delta.text))


def _with_distinct_ids(reply: Assistant, messages: Sequence[Message]) -> Assistant:
    """The reply with an id of its own for every call: some servers send none, or the same twice (I1)."""
    ids = [call.id for call in reply.calls]
    if all(ids) and len(set(ids)) == len(ids):
        return reply
    base = len(messages)
    parts: list[Part] = []
    for n, part in enumerate(reply.parts):
        parts.append(msgspec.structs.replace(part, id=f"call_{base}_{n}") if isinstance(part, Call) else part)
    return msgspec.structs.replace(reply, parts=tuple(parts))


# --- the end of a round -----------------------------------------------------------------------------


def _after_round(turn: Turn, calls: Sequence[Call], results: Sequence[ToolResult]) -> Turn:
    repeats = dict(turn.repeats)
    for call, result in zip(calls, results, strict=True):
        same = _same_call(call, result)
        count = repeats.pop(same, 0) + 1
        repeats = {same: count} if result.changed else {**repeats, same: count}
    recent = dict(list(repeats.items())[-50:])
    return replace(
        turn,
        rounds=turn.rounds + 1,
        stumbles=0,
        repeats=MappingProxyType(recent),
        blocked=any(_is_blocked(result) for result in results),
        nobody=turn.nobody + sum(bool((result.details or {}).get("nobody")) for result in results),
    )


def _same_call(call: Call, result: ToolResult) -> str:
    try:
        arguments = msgspec.json.encode(call.arguments, order="deterministic")
    except (TypeError, ValueError, RecursionError):
        arguments = repr(call.arguments).encode("utf-8", "replace")
    told = result.content.encode("utf-8", "replace")
    return hashlib.blake2b(b"\0".join((call.name.encode(), arguments, told)), digest_size=12).hexdigest()


def _is_blocked(result: ToolResult) -> bool:
    return result.outcome == "denied" or bool((result.details or {}).get("unanswered"))


async def _close_round(
    parts: Parts, turn: Turn, results: Sequence[ToolResult]
) -> tuple[Turn, EndReason | None]:
    decisions = await consult(parts.hooks.after_round, parts.view(turn), warn=parts.emit)
    notes = [decision for decision in decisions if isinstance(decision, Note)]
    if notes:
        await parts.log.append(*notes)
    for decision in decisions:
        if isinstance(decision, EndTurn):
            return turn, decision.reason
    looping = max(turn.repeats.values(), default=0) >= SAME_CALL_ENDS_THE_TURN
    return turn, "call_loop" if looping else None


# --- the end of a turn ------------------------------------------------------------------------------


async def _stop(parts: Parts, turn: Turn, reply: Assistant) -> tuple[Turn, EndReason | None]:
    """What follows a reply without calls: another request, or the reason why the turn ends."""
    match reply.stop:
        case "refusal":
            return turn, "refusal"
        case "paused":
            return replace(turn, rounds=turn.rounds + 1), None
        case "length":
            return await _stumbled(parts, turn, "length", "was cut at its length limit. Go on from there.")
        case _ if not _says_anything(reply):
            return await _stumbled(parts, turn, "empty", "was empty. Go on, or say that you are done.")
        case _:
            return await _consult_stop(parts, turn, reply)


def _says_anything(reply: Assistant) -> bool:
    return any(not isinstance(part, Thinking) and part != Text("") for part in reply.parts)


async def _stumbled(parts: Parts, turn: Turn, reason: EndReason, told: str) -> tuple[Turn, EndReason | None]:
    if turn.stumbles + 1 >= _STUMBLES:
        return turn, reason
    note = Note(f"<notice>Your reply {told}</notice>", reason, "message")
    await parts.log.append(note)
    return replace(turn, stumbles=turn.stumbles + 1), None


async def _consult_stop(parts: Parts, turn: Turn, reply: Assistant) -> tuple[Turn, EndReason | None]:
    decisions = await consult(parts.hooks.stop, reply, parts.view(turn), warn=parts.emit)
    notes = [decision.note for decision in decisions if isinstance(decision, Continue)]
    if notes and turn.continuations < parts.limits.continuations:
        await parts.log.append(*notes)
        return replace(turn, continuations=turn.continuations + 1, stumbles=0), None
    if notes:
        parts.emit(Warned(f"stop hook overridden: the turn was continued {turn.continuations} times already"))
    ends: list[EndReason] = [decision.reason for decision in decisions if isinstance(decision, EndTurn)]
    return turn, ends[0] if ends else "done"


async def _prompt(parts: Parts, user: User, turn: Turn) -> tuple[Block | None, list[Note]]:
    answers = await consult(parts.hooks.user_prompt, user.text, parts.view(turn), warn=parts.emit)
    if not any(isinstance(message, User) for message in parts.log.messages):
        answers += await consult(parts.hooks.session_start, parts.view(turn), warn=parts.emit)
    blocked = next((answer for answer in answers if isinstance(answer, Block)), None)
    return blocked, [answer for answer in answers if isinstance(answer, Note)]


async def _ended(parts: Parts, turn: Turn, reason: EndReason, error: str = "") -> TurnEnded:
    ended = TurnEnded(reason, turn.rounds, turn.requests, turn.usage, turn.nobody, error)
    try:
        await parts.log.append(ended)
    except StoreError as failure:
        return msgspec.structs.replace(ended, error=error or str(failure))
    return ended
