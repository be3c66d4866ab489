# pyright: strict
"""Behaviour as data: scenarios that any host of the plan can play, their checker, and one host to start from.

`docs/scenarios.md` describes the format. A host plays a scenario and says what it saw; `check` compares.
Needs no test framework: `check(scenario, await host.play(scenario)) == []`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import count, zip_longest
from typing import Any, Literal, Protocol, TypeAlias, cast

import msgspec

from onplan.agent import Agent
from onplan.errors import ConfigError, ModelError, OnplanError, PlanError, StoreError, ToolError
from onplan.events import Event, Record, ToolStarted, Warned, decode_record, messages_of
from onplan.hooks import Block, Continue, Deny, Hooks, PlanChange, Rewrite, Veto, View
from onplan.messages import (
    Assistant,
    Call,
    Message,
    Note,
    StopReason,
    Text,
    ToolResult,
    Usage,
    User,
    model_text,
)
from onplan.models.scripted import Cut, Reply, ScriptedModel
from onplan.parts import Limits
from onplan.permissions import Permissions
from onplan.plan.settings import Placement, Planning, ReminderPolicy, SeedReminder, Settings, settings
from onplan.plan.todo import STATUSES, Plan, Rules, Status, Todo
from onplan.planning import PlanFold
from onplan.protocols import Approval, Approved, Delta, Question, Rejected, Request
from onplan.session import InboxRequest, leave_request, read
from onplan.stores.holder import this_process
from onplan.stores.memory import MemoryStore
from onplan.toolset import Ctx, Provider, Tool, ToolOutput, parse_arguments

Need: TypeAlias = Literal[
    "approval",  # a person is asked before a call runs
    "crash",  # the process dies in the middle of a turn and the session is opened again
    "edit",  # the person changes the plan
    "hooks",
    "interrupt",  # the person ends a turn before it is over
    "limits",  # caps on rounds and tokens
    "parallel",  # neighbouring calls run side by side
    "placement",  # a reminder as a user message of its own
    "reminders",
    "repetition",  # a turn that repeats itself is ended
    "require",  # other calls wait until there is a plan
    "resume",  # the session is closed and opened again
    "store",  # the session log refuses to take something
    "stop_gate",  # a turn that stops with open todos is continued
    "stream",  # a reply that breaks off, or does not come
    "stumbles",  # replies that are empty, cut by their length, declined
]
"""What a host must be able to do to play a scenario, beyond plan tools, other tools and turns."""


# --- the format: what happens -------------------------------------------------------------------------


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class RulesData(_Data, frozen=True):
    max_items: int | None = 20
    max_in_progress: int | None = 1
    max_content: int | None = 500
    allow_blank: bool = False


class ReminderData(_Data, frozen=True):
    """With `seed`, the seeds' own counter: only the first number of `after` and `placement` count."""

    seed: bool = False
    after: tuple[int, ...] = (3, 6, 12)
    max_messages: int = 30
    max_tokens: int = 8_000
    suggest: bool = True
    placement: Placement = "beside"


class LimitsData(_Data, frozen=True):
    rounds: int | None = 500
    tokens: int | None = None
    continuations: int = 3


class VetoData(_Data, frozen=True):
    """A plan with a todo that contains `contains` is not accepted."""

    contains: str
    reason: str


class HooksData(_Data, frozen=True):
    """Hooks that any host can build: `deny` and `rewrite` go by the name of a tool; `stop` never lets a
    turn end; `block` is a piece of a user message that is not let through; `fails`: one that raises."""

    veto: VetoData | None = None
    deny: dict[str, str] = {}
    rewrite: dict[str, dict[str, Any]] = {}
    stop: str = ""
    block: str = ""
    fails: bool = False


class SettingsData(_Data, frozen=True):
    """`approval`: every call runs (`auto`), is asked about (`ask`), or there is no one to ask (`nobody`)."""

    dialect: str = "write_todos"
    preset: Literal["tutorial"] | None = None
    rules: RulesData | None = None
    reminder: Literal["default", "none"] | ReminderData = "default"
    planning: Planning = "suggest"
    max_continuations: int = 1
    limits: LimitsData = LimitsData()
    approval: Literal["auto", "ask", "nobody"] = "auto"
    hooks: HooksData = HooksData()
    instructions: str = ""


