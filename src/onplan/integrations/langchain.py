"""`PlanMiddleware` for LangChain's `create_agent`: a drop-in for `TodoListMiddleware`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NotRequired, Required

try:
    from langchain.agents.middleware.types import (
        AgentMiddleware,
        AgentState,
        ExtendedModelResponse,
        ModelRequest,
        ModelResponse,
        OmitFromInput,
        PrivateStateAttr,
        hook_config,
    )
    from langchain.tools import ToolRuntime
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import StructuredTool
    from langgraph.channels import DeltaChannel
    from langgraph.runtime import Runtime
    from langgraph.types import Command
except ImportError as error:
    raise ImportError(
        f'onplan.integrations.langchain needs LangChain ({error}): pip install "onplan[langchain]"'
    ) from None

from onplan.integrations.graph_model import ChatModel
from onplan.integrations.graph_state import SNAPSHOT_EVERY, merged
from onplan.integrations.langchain_answers import answer_of, declines, note_of, plan_answer
from onplan.integrations.langchain_replies import last_reply, mended, paired, turn_of, used_ids
from onplan.integrations.langchain_state import Thread, caught_up, due, dump, folded, latest, load, newest
from onplan.integrations.lcmessages import calls_of
from onplan.integrations.lctools import READ_ONLY
from onplan.messages import Call
from onplan.plan.dialect import Dialect, tool_schemas
from onplan.plan.reminder import at_stop
from onplan.plan.settings import Planning, Reminders, settings
from onplan.plan.state import State
from onplan.plan.todo import Rules
from onplan.planning import prompt_text

__all__ = ["ChatModel", "PlanMiddleware", "PlanningState", "SlimState"]

_UNREADABLE_IN_A_TURN = 3
"""How often in a turn a reply of nothing but unreadable calls is answered; the next one ends the turn."""


class PlanningState(AgentState[Any]):
    """The agent's state with the plan: `todos` for everybody, two private channels for the engine."""

    todos: Annotated[NotRequired[list[dict[str, Any]]], OmitFromInput]
    onplan_ledger: NotRequired[
        Annotated[list[dict[str, Any]], DeltaChannel(newest, snapshot_frequency=50), PrivateStateAttr]
    ]
    onplan_counters: NotRequired[
        Annotated[dict[str, Any], DeltaChannel(latest, snapshot_frequency=50), PrivateStateAttr]
    ]


