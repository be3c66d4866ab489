"""Damaged files: what can be read is saved, the file is set aside, one warning, work goes on."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onplan.errors import SessionBusy, StoreError
from onplan.events import SessionStarted, encode_record
from onplan.protocols import SessionInfo, SessionStore
from onplan.stores.schema import PAGE_SIZE
from onplan.stores.sqlite import SqliteStore

NAME = "sessions.sqlite3"
SESSIONS = [f"session-{number:02}" for number in range(12)]


def body_of(session: str, seq: int) -> bytes:
    if seq == 1:
        return encode_record(SessionStarted(id=session, version=1, cwd="/work"))
    return b"<%s %d>" % (session.encode(), seq) + b"." * (seq * 37 % 900)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of some hundred kilobytes whose sessions grew side by side."""
    path = tmp_path_factory.mktemp("whole") / NAME
    _write(path)
    return path.read_bytes()


def _write(path: Path) -> None:
    script = (
        "import asyncio, sys; sys.path.insert(0, sys.argv[1]);"
        "import test_damage as t; asyncio.run(t.write_sessions(sys.argv[2]))"
    )
    subprocess.run([sys.executable, "-c", script, Path(__file__).parent, path], check=True, timeout=50)


async def write_sessions(path: str) -> None:
    store = SqliteStore.open(path)
    for session in SESSIONS:
        await store.create(session, cwd="/work", time=1.0)
    for seq in range(1, 61):
        for session in SESSIONS:
            await store.append(session, seq, [body_of(session, seq)], time=float(seq))
    await store.put_request(SESSIONS[0], b"request")
    await store.close()


async def logs_of(store: SessionStore) -> dict[str, list[bytes]]:
    return {line.id: [row.body for row in await store.load(line.id)] for line in await store.sessions()}


WHOLE_LOGS = {session: [body_of(session, seq) for seq in range(1, 61)] for session in SESSIONS}


def aside(directory: Path) -> list[str]:
    return sorted(name for name in os.listdir(directory) if name != NAME)


async def opened_with_warning(path: Path) -> dict[str, list[bytes]]:
    """Open a damaged file; its logs. Exactly one warning, and the damaged bytes are kept."""
    damaged = path.read_bytes()
    store = SqliteStore.open(path)
    logs = await logs_of(store)
    await store.close()
    (kept,) = aside(path.parent)
    records, sessions = sum(map(len, logs.values())), len(logs)
    assert kept.startswith(f"{NAME}.corrupt-")
    assert store.warnings == [
        f"{path} was damaged: {records:,} of its records in {sessions:,} sessions were saved; "
        f"the damaged file is kept as {kept}"
    ]
    assert (path.parent / kept).read_bytes() == damaged
    assert path.stat().st_mode & 0o777 == 0o600
    again = SqliteStore.open(path)
    assert await logs_of(again) == logs
    await again.close()
    assert again.warnings == []
    return logs


@pytest.mark.parametrize(
    "content", [b"\0" * 4096, b'[{"content":"A","sta', b"{}", b"SQLite format 3\0", b"x" * 99_999]
)
async def test_file_that_is_no_database_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    assert await opened_with_warning(tmp_path / NAME) == {}


@pytest.mark.parametrize("damage", [b"\0" * 4096, b"\xff" * PAGE_SIZE, b"SQLite format 4", b"x"])
async def test_nothing_is_lost_with_the_first_page(tmp_path: Path, whole: bytes, damage: bytes) -> None:
    (tmp_path / NAME).write_bytes(damage + whole[len(damage) :])
    assert await opened_with_warning(tmp_path / NAME) == WHOLE_LOGS


async def test_rows_before_a_lost_page_are_saved(tmp_path: Path, whole: bytes) -> None:
    """Of a session with rows on the page, all before the first of them; of the others, everything."""
    page = whole.index(b"<session-05 30>") // PAGE_SIZE * PAGE_SIZE
    lost = whole[page : page + PAGE_SIZE]
    (tmp_path / NAME).write_bytes(whole[:page] + b"\xaa" * PAGE_SIZE + whole[page + PAGE_SIZE :])
    expected = {
        session: bodies[: next((n for n, body in enumerate(bodies) if body in lost), 60)]
        for session, bodies in WHOLE_LOGS.items()
    }
    assert 0 < len(expected["session-05"]) < 30
    store = SqliteStore.open(tmp_path / NAME)
    assert len(await store.load("session-00")) == 60
    assert store.warnings == []
    assert [row.body for row in await store.load("session-05")] == expected["session-05"]
    assert len(store.warnings) == 1
    assert await logs_of(store) == expected
    assert [row.body for row in await store.requests("session-00")] == [b"request"]
    await store.append("session-05", len(expected["session-05"]) + 1, [b"on"], time=99.0)
    await store.close()


