"""The session store that lasts: one SQLite file in WAL mode, shared by several processes."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time as clock
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from onplan.errors import ConfigError, StoreError
from onplan.protocols import Fact, Holder, InboxRow, Row, SessionInfo
from onplan.stores.holder import is_alive
from onplan.stores.lock import DirectoryLock
from onplan.stores.rules import check_new_id, checked_facts, clean, not_found, out_of_turn, pick, taken
from onplan.stores.schema import LAST_SEQ, SEQ_BITS, Damaged, decode_text, establish, is_whole

T = TypeVar("T")
Sync = Literal["normal", "full"]

_PAUSE = 0.02
_ELSEWHERE = "set ONPLAN_HOME to another directory"

_END_OF_LOG = f"""(SELECT id FROM records
    WHERE id BETWEEN key << {SEQ_BITS} AND (key << {SEQ_BITS}) + {LAST_SEQ} ORDER BY id DESC LIMIT 1)"""

_APPEND_ONE = f"""
    INSERT INTO records SELECT key << {SEQ_BITS} | ?2, ?3, ?4 FROM sessions
    WHERE id = ?1 AND ?2 BETWEEN 1 AND {LAST_SEQ} AND coalesce({_END_OF_LOG}, 0) & {LAST_SEQ} = ?2 - 1"""

_REQUESTS = """
    SELECT i.id, i.body FROM sessions AS s LEFT JOIN inbox AS i ON i.session = s.key
    WHERE s.id = ? ORDER BY i.id"""

_LINES = f"""
    SELECT s.id, s.cwd, s.created, max(s.created, coalesce(r.time, s.created)) AS updated,
           coalesce(r.id, 0) & {LAST_SEQ}, s.title, s.done, s.total, s.ended, s.cost
    FROM sessions AS s LEFT JOIN records AS r ON r.id = {_END_OF_LOG}
    WHERE (?1 IS NULL OR s.cwd = ?1) AND substr(s.id, 1, length(?2)) = ?2
    ORDER BY updated DESC, s.id DESC LIMIT ?3"""

_LINE_TYPES = [str, str, float, float, int, str, int, int, str]
"""Of all but the cost, which may be `None`."""


class SqliteStore:
    """A `SessionStore` in one file. Make it with `open`; `warnings` tells what was repaired.

    The methods are async by the protocol and run in place: a commit takes some tens of microseconds, a hop to
    a thread and back takes longer. One connection serves all; only one thread at a time may use the store.
    """

    in_place = True

    @classmethod
    def open(
        cls, path: Path | str, *, sync: Sync | None = None, patience: float = 5.0, moment: float = 0.005
    ) -> Self:
        """Open the database at `path`, made new (readable by its owner alone) if there is none.

        `sync="full"`, or `ONPLAN_SYNC=full` in the environment, makes every commit outlast a power cut too.
        `patience`: seconds to wait for other processes. `moment`: seconds for which it is enough to have
        looked whether the file is still there and whether another process left a request. A damaged file is
        repaired; see `warnings`. Raises `StoreError` for what cannot be opened and `ConfigError` for another
        value of `ONPLAN_SYNC`.
        """
        store = cls(path, sync or _sync_from_environment(), patience, moment)
        try:
            store._run(lambda db: None)
        except BaseException:
            store._let_go()
            raise
        return store

    def __init__(self, path: Path | str, sync: Sync, patience: float, moment: float) -> None:
        self.warnings: list[str] = []
        self._name = os.fsencode(path).decode("utf-8", "replace")
        self._path = _make_room(path, self._name)
        self._file = os.fsencode(self._path)
        self._sync = sync
        self._patience = patience
        self._moment = moment
        self._inode = 0
        self._looked = 0.0
        self._asked: dict[str, float] = {}  # when its inbox was last looked into, by session
        self._db: sqlite3.Connection | None = None
        self._closed = False
        self._lock = DirectoryLock(self._path.parent)

    # --- logs ---------------------------------------------------------------------------------------

    async def create(self, session: str, *, cwd: str, time: float) -> None:
        check_new_id(session)

        def work(db: sqlite3.Connection) -> None:
            if _find_key(db, session) is not None:
                raise taken(session)
            line = (session, clean(cwd), time)
            db.execute("INSERT INTO sessions (id, cwd, created) VALUES (?,?,?)", line)

        self._write(work)

    async def append(
        self, session: str, seq: int, bodies: Sequence[bytes], *, time: float, served: Sequence[int] = ()
    ) -> None:
        # One row is one statement and its own transaction. Most appends are, and they are what a round waits
        # for: so the usual case goes straight, and everything else, a fault included, the long way.
        if len(bodies) == 1 and not served and self._db is not None:
            self._look_around()
            try:
                if self._db.execute(_APPEND_ONE, (session, seq, time, bytes(bodies[0]))).rowcount == 1:
                    return
            except (sqlite3.Error, UnicodeError):
                pass

        def work(db: sqlite3.Connection) -> None:
            end = db.execute(f"SELECT key, {_END_OF_LOG} FROM sessions WHERE id = ?", (session,)).fetchone()
            key, last = end or (_key(db, session), 0)
            length = (last or 0) & LAST_SEQ
            if seq != length + 1:
                raise out_of_turn(session, length, seq)
            rows = [(number, time, bytes(body)) for number, body in enumerate(bodies, key << SEQ_BITS | seq)]
            db.executemany("INSERT INTO records VALUES (?,?,?)", rows)
            db.executemany("DELETE FROM inbox WHERE session = ? AND id = ?", [(key, n) for n in served])

        self._write(work)

    async def load(self, session: str, *, after: int = 0) -> list[Row]:
        after = max(after, 0)

        def work(db: sqlite3.Connection) -> list[Row]:
            start = _key(db, session) << SEQ_BITS
            found = db.execute(
                "SELECT id, time, body FROM records WHERE id > ? AND id <= ? ORDER BY id",
                (start + min(after, LAST_SEQ), start + LAST_SEQ),
            )
            rows: list[Row] = []
            for number, (row, time, body) in enumerate(found, start + after + 1):
                if row != number or type(body) is not bytes or type(time) is not float:
                    raise Damaged(f"record {number - start} of session {session} is not there")
                rows.append(Row(number - start, time, body))
            return rows

        return self._read(work)

    async def delete(self, session: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            key = _key(db, session)
            start = key << SEQ_BITS
            db.execute("DELETE FROM records WHERE id BETWEEN ? AND ?", (start, start + LAST_SEQ))
            db.execute("DELETE FROM inbox WHERE session = ?", (key,))
            db.execute("DELETE FROM sessions WHERE key = ?", (key,))

        self._write(work)
        self._asked.pop(session, None)

    # --- the list of sessions -----------------------------------------------------------------------

    async def describe(self, session: str, facts: Mapping[str, Fact]) -> None:
        checked = checked_facts(facts)
        columns = ", ".join(f"{name} = ?" for name in checked) or "id = id"
        change = (f"UPDATE sessions SET {columns} WHERE id = ?", (*checked.values(), session))

        def work(db: sqlite3.Connection) -> None:
            if db.execute(*change).rowcount != 1:
                _key(db, session)  # which tells what is wrong

        # As in `append`: one statement is its own transaction.
        if self._db is not None:
            self._look_around()
            try:
                if self._db.execute(*change).rowcount == 1:
                    return
            except (sqlite3.Error, UnicodeError):
                pass
        self._write(work)

    async def sessions(self, *, cwd: str | None = None, limit: int = 1000) -> list[SessionInfo]:
        where = None if cwd is None else clean(cwd)
        return self._read(lambda db: _lines(db, where, "", max(limit, 0)))

    async def find(self, prefix: str) -> SessionInfo:
        if prefix == "latest":
            return pick(prefix, await self.sessions(limit=1))
        return pick(prefix, self._read(lambda db: _lines(db, None, clean(prefix), -1)))

    # --- the holder and its inbox -------------------------------------------------------------------

    async def claim(self, session: str, holder: Holder) -> Holder | None:
        def work(db: sqlite3.Connection) -> Holder | None:
            key = _key(db, session)
            host, pid, start = db.execute(
                "SELECT host, pid, start FROM sessions WHERE key = ?", (key,)
            ).fetchone()
            current = None if host is None else Holder(host, pid, start)
            if current is not None and current != holder and is_alive(current):
                return current
            claimed = (holder.host, holder.pid, holder.start, key)
            db.execute("UPDATE sessions SET host = ?, pid = ?, start = ? WHERE key = ?", claimed)
            return None

        return self._write(work)

    async def release(self, session: str, holder: Holder) -> None:
        held = (session, holder.host, holder.pid, holder.start)
        self._write(
            lambda db: db.execute(
                "UPDATE sessions SET host = NULL, pid = NULL, start = NULL"
                " WHERE id = ? AND host = ? AND pid = ? AND start = ?",
                held,
            )
        )

    async def put_request(self, session: str, body: bytes) -> None:
        def work(db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO inbox (session, body) VALUES (?,?)", (_key(db, session), bytes(body)))

        self._write(work)
        self._asked.pop(session, None)

    async def requests(self, session: str) -> list[InboxRow]:
        # Asked every round and nearly always empty: a look that found nothing is not repeated within a
        # moment, which no request of another process will notice.
        now = clock.monotonic()
        if now - self._asked.get(session, 0.0) < self._moment:
            return []
        found = self._run(lambda db: _inbox(db, session))
        if not found:
            self._asked[session] = now
        return found

    async def close(self) -> None:
        """Let go of the file. The last one to do so leaves no write-ahead log behind."""
        self._closed = True
        if self._db is not None:
            # What others hold is not waited for: the write-ahead log is as safe as the file.
            self._db.execute("PRAGMA busy_timeout=0")
        self._let_go()

    # --- transactions -------------------------------------------------------------------------------

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def attempt(db: sqlite3.Connection) -> T:
            db.execute("BEGIN IMMEDIATE")
            self._check_in_place()
            return _finish(db, work)

        return self._run(attempt)

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def attempt(db: sqlite3.Connection) -> T:
            db.execute("BEGIN")
            return _finish(db, work)

        return self._run(attempt)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` on the connection: waits while others write, repairs a damaged file once."""
        deadline = 0.0
        repaired = False
        while True:
            try:
                return work(self._connection())
            except (sqlite3.Error, Damaged, UnicodeDecodeError) as error:
                fault = self._fault(error)
                self._roll_back()
                if fault == "damaged" and not repaired:
                    repaired = True
                    self._repair()
                    continue
                deadline = deadline or clock.monotonic() + self._patience
                if fault != "busy" or clock.monotonic() >= deadline:
                    raise StoreError(self._line(fault, error)) from error
                clock.sleep(_PAUSE)
            except UnicodeEncodeError as error:
                self._roll_back()
                raise not_found(str(error.object)) from error
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        if self._db is not None and self._db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")

    def _look_around(self) -> None:
        """Check that the file is still there, unless that was done a moment ago."""
        now = clock.monotonic()
        if now - self._looked >= self._moment:
            self._looked = now
            self._check_in_place()

    def _check_in_place(self) -> None:
        # A file that was deleted under us still takes rows, and they are gone when we end.
        try:
            if os.stat(self._file).st_ino == self._inode:
                return
        except FileNotFoundError:
            pass
        raise StoreError(
            f"{self._name} was moved or deleted while it was open: nothing was stored. Start again"
        )

    # --- opening and repairing ----------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError("the session store is closed; open it again")
        if self._db is None:
            self._db = self._connect()
        return self._db

    def _connect(self) -> sqlite3.Connection:
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(self._path)
            self._inode = found.st_ino
            if not found.st_size and _size(f"{self._path}-wal"):
                raise Damaged("the file is empty, its write-ahead log is not")
        # Not bound to this thread: a store may be opened in one and used by the loop of another.
        db = sqlite3.connect(
            self._path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        try:
            db.text_factory = decode_text
            establish(db, self._name)
            db.execute(f"PRAGMA synchronous={self._sync}")
            db.execute(f"PRAGMA fullfsync={int(self._sync == 'full')}")
            # What is deleted is overwritten: nobody reads it later, and a repair cannot bring it back.
            db.execute("PRAGMA secure_delete=ON")
            for table in ("sessions", "records", "inbox"):
                db.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
            self._inode = os.stat(self._path).st_ino
        except BaseException:
            db.close()
            raise
        return db

    def _repair(self) -> None:
        from onplan.stores.salvage import salvage  # what it imports would cost every start some milliseconds

        damaged = self._inode
        self._disconnect()
        if not self._lock.be_alone(self._patience):
            raise StoreError(
                f"{self._name} is damaged, and another process has it open: nothing was changed. "
                "End that process, then start again: the file is repaired when nobody else uses it"
            )
        try:
            if os.stat(self._path).st_ino != damaged:
                return  # another process was first
            saved = salvage(self._path)
        except (OSError, sqlite3.Error, StoreError) as error:
            raise StoreError(
                f"{self._name} is damaged and cannot be repaired ({error}): nothing was changed. "
                f"Free some space or move the file away, or {_ELSEWHERE}"
            ) from error
        finally:
            self._lock.share()
        kept = os.fsencode(saved.kept.name).decode("utf-8", "replace")
        self.warnings.append(
            f"{self._name} was damaged: {saved.records:,} of its records in {saved.sessions:,} sessions were "
            f"saved; the damaged file is kept as {kept}"
        )

    def _disconnect(self) -> None:
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
        self._db = None

    def _let_go(self) -> None:
        self._disconnect()
        self._lock.close()

    # --- faults -------------------------------------------------------------------------------------

    def _fault(self, error: Exception) -> str:
        if isinstance(error, Damaged | UnicodeDecodeError):  # the latter: the name of a column is no text
            return "damaged"
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return "busy"
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                return "damaged"
            case sqlite3.SQLITE_ERROR | sqlite3.SQLITE_TOOBIG:
                return "damaged" if self._tables_changed() else "other"
            case sqlite3.SQLITE_FULL:
                return "full"
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
                return "denied"
            case _:
                return "other"

    def _tables_changed(self) -> bool:
        try:
            return self._db is None or not is_whole(self._db)
        except sqlite3.Error:
            return True

    def _line(self, fault: str, error: Exception) -> str:
        match fault:
            case "busy":
                return f"{self._name} is locked by another process; wait for it or end it, then try again"
            case "full":
                return f"{self._name} cannot be written: the disk is full. Free some space, or {_ELSEWHERE}"
            case "denied":
                return f"{self._name} cannot be opened for writing ({error}): allow it, or {_ELSEWHERE}"
            case _:
                return f"{self._name} cannot be read or written ({error}): check the disk, or {_ELSEWHERE}"


def _finish(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    result = work(db)
    db.execute("COMMIT")
    return result


def _key(db: sqlite3.Connection, session: str) -> int:
    key = _find_key(db, session)
    if key is None:
        raise not_found(session)
    return key


def _find_key(db: sqlite3.Connection, session: str) -> int | None:
    found = db.execute("SELECT key FROM sessions WHERE id = ?", (session,)).fetchone()
    if found is not None:
        return found[0]
    if db.execute("SELECT 1 FROM sessions NOT INDEXED WHERE id = ?", (session,)).fetchone():
        raise Damaged("the index of the sessions has lost one")
    return None


def _inbox(db: sqlite3.Connection, session: str) -> list[InboxRow]:
    found = db.execute(_REQUESTS, (session,)).fetchall()
    if not found:
        _key(db, session)  # which tells what is wrong
    rows = [InboxRow(number, body) for number, body in found if number is not None]
    if any(type(row.body) is not bytes for row in rows):
        raise Damaged("the inbox holds what was never left there")
    return rows


def _lines(db: sqlite3.Connection, cwd: str | None, prefix: str, limit: int) -> list[SessionInfo]:
    return [_line_of(row) for row in db.execute(_LINES, (cwd, prefix, limit))]


def _line_of(row: tuple[Any, ...]) -> SessionInfo:
    *facts, cost = row
    if [type(value) for value in facts] != _LINE_TYPES or not isinstance(cost, float | None):
        raise Damaged("a session's line holds what was never written")
    return SessionInfo(*row)


def _sync_from_environment() -> Sync:
    match os.environ.get("ONPLAN_SYNC", "").lower():
        case "" | "normal":
            return "normal"
        case "full":
            return "full"
        case other:
            raise ConfigError(f"ONPLAN_SYNC is {other!r}: set it to full or normal, or leave it out")


def _make_room(path: Path | str, name: str) -> Path:
    """The real path of the file, which is there afterwards, as are its directories."""
    try:
        real = Path(os.path.realpath(path))
        for directory in reversed(real.parents):
            directory.mkdir(0o700, exist_ok=True)
        if not real.exists():
            # SQLite gives its side files the mode that it finds here.
            os.close(os.open(real, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        regular = stat.S_ISREG(real.stat().st_mode)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{name} cannot be opened ({reason}): allow it, or {_ELSEWHERE}") from error
    if not regular:
        raise StoreError(f"{name} is not a file: move it away, or {_ELSEWHERE}")
    return real


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
