"""What keeps a LangChain conversation whole: replies whose calls can be answered, results in call order."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
)

from onplan.errors import ToolError
from onplan.integrations.lcmessages import MARK, calls_of, mark_of
from onplan.messages import Call
from onplan.plan.decode import translated
from onplan.plan.dialect import DIALECTS, Dialect
from onplan.toolset import parse_arguments

_LOST = (
    "Error: interrupted: there is no result. It may have been running, side effects are possible: "
    "look before you call it again."
)


def paired(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages with each call's one result behind its reply, in call order.

    Nothing changes where that is so already. A call without a result, as a crash leaves it, gets one that
    says so: the same each time, so that requests go on extending each other.
    """
    sent: list[AnyMessage] = []
    at = 0
    while at < len(messages):
        reply = messages[at]
        at += 1
        sent.append(reply)
        if isinstance(reply, AIMessage) and (calls := calls_of(reply)):
            end = next(
                (n for n in range(at, len(messages)) if isinstance(messages[n], AIMessage)), len(messages)
            )
            sent += _in_call_order(calls, messages[at:end])
            at = end
    return sent


def _in_call_order(calls: Sequence[Call], following: Sequence[AnyMessage]) -> list[AnyMessage]:
    results = {item.tool_call_id: item for item in reversed(following) if isinstance(item, ToolMessage)}
    ordered = [results.get(call.id) or _lost(call) for call in calls]
    return [*ordered, *(item for item in following if not isinstance(item, ToolMessage))]


def _lost(call: Call) -> ToolMessage:
    return ToolMessage(
        _LOST,
        tool_call_id=call.id,
        name=call.name,
        status="error",
        additional_kwargs={MARK: {"outcome": "interrupted", "changed": False}},
        id=f"lost-{call.id}",
    )


def mended(reply: AIMessage, dialect: Dialect, tools: Collection[str], used: Collection[str]) -> AIMessage:
    """The reply with calls that can be answered: each has an id of its own, arguments are an object where
    they can be read as one, and a write in another dialect is one in ours.

    `tools`: the names that the agent has; `used`: ids of earlier calls.
    """
    calls, known = calls_of(reply), set(used)
    better = [_with_own_id(_canonical(_read(call), dialect, tools), known) for call in calls]
    if better == list(calls):
        return reply
    good = [
        ToolCall(name=call.name, args=call.arguments, id=call.id, type="tool_call")
        for call in better
        if isinstance(call.arguments, dict)
    ]
    broken = [
        InvalidToolCall(
            name=call.name,
            args=call.arguments,
            id=call.id,
            error="not a JSON object",
            type="invalid_tool_call",
        )
        for call in better
        if not isinstance(call.arguments, dict)
    ]
    mark = {**mark_of(reply), "order": [call.id for call in better]}
    return reply.model_copy(
        update={
            "tool_calls": good,
            "invalid_tool_calls": broken,
            "additional_kwargs": {**reply.additional_kwargs, MARK: mark},
        }
    )


def _read(call: Call) -> Call:
    try:
        return Call(call.id, call.name, parse_arguments(call.arguments or "", call.name))
    except ToolError:
        return call


def _canonical(call: Call, dialect: Dialect, tools: Collection[str]) -> Call:
    spoken = DIALECTS.get(call.name)
    if spoken is None or call.name in tools or dialect.name not in tools:
        return call
    return Call(call.id, dialect.name, translated(call.arguments, spoken, dialect))


def _with_own_id(call: Call, known: set[str]) -> Call:
    own = call.id if call.id and call.id not in known else f"call_{uuid.uuid4().hex}"
    known.add(own)
    return Call(own, call.name, call.arguments)


def used_ids(messages: Sequence[AnyMessage]) -> set[str]:
    """The ids of all calls so far."""
    replies = [message for message in messages if isinstance(message, AIMessage)]
    return {call.id for reply in replies for call in calls_of(reply)}


def last_reply(messages: Sequence[AnyMessage]) -> tuple[AIMessage | None, Sequence[AnyMessage]]:
    """The last reply, and what stands behind it."""
    for at in range(len(messages) - 1, -1, -1):
        reply = messages[at]
        if isinstance(reply, AIMessage):
            return reply, messages[at + 1 :]
    return None, ()


def turn_of(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """The messages after the last one of the person."""
    for at in range(len(messages) - 1, -1, -1):
        if isinstance(messages[at], HumanMessage) and "kind" not in mark_of(messages[at]):
            return messages[at + 1 :]
    return messages
