"""What the translations into every provider's format share; knows no provider and no SDK."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, Protocol, TypeAlias, cast

import msgspec

from onplan.events import encode_record
from onplan.messages import Assistant, Call, Media, Message, ToolResult
from onplan.models.names import MediaKind, Takes
from onplan.plan.text import one_line

Wire: TypeAlias = dict[str, Any]
"""A message or item as JSON objects have it. Once made it is never changed, only replaced."""

NO_TEXT = "(empty message)"
NO_OUTPUT = "(no output)"
NO_REPLY = "(no reply)"
"""Stand where a provider refuses an empty text, or where roles would not alternate."""

MAX_MEDIA = 20
MAX_MEDIA_DATA = 20_000_000
"""Images and PDFs of one conversation that are sent, and characters of their data. Each is sent again with
every request: Anthropic takes 32 MB, and of more than 20 images none that is larger than 2,000 pixels."""

_KINDS: Mapping[str, MediaKind] = {
    "image/png": "image",
    "image/jpeg": "image",
    "image/gif": "image",
    "image/webp": "image",
    "application/pdf": "pdf",
}
_LONGEST_NAME = 200
_LONGEST_ECHO = 2_000
_CONVERSATIONS = 4
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


# --- values -----------------------------------------------------------------------------------------


def legal_text(text: str) -> str:
    """The text as UTF-8 can say it: halves of a pair are joined, lone surrogates become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def spoken(text: str, otherwise: str) -> str:
    """The text, legal; `otherwise` where there is nothing but space: providers refuse blank texts."""
    return legal_text(text) if text.strip() else otherwise


def legal_name(name: str) -> str:
    """A tool's name as every provider takes it: a model may have called what no provider would allow."""
    return _ILLEGAL.sub("_", name)[:64] or "unknown"


def arguments_object(arguments: Any) -> dict[str, Any]:
    """The arguments of a call as an object, which providers demand. What is none is shown to the model
    as `invalid_arguments`, its first 2,000 characters: the error result beside it says what was wrong."""
    match arguments:
        case dict():
            return _plain(cast("dict[str, Any]", arguments))
        case None:
            return {}
        case str() if not arguments.strip():
            return {}
        case str():
            found = _decoded(arguments)
            return _plain(cast("dict[str, Any]", found)) if isinstance(found, dict) else _echo(arguments)
        case _:
            return _echo(msgspec.json.encode(_plain({"sent": arguments})["sent"]).decode())


def arguments_json(arguments: Any) -> str:
    """The same as JSON text."""
    return msgspec.json.encode(arguments_object(arguments)).decode()


