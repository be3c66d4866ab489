"""Brings the readable rows of a damaged SQLite file into a fresh one and sets the damaged file aside.

What is promised: of every session whose first record is there, all records before the first one that cannot
be read. What comes after a gap is left out, because a log without one of its records would replay to
something that never happened. SQLite keeps no checksums, so a byte that changed inside a body stays unseen.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from onplan.events import SessionStarted, decode_record
from onplan.stores.pages import leaf_rows
from onplan.stores.schema import LAST_SEQ, PAGE_SIZE, SEQ_BITS, decode_text, establish

_UNREADABLE = (sqlite3.Error, MemoryError, OverflowError, UnicodeDecodeError)
"""What reading a damaged row raises: a broken length may ask for any amount of memory, and the name of a
column may no longer be text."""

_TABLES = {3: "records", 11: "sessions", 12: "sessions"}
"""Tables by their number of columns; a session's row of the first version has no cost."""

_COLUMNS = "key, id, cwd, created, title, done, total, ended, host, pid, start, cost"

_BEYOND = 1000
"""How many session keys are tried after the last one that the tables admit to."""
_IMPLAUSIBLE = 10_000_000
"""A session key that only damage explains."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was saved, and the name that the damaged file has now."""

    records: int
    sessions: int
    kept: Path


def salvage(path: Path) -> Salvaged:
    """Replace the damaged database at `path` by a whole one with its readable rows.

    Nobody else may have it open. The damaged file keeps its bytes under a new name. Raises `OSError` or
    `sqlite3.Error` if the fresh file cannot be written; then nothing has changed.
    """
    with tempfile.TemporaryDirectory(prefix=".onplan-salvage-", dir=path.parent) as name:
        work = Path(name)
        best = _best_extract(path, work)
        os.chmod(best.file, 0o600)
        kept = _set_aside(path, best.file)
    return Salvaged(best.records, best.sessions, kept)


@dataclass(frozen=True, slots=True)
class _Extract:
    file: Path
    records: int
    sessions: int
    complete: bool


def _best_extract(path: Path, work: Path) -> _Extract:
    """Read a copy of the file in several ways, until one finds no fault or none is left.

    A file whose first page is broken can be read with the first page of an empty one, since the same steps
    made both; so can one that is shorter than its header says. Then the pages are read without the tree that
    leads to them. A broken log beside the file is left out last.
    """
    template = work / "template"
    _new_database(template).close()
    logs = (True, False) if _beside(path, "-wal").exists() else (False,)
    best: _Extract | None = None
    for number, (log, graft) in enumerate((log, graft) for log in logs for graft in (False, True)):
        copy = work / str(number)
        shutil.copyfile(path, copy)
        if log:
            shutil.copyfile(_beside(path, "-wal"), _beside(copy, "-wal"))
        if graft:
            _graft(copy, template.read_bytes()[:PAGE_SIZE])
        extracts = [_extract(copy)]
        if graft and not extracts[0].complete:
            # SQLite has brought the log into the copy by now, when it closed it.
            extracts.append(_extract(_rebuilt(copy)))
        best = max(extracts if best is None else (best, *extracts), key=_worth)
        if extracts[0].complete:
            break
    assert best is not None
    return best


def _worth(extract: _Extract) -> tuple[int, int, bool]:
    return extract.records, extract.sessions, extract.complete


def _graft(copy: Path, first_page: bytes) -> None:
    pages = max(1, copy.stat().st_size // PAGE_SIZE)
    # Bytes 28 to 31 of the header hold the file's size in pages.
    with copy.open("r+b") as file:
        file.write(first_page[:28] + pages.to_bytes(4, "big") + first_page[32:])


def _rebuilt(damaged: Path) -> Path:
    """A database with the rows that the leaf pages of `damaged` hold."""
    path = damaged.with_name(f"{damaged.name}-rebuilt")
    db = _new_database(path)
    try:
        db.execute("BEGIN")
        for row in leaf_rows(damaged.read_bytes()):
            table = _TABLES.get(len(row.values))
            # The inbox has as many columns as the records, whose ids are never this small.
            if table is None or (table == "records") == (row.rowid <= LAST_SEQ):
                continue
            values = (row.rowid, *row.values[1:], *([None] * (len(row.values) == 11)))
            marks = ",".join("?" * len(values))
            db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)
        db.execute("COMMIT")
    finally:
        db.close()
    return path


def _extract(damaged: Path) -> _Extract:
    fresh = damaged.with_name(f"{damaged.name}-fresh")
    source = sqlite3.connect(damaged, isolation_level=None)
    target = _new_database(fresh)
    try:
        source.text_factory = decode_text
        reader = _Reader(source)
        target.execute("BEGIN")
        records, sessions = _copy_sessions(reader, target)
        target.execute("COMMIT")
    finally:
        target.close()
        source.close()
    return _Extract(fresh, records, sessions, reader.complete)


