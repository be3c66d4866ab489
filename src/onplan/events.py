"""What a run tells the outside: records, which the session log keeps, and live events, which it does not."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast

import msgspec

from onplan.messages import Assistant, Details, Message, Note, ToolResult, Usage, User

EndReason: TypeAlias = Literal[
    "done",  # a reply without calls, nothing open
    "open_todos",  # the reply ended the turn while todos were open
    "plan_loop",  # the same plan or the same refused plan over and over
    "call_loop",  # another call over and over with the same result
    "rounds",  # a cap was reached
    "tokens",
    "cost",
    "refusal",  # the model declined
    "length",  # the reply was cut by its length again and again
    "empty",  # the model answered nothing, again and again
    "model_error",
    "store_error",
    "interrupted",  # the person, or a signal
    "blocked",  # a hook did not let the message through, and nothing was sent or logged; or it ended the turn
]


# --- records: the session log -------------------------------------------------------------------


class SessionStarted(msgspec.Struct, frozen=True, tag="session", omit_defaults=True):
    """First record of every log. The prefix of every request (I2) and how the plan was set up."""

    id: str
    version: int
    cwd: str = ""
    model: str = ""
    system: str = ""
    tools: tuple[dict[str, Any], ...] = ()
    planning: dict[str, Any] = {}
    parent: str = ""


class PrefixChanged(msgspec.Struct, frozen=True, tag="prefix", omit_defaults=True):
    """From here on requests begin differently; the one announced exception to I2. `None`: as before."""

    reason: str
    system: str | None = None
    tools: tuple[dict[str, Any], ...] | None = None
    model: str | None = None
    planning: dict[str, Any] | None = None


class ToolStarted(msgspec.Struct, frozen=True, tag="started"):
    """Logged before the tool runs: tells *interrupted* from *not executed* after a crash (I1)."""

    call_id: str


class PlanEdited(msgspec.Struct, frozen=True, tag="edited"):
    """A revision of the plan by a person: an edit, an undo or a redo."""

    revision: int
    todos: tuple[dict[str, Any], ...]
    action: Literal["edit", "undo", "redo"] = "edit"


class Decided(msgspec.Struct, frozen=True, tag="decided", omit_defaults=True):
    """A verdict on a call: what was decided, by whom or what, and why.

    `rule`: the rule that decided, in words. `arguments`: what ran, where a hook changed it; else `None`.
    """

    call_id: str
    verdict: Literal["allow", "deny"]
    by: str
    reason: str = ""
    rule: str = ""
    arguments: Any = None


class ApprovalRequested(msgspec.Struct, frozen=True, tag="asked", omit_defaults=True):
    """A person is asked whether a call may run. `preview`: what they are shown; `reason`: what a guard, a
    hook or a rule has against it. Their answer is the call's `Decided`."""

    call_id: str
    preview: str = ""
    reason: str = ""


class Compacted(msgspec.Struct, frozen=True, tag="compacted", omit_defaults=True):
    """From here on a request holds `head`, the last `kept` messages of the one before it, and `tail`. The log
    keeps everything: the model's view is a fold (I6). Of the kept messages a plan that an earlier compaction
    put there, a `Note` of kind "plan", is left out: the one that counts is in `tail`.

    `shortened`: what stands in for the contents of kept tool results, by call id. `before`, `after`: tokens
    of the view. `focus`: what the person asked to keep in mind. `usage`: of the request for the summary.
    `error`: why there is no summary; the view is then only shortened.
    """

    reason: Literal["limit", "too_long", "asked"]
    kept: int
    head: tuple[Message, ...] = ()
    tail: tuple[Message, ...] = ()
    shortened: dict[str, str] = {}
    before: int = 0
    after: int = 0
    focus: str = ""
    model: str = ""
    usage: Usage = Usage()
    error: str = ""


class Resumed(msgspec.Struct, frozen=True, tag="resumed"):
    """The session was opened again. `repaired`: calls that got their missing result."""

    repaired: tuple[str, ...] = ()


class TurnEnded(msgspec.Struct, frozen=True, tag="turn_ended", omit_defaults=True):
    """Why a turn ended and what it took. `nobody`: calls denied because there was no one to ask."""

    reason: EndReason
    rounds: int = 0
    requests: int = 0
    usage: Usage = Usage()
    nobody: int = 0
    error: str = ""


class SessionEnded(msgspec.Struct, frozen=True, tag="session_ended"):
    reason: str = "closed"


Record: TypeAlias = (
    SessionStarted
    | PrefixChanged
    | User
    | Assistant
    | ToolResult
    | Note
    | ToolStarted
    | PlanEdited
    | Decided
    | ApprovalRequested
    | Compacted
    | Resumed
    | TurnEnded
    | SessionEnded
)

# --- live events: for whoever watches -------------------------------------------------------------


class TextDelta(msgspec.Struct, frozen=True, tag="text_delta"):
    text: str


class ThinkingDelta(msgspec.Struct, frozen=True, tag="thinking_delta"):
    text: str


class RequestStarted(msgspec.Struct, frozen=True, tag="request"):
    """A request goes to the model. `messages`: how many it holds, the system text not counted."""

    number: int
    messages: int


class ToolProgress(msgspec.Struct, frozen=True, tag="progress"):
    call_id: str
    text: str


class PlanChanged(msgspec.Struct, frozen=True, tag="plan_changed", omit_defaults=True):
    """The plan has a new revision. Sent after the write is in the log."""

    revision: int
    todos: tuple[dict[str, Any], ...]
    diff: Details
    author: Literal["model", "user"] = "model"


class Warned(msgspec.Struct, frozen=True, tag="warning"):
    """Something failed that does not end the run: a hook, a repair of the log."""

    text: str


Live: TypeAlias = TextDelta | ThinkingDelta | RequestStarted | ToolProgress | PlanChanged | Warned
Event: TypeAlias = Record | Live

RECORD_VERSION = 1
"""Version of the record format that `SessionStarted` carries. Readers keep reading all older ones."""

_DEEPEST = 100

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


def encode_record(record: Record) -> bytes:
    """JSON. What JSON cannot say is replaced, never refused: lone surrogates, a tool's own objects in
    `details`, nesting beyond any sense. So no model, tool or file name can make a log unwritable."""
    try:
        return _encoder.encode(record)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _encoder.encode(_plain(record, _DEEPEST))


def _plain(value: Any, depth: int) -> Any:
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return value.encode("utf-8", "replace").decode()
        case _ if depth == 0:
            return "…"
        case msgspec.Struct():
            config = value.__struct_config__
            tag = {config.tag_field: config.tag} if config.tag_field else {}
            fields = {name: _plain(getattr(value, name), depth - 1) for name in value.__struct_fields__}
            return {**tag, **fields}
        case dict():
            items = cast("dict[Any, Any]", value).items()
            return {_plain(str(key), 1): _plain(item, depth - 1) for key, item in items}
        case list() | tuple() | set() | frozenset():
            return [_plain(item, depth - 1) for item in cast("list[Any]", value)]
        case _:
            return _plain(repr(value), 1)


def decode_record(body: bytes) -> Record:
    """Raises `msgspec.DecodeError` (or its `ValidationError`) for what is not a record."""
    return _decoder.decode(body)


def messages_of(records: list[Record] | tuple[Record, ...]) -> list[Message]:
    return [record for record in records if isinstance(record, (User, Assistant, ToolResult, Note))]
