"""What happens between two requests: calls get their results, edits are noticed, reminders are added."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import uuid4

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command, Send

from onplan.errors import ToolError
from onplan.integrations.graph_kit import Kit, denial
from onplan.integrations.graph_repair import repaired
from onplan.integrations.graph_state import (
    APPROVALS,
    FOLD,
    OURS,
    REVISION,
    Folded,
    fold_messages,
    is_behind,
    last_batch,
    merged,
    was_edited,
    with_kept,
)
from onplan.integrations.graph_turn import after_removal, due_after_calls, due_now
from onplan.integrations.lcmessages import to_langchain, with_mark
from onplan.integrations.lctools import READ_ONLY
from onplan.messages import Call, Note, Outcome, ToolResult
from onplan.plan.answer import answer
from onplan.plan.changes import PlanCall
from onplan.plan.reminder import demand_text
from onplan.plan.state import State, decide, evolve
from onplan.plan.stored import outcome_to_json
from onplan.toolset import parse_arguments

_PLAN = "plan"


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
    """What a tool came to: its messages, writes to other channels, and commands to pass on."""

    messages: tuple[BaseMessage, ...]
    writes: tuple[tuple[str, Any], ...] = ()
    commands: tuple[Command[Any], ...] = ()


Steps = Generator[Job, Ran, "list[dict[str, Any] | Command[Any]]"]
"""The work of the node, apart from how a tool is run: in this thread, or awaited."""


def between_requests(kit: Kit, state: Mapping[str, Any], *, auto: bool) -> Steps:
    """One update of the state: results in call order, what else the tools changed, and what is due then.

    A call runs with a person's word for it; without one only where none is asked, or in `auto`.
    """
    approvals: Mapping[str, Any] = state.get(APPROVALS) or {}
    thread = _put_right(kit, state, approvals)
    batch = last_batch(thread.messages)
    if not batch.open:
        due = thread.due or due_now(thread.messages, thread.folded.state)
        return [_update(kit, state, thread, due, {})]
    shown = {name: value for name, value in state.items() if name not in OURS}
    came_to: list[Ran] = []
    for sent in batch.open:
        call, plan = kit.canonical(sent), thread.folded.state
        now = {**shown, "messages": thread.messages, "todos": plan.plan.to_json()}
        approval = approvals.get(call.id, {"approved": True} if auto else None)
        ran = yield from _answer(kit, call, approval, plan, now, alone=len(batch.open) == 1)
        thread = thread.plus(ran.messages)
        for name, value in ran.writes:
            shown[name] = kit.after(shown, name, value)
        came_to.append(ran)
    others, commands = _others(kit, came_to)
    due = thread.due or due_after_calls(thread.folded.state)
    return [_update(kit, state, thread, due, others), *commands]


@dataclass(frozen=True, slots=True)
class _Thread:
    """The messages on their way through the node, the changes that lead to them, the plan after them, and
    what is to be said whatever else is."""

    messages: list[BaseMessage]
    changes: list[BaseMessage]
    folded: Folded
    due: Note | None = None

    def plus(self, added: Sequence[BaseMessage]) -> _Thread:
        known = {message.id for message in self.messages}
        for message in added:
            message.id = message.id or str(uuid4())
        changes = [*self.changes, *added]
        if not any(isinstance(message, RemoveMessage) or message.id in known for message in added):
            return _Thread([*self.messages, *added], changes, self.folded.over(added), self.due)
        messages: list[BaseMessage] = [*merged(cast("list[AnyMessage]", self.messages), [list(added)])]
        before = self.folded.state
        folded = fold_messages(messages, before.settings) if messages else replace(self.folded, count=0)
        thread = _Thread(messages, changes, folded, self.due)
        return _caught_up(thread, before.plan.to_json(), before.ledger.revision)


def _put_right(kit: Kit, state: Mapping[str, Any], approvals: Mapping[str, Any]) -> _Thread:
    """What was done to the thread from outside: calls left without a result, messages removed, an edit."""
    messages: list[BaseMessage] = list(state["messages"])
    changes: list[BaseMessage] = []
    batch = last_batch(messages)
    if batch.open and batch.is_followed(messages):
        messages, changes = repaired(kit, messages, batch, approvals)
    thread = _Thread(messages, changes, fold_messages(messages, kit.settings, state.get(FOLD)))
    return _caught_up(thread, state.get("todos"), state.get(REVISION)) if kit.plan_names else thread


def _caught_up(thread: _Thread, todos: Any, revision: int | None) -> _Thread:
    """With the plan as the todos have it, where the messages tell of another."""
    before = thread.folded.state
    if is_behind(thread.messages, before, revision):
        folded, kept = thread.folded.restored(todos, revision or 0)
        due = after_removal(folded.state)
    elif thread.messages and was_edited(todos, before):
        folded, kept = thread.folded.edited(todos)
        due = None
    else:
        return thread
    marked = with_kept(thread.messages[-1], kept)
    others = [change for change in thread.changes if change.id != marked.id]
    return _Thread([*thread.messages[:-1], marked], [*others, marked], folded, due)


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


def _plan_answer(call: Call, before: State) -> Ran:
    outcome = decide(before, PlanCall(call.name, call.arguments))
    said = answer(before, evolve(before, outcome), outcome)
    return _said(call, said.text, "error" if said.is_error else "ok", {_PLAN: outcome_to_json(outcome)})


def _said(call: Call, text: str, outcome: Outcome, details: dict[str, Any] | None = None) -> Ran:
    return Ran((to_langchain(ToolResult(call.id, call.name, text, outcome, details)),))


def _marked(ran: Ran, tool: BaseTool) -> Ran:
    """Its results with a word on whether they changed anything, where that is not what one would assume."""
    if not (tool.metadata or {}).get(READ_ONLY):
        return ran
    messages = [
        with_mark(one, changed=False) if isinstance(one, ToolMessage) else one for one in ran.messages
    ]
    return replace(ran, messages=tuple(messages))


# --- the update -------------------------------------------------------------------------------------


def written(command: Command[Any]) -> Sequence[tuple[str, Any]]:
    """The channels that a command writes to, whichever of LangGraph's forms its update has."""
    writes = command._update_as_tuples()
    return [("messages" if name == "__root__" else name, value) for name, value in writes]