@pytest.mark.parametrize("name", [b"title", b"time", b"inbox"])
async def test_nothing_is_lost_with_the_name_of_a_column_or_table(
    tmp_path: Path, whole: bytes, name: bytes
) -> None:
    store = SqliteStore.open(tmp_path / "described")
    await store.create("s1", cwd="/work", time=1.0)
    await store.append("s1", 1, [b"1"], time=1.0)
    await store.describe("s1", {"title": "kept"})
    await store.close()
    content = (tmp_path / "described").read_bytes()
    (tmp_path / NAME).write_bytes(content[:PAGE_SIZE].replace(name, b"\xe0" + name[1:]) + content[PAGE_SIZE:])
    again = SqliteStore.open(tmp_path / NAME)
    assert await again.sessions() == [SessionInfo("s1", "/work", 1.0, 1.0, 1, "kept")]
    assert len(again.warnings) == 1
    await again.close()


async def test_sessions_are_named_by_their_first_record(tmp_path: Path, whole: bytes) -> None:
    page = PAGE_SIZE  # the second page holds the lines of the sessions
    assert b"/work" in whole[page : 2 * PAGE_SIZE]
    (tmp_path / NAME).write_bytes(whole[:page] + bytes(PAGE_SIZE) + whole[2 * PAGE_SIZE :])
    assert await opened_with_warning(tmp_path / NAME) == WHOLE_LOGS


async def test_nothing_is_lost_with_the_root_of_the_records(tmp_path: Path, whole: bytes) -> None:
    page = 3 * PAGE_SIZE
    assert whole[page] == 5  # an inner page: only it knows where the rows are
    (tmp_path / NAME).write_bytes(whole[:page] + bytes(PAGE_SIZE) + whole[page + PAGE_SIZE :])
    store = SqliteStore.open(tmp_path / NAME)
    assert await logs_of(store) == WHOLE_LOGS
    assert [line.cwd for line in await store.sessions()] == ["/work"] * len(SESSIONS)
    assert len(store.warnings) == 1
    await store.close()


async def test_long_rows_are_put_together_again(tmp_path: Path) -> None:
    bodies = [bytes([65 + number % 26]) * (number * 997) for number in range(1, 40)]
    store = SqliteStore.open(tmp_path / NAME)
    await store.create("s1", cwd="", time=0.5)
    await store.append("s1", 1, bodies, time=2.0)
    await store.close()
    content = (tmp_path / NAME).read_bytes()
    page = 3 * PAGE_SIZE
    (tmp_path / NAME).write_bytes(content[:page] + bytes(PAGE_SIZE) + content[page + PAGE_SIZE :])
    assert await opened_with_warning(tmp_path / NAME) == {"s1": bodies}


async def test_deleted_sessions_do_not_come_back(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / NAME)
    for session in SESSIONS[:2]:
        await store.create(session, cwd="", time=1.0)
        await store.append(session, 1, [body_of(session, seq) for seq in range(1, 61)], time=1.0)
    await store.delete(SESSIONS[0])
    await store.close()
    content = (tmp_path / NAME).read_bytes()
    assert SESSIONS[0].encode() not in content
    page = 3 * PAGE_SIZE
    (tmp_path / NAME).write_bytes(content[:page] + bytes(PAGE_SIZE) + content[page + PAGE_SIZE :])
    assert await opened_with_warning(tmp_path / NAME) == {SESSIONS[1]: WHOLE_LOGS[SESSIONS[1]]}


async def test_session_that_its_index_lost_is_found(tmp_path: Path, whole: bytes) -> None:
    page = 2 * PAGE_SIZE  # the third page is the index of the ids
    lost = whole[page : 2 * page].replace(b"session-07", b"session-0z")
    (tmp_path / NAME).write_bytes(whole[:page] + lost[:PAGE_SIZE] + whole[page + PAGE_SIZE :])
    store = SqliteStore.open(tmp_path / NAME)
    assert [row.body for row in await store.load("session-07")] == WHOLE_LOGS["session-07"]
    assert len(store.warnings) == 1
    await store.close()


async def test_append_after_a_loss_does_not_hide_it(tmp_path: Path, whole: bytes) -> None:
    """The writer that still counts the lost records is told; nothing is stored out of order."""
    page = whole.index(b"<session-11 60>") // PAGE_SIZE * PAGE_SIZE
    (tmp_path / NAME).write_bytes(whole[:page] + bytes(PAGE_SIZE) + whole[page + PAGE_SIZE :])
    store = SqliteStore.open(tmp_path / NAME)
    with pytest.raises(SessionBusy):
        await store.append("session-11", 61, [b"61"], time=61.0)
    bodies = [row.body for row in await store.load("session-11")]
    assert bodies == WHOLE_LOGS["session-11"][: len(bodies)]
    assert len(store.warnings) == 1
    await store.close()


