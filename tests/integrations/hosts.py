"""Hosts that play the scenarios on LangChain's agent and on LangGraph graphs, sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Protocol, TypeAlias, cast

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import Field

from onplan.errors import ModelError, OnplanError, PlanError
from onplan.events import PlanEdited, Record
from onplan.integrations.langchain import PlanMiddleware
from onplan.integrations.langchain_replies import paired
from onplan.integrations.langgraph import build_graph, plan_state
from onplan.integrations.lcmessages import conversation, to_langchain
from onplan.integrations.lctools import READ_ONLY
from onplan.messages import Assistant, Call, Message, Note, Text, ToolResult, Usage
from onplan.plan.ledger import Ledger
from onplan.plan.settings import Settings
from onplan.plan.state import State
from onplan.plan.todo import Plan
from onplan.planning import PlanFold
from onplan.protocols import Request
from onplan.testing.scenarios import (
    AnswersData,
    DenialData,
    EditData,
    Observed,
    ReplyData,
    RoundResult,
    Scenario,
    ToolData,
    TurnData,
    TurnResult,
    settings_of,
    todo_of,
)


class Subject(Protocol):
    """What a thread host needs to know of the system that it plays on."""

    def build(self, scenario: Scenario, model: BaseChatModel, tools: list[BaseTool], saver: Any) -> Any:
        """The compiled graph, with `saver` as its checkpointer."""
        ...

    def state(self, scenario: Scenario, values: Mapping[str, Any]) -> State:
        """The plan's state in a thread's values."""
        ...

    def messages(self, values: Mapping[str, Any]) -> Sequence[BaseMessage]:
        """The conversation as the next request would have it."""
        ...

    def asked(self, question: Any, reply: Assistant) -> list[str]:
        """The ids of the calls that an interrupt asks the person about. `reply`: the last one."""
        ...

    def answer(self, decisions: Mapping[str, Decision]) -> Any:
        """The person's decisions by call, as the interrupt wants them."""
        ...


Decision: TypeAlias = str | None
"""Why a call must not run; `None`: it may."""


class Stopped(BaseException):
    """The process dies, or the person ends the turn: nothing in the agent may catch it."""


class ThreadHost:
    """Plays a scenario on a compiled graph, with checkpoints in memory."""

    def __init__(self, subject: Subject, *, sync: bool) -> None:
        self.subject = subject
        self.sync = sync

    async def play(self, scenario: Scenario) -> Observed:
        async with asyncio.timeout(30):
            return await ThreadPlay(self, scenario).run()


class Middleware:
    """LangChain's agent with `PlanMiddleware`."""

    def middleware(self, scenario: Scenario) -> PlanMiddleware:
        given = settings_of(scenario)
        return PlanMiddleware(
            given.dialect,
            preset="tutorial" if given.tutorial else None,
            rules=given.rules,
            reminder=given.reminder,
            planning=given.planning,
            max_continuations=given.max_continuations,
        )

    def build(self, scenario: Scenario, model: BaseChatModel, tools: list[BaseTool], saver: Any) -> Any:
        middleware: list[Any] = [self.middleware(scenario)]
        if scenario.settings.approval == "ask":
            middleware.append(_asking([*tools, *middleware[0].tools]))
        return create_agent(
            model,
            tools,
            system_prompt=scenario.settings.instructions or None,
            middleware=middleware,
            checkpointer=saver,
        )

    def state(self, scenario: Scenario, values: Mapping[str, Any]) -> State:
        return self.middleware(scenario).state_of(values)

    def messages(self, values: Mapping[str, Any]) -> Sequence[BaseMessage]:
        return paired(values.get("messages", ()))

    def asked(self, question: Any, reply: Assistant) -> list[str]:
        return [call.id for call in reply.calls]  # its requests bear no ids; it asks about every call

    def answer(self, decisions: Mapping[str, Decision]) -> Any:
        return {
            "decisions": [
                {"type": "approve"} if reason is None else {"type": "reject", "message": reason}
                for reason in decisions.values()
            ]
        }


