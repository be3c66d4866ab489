"""What the player's page gets of a session, as values that JSON can hold; described in docs/player.md."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from onplan.messages import Outcome, StopReason, Usage
from onplan.plan.ledger import Action, Author

NODES = ("user", "model", "approval", "tools", "subagents", "harness")
"""Where a turn can be. `harness`: what onplan does of its own: reminders, compaction, begin and end."""

KINDS = (
    "",
    "user",  # what the person said
    "plan",  # the first plan
    "write",  # a later revision by the model
    "refused",  # a write that was refused
    "edit",  # a revision by a person
    "reminder",
    "note",  # another text of the harness for the model
    "approval",  # a person is asked, or has answered yes
    "denied",
    "error",  # a call that failed, or a turn that ended with an error
    "interrupted",
    "compaction",
    "prefix",  # requests begin differently from here
    "resumed",
    "end",  # of a turn, or of the session
)
"""What makes a step a key step; the empty one is none."""

NO_CALL = -1


class Facts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The session. Times are Unix seconds. `ended`: why the last turn ended; empty while one runs.
    `live`: the page follows it. `max_messages`, `max_tokens`: the bound of the distance, 0 where there is
    none. `prices`: the date of the table of prices. `masked`: what looks like a key is not in here."""

    id: str = ""
    title: str = ""
    cwd: str = ""
    model: str = ""
    dialect: str = ""
    created: float = 0.0
    updated: float = 0.0
    parent: str = ""
    ended: str = ""
    live: bool = False
    max_messages: int = 0
    max_tokens: int = 0
    prices: str = ""
    masked: bool = False
    onplan: str = ""


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of a message, in order. `call`: index into `Run.calls`, for the kind `call`."""

    kind: Literal["text", "thinking", "call"]
    text: str = ""
    call: int = NO_CALL


class Medium(msgspec.Struct, frozen=True):
    """An image or a PDF, without its data. `size`: bytes."""

    media_type: str
    size: int
    name: str


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message of the context window.

    `step`: the step that added it; `at`: milliseconds since the session began. `kind`: of a note,
    `reminder` say. `call`: what a result answers, index into `Run.calls`. `tokens`: the provider's count
    for a reply, else an estimate. `recites`: it carries every open todo. `diff`: what a tool changed in a
    file, for people; the model has not seen it. `made`: a compaction wrote it, it is no message of the
    log.
    """

    role: Literal["user", "assistant", "tool", "note"]
    parts: tuple[Part, ...]
    step: int
    at: int
    turn: int
    round: int
    tokens: int
    kind: str = ""
    call: int = NO_CALL
    outcome: Outcome = "ok"
    stop: StopReason = "end"
    model: str = ""
    usage: Usage | None = None
    recites: bool = False
    diff: str = ""
    media: tuple[Medium, ...] = ()
    made: bool = False


class CallRow(msgspec.Struct, frozen=True):
    """A call as the model sent it. `message`: index of the reply that made it. What the runtime filled in
    is `runtime` of the tool of that name."""

    id: str
    name: str
    arguments: Any
    message: int


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was decided about a call. `arguments`: what ran, where a hook changed it."""

    step: int
    call: int
    verdict: Literal["allow", "deny"]
    by: str
    reason: str = ""
    rule: str = ""
    arguments: Any = None


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person is asked about a call. It waits until a verdict on the call, or its result, is there."""

    step: int
    call: int
    preview: str = ""
    reason: str = ""


class PlanTodo(msgspec.Struct, frozen=True, omit_defaults=True):
    """`key` is the same number for the same todo in every revision, whatever its words or its place."""

    key: int
    content: str
    status: Literal["pending", "in_progress", "completed"]
    id: str = ""


class PlanRevision(msgspec.Struct, frozen=True, omit_defaults=True):
    """The plan from `step` on. `diff`: lists of contents by what happened to them, only those not empty:
    added, dropped, cleared, started, finished, reopened, paused; renamed has pairs (old, new)."""

    number: int
    step: int
    author: Author
    action: Action
    todos: tuple[PlanTodo, ...]
    diff: dict[str, Any]
    done: int = 0


class Phase(msgspec.Struct, frozen=True, omit_defaults=True):
    """The steps from `start` to `end` during which a todo was in progress; `end` is `None` while it is.
    `index`: its place in the list. `outcome`: what ended it; `open` while it lasts. A todo that was
    paused has a phase for each time."""

    index: int
    todo: int
    content: str
    start: int
    end: int | None = None
    outcome: Literal["open", "completed", "paused", "dropped"] = "open"


