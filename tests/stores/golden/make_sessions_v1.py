"""Made `sessions-v1.sqlite3`, once, with version 1 of the layout. Kept to show what is in it.

The file must never be made again: it stands for those that people have on their disks.
"""

from __future__ import annotations

import asyncio
import sys

from onplan.events import SessionStarted, encode_record
from onplan.messages import User
from onplan.protocols import Holder
from onplan.stores.sqlite import SqliteStore


async def make(path: str) -> None:
    store = SqliteStore.open(path)
    await store.create("20260101-first", cwd="/work/a", time=1000.0)
    started = encode_record(SessionStarted(id="20260101-first", version=1, cwd="/work/a"))
    await store.append("20260101-first", 1, [started], time=1000.5)
    await store.append("20260101-first", 2, [encode_record(User("Fix it ✓")), b"\x00\xff"], time=1001.25)
    await store.describe(
        "20260101-first", {"title": "Fix it ✓", "done": 1, "total": 3, "ended": "open_todos"}
    )
    await store.claim("20260101-first", Holder(host="elsewhere", pid=7, start=12.5))
    await store.put_request("20260101-first", b'{"undo":1}')
    await store.create("20260102-second", cwd="/work/b", time=2000.0)
    await store.append("20260102-second", 1, [b"long " * 1800], time=2001.0)
    await store.create("20260103-deleted", cwd="/work/b", time=3000.0)
    await store.append("20260103-deleted", 1, [b"gone"], time=3001.0)
    await store.delete("20260103-deleted")
    await store.close()


if __name__ == "__main__":
    asyncio.run(make(sys.argv[1]))
