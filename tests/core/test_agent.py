"""The agent: turns as results and as events, interruption from everywhere, the end of everything."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from parts import (
    THREE,
    FragileStore,
    Gate,
    call,
    check_fold,
    check_requests,
    forever,
    log_of,
    notes,
    outcomes,
    start,
    todos,
    warnings,
    work,
    write,
)

from onplan.agent import Agent, Result, run_sync
from onplan.coding import coding_agent
from onplan.errors import OnplanError, PlanError, StoreError
from onplan.events import (
    EndReason,
    PlanChanged,
    PlanEdited,
    RequestStarted,
    SessionEnded,
    TextDelta,
    ToolStarted,
    TurnEnded,
)
from onplan.hooks import Block, Deny, Hooks, View
from onplan.messages import Assistant, Call, Text, ToolResult, Usage, User, model_text
from onplan.models.scripted import ScriptedModel
from onplan.plan.todo import Plan
from onplan.protocols import InboxRow
from onplan.session import InboxRequest, leave_request
from onplan.stores.holder import this_process
from onplan.stores.memory import MemoryStore
from onplan.toolset import Tool

LIMIT = 20

# --- results ----------------------------------------------------------------------------------------


async def test_a_result_is_the_whole_turn_in_one_value() -> None:
    agent = await start([[write(1), call(2)], Assistant((Text("done"),), usage=Usage(5, 6)), "really"])
    result = await agent.run("go")
    assert result == Result(
        text="really",
        reason="open_todos",
        plan=Plan.from_json(todos(*THREE)),
        revision=1,
        usage=Usage(5, 6),
        rounds=1,
        requests=3,
        session=agent.session_id,
    )


@pytest.mark.parametrize(
    ("reason", "nobody", "code"),
    [
        ("done", 0, 0),
        ("done", 1, 3),
        ("open_todos", 0, 4),
        ("open_todos", 1, 3),
        ("model_error", 1, 1),
        ("store_error", 0, 1),
        ("refusal", 0, 1),
        ("empty", 0, 1),
        ("blocked", 0, 1),
        ("rounds", 1, 5),
        ("tokens", 0, 5),
        ("cost", 0, 5),
        ("length", 0, 5),
        ("plan_loop", 0, 5),
        ("call_loop", 0, 5),
        ("interrupted", 1, 130),
    ],
)
def test_the_exit_code_is_the_first_that_applies(reason: EndReason, nobody: int, code: int) -> None:
    assert Result("", reason, Plan(), 0, Usage(), 0, 0, "s", nobody).exit_code == code


async def test_an_interrupted_turn_says_what_it_took() -> None:
    gate = Gate()
    spent = Assistant((call(2, "wait"),), usage=Usage(7, 8))
    agent = await start([[call(1)], spent], gate.tool, work)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    agent.interrupt()
    result = await turn
    assert (result.reason, result.requests, result.rounds, result.usage) == ("interrupted", 2, 1, Usage(7, 8))


async def test_a_turn_is_described_in_the_list_of_sessions() -> None:
    store = MemoryStore()
    agent = await start([[write(1)], "x", "x", "y", "y"], store=store)
    await agent.run("  Fix\n it " + "x" * 200)
    await agent.run("second")
    info = await store.find("latest")
    assert (info.title, info.done, info.total, info.ended) == (
        ("Fix it " + "x" * 200)[:80],
        1,
        3,
        "open_todos",
    )


async def test_a_turn_does_not_begin_while_another_runs() -> None:
    gate = Gate()
    agent = await start([[call(1, "wait")], "x"], gate.tool)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    with pytest.raises(OnplanError, match="a turn is running already"):
        await agent.run("too")
    gate.opened.set()
    assert (await turn).text == "x"


# --- interruption -----------------------------------------------------------------------------------


async def test_interrupting_when_nothing_runs_does_nothing() -> None:
    agent = await start(["x", "y"])
    assert agent.interrupt() is False
    assert (await agent.run("go")).text == "x"
    assert agent.interrupt() is False
    assert (await agent.run("go")).text == "y"


async def test_an_interruption_before_the_message_is_logged_leaves_no_turn_behind() -> None:
    async def slow(text: str, view: View) -> None:
        if text == "slow":
            agent.interrupt()
            await asyncio.sleep(LIMIT)

    agent = await start(["x"], hooks=Hooks(user_prompt=(slow,)))
    assert (await agent.run("slow")).reason == "interrupted"
    assert list(agent.messages) == []
    await agent.run("go")
    assert notes(agent.messages) == []


async def test_the_next_turn_is_told_once_that_the_one_before_was_interrupted() -> None:
    gate = Gate()
    model = ScriptedModel([[write(1), call(2, "wait")], "x", "x", "y", "y"])
    agent = await start(model, gate.tool)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    agent.interrupt()
    await turn
    assert agent.plan.to_json() == todos(*THREE)
    await agent.run("go on")
    await agent.run("and on")
    assert [note.text for note in notes(agent.messages, "interrupted")] == [
        '<notice>The turn before this was interrupted. "b" was in progress: verify what was done before you '
        "go on.</notice>"
    ]
    check_requests(model.requests)


async def test_a_crash_in_a_turn_is_told_to_the_next_as_an_interruption() -> None:
    store = MemoryStore()
    agent = await start([[write(1)], "x", "x"], store=store)
    await agent.run("go")
    rows = [row.body for row in await store.load(agent.session_id)]
    crashed = MemoryStore()
    await crashed.create("c", cwd="", time=0)
    await crashed.append("c", 1, rows[:4], time=0)  # session, user, reply, started
    again = await start(["y", "y"], store=crashed, resume="c")
    await again.run("go on")
    assert outcomes(again.messages) == [("t1", "interrupted")]
    assert len(notes(again.messages, "interrupted")) == 1


async def test_a_turn_that_ended_well_is_not_called_interrupted_after_a_resume() -> None:
    store = MemoryStore()
    agent = await start(["x"], store=store)
    await agent.run("go")
    again = await start(["y"], store=store, resume=agent.session_id)
    await again.run("go on")
    assert notes(again.messages) == []


# --- events -----------------------------------------------------------------------------------------


async def test_a_turn_as_events_in_order_with_its_end_as_the_last() -> None:
    agent = await start([[write(1, ("x", "completed"))], "done"])
    events = [event async for event in agent.stream("go")]
    (result,) = [event for event in events if isinstance(event, ToolResult)]
    assert events == [
        User("go"),
        RequestStarted(1, 1),
        Assistant((write(1, ("x", "completed")),), "tool_calls", model="scripted"),
        ToolStarted("t1"),
        PlanChanged(1, tuple(todos(("x", "completed"))), {"added": ["x"]}),
        result,
        RequestStarted(2, 3),
        TextDelta("done"),
        Assistant((Text("done"),), model="scripted"),
        TurnEnded("done", rounds=1, requests=2),
    ]


async def test_a_blocked_turn_as_events_is_its_end() -> None:
    def block(text: str, view: View) -> Block:
        return Block("no")

    agent = await start(["x"], hooks=Hooks(user_prompt=(block,)))
    assert [event async for event in agent.stream("go")] == [TurnEnded("blocked", error="no")]


async def test_leaving_a_stream_early_interrupts_the_turn() -> None:
    gate = Gate()
    agent = await start([[call(1, "wait"), call(2, "wait")], "good"], gate.tool)
    stream = agent.stream("go")
    async with asyncio.timeout(LIMIT):
        async for event in stream:
            if isinstance(event, ToolStarted):
                break
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # it is a generator
    assert [outcome for _, outcome in outcomes(agent.messages)] in (
        [["interrupted", "not_executed"], ["not_executed", "not_executed"]]
    )
    assert (await agent.run("continue")).text == "good"


async def test_a_cancelled_reader_of_a_stream_interrupts_the_turn() -> None:
    gate = Gate()
    agent = await start([[call(1, "wait")], "good"], gate.tool)

    async def read() -> None:
        async for _ in agent.stream("go"):
            pass

    reader = asyncio.create_task(read())
    await gate.entered.wait()
    reader.cancel()
    await asyncio.wait([reader])
    assert reader.cancelled()
    assert outcomes(agent.messages) == [("t1", "interrupted")]
    assert (await agent.run("continue")).text == "good"


async def test_a_stream_that_cannot_begin_says_so() -> None:
    gate = Gate()
    agent = await start([[call(1, "wait")], "x"], gate.tool)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    with pytest.raises(OnplanError, match="a turn is running already"):
        _ = [event async for event in agent.stream("too")]
    gate.opened.set()
    assert (await turn).reason == "done"


async def test_listeners_hear_only_what_happens_from_now_on() -> None:
    store, events = MemoryStore(), list[Any]()
    agent = await start([[write(1)], "x", "x"], store=store)
    await agent.run("go")
    await agent.close()
    again = await start(["y", "y"], store=store, resume=agent.session_id, events=events)
    assert events == []
    await again.run("more")
    assert events[0] == User("more")


# --- the person's plan ------------------------------------------------------------------------------


async def test_an_edit_by_the_person_is_told_once() -> None:
    model = ScriptedModel([[write(1)], "x", "x", [call(2)], "y", "y", "z", "z"])
    store, events = MemoryStore(), list[Any]()
    agent = await start(model, store=store, events=events)
    await agent.run("go")
    await agent.edit_plan(
        [{"content": "a", "status": "completed"}, {"content": "c", "status": "pending"}, "d"]
    )
    assert [event for event in events if isinstance(event, PlanChanged)][-1].author == "user"
    await agent.run("more")
    await agent.run("and more")
    told = [n.text for n in notes(agent.messages, "reminder") if "The person changed the plan" in n.text]
    assert len(told) == 1
    assert "do not add again" in told[0]
    assert '"b"' in told[0]
    check_requests(model.requests)
    await check_fold(agent, store)


async def test_a_write_based_on_an_older_plan_keeps_what_the_person_added() -> None:
    async def edits(call: Call, tool: Tool, view: View) -> None:
        if call.id == "t2":
            await agent.edit_plan([*agent.plan, "mine"])

    newer = write(2, ("a", "completed"), ("b", "completed"), ("c", "in_progress"))
    agent = await start([[write(1)], [newer], "x", "x"], hooks=Hooks(before_tool=(edits,)))
    result = await agent.run("go")
    assert [todo.content for todo in result.plan] == ["a", "b", "c", "mine"]
    assert result.plan.done == 2


async def test_an_edit_between_a_write_and_its_log_is_told_to_come_again() -> None:
    told: list[str] = []

    async def edits(call: Call, result: ToolResult, view: View) -> None:
        try:
            await agent.edit_plan(["mine"])
        except PlanError as error:
            told.append(str(error))

    store = MemoryStore()
    agent = await start([[write(1)], [write(2)], "x", "x"], store=store, hooks=Hooks(after_tool=(edits,)))
    result = await agent.run("go")
    assert told == ["the model is changing the plan at this moment: try again"]
    assert [todo.content for todo in result.plan] == ["mine"]
    assert [r.number for r in agent.plan_state.ledger.revisions] == [1, 2]
    await check_fold(agent, store)


async def test_undo_and_redo_are_revisions_in_the_log() -> None:
    store = MemoryStore()
    agent = await start([[write(1)], "x", "x"], store=store)
    await agent.run("go")
    assert len(await agent.undo_plan()) == 0
    assert (await agent.redo_plan()).to_json() == todos(*THREE)
    edits = [record for record in await log_of(store) if isinstance(record, PlanEdited)]
    assert [(edit.revision, edit.action) for edit in edits] == [(2, "undo"), (3, "redo")]
    with pytest.raises(PlanError, match="nothing to redo"):
        await agent.redo_plan()


async def test_an_edit_that_breaks_the_rules_or_cannot_be_stored_changes_nothing() -> None:
    store = FragileStore()
    agent = await start([[write(1)], "x", "x"], store=store)
    await agent.run("go")
    with pytest.raises(PlanError):
        await agent.edit_plan(["x" * 501])
    store.failing.add(store.appends + 1)
    with pytest.raises(StoreError):
        await agent.edit_plan(["x"])
    assert agent.plan.to_json() == todos(*THREE)
    await check_fold(agent, store)


async def test_an_edit_that_changes_nothing_is_no_revision() -> None:
    agent = await start([[write(1)], "x", "x"])
    await agent.run("go")
    await agent.edit_plan(todos(*THREE))
    assert agent.plan_state.ledger.revision == 1


# --- the inbox --------------------------------------------------------------------------------------


async def test_requests_of_others_are_served_at_the_boundary_of_a_round() -> None:
    store = MemoryStore()

    async def leave(call: Call, result: ToolResult, view: View) -> None:
        if call.id == "t2":
            await leave_request(store, agent.session_id, InboxRequest("edit", ({"content": "theirs"},)))
            await leave_request(store, agent.session_id, InboxRequest("undo"))
            await leave_request(store, agent.session_id, InboxRequest("redo"))

    model = ScriptedModel([[write(1)], [call(2), call(3)], "x", "x"])
    agent = await start(model, store=store, hooks=Hooks(after_tool=(leave,)))
    result = await agent.run("go")
    assert (result.plan.to_json(), result.revision) == (todos(("theirs", "pending")), 4)
    assert "The person changed the plan." in model_text(model.requests[2].messages[-1])
    check_requests(model.requests)
    await check_fold(agent, store)


async def test_requests_that_cannot_be_served_are_warnings_and_the_others_are_served() -> None:
    store, events = FragileStore(), list[Any]()
    agent = await start(["x", "x"], store=store, events=events)
    await store.put_request(agent.session_id, b"not json")
    bad = [{"content": "x", "status": "later"}, {"content": 5}, {}]
    for todo in bad:
        await leave_request(store, agent.session_id, InboxRequest("edit", (todo,)))
    await leave_request(store, agent.session_id, InboxRequest("redo"))
    await leave_request(store, agent.session_id, InboxRequest("dance"))
    await leave_request(store, agent.session_id, InboxRequest("edit", ({"content": "good"},)))
    result = await agent.run("go")
    assert result.plan.to_json() == todos(("good", "pending"))
    assert len(warnings(events)) == 5


async def test_an_inbox_that_cannot_be_read_does_not_end_the_turn() -> None:
    class NoInbox(MemoryStore):
        async def requests(self, session: str) -> list[InboxRow]:
            raise StoreError("the disk is gone")

    events: list[Any] = []
    agent = await start(["x"], store=NoInbox(), events=events)
    assert (await agent.run("go")).text == "x"
    assert len(warnings(events)) == 1
    assert "the disk is gone" in warnings(events)[0]


async def test_requests_that_cannot_be_stored_wait_in_the_inbox() -> None:
    store, events = FragileStore(), list[Any]()
    agent = await start(["x", "x", "x"], store=store, events=events)
    await leave_request(store, agent.session_id, InboxRequest("edit", ({"content": "first"},)))
    await leave_request(store, agent.session_id, InboxRequest("edit", ({"content": "second"},)))
    await leave_request(store, agent.session_id, InboxRequest("say", text="and be quick"))
    store.failing.add(3)  # session, user, edit
    assert (await agent.run("go")).revision == 0
    assert warnings(events) == ["what others asked for has to wait: the disk is full"]
    assert (await agent.run("on")).plan.to_json() == todos(("second", "pending"))
    edits = [record.todos for record in await log_of(store) if isinstance(record, PlanEdited)]
    assert edits == [
        ({"content": "first", "status": "pending"},),
        ({"content": "second", "status": "pending"},),
    ]
    assert [note.text for note in notes(agent.messages, "steering")] == ["and be quick"]
    assert await store.requests(agent.session_id) == []


# --- the end ----------------------------------------------------------------------------------------


async def test_closing_ends_a_running_turn_first() -> None:
    gate, store = Gate(), MemoryStore()
    agent = await start([[call(1, "wait")]], gate.tool, store=store)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    await agent.close("quit")
    assert (await turn).reason == "interrupted"
    logged = await log_of(store)
    assert isinstance(logged[-2], TurnEnded)
    assert logged[-1] == SessionEnded("quit")
    assert outcomes(logged) == [("t1", "interrupted")]


async def test_closing_twice_is_closing_once() -> None:
    closed: list[str] = []

    async def closer() -> None:
        closed.append("tools")

    def end(view: View) -> None:
        closed.append("session")

    store = MemoryStore()
    async with await Agent.start(
        model=ScriptedModel(["x"]),
        store=store,
        holder=this_process(),
        hooks=Hooks(session_end=(end,)),
        closers=(closer,),
    ) as agent:
        await agent.close()
    assert closed == ["session", "tools"]
    assert (await log_of(store))[-1] == SessionEnded()


async def test_everything_is_closed_also_when_some_of_it_fails() -> None:
    closed: list[str] = []
    events: list[Any] = []

    async def broken() -> None:
        raise OSError("stuck")

    async def closer() -> None:
        closed.append("tools")

    store = FragileStore({2})
    agent = await Agent.start(
        model=ScriptedModel(["x"]),
        store=store,
        holder=this_process(),
        closers=(broken, closer),
        listeners=[events.append],
    )
    await agent.close()
    assert closed == ["tools"]
    assert warnings(events) == ["closing failed: the disk is full", "closing failed: stuck"]


async def test_a_turn_after_the_end_is_an_error_of_the_store() -> None:
    agent = await start(["x"])
    await agent.close()
    result = await agent.run("go")
    assert (result.reason, result.text) == ("store_error", "")
    assert "is closed" in result.error


def test_a_script_that_is_not_async_may_run_a_turn() -> None:
    async def turn() -> Result:
        async with await start(["x"]) as agent:
            return await agent.run("go")

    assert run_sync(turn()).text == "x"


# --- put together -----------------------------------------------------------------------------------


async def test_the_coding_agent_without_a_person_denies_and_says_so(tmp_path: Path) -> None:
    model = ScriptedModel([[call(1, "write_file", path="x", content="y")], "I could not"])
    agent = await coding_agent(tmp_path, model=model, store=MemoryStore())
    async with agent:
        result = await agent.run("go")
    assert (result.reason, result.nobody, result.exit_code) == ("done", 1, 3)
    assert not (tmp_path / "x").exists()


async def test_the_coding_agent_works_in_its_directory(tmp_path: Path) -> None:
    model = ScriptedModel([[call(1, "write_file", path="x", content="y\n")], "done"])
    async with await coding_agent(tmp_path, model=model, store=MemoryStore(), auto=True) as agent:
        result = await agent.run("go")
    assert (result.exit_code, (tmp_path / "x").read_text()) == (0, "y\n")


async def test_a_denied_call_does_not_count_as_nobody_where_a_hook_said_no() -> None:
    def deny(call: Call, tool: Tool, view: View) -> Deny:
        return Deny("no")

    agent = await start(
        forever(lambda r: [call(1)] if len(r.messages) == 1 else "so"), hooks=Hooks(before_tool=(deny,))
    )
    assert (await agent.run("go")).exit_code == 0
