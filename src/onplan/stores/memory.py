"""A session store in memory, for tests and for runs that nobody resumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from onplan.errors import StoreError
from onplan.protocols import Fact, Holder, InboxRow, Row, SessionInfo
from onplan.stores.holder import is_alive
from onplan.stores.rules import check_new_id, checked_facts, clean, not_found, out_of_turn, pick, taken


class _Log(msgspec.Struct):
    info: SessionInfo
    rows: list[Row] = msgspec.field(default_factory=list[Row])
    inbox: list[InboxRow] = msgspec.field(default_factory=list[InboxRow])
    holder: Holder | None = None

    def line(self) -> SessionInfo:
        if not self.rows:
            return self.info
        updated = max(self.info.created, self.rows[-1].time)
        return msgspec.structs.replace(self.info, updated=updated, records=len(self.rows))


class MemoryStore:
    """Keeps the logs as long as the object lives; everything else is as in any `SessionStore`."""

    in_place = True

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}
        self._closed = False

    async def create(self, session: str, *, cwd: str, time: float) -> None:
        check_new_id(session)
        if session in self._open_logs():
            raise taken(session)
        self._logs[session] = _Log(SessionInfo(session, cwd=clean(cwd), created=time, updated=time))

    async def append(
        self, session: str, seq: int, bodies: Sequence[bytes], *, time: float, served: Sequence[int] = ()
    ) -> None:
        log = self._log(session)
        if seq != len(log.rows) + 1:
            raise out_of_turn(session, len(log.rows), seq)
        log.rows.extend([Row(number, time, bytes(body)) for number, body in enumerate(bodies, seq)])
        log.inbox = [row for row in log.inbox if row.id not in served]

    async def load(self, session: str, *, after: int = 0) -> list[Row]:
        return self._log(session).rows[max(after, 0) :]

    async def describe(self, session: str, facts: Mapping[str, Fact]) -> None:
        log = self._log(session)
        log.info = msgspec.structs.replace(log.info, **checked_facts(facts))

    async def sessions(self, *, cwd: str | None = None, limit: int = 1000) -> list[SessionInfo]:
        lines = [log.line() for log in self._open_logs().values()]
        if cwd is not None:
            lines = [line for line in lines if line.cwd == clean(cwd)]
        return sorted(lines, key=lambda line: (line.updated, line.id), reverse=True)[: max(limit, 0)]

    async def find(self, prefix: str) -> SessionInfo:
        lines = await self.sessions(limit=len(self._logs))
        if prefix != "latest":
            lines = [line for line in lines if line.id.startswith(prefix)]
        return pick(prefix, lines)

    async def delete(self, session: str) -> None:
        self._log(session)
        del self._logs[session]

    async def claim(self, session: str, holder: Holder) -> Holder | None:
        log = self._log(session)
        if log.holder is not None and log.holder != holder and is_alive(log.holder):
            return log.holder
        log.holder = holder
        return None

    async def release(self, session: str, holder: Holder) -> None:
        log = self._open_logs().get(session)
        if log is not None and log.holder == holder:
            log.holder = None

    async def put_request(self, session: str, body: bytes) -> None:
        inbox = self._log(session).inbox
        inbox.append(InboxRow(inbox[-1].id + 1 if inbox else 1, bytes(body)))

    async def requests(self, session: str) -> list[InboxRow]:
        return list(self._log(session).inbox)

    async def close(self) -> None:
        self._closed = True

    def _log(self, session: str) -> _Log:
        log = self._open_logs().get(session)
        if log is None:
            raise not_found(session)
        return log

    def _open_logs(self) -> dict[str, _Log]:
        if self._closed:
            raise StoreError("the session store is closed; open it again")
        return self._logs