def _asking(tools: Sequence[BaseTool]) -> HumanInTheLoopMiddleware:
    """LangChain's own approval for every tool; behind the plan's middleware, so that it is asked first."""
    return HumanInTheLoopMiddleware(
        {tool.name: {"allowed_decisions": ["approve", "reject"]} for tool in tools}
    )


class Graph:
    """The first seed's graph."""

    def build(self, scenario: Scenario, model: BaseChatModel, tools: list[BaseTool], saver: Any) -> Any:
        given = settings_of(scenario)
        return build_graph(
            model,
            tools,
            dialect=given.dialect,
            preset="tutorial" if given.tutorial else None,
            rules=given.rules,
            reminder=given.reminder,
            planning=given.planning,
            max_continuations=given.max_continuations,
            system=scenario.settings.instructions,
            checkpointer=saver,
        )

    def state(self, scenario: Scenario, values: Mapping[str, Any]) -> State:
        return plan_state(values.get("messages", ()), settings_of(scenario))

    def messages(self, values: Mapping[str, Any]) -> Sequence[BaseMessage]:
        return values.get("messages", ())

    def asked(self, question: Any, reply: Assistant) -> list[str]:
        return [call["id"] for call in question["calls"]]

    def answer(self, decisions: Mapping[str, Decision]) -> Any:
        return {
            call_id: True if reason is None else {"approved": False, "reason": reason}
            for call_id, reason in decisions.items()
        }


