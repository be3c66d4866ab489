"""Both stores keep every rule of the public suite, and the suite finds a store that breaks one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from onplan.protocols import Row, SessionStore
from onplan.stores.memory import MemoryStore
from onplan.stores.sqlite import SqliteStore
from onplan.testing.stores import CHECKS, Check, check_store


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_store_keeps_the_rule(kind: str, check: Check, tmp_path: Path) -> None:
    store = MemoryStore() if kind == "memory" else SqliteStore.open(tmp_path / "sessions.sqlite3")
    try:
        await check.run(store)
    finally:
        await store.close()


async def test_suite_passes_a_good_store() -> None:
    async def make() -> SessionStore:
        return MemoryStore()

    await check_store(make)


class _AcceptsEveryNumber(MemoryStore):
    async def append(
        self, session: str, seq: int, bodies: Sequence[bytes], *, time: float, served: Sequence[int] = ()
    ) -> None:
        await super().append(session, len(await self.load(session)) + 1, bodies, time=time, served=served)


class _ForgetsTheTime(MemoryStore):
    async def load(self, session: str, *, after: int = 0) -> list[Row]:
        return [Row(row.seq, 0.0, row.body) for row in await super().load(session, after=after)]


@pytest.mark.parametrize(
    ("broken", "rule"),
    [(_AcceptsEveryNumber, "wrong_number_stores_nothing"), (_ForgetsTheTime, "taken_id_is_refused")],
)
async def test_suite_names_the_rule_that_a_store_breaks(broken: type[MemoryStore], rule: str) -> None:
    async def make() -> SessionStore:
        return broken()

    with pytest.raises(AssertionError, match=f"^{rule}: "):
        await check_store(make)
