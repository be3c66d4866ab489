# pyright: strict
"""The format of scenarios, as strict structs, and how they are loaded. `docs/scenarios.md` describes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from itertools import count
from typing import Any, Literal, TypeAlias

import msgspec

from onplan.errors import ConfigError
from onplan.messages import (
    StopReason,
)
from onplan.plan.settings import Placement, Planning, ReminderPolicy, SeedReminder, Settings, settings
from onplan.plan.todo import STATUSES, Rules, Status, Todo

Need: TypeAlias = Literal[
    "approval",  # a person is asked before a call runs
    "compaction",  # the person has the conversation made shorter
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


class CompactData(_Data, frozen=True):
    """The person has the conversation made shorter. `summary`: what the model writes about it, nothing where
    it fails; `focus`: what they ask it to keep in mind."""

    summary: str = ""
    focus: str = ""


class CrashData(_Data, frozen=True):
    """The process dies once this is stored, and the session is opened again."""

    after: Literal["user", "reply", "started", "result"]
    call: str = ""


class TurnData(_Data, frozen=True):
    """`resume`: the session is closed and opened again before this turn; `compact`: the conversation is made
    shorter before it. `unstored`: a call whose result the log does not take, once."""

    user: str
    replies: tuple[ReplyData, ...] = ()
    approvals: dict[str, Literal["allow", "allow_tool", "deny", "nobody"] | DenialData] = {}
    interrupt: InterruptData | None = None
    edits: tuple[EditData, ...] = ()
    resume: bool = False
    compact: CompactData | None = None
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
        if text[:4] not in MARKS:
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
        "compaction": any(turn.compact is not None for turn in scenario.turns),
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


MARKS: Mapping[str, Status] = {"[ ] ": STATUSES[0], "[~] ": STATUSES[1], "[x] ": STATUSES[2]}
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
        return Todo(data[4:], MARKS[data[:4]])
    return Todo.from_json(data)
