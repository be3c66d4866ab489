"""The messages of a session as the page shows them: entries, calls, and which of them a request holds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, cast

import msgspec

from onplan.events import Compacted, PrefixChanged, SessionStarted
from onplan.messages import (
    Assistant,
    Call,
    Message,
    Note,
    Text,
    Thinking,
    ToolResult,
    Usage,
    User,
    estimate,
)
from onplan.messages import Part as SentPart
from onplan.tokens import estimate_tokens
from onplan.web.run import NO_CALL, CallRow, Entry, Medium, Part, Prefix, Window

_NOTHING = Usage()


class When:
    """Where in the run a message came."""

    def __init__(self) -> None:
        self.step = self.at = self.turn = self.round = 0


class Conversation:
    """A fold over messages, compactions and what requests begin with. `context`: tokens of the window."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.calls: list[CallRow] = []
        self.windows: list[Window] = [Window(0)]
        self.prefixes: list[Prefix] = []
        self.tools: tuple[dict[str, Any], ...] = ()
        self.context = 0
        self._sent: list[Call] = []
        self._by_id: dict[str, int] = {}

    def call(self, number: int) -> Call | None:
        return None if number == NO_CALL else self._sent[number]

    def call_of(self, call_id: str) -> int:
        """The number of the newest call of this id."""
        return self._by_id.get(call_id, NO_CALL)

    def calls_after(self, entries: int) -> list[CallRow]:
        """The calls in entries from this one on."""
        return self.calls[bisect_left(self.calls, entries, key=attrgetter("message")) :]

    def begin(self, started: SessionStarted | PrefixChanged, step: int) -> None:
        """What requests begin with from now on."""
        last = self.prefixes[-1] if self.prefixes else Prefix(step, "", (), "", 0)
        self.tools = self.tools if started.tools is None else started.tools
        system = last.system if started.system is None else started.system
        tokens = estimate_tokens(system) + estimate_tokens(msgspec.json.encode(self.tools).decode())
        names = tuple(str(tool.get("name", "")) for tool in self.tools)
        reason = started.reason if isinstance(started, PrefixChanged) else ""
        model = last.model if started.model is None else started.model
        self.prefixes.append(Prefix(step, system, names, model, tokens, reason))
        self.context += tokens - last.tokens

    def add(self, message: Message, when: When, *, recites: bool = False) -> None:
        entry = self._entry(message, when, recites=recites)
        self.entries.append(entry)
        usage = message.usage if isinstance(message, Assistant) else _NOTHING
        asked = usage.input + usage.cache_read + usage.cache_write
        self.context = asked + usage.output if asked else self.context + entry.tokens

    def compact(self, by: Compacted, when: When) -> None:
        """The window holds what `by` says; what it wrote becomes entries of their own."""
        old, count = self.windows[-1], len(self.entries)
        window = [n for first, end in old.base for n in range(first, end)]
        window += range(old.since, count)
        kept = [n for n in window[len(window) - by.kept :] if not self._is_plan(n)] if by.kept else []
        head, tail = self._made(by.head, when), self._made(by.tail, when)
        shortened = old.shortened | self._shortened(kept, by.shortened)
        shortened = {name: text for name in map(str, kept) if (text := shortened.get(name)) is not None}
        base = _ranges([*head, *kept, *tail])
        usage = by.usage if by.usage.total else None
        self.windows.append(
            Window(
                when.step,
                base,
                len(self.entries),
                shortened,
                by.reason,
                by.focus,
                by.before,
                by.after,
                usage,
                by.error,
            )
        )
        self.context = by.after or self._estimated(base, shortened)

    def _made(self, messages: Sequence[Message], when: When) -> range:
        first = len(self.entries)
        for message in messages:
            self.entries.append(self._entry(message, when, recites=_recites(message), made=True))
        return range(first, len(self.entries))

    def _is_plan(self, number: int) -> bool:
        """Whether an earlier compaction put the plan there, which leaves with the next."""
        return self.entries[number].role == "note" and self.entries[number].kind == "plan"

    def _shortened(self, numbers: Sequence[int], by_id: Mapping[str, str]) -> dict[str, str]:
        """What stands in for these entries, by their numbers as JSON keys are."""
        calls = {
            number: self.entries[number].call for number in numbers if self.entries[number].role == "tool"
        }
        ids = {number: self.calls[call].id for number, call in calls.items() if call != NO_CALL}
        return {str(number): by_id[call_id] for number, call_id in ids.items() if call_id in by_id}

    def _estimated(self, base: Sequence[tuple[int, int]], shortened: Mapping[str, str]) -> int:
        """Tokens of a request with these messages, where the compaction does not say."""

        def size(number: int) -> int:
            text = shortened.get(str(number))
            return self.entries[number].tokens if text is None else estimate_tokens(text)

        prefix = self.prefixes[-1].tokens if self.prefixes else 0
        return prefix + sum(size(number) for first, end in base for number in range(first, end))

    # --- entries ---

    def _entry(self, message: Message, when: When, *, recites: bool, made: bool = False) -> Entry:
        match message:
            case User(text=text):
                return _entry("user", (Part("text", text),), message, when, made=made)
            case Note(text=text, kind=kind):
                parts = (Part("text", text),)
                return _entry("note", parts, message, when, kind=kind, recites=recites, made=made)
            case Assistant(parts=parts, stop=stop, usage=usage, model=model):
                return _entry(
                    "assistant",
                    tuple([self._part(part) for part in parts]),
                    message,
                    when,
                    tokens=usage.output or estimate(message),
                    stop=stop,
                    model=model,
                    usage=usage if usage.total else None,
                    made=made,
                )
            case ToolResult(content=content, outcome=outcome, details=details, media=media):
                return _entry(
                    "tool",
                    (Part("text", content),),
                    message,
                    when,
                    call=self.call_of(message.call_id),
                    outcome=outcome,
                    recites=recites,
                    diff=_diff(details),
                    media=tuple([Medium(item.media_type, item.size, item.name) for item in media]),
                    made=made,
                )

    def _part(self, part: SentPart) -> Part:
        match part:
            case Text(text=text):
                return Part("text", text)
            case Thinking(text=text):
                return Part("thinking", text)
            case Call():
                number = len(self.calls)
                self.calls.append(CallRow(part.id, part.name, part.arguments, len(self.entries)))
                self._sent.append(part)
                self._by_id[part.id] = number
                return Part("call", call=number)


def _entry(
    role: Literal["user", "assistant", "tool", "note"],
    parts: tuple[Part, ...],
    message: Message,
    when: When,
    *,
    tokens: int = -1,
    **more: Any,
) -> Entry:
    size = estimate(message) if tokens < 0 else tokens
    return Entry(role, parts, when.step, when.at, when.turn, when.round, size, **more)


def _diff(details: Mapping[str, Any] | None) -> str:
    """The lines of a file's change, as `write_file` and `edit_file` keep them."""
    found = (details or {}).get("diff")
    return "\n".join(map(str, cast("list[Any]", found))) if isinstance(found, list) else ""


def _recites(message: Message) -> bool:
    """Whether a message that a compaction wrote says that it carries the plan."""
    details = message.details if isinstance(message, Note) else None
    plan = (details or {}).get("plan")
    if not isinstance(plan, dict):
        return False
    told = cast("dict[str, Any]", plan)
    return bool(told.get("recites") or told.get("shows"))


def _ranges(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Runs of neighbours as pairs (first, behind the last)."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return tuple(found)