class Cost(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the replies cost that came while a todo was in progress. `index`: its place in the list,
    `step`: of the last of these replies. `content` is empty for replies while nothing was. `cost`:
    dollars, `None` where a model has no known price."""

    index: int
    content: str
    step: int
    requests: int
    usage: Usage
    cost: float | None


class RuntimeParam(msgspec.Struct, frozen=True):
    name: str
    type: str


class ToolFace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool's two faces: the schema that the model sees, and what only the runtime fills. `leaked`: the
    schema if the injection were taken away; `seen_size` and `leaked_size`: characters of both as JSON."""

    name: str
    description: str
    input_schema: dict[str, Any]
    leaked: dict[str, Any]
    seen_size: int
    leaked_size: int
    runtime: tuple[RuntimeParam, ...] = ()


class Prefix(msgspec.Struct, frozen=True, omit_defaults=True):
    """What requests begin with from `step` on: the system text, the model, the names of the tools.
    `tokens`: an estimate of system text and tool schemas."""

    step: int
    system: str
    tools: tuple[str, ...]
    model: str
    tokens: int
    reason: str = ""


class Window(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which messages are in the context window from `step` on: those of `base`, pairs (first, behind the
    last) of indexes into `Run.messages` in this order, then all from index `since` to the step's count.

    The other messages before `since` are out of it: summarised, or left out. `shortened`: what stands for
    the text of a result, by the message's index. `before`, `after`: tokens. `error`: why there is no
    summary.
    """

    step: int
    base: tuple[tuple[int, int], ...] = ()
    since: int = 0
    shortened: dict[str, str] = {}
    reason: str = ""
    focus: str = ""
    before: int = 0
    after: int = 0
    usage: Usage | None = None
    error: str = ""


class Steps(msgspec.Struct, frozen=True):
    """A column for each fact of a step; one step for each record of the log, so step `n` is record `n + 1`.
    Every value is as it stands after the step.

    `at`: milliseconds since the session began. `node`, `kind`: indexes into `NODES` and `KINDS`. `call`:
    the call that it is about, index into `Run.calls`, or -1. `messages`: how many of `Run.messages` there
    are. `revisions`: how many of `Run.revisions`; the last of them is the plan. `distance`: messages
    after the last recitation; `distance_tokens`: their tokens. `context`: tokens of the context window,
    system text and tools included: the provider's count of the last request and reply, and estimates
    since. `input`, `output`, `cache_read`, `cache_write`: tokens of all requests so far. `cost`: dollars
    so far, `None` from the first reply on whose model has no known price. `title`: what happened, in
    words.
    """

    at: tuple[int, ...] = ()
    node: tuple[int, ...] = ()
    kind: tuple[int, ...] = ()
    call: tuple[int, ...] = ()
    turn: tuple[int, ...] = ()
    round: tuple[int, ...] = ()
    messages: tuple[int, ...] = ()
    revisions: tuple[int, ...] = ()
    distance: tuple[int, ...] = ()
    distance_tokens: tuple[int, ...] = ()
    context: tuple[int, ...] = ()
    input: tuple[int, ...] = ()
    output: tuple[int, ...] = ()
    cache_read: tuple[int, ...] = ()
    cache_write: tuple[int, ...] = ()
    cost: tuple[float | None, ...] = ()
    title: tuple[str, ...] = ()


class Run(msgspec.Struct, frozen=True):
    """A session up to record `seq`, or what is new in it after record `after`.

    Of a piece (`after` > 0): `session` replaces the one before; of `phases` and `costs` those that
    changed, each for its `index`; `tools` is `None` where they are as before; everything else is
    appended.
    """

    seq: int
    session: Facts
    after: int = 0
    version: int = 1
    nodes: tuple[str, ...] = NODES
    kinds: tuple[str, ...] = KINDS
    steps: Steps = Steps()
    messages: tuple[Entry, ...] = ()
    calls: tuple[CallRow, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    asked: tuple[Asked, ...] = ()
    revisions: tuple[PlanRevision, ...] = ()
    phases: tuple[Phase, ...] = ()
    costs: tuple[Cost, ...] = ()
    windows: tuple[Window, ...] = ()
    prefixes: tuple[Prefix, ...] = ()
    tools: tuple[ToolFace, ...] | None = None
