"""Calls that a crash, or a person who went on without answering, left without a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from langchain_core.messages import BaseMessage, RemoveMessage, ToolMessage

from onplan.integrations.graph_kit import Kit, denial
from onplan.integrations.graph_state import UNASKED, Batch
from onplan.integrations.lcmessages import mark_of, to_langchain
from onplan.messages import Call, Outcome, ToolResult


def repaired(
    kit: Kit, messages: list[BaseMessage], batch: Batch, approvals: Mapping[str, Any]
) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """The messages with a result for every call of a batch that was left alone; and the changes to get there.

    What stands behind the calls is taken out and put in again under new ids: results come first.
    """
    here = batch.place + 1
    behind = messages[here:]
    results = [message for message in behind if isinstance(message, ToolMessage)]
    later = [message for message in behind if not isinstance(message, ToolMessage)]
    answers = {result.tool_call_id: result for result in results}
    unasked = UNASKED in mark_of(messages[batch.place])
    for call in batch.open:
        approval = approvals.get(call.id, {"approved": True} if unasked else None)
        answers[call.id] = _left_alone(kit, call, approval)
    ordered: list[BaseMessage] = [answers[call.id] for call in batch.calls]
    moved = [*ordered, *later]
    fresh = [message.model_copy(update={"id": str(uuid4())}) for message in moved]
    removals: list[BaseMessage] = [RemoveMessage(id=str(message.id)) for message in behind]
    return [*messages[:here], *fresh], [*removals, *fresh]


def _left_alone(kit: Kit, call: Call, approval: Any) -> ToolMessage:
    """The result of a call that a crash, or a person who went on without answering, left without one."""
    call = kit.canonical(call)
    if approval is not None and (reason := denial(kit, approval)):
        return _result(call, f"Error: not run: {reason}", "denied")
    if approval is None and kit.asks:
        return _result(call, "Error: not executed (the user went on without it).", "not_executed")
    if call.name in kit.plan_names:
        return _result(
            call, "Error: not executed (the run broke off). The plan was not changed.", "not_executed"
        )
    text = "Error: interrupted: it may have been running; side effects are possible."
    return _result(call, text, "interrupted")


def _result(call: Call, text: str, outcome: Outcome) -> ToolMessage:
    message = to_langchain(ToolResult(call.id, call.name, text, outcome))
    assert isinstance(message, ToolMessage)
    return message