def _new_database(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    establish(db, path.name)
    db.execute("PRAGMA synchronous=FULL")
    return db


class _Reader:
    """Reads what can be read and remembers whether that was everything."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.complete = True
        self.has_costs = any(row[1] == "cost" for row in self.each("PRAGMA table_info(sessions)"))

    def each(self, sql: str, *values: int) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._db.execute(sql, values)
        except _UNREADABLE:
            self.complete = False

    def first(self, sql: str, *values: int) -> tuple[Any, ...] | None:
        return next(self.each(sql, *values), None)


def _copy_sessions(reader: _Reader, target: sqlite3.Connection) -> tuple[int, int]:
    records = 0
    names: set[str] = set()
    for key in range(1, _last_key(reader) + _BEYOND):
        line = _session(reader, key)
        if line is None:
            continue
        name = line[0] if line[0] not in names else f"recovered-{key}"
        names.add(name)
        marks = ",".join("?" * 12)
        target.execute(f"INSERT INTO sessions ({_COLUMNS}) VALUES ({marks})", (key, name, *line[1:]))
        records += target.executemany("INSERT INTO records VALUES (?,?,?)", _prefix(reader, key)).rowcount
        _copy_inbox(reader, target, key)
    return records, len(names)


def _last_key(reader: _Reader) -> int:
    session = reader.first("SELECT max(key) FROM sessions") or (0,)
    record = reader.first("SELECT max(id) FROM records") or (0,)
    found = (_whole(session[0]), _whole(record[0]) >> SEQ_BITS)
    return max((key for key in found if 0 < key < _IMPLAUSIBLE), default=0)


def _session(reader: _Reader, key: int) -> tuple[Any, ...] | None:
    cost = "cost" if reader.has_costs else "NULL"
    line = reader.first(
        "SELECT id, cwd, created, title, done, total, ended, host, pid, start, "
        f"{cost} FROM sessions WHERE key = ?",
        key,
    )
    first = None
    if line is None or not _text(line[0]):
        first = reader.first("SELECT time, body FROM records WHERE id = ?", key << SEQ_BITS | 1)
        if first is None:
            return None
    name, cwd, created = _named_by(first, key) if line is None or first else (line[0], line[1], line[2])
    if line is None:
        return (name, cwd, created, "", 0, 0, "", None, None, None, None)
    _, _, _, title, done, total, ended, host, pid, start, dollars = line
    holder = (host, pid, start) if (type(host), type(pid), type(start)) == (str, int, float) else (None,) * 3
    figures = (_text(title), _whole(done), _whole(total), _text(ended))
    return (
        name,
        _text(cwd),
        _number(created),
        *figures,
        *holder,
        dollars if type(dollars) is float else None,
    )


def _named_by(first: tuple[Any, ...] | None, key: int) -> tuple[str, str, float]:
    """Id, directory and time of a session whose own row is lost: a log's first record tells them."""
    if first is None or type(first[1]) is not bytes:
        return f"recovered-{key}", "", 0.0
    try:
        record = decode_record(first[1])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        record = None
    if isinstance(record, SessionStarted) and record.id:
        return record.id, record.cwd, _number(first[0])
    return f"recovered-{key}", "", _number(first[0])


def _prefix(reader: _Reader, key: int) -> Iterator[tuple[int, float, bytes]]:
    """A session's records from the first one on, up to the first that is missing or not one."""
    expected = key << SEQ_BITS
    for row in _rows(reader, expected, expected | LAST_SEQ):
        expected += 1
        if row[0] != expected or type(row[1]) is not float or type(row[2]) is not bytes:
            reader.complete = False
            return
        yield row[0], row[1], row[2]


def _rows(reader: _Reader, before: int, last: int) -> Iterator[tuple[Any, ...]]:
    sql = "SELECT id, time, body FROM records WHERE id > ? AND id <= ? ORDER BY id"
    for row in reader.each(sql, before, last):
        before = row[0]
        yield row
    # Up to Python 3.11 a cursor reads one row ahead, and an error there swallows the good row before it.
    while row := reader.first("SELECT id, time, body FROM records WHERE id = ?", before + 1):
        before += 1
        yield row


def _copy_inbox(reader: _Reader, target: sqlite3.Connection, key: int) -> None:
    for (body,) in reader.each("SELECT body FROM inbox WHERE session = ? ORDER BY id", key):
        if type(body) is bytes:
            target.execute("INSERT INTO inbox (session, body) VALUES (?,?)", (key, body))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _set_aside(path: Path, fresh: Path) -> Path:
    kept = _free_name(path)
    # The write-ahead log goes first: SQLite would replay it onto the fresh file.
    for end in ("-wal", "-shm"):
        if _beside(path, end).exists():
            os.rename(_beside(path, end), _beside(kept, end))
    try:
        os.link(path, kept)
    except OSError:  # a file system without hard links
        os.rename(path, kept)
    os.replace(fresh, path)
    return kept


def _free_name(path: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%S")
    kept = path.with_name(f"{path.name}.corrupt-{stamp}")
    number = 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.corrupt-{stamp}-{number}")
    return kept


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)
