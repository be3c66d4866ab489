"""Hosts for planning tools of others, and what of a scenario can be asked of any of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

import msgspec
from hosts import Middleware, ThreadHost, ThreadPlay, answer_of
from langchain.agents import create_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from pydantic_ai import Agent, Tool
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import RunContext
from pydantic_ai_todo import TODO_SYSTEM_PROMPT, TodoStorage, create_todo_toolset

from onplan.errors import ModelError
from onplan.integrations.lcmessages import conversation
from onplan.messages import Assistant, Call, Message, Text, ToolResult, User
from onplan.plan.changes import Written
from onplan.plan.state import State, evolve
from onplan.plan.todo import Plan, Todo
from onplan.protocols import Request
from onplan.testing.scenarios import (
    AnswerData,
    ExpectData,
    MessageData,
    Observed,
    PlanSeen,
    RoundResult,
    Scenario,
    SettingsData,
    ToolData,
    TurnResult,
    TurnSeen,
    check,
    settings_of,
)

PLAN_TOOLS = ("write_todos", "read_todos")


# --- what can be asked of anybody -------------------------------------------------------------------


def behaviour(scenario: Scenario) -> Scenario:
    """The scenario with what it expects of any planning tool: who speaks when, which calls go well, what the
    plan is after each round. Words, revisions, reminders and figures are onplan's own and left out."""
    expect = scenario.expect
    return msgspec.structs.replace(
        scenario,
        expect=ExpectData(
            messages=None if expect.messages is None else tuple(map(_speaker, expect.messages)),
            answers={call_id: _went(scenario, call_id, said) for call_id, said in expect.answers.items()},
            plans=None if expect.plans is None else tuple(map(_todos_alone, expect.plans)),
            turns=None if expect.turns is None else tuple(map(_end_alone, expect.turns)),
            requests=expect.requests,
            plan=expect.plan,
            ran=expect.ran,
        ),
    )


def _speaker(wanted: str | MessageData | None) -> str | MessageData | None:
    if not isinstance(wanted, MessageData):
        return wanted
    return MessageData(wanted.role, id=wanted.id, outcome=wanted.outcome, calls=wanted.calls)


def _went(scenario: Scenario, call_id: str, wanted: str | AnswerData) -> str | AnswerData:
    if isinstance(wanted, AnswerData):
        return AnswerData(outcome=wanted.outcome)
    return AnswerData(outcome="ok") if _name_of(scenario, call_id) in PLAN_TOOLS else wanted


def _name_of(scenario: Scenario, call_id: str) -> str:
    calls = [call for turn in scenario.turns for reply in turn.replies for call in reply.calls]
    return next((call.name for call in calls if call.id == call_id), "")


def _todos_alone(wanted: PlanSeen | None) -> PlanSeen | None:
    return None if wanted is None else PlanSeen(todos=wanted.todos)


def _end_alone(wanted: TurnSeen | None) -> TurnSeen | None:
    return None if wanted is None else TurnSeen(wanted.reason, wanted.requests, wanted.rounds)


_FEATURES = ("reminders", "placement", "stop_gate", "require", "repetition", "edit")

_BY_NAME: Mapping[str, tuple[str, str]] = {
    "work_between_clears_the_repetition": ("a feature that it does not set out to have", "repetition"),
    "broken_arguments_get_an_answer_each": ("the framework's own matter", "arguments"),
    "ids_that_come_again_are_told_apart": ("the framework's own matter", "ids"),
    "planning_off_offers_nothing": ("settings of onplan", ""),
    **dict.fromkeys(
        (
            "auto_asks_nothing",
            "clearing_names_what_was_open",
            "content_cannot_pose_as_the_harness",
            "dropped_todos_are_named_once",
            "readme_run",
            "respelled_todos_are_not_dropped",
            "the_last_write_invites_no_recap",
            "tutorial_adds_nothing",
            "tutorial_read_before_any_write",
            "tutorial_write_answers_the_list",
            "tutorial_write_todos_has_no_limits",
        ),
        ("a rule about words alone", ""),
    ),
}
"""Scenarios whose lines do not show that they say nothing about another planner."""