class ThreadPlay:
    """One scenario on its way."""

    def __init__(self, host: ThreadHost, scenario: Scenario) -> None:
        self.host = host
        self.scenario = scenario
        self.turn = TurnData("")
        self.replies_given = 0
        self.requests: list[Request] = []
        self.ran: list[str] = []
        self.asked: list[str] = []
        self.refused_edits: list[str] = []
        self.edits: list[tuple[int, PlanEdited]] = []
        self.saver = InMemorySaver()
        auto = scenario.settings.approval == "auto"
        self.config = {
            "configurable": {"thread_id": "scenario", "auto_approve": auto},
            "recursion_limit": 500,
        }
        self.graph = self._build()

    def _build(self) -> Any:
        tools: list[BaseTool] = [_tool(self, data) for data in self.scenario.tools]
        return self.host.subject.build(self.scenario, ScenarioModel(play=self), tools, self.saver)

    async def run(self) -> Observed:
        results: list[TurnResult] = []
        for turn in self.scenario.turns:
            if turn.resume:
                self.graph = self._build()
            self.turn, self.replies_given = turn, 0
            self._edit()
            results.append(await self._take(turn))
        return self._observed(results)

    async def _take(self, turn: TurnData) -> TurnResult:
        error = reason = ""
        given = {"messages": [HumanMessage(turn.user)]}
        try:
            came_to = await self._invoke(given)
            while questions := came_to.get("__interrupt__"):
                answer = self._approve(questions[0].value)
                came_to = await self._invoke(Command(resume=answer))
        except ModelError as raised:
            error = str(raised)
        except Stopped:
            self.graph = self._build()
            reason = "crashed" if turn.crash else "interrupted"
        said = _of_the_turn(self.messages)
        reason = reason or ("model_error" if error else self._reason(said))
        replies = [message for message in said if isinstance(message, Assistant)]
        rounds = sum(bool(reply.calls) for reply in replies)
        text = replies[-1].text if replies else ""
        return TurnResult(reason, text, self.replies_given, rounds, _CODES[reason], error)

    async def _invoke(self, given: Any) -> dict[str, Any]:
        if self.host.sync:
            return self.graph.invoke(given, self.config)
        return await self.graph.ainvoke(given, self.config)

    def _approve(self, question: Any) -> Any:
        """The person's answer about the calls of a question; or they end the turn instead."""
        reply = next(item for item in reversed(self.messages) if isinstance(item, Assistant))
        ids = self.host.subject.asked(question, reply)
        self.asked += ids
        interrupt = self.turn.interrupt
        if interrupt is not None and interrupt.asking in ids:
            raise Stopped
        return self.host.subject.answer({call_id: self._decision(call_id) for call_id in ids})

    def _decision(self, call_id: str) -> Decision:
        match self.turn.approvals.get(call_id, "allow"):
            case "allow":
                return None
            case "deny":
                return ""
            case DenialData(deny=reason):
                return reason
            case other:
                raise OnplanError(f"an interrupt cannot be answered with {other}")

    def _reason(self, said: Sequence[Message]) -> str:
        if said and isinstance(said[-1], Assistant) and not said[-1].calls:
            replies = [message for message in said if isinstance(message, Assistant)]
            if replies[-1].stop in ("refusal", "length"):
                return replies[-1].stop
            if len(replies) > 1 and not any(reply.parts for reply in replies[-2:]):
                return "empty"
            return "open_todos" if self.state.plan.open else "done"
        return self.state.ends_turn or "stopped"

    def _edit(self) -> None:
        """The person's changes before the turn, as a revision of the channel by hand."""
        for edit in self.turn.edits:
            if edit.before_reply or edit.during_reply:
                raise OnplanError("a running graph takes no changes from outside")
            ledger = self.state.ledger
            try:
                plan = self._edited(edit, ledger)
            except PlanError as error:
                self.refused_edits.append(str(error))
                continue
            at = len(self.messages)
            self.graph.update_state(self.config, {"todos": plan.to_json()})
            if plan != ledger.plan:
                action = "edit" if edit.action == "clear" else edit.action
                self.edits.append((at, PlanEdited(ledger.revision + 1, tuple(plan.to_json()), action)))

    def _edited(self, edit: EditData, ledger: Ledger) -> Plan:
        match edit.action:
            case "edit" | "clear":
                return Plan.of([todo_of(data) for data in edit.todos], settings_of(self.scenario).rules)
            case "undo":
                return ledger.undo_target()
            case "redo":
                return ledger.redo_target()

    def stop_at(self, call_id: str) -> None:
        """End the turn if the scenario says that this call does not see its end."""
        turn = self.turn
        dies = turn.crash is not None and (turn.crash.after, turn.crash.call) == ("started", call_id)
        if dies or (turn.interrupt is not None and turn.interrupt.during == call_id):
            raise Stopped

    @property
    def values(self) -> Mapping[str, Any]:
        return self.graph.get_state(self.config).values

    @property
    def state(self) -> State:
        return self.host.subject.state(self.scenario, self.values)

    @property
    def messages(self) -> list[Message]:
        return conversation(self.host.subject.messages(self.values), self.read_only)

    @property
    def read_only(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.scenario.tools if tool.read_only)

    def _observed(self, results: Sequence[TurnResult]) -> Observed:
        messages, state = self.messages, self.state
        told = Told(settings_of(self.scenario))
        for at, message in enumerate(messages):
            for place, edit in self.edits:
                if place == at:
                    told.take(edit)
            told.take(message)
        if (told.state.plan, told.state.ledger.revision) != (state.plan, state.ledger.revision):
            raise OnplanError("the plan in the thread's state is not the one that its messages tell")
        return Observed(
            messages=tuple(messages),
            requests=tuple(self.requests),
            turns=tuple(results),
            rounds=tuple(told.rounds),
            plan=state.plan,
            revision=state.ledger.revision,
            dropped=state.ledger.dropped(),
            counter=tuple(told.counter),
            stats=state.stats.to_json(),
            ran=tuple(self.ran),
            asked=tuple(self.asked),
            refused_edits=tuple(self.refused_edits),
        )


_CODES: Mapping[str, int] = {
    "done": 0,
    "open_todos": 4,
    "plan_loop": 5,
    "model_error": 1,
    "stopped": 1,
    "interrupted": 130,
    "crashed": 0,
    "refusal": 1,
    "empty": 1,
    "length": 5,
}


def _of_the_turn(messages: Sequence[Message]) -> Sequence[Message]:
    for at in range(len(messages) - 1, -1, -1):
        if isinstance(messages[at], (Assistant, ToolResult, Note)):
            continue
        return messages[at + 1 :]
    return messages