class AnswersData(_Data, frozen=True):
    """What a tool says: `error`, else the text that fits an argument's value, else the n-th of `each` (the
    last one from then on), else `text`. `unanswered`: a question to a person that nobody answered."""

    text: str = ""
    by_argument: dict[str, dict[str, str]] = {}
    each: tuple[str, ...] = ()
    error: str = ""
    unanswered: bool = False


class ToolData(_Data, frozen=True):
    """A tool that a host builds from its answers. `waits`: a call (by id) that ends only after another."""

    name: str
    answers: str | AnswersData = "ok"
    read_only: bool = False
    parallel: bool = False
    waits: dict[str, str] = {}


class CallData(_Data, frozen=True):
    """Without an id the scenario's calls are c1, c2, … in order; `arguments` may be broken text."""

    name: str
    arguments: Any = {}
    id: str | None = None


class UsageData(_Data, frozen=True):
    input: int = 0
    output: int = 0


class ReplyData(_Data, frozen=True):
    """One reply of the model. `cut`: the stream breaks off after the text; `error`: there is no reply."""

    text: str = ""
    calls: tuple[CallData, ...] = ()
    stop: StopReason | None = None
    cut: bool = False
    error: str = ""
    usage: UsageData | None = None


class DenialData(_Data, frozen=True):
    deny: str


class InterruptData(_Data, frozen=True):
    """The person ends the turn while a call runs, while it waits for their approval, or while the n-th
    reply of the turn is awaited (`heard` of it has arrived)."""

    during: str = ""
    asking: str = ""
    before_reply: int = 0
    heard: str = ""


class EditData(_Data, frozen=True):
    """The person changes the plan: before the turn, before the n-th request of it is sent, or after that,
    while the n-th reply is on its way and so cannot know of it."""

    action: Literal["edit", "undo", "redo", "clear"]
    todos: tuple[str | dict[str, str], ...] = ()
    before_reply: int = 0
    during_reply: int = 0


class CrashData(_Data, frozen=True):
    """The process dies once this is stored, and the session is opened again."""

    after: Literal["user", "reply", "started", "result"]
    call: str = ""


class TurnData(_Data, frozen=True):
    """`resume`: the session is closed and opened again before this turn. `unstored`: a call whose result the
    log does not take, once."""

    user: str
    replies: tuple[ReplyData, ...] = ()
    approvals: dict[str, Literal["allow", "allow_tool", "deny", "nobody"] | DenialData] = {}
    interrupt: InterruptData | None = None
    edits: tuple[EditData, ...] = ()
    resume: bool = False
    crash: CrashData | None = None
    unstored: str = ""


# --- the format: what is expected -----------------------------------------------------------------------


class WordsData(_Data, frozen=True):
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


Words: TypeAlias = str | WordsData
"""A text: exactly this, or what it contains and lacks."""

TodoData: TypeAlias = str | dict[str, str]
"""`[ ] text`, `[~] text` or `[x] text` in any dialect; or an object, of which the given keys count."""


class MessageData(_Data, frozen=True):
    """A message by its role (`user`, `assistant`, `result`, `note`) and what else is stated of it."""

    role: Literal["user", "assistant", "result", "note"]
    text: Words | None = None
    id: str | None = None
    outcome: str | None = None
    calls: tuple[str, ...] | None = None
    stop: str | None = None
    kind: str | None = None
    placement: Placement | None = None


class AnswerData(_Data, frozen=True):
    text: str | None = None
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    outcome: str | None = None


class ReminderSeen(_Data, frozen=True):
    """Text that the harness added. `after`: the id of the call, or the role, of the message before it."""

    kind: str | None = None
    after: str | None = None
    text: Words | None = None
    placement: Placement | None = None


class PlanSeen(_Data, frozen=True):
    revision: int | None = None
    todos: tuple[TodoData, ...] | None = None


