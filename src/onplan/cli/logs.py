"""Reads sessions without claiming them: whoever holds one is not disturbed."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onplan.cli.view.screen import Span, screen_on
from onplan.config import open_store

if TYPE_CHECKING:
    from onplan.events import Record, SessionStarted
    from onplan.plan.state import State
    from onplan.protocols import SessionInfo, SessionStore
    from onplan.session import Stamped
    from onplan.stores.sqlite import SqliteStore


@dataclass(frozen=True, slots=True)
class SessionLog:
    """A session as it was when it was read."""

    info: SessionInfo
    stamped: tuple[Stamped, ...]

    @property
    def records(self) -> Sequence[Record]:
        return [item.record for item in self.stamped]

    @property
    def started(self) -> SessionStarted | None:
        from onplan.events import SessionStarted

        return next((record for record in self.records if isinstance(record, SessionStarted)), None)

    def plan_state(self) -> State:
        """The plan with its ledger and figures."""
        from onplan.plan.settings import Settings  # the list of sessions comes without the engine
        from onplan.planning import plan_of

        return plan_of(self.records, Settings())


@asynccontextmanager
async def opened() -> AsyncIterator[SqliteStore]:
    """The store, closed at the end; what it had to repair is told on stderr."""
    store = open_store()
    try:
        screen_on(sys.stderr).lines((Span(f"onplan: {warning}", "yellow"),) for warning in store.warnings)
        yield store
    finally:
        await store.close()


async def load(name: str) -> SessionLog:
    """The log of the session that an id, a prefix or `latest` names. Raises `StoreError` and its kind."""
    async with opened() as store:
        return await load_from(store, name)


async def load_from(store: SessionStore, name: str) -> SessionLog:
    """As `load`, from a store that is open."""
    from onplan.session import read

    info = await store.find(name)
    return SessionLog(info, tuple(read(await store.load(info.id))))
