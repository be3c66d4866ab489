"""Finds what was said in sessions, the newest first; reads them without claiming any."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

import msgspec

from onplan.errors import SessionNotFound
from onplan.events import PlanEdited, Record, decode_record
from onplan.messages import Assistant, Note, ToolResult, User, model_text
from onplan.protocols import Row, SessionInfo, SessionStore

MOST_PLACES = 3
"""Places that are told of one session."""

_AROUND = 60


class Place(msgspec.Struct, frozen=True):
    """`record`: its number; `by`: `user`, `assistant`, `note`, the tool whose result it is, or `plan` for
    what a person wrote into it."""

    record: int
    by: str
    text: str


class Hit(msgspec.Struct, frozen=True):
    """A session in which the text was said, or whose title or directory holds it; then without a place."""

    info: SessionInfo
    places: tuple[Place, ...]


async def searched(store: SessionStore, text: str) -> AsyncIterator[Hit]:
    """The sessions that hold `text`, in any case and whatever the white space. Damaged records are passed
    over. Raises `StoreError`."""
    needle = _flat(text)
    for info in await store.sessions(limit=1_000_000):
        try:
            places = _places(await store.load(info.id), needle)
        except SessionNotFound:
            continue  # deleted meanwhile
        first = tuple(place for place, _ in zip(places, range(MOST_PLACES), strict=False))
        if first or needle in _flat(f"{info.title}\n{info.cwd}"):
            yield Hit(info, first)


def _places(rows: Sequence[Row], needle: str) -> Iterator[Place]:
    longest = max(needle.split(), key=len)
    # Most rows are passed over without being decoded: of a plain word JSON changes nothing.
    plain = longest.encode() if longest.isascii() and longest.isalnum() else b""
    for row in rows:
        if plain and plain not in row.body.lower():
            continue
        try:
            record = decode_record(row.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        by, text = _said(record)
        said = _flat(text)
        at = said.find(needle)
        if at >= 0:
            yield Place(row.seq, by, _excerpt(text, said, at, len(needle)))


def _said(record: Record) -> tuple[str, str]:
    """Who said something in a record, and what; nothing for records in which nothing is said."""
    match record:
        case User():
            return "user", model_text(record)
        case Assistant():
            return "assistant", model_text(record)
        case ToolResult(name=name):
            return name, model_text(record)
        case Note():
            return "note", model_text(record)
        case PlanEdited(todos=todos):
            return "plan", "; ".join(str(todo.get("content", "")) for todo in todos)
        case _:
            return "", ""


def _excerpt(text: str, said: str, at: int, length: int) -> str:
    """The words around the place, in their own case where that did not change their length."""
    own = " ".join(text.split())
    shown = own if len(own) == len(said) else said
    start, end = max(at - _AROUND, 0), at + length + _AROUND
    return f"{'…' if start else ''}{shown[start:end]}{'…' if end < len(shown) else ''}"


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())