class TurnSeen(_Data, frozen=True):
    reason: str | None = None
    requests: int | None = None
    rounds: int | None = None
    exit_code: int | None = None
    text: Words | None = None
    error: Words | None = None


class ToldData(_Data, frozen=True):
    """What the model was told in the n-th request of the scenario, the system text included."""

    request: int
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


class DistanceData(_Data, frozen=True):
    """Messages behind the plan: at the end, and the most in any request while todos were open."""

    now: int | None = None
    max: int | None = None


class ExpectData(_Data, frozen=True):
    """Only what is stated is compared; `null` inside a list stands for anything.

    `messages`: the whole conversation, each as an object or as `role id…`. `answers`: results by call.
    `plans`: after each round of the session. `counter`: the distance after each message. `thread`: how many
    messages with the system text counted; `characters`: the least and the most in them. `ran`: calls of
    the scenario's tools that began their work; `changed`: those that succeeded and may change things;
    `asked`: calls that the person was asked about; `offers`: the tools that the model was offered.
    """

    messages: tuple[str | MessageData | None, ...] | None = None
    answers: dict[str, str | AnswerData] = {}
    plans: tuple[PlanSeen | None, ...] | None = None
    reminders: tuple[ReminderSeen | None, ...] | None = None
    told: tuple[ToldData, ...] = ()
    turns: tuple[TurnSeen | None, ...] | None = None
    requests: int | None = None
    thread: int | None = None
    characters: tuple[int, int] | None = None
    counter: tuple[int | None, ...] | None = None
    distance: DistanceData | None = None
    stats: dict[str, int] = {}
    plan: tuple[TodoData, ...] | None = None
    revision: int | None = None
    dropped: tuple[str, ...] | None = None
    ran: tuple[str, ...] | None = None
    changed: tuple[str, ...] | None = None
    asked: tuple[str, ...] | None = None
    offers: tuple[str, ...] | None = None
    refused_edits: tuple[Words, ...] | None = None
    warnings: tuple[Words, ...] | None = None


class Scenario(_Data, frozen=True):
    """`title`: the rule, in one sentence. `source`: where the rule comes from. `needs`: what a host must be
    able to do; one that cannot skips the scenario with an argued exception."""

    name: str
    title: str
    source: str
    turns: tuple[TurnData, ...]
    expect: ExpectData
    rule: str = ""
    needs: tuple[Need, ...] = ()
    settings: SettingsData = SettingsData()
    tools: tuple[ToolData, ...] = ()


# --- loading --------------------------------------------------------------------------------------------


def load_scenarios() -> tuple[Scenario, ...]:
    """Every scenario of the package, by name. Raises `ConfigError` for a file that breaks the format."""
    found: list[Scenario] = []
    for item in files("onplan").joinpath("scenarios").iterdir():
        if not item.name.endswith(".json"):
            continue
        scenario = parse_scenario(item.read_bytes(), item.name)
        if item.name != f"{scenario.name}.json":
            raise ConfigError(f"{item.name}: its name is {scenario.name!r}, name the file after it")
        found.append(scenario)
    return tuple(sorted(found, key=lambda scenario: scenario.name))


def parse_scenario(body: bytes | str, where: str = "scenario") -> Scenario:
    """One scenario out of JSON, its calls numbered. Raises `ConfigError` in one line that says where."""
    try:
        scenario = msgspec.json.decode(body, type=Scenario)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{where}: {error}") from None
    for text in _todo_texts(scenario):
        if text[:4] not in _MARKS:
            raise ConfigError(f"{where}: a todo begins with '[ ] ', '[~] ' or '[x] ', not {text!r:.60}")
    missing = sorted(needs_of(scenario) - set(scenario.needs))
    if missing:
        raise ConfigError(f"{where}: it must also say that it needs {', '.join(missing)}")
    return _numbered(scenario)


