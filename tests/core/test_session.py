"""Sessions: one writer, append only, repaired once, whole after every failure, readable for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import get_args

import pytest
from make_session_v1 import TODOS, records
from parts import (
    THREE,
    FragileStore,
    call,
    check_fold,
    check_messages,
    encoded,
    log_of,
    outcomes,
    records_of,
    results,
    start,
    todos,
    work,
    write,
)

from onplan.errors import SessionBusy, SessionNotFound, StoreError, ToolDefinitionError
from onplan.events import (
    PrefixChanged,
    Record,
    Resumed,
    SessionEnded,
    SessionStarted,
    ToolStarted,
    TurnEnded,
    decode_record,
    encode_record,
)
from onplan.messages import Assistant, Call, Note, ToolResult, User
from onplan.models.scripted import ScriptedModel
from onplan.plan.settings import Settings
from onplan.plan.todo import Rules
from onplan.planning import plan_of
from onplan.protocols import Holder
from onplan.session import Session, missing_results, read
from onplan.stores.holder import this_process
from onplan.stores.memory import MemoryStore

GOLDEN = Path(__file__).parent / "golden" / "session-v1.jsonl"
OTHER = Holder(host="elsewhere", pid=1, start=1.0)


async def session(store: MemoryStore, *first: Record) -> Session:
    made = await Session.create(store, this_process(), SessionStarted("s1", 1))
    await made.append(*first)
    return made


# --- one writer -------------------------------------------------------------------------------------


async def test_a_session_that_somebody_holds_is_busy_before_any_tool_runs() -> None:
    store = MemoryStore()
    await (await session(store)).close()
    await store.claim("s1", OTHER)
    with pytest.raises(SessionBusy, match=r"session s1 is open in another process \(pid 1 on elsewhere\)"):
        await start(["x"], store=store, resume="s1")
    assert (await records_of(store, "s1"))[-1] == SessionEnded()


async def test_a_writer_that_comes_between_is_noticed() -> None:
    store, made = MemoryStore(), None
    made = await session(store, User("go"))
    await store.append("s1", 3, [encode_record(User("mine"))], time=0)
    with pytest.raises(SessionBusy):
        await made.append(User("other"))
    assert list(made.messages) == [User("go")]


async def test_a_session_that_is_not_there_cannot_be_resumed() -> None:
    with pytest.raises(SessionNotFound):
        await start(["x"], resume="nowhere")


async def test_a_failed_resume_lets_go_of_the_session() -> None:
    store = MemoryStore()
    await (await session(store)).close()
    await store.append("s1", 3, [b"broken"], time=0)
    with pytest.raises(StoreError, match="record 3 of the session cannot be read"):
        await start(["x"], store=store, resume="s1")
    assert await store.claim("s1", OTHER) is None


async def test_a_resume_with_tools_that_cannot_be_offered_lets_go_of_the_session() -> None:

    store = MemoryStore()
    await (await session(store)).close()
    with pytest.raises(ToolDefinitionError):
        await start(["x"], work, work, store=store, resume="s1")
    assert await store.claim("s1", OTHER) is None


# --- appending --------------------------------------------------------------------------------------


async def test_what_is_folded_is_what_was_stored() -> None:
    folded: list[Record] = []
    store = MemoryStore()
    made = await Session.create(store, this_process(), SessionStarted("s1", 1), folds=[folded.append])
    sent = Call("t1", "x", {"items": (1, 2), "big": 10**30, 5: {"y"}})
    await made.append(Assistant((sent,)))
    assert folded == await records_of(store, "s1")
    assert encoded(folded[-1]) == encoded(
        Assistant((Call("t1", "x", {"items": [1, 2], "big": 10**30, "5": ["y"]}),))
    )


async def test_a_failed_append_changes_nothing() -> None:
    store = FragileStore({2})
    made = await Session.create(store, this_process(), SessionStarted("s1", 1))
    with pytest.raises(StoreError):
        await made.append(User("go"), User("on"))
    assert (list(made.messages), await records_of(store, "s1")) == ([], [SessionStarted("s1", 1)])
    await made.append(User("again"))
    assert list(made.messages) == [User("again")]


async def test_what_is_no_record_is_refused_before_anything_is_stored() -> None:
    store = MemoryStore()
    made = await session(store)
    with pytest.raises(StoreError, match="not a record"):
        await made.append(User("go"), Note(5, "kind"))  # pyright: ignore[reportArgumentType]
    assert list(made.messages) == []
    assert len(await records_of(store, "s1")) == 1


@pytest.mark.parametrize("steps", range(8))
async def test_a_cancelled_append_is_whole_in_store_and_memory_or_in_neither(steps: int) -> None:
    store = FragileStore()
    made = await Session.create(store, this_process(), SessionStarted("s1", 1))
    writing = asyncio.create_task(made.append(User("go"), User("on")))
    for _ in range(steps):
        await asyncio.sleep(0)
    writing.cancel()
    await asyncio.wait([writing])
    logged = await records_of(store, "s1")
    assert list(made.messages) == logged[1:]
    assert len(logged) in (1, 3)
    await made.append(User("again"))


async def test_a_cancellation_during_an_append_comes_once_and_with_the_next_wait() -> None:
    store = FragileStore()
    made = await Session.create(store, this_process(), SessionStarted("s1", 1))
    came: list[str] = []

    async def write_and_wait() -> None:
        await made.append(User("go"))
        came.append("written")
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            came.append(f"cancelled {task.cancelling()}")
        await asyncio.sleep(0)
        came.append("left")

    task = asyncio.create_task(write_and_wait())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert came == ["written", "cancelled 1", "left"]


async def test_appends_at_the_same_time_follow_each_other() -> None:
    store = FragileStore()
    made = await Session.create(store, this_process(), SessionStarted("s1", 1))
    await asyncio.gather(*(made.append(User(str(n)), User(str(n))) for n in range(5)))
    assert list(made.messages) == (await records_of(store, "s1"))[1:]
    assert len(made.messages) == 10


async def test_results_that_are_missing_are_written_before_the_next_message() -> None:
    store = MemoryStore()
    made = await session(store, User("go"), Assistant((call(1), call(2))), ToolStarted("t1"))
    await made.append(User("again"))
    check_messages(made.messages)
    assert outcomes(made.messages) == [("t1", "interrupted"), ("t2", "not_executed")]
    assert made.messages[-1] == User("again")


async def test_a_closed_session_takes_no_more_and_closes_once() -> None:
    store = MemoryStore()
    made = await session(store)
    await made.close()
    await made.close()
    with pytest.raises(StoreError, match="session s1 is closed: resume it"):
        await made.append(User("late"))
    assert await records_of(store, "s1") == [SessionStarted("s1", 1), SessionEnded()]
    assert await store.claim("s1", OTHER) is None


# --- resuming ---------------------------------------------------------------------------------------


async def test_a_resumed_session_has_its_plan_its_revision_and_its_prefix() -> None:
    store = MemoryStore()
    agent = await start([[write(1)], [call(2)], "so", "so"], store=store)
    await agent.run("go")
    await agent.close()
    model = ScriptedModel([[call(3, "read_todos")], [write(4, ("a", "completed"))], "done"])
    again = await start(model, store=store, resume=agent.session_id)
    assert again.plan_state == agent.plan_state
    assert (again.session_id, again.system) == (agent.session_id, agent.system)
    assert again.plan.to_json() == todos(*THREE)
    result = await again.run("go on")
    assert results(again.messages)[-2].content == "[x] a\n[~] b\n[ ] c"
    assert result.revision == 2


async def test_a_write_survives_a_kill_right_behind_it() -> None:
    store = MemoryStore()
    agent = await start([[write(1)], "so", "so"], store=store)
    await agent.run("go")
    rows = await store.load(agent.session_id)
    at = next(n for n, row in enumerate(rows, 1) if isinstance(decode_record(row.body), ToolResult))
    killed = MemoryStore()
    await killed.create("k", cwd="", time=0)
    await killed.append("k", 1, [row.body for row in rows[:at]], time=0)
    model = ScriptedModel(["x", "x"])
    again = await start(model, store=killed, resume="k")
    await again.run("go on")
    assert again.plan.to_json() == todos(*THREE)
    shown = [m for m in model.requests[0].messages if isinstance(m, ToolResult)]
    assert [m.content for m in shown] == ["Task list updated:\n[x] a\n[~] b\n[ ] c"]


async def test_a_cleared_plan_stays_cleared() -> None:
    store = MemoryStore()
    agent = await start([[write(1)], [call(2, "write_todos", todos=[])], "done"], store=store)
    assert (await agent.run("go")).reason == "done"
    await agent.close()
    again = await start([[call(3, "read_todos")], "x"], store=store, resume=agent.session_id)
    await again.run("and?")
    assert (len(again.plan), again.plan_state.ledger.revision) == (0, 2)
    assert results(again.messages)[-1].content == "No task list yet. Call write_todos to create one."


async def test_a_new_session_knows_nothing_of_another() -> None:
    store = MemoryStore()
    first = await start([[write(1, ("secret", "pending"))], [call(2)], [call(3)], "so", "so"], store=store)
    await first.run("go")
    await first.close()
    before = await records_of(store, first.session_id)
    model = ScriptedModel([[call(1, "read_todos")], "x"])
    second = await start(model, store=store)
    await second.run("hi")
    assert second.session_id != first.session_id
    assert all(
        b"secret" not in encoded(list(request.messages)) + request.system.encode()
        for request in model.requests
    )
    assert (second.plan_state.ledger.revision, len(second.plan)) == (0, 0)
    assert await records_of(store, first.session_id) == before
    again = await start(["x", "x"], store=store, resume=first.session_id)
    assert again.plan.to_json() == todos(("secret", "pending"))


async def test_resuming_again_adds_only_that_it_was_resumed() -> None:
    store = MemoryStore()
    agent = await start(["x"], store=store)
    await agent.run("go")
    before = await records_of(store, agent.session_id)
    for _ in range(2):
        await (await start(["x"], store=store, resume=agent.session_id)).close()
    assert (await records_of(store, agent.session_id))[len(before) :] == [Resumed(), SessionEnded()] * 2


async def test_a_plan_that_was_stored_under_laxer_rules_loads_as_it_is() -> None:
    many = [{"content": f"step {n}", "status": "in_progress"} for n in range(30)]
    store = MemoryStore()
    lax = Settings(rules=Rules(max_items=None, max_in_progress=None)).to_json()
    strict = Settings(rules=Rules(max_items=5))
    made = await Session.create(store, this_process(), SessionStarted("s1", 1, planning=lax))
    details = {"plan": {"type": "written", "revision": 1, "todos": many}}
    await made.append(
        User("go"), Assistant((call(1, "write_todos"),)), ToolResult("t1", "write_todos", "", details=details)
    )
    await made.close()
    again = await start(["x"], store=store, resume="s1", planning=strict)
    assert again.plan.to_json() == many
    assert plan_of(await records_of(store, "s1"), strict).plan.to_json() == many


# --- the golden file --------------------------------------------------------------------------------


def golden() -> list[Record]:
    return [decode_record(line) for line in GOLDEN.read_bytes().splitlines()]


def test_the_golden_log_reads_as_it_was_written() -> None:
    assert golden() == records()


def test_the_golden_files_hold_one_of_every_record() -> None:
    lines = [
        line for file in GOLDEN.parent.glob("session-v1*.jsonl") for line in file.read_bytes().splitlines()
    ]
    assert {type(decode_record(line)) for line in lines} == set(get_args(Record))


def test_version_1_is_still_written_as_it_was() -> None:
    assert [encode_record(record) for record in records()] == GOLDEN.read_bytes().splitlines()


async def test_the_golden_log_resumes_with_its_plan_and_is_repaired() -> None:
    store = MemoryStore()
    await store.create("20260101", cwd="/work", time=0)
    await store.append("20260101", 1, GOLDEN.read_bytes().splitlines(), time=0)
    agent = await start(["x", "x"], store=store, resume="20260101")
    assert agent.plan.to_json() == [*TODOS, {"content": "Mine", "status": "pending"}]
    assert agent.plan_state.ledger.revision == 4
    assert agent.plan_state.settings.rules.max_items == 2
    assert agent.system == "Be better."
    assert outcomes(agent.messages)[-2:] == [("t5", "interrupted"), ("t6", "not_executed")]
    other = PrefixChanged("another model", model="scripted")
    assert (await log_of(store))[-2:] == [Resumed(("t5", "t6")), other]
    assert (await agent.run("go on")).reason == "open_todos"
    await check_fold(agent, store)


def test_repairing_a_whole_log_finds_nothing() -> None:
    whole = [*golden(), *missing_results(golden())]
    assert missing_results(whole) == []


async def test_a_log_that_cannot_be_read_names_the_record() -> None:
    store = MemoryStore()
    await store.create("s1", cwd="", time=0)
    await store.append("s1", 1, [encode_record(User("x")), b'{"type":"from the future"}'], time=0)
    with pytest.raises(StoreError, match="record 2 of the session cannot be read"):
        read(await store.load("s1"))


async def test_the_end_of_a_turn_is_logged_with_what_it_took() -> None:
    store = MemoryStore()
    agent = await start([[call(1)], "x"], store=store)
    await agent.run("go")
    assert (await log_of(store))[-1] == TurnEnded("done", rounds=1, requests=2)
