"""What only the store on disk promises: one file, several processes, clear errors, files of all versions."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from onplan.errors import ConfigError, SessionBusy, StoreError
from onplan.protocols import Holder, Row, SessionInfo
from onplan.stores.holder import is_alive, this_process
from onplan.stores.schema import APPLICATION_ID, VERSION
from onplan.stores.sqlite import SqliteStore

GOLDEN = Path(__file__).parent / "golden" / "sessions-v1.sqlite3"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.sqlite3"


async def fill(path: Path, records: int = 3) -> None:
    store = SqliteStore.open(path)
    await store.create("s1", cwd="/work", time=1.0)
    for seq in range(1, records + 1):
        await store.append("s1", seq, [b"%d" % seq], time=float(seq))
    await store.close()


# --- the file ---------------------------------------------------------------------------------------


async def test_file_and_directories_belong_to_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "sessions.sqlite3"
    store = SqliteStore.open(path)
    await store.create("s1", cwd="", time=1.0)
    modes = {item.name: item.stat().st_mode & 0o777 for item in (tmp_path / "a").rglob("*")}
    modes["a"] = (tmp_path / "a").stat().st_mode & 0o777
    await store.close()
    sides = {"sessions.sqlite3": 0o600, "sessions.sqlite3-wal": 0o600, "sessions.sqlite3-shm": 0o600}
    assert modes == {"a": 0o700, "b": 0o700, **sides}


async def test_clean_close_leaves_one_file(path: Path) -> None:
    first, second = SqliteStore.open(path), SqliteStore.open(path)
    await first.create("s1", cwd="", time=1.0)
    await first.close()
    await second.append("s1", 1, [b"1"], time=1.0)
    await second.close()
    assert os.listdir(path.parent) == ["sessions.sqlite3"]


@pytest.mark.parametrize(
    "name", ["a b?c#d%20&e.db", "file:x", ":memory:", "ü✓\n'\".db", "-wal", b"\xff\xfe.db"]
)
async def test_odd_file_names_work(tmp_path: Path, name: str | bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    await fill(path)
    assert os.listdir(tmp_path) == [os.fsdecode(name)]
    store = SqliteStore.open(str(path))
    assert len(await store.load("s1")) == 3
    await store.close()


async def test_empty_file_is_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite3"
    path.touch()
    await fill(path)
    assert path.stat().st_size > 0


@pytest.mark.parametrize(("setting", "level"), [("", 1), ("normal", 1), ("full", 2), ("FULL", 2)])
async def test_environment_chooses_how_durable(
    path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, level: int
) -> None:
    monkeypatch.setenv("ONPLAN_SYNC", setting)
    store = SqliteStore.open(path)
    assert store._run(lambda db: db.execute("PRAGMA synchronous").fetchone()) == (level,)
    await store.close()


def test_unknown_durability_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONPLAN_SYNC", "ful")
    with pytest.raises(ConfigError, match="ONPLAN_SYNC is 'ful': set it to full or normal"):
        SqliteStore.open(path)


# --- files of other versions and programs -------------------------------------------------------------


async def test_file_of_version_1_loads_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite3"
    shutil.copyfile(GOLDEN, path)
    store = SqliteStore.open(path)
    first = SessionInfo(
        "20260101-first", "/work/a", 1000.0, 1001.25, 3, "Fix it ✓", done=1, total=3, ended="open_todos"
    )
    second = SessionInfo("20260102-second", "/work/b", 2000.0, 2001.0, 1)
    assert await store.sessions() == [second, first]
    assert await store.load("20260101-first") == [
        Row(1, 1000.5, b'{"type":"session","id":"20260101-first","version":1,"cwd":"/work/a"}'),
        Row(2, 1001.25, '{"type":"user","text":"Fix it ✓"}'.encode()),
        Row(3, 1001.25, b"\x00\xff"),
    ]
    assert await store.load("20260102-second") == [Row(1, 2001.0, b"long " * 1800)]
    assert await store.claim("20260101-first", this_process()) == Holder("elsewhere", 7, 12.5)
    assert [row.body for row in await store.requests("20260101-first")] == [b'{"undo":1}']
    await store.append("20260101-first", 4, [b"4"], time=1.0)
    await store.close()
    assert store.warnings == []


async def test_newer_file_is_refused_and_left_as_it_is(path: Path) -> None:
    await fill(path)
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version={VERSION + 1}")
    db.execute("CREATE TABLE later (x)")
    db.close()
    await refused_untouched(path, "was written by a newer onplan")


async def test_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE sessions (id)")
    db.close()
    await refused_untouched(path, "is a database of another program")


async def refused_untouched(path: Path, reason: str) -> None:
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"{reason}.*ONPLAN_HOME"):
        SqliteStore.open(path)
    assert os.listdir(path.parent) == [path.name]
    assert path.read_bytes() == before


def test_application_id_is_in_the_header(tmp_path: Path) -> None:
    assert int.from_bytes(GOLDEN.read_bytes()[68:72], "big") == APPLICATION_ID


# --- what cannot be opened or written -----------------------------------------------------------------


def test_parent_that_is_a_file_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"^.*/file/x\.db cannot be opened \(File exists\).*ONPLAN_HOME"):
        SqliteStore.open(tmp_path / "file" / "x.db")


def test_directory_in_place_of_the_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is not a file.*ONPLAN_HOME"):
        SqliteStore.open(tmp_path)


def test_name_with_a_nul_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteStore.open(tmp_path / "a\0b")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
async def test_directory_without_permission_is_one_clear_line(path: Path) -> None:
    await fill(path)
    path.parent.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="ONPLAN_HOME"):
            SqliteStore.open(path)
    finally:
        path.parent.chmod(0o700)


async def test_full_disk_stores_nothing_and_loses_nothing(path: Path) -> None:
    await fill(path)
    store = SqliteStore.open(path)
    pages = store._run(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
    store._run(lambda db: db.execute(f"PRAGMA max_page_count={pages}"))
    with pytest.raises(StoreError, match=r"the disk is full\. Free some space, or set ONPLAN_HOME"):
        await store.append("s1", 4, [b"small", b"x" * 100_000], time=4.0)
    store._run(lambda db: db.execute("PRAGMA max_page_count=1000000"))
    assert [row.body for row in await store.load("s1")] == [b"1", b"2", b"3"]
    await store.append("s1", 4, [b"4"], time=4.0)
    await store.close()


async def test_database_that_stays_locked_says_by_whom(path: Path) -> None:
    await fill(path)
    other = sqlite3.connect(path, isolation_level=None)
    store = SqliteStore.open(path, patience=0.05)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="is locked by another process"):
        await store.append("s1", 4, [b"4"], time=4.0)
    assert len(await store.load("s1")) == 3
    other.execute("ROLLBACK")
    await store.append("s1", 4, [b"4"], time=4.0)
    other.close()
    await store.close()


async def test_append_to_a_file_that_was_deleted_says_so(path: Path) -> None:
    await fill(path)
    store = SqliteStore.open(path)
    path.unlink()
    with pytest.raises(StoreError, match="was moved or deleted while it was open: nothing was stored"):
        await store.append("s1", 4, [b"4"], time=4.0)
    await store.close()


# --- several processes --------------------------------------------------------------------------------

APPENDER = """
import asyncio, sys
from onplan.errors import SessionBusy
from onplan.stores.sqlite import SqliteStore