def needs_of(scenario: Scenario) -> frozenset[Need]:
    """The capabilities that can be read off a scenario's own lines."""
    given, expect = scenario.settings, scenario.expect
    replies = [reply for turn in scenario.turns for reply in turn.replies]
    reasons = {turn.reason for turn in expect.turns or () if turn is not None}
    notes = [note for note in expect.reminders or () if note is not None]
    message = isinstance(given.reminder, ReminderData) and given.reminder.placement == "message"
    seeds_message = given.preset == "tutorial" and given.dialect == "todo" and given.reminder == "default"
    heard = any(turn.interrupt is not None and turn.interrupt.heard for turn in scenario.turns)
    found: dict[Need, bool] = {
        "approval": given.approval != "auto",
        "crash": any(turn.crash is not None for turn in scenario.turns),
        "edit": any(turn.edits for turn in scenario.turns),
        "hooks": given.hooks != HooksData(),
        "interrupt": any(turn.interrupt is not None for turn in scenario.turns),
        "limits": given.limits != LimitsData(),
        "parallel": any(tool.waits for tool in scenario.tools),
        "placement": bool(notes) and (message or seeds_message),
        "reminders": any(note.kind in _REMINDERS for note in notes),
        "repetition": bool(reasons & {"plan_loop", "call_loop"}),
        "require": given.planning == "require",
        "resume": any(turn.resume for turn in scenario.turns),
        "store": any(turn.unstored for turn in scenario.turns),
        "stop_gate": "open_todos" in reasons or any(note.kind == "continue" for note in notes),
        "stream": heard or any(reply.cut or reply.error for reply in replies),
        "stumbles": bool(reasons & {"length", "empty", "refusal"})
        or any(note.kind in ("length", "empty") for note in notes),
    }
    return frozenset(need for need, needed in found.items() if needed)


_MARKS: Mapping[str, Status] = {"[ ] ": STATUSES[0], "[~] ": STATUSES[1], "[x] ": STATUSES[2]}
_REMINDERS = ("seed", "stale", "distance", "suggest", "edited")


def _todo_texts(scenario: Scenario) -> Iterator[str]:
    plans = [plan.todos for plan in scenario.expect.plans or () if plan is not None]
    edits = [edit.todos for turn in scenario.turns for edit in turn.edits]
    for todos in (*plans, *edits, scenario.expect.plan):
        yield from (todo for todo in todos or () if isinstance(todo, str))


def _numbered(scenario: Scenario) -> Scenario:
    numbers = count(1)

    def with_ids(calls: tuple[CallData, ...]) -> tuple[CallData, ...]:
        ids = [(call, f"c{next(numbers)}") for call in calls]
        return tuple(
            msgspec.structs.replace(call, id=fresh if call.id is None else call.id) for call, fresh in ids
        )

    def with_replies(replies: tuple[ReplyData, ...]) -> tuple[ReplyData, ...]:
        return tuple(msgspec.structs.replace(reply, calls=with_ids(reply.calls)) for reply in replies)

    turns = [msgspec.structs.replace(turn, replies=with_replies(turn.replies)) for turn in scenario.turns]
    return msgspec.structs.replace(scenario, turns=tuple(turns))


def settings_of(scenario: Scenario) -> Settings:
    """The plan's settings that a scenario asks for. Raises `PlanError` for names that do not exist."""
    given = scenario.settings
    return settings(
        given.dialect,
        preset=given.preset,
        rules=Rules(**msgspec.structs.asdict(given.rules)) if given.rules else None,
        reminder=_reminder_of(given.reminder),
        planning=given.planning,
        max_continuations=given.max_continuations,
    )


def _reminder_of(
    given: Literal["default", "none"] | ReminderData,
) -> ReminderPolicy | SeedReminder | Literal["default"] | None:
    match given:
        case "default":
            return "default"
        case "none":
            return None
        case ReminderData(seed=True):
            return SeedReminder(after=given.after[0], placement=given.placement)
        case ReminderData():
            return ReminderPolicy(
                given.after, given.max_messages, given.max_tokens, given.suggest, given.placement
            )


def todo_of(data: TodoData) -> Todo:
    """The todo that `[~] text`, or an object, stands for. Raises `PlanError` for an object that is none."""
    if isinstance(data, str):
        return Todo(data[4:], _MARKS[data[:4]])
    return Todo.from_json(data)


