"""Faults under the whole program: what the person is told in one line, and that nothing accepted is lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from onplan.agent import Agent
from onplan.cli.main import cli
from onplan.events import SessionStarted
from onplan.messages import Call
from onplan.models.scripted import Reply, ScriptedModel
from onplan.session import Session
from onplan.stores.holder import this_process
from onplan.stores.schema import PAGE_SIZE, SEQ_BITS
from onplan.stores.sqlite import SqliteStore

Script = Callable[..., str]
PATIENCE = 30.0
"""Seconds after which a test tells a hang from a return."""

PLAN = [("look", "completed"), ("write", "in_progress"), ("ship", "pending")]
SHOWN = ["plan r1 · 1/3 done", "   [x] look", "   [~] write", "   [ ] ship"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home"
    monkeypatch.setenv("ONPLAN_HOME", str(path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    for name in ("MODEL_ID", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "COLUMNS", "ONPLAN_SYNC"):
        monkeypatch.delenv(name, raising=False)
    return path


def onplan(*arguments: str, input: str = "") -> Result:
    return CliRunner().invoke(cli, list(arguments), input=input)


def told(ran: Result) -> str:
    """The one line on stderr of a command that failed, without a traceback."""
    assert ran.exit_code == 1
    assert ran.stderr.count("\n") == 1, ran.stderr
    return ran.stderr.removeprefix("onplan: ").rstrip("\n")


def write(*items: tuple[str, str]) -> Call:
    return Call(f"w{len(items)}", "write_todos", {"todos": [{"content": c, "status": s} for c, s in items]})


def planning(command: str) -> list[Any]:
    """A script: the plan, then a command."""
    todos = [{"content": content, "status": status} for content, status in PLAN]
    return [
        {"calls": [{"name": "write_todos", "arguments": {"todos": todos}}]},
        {"calls": [{"name": "bash", "arguments": {"command": command}}]},
        "Stopped there.",
        "Stopped there.",
    ]


async def agent_on(store: SqliteStore, *replies: Reply, resume: str = "") -> Agent:
    return await Agent.start(model=ScriptedModel(replies), store=store, resume=resume, cwd="/work")


# --- the disk ---------------------------------------------------------------------------------------


async def test_a_full_disk_ends_the_turn_with_a_line_and_what_was_accepted_is_there(home: Path):
    store = SqliteStore.open(home / "sessions.sqlite3")
    agent = await agent_on(store, [write(*PLAN)], [write(("other", "pending"))], "x", "x")
    full = store._run(lambda db: db.execute("PRAGMA page_count").fetchone()[0]) + 3
    await agent.run("go")
    store._run(lambda db: db.execute(f"PRAGMA max_page_count={full}"))
    ended = await agent.run("x" * 10 * PAGE_SIZE)
    assert (ended.reason, ended.exit_code) == ("store_error", 1)
    assert ended.error == (
        f"{home}/sessions.sqlite3 cannot be written: the disk is full. "
        "Free some space, or set ONPLAN_HOME to another directory"
    )
    store._run(lambda db: db.execute("PRAGMA max_page_count=1000000"))
    before = agent.plan_state
    await agent.close()
    again = await agent_on(store, "y", "y", resume=agent.session_id)
    assert again.plan_state == before
    assert (await again.run("go on")).reason == "open_todos"
    await again.close()
    await store.close()


READ_ONLY = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
SMALL = ("--size", "400000", "--tmpfs")

SMALL_DISK = """
cd {work}
{onplan} -p "Do it" --auto --model {model}; echo "exit $?"
rm {home}/filler
{onplan} plan show
{onplan} resume -p "go on" --auto --model script:after.json; echo "exit $?"
"""


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap for a disk of its own")
def test_a_run_on_a_disk_that_fills_up_tells_so_and_goes_on_once_there_is_room(
    work: Path, home: Path, script: Script
):
    home.mkdir()
    model = script(*planning(f"head -c 400000 /dev/zero > {home}/filler"))
    (work / "after.json").write_text('["I see.", "I see."]')
    onplan_here = f"{sys.executable} -m onplan"
    steps = SMALL_DISK.format(work=work, home=home, model=model, onplan=onplan_here)
    ran = subprocess.run(
        [*READ_ONLY, "--bind", str(work), str(work), *SMALL, str(home), "/bin/sh", "-c", steps],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if "bwrap:" in ran.stderr:
        pytest.skip(f"no disk of its own here: {ran.stderr.splitlines()[0]}")
    assert "Traceback" not in ran.stderr
    lines = ran.stdout.splitlines()
    assert "exit 1" in lines[:2]
    assert "the disk is full. Free some space, or set ONPLAN_HOME to another directory" in ran.stderr
    at = lines.index(SHOWN[0])
    assert lines[at : at + 4] == SHOWN
    assert lines[-1] == "exit 4"


@pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="needs bubblewrap for a directory that root cannot write"
)
def test_a_read_only_directory_is_a_line_and_its_sessions_stay(work: Path, home: Path, script: Script):
    assert onplan("-p", "Do it", "--auto", "--model", script(*planning("true"))).exit_code == 4
    before = (home / "sessions.sqlite3").read_bytes()
    ran = subprocess.run(
        [*READ_ONLY, sys.executable, "-m", "onplan", "-p", "more", "--auto", "--model", script("Hi.")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if "bwrap:" in ran.stderr:
        pytest.skip(f"no read-only directory here: {ran.stderr.splitlines()[0]}")
    assert (ran.returncode, ran.stdout) == (1, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith("onplan: ")
    assert "set ONPLAN_HOME to another directory" in line
    assert (home / "sessions.sqlite3").read_bytes() == before
    assert onplan("plan", "show").stdout.splitlines() == SHOWN


# --- other processes --------------------------------------------------------------------------------


async def test_a_locked_database_ends_the_turn_with_a_line_and_the_next_turn_goes_on(home: Path):
    store = SqliteStore.open(home / "sessions.sqlite3", patience=0.05)
    agent = await agent_on(store, [write(*PLAN)], "x", "x", "y", "y")
    await agent.run("go")
    other = sqlite3.connect(home / "sessions.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ended = await agent.run("more")
    assert (ended.reason, ended.error) == (
        "store_error",
        f"{home}/sessions.sqlite3 is locked by another process; wait for it or end it, then try again",
    )
    other.execute("ROLLBACK")
    other.close()
    assert (await agent.run("once more")).reason == "open_todos"
    assert [todo.content for todo in agent.plan] == ["look", "write", "ship"]
    await agent.close()
    await store.close()


@contextlib.contextmanager
def at_work(work: Path, model: str) -> Iterator[subprocess.Popen[bytes]]:
    """A run in a process of its own, in the middle of a command."""
    run = subprocess.Popen(
        [sys.executable, "-m", "onplan", "-p", "Do it", "--auto", "--model", model],
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + PATIENCE
        while not (work / "started").exists():
            assert time.monotonic() < until, "the command did not start"
            time.sleep(0.02)
        yield run
    finally:
        run.kill()
        run.wait(PATIENCE)


WAITS = "touch started; until test -e go_on; do sleep 0.05; done"


def test_a_second_process_is_told_who_holds_the_session_before_anything_runs(work: Path, script: Script):
    with at_work(work, script(*planning(WAITS))) as run:
        held = f"is open in another process (pid {run.pid} on {os.uname().nodename})"
        (session,) = json.loads(onplan("sessions", "--json").stdout)
        for arguments in (
            ("resume", session["id"], "-p", "x", "--auto", "--model", script("Hi.")),
            ("sessions", "delete", session["id"], "--yes"),
        ):
            assert f"session {session['id']} {held}" in told(onplan(*arguments))
        assert onplan("plan", "show").stdout.splitlines() == SHOWN  # reading is free
        assert onplan("fork", session["id"]).exit_code == 0
        (work / "go_on").touch()
        assert run.wait(PATIENCE) == 4
    assert onplan("plan", "show", "--session", session["id"]).stdout.splitlines() == SHOWN


def test_a_killed_holder_holds_nothing_and_its_session_goes_on(work: Path, script: Script):
    with at_work(work, script(*planning(WAITS))) as run:
        run.kill()
    (work / "go_on").touch()
    assert onplan("plan", "show").stdout.splitlines() == SHOWN
    (line,) = json.loads(onplan("sessions", "--json").stdout)
    assert (line["title"], line["done"], line["total"], line["ended"]) == ("Do it", 1, 3, "")
    told = onplan(
        "resume",
        "-p",
        "go on",
        "--auto",
        "--model",
        script("I see.", "I see."),
        "--output-format",
        "stream-json",
    )
    events = [json.loads(line) for line in told.stdout.splitlines()]
    assert [event["repaired"] for event in events if event["type"] == "resumed"] == [["call_2"]]
    (note,) = [
        event["text"] for event in events if event["type"] == "note" and event["kind"] == "interrupted"
    ]
    assert '"write" was in progress: verify what was done' in note
    assert [line for line in onplan("show").stdout.splitlines() if "interrupted" in line and "bash" in line]


def test_what_was_left_for_a_holder_that_was_killed_is_done_and_told(work: Path, script: Script):
    with at_work(work, script(*planning(WAITS))) as run:
        for checklist in ("- [ ] mine\n- [~] write\n", "- [~] write\n- [ ] last\n"):
            left = onplan("plan", "edit", "--file", "-", input=checklist)
            assert "was left there: it is made before the next request to the model" in " ".join(
                left.stdout.split()
            )
        run.kill()
    (work / "go_on").touch()
    ran = onplan("resume", "-p", "go on", "--auto", "--model", script("I see.", "I see."))
    assert ran.exit_code == 4
    shown = onplan("plan", "show").stdout.splitlines()
    assert [line[4:] for line in shown[1:]] == [" ] mine", "~] write", " ] last"]
    assert sum("edit by you" in line for line in onplan("show").stdout.splitlines()) == 2


def test_what_was_left_for_a_killed_holder_goes_before_what_is_changed_now(work: Path, script: Script):
    with at_work(work, script(*planning(WAITS))) as run:
        onplan("plan", "edit", "--file", "-", input="- [ ] mine\n")
        run.kill()
    (work / "go_on").touch()
    assert onplan("plan", "undo").stdout.splitlines()[0] == "plan r3 by you · 1/3 done"
    assert [line[3:] for line in onplan("plan", "show").stdout.splitlines()[1:]] == [
        "[x] look",
        "[~] write",
        "[ ] ship",
    ]
    assert onplan("plan", "at", "2").stdout.splitlines()[1:] == ["   [ ] mine"]


# --- the clock --------------------------------------------------------------------------------------


def test_a_clock_that_is_set_back_keeps_the_order_and_shows_no_negative_age(home: Path, work: Path):
    async def ends_before_it_began() -> None:
        times = iter([4e9, 3e9, 2e9])
        store = SqliteStore.open(home / "sessions.sqlite3")
        started = SessionStarted("s1", 1, cwd=str(work))
        session = await Session.create(store, this_process(), started, clock=lambda: next(times))
        await session.close()
        await store.close()

    asyncio.run(ends_before_it_began())
    assert onplan("sessions").stdout.splitlines()[1].split()[:2] == ["s1", "now"]
    told = json.loads(onplan("show", "s1", "--json").stdout)["records"]
    assert [(item["seq"], item["record"]["type"]) for item in told] == [(1, "session"), (2, "session_ended")]
    assert onplan("resume", "s1", "-p", "x", "--model", "demo").exit_code == 0


# --- damage -----------------------------------------------------------------------------------------


def test_a_damaged_file_is_told_once_and_what_came_before_the_damage_goes_on(
    work: Path, home: Path, script: Script
):
    assert onplan("-p", "Do it", "--auto", "--model", script(*planning("true"))).exit_code == 4
    file = home / "sessions.sqlite3"
    whole = file.read_bytes()
    file.write_bytes(bytes(2048) + whole[2048:])
    first = onplan("plan", "show")
    assert first.stdout.splitlines() == SHOWN
    (warning,) = first.stderr.splitlines()
    assert warning.startswith(f"onplan: {file} was damaged: ")
    (kept,) = home.glob("sessions.sqlite3.corrupt-*")
    assert warning.endswith(f"the damaged file is kept as {kept.name}")
    assert kept.read_bytes() == bytes(2048) + whole[2048:]
    ran = onplan("resume", "-p", "go on", "--auto", "--model", script("I see.", "I see."))
    assert (ran.exit_code, "damaged" in ran.stderr) == (4, False)


def test_a_record_that_cannot_be_read_is_named_and_a_fork_goes_on_in_front_of_it(
    work: Path, home: Path, script: Script
):
    onplan("-p", "Do it", "--auto", "--model", script(*planning("true")))
    (session,) = json.loads(onplan("sessions", "--json").stdout)
    end = session["records"]
    with contextlib.closing(sqlite3.connect(home / "sessions.sqlite3", isolation_level=None)) as db:
        (row,) = db.execute("SELECT max(id) FROM records").fetchone()
        assert row & (1 << SEQ_BITS) - 1 == end
        db.execute("INSERT INTO records VALUES (?, 1.0, ?)", (row + 1, b'{"type":"user"'))
    for arguments in (["show"], ["plan", "show"], ["resume", "-p", "x", "--model", "demo"]):
        line = told(onplan(*arguments))
        assert line.startswith(f"record {end + 1} of the session cannot be read: ")
        assert line.endswith(f"onplan fork ID --at {end} goes on in front of it")
    forked = onplan("fork", session["id"], "--at", str(end))
    assert forked.stdout.splitlines()[1:5] == SHOWN
    ran = onplan("resume", "-p", "go on", "--auto", "--model", script("I see.", "I see."))
    assert ran.exit_code == 4
    assert [line["id"] for line in json.loads(onplan("sessions", "--search", "Do it", "--json").stdout)][
        1
    ] == session["id"]


@pytest.mark.parametrize("damage", [bytes(2048), bytes(PAGE_SIZE)], ids=["header", "page"])
def test_a_damaged_file_of_the_first_version_is_repaired_into_the_newest(home: Path, damage: bytes):
    home.mkdir()
    whole = (Path(__file__).parent / "golden" / "sessions-v1.sqlite3").read_bytes()
    (home / "sessions.sqlite3").write_bytes(damage + whole[len(damage) :])
    ran = onplan("sessions", "--json")
    assert "was damaged: 4 of its records in 2 sessions were saved" in ran.stderr
    assert [(line["id"], line["title"], line["records"]) for line in json.loads(ran.stdout)] == [
        ("20260102-second", "", 1),
        ("20260101-first", "Fix it ✓", 3),
    ]
    assert onplan("sessions", "--json").stderr == ""


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"{}", b"[1,2]", b'[{"content":"A","sta'])
def test_a_file_that_is_no_database_is_set_aside_and_work_begins(
    work: Path, home: Path, script: Script, content: bytes
):
    home.mkdir()
    (home / "sessions.sqlite3").write_bytes(content)
    ran = onplan("-p", "Do it", "--auto", "--model", script(*planning("true")))
    assert ran.exit_code == 4
    kept = [*home.glob("*.corrupt-*")]
    assert ("was damaged" in ran.stderr, [file.read_bytes() for file in kept]) == (
        (True, [content]) if content else (False, [])
    )
    assert onplan("plan", "show").stdout.splitlines() == SHOWN