class SlimState(AgentState[Any]):
    """The agent's state with messages in deltas: `create_agent(..., state_schema=SlimState)`.

    A checkpoint holds what is new instead of the whole conversation, so storage grows with the rounds and
    not with their square. Another state goes by the same annotation.
    """

    messages: Required[Annotated[list[AnyMessage], DeltaChannel(merged, snapshot_frequency=SNAPSHOT_EVERY)]]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request as it goes out, and the state that it makes."""

    request: ModelRequest[Any]
    notes: tuple[HumanMessage, ...]
    thread: Thread
    update: dict[str, Any]


class PlanMiddleware(AgentMiddleware[PlanningState, Any, Any]):
    """The plan of a LangChain agent: `create_agent(model, tools, middleware=[PlanMiddleware()])`.

    State channel `todos` and tool `write_todos` are those of `TodoListMiddleware`; beyond it, writes are
    validated and repaired, several in one reply are applied in call order, the answer recites the plan, a
    stale plan is asked for, a turn that stops with open todos is continued once, and a plan whose last
    recitation left the conversation (a summary took its place) is recited again.

    `system_prompt`, `tool_description`: instead of ours. The other arguments are those of `PlanMemory`.
    A tool with `metadata={"read_only": True}` changes nothing: its success does not count as progress. One
    instance may serve any number of threads at once: it holds no state.

    Raises `PlanError` for an unknown dialect, preset or mode.
    """

    state_schema = PlanningState

    def __init__(
        self,
        dialect: str | Dialect = "write_todos",
        *,
        system_prompt: str | None = None,
        tool_description: str | None = None,
        preset: Literal["tutorial"] | None = None,
        rules: Rules | None = None,
        reminder: Reminders | Literal["default"] = "default",
        planning: Planning = "suggest",
        max_continuations: int = 1,
    ) -> None:
        super().__init__()
        self.settings = settings(
            dialect,
            preset=preset,
            rules=rules,
            reminder=reminder,
            planning=planning,
            max_continuations=max_continuations,
        )
        self.system_prompt = prompt_text(self.settings.dialect) if system_prompt is None else system_prompt
        self.tools = [] if planning == "off" else self._tools(tool_description)

    def state_of(self, values: Mapping[str, Any]) -> State:
        """The plan's whole state in a thread (plan, ledger, distance, figures), of the values of `get_state`.

        Raises `PlanError` where its `todos` are no plan.
        """
        return self._thread({"messages": [], **values}).state

    # --- before and after the model ---

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        if self.settings.planning == "off":
            return handler(request)
        prepared = self._prepared(request)
        return self._finished(prepared, handler(prepared.request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        if self.settings.planning == "off":
            return await handler(request)
        prepared = self._prepared(request)
        return self._finished(prepared, await handler(prepared.request))

    @hook_config(can_jump_to=["model", "end"])
    def after_model(self, state: PlanningState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Answer the plan calls of the reply, all in one place; or continue a turn that would stop."""
        if self.settings.planning == "off":
            return None
        reply, following = last_reply(state["messages"])
        if reply is None:
            return None
        return self._answered(state, reply, following) if calls_of(reply) else self._continued(state, reply)

    @hook_config(can_jump_to=["model", "end"])
    async def aafter_model(self, state: PlanningState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self.after_model(state, runtime)

    def _thread(self, state: Mapping[str, Any], tools: Iterable[Any] = ()) -> Thread:
        quiet = {tool.name for tool in tools if (getattr(tool, "metadata", None) or {}).get(READ_ONLY)}
        return caught_up(load(state, self.settings), state["messages"], quiet)

    def _prepared(self, request: ModelRequest[Any]) -> _Prepared:
        thread = self._thread(request.state, request.tools)
        reminder = due(thread, request.state["messages"], request.messages)
        notes = (note_of(reminder),) if reminder else ()
        thread = folded(thread, notes)
        sent = request.override(
            messages=[*paired(request.messages), *notes], system_message=self._system(request.system_message)
        )
        return _Prepared(sent, notes, thread, dump(thread))

    def _system(self, given: SystemMessage | None) -> SystemMessage | None:
        if not self.system_prompt:
            return given
        if given is None:
            return SystemMessage(self.system_prompt)
        if isinstance(given.content, str):
            return SystemMessage(f"{given.content}\n\n{self.system_prompt}")
        return SystemMessage([*given.content, {"type": "text", "text": f"\n\n{self.system_prompt}"}])

    def _finished(self, prepared: _Prepared, response: ModelResponse[Any]) -> ExtendedModelResponse[Any]:
        names = [str(getattr(tool, "name", "")) for tool in prepared.request.tools]
        used = used_ids(prepared.request.messages)
        result = [
            mended(message, self.settings.dialect, names, used) if isinstance(message, AIMessage) else message
            for message in response.result
        ]
        whole = ModelResponse([*prepared.notes, *result], response.structured_response)
        return ExtendedModelResponse(whole, Command(update=prepared.update))

    # --- the calls of a reply ---

    def _answered(
        self, state: PlanningState, reply: AIMessage, following: Sequence[AnyMessage]
    ) -> dict[str, Any] | None:
        thread = self._thread(state)
        known = {item.tool_call_id for item in following if isinstance(item, ToolMessage)}
        if known:  # another middleware answered in a tool's place: a person rejected it, a limit was reached
            thread = replace(thread, blocked=True)
        answers: list[AnyMessage] = []
        for call in calls_of(reply):
            result = None if call.id in known else answer_of(call, thread.state)
            if result is not None:
                answers.append(result)
                thread = folded(thread, [result])
        if not answers:
            return dump(thread) if known else None
        whole = len(known) + len(answers) == len(calls_of(reply))
        jump = self._jump(thread.state, reply, state["messages"], whole=whole)
        return {**dump(thread), "messages": answers, **jump}

    def _jump(
        self, state: State, reply: AIMessage, messages: Sequence[AnyMessage], *, whole: bool
    ) -> dict[str, str]:
        """Where the graph would not go by itself. `whole`: every call of the reply has its answer."""
        if whole and state.ends_turn:
            return {"jump_to": "end"}
        if reply.tool_calls:
            return {}
        turn = [item for item in turn_of(messages) if isinstance(item, AIMessage)]
        unreadable = sum(bool(item.invalid_tool_calls and not item.tool_calls) for item in turn)
        return {"jump_to": "model"} if unreadable <= _UNREADABLE_IN_A_TURN else {}

    def _continued(self, state: PlanningState, reply: AIMessage) -> dict[str, Any] | None:
        thread = self._thread(state)
        reminder = at_stop(thread.state)
        spent = thread.state.turn.continued >= self.settings.max_continuations
        settled = thread.blocked or declines(reply) or state.get("structured_response") is not None
        if reminder is None or spent or settled:
            return None
        note = note_of(reminder)
        thread = folded(thread, [note])
        return {**dump(thread), "messages": [note], "jump_to": "model"}

    # --- the tools ---

    def _tools(self, description: str | None) -> list[StructuredTool]:
        """The dialect's tools. Their calls are answered after the model; one that reaches a tool node all the
        same (another middleware jumped there, say) is answered the same way, on the state that it sees."""
        write, *read = tool_schemas(self.settings.dialect, self.settings.rules)
        if description is not None:
            write = {**write, "description": description}
        return [self._tool(schema) for schema in (write, *read)]

    def _tool(self, schema: Mapping[str, Any]) -> StructuredTool:
        run, run_async = self._runners(str(schema["name"]))
        return StructuredTool(
            name=str(schema["name"]),
            description=str(schema["description"]),
            args_schema=schema["input_schema"],
            func=run,
            coroutine=run_async,
            metadata={READ_ONLY: True},  # nothing outside of the plan changes
        )

    def _runners(
        self, name: str
    ) -> tuple[Callable[..., Command[Any]], Callable[..., Awaitable[Command[Any]]]]:
        def run(runtime: ToolRuntime[Any, Any], **arguments: Any) -> Command[Any]:
            thread = self._thread(runtime.state)
            result = plan_answer(Call(runtime.tool_call_id or "", name, arguments), thread.state)
            thread = folded(thread, [result])
            return Command(update={**dump(thread), "messages": [result]})

        async def run_async(runtime: ToolRuntime[Any, Any], **arguments: Any) -> Command[Any]:
            return run(runtime, **arguments)

        return run, run_async
