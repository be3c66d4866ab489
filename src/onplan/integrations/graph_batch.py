"""What happens between two requests: calls get their results, edits are noticed, reminders are added."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from langchain_core.messages import BaseMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from onplan.errors import ToolError
from onplan.integrations.graph_state import (
    APPROVALS,
    FOLD,
    UNASKED,
    Batch,
    Folded,
    fold_messages,
    last_batch,
    was_edited,
    with_edit,
)
from onplan.integrations.graph_turn import due_after_calls, due_now
from onplan.integrations.lcmessages import mark_of, to_langchain, with_mark
from onplan.integrations.lctools import READ_ONLY
from onplan.messages import Call, Note, Outcome, ToolResult
from onplan.plan.answer import answer
from onplan.plan.changes import PlanCall
from onplan.plan.decode import translated
from onplan.plan.dialect import DIALECTS
from onplan.plan.reminder import demand_text
from onplan.plan.settings import Settings
from onplan.plan.state import State, decide, evolve
from onplan.plan.stored import outcome_to_json
from onplan.toolset import parse_arguments

_PLAN = "plan"


@dataclass(frozen=True, slots=True)
class Kit:
    """What the nodes of one graph work with. Plan tools are not among `tools`. `asks`: a person approves."""

    settings: Settings
    tools: Mapping[str, BaseTool]
    asks: bool = True

    @property
    def plan_names(self) -> tuple[str, ...]:
        return () if self.settings.planning == "off" else self.settings.dialect.tool_names

    def canonical(self, call: Call) -> Call:
        """A call of another dialect's write tool as one of ours: models fall back into what they learned."""
        spoken = DIALECTS.get(call.name)
        if spoken is None or not self.plan_names or call.name in (*self.tools, *self.plan_names):
            return call
        ours = self.settings.dialect
        return Call(call.id, ours.name, translated(call.arguments, spoken, ours))

    def could_run(self, call: Call) -> bool:
        """Whether anything may come of the call: one whose arguments cannot be read only gets an answer."""
        if self.canonical(call).name in self.plan_names:
            return True  # the plan engine reads more than JSON
        try:
            parse_arguments(call.arguments, call.name)
        except ToolError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Job:
    """One call of a tool that is to run, with the state as it stands at that moment."""

    tool: BaseTool
    call_id: str
    arguments: dict[str, Any]
    state: Mapping[str, Any]
    alone: bool


@dataclass(frozen=True, slots=True)
class Ran:
    """What a tool came to: its messages, updates of other channels, and commands to pass on."""

    messages: tuple[BaseMessage, ...]
    update: Mapping[str, Any]
    commands: tuple[Command[Any], ...] = ()


Steps = Generator[Job, Ran, "list[dict[str, Any] | Command[Any]]"]
"""The work of the node, apart from how a tool is run: in this thread, or awaited."""


def between_requests(kit: Kit, state: Mapping[str, Any], *, auto: bool) -> Steps:
    """One update of the state: results in call order, what else the tools changed, and what is due then.

    A call runs with a person's word for it; without one only where none is asked, or in `auto`.
    """
    approvals: Mapping[str, Any] = state.get(APPROVALS) or {}
    thread = _put_right(kit, state, approvals)
    batch, todos = last_batch(thread.messages), state.get("todos")
    if not batch.open:
        return [_update(kit, thread, due_now(thread.messages, thread.folded.state), todos, {})]
    shown = {name: value for name, value in state.items() if name not in (FOLD, APPROVALS)}
    update: dict[str, Any] = {}
    commands: list[Command[Any]] = []
    for sent in batch.open:
        call, plan = kit.canonical(sent), thread.folded.state
        now = {**shown, **update, "messages": thread.messages, "todos": plan.plan.to_json()}
        approval = approvals.get(call.id, {"approved": True} if auto else None)
        ran = yield from _answer(kit, call, approval, plan, now, alone=len(batch.open) == 1)
        thread = thread.plus(ran.messages)
        update |= ran.update
        commands += ran.commands
    return [_update(kit, thread, due_after_calls(thread.folded.state), todos, update), *commands]


