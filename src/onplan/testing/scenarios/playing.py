# pyright: strict
"""Playing a scenario: what a host tells of it, and the host that plays on onplan's own agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from onplan.agent import Agent
from onplan.errors import ModelError, OnplanError, PlanError, StoreError, ToolError
from onplan.events import Compacted, Event, Record, ToolStarted, Warned, decode_record, messages_of
from onplan.hooks import Block, Continue, Deny, Hooks, PlanChange, Rewrite, Veto, View
from onplan.messages import (
    Assistant,
    Call,
    Message,
    Note,
    Text,
    ToolResult,
    Usage,
    User,
)
from onplan.models.scripted import Cut, Reply, ScriptedModel
from onplan.parts import Limits
from onplan.permissions import Permissions
from onplan.plan.settings import Settings
from onplan.plan.todo import Plan
from onplan.planning import PlanFold
from onplan.protocols import Approval, Approved, Delta, Question, Rejected, Request
from onplan.session import InboxRequest, leave_request, read
from onplan.stores.holder import this_process
from onplan.stores.memory import MemoryStore
from onplan.testing.scenarios.format import (
    AnswersData,
    CrashData,
    DenialData,
    EditData,
    HooksData,
    ReplyData,
    Scenario,
    ToolData,
    TurnData,
    settings_of,
    todo_of,
)
from onplan.toolset import Ctx, Provider, Tool, ToolOutput, parse_arguments


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn went. `reason` is one of `EndReason`, or `crashed`."""

    reason: str
    text: str = ""
    requests: int = 0
    rounds: int = 0
    exit_code: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The plan as it stood when a round had got its results."""

    plan: Plan
    revision: int


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """The conversation was made shorter when `requests` had been sent and it had `messages`; the next request
    begins with a view of `view` messages."""

    requests: int
    messages: int
    view: int


@dataclass(frozen=True, slots=True)
class Observed:
    """What a host saw while it played a scenario.

    `messages`: the conversation at the end, without the system text. `requests`: what went to the model,
    whole, in order. `counter`: the distance of the plan, in messages, after each message. `stats`: as
    `onplan.plan.stats` counts. `ran` and `asked` are call ids in order.
    """

    messages: tuple[Message, ...]
    requests: tuple[Request, ...]
    turns: tuple[TurnResult, ...]
    rounds: tuple[RoundResult, ...]
    plan: Plan
    revision: int
    dropped: tuple[str, ...] = ()
    counter: tuple[int, ...] = ()
    stats: Mapping[str, int] = field(default_factory=dict[str, int])
    ran: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    refused_edits: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    compactions: tuple[CompactionResult, ...] = ()


class Host(Protocol):
    """Plays scenarios. `play` raises only when the scenario cannot be played at all."""

    async def play(self, scenario: Scenario) -> Observed: ...


class PlainLoop:
    """onplan's own loop, with a session store in memory."""

    async def play(self, scenario: Scenario) -> Observed:
        async with asyncio.timeout(30):
            return await _Play(scenario).run()


class _Crashed(BaseException):
    """Stands for the death of the process: nothing in the agent may catch it."""


