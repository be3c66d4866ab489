"""The layout of the SQLite file: its version, its migrations, and whether a file is one of ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from onplan.errors import StoreError

APPLICATION_ID = int.from_bytes(b"onpl", "big")

PAGE_SIZE = 8192
"""Bytes. Decided when a file is made. Rows of some kilobytes waste a third of a page of 4096; pages of
16384 cost a third more time per commit and save nothing."""

SEQ_BITS = 32
LAST_SEQ = (1 << SEQ_BITS) - 1


class Damaged(Exception):
    """The file was ours and can no longer be read as it should. Never leaves the package."""


def _logs_and_inboxes(db: sqlite3.Connection) -> None:
    # `records.id` is `session key << 32 | seq`: the rowid is the only index, and a log lies in order.
    # Length and time of a log are those of its last row, so an append touches one page, not two.
    db.execute(
        "CREATE TABLE sessions (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
        " cwd TEXT NOT NULL, created REAL NOT NULL, title TEXT NOT NULL DEFAULT '',"
        " done INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0, ended TEXT NOT NULL DEFAULT '',"
        " host TEXT, pid INTEGER, start REAL)"
    )
    db.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, time REAL NOT NULL, body BLOB NOT NULL)")
    db.execute("CREATE TABLE inbox (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, body BLOB NOT NULL)")


def _costs(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE sessions ADD COLUMN cost REAL")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_logs_and_inboxes, _costs)
"""Step `n` brings a file from version `n` to `n + 1`. Append to them; one that was released never changes."""

VERSION = len(MIGRATIONS)


def establish(db: sqlite3.Connection, name: str) -> None:
    """Bring an open database to the newest version: a new one, one of ours, an older one of ours.

    Raises `StoreError` for a newer one and for somebody else's, both of which stay untouched, and `Damaged`
    for one of ours that is not whole.
    """
    version = _version_of(db, name)
    if version == 0:
        db.execute(f"PRAGMA page_size={PAGE_SIZE}")
    db.execute("PRAGMA journal_mode=WAL")
    if version == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        # Asked again under the lock: another process may have been first.
        for step in MIGRATIONS[_version_of(db, name) :]:
            step(db)
        db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        db.execute(f"PRAGMA user_version={VERSION}")
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def decode_text(raw: bytes) -> str:
    """SQLite's text as `str`, also where damage left it no UTF-8: a title is not worth an error."""
    return raw.decode("utf-8", "replace")


def is_whole(db: sqlite3.Connection) -> bool:
    """Whether the tables are declared as some version's migrations declare them."""
    reference = sqlite3.connect(":memory:", isolation_level=None)
    found = _declared(db)
    try:
        for step in MIGRATIONS:
            step(reference)
            if found == _declared(reference):
                return True
        return False
    finally:
        reference.close()


def _version_of(db: sqlite3.Connection, name: str) -> int:
    application = _number(db, "application_id")
    version = _number(db, "user_version")
    empty = not _declared(db)
    if empty and application == 0 and version == 0:
        return 0
    if application != APPLICATION_ID:
        if is_whole(db):
            raise Damaged("the file's header has lost its application id")
        raise StoreError(
            f"{name} is a database of another program and was left as it is; "
            "set ONPLAN_HOME to another directory, or move that file away"
        )
    if version > VERSION:
        raise StoreError(
            f"{name} was written by a newer onplan (format {version}, this one knows {VERSION}) and was left "
            "as it is; upgrade onplan, or set ONPLAN_HOME to another directory"
        )
    if version < 1 or empty:
        raise Damaged("the file's header has lost its version or its tables")
    return version


def _declared(db: sqlite3.Connection) -> set[tuple[str, str, str]]:
    return set(db.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"))


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return db.execute(f"PRAGMA {pragma}").fetchone()[0]