class Told:
    """A conversation told once more: the plan after each round, its distance after each message."""

    def __init__(self, given: Settings) -> None:
        self._fold = PlanFold(given)
        self.rounds: list[RoundResult] = []
        self.counter: list[int] = []
        self._waiting: set[str] = set()

    @property
    def state(self) -> State:
        return self._fold.state

    def take(self, record: Record) -> None:
        self._fold.fold(record)
        match record:
            case Assistant():
                self._waiting = {call.id for call in record.calls}
            case ToolResult(call_id=call_id) if call_id in self._waiting:
                self._waiting.remove(call_id)
                if not self._waiting:
                    self.rounds.append(RoundResult(self.state.plan, self.state.ledger.revision))
            case PlanEdited():
                return
            case _:
                pass
        self.counter.append(self.state.distance.messages)


# --- the model and the tools ------------------------------------------------------------------------


class ScenarioModel(BaseChatModel):
    """Gives each turn its replies, and keeps what it was asked."""

    play: Any
    offered: tuple[dict[str, Any], ...] = ()

    @property
    def _llm_type(self) -> str:
        return "scenario"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> ScenarioModel:
        return ScenarioModel(play=self.play, offered=tuple(_schema(tool) for tool in tools))

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        play = cast("ThreadPlay", self.play)
        play.replies_given += 1
        system = "".join(str(item.text) for item in messages if isinstance(item, SystemMessage))
        play.requests.append(Request(system, self.offered, tuple(conversation(messages, play.read_only))))
        if play.replies_given > len(play.turn.replies):
            raise ModelError(f"the turn {play.turn.user!r:.40} has no reply {play.replies_given}")
        data = play.turn.replies[play.replies_given - 1]
        if data.error:
            raise ModelError(data.error)
        return ChatResult(generations=[ChatGeneration(message=reply_of(data))])


def reply_of(data: ReplyData) -> AIMessage:
    """The scenario's reply as a LangChain model would give it."""
    texts = (Text(data.text),) if data.text else ()
    calls = tuple(Call(call.id or "", call.name, call.arguments) for call in data.calls)
    usage = Usage(data.usage.input, data.usage.output) if data.usage else Usage()
    reply = Assistant((*texts, *calls), data.stop or ("tool_calls" if calls else "end"), usage, "scenario")
    return cast("AIMessage", to_langchain(reply))


def _schema(tool: Any) -> dict[str, Any]:
    told = convert_to_openai_tool(tool)["function"]
    return {
        "name": told["name"],
        "description": told.get("description", ""),
        "input_schema": told.get("parameters", {}),
    }


Answered: TypeAlias = tuple[str, str, dict[str, Any] | None]
"""Text, outcome, details."""


class ScenarioTool(BaseTool):
    """A tool that takes any arguments and answers as the scenario says."""

    args_schema: Any = Field(default={"type": "object", "properties": {}})
    answer: Callable[[str, Mapping[str, Any]], Answered]

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # LangChain's own name
        call_id, arguments = str(input.get("id", "")), input.get("args", input)
        text, outcome, artifact = self.answer(call_id, arguments)
        return ToolMessage(
            text,
            tool_call_id=call_id,
            name=self.name,
            artifact=artifact,
            status="success" if outcome == "ok" else "error",
        )

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # LangChain's own name
        return self.invoke(input, config)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("it is called with a call")


def _tool(play: ThreadPlay, data: ToolData) -> ScenarioTool:
    calls = count()

    def answer(call_id: str, arguments: Mapping[str, Any]) -> Answered:
        play.ran.append(call_id)
        play.stop_at(call_id)
        return answer_of(data, arguments, next(calls))

    return ScenarioTool(
        name=data.name,
        description=f"The scenario's {data.name}.",
        answer=answer,
        metadata={READ_ONLY: data.read_only},
    )


def answer_of(data: ToolData, arguments: Mapping[str, Any], number: int) -> Answered:
    """What the n-th call of a tool comes to, from 0."""
    match data.answers:
        case str() as text:
            return text, "ok", None
        case AnswersData(error=error) if error:
            return f"Error: {error}", "error", None
        case answers:
            for key, texts in answers.by_argument.items():
                if str(arguments.get(key)) in texts:
                    return texts[str(arguments.get(key))], "ok", None
            each = answers.each
            text = each[min(number, len(each) - 1)] if each else answers.text
            return text, "ok", {"unanswered": True} if answers.unanswered else None