async def main(path, mine, count):
    store = SqliteStore.open(path, patience=60.0)
    await store.create(mine, cwd="", time=1.0)
    for seq in range(1, count + 1):
        await store.append(mine, seq, [b"%d" % seq], time=1.0)
        while True:
            end = (await store.find("shared")).records
            try:
                await store.append("shared", end + 1, [f"{mine} {seq}".encode()], time=1.0)
                break
            except SessionBusy:
                pass
        await store.put_request("shared", f"{mine} {seq}".encode())
    await store.close()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


async def test_processes_append_side_by_side(path: Path) -> None:
    store = SqliteStore.open(path)
    await store.create("shared", cwd="", time=1.0)
    names, count = ["p0", "p1", "p2", "p3"], 25
    runs = [subprocess.Popen([sys.executable, "-c", APPENDER, path, name, str(count)]) for name in names]
    assert [run.wait(50) for run in runs] == [0] * len(names)
    expected = [f"{name} {seq}".encode() for name in names for seq in range(1, count + 1)]
    shared = [row.body for row in await store.load("shared")]
    assert sorted(shared) == sorted(expected)
    assert sorted(row.body for row in await store.requests("shared")) == sorted(expected)
    for name in names:
        own = [row.body for row in await store.load(name)]
        assert own == [b"%d" % seq for seq in range(1, count + 1)]
        assert [body for body in shared if body.startswith(name.encode())] == [
            f"{name} {seq}".encode() for seq in range(1, count + 1)
        ]
    await store.close()


