"""Resume and fork over the whole agent: plan, counters and requests come back; people's edits stay."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import (
    THREE,
    FragileStore,
    Gate,
    call,
    check_fold,
    check_messages,
    check_requests,
    encoded,
    forever,
    log_of,
    notes,
    outcomes,
    records_of,
    results,
    start,
    todos,
    work,
    write,
)

from onplan.coding import coding_agent
from onplan.errors import SessionNotFound, StoreError
from onplan.events import PlanEdited, SessionStarted, messages_of
from onplan.hooks import Hooks, View
from onplan.messages import Call, ToolResult, model_text
from onplan.models.scripted import ScriptedModel
from onplan.plan.settings import ReminderPolicy, Settings
from onplan.plan.todo import Todo
from onplan.planning import plan_of
from onplan.protocols import Holder
from onplan.session import InboxRequest, leave_request
from onplan.session.forking import fork
from onplan.stores.memory import MemoryStore

ELSEWHERE = Holder(host="elsewhere", pid=1, start=1.0)

SCRIPT = (
    [write(1)],
    [
        call(2, text="x"),
        call(3, "look"),
        write(4, ("a", "completed"), ("b", "completed"), ("c", "in_progress")),
    ],
    [call(5, "look"), call(6)],
    "half way",
    [call(7)],
    [write(8, ("a", "completed"), ("b", "completed"), ("c", "completed"))],
    "all done",
)
"""Two turns: the plan is written, moved on twice, finished; with work and a reminder in between."""

QUICK = Settings(reminder=ReminderPolicy(after=(1, 2)))


async def two_turns(store: MemoryStore) -> str:
    """A session of `SCRIPT`, closed; its id."""
    agent = await start([*SCRIPT[:4], *("go on", "x"), *SCRIPT[4:]], store=store, planning=QUICK)
    await agent.run("Do the job")
    await agent.edit_plan([*agent.plan, "mine"])
    await agent.run("and the rest")
    await agent.close()
    return agent.session_id


# --- resume -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "killed"])
async def test_a_resumed_session_has_its_plan_revision_counters_and_id(closed: bool) -> None:
    store = MemoryStore()
    agent = await start([[write(1)], [call(2)], "x", "x"], store=store)
    await agent.run("go")
    if closed:
        await agent.close()
    model = ScriptedModel([[call(3, "read_todos")], "y", "y"])
    again = await start(model, store=store, resume=agent.session_id)
    assert (again.session_id, again.plan_state) == (agent.session_id, agent.plan_state)
    assert (again.plan.to_json(), again.plan_state.ledger.revision) == (todos(*THREE), 1)
    assert (await again.run("go on")).revision == 1
    first = model.requests[0].messages
    assert [model_text(message).count("[~] b") for message in first if isinstance(message, ToolResult)] == [
        1,
        0,
    ]
    assert "[~] b" in results(again.messages)[-1].content


async def test_a_cleared_plan_stays_empty_after_a_resume() -> None:
    store = MemoryStore()
    agent = await start([[write(1)], [Call("t2", "write_todos", {"todos": []})], "x"], store=store)
    await agent.run("go")
    await agent.close()
    again = await start([[call(3, "read_todos")], "y"], store=store, resume=agent.session_id)
    assert (len(again.plan), again.plan_state.ledger.revision) == (0, 2)
    await again.run("go on")
    assert "b" not in results(again.messages)[-1].content.split()


async def test_resuming_adds_nothing_to_what_the_model_reads() -> None:
    store = MemoryStore()
    session = await two_turns(store)
    before = messages_of(await records_of(store, session))
    for _ in range(3):
        agent = await start(["x"], store=store, resume=session)
        assert list(agent.messages) == before
        await agent.close()


async def test_the_next_request_extends_the_last_one_before_the_interruption_byte_for_byte() -> None:
    store, gate = MemoryStore(), Gate(partial="half")
    model = ScriptedModel([[write(1)], [call(2, "wait"), call(3)]])
    agent = await start(model, work, gate.tool, store=store)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    agent.interrupt()
    await turn
    await agent.close()
    later = ScriptedModel(["x", "x"])
    # Other tools and instructions than before: what the session began with counts.
    again = await start(later, work, store=store, resume=agent.session_id)
    await again.run("go on")
    check_requests([*model.requests, *later.requests])


@pytest.mark.parametrize("how", ["interrupted", "killed"])
async def test_an_interruption_is_announced_once_with_what_was_running_and_in_progress(how: str) -> None:
    store, gate = MemoryStore(), Gate(partial="a half line")
    agent = await start([[write(1)], [call(2, "wait"), call(3)]], work, gate.tool, store=store)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    if how == "interrupted":
        agent.interrupt()
        await turn
        await agent.close()
    again = await start(forever("x"), work, gate.tool, store=store, resume=agent.session_id)
    assert again.plan.to_json() == todos(*THREE)  # nobody moved the todos behind the model's back
    for text in ("go on", "and on"):
        await again.run(text)
    assert outcomes(again.messages)[1:] == [("t2", "interrupted"), ("t3", "not_executed")]
    stopped = results(again.messages)[1].content
    assert "was running" in stopped
    assert "side effects are possible" in stopped
    assert ("a half line" in stopped) == (how == "interrupted")
    assert [note.text for note in notes(again.messages, "interrupted")] == [
        "<notice>The turn before this was interrupted."
        ' "b" was in progress: verify what was done before you go on.</notice>'
    ]
    if how == "killed":
        turn.cancel()
        await asyncio.wait([turn])


async def test_what_one_session_planned_is_unknown_to_the_next_and_stays_its_own() -> None:
    store = MemoryStore()
    first = await two_turns(store)
    rows = await store.load(first)
    model = ScriptedModel([[call(1, "read_todos")], [write(2, ("other", "pending"))], "x", "x"])
    second = await start(model, store=store)
    assert second.plan_state.rounds == 0
    await second.run("something else")
    await second.close()
    assert results(second.messages)[0].content == "No task list yet. Call write_todos to create one."
    request = b"".join(encoded(message) for message in model.requests[0].messages)
    assert not any(text in request for text in (b'"a"', b'"b"', b"mine"))
    assert await store.load(first) == rows
    again = await start(["x"], store=store, resume=first)
    assert [todo.content for todo in again.plan][:3] == ["a", "b", "c"]


# --- forks ------------------------------------------------------------------------------------------


async def test_a_fork_at_any_record_is_the_session_as_it_was_then() -> None:
    store = MemoryStore()
    session = await two_turns(store)
    rows, records = await store.load(session), await records_of(store, session)
    for at in range(1, len(rows) + 1):
        made = await fork(store, session, at)
        copied = await store.load(made)
        assert copied[1:at] == rows[1:at]
        assert copied[0].time == rows[0].time
        model = forever("x")
        agent = await start(model, store=store, resume=made, planning=QUICK)
        then = plan_of(records[:at])
        assert (agent.plan, agent.plan_state.ledger) == (then.plan, then.ledger)
        assert list(agent.messages)[: len(messages_of(records[:at]))] == messages_of(records[:at])
        await agent.run("another way")
        check_requests(model.requests)
        await check_fold(agent, store)
        assert model.requests[0].system == agent.system
        await agent.close()
    assert await store.load(session) == rows


async def test_a_fork_of_a_whole_session_makes_the_request_that_the_session_would_have_made() -> None:
    store = MemoryStore()
    session = await two_turns(store)
    made = await fork(store, session)
    models: list[ScriptedModel] = []
    for one in (session, made):
        models.append(forever("x"))
        agent = await start(models[-1], store=store, resume=one, planning=QUICK)
        await agent.run("go on")
    original, forked = (model.requests for model in models)
    assert [encoded(request) for request in original] == [encoded(request) for request in forked]


async def test_a_fork_knows_its_parent_is_the_newest_and_has_the_title() -> None:
    store = MemoryStore()
    session = await two_turns(store)
    await start(["x"], store=store)
    made = await fork(store, session, 2)
    started = (await records_of(store, made))[0]
    assert isinstance(started, SessionStarted)
    assert (started.id, started.parent) == (made, session)
    info = await store.find("latest")
    assert (info.id, info.title, info.records) == (made, "Do the job", 2)


async def test_calls_that_the_fork_cuts_off_get_their_results_in_order() -> None:
    store = MemoryStore()
    session = await two_turns(store)
    records = await records_of(store, session)
    at = next(
        n for n, record in enumerate(records, 1) if isinstance(record, ToolResult) and record.call_id == "t2"
    )
    made = messages_of(await records_of(store, await fork(store, session, at)))
    check_messages(made)
    assert outcomes(made) == [("t1", "ok"), ("t2", "ok"), ("t3", "not_executed"), ("t4", "not_executed")]
    assert results(made)[-1].content == (
        "Error: not executed (interrupted because the session was forked here)."
    )


async def test_a_session_that_somebody_holds_can_be_forked_and_each_goes_its_way() -> None:
    store = MemoryStore()
    agent = await start([[write(1)], "x", "x", [write(2, ("theirs", "pending"))], "y", "y"], store=store)
    await agent.run("go")
    await store.claim(agent.session_id, ELSEWHERE)
    made = await fork(store, agent.session_id)
    other = await start([[write(3, ("ours", "pending"))], "z", "z"], store=store, resume=made)
    await other.run("my way")
    await agent.run("their way")
    assert [todo.content for todo in agent.plan] == ["theirs"]
    assert [todo.content for todo in other.plan] == ["ours"]
    for one in (agent, other):
        await check_fold(one, store)


@pytest.mark.parametrize("at", [-1, 0, 10**9])
async def test_a_point_that_the_session_does_not_have_is_named(at: int) -> None:
    store = MemoryStore()
    agent = await start(["x"], store=store)
    with pytest.raises(StoreError, match=f"session {agent.session_id} has no record {at}: it has 1 to 1$"):
        await fork(store, agent.session_id, at)
    with pytest.raises(SessionNotFound):
        await fork(store, "nowhere")
    assert len(await store.sessions()) == 1
    await store.create("empty", cwd="", time=1.0)
    with pytest.raises(StoreError, match="session empty holds nothing yet: there is nothing to fork"):
        await fork(store, "empty")


async def test_a_fork_before_a_damaged_record_is_a_way_around_it() -> None:
    store = MemoryStore()
    session = await two_turns(store)
    end = len(await store.load(session))
    await store.append(session, end + 1, [b"broken"], time=0)
    with pytest.raises(StoreError, match=f"record {end + 1} of the session cannot be read"):
        await fork(store, session)
    agent = await start(["x"], store=store, resume=await fork(store, session, end))
    assert [todo.content for todo in agent.plan][:3] == ["a", "b", "c"]


@pytest.mark.parametrize("failing", range(1, 5))
async def test_a_fork_that_cannot_be_written_leaves_no_session(failing: int) -> None:
    store = FragileStore()
    session = await two_turns(store)
    store.failing.add(store.appends + failing)
    with pytest.raises(StoreError, match="the disk is full"):
        await fork(store, session)
    assert [info.id for info in await store.sessions()] == [session]


async def test_a_fork_goes_on_counting_the_rounds_of_the_session() -> None:
    store = MemoryStore()
    agent = await start([[write(1)], [call(2)], [call(3)], "x", "x"], store=store)
    await agent.run("go")
    records = await records_of(store, agent.session_id)
    second_quiet_round = next(
        number
        for number, record in enumerate(records, 1)
        if isinstance(record, ToolResult) and record.call_id == "t3"
    )
    other = await start(
        [[call(4)], "y", "y"], store=store, resume=await fork(store, agent.session_id, second_quiet_round)
    )
    assert other.plan_state.rounds == 2
    await other.run("go on")
    assert [
        note.text.startswith("<reminder>Update your todos.") for note in notes(other.messages, "reminder")
    ] == [True]


@pytest.mark.parametrize("then", ["resume", "fork"])
async def test_a_shortened_conversation_comes_back_as_it_was_sent(then: str) -> None:
    store = MemoryStore()
    replies = [[write(1)], *([call(n, text="y" * 2_000)] for n in range(2, 12)), "x", "x"]
    model = ScriptedModel(lambda request: "Short." if not replies else replies.pop(0))
    agent = await start(model, store=store)
    await agent.run("go")
    assert await agent.compact() is not None
    await agent.run("after")
    await agent.close()
    name = agent.session_id if then == "resume" else await fork(store, agent.session_id)
    later = forever("x")
    again = await start(later, store=store, resume=name)
    assert list(again.messages) == list(agent.messages)
    assert again.plan_state == agent.plan_state
    await again.run("go on")
    check_requests([model.requests[-1], *later.requests])


async def test_a_command_that_was_interrupted_is_told_as_such_with_what_it_put_out(tmp_path: Path) -> None:
    command = "echo a > f; echo so far; touch started; sleep 300; echo b >> f"
    model = ScriptedModel([[write(1)], [call(2, "bash", command=command)], *["x"] * 4])
    async with await coding_agent(tmp_path, model=model, store=MemoryStore(), auto=True) as agent:
        turn = asyncio.create_task(agent.run("go"))
        async with asyncio.timeout(20):
            while not (tmp_path / "started").exists():
                await asyncio.sleep(0.02)
        agent.interrupt()
        assert (await turn).reason == "interrupted"
        await agent.run("go on")
        stopped = results(agent.messages)[1]
        assert (stopped.outcome, (tmp_path / "f").read_text()) == ("interrupted", "a\n")
        for words in ("was running, stopped after", "side effects are possible", "so far"):
            assert words in stopped.content
        assert '"b" was in progress: verify' in notes(agent.messages, "interrupted")[0].text
        assert agent.plan.to_json() == todos(*THREE)


# --- people's edits ---------------------------------------------------------------------------------

texts = st.sampled_from(["Look around", "Write the parser", "Ask Anna", "Measure", "Ship it", "Buy milk"])
plans = st.lists(texts, min_size=1, max_size=5, unique=True)


def contents(plan: Iterable[Todo]) -> set[str]:
    return {todo.content for todo in plan}


@settings(max_examples=40, deadline=None)
@given(base=plans, theirs=plans, newer=plans, through=st.sampled_from(["library", "inbox"]))
def test_what_a_person_removed_stays_removed_and_what_they_added_stays(
    base: list[str], theirs: list[str], newer: list[str], through: str
) -> None:
    """A write that the model sent before it heard of the edit; the texts are too unlike to be one renamed."""

    async def run() -> None:
        async def edits(sent: Call, result: ToolResult, view: View) -> None:
            if sent.id != "t2":
                return
            if through == "library":
                await agent.edit_plan(theirs)
            else:
                request = InboxRequest("edit", tuple({"content": text} for text in theirs), base=1)
                await leave_request(store, agent.session_id, request)

        def planned(number: int, items: list[str]) -> Call:
            return write(number, *((text, "pending") for text in items))

        store = MemoryStore()
        model = ScriptedModel([[planned(1, base)], [call(2), planned(3, newer)], *["x"] * 4])
        agent = await start(model, store=store, hooks=Hooks(after_tool=(edits,)))
        await agent.run("go")
        removed, added = set(base) - set(theirs), set(theirs) - set(base)
        assert contents(agent.plan) == (set(newer) - removed) | added
        edited = [record for record in await log_of(store) if isinstance(record, PlanEdited)]
        # Through the inbox it comes after the write, which may have said the same by itself.
        assert len(edited) == (theirs != base) or (through == "inbox" and not edited)
        said = [m for m in map(model_text, agent.messages) if "The person " in m]
        assert len(said) <= len(edited)
        assert said or not edited or [todo.content for todo in agent.plan] == newer
        for text in said:
            taken_out = removed & set(newer) if through == "inbox" else removed
            assert ("do not add again" in text) == bool(taken_out)
        check_requests(model.requests)
        await check_fold(agent, store)

    asyncio.run(run())


async def test_an_edit_of_an_older_revision_keeps_what_the_model_wrote_since() -> None:
    store = MemoryStore()
    agent = await start([[write(1)], [write(2, *THREE, ("new", "pending"))], "x", "x"], store=store)
    await agent.run("go")
    plan = await agent.edit_plan(["a", "b", "mine"], base=1)
    assert [todo.content for todo in plan] == ["a", "b", "mine", "new"]
    assert plan.todos[0].status == "pending"  # what the person said of it since


async def test_an_edit_that_waits_in_the_inbox_of_a_session_that_was_closed_is_made_at_its_next_start() -> (
    None
):
    store = MemoryStore()
    agent = await start([[write(1)], "x", "x"], store=store)
    await agent.run("go")
    await agent.close()
    await leave_request(store, agent.session_id, InboxRequest("edit", ({"content": "theirs"},), base=1))
    model = ScriptedModel(["y", "y"])
    again = await start(model, store=store, resume=agent.session_id)
    await again.run("go on")
    assert [todo.content for todo in again.plan] == ["theirs"]
    assert "The person changed the plan." in model_text(model.requests[0].messages[-1])
