"""Follows a session's log while somebody writes it; every viewer gets what is new to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from onplan.errors import StoreError
from onplan.models.prices import Prices
from onplan.protocols import SessionInfo, SessionStore
from onplan.session import read
from onplan.web.folding import RunFold
from onplan.web.lens import Runtime
from onplan.web.run import Run


class Following:
    """One fold of a session's log for all who watch it."""

    def __init__(
        self,
        store: SessionStore,
        session: str,
        *,
        prices: Prices,
        runtime: Runtime | None = None,
        masked: bool = True,
    ) -> None:
        self.store = store
        self.session = session
        self._fold = RunFold(prices, runtime, masked=masked)
        self._info = SessionInfo(session)
        self._reading = asyncio.Lock()

    @property
    def seq(self) -> int:
        return self._fold.seq

    async def read(self) -> None:
        """Fold what was logged since the last time. Raises `StoreError`."""
        async with self._reading:
            rows = await self.store.load(self.session, after=self._fold.seq)
            if not rows:
                return
            for stamped in read(rows):
                self._fold.fold(stamped)
            self._info = await self.store.find(self.session)

    def run(self, after: int = 0) -> Run:
        """The run so far, or what came after record `after`; whole where no such record is known."""
        known = 0 <= after <= self._fold.seq
        return self._fold.run(self._info, after=after if known else 0, live=True)

    def is_asked(self, call_id: str) -> bool:
        """Whether a person is asked about this call now."""
        return call_id in self._fold.waiting

    def unmasked(self, todos: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
        """Todos that a viewer sent back, with what was masked for them as it was."""
        hidden = self._fold.hidden
        return tuple({**todo, **_content(todo, hidden)} for todo in todos)

    async def pieces(
        self, after: int, *, every: float, ending: Callable[[], bool]
    ) -> AsyncGenerator[Run | StoreError | None, None]:
        """What is new after record `after`, as it comes, looked for `every` so many seconds; `None` where
        nothing was. A log that cannot be read is told, and looked for again."""
        while not ending():
            try:
                await self.read()
            except StoreError as error:
                yield error
            else:
                piece = self.run(after) if self._fold.seq != after else None
                after = self._fold.seq  # now: another viewer may read on while this one is told
                yield piece
            await asyncio.sleep(every)


def _content(todo: Mapping[str, Any], hidden: Mapping[str, str]) -> dict[str, str]:
    content = todo.get("content")
    return {"content": hidden[content]} if isinstance(content, str) and content in hidden else {}
