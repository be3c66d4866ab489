"""A new session from any point of another."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from onplan.cancellation import unbroken
from onplan.errors import StoreError
from onplan.events import SessionStarted, encode_record
from onplan.protocols import SessionStore
from onplan.session.log import Clock, new_id
from onplan.session.reading import read
from onplan.session.repair import missing_results


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
