"""A model that answers from a script: for tests, benchmarks and runs without a network."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from onplan.errors import ConfigError, ModelError
from onplan.messages import Assistant, Call, Part, StopReason, Text, Thinking, Usage
from onplan.protocols import Delta, Request


class Cut(msgspec.Struct, frozen=True):
    """A reply whose stream breaks: `text` arrives, then `ModelError(error)` is raised."""

    text: str
    error: str = "the stream was cut"


Reply: TypeAlias = Assistant | str | Part | Sequence[Part] | Cut | BaseException
"""A whole reply; its text; one part or several; a stream that breaks; or an exception that is raised."""


class ScriptedModel:
    """A `Model` that gives the replies of a script, or what a function makes of each request.

    With a list, the n-th request gets the n-th reply, and one request too many raises `ModelError`.
    A reply with calls stops with "tool_calls" unless it says another reason than "end". `requests`
    holds a snapshot of every request so far; with `record=False` it stays empty, which keeps the memory
    of a long benchmark flat.
    """

    def __init__(
        self,
        replies: Iterable[Reply] | Callable[[Request], Reply],
        name: str = "scripted",
        *,
        record: bool = True,
    ) -> None:
        self._name = name
        self._record = record
        self._reply = replies if callable(replies) else _one_by_one(tuple(replies))
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        if self._record:
            self.requests.append(Request(request.system, request.tools, tuple(request.messages)))
        # A stream that never suspends could not be cancelled.
        await asyncio.sleep(0)
        match self._reply(request):
            case BaseException() as error:
                raise error
            case Cut(text=text, error=error):
                for delta in _deltas(Text(text)):
                    yield delta
                raise ModelError(error)
            case reply:
                whole = _whole(reply, self._name)
                for part in whole.parts:
                    for delta in _deltas(part):
                        yield delta
                yield whole


def _one_by_one(replies: tuple[Reply, ...]) -> Callable[[Request], Reply]:
    left = iter(replies)

    def reply(request: Request) -> Reply:
        for item in left:
            return item
        raise ModelError(
            f"the script has no more replies ({len(replies)} were given): "
            "add one for each request of the conversation"
        )

    return reply


def _whole(reply: Assistant | str | Part | Sequence[Part], name: str) -> Assistant:
    match reply:
        case Assistant():
            whole = reply
        case str():
            whole = Assistant((Text(reply),) if reply else (), model=name)
        case Text() | Thinking() | Call():
            whole = Assistant((reply,), model=name)
        case parts:
            whole = Assistant(tuple(parts), model=name)
    if whole.calls and whole.stop == "end":
        return msgspec.structs.replace(whole, stop="tool_calls")
    return whole


def _deltas(part: Part) -> Iterator[Delta]:
    match part:
        case Text(text=text):
            return (Delta("text", word) for word in _words(text))
        case Thinking(text=text):
            return (Delta("thinking", word) for word in _words(text))
        case Call():
            return iter(())


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s?|\s+", text)


# --- script files -----------------------------------------------------------------------------------


class _CallEntry(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] | str = {}
    id: str = ""


class _UsageEntry(msgspec.Struct, forbid_unknown_fields=True):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0


class _Entry(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    text: str = ""
    calls: list[_CallEntry] = []
    stop: StopReason | None = None
    usage: _UsageEntry | None = None
    error: str | None = None
    cut: bool = False


def load_script(path: str | Path) -> ScriptedModel:
    """The model of a script file: a JSON list of replies, as `docs/script-format.md` describes it.

    Raises `ConfigError`, one line that names the file and the entry (counted from 1), for any fault.
    """
    entries = _read(Path(path))
    named = {call.id for entry in entries for call in entry.calls}
    fresh = (made for number in count(1) if (made := f"call_{number}") not in named)
    return ScriptedModel([_reply_of(entry, fresh) for entry in entries])


def _read(path: Path) -> list[_Entry]:
    try:
        found: Any = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"the script {path} cannot be read: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"the script {path} is not valid JSON: {error}") from None
    if not isinstance(found, list) or not found:
        raise ConfigError(f"the script {path} must be a JSON list with at least one reply")
    return [
        _entry(item, f"the script {path}, entry {number}")
        for number, item in enumerate(cast("list[Any]", found), 1)
    ]


def _entry(item: Any, where: str) -> _Entry:
    if isinstance(item, str):
        return _Entry(text=item)
    try:
        entry = msgspec.convert(item, _Entry)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}") from None
    if any(not call.name for call in entry.calls):
        raise ConfigError(f"{where}: a call needs the name of a tool")
    # An error or a cut stream has no whole reply, so whatever else the entry says would be lost.
    if entry.error is not None and set(item) != {"error"}:
        raise ConfigError(f"{where}: `error` stands alone; give the reply an entry of its own")
    if entry.cut and not set(item) <= {"cut", "text"}:
        raise ConfigError(f"{where}: a `cut` reply has only `text`; what else it says would not arrive")
    return entry


def _reply_of(entry: _Entry, fresh: Iterator[str]) -> Reply:
    if entry.error is not None:
        return ModelError(entry.error)
    if entry.cut:
        return Cut(entry.text)
    calls = tuple(Call(call.id or next(fresh), call.name, call.arguments) for call in entry.calls)
    texts = (Text(entry.text),) if entry.text else ()
    usage = Usage(**msgspec.structs.asdict(entry.usage)) if entry.usage else Usage()
    stop: StopReason = entry.stop or ("tool_calls" if calls else "end")
    return Assistant((*texts, *calls), stop=stop, usage=usage, model="scripted")