@dataclass(frozen=True, slots=True)
class _Thread:
    """The messages on their way through the node, the changes that lead to them, the plan after them."""

    messages: list[BaseMessage]
    changes: list[BaseMessage]
    folded: Folded

    def plus(self, added: Sequence[BaseMessage]) -> _Thread:
        for message in added:
            message.id = message.id or str(uuid4())
        return _Thread([*self.messages, *added], [*self.changes, *added], self.folded.over(added))


def _put_right(kit: Kit, state: Mapping[str, Any], approvals: Mapping[str, Any]) -> _Thread:
    """What was done to the thread from outside: calls left without a result, a person's edit."""
    messages: list[BaseMessage] = list(state["messages"])
    changes: list[BaseMessage] = []
    batch = last_batch(messages)
    if batch.open and batch.is_followed(messages):
        messages, changes = _repaired(kit, messages, batch, approvals)
    folded = fold_messages(messages, kit.settings, state.get(FOLD))
    if messages and kit.plan_names and was_edited(state.get("todos"), folded.state):
        folded, kept = folded.edited(state["todos"])
        marked = with_edit(messages[-1], kept)
        messages[-1] = marked
        changes = [*(change for change in changes if change.id != marked.id), marked]
    return _Thread(messages, changes, folded)


# --- a call -----------------------------------------------------------------------------------------


def _answer(
    kit: Kit, call: Call, approval: Any, plan: State, now: Mapping[str, Any], *, alone: bool
) -> Generator[Job, Ran, Ran]:
    if kit.could_run(call) and (denied := denial(kit, approval)):
        return _said(call, f"Error: not run: {denied}", "denied", {"denied": "user"})
    if call.name in kit.plan_names:
        return _plan_answer(call, plan)
    tool = kit.tools.get(call.name)
    if tool is None:
        known = ", ".join((*kit.plan_names, *kit.tools)) or "none"
        return _said(call, f"Error: no tool is named {call.name[:80]!r}. Tools: {known}", "error")
    if plan.demands_plan and kit.plan_names and call.name != "ask_user":
        return _said(call, demand_text(plan), "not_executed", {_PLAN: "demanded"})
    try:
        arguments = parse_arguments(call.arguments, call.name)
    except ToolError as error:
        return _said(call, f"Error: {error}", "error")
    ran = yield Job(tool, call.id, arguments, now, alone)
    return _marked(ran, tool)


def denial(kit: Kit, approval: Any) -> str:
    """Why a call is not to run, in words for the model; empty if it is. Where a person is asked at all, a
    call runs only with their word for it."""
    match approval:
        case {"approved": False, "reason": str(reason)}:
            return reason or "the user rejected it"
        case {"approved": True}:
            return ""
        case _:
            return "nobody approved it" if kit.asks else ""


def _plan_answer(call: Call, before: State) -> Ran:
    outcome = decide(before, PlanCall(call.name, call.arguments))
    said = answer(before, evolve(before, outcome), outcome)
    return _said(call, said.text, "error" if said.is_error else "ok", {_PLAN: outcome_to_json(outcome)})


def _said(call: Call, text: str, outcome: Outcome, details: dict[str, Any] | None = None) -> Ran:
    return Ran((to_langchain(ToolResult(call.id, call.name, text, outcome, details)),), {})


def _marked(ran: Ran, tool: BaseTool) -> Ran:
    """Its results with a word on whether they changed anything, where that is not what one would assume."""
    if not (tool.metadata or {}).get(READ_ONLY):
        return ran
    messages = [
        with_mark(one, changed=False) if isinstance(one, ToolMessage) else one for one in ran.messages
    ]
    return Ran(tuple(messages), ran.update, ran.commands)


# --- calls left alone --------------------------------------------------------------------------------


def _repaired(
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


# --- the update -------------------------------------------------------------------------------------


def _update(
    kit: Kit, thread: _Thread, due: Note | None, known: object, others: Mapping[str, Any]
) -> dict[str, Any]:
    """What the node returns: messages, everything else, and the plan as the fold has it, where the todos in
    the state are `known` to be others."""
    if due is not None:
        thread = thread.plus([to_langchain(due)])
    todos = thread.folded.state.plan.to_json()
    changed = {} if todos == (known or []) or not kit.plan_names else {"todos": todos}
    return {"messages": thread.changes, **others, **changed, FOLD: thread.folded}
