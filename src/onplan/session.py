"""Sessions: an append-only log with one writer; messages, repair and request prefix are folds over it."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, TypeAlias, assert_never

import msgspec

from onplan.cancellation import unbroken
from onplan.errors import SessionBusy, StoreError
from onplan.events import (
    ApprovalRequested,
    Compacted,
    Decided,
    PlanEdited,
    PrefixChanged,
    Record,
    Resumed,
    SessionEnded,
    SessionStarted,
    ToolStarted,
    TurnEnded,
    decode_record,
    encode_record,
)
from onplan.execution import interrupted_result
from onplan.messages import Assistant, Call, Message, Note, ToolResult, User
from onplan.protocols import Fact, Holder, Row, SessionStore

Fold: TypeAlias = Callable[[Record], None]
"""Takes each record once, in order; must not raise."""

Clock: TypeAlias = Callable[[], float]
"""Unix seconds."""


class Stamped(msgspec.Struct, frozen=True):
    """A record with the time at which it was logged, in Unix seconds."""

    record: Record
    time: float


class Session:
    """A session that is open for writing. Made by `create` or `resume`, let go by `close`.

    `append` makes records durable first, then hands them to every fold: what a fold knows is in the log,
    as it is in the log. No message and no end of a turn gets between a reply's calls and their results:
    results that are missing, because the log failed meanwhile, are written first (I1).
    """

    def __init__(self, store: SessionStore, session_id: str, holder: Holder, clock: Clock) -> None:
        self.id = session_id
        self._store = store
        self._holder = holder
        self._clock = clock
        self._next = 1
        self._view = _View()
        self._unanswered = _Unanswered()
        self._folds: list[Fold] = [self._view.fold, self._unanswered.fold]
        self._writing = asyncio.Lock()
        self._closed = False

    @classmethod
    async def create(
        cls,
        store: SessionStore,
        holder: Holder,
        started: SessionStarted,
        *,
        folds: Sequence[Fold] = (),
        clock: Clock = time.time,
    ) -> Session:
        """A new session with `started` as its first record. Raises `StoreError`."""
        session = cls(store, started.id, holder, clock)
        session._folds += folds
        await store.create(started.id, cwd=started.cwd, time=clock())
        await store.claim(started.id, holder)
        try:
            await session.append(started)
        except BaseException:
            await store.release(started.id, holder)
            raise
        return session

    @classmethod
    async def resume(
        cls,
        store: SessionStore,
        holder: Holder,
        session_id: str,
        *,
        folds: Sequence[Fold] = (),
        clock: Clock = time.time,
    ) -> Session:
        """Open a session that exists. Calls that a crash left without result get one, once.

        Raises `SessionNotFound`, `SessionBusy` (somebody else holds it), `StoreError`.
        """
        other = await store.claim(session_id, holder)
        if other is not None:
            raise SessionBusy(
                f"session {session_id} is open in another process (pid {other.pid} on {other.host}); "
                "close it there, or start a new session"
            )
        session = cls(store, session_id, holder, clock)
        session._folds += folds
        try:
            with _without_collection():
                records = [stamped.record for stamped in read(await store.load(session_id))]
                for record in records:
                    session._fold(record)
            session._next = len(records) + 1
            missing = session._unanswered.results("when the process ended")
            await session.append(*missing, Resumed(tuple(result.call_id for result in missing)))
        except BaseException:
            await store.release(session_id, holder)
            raise
        return session

    @property
    def messages(self) -> Sequence[Message]:
        return self._view.messages

    @property
    def system(self) -> str:
        return self._view.system

    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        return self._view.tools

    @property
    def model(self) -> str:
        """The name of the model that the session was last told of."""
        return self._view.model

    @property
    def call_ids(self) -> Set[str]:
        """The ids of all calls so far; a view."""
        return self._view.call_ids

    @property
    def first_words(self) -> str:
        """What the person said first, whether or not it is still sent."""
        return self._view.first_words

    @property
    def started(self) -> SessionStarted:
        """The session's first record."""
        if self._view.started is None:
            raise StoreError(f"session {self.id} has no beginning: its first record is missing")
        return self._view.started

    async def append(self, *records: Record) -> None:
        """Make records durable, all or none, then fold them. Raises `StoreError`, `SessionBusy`.

        A cancellation never stops it half way: it is raised where the caller awaits next.
        """
        if not records:
            return
        async with self._writing:
            if self._store.in_place:  # it never waits, so nothing can break it off: no task of its own
                await self._append(records)
            else:
                await unbroken(self._append(records))

    async def _append(self, records: Sequence[Record]) -> None:
        if self._closed:
            raise StoreError(f"session {self.id} is closed: resume it to go on")
        if isinstance(records[0], (User, Assistant, Note, TurnEnded, SessionEnded)):
            records = (*self._unanswered.results("because the session log failed"), *records)
        bodies = [encode_record(record) for record in records]
        try:
            kept = [decode_record(body) for body in bodies]
        except msgspec.DecodeError as error:
            raise StoreError(f"not a record of a session: {error}") from None
        await self._store.append(self.id, self._next, bodies, time=self._clock())
        self._next += len(kept)
        for record in kept:
            self._fold(record)

    async def settle(self) -> None:
        """Write the results that calls lack because the log failed meanwhile (I1). Raises `StoreError`."""
        await self.append(*self._unanswered.results("because the session log failed"))

    async def describe(self, **facts: Fact) -> None:
        """Set facts of the session's line in the list: title, done, total, ended, cost."""
        await self._store.describe(self.id, facts)

    async def take_requests(self) -> list[InboxRequest]:
        """What others asked of this session since the last time. Requests that cannot be read are dropped."""
        requests: list[InboxRequest] = []
        for body in await self._store.take_requests(self.id):
            try:
                requests.append(msgspec.json.decode(body, type=InboxRequest))
            except msgspec.DecodeError:
                continue
        return requests

    async def close(self, reason: str = "closed") -> None:
        """Log the end and let go. A second call does nothing."""
        if self._closed:
            return
        try:
            await self.append(SessionEnded(reason))
        finally:
            await self.release()

    async def release(self) -> None:
        """Let go without a word in the log."""
        self._closed = True
        await self._store.release(self.id, self._holder)

    def _fold(self, record: Record) -> None:
        for fold in self._folds:
            fold(record)