def _others(kit: Kit, came_to: Sequence[Ran]) -> tuple[dict[str, Any], list[Command[Any]]]:
    """What tools wrote beside messages: an update, and commands for what does not fit into one."""
    update: dict[str, Any] = {}
    more: list[Command[Any]] = []
    for name, value in (write for ran in came_to for write in ran.writes):
        if name in update and kit.adds(name):
            more.append(Command(update={name: value}))
        else:
            update[name] = value
    commands = [command for ran in came_to for command in ran.commands]
    more += [command for command in commands if command.graph is None]
    return update, [*more, *_together([command for command in commands if command.graph is not None])]


def _together(commands: Sequence[Command[Any]]) -> Sequence[Command[Any]]:
    """Commands to another graph as one: LangGraph follows the first that it meets and no more."""
    if len(commands) < 2:
        return commands
    goto = [one for command in commands for one in _targets(command)]
    update = [write for command in commands for write in written(command)]
    return [Command(graph=commands[0].graph, update=update, goto=goto)]


def _targets(command: Command[Any]) -> Sequence[Any]:
    return [command.goto] if isinstance(command.goto, (str, Send)) else command.goto


def _update(
    kit: Kit, state: Mapping[str, Any], thread: _Thread, due: Note | None, others: Mapping[str, Any]
) -> dict[str, Any]:
    """What the node returns: messages, everything else, and the plan as the fold has it, where `state` has
    another."""
    if due is not None:
        thread = thread.plus([to_langchain(due)])
    plan = thread.folded.state
    ours: dict[str, Any] = {FOLD: thread.folded}
    if not kit.plan_names or not thread.messages:
        return {"messages": thread.changes, **others, **ours}
    if plan.plan.to_json() != (state.get("todos") or []):
        ours["todos"] = plan.plan.to_json()
    if plan.ledger.revision != (state.get(REVISION) or 0):
        ours[REVISION] = plan.ledger.revision
    return {"messages": thread.changes, **others, **ours}