# --- playing ----------------------------------------------------------------------------------------------


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
        if isinstance(event, Warned):
            self.warnings.append(event.text)

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

    async def append(self, session: str, seq: int, bodies: Sequence[bytes], *, time: float) -> None:
        records = [decode_record(body) for body in bodies]
        for record in records:
            self._check(record)
        await super().append(session, seq, bodies, time=time)
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
            return crash.after == "reply" and (not crash.call or crash.call in _ids(record))
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


# --- checking ---------------------------------------------------------------------------------------------


def check(scenario: Scenario, observed: Observed) -> list[str]:
    """Every difference between what the scenario expects and what was seen, in plain words; none is good.

    Whatever a scenario states, each call must have its one result, in call order and at once, and each
    request must extend the one before it and be followed by its reply.
    """
    expect = scenario.expect
    return [
        *_pairing(observed.messages),
        *_prefixes(observed),
        *_conversation(expect, observed),
        *_answers(expect, observed),
        *_reminders(expect, observed),
        *_plans(expect, observed),
        *_turns(expect, observed),
        *_told(expect, observed),
        *_figures(expect, observed),
    ]


def _pairing(messages: Sequence[Message]) -> Iterator[str]:
    ids = [call_id for message in messages if isinstance(message, Assistant) for call_id in _ids(message)]
    for call_id in sorted({call_id for call_id in ids if ids.count(call_id) > 1}):
        yield f"several calls have the id {call_id}"
    waiting: list[str] = []
    for position, message in enumerate(messages):
        if isinstance(message, ToolResult) and waiting and message.call_id == waiting[0]:
            waiting.pop(0)
        elif isinstance(message, ToolResult):
            wanted = waiting[0] if waiting else "no result"
            yield f"message {position}: a result for {message.call_id} where {wanted} was due"
        elif waiting:
            yield f"message {position}: {_shape(message)} where the result for {waiting[0]} was due"
            waiting = []
        if isinstance(message, Assistant):
            waiting = list(_ids(message))
    if waiting:
        yield f"the conversation ends without results for {', '.join(waiting)}"


def _prefixes(observed: Observed) -> Iterator[str]:
    last = Request("", (), ())
    for number, request in enumerate(observed.requests, 1):
        if number > 1 and (request.system, request.tools) != (last.system, last.tools):
            yield f"request {number}: its system text or tools are not those of the one before"
        sent = len(last.messages)
        if len(request.messages) <= sent or tuple(request.messages[:sent]) != tuple(last.messages):
            yield f"request {number}: it does not extend the one before"
        reply = observed.messages[len(request.messages) : len(request.messages) + 1]
        if reply and not isinstance(reply[0], (Assistant, User)):  # a user message, if no reply came
            yield f"request {number}: {_shape(reply[0])} follows it, and no reply"
        last = request
    if tuple(observed.messages[: len(last.messages)]) != tuple(last.messages):
        yield "the conversation does not extend the last request"


def _conversation(expect: ExpectData, observed: Observed) -> Iterator[str]:
    if expect.messages is None:
        return
    found = observed.messages
    if len(found) != len(expect.messages):
        shapes = ", ".join(_shape(message) for message in found)
        yield f"expected {len(expect.messages)} messages, found {len(found)}: {shapes}"
    for position, (wanted, message) in enumerate(zip(expect.messages, found, strict=False)):
        where = f"message {position}"
        if isinstance(wanted, str):
            shape = _shape(message)
            # `note` without its kind stands for a note of any kind
            if shape != wanted and not (wanted == "note" and isinstance(message, Note)):
                yield f"{where}: expected {wanted}, found {shape}"
        elif wanted is not None:
            yield from _message(where, wanted, message)


def _shape(message: Message) -> str:
    """`user`, `assistant c1 c2`, `result c1`, `note reminder`."""
    match message:
        case User():
            return "user"
        case Assistant():
            return " ".join(("assistant", *_ids(message)))
        case ToolResult(call_id=call_id):
            return f"result {call_id}"
        case Note(kind=kind):
            return f"note {kind}"