class _View:
    """What the next request is made of."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.call_ids: set[str] = set()
        self.system = ""
        self.model = ""
        self.tools: tuple[dict[str, Any], ...] = ()
        self.started: SessionStarted | None = None
        self.first_words = ""

    def fold(self, record: Record) -> None:
        if isinstance(record, Assistant):
            self.call_ids.update(call.id for call in record.calls)
        elif isinstance(record, User):
            self.first_words = self.first_words or record.text
        match record:
            case User() | Assistant() | ToolResult() | Note():
                self.messages.append(record)
            case SessionStarted(system=system, tools=tools, model=model):
                self.started, self.system, self.tools, self.model = record, system, tools, model
            case PrefixChanged(system=system, tools=tools, model=model):
                self.system = self.system if system is None else system
                self.tools = self.tools if tools is None else tools
                self.model = self.model if model is None else model
            case Compacted():
                self.messages[:] = compacted(self.messages, record)
            case ToolStarted() | PlanEdited() | Decided() | ApprovalRequested() | Resumed():
                pass
            case TurnEnded() | SessionEnded():
                pass
            case _:
                assert_never(record)


def compacted(messages: Sequence[Message], by: Compacted) -> list[Message]:
    """The messages of the next request after a compaction of these."""
    kept = messages[max(0, len(messages) - by.kept) :] if by.kept else ()
    stays = (_shortened(message, by.shortened) for message in kept if not is_plan_block(message))
    return [*by.head, *stays, *by.tail]


def is_plan_block(message: Message) -> bool:
    """Whether a compaction put the plan there: of these there is never more than one, the newest."""
    return isinstance(message, Note) and message.kind == "plan"


def _shortened(message: Message, shortened: Mapping[str, str]) -> Message:
    if not isinstance(message, ToolResult) or message.call_id not in shortened:
        return message
    return msgspec.structs.replace(message, content=shortened[message.call_id], media=())


# --- forks ------------------------------------------------------------------------------------------


async def fork(
    store: SessionStore, session_id: str, at: int | None = None, *, clock: Clock = time.time
) -> str:
    """Begin a new session with the log of this one, up to record `at` or whole; answers its id.

    Messages, plan, ledger and counters are the same up to there, and so are the bytes of a request (I2).
    Calls that have no result there get one. The session is only read, whoever holds it; files are not
    copied. Raises `SessionNotFound`, `StoreError`.
    """
    rows = await store.load(session_id)
    if not rows:
        raise StoreError(f"session {session_id} holds nothing yet: there is nothing to fork")
    end = len(rows) if at is None else at
    if not 1 <= end <= len(rows):
        raise StoreError(f"session {session_id} has no record {at}: it has 1 to {len(rows)}")
    rows = rows[:end]
    records = [stamped.record for stamped in read(rows)]
    started = records[0]
    if not isinstance(started, SessionStarted):
        raise StoreError(f"session {session_id} has no beginning: its first record is missing")
    started = msgspec.structs.replace(started, id=new_id(), parent=session_id)
    missing = missing_results(records, "because the session was forked here")
    info, now = await store.find(session_id), clock()
    await store.create(started.id, cwd=started.cwd, time=now)
    try:
        bodies = [encode_record(started), *(row.body for row in rows[1:])]
        await _copy(store, started.id, bodies, [row.time for row in rows])
        await store.append(started.id, end + 1, [encode_record(result) for result in missing], time=now)
        await store.describe(started.id, {"title": info.title})
    except BaseException:
        await unbroken(store.delete(started.id))
        raise
    return started.id


async def _copy(
    store: SessionStore, session_id: str, bodies: Sequence[bytes], times: Sequence[float]
) -> None:
    """Append bodies with their times: those of one time together, a commit each."""
    begin = 0
    for end in range(1, len(bodies) + 1):
        if end == len(bodies) or times[end] != times[begin]:
            await store.append(session_id, begin + 1, bodies[begin:end], time=times[begin])
            begin = end


# --- what others may ask of a session ---------------------------------------------------------------


class InboxRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request that somebody else left for the holder.

    `edit` (with `todos`), `undo`, `redo`: of the plan. `approve`, `deny`: the answer to what is asked about
    `call_id`, `reason` goes to the model. `say`: `text` for the model, at the next round. `base`: the
    revision of the plan that the sender of an edit saw; 0 if they did not say.
    """

    action: str
    todos: tuple[dict[str, Any], ...] = ()
    call_id: str = ""
    reason: str = ""
    text: str = ""
    base: int = 0


