"""The SQLite store, opened twice and opened again at any time, behaves as the one in memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from onplan.errors import StoreError
from onplan.protocols import Holder, SessionStore
from onplan.stores.holder import this_process
from onplan.stores.memory import MemoryStore
from onplan.stores.sqlite import SqliteStore

SESSIONS = st.sampled_from(["a", "ab", "abc", "b%", "é"])
BODIES = st.lists(st.binary(max_size=40) | st.just(b"x" * 9_000), max_size=3)
TIMES = st.floats(min_value=0, max_value=1e10)
WHICH = st.sampled_from([0, 1])
TEXT = st.text(st.characters(exclude_categories=[]), max_size=10)
HOLDERS = st.sampled_from(
    [
        this_process(),
        Holder("elsewhere", 1, 1.0),
        Holder("elsewhere", 2, 1.0),
        msgspec.structs.replace(this_process(), pid=2**31 - 1),
    ]
)


class Stores(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self._path = Path(self._directory.name) / "sessions.sqlite3"
        self._model = MemoryStore()
        self._stores = [SqliteStore.open(self._path, moment=0.0) for _ in range(2)]

    def teardown(self) -> None:
        for store in self._stores:
            done(store.close())
        assert os.listdir(self._directory.name) == ["sessions.sqlite3"]
        self._directory.cleanup()

    def both(self, which: int, method: str, *args: Any, **named: Any) -> None:
        found = outcome(self._stores[which], method, *args, **named)
        assert found == outcome(self._model, method, *args, **named)

    @rule(which=WHICH, session=SESSIONS, cwd=TEXT, time=TIMES)
    def create(self, which: int, session: str, cwd: str, time: float) -> None:
        self.both(which, "create", session, cwd=cwd, time=time)

    @rule(
        which=WHICH,
        session=SESSIONS,
        bodies=BODIES,
        time=TIMES,
        off=st.sampled_from([0, 0, 0, -1, 1]),
        serve=st.lists(st.integers(0, 3), max_size=2),
    )
    def append(
        self, which: int, session: str, bodies: list[bytes], time: float, off: int, serve: list[int]
    ) -> None:
        """`serve`: which of the waiting requests; each store has its own numbers for them."""
        records = [line.records for line in done(self._model.sessions()) if line.id == session]
        seq = (records[0] if records else 0) + 1 + off
        stores: list[SessionStore] = [self._stores[which], self._model]
        served = [[ids[n] for n in serve if n < len(ids)] for ids in (waiting(s, session) for s in stores)]
        found, expected = (
            outcome(store, "append", session, seq, bodies, time=time, served=ids)
            for store, ids in zip(stores, served, strict=True)
        )
        assert found == expected

    @rule(which=WHICH, session=SESSIONS, after=st.integers(-1, 5))
    def load(self, which: int, session: str, after: int) -> None:
        self.both(which, "load", session, after=after)

    @rule(which=WHICH, session=SESSIONS, title=TEXT, count=st.integers(0, 9))
    def describe(self, which: int, session: str, title: str, count: int) -> None:
        self.both(which, "describe", session, {"title": title, "total": count})

    @rule(which=WHICH, session=SESSIONS)
    def delete(self, which: int, session: str) -> None:
        self.both(which, "delete", session)

    @rule(which=WHICH, prefix=SESSIONS | TEXT | st.just("latest"))
    def find(self, which: int, prefix: str) -> None:
        self.both(which, "find", prefix)

    @rule(which=WHICH, session=SESSIONS, holder=HOLDERS)
    def claim(self, which: int, session: str, holder: Holder) -> None:
        self.both(which, "claim", session, holder)

    @rule(which=WHICH, session=SESSIONS, holder=HOLDERS)
    def release(self, which: int, session: str, holder: Holder) -> None:
        self.both(which, "release", session, holder)

    @rule(which=WHICH, session=SESSIONS, body=st.binary(max_size=8))
    def put_request(self, which: int, session: str, body: bytes) -> None:
        self.both(which, "put_request", session, body)

    @rule(which=WHICH, session=SESSIONS)
    def requests(self, which: int, session: str) -> None:
        stores: list[SessionStore] = [self._stores[which], self._model]
        found, expected = (outcome(store, "requests", session) for store in stores)
        if isinstance(found, list) and isinstance(expected, list):
            found, expected = [row.body for row in found], [row.body for row in expected]
        assert found == expected

    @rule(which=WHICH)
    def open_again(self, which: int) -> None:
        done(self._stores[which].close())
        self._stores[which] = SqliteStore.open(self._path, moment=0.0)

    @invariant()
    def lists_are_equal(self) -> None:
        for store in self._stores:
            assert done(store.sessions()) == done(self._model.sessions())
            assert store.warnings == []


def done(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The answer of a coroutine that never waits: both stores run in place."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the store waited for the event loop")


def outcome(store: SessionStore, method: str, *args: Any, **named: Any) -> object:
    try:
        return done(getattr(store, method)(*args, **named))
    except (StoreError, ValueError) as error:
        return type(error).__name__, str(error)


def waiting(store: SessionStore, session: str) -> list[int]:
    found = outcome(store, "requests", session)
    return [row.id for row in found] if isinstance(found, list) else []


TestStores = Stores.TestCase
TestStores.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
