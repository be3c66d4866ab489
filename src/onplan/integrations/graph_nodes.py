"""The nodes `chat` and `human_approval`, and the ways between all three."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.types import Command, StateSnapshot, interrupt

from onplan.integrations.graph_kit import Kit
from onplan.integrations.graph_state import (
    APPROVALS,
    FOLD,
    REVISION,
    UNASKED,
    fold_messages,
    is_behind,
    last_batch,
    was_edited,
)
from onplan.integrations.graph_turn import due_now, is_paused, loops
from onplan.integrations.lcmessages import calls_of, mark_of, system_message, with_mark
from onplan.plan.state import State as PlanState

State: TypeAlias = Mapping[str, Any]


# --- chat -------------------------------------------------------------------------------------------


def chat_nodes(
    model: Runnable[Any, Any], system: str
) -> tuple[Callable[[State, RunnableConfig], Any], Callable[[State, RunnableConfig], Awaitable[Any]]]:
    """The node that asks the model, for `invoke` and for `ainvoke`. It reads the messages alone."""
    before = system_message(system)

    def chat(state: State, config: RunnableConfig) -> dict[str, Any]:
        reply = model.invoke([*before, *state["messages"]], config)
        return {"messages": [_noted(with_distinct_ids(reply, state["messages"]), config)]}

    async def achat(state: State, config: RunnableConfig) -> dict[str, Any]:
        reply = await model.ainvoke([*before, *state["messages"]], config)
        return {"messages": [_noted(with_distinct_ids(reply, state["messages"]), config)]}

    return chat, achat


def is_auto(config: RunnableConfig) -> bool:
    """Whether the caller said that nothing is to be asked. A setting of the run, never of the state."""
    return bool((config.get("configurable") or {}).get("auto_approve"))


def _noted(reply: AIMessage, config: RunnableConfig) -> BaseMessage:
    """The reply; with a note where its calls run unasked, so that after a crash it is known that they may
    have. It gives no permission."""
    return with_mark(reply, **{UNASKED: True}) if is_auto(config) and calls_of(reply) else reply


def with_distinct_ids(reply: AIMessage, messages: Sequence[BaseMessage]) -> AIMessage:
    """The reply with an id of its own for every call of the thread: some servers send none, or the same
    again and again (I1)."""
    calls = calls_of(reply)
    if not calls:
        return reply
    ids = [call.id for call in calls]
    known = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    if all(ids) and len(set(ids)) == len(ids) and known.isdisjoint(ids):
        return reply
    number = iter(range(len(ids)))
    valid = [ToolCall(**{**call, "id": f"call_{len(messages)}_{next(number)}"}) for call in reply.tool_calls]
    broken = [
        InvalidToolCall(**{**call, "id": f"call_{len(messages)}_{next(number)}"})
        for call in reply.invalid_tool_calls
    ]
    return reply.model_copy(update={"tool_calls": valid, "invalid_tool_calls": broken})


# --- human_approval ---------------------------------------------------------------------------------


def approval_node(kit: Kit) -> Callable[[State, RunnableConfig], dict[str, Any]]:
    """The node that asks a person about the calls of a reply, before any of them runs.

    One interrupt for the whole batch, `{"calls": [{"id", "name", "args"}, …]}`. The answer says by call id
    what may run: `{"c1": True, "c2": {"approved": False, "reason": "…"}}`; calls that it leaves out are
    asked about again. A bare `True` or `False` is for all of them. With
    `config["configurable"]["auto_approve"]` nothing is asked. Source: the first seed, section 8.
    """

    def human_approval(state: State, config: RunnableConfig) -> dict[str, Any]:
        calls = [call for call in last_batch(state["messages"]).open if kit.could_run(call)]
        given: dict[str, Any] = {}
        if is_auto(config):
            given = {call.id: {"approved": True} for call in calls}
        while waiting := [call for call in calls if call.id not in given]:
            shown = [{"id": call.id, "name": call.name, "args": call.arguments} for call in waiting]
            given |= _decisions(interrupt({"calls": shown}), [call.id for call in waiting])
        return {APPROVALS: given} if given else {}

    return human_approval


def _decisions(answer: object, waiting: Sequence[str]) -> dict[str, Any]:
    """A person's answer as decisions by call id. What says neither yes nor no is asked again."""
    answers = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    if not isinstance(answer, dict) or "approved" in answers:
        answers = dict.fromkeys(waiting, answer)
    decided = {name: _decision(said) for name, said in answers.items() if name in waiting}
    return {name: decision for name, decision in decided.items() if decision is not None}