async def test_processes_may_all_be_the_first(path: Path) -> None:
    script = (
        "import sys; from onplan.stores.sqlite import SqliteStore; SqliteStore.open(sys.argv[1])._let_go()"
    )
    runs = [subprocess.Popen([sys.executable, "-c", script, path]) for _ in range(4)]
    assert [run.wait(50) for run in runs] == [0] * 4
    await fill(path)


KILLED = """
import asyncio, sys
from onplan.stores.sqlite import SqliteStore

async def main(path):
    store = SqliteStore.open(path)
    await store.create("s1", cwd="", time=1.0)
    for seq in range(1, 100_000):
        await store.append("s1", seq, [b"%d" % seq], time=1.0)
        print(seq, flush=True)

asyncio.run(main(sys.argv[1]))
"""


async def test_acknowledged_appends_survive_kill_9(path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE)
    assert run.stdout is not None
    for _ in range(50):
        run.stdout.readline()
    run.kill()
    rest = run.stdout.read().splitlines()
    run.stdout.close()
    run.wait(50)
    acknowledged = int(rest[-1]) if rest else 50
    store = SqliteStore.open(path)
    numbers = [row.seq for row in await store.load("s1")]
    assert numbers in (list(range(1, acknowledged + 1)), list(range(1, acknowledged + 2)))
    assert store.warnings == []
    await store.close()


async def test_second_connection_sees_a_taken_number(path: Path) -> None:
    await fill(path)
    first, second = SqliteStore.open(path), SqliteStore.open(path)
    await first.append("s1", 4, [b"first"], time=4.0)
    with pytest.raises(SessionBusy, match="log of session s1 ends at record 4, not at 3"):
        await second.append("s1", 4, [b"second"], time=4.0)
    assert await second.load("s1", after=3) == [Row(4, 4.0, b"first")]
    await first.close()
    await second.close()


# --- holders ------------------------------------------------------------------------------------------


async def test_holder_lives_as_long_as_its_process(path: Path) -> None:
    await fill(path)
    store = SqliteStore.open(path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    other = msgspec.structs.replace(this_process(), pid=child.pid, start=0.0)
    await store.claim("s1", other)
    assert await store.claim("s1", this_process()) == other
    child.kill()
    while is_alive(other):  # killed, not yet waited for
        await asyncio.sleep(0.01)
    assert await store.claim("s1", this_process()) is None
    child.communicate()
    await store.close()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells when a process started")
def test_reused_process_id_is_another_process() -> None:
    me = this_process()
    assert is_alive(me)
    assert is_alive(msgspec.structs.replace(me, start=me.start + 0.5))
    assert not is_alive(msgspec.structs.replace(me, start=me.start - 60))


@pytest.mark.parametrize("pid", [0, -1, 2**31 - 1, 2**70])
def test_impossible_process_is_not_alive(pid: int) -> None:
    assert not is_alive(msgspec.structs.replace(this_process(), pid=pid))