def _message(where: str, wanted: MessageData, message: Message) -> Iterator[str]:
    yield from _same(f"{where}: role", wanted.role, _shape(message).split()[0])
    yield from _words(where, wanted.text, _text(message))
    facts: dict[str, Any] = {}
    match message:
        case Assistant():
            facts = {"calls": _ids(message), "stop": message.stop}
        case ToolResult():
            facts = {"id": message.call_id, "outcome": message.outcome}
        case Note():
            facts = {"kind": _kind(message), "placement": message.placement}
        case User():
            pass
    for name in ("id", "outcome", "calls", "stop", "kind", "placement"):
        yield from _same(f"{where}: {name}", getattr(wanted, name), facts.get(name))


def _answers(expect: ExpectData, observed: Observed) -> Iterator[str]:
    results = {item.call_id: item for item in observed.messages if isinstance(item, ToolResult)}
    for call_id, wanted in expect.answers.items():
        where = f"answer to {call_id}"
        result = results.get(call_id)
        if result is None:
            yield f"{where}: there is none"
        elif isinstance(wanted, str):
            yield from _words(where, wanted, result.content)
            yield from _same(f"{where}: outcome", "ok", result.outcome)
        else:
            yield from _words(where, wanted.text, result.content)
            yield from _words(where, WordsData(wanted.contains, wanted.lacks), result.content)
            yield from _same(f"{where}: outcome", wanted.outcome, result.outcome)


def _reminders(expect: ExpectData, observed: Observed) -> Iterator[str]:
    if expect.reminders is None:
        return
    found = [(at, item) for at, item in enumerate(observed.messages) if isinstance(item, Note)]
    if len(found) != len(expect.reminders):
        kinds = ", ".join(_kind(note) for _, note in found) or "none"
        yield f"expected {len(expect.reminders)} reminders, found {len(found)}: {kinds}"
    for wanted, (at, note) in zip(expect.reminders, found, strict=False):
        if wanted is None:
            continue
        where = f"reminder at message {at}"
        before = observed.messages[at - 1] if at else note
        after = before.call_id if isinstance(before, ToolResult) else _shape(before).split()[0]
        yield from _same(f"{where}: kind", wanted.kind, _kind(note))
        yield from _same(f"{where}: after", wanted.after, after)
        yield from _same(f"{where}: placement", wanted.placement, note.placement)
        yield from _words(where, wanted.text, note.text)


def _kind(note: Note) -> str:
    kept: Any = (note.details or {}).get("plan")
    return str(cast("dict[str, Any]", kept).get("kind", note.kind)) if isinstance(kept, dict) else note.kind


def _plans(expect: ExpectData, observed: Observed) -> Iterator[str]:
    yield from _todos("the plan at the end", expect.plan, observed.plan)
    yield from _same("the revision at the end", expect.revision, observed.revision)
    yield from _same("dropped", expect.dropped, observed.dropped)
    if expect.plans is None:
        return
    yield from _same("rounds", len(expect.plans), len(observed.rounds))
    for number, (wanted, found) in enumerate(zip(expect.plans, observed.rounds, strict=False), 1):
        if wanted is not None:
            yield from _todos(f"the plan after round {number}", wanted.todos, found.plan)
            yield from _same(f"the revision after round {number}", wanted.revision, found.revision)


def _todos(where: str, wanted: tuple[TodoData, ...] | None, plan: Plan) -> Iterator[str]:
    if wanted is None:
        return
    for position, (data, todo) in enumerate(zip_longest(wanted, plan.todos)):
        if data is None or todo is None or not _is_todo(data, todo):
            yield f"{where}: todo {position}: expected {data!r}, found {todo!r}"


def _is_todo(data: TodoData, todo: Todo) -> bool:
    if isinstance(data, str):
        return (todo.content, todo.status) == (data[4:], _MARKS[data[:4]])
    return {name: getattr(todo, name, None) for name in data} == data