def inapplicable(scenario: Scenario, tools: Sequence[str]) -> tuple[str, str] | None:
    """Why a scenario says nothing about a planner with these tools, with a detail; `None`: it does."""
    given, plain = scenario.settings, SettingsData()
    if given.dialect != plain.dialect:
        return "another dialect", ""
    if lacking := [need for need in scenario.needs if need in _FEATURES]:
        return "a feature that it does not set out to have", lacking[0]
    if scenario.needs:
        return "the framework's own matter", scenario.needs[0]
    if scenario.name in _BY_NAME:
        return _BY_NAME[scenario.name]
    if (given.rules, given.planning, given.reminder) != (plain.rules, plain.planning, plain.reminder):
        return "settings of onplan", ""
    called = {call.name for turn in scenario.turns for reply in turn.replies for call in reply.calls}
    if not called & set(PLAN_TOOLS):
        return "no plan in it", ""
    if missing := sorted((called & set(PLAN_TOOLS)) - set(tools)):
        return f"it has no {missing[0]}", ""
    return None


def compared(scenario: Scenario, observed: Observed) -> list[str]:
    """Where a planner does otherwise. In which order a framework puts results is not its planner's doing."""
    return [told for told in check(behaviour(scenario), observed) if not told.endswith("was due")]


# --- LangChain's TodoListMiddleware -----------------------------------------------------------------


class TodoList(Middleware):
    """LangChain's agent with its own middleware."""

    tools = ("write_todos",)

    def build(self, scenario: Scenario, model: BaseChatModel, tools: list[BaseTool], saver: Any) -> Any:
        instructions = scenario.settings.instructions or None
        planner: Any = TodoListMiddleware()
        return create_agent(
            model, tools, system_prompt=instructions, middleware=[planner], checkpointer=saver
        )

    def state(self, scenario: Scenario, values: Mapping[str, Any]) -> State:
        return evolve(State(settings_of(scenario)), Written(1, _plan(values.get("todos") or ())))

    def messages(self, values: Mapping[str, Any]) -> Sequence[BaseMessage]:
        return values.get("messages", ())


class TodoListHost(ThreadHost):
    """Plays on `TodoListMiddleware`; the plan after a round is what the channel holds then."""

    def __init__(self) -> None:
        super().__init__(TodoList(), sync=True)

    async def play(self, scenario: Scenario) -> Observed:
        return await _ChannelPlay(self, scenario).run()


class _ChannelPlay(ThreadPlay):
    def __init__(self, host: ThreadHost, scenario: Scenario) -> None:
        super().__init__(host, scenario)
        self.rounds: dict[int, RoundResult] = {}

    async def _invoke(self, given: Any) -> dict[str, Any]:
        last: dict[str, Any] = {}
        for last in self.graph.stream(given, self.config, stream_mode="values"):
            said = conversation(last.get("messages", ()))
            number = sum(isinstance(message, Assistant) and bool(message.calls) for message in said)
            if number and said and isinstance(said[-1], ToolResult):
                self.rounds[number] = RoundResult(_plan(last.get("todos") or ()), 0)
        return last

    def _observed(self, results: Sequence[TurnResult]) -> Observed:
        return Observed(
            messages=tuple(self.messages),
            requests=tuple(self.requests),
            turns=tuple(results),
            rounds=tuple(self.rounds.values()),
            plan=self.state.plan,
            revision=0,
            ran=tuple(self.ran),
        )


def _plan(todos: Sequence[Mapping[str, Any]]) -> Plan:
    """Whatever a channel or a storage holds, as a plan: nothing is judged."""
    return Plan(tuple(Todo(todo["content"], todo["status"]) for todo in todos))


# --- pydantic-ai-todo -------------------------------------------------------------------------------


class PydanticTodoHost:
    """Plays on pydantic-ai with the toolset of pydantic-ai-todo."""

    tools = ("write_todos", "read_todos")

    async def play(self, scenario: Scenario) -> Observed:
        async with asyncio.timeout(30):
            return await _PydanticPlay(scenario).run()


@dataclass
class _Turn:
    replies: Sequence[Any] = ()
    given: int = 0