def received_arguments(text: str) -> Any:
    """What a model sent as the arguments of a call: an object if it is one, else the text as it came."""
    found = _decoded(text)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else text


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _echo(sent: str) -> dict[str, Any]:
    return {"invalid_arguments": legal_text(sent[:_LONGEST_ECHO])}


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """What JSON can say of a value, whatever a script or a tool put into it: no NaN, no lone surrogate."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.DecodeError):
        record = msgspec.json.decode(encode_record(Assistant((Call("", "", value),))))
        return record["parts"][0]["arguments"]


# --- images and PDFs --------------------------------------------------------------------------------


class Shown:
    """Tells which media of a conversation are sent, and what is said in place of the others.

    A provider that refuses one of them refuses every later request too, as none is ever taken back. What
    was decided of one does not change with what comes after it.
    """

    def __init__(self, takes: Takes) -> None:
        self._takes = takes
        self._count = 0
        self._data = 0

    def of(self, result: ToolResult) -> tuple[str, list[Media]]:
        """The text of a result, never blank, with a remark where something is not shown; and what is."""
        shown: list[Media] = []
        remarks: dict[str, None] = {}
        for medium in result.media:
            if objection := self._objection(medium, result):
                remarks[f"(not shown: {objection})"] = None
                continue
            self._count += 1
            self._data += len(medium.data)
            shown.append(medium)
        return "\n".join((spoken(result.content, NO_OUTPUT), *remarks)), shown

    def _objection(self, medium: Media, result: ToolResult) -> str:
        kind = _KINDS.get(medium.media_type)
        if result.outcome != "ok":
            return "the call did not succeed"  # Anthropic refuses media in an error
        if kind is None:
            return "only PNG, JPEG, GIF, WebP and PDF can be"
        if kind not in self._takes:
            return f"this model takes no {'images' if kind == 'image' else 'PDFs'}"
        if not _is_base64(medium.data):
            return "its data is damaged"
        if self._count >= MAX_MEDIA or self._data + len(medium.data) > MAX_MEDIA_DATA:
            return "the session holds as many images and PDFs as can be sent; a new one can show more"
        return ""


def is_image(medium: Media) -> bool:
    return _KINDS.get(medium.media_type) == "image"


def data_url(medium: Media) -> str:
    return f"data:{medium.media_type};base64,{medium.data}"


def media_name(medium: Media) -> str:
    """What to call it: one line that is not blank."""
    name = one_line(legal_text(medium.name))[:_LONGEST_NAME]
    return spoken(name, "image" if is_image(medium) else "document.pdf")


def _is_base64(data: str) -> bool:
    try:
        return len(binascii.a2b_base64(data, strict_mode=True)) > 0
    except ValueError:
        return False


# --- ids --------------------------------------------------------------------------------------------


class CallIds:
    """Gives every call of a conversation an id that is legal and its own.

    Some servers start again with `call_0` in every reply, and a session may change its provider.
    """

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}
        self._open: dict[str, str] = {}

    def of_reply(self, calls: Sequence[Call]) -> list[str]:
        """The ids of the calls of one reply; results that come next answer these."""
        fresh = [self._fresh(call.id) for call in calls]
        self._open = {call.id: own for call, own in zip(calls, fresh, strict=True)}
        return fresh

    def of_result(self, call_id: str) -> str:
        return self._open.get(call_id) or _legal_id(call_id)

    def _fresh(self, call_id: str) -> str:
        legal = _legal_id(call_id)
        uses = self._uses[legal] = self._uses.get(legal, 0) + 1
        # The copy is counted too: another call may really have that id.
        return legal if uses == 1 else self._fresh(f"{legal[:52]}_{uses}")


def _legal_id(call_id: str) -> str:
    return _ILLEGAL.sub("_", call_id)[:64] or "call"


# --- conversations ----------------------------------------------------------------------------------


class Fold(Protocol):
    """Translates one message after the other. `sent` is what they came to; its items are never changed,
    though the last may be replaced by a longer one."""

    @property
    def sent(self) -> list[Wire]: ...

    def add(self, message: Message) -> None: ...


class Translation:
    """Translates conversations; what was translated for the last request is not done again.

    A conversation is known by the identity of its messages, which are values. The last four are kept:
    subagents take turns with their parent.
    """

    def __init__(self, start: Callable[[], Fold]) -> None:
        self._start = start
        self._known: list[tuple[list[Message], Fold]] = []

    def __call__(self, messages: Sequence[Message]) -> list[Wire]:
        done, fold = self._take(messages)
        for message in messages[len(done) :]:
            fold.add(message)
            done.append(message)
        self._known = [(done, fold), *self._known][:_CONVERSATIONS]
        return list(fold.sent)

    def _take(self, messages: Sequence[Message]) -> tuple[list[Message], Fold]:
        """The longest known beginning of the conversation, taken out of what is known."""
        begun = [known for known in self._known if _begins(messages, known[0])]
        if not begun:
            return [], self._start()
        longest = max(begun, key=lambda known: len(known[0]))
        self._known.remove(longest)
        return longest


def _begins(messages: Sequence[Message], beginning: Sequence[Message]) -> bool:
    return 0 < len(beginning) <= len(messages) and all(map(is_, beginning, messages))


def translate(fold: Fold, messages: Sequence[Message]) -> list[Wire]:
    """One conversation from its beginning."""
    for message in messages:
        fold.add(message)
    return fold.sent