def _turns(expect: ExpectData, observed: Observed) -> Iterator[str]:
    requests = sum(turn.requests for turn in observed.turns)
    if not any(turn.reason == "crashed" for turn in observed.turns):
        yield from _same("requests of all turns", len(observed.requests), requests)
    yield from _same("requests", expect.requests, len(observed.requests))
    if expect.turns is None:
        return
    yield from _same("turns", len(expect.turns), len(observed.turns))
    for number, (wanted, found) in enumerate(zip(expect.turns, observed.turns, strict=False), 1):
        if wanted is None:
            continue
        for name in ("reason", "requests", "rounds", "exit_code"):
            yield from _same(f"turn {number}: {name}", getattr(wanted, name), getattr(found, name))
        yield from _words(f"turn {number}: text", wanted.text, found.text)
        yield from _words(f"turn {number}: error", wanted.error, found.error)


def _told(expect: ExpectData, observed: Observed) -> Iterator[str]:
    for told in expect.told:
        if not 0 < told.request <= len(observed.requests):
            yield f"request {told.request}: there is none"
            continue
        request = observed.requests[told.request - 1]
        text = "\n".join([request.system, *map(_text, request.messages)])
        yield from _words(f"request {told.request}", WordsData(told.contains, told.lacks), text)
    if expect.offers is not None:
        for request in observed.requests[:1]:
            yield from _same("offers", expect.offers, tuple(tool["name"] for tool in request.tools))


def _figures(expect: ExpectData, observed: Observed) -> Iterator[str]:
    system = observed.requests[0].system if observed.requests else ""
    yield from _same("messages with the system text", expect.thread, len(observed.messages) + bool(system))
    if expect.characters is not None:
        size = len(system) + sum(len(model_text(message)) for message in observed.messages)
        if not expect.characters[0] <= size <= expect.characters[1]:
            yield f"characters: expected {expect.characters}, found {size}"
    yield from _counter(expect, observed)
    for name, number in expect.stats.items():
        yield from _same(f"stats: {name}", number, observed.stats.get(name))
    changed = [item.call_id for item in observed.messages if isinstance(item, ToolResult) and item.changed]
    yield from _same("ran", expect.ran, observed.ran)
    yield from _same("changed", expect.changed, tuple(changed))
    yield from _same("asked", expect.asked, observed.asked)
    yield from _texts("refused edit", expect.refused_edits, observed.refused_edits)
    yield from _texts("warning", expect.warnings, observed.warnings)


def _counter(expect: ExpectData, observed: Observed) -> Iterator[str]:
    if expect.distance is not None:
        now = observed.counter[-1] if observed.counter else 0
        yield from _same("distance at the end", expect.distance.now, now)
        yield from _same("distance at most", expect.distance.max, observed.stats.get("max_messages"))
    if expect.counter is not None:
        yield from _same("counted messages", len(expect.counter), len(observed.counter))
        for position, (wanted, found) in enumerate(zip(expect.counter, observed.counter, strict=False)):
            yield from _same(f"distance after message {position}", wanted, found)


def _texts(what: str, wanted: tuple[Words, ...] | None, found: tuple[str, ...]) -> Iterator[str]:
    if wanted is None:
        return
    yield from _same(f"{what}s", len(wanted), len(found))
    for number, (words, text) in enumerate(zip(wanted, found, strict=False), 1):
        yield from _words(f"{what} {number}", words, text)


def _words(where: str, wanted: Words | None, found: str) -> Iterator[str]:
    match wanted:
        case None:
            return
        case str():
            yield from _same(f"{where}: text", wanted, found)
        case WordsData(contains=contains, lacks=lacks):
            for piece in contains:
                if piece not in found:
                    yield f"{where}: {piece!r} is missing in {found!r:.400}"
            for piece in lacks:
                if piece in found:
                    yield f"{where}: {piece!r} should not be in {found!r:.400}"


def _same(what: str, wanted: object, found: object) -> Iterator[str]:
    if wanted is not None and wanted != found:
        yield f"{what}: expected {wanted!r}, found {found!r}"


def _text(message: Message) -> str:
    return message.text if isinstance(message, Assistant) else model_text(message)


def _ids(reply: Assistant) -> tuple[str, ...]:
    return tuple(call.id for call in reply.calls)