def _decision(said: object) -> dict[str, Any] | None:
    match said:
        case True | {"approved": True} | "approve" | "yes" | "y":
            return {"approved": True}
        case False | "reject" | "no" | "n":
            return {"approved": False, "reason": ""}
        case {"approved": False}:
            return {"approved": False, "reason": str(cast("dict[str, Any]", said).get("reason") or "")}
        case _:
            return None


def answers(thread: StateSnapshot, said: Mapping[str, Any]) -> Command[Any]:
    """What to resume a thread with, which stopped with questions: a person's answers by call id.

    `thread` is what the graph's `get_state` tells. It finds the calls in the interrupts' values: under
    `calls`, as `human_approval` asks, and under `call_id`, where a tool asks with its own.
    """
    resume: dict[str, Any] = {}
    for question in thread.interrupts:
        match question.value:
            case {"calls": _}:
                resume[question.id] = dict(said)
            case {"call_id": str(call_id)} if call_id in said:
                resume[question.id] = said[call_id]
            case _:
                pass
    return Command(resume=resume)


# --- the ways between them --------------------------------------------------------------------------


class Ways:
    """Where the graph goes on. Nothing here changes the state."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    def from_start(self, state: State) -> Literal["chat", "tools", "human_approval"]:
        """To `tools` first, where something has to be put right before the model is asked."""
        messages = state["messages"]
        batch = last_batch(messages)
        if batch.open and not batch.is_followed(messages):
            return self._with_calls()
        return "tools" if batch.open or self._is_due(state) else "chat"

    def from_chat(
        self, state: State, config: RunnableConfig
    ) -> Literal["chat", "tools", "human_approval", "__end__"]:
        """To the calls of the reply; without any to the end, unless something is to be said first. In auto
        mode there is nothing to stop for."""
        messages = state["messages"]
        reply = messages[-1] if messages else None
        if not isinstance(reply, AIMessage):
            return "__end__"  # somebody took the reply out of the thread
        if calls_of(reply):
            unasked = is_auto(config) and UNASKED in mark_of(reply)
            return "tools" if unasked else self._with_calls()
        if is_paused(reply):
            return "chat"
        return "tools" if due_now(messages, self._plan(state)) else "__end__"

    def from_tools(self, state: State) -> Literal["chat", "tools", "__end__"]:
        """Back to the model, unless it turns in circles."""
        if loops(state["messages"], self._plan(state)):
            return "__end__"
        return "tools" if self._is_edited(state) else "chat"

    def _with_calls(self) -> Literal["tools", "human_approval"]:
        return "human_approval" if self._kit.asks else "tools"

    def _is_due(self, state: State) -> bool:
        plan = self._plan(state)
        behind = is_behind(state["messages"], plan, state.get(REVISION))
        return behind or self._is_edited(state) or due_now(state["messages"], plan) is not None

    def _is_edited(self, state: State) -> bool:
        """Whether there is an edit to be told, and a message that it can be noted down with."""
        told = self._kit.plan_names and state["messages"]
        return bool(told) and was_edited(state.get("todos"), self._plan(state))

    def _plan(self, state: State) -> PlanState:
        return fold_messages(state["messages"], self._kit.settings, state.get(FOLD)).state