class _PydanticPlay:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.storage = TodoStorage()
        self.history: list[ModelMessage] = []
        self.requests: list[Request] = []
        self.rounds: list[RoundResult] = []
        self.ran: list[str] = []
        self.turn = _Turn()
        self.agent: Agent[Any, str] = Agent(
            FunctionModel(self._reply),
            instructions="\n\n".join(filter(None, (scenario.settings.instructions, TODO_SYSTEM_PROMPT))),
            toolsets=[create_todo_toolset(self.storage)],
            tools=[self._tool(data) for data in scenario.tools],
            retries=20,  # a refusal is part of the scenario; the default of one would end the run
        )

    async def run(self) -> Observed:
        results = [await self._take(turn.user, turn.replies) for turn in self.scenario.turns]
        return Observed(
            messages=tuple(_said(self.history)),
            requests=tuple(self.requests),
            turns=tuple(results),
            rounds=tuple(self.rounds),
            plan=self._plan(),
            revision=0,
            ran=tuple(self.ran),
        )

    async def _take(self, user: str, replies: Sequence[Any]) -> TurnResult:
        self.turn = _Turn(replies)
        before = len(self.history)
        try:
            done = await self.agent.run(user, message_history=self.history or None)
        except (ModelError, UnexpectedModelBehavior) as error:
            return TurnResult("model_error", requests=self.turn.given, error=str(error))
        self.history = done.all_messages()
        new = _said(self.history[before:])
        if self._plan().open:
            return self._result("open_todos", new)
        return self._result("done", new)

    def _result(self, reason: str, said: Sequence[Message]) -> TurnResult:
        replies = [message for message in said if isinstance(message, Assistant)]
        rounds = sum(bool(reply.calls) for reply in replies)
        return TurnResult(reason, replies[-1].text if replies else "", self.turn.given, rounds)

    async def _reply(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = _said(messages)
        if said and isinstance(said[-1], ToolResult):
            self.rounds.append(RoundResult(self._plan(), 0))
        offered = tuple(map(_offered, info.function_tools))
        self.requests.append(Request(info.instructions or "", offered, said))
        self.history = list(messages)
        self.turn.given += 1
        if self.turn.given > len(self.turn.replies):
            raise ModelError(f"the turn has no reply {self.turn.given}")
        data = self.turn.replies[self.turn.given - 1]
        texts = [TextPart(data.text)] if data.text else []
        made = [ToolCallPart(call.name, _adapted(call.name, call.arguments), call.id) for call in data.calls]
        return ModelResponse(parts=[*texts, *made])

    def _tool(self, data: ToolData) -> Tool[Any]:
        calls = count()

        async def run(ctx: RunContext[Any], **arguments: Any) -> str:
            self.ran.append(ctx.tool_call_id or "")
            return answer_of(data, arguments, next(calls))[0]

        schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
        return Tool.from_schema(run, data.name, f"The scenario's {data.name}.", schema, takes_ctx=True)

    def _plan(self) -> Plan:
        return _plan([{"content": todo.content, "status": todo.status} for todo in self.storage.todos])


def _adapted(name: str, arguments: Any) -> Any:
    """The call in the shape that the toolset asks for: each item with its `active_form`."""
    if not isinstance(arguments, dict):
        return arguments if isinstance(arguments, str) else json.dumps(arguments)
    if name != "write_todos":
        return arguments
    todos = cast("dict[str, Any]", arguments).get("todos")
    if not isinstance(todos, list):
        return arguments
    items = [
        {"active_form": str(item.get("content", "")), **item} if isinstance(item, dict) else item
        for item in cast("list[Any]", todos)
    ]
    return {**arguments, "todos": items}


def _offered(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description or "",
        "input_schema": tool.parameters_json_schema,
    }


def _said(messages: Sequence[ModelMessage]) -> list[Message]:
    said: list[Message] = []
    for message in messages:
        match message:
            case ModelRequest(parts=parts):
                said += [heard for part in parts if (heard := _heard(part)) is not None]
            case ModelResponse(parts=parts):
                texts = [Text(part.content) for part in parts if isinstance(part, TextPart)]
                made = [
                    Call(part.tool_call_id, part.tool_name, part.args)
                    for part in parts
                    if isinstance(part, ToolCallPart)
                ]
                said.append(Assistant((*texts, *made), "tool_calls" if made else "end"))
    return said


def _heard(part: Any) -> Message | None:
    match part:
        case UserPromptPart(content=content):
            return User(str(content))
        case ToolReturnPart(tool_name=name, content=content, tool_call_id=call_id, outcome=outcome):
            return ToolResult(call_id, name, str(content), "ok" if outcome == "success" else "error")
        case RetryPromptPart(tool_name=str(name), tool_call_id=call_id):
            return ToolResult(call_id, name, part.model_response(), "error")
        case RetryPromptPart():
            return User(part.model_response())
        case _:
            return None