async def test_emptied_file_gets_the_rows_of_its_log_back(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / NAME)
    await store.create("s1", cwd="", time=1.0)
    await store.append("s1", 1, [b"1", b"2"], time=1.0)
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    shutil.copyfile(tmp_path / f"{NAME}-wal", crashed / f"{NAME}-wal")
    await store.close()
    (crashed / NAME).touch()
    again = SqliteStore.open(crashed / NAME)
    assert await logs_of(again) == {"s1": [b"1", b"2"]}
    await again.close()
    assert len(again.warnings) == 1
    assert len(aside(crashed)) == 2


@pytest.mark.parametrize("seed", range(60))
async def test_damage_anywhere_leaves_prefixes_and_a_store_that_works(
    tmp_path: Path, whole: bytes, seed: int
) -> None:
    (tmp_path / NAME).write_bytes(damaged(whole, random.Random(seed)))
    try:
        store = SqliteStore.open(tmp_path / NAME)
    except StoreError:  # a damaged version looks like a newer one, which stays untouched
        assert aside(tmp_path) == []
        return
    for session, bodies in (await logs_of(store)).items():
        await store.append(session, len(bodies) + 1, [b"on"], time=1.0)
        assert [row.body for row in await store.load(session)] == [*bodies, b"on"]
        whole_log = WHOLE_LOGS.get(session, bodies)
        assert len(bodies) <= len(whole_log)
        assert sum(found != body for found, body in zip(bodies, whole_log, strict=False)) <= 20
    await store.create("new", cwd="", time=1.0)
    assert len(store.warnings) <= 1
    await store.close()


def damaged(whole: bytes, chance: random.Random) -> bytes:
    data = bytearray(whole)
    offset = chance.randrange(len(data))
    match chance.randrange(5):
        case 0:
            del data[offset:]
        case 1:
            data[offset : offset + 4096] = bytes(len(data[offset : offset + 4096]))
        case 2:
            data[offset] ^= 1 << chance.randrange(8)
        case 3:
            data[chance.randrange(100)] = chance.randrange(256)
        case _:
            for _ in range(20):
                data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


@pytest.mark.parametrize("seed", range(20))
async def test_damaged_log_of_a_crash_leaves_prefixes(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    store = SqliteStore.open(tmp_path / NAME)
    for session in SESSIONS[:4]:
        await store.create(session, cwd="/work", time=1.0)
    for seq in range(1, 11):
        for session in SESSIONS[:4]:
            await store.append(session, seq, [body_of(session, seq)], time=float(seq))
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    shutil.copyfile(tmp_path / NAME, crashed / NAME)
    log = bytearray((tmp_path / f"{NAME}-wal").read_bytes())
    await store.close()
    offset = chance.randrange(len(log))
    log[offset : offset + chance.choice([1, 4096, len(log)])] = b"\x55"
    (crashed / f"{NAME}-wal").write_bytes(log)
    again = SqliteStore.open(crashed / NAME)
    for session, bodies in (await logs_of(again)).items():
        assert bodies == WHOLE_LOGS[session][: len(bodies)]
    await again.create("new", cwd="", time=1.0)
    await again.close()


async def test_damaged_file_that_others_have_open_is_left_alone(tmp_path: Path, whole: bytes) -> None:
    page = whole.index(b"<session-05 30>") // PAGE_SIZE * PAGE_SIZE
    (tmp_path / NAME).write_bytes(whole[:page] + bytes(PAGE_SIZE) + whole[page + PAGE_SIZE :])
    first, second = (SqliteStore.open(tmp_path / NAME, patience=0.05) for _ in range(2))
    with pytest.raises(StoreError, match="is damaged, and another process has it open: nothing was changed"):
        await first.load("session-05")
    await second.append("session-00", 61, [b"61"], time=61.0)
    await second.close()
    assert len(await first.load("session-05")) < 60
    assert len(await first.load("session-00")) == 61
    assert len(first.warnings) == 1
    await first.close()


async def test_two_processes_repair_once(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / NAME).write_bytes(bytes(4096) + whole[4096:])
    script = (
        "import sys; from onplan.stores.sqlite import SqliteStore;"
        "s = SqliteStore.open(sys.argv[1], patience=60.0); print(len(s.warnings)); s._let_go()"
    )
    command = [sys.executable, "-c", script, tmp_path / NAME]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    warnings = [run.communicate(timeout=50)[0].strip() for run in runs]
    assert sorted(warnings) == ["0", "0", "1"]
    assert len(aside(tmp_path)) == 1
    store = SqliteStore.open(tmp_path / NAME)
    assert await logs_of(store) == WHOLE_LOGS
    await store.close()