class _Play:
    """One scenario on its way: the agent, and the person, model, tools and store around it."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.turn = TurnData("")
        self.replies_given = 0
        self.requests: list[Request] = []
        self.ran: list[str] = []
        self.asked: list[str] = []
        self.warnings: list[str] = []
        self.refused_edits: list[str] = []
        self.compactions: list[CompactionResult] = []
        self.messages = 0
        self.ended: dict[str, asyncio.Event] = {}
        self.store = _Store(self)
        self._agent: Agent | None = None

    @property
    def agent(self) -> Agent:
        if self._agent is None:
            raise OnplanError("the scenario has not begun")
        return self._agent

    async def run(self) -> Observed:
        self._agent = await self._start()
        results: list[TurnResult] = []
        for turn in self.scenario.turns:
            if turn.resume:
                await self.agent.close()
                self._agent = await self._start(resume=self.agent.session_id)
            self.turn, self.replies_given = turn, 0
            if turn.compact is not None:
                await self.agent.compact(turn.compact.focus)
            await self.edit(during_reply=0)
            results.append(await self._take(turn))
        observed = await self._observed(results)
        await self.agent.close()
        return observed

    async def _start(self, resume: str = "") -> Agent:
        given = self.scenario.settings
        person = None if given.approval == "nobody" else _Person(self)
        rights = Permissions(person, auto=given.approval == "auto")
        return await Agent.start(
            model=_Model(self),
            store=self.store,
            holder=this_process(),
            tools=[_tool(self, data) for data in self.scenario.tools],
            instructions=given.instructions,
            planning=settings_of(self.scenario),
            hooks=_hooks(given.hooks) + Hooks(before_tool=(rights.before_tool,)),
            limits=Limits(given.limits.rounds, given.limits.tokens, given.limits.continuations),
            resume=resume,
            listeners=[self._listen],
        )

    async def _take(self, turn: TurnData) -> TurnResult:
        await self.leave_edits(before_reply=1)
        try:
            result = await self.agent.run(turn.user)
        except _Crashed:
            self.turn = TurnData("")
            self._agent = await self._start(resume=self.agent.session_id)
            return TurnResult("crashed")
        return TurnResult(
            result.reason, result.text, result.requests, result.rounds, result.exit_code, result.error
        )

    async def edit(self, *, during_reply: int) -> None:
        """The changes that are due before the turn (0), or during a reply of it."""
        for edit in self.turn.edits:
            if edit.before_reply or edit.during_reply != during_reply:
                continue
            try:
                await self._change(edit)
            except PlanError as error:
                self.refused_edits.append(str(error))

    async def _change(self, edit: EditData) -> Plan:
        match edit.action:
            case "edit":
                return await self.agent.edit_plan([todo_of(data) for data in edit.todos])
            case "clear":
                return await self.agent.edit_plan([])
            case "undo":
                return await self.agent.undo_plan()
            case "redo":
                return await self.agent.redo_plan()

    async def leave_edits(self, *, before_reply: int) -> None:
        """Ask for the changes that the session takes in before that request."""
        for edit in self.turn.edits:
            if edit.before_reply == before_reply:
                action = "edit" if edit.action == "clear" else edit.action
                request = InboxRequest(action, tuple(todo_of(data).to_json() for data in edit.todos))
                await leave_request(self.store, self.agent.session_id, request)

    async def hang(self) -> None:
        """Wait for ever, as the person ends the turn meanwhile."""
        self.agent.interrupt()
        await asyncio.Event().wait()

    def _listen(self, event: Event) -> None:
        match event:
            case Warned(text=text):
                self.warnings.append(text)
            case User() | Assistant() | ToolResult() | Note():
                self.messages += 1
            case Compacted():
                view = len(self.agent.messages)
                self.compactions.append(CompactionResult(len(self.requests), self.messages, view))
            case _:
                pass

    async def _observed(self, results: Sequence[TurnResult]) -> Observed:
        records = [stamped.record for stamped in read(await self.store.load(self.agent.session_id))]
        folded = _Folded(settings_of(self.scenario))
        for record in records:
            folded.take(record)
        state = folded.plan.state
        if state != self.agent.plan_state:
            raise OnplanError("the plan that the agent holds is not the one that its log tells")
        return Observed(
            messages=tuple(messages_of(records)),
            requests=tuple(self.requests),
            turns=tuple(results),
            rounds=tuple(folded.rounds),
            plan=state.plan,
            revision=state.ledger.revision,
            dropped=state.ledger.dropped(),
            counter=tuple(folded.counter),
            stats=state.stats.to_json(),
            ran=tuple(self.ran),
            asked=tuple(self.asked),
            refused_edits=tuple(self.refused_edits),
            warnings=tuple(self.warnings),
            compactions=tuple(self.compactions),
        )


class _Folded:
    """The log told once more, with the plan after each round and its distance after each message."""

    def __init__(self, given: Settings) -> None:
        self.plan = PlanFold(given)
        self.rounds: list[RoundResult] = []
        self.counter: list[int] = []
        self._waiting: set[str] = set()

    def take(self, record: Record) -> None:
        self.plan.fold(record)
        state = self.plan.state
        match record:
            case Assistant():
                self._waiting = {call.id for call in record.calls}
            case ToolResult(call_id=call_id) if call_id in self._waiting:
                self._waiting.remove(call_id)
                if not self._waiting:
                    self.rounds.append(RoundResult(state.plan, state.ledger.revision))
            case _:
                pass
        if isinstance(record, (User, Assistant, ToolResult, Note)):
            self.counter.append(state.distance.messages)


class _Store(MemoryStore):
    """Fails once, or dies once a record is stored, as the scenario says."""

    def __init__(self, play: _Play) -> None:
        super().__init__()
        self._play = play
        self._failed: set[str] = set()

    async def append(
        self, session: str, seq: int, bodies: Sequence[bytes], *, time: float, served: Sequence[int] = ()
    ) -> None:
        records = [decode_record(body) for body in bodies]
        for record in records:
            self._check(record)
        await super().append(session, seq, bodies, time=time, served=served)
        crash = self._play.turn.crash
        if crash is not None and any(_is_last(crash, record) for record in records):
            raise _Crashed

    def _check(self, record: Record) -> None:
        unstored = self._play.turn.unstored
        if isinstance(record, ToolResult) and record.call_id == unstored and unstored not in self._failed:
            self._failed.add(unstored)
            raise StoreError("the disk is full")


def _is_last(crash: CrashData, record: Record) -> bool:
    match record:
        case User():
            return crash.after == "user"
        case Assistant():
            return crash.after == "reply" and (
                not crash.call or crash.call in [call.id for call in record.calls]
            )
        case ToolStarted(call_id=call_id):
            return crash.after == "started" and crash.call == call_id
        case ToolResult(call_id=call_id):
            return crash.after == "result" and crash.call == call_id
        case _:
            return False


class _Model:
    """Gives each turn its replies; hangs where the person interrupts."""

    name = "scenario"

    def __init__(self, play: _Play) -> None:
        self._play = play

    async def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        play = self._play
        if (summary := _summary_for(request, play.turn)) is not None:
            yield Assistant((Text(summary),) if summary else ())
            return
        number = play.replies_given = play.replies_given + 1
        play.requests.append(Request(request.system, request.tools, tuple(request.messages)))
        await play.leave_edits(before_reply=number + 1)
        await play.edit(during_reply=number)
        interrupt = play.turn.interrupt
        if interrupt is not None and interrupt.before_reply == number:
            if interrupt.heard:
                yield Delta("text", interrupt.heard)
            await play.hang()
        if number > len(play.turn.replies):
            raise ModelError(f"the turn {play.turn.user!r:.40} has no reply {number}")
        scripted = ScriptedModel([_reply(play.turn.replies[number - 1])], self.name)
        async for item in scripted.stream(request):
            yield item


def _summary_for(request: Request, turn: TurnData) -> str | None:
    """What the model writes where it is asked to sum up; `None` for any other request."""
    last = request.messages[-1]
    asked = isinstance(last, Note) and last.kind == "compaction"
    return turn.compact.summary if asked and turn.compact is not None else None


def _reply(data: ReplyData) -> Reply:
    if data.error:
        return ModelError(data.error)
    if data.cut:
        return Cut(data.text)
    texts = (Text(data.text),) if data.text else ()
    calls = tuple(Call(call.id or "", call.name, call.arguments) for call in data.calls)
    usage = Usage(data.usage.input, data.usage.output) if data.usage else Usage()
    return Assistant((*texts, *calls), data.stop or ("tool_calls" if calls else "end"), usage, "scenario")


class _Person:
    """Answers questions as the turn says; a call that it does not name may run."""

    def __init__(self, play: _Play) -> None:
        self._play = play

    async def approve(self, question: Question) -> Approval:
        play = self._play
        play.asked.append(question.call.id)
        if play.turn.interrupt is not None and play.turn.interrupt.asking == question.call.id:
            await play.hang()
        match play.turn.approvals.get(question.call.id, "allow"):
            case "allow":
                return Approved()
            case "allow_tool":
                return Approved("tool")
            case "deny":
                return Rejected()
            case "nobody":
                return Rejected(nobody=True)
            case DenialData(deny=reason):
                return Rejected(reason)


def _tool(play: _Play, data: ToolData) -> Tool:
    calls = count()

    async def run(sent: Any, ctx: Ctx, providers: Mapping[str, Provider]) -> ToolOutput:
        arguments = parse_arguments(sent, data.name)
        play.ran.append(ctx.call_id)
        if play.turn.interrupt is not None and play.turn.interrupt.during == ctx.call_id:
            await play.hang()
        if ctx.call_id in data.waits:
            await play.ended.setdefault(data.waits[ctx.call_id], asyncio.Event()).wait()
        play.ended.setdefault(ctx.call_id, asyncio.Event()).set()
        return _answer(data.answers, arguments, next(calls))

    schema: dict[str, Any] = {"type": "object", "properties": {}}
    return Tool(data.name, f"The scenario's {data.name}.", schema, run, data.read_only, data.parallel)


def _answer(answers: str | AnswersData, arguments: Mapping[str, Any], number: int) -> ToolOutput:
    if isinstance(answers, str):
        return ToolOutput(answers)
    if answers.error:
        raise ToolError(answers.error)
    for key, texts in answers.by_argument.items():
        if str(arguments.get(key)) in texts:
            return ToolOutput(texts[str(arguments.get(key))])
    text = answers.each[min(number, len(answers.each) - 1)] if answers.each else answers.text
    return ToolOutput(text, {"unanswered": True} if answers.unanswered else None)


def _hooks(data: HooksData) -> Hooks:
    def veto(change: PlanChange) -> Veto | None:
        if data.veto and any(data.veto.contains in todo["content"] for todo in change.after):
            return Veto(data.veto.reason)
        return None

    def before_tool(call: Call, tool: Tool, view: View) -> Deny | Rewrite | None:
        if data.fails:
            raise RuntimeError("the scenario's hook fails")
        if call.name in data.deny:
            return Deny(data.deny[call.name])
        return Rewrite(data.rewrite[call.name]) if call.name in data.rewrite else None

    def block(text: str, view: View) -> Block | None:
        return Block(f"it holds {data.block!r}") if data.block in text else None

    def stop(reply: Assistant, view: View) -> Continue:
        return Continue(Note(data.stop, "hook", "message"))

    return Hooks(
        user_prompt=(block,) if data.block else (),
        before_tool=(before_tool,) if data.fails or data.deny or data.rewrite else (),
        plan_change=(veto,) if data.veto else (),
        stop=(stop,) if data.stop else (),
    )
