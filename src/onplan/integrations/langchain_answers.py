"""What the middleware says in LangChain's messages: answers to plan calls, and reminders."""

from __future__ import annotations

import uuid
from typing import cast

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from onplan.errors import ToolError
from onplan.integrations.lcmessages import from_langchain, to_langchain
from onplan.messages import Assistant, Call, Note, ToolResult
from onplan.plan.answer import answer
from onplan.plan.changes import PlanCall
from onplan.plan.reminder import Reminder, demand_text
from onplan.plan.state import State, decide, evolve
from onplan.plan.stored import outcome_to_json
from onplan.toolset import parse_arguments


def answer_of(call: Call, state: State) -> ToolMessage | None:
    """The result of a call that is the plan's to answer; `None`: the agent's tools do.

    Beside plan calls these are the ones that wait for a plan, where one is required, and the ones whose
    arguments nobody can read.
    """
    if call.name in state.dialect.tool_names:
        return plan_answer(call, state)
    if state.demands_plan and call.name != "ask_user":
        demanded = {"plan": "demanded"}
        return _message(ToolResult(call.id, call.name, demand_text(state), "not_executed", demanded))
    if isinstance(call.arguments, dict):
        return None
    try:
        parse_arguments(call.arguments, call.name)
    except ToolError as error:
        return _message(ToolResult(call.id, call.name, f"Error: {error}", "error"))
    return None


def plan_answer(call: Call, state: State) -> ToolMessage:
    """The answer to a plan call; its artifact holds what the fold over the messages needs."""
    outcome = decide(state, PlanCall(call.name, call.arguments))
    said = answer(state, evolve(state, outcome), outcome)
    details = {"plan": outcome_to_json(outcome)}
    return _message(ToolResult(call.id, call.name, said.text, "error" if said.is_error else "ok", details))


def note_of(reminder: Reminder) -> HumanMessage:
    """A reminder as a message: behind tool results, as text beside them where the provider has that."""
    details = {"plan": {"kind": reminder.kind, **({"recites": True} if reminder.recites else {})}}
    kind = "continue" if reminder.kind == "continue" else "reminder"
    message = cast("HumanMessage", to_langchain(Note(reminder.text, kind, reminder.placement, details)))
    message.id = str(uuid.uuid4())
    return message


def declines(reply: AIMessage) -> bool:
    """Whether the model refused to go on, by its provider's word."""
    said = from_langchain(reply)
    return isinstance(said, Assistant) and said.stop == "refusal"


def _message(result: ToolResult) -> ToolMessage:
    message = cast("ToolMessage", to_langchain(result))
    message.id = str(uuid.uuid4())  # the fold goes by ids, and the reducer gives them too late
    return message
