"""The one writer of a session's log: what is appended is durable first, then folded."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable, Generator, Sequence, Set
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec

from onplan.cancellation import unbroken
from onplan.errors import SessionBusy, StoreError
from onplan.events import (
    Record,
    Resumed,
    SessionEnded,
    SessionStarted,
    TurnEnded,
    decode_record,
    encode_record,
)
from onplan.messages import Assistant, Message, Note, User
from onplan.protocols import Fact, Holder, SessionStore
from onplan.session.conversation import Conversation
from onplan.session.inbox_request import InboxRequest
from onplan.session.reading import read
from onplan.session.repair import Unanswered

Fold: TypeAlias = Callable[[Record], None]
"""Takes each record once, in order; must not raise."""

Clock: TypeAlias = Callable[[], float]
"""Unix seconds."""


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
        self._view = Conversation()
        self._unanswered = Unanswered()
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

    async def append(self, *records: Record, served: Sequence[int] = ()) -> None:
        """Make records durable, all or none, then fold them. Raises `StoreError`, `SessionBusy`.

        `served`: the requests of the inbox that this does; they leave it in the same step. A cancellation
        never stops it half way: it is raised where the caller awaits next.
        """
        if not records and not served:
            return
        if self._store.in_place:  # it never waits, so nothing can come between or break it off
            await self._append(records, served)
            return
        async with self._writing:
            await unbroken(self._append(records, served))

    async def _append(self, records: Sequence[Record], served: Sequence[int]) -> None:
        if self._closed:
            raise StoreError(f"session {self.id} is closed: resume it to go on")
        if records and isinstance(records[0], (User, Assistant, Note, TurnEnded, SessionEnded)):
            records = (*self._unanswered.results("because the session log failed"), *records)
        bodies = [encode_record(record) for record in records]
        try:
            kept = [decode_record(body) for body in bodies]
        except msgspec.DecodeError as error:
            raise StoreError(f"not a record of a session: {error}") from None
        await self._store.append(self.id, self._next, bodies, time=self._clock(), served=served)
        self._next += len(kept)
        for record in kept:
            self._fold(record)

    async def settle(self) -> None:
        """Write the results that calls lack because the log failed meanwhile (I1). Raises `StoreError`."""
        await self.append(*self._unanswered.results("because the session log failed"))

    async def describe(self, **facts: Fact) -> None:
        """Set facts of the session's line in the list: title, done, total, ended, cost."""
        await self._store.describe(self.id, facts)

    async def requests(self) -> list[tuple[int, InboxRequest]]:
        """What others ask of this session, by number, oldest first. It stays in the inbox until an `append`
        has served it; what cannot be read is dropped."""
        requests: list[tuple[int, InboxRequest]] = []
        for row in await self._store.requests(self.id):
            try:
                requests.append((row.id, msgspec.json.decode(row.body, type=InboxRequest)))
            except msgspec.DecodeError:
                await self.append(served=(row.id,))
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


def new_id() -> str:
    """A fresh session id: eight hexadecimal digits, of which a few are enough to name the session."""
    return os.urandom(4).hex()


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