async def leave_request(store: SessionStore, session_id: str, request: InboxRequest) -> None:
    await store.put_request(session_id, msgspec.json.encode(request))


# --- reading ----------------------------------------------------------------------------------------


def new_id() -> str:
    """A fresh session id: eight hexadecimal digits, of which a few are enough to name the session."""
    return os.urandom(4).hex()


def read(rows: Sequence[Row]) -> list[Stamped]:
    """The records of a log. Raises `StoreError` naming the first row that is no record."""
    stamped: list[Stamped] = []
    for row in rows:
        try:
            stamped.append(Stamped(decode_record(row.body), row.time))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StoreError(
                f"record {row.seq} of the session cannot be read: {error}; "
                f"onplan fork ID --at {row.seq - 1} goes on in front of it"
            ) from None
    return stamped


@contextmanager
def _without_collection() -> Generator[None, None, None]:
    """While a log is read thousands of values are made and none dies: a collector only takes time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def missing_results(records: Sequence[Record], by: str = "when the process ended") -> list[ToolResult]:
    """A result for each call of the last reply that has none, in call order.

    A call that was started may have had effects; one that was not has had none (I1). Repairing twice
    finds nothing the second time.
    """
    unanswered = _Unanswered()
    for record in records:
        unanswered.fold(record)
    return unanswered.results(by)


class _Unanswered:
    """The calls of the last reply that have no result yet."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._started: set[str] = set()

    def fold(self, record: Record) -> None:
        match record:
            case Assistant():
                self._calls, self._started = {call.id: call for call in record.calls}, set()
            case ToolStarted(call_id=call_id):
                self._started.add(call_id)
            case ToolResult(call_id=call_id):
                self._calls.pop(call_id, None)
            case _:
                pass

    def results(self, by: str) -> list[ToolResult]:
        calls = self._calls.values()
        return [interrupted_result(call, started=call.id in self._started, by=by) for call in calls]
