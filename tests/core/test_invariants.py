"""What always holds (I1 to I10), over random batches, interruptions and failures."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import (
    THREE,
    FragileStore,
    call,
    check_fold,
    check_messages,
    check_requests,
    encoded,
    forever,
    look,
    notes,
    outcomes,
    records_of,
    results,
    start,
    todos,
    write,
)

import onplan.execution
import onplan.loop
from onplan.errors import ModelError, StoreError
from onplan.events import (
    Record,
    Resumed,
    SessionStarted,
    ToolStarted,
    TurnEnded,
    encode_record,
    messages_of,
)
from onplan.hooks import Allow, Deny, Hooks, Rewrite, Skip, View
from onplan.messages import Assistant, Call, Note, Text, ToolResult, Usage, User
from onplan.models.scripted import Cut, Reply, ScriptedModel
from onplan.parts import Limits
from onplan.plan.settings import ReminderPolicy, Settings
from onplan.planning import PlanFold, plan_of
from onplan.protocols import Holder, Request
from onplan.session import missing_results
from onplan.stores.memory import MemoryStore
from onplan.toolset import Tool, ToolOutput, tool

LIMIT = 20
"""Seconds after which a test tells a hang from a return."""

names = st.sampled_from(["work", "look", "look", "fail", "missing", "write_todos", "read_todos"])
arguments = st.one_of(
    st.fixed_dictionaries({}, optional={"text": st.sampled_from(["x", "tool", "exit", "cancel", "deny"])}),
    st.just({"todos": todos(*THREE)}),
    st.sampled_from(
        ["", "{", "[1]", '{"text": "x"}', None, [1], {"text": 5}, {"other": 1}, {"text": "\ud800"}]
    ),
)
batches = st.lists(st.tuples(names, arguments), min_size=1, max_size=6).map(
    lambda items: tuple(Call(f"t{n}", name, sent) for n, (name, sent) in enumerate(items))
)
runs = st.lists(batches, min_size=1, max_size=3)


def judge(sent: Call, tool: Tool, view: View) -> Allow | Deny | Skip | Rewrite | None:
    match sent.arguments:
        case {"text": "deny"}:
            return Deny("not that")
        case {"text": "x"} if sent.name == "look":
            return Rewrite({"text": "y"})
        case {"other": 1}:
            return Skip("Error: later")
        case {}:
            return Allow("test")
        case _:
            return None


def expected(sent: Call) -> str:
    match sent:
        case Call(name="missing"):
            return "error"
        case Call(arguments={"text": "deny"}):
            return "denied"
        case Call(arguments={"other": 1}):
            return "not_executed"
        case Call(name="fail") | Call(arguments="{" | "[1]" | None | [1] | {"text": 5}):
            return "error"
        case _:
            return "ok"


def replies(batches: list[tuple[Call, ...]]) -> list[Reply]:
    return [*batches, "done"]


def drive(work: Coroutine[Any, Any, Any]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(LIMIT):
            return await work

    return asyncio.run(bounded())


# --- I1 ---------------------------------------------------------------------------------------------


@given(runs)
@settings(max_examples=60, deadline=None)
def test_every_call_gets_exactly_one_result_in_call_order(batches: list[tuple[Call, ...]]) -> None:
    async def run() -> None:
        store = FragileStore()
        model = ScriptedModel(replies(batches))
        agent = await start(model, store=store, hooks=Hooks(before_tool=(judge,)))
        result = await agent.run("go")
        assert result.reason in ("done", "open_todos", "plan_loop", "call_loop", "model_error")
        check_requests(model.requests)
        check_messages(agent.messages)
        await check_fold(agent, store)
        told = {r.call_id: r.outcome for r in results(agent.messages)[: len(batches[0])]}
        for sent in batches[0]:
            if sent.name in ("work", "look", "fail", "missing"):
                assert told[sent.id] == expected(sent), sent

    drive(run())


@given(runs, st.integers(1, 120), st.sampled_from(["outside", "interrupt", "twice"]))
@settings(max_examples=120, deadline=None)
def test_a_cancellation_anywhere_leaves_one_result_for_each_call(
    batches: list[tuple[Call, ...]], steps: int, how: str
) -> None:
    async def run() -> None:
        store = FragileStore()
        agent = await start(replies(batches), store=store, hooks=Hooks(before_tool=(judge,)))
        turn = asyncio.create_task(agent.run("go"))
        for _ in range(steps):
            await asyncio.sleep(0)
        was_done = turn.done()
        if how == "interrupt":
            agent.interrupt()
        else:
            turn.cancel()
        if how == "twice":
            await asyncio.sleep(0)
            turn.cancel()
        await asyncio.wait([turn])
        assert turn.cancelled() == (how != "interrupt" and not was_done)
        check_messages(agent.messages)
        await check_fold(agent, store)
        ends = [r for r in await records_of(store, agent.session_id) if isinstance(r, TurnEnded)]
        assert len(ends) <= 1
        if not was_done and ends and ends[0].reason == "interrupted":
            check_started(await records_of(store, agent.session_id))
        model = ScriptedModel(["all right"])
        await agent.close()
        again = await start(model, store=store, resume=agent.session_id)
        assert (await again.run("continue")).reason in ("done", "open_todos", "model_error")
        check_requests(model.requests)

    drive(run())


def check_started(records: list[Record]) -> None:
    """Only a call that was started is interrupted, and what was not started was not executed or denied."""
    started = {record.call_id for record in records if isinstance(record, ToolStarted)}
    for result in results(records):
        if result.outcome == "interrupted":
            assert result.call_id in started
        if result.call_id not in started:
            assert result.outcome in ("not_executed", "denied")


@given(runs, st.data())
@settings(max_examples=60, deadline=None)
def test_a_log_cut_anywhere_is_repaired_once(batches: list[tuple[Call, ...]], data: st.DataObject) -> None:
    async def run() -> None:
        whole = MemoryStore()
        agent = await start(replies(batches), store=whole, hooks=Hooks(before_tool=(judge,)))
        await agent.run("go")
        rows = await whole.load(agent.session_id)
        length = data.draw(st.integers(1, len(rows)))
        store = MemoryStore()
        await store.create("cut", cwd="", time=0)
        await store.append("cut", 1, [row.body for row in rows[:length]], time=0)
        before = await records_of(store, "cut")
        model = ScriptedModel(["all right", "fine"])
        again = await start(model, store=store, resume="cut")
        repaired = (await records_of(store, "cut"))[length:]
        assert repaired == [
            *missing_results(before),
            Resumed(tuple(r.call_id for r in missing_results(before))),
        ]
        open_batch = {r.call_id for r in results(repaired)}
        started = {r.call_id for r in after_last_reply(before) if isinstance(r, ToolStarted)}
        assert dict(outcomes(repaired)) == {
            call_id: "interrupted" if call_id in started else "not_executed" for call_id in open_batch
        }
        check_messages(again.messages)
        await again.close()
        third = await start(model, store=store, resume="cut")
        last = (await records_of(store, "cut"))[-1]
        assert last == Resumed()
        assert third.messages == again.messages
        await third.run("continue")
        check_requests(model.requests)

    drive(run())


def after_last_reply(records: list[Record]) -> list[Record]:
    at = max((n for n, record in enumerate(records) if isinstance(record, Assistant)), default=0)
    return records[at:]


# --- I2, I3, I4, I5 ---------------------------------------------------------------------------------


async def test_each_request_extends_the_one_before_it_through_writes_reminders_and_resumes() -> None:
    store = MemoryStore()
    requests: list[Request] = []

    stop: list[Callable[[], object]] = []

    @tool(name="work")
    async def stoppable(text: str = "") -> str:
        """Work, and be interrupted where somebody said so."""
        if stop:
            stop.pop()()
            await asyncio.sleep(0)
        return "worked"

    async def turn(replies: list[Reply], text: str, *, resume: str = "", cancel_in_tool: bool = False) -> str:
        model = ScriptedModel(replies)
        agent = await start(model, stoppable, look, store=store, resume=resume)
        if cancel_in_tool:
            stop.append(agent.interrupt)
        await agent.run(text)
        requests.extend(model.requests)
        await agent.close()
        return agent.session_id

    quiet: list[Reply] = [[call(f"q{n}", text=str(n)), call(f"r{n}", "look")] for n in range(4)]
    session = await turn([[write(1), call(2)], *quiet, "so far"], "go")
    await turn([[call(3), call(4)]], "more", resume=session, cancel_in_tool=True)
    await turn([Cut("I was ab")], "and", resume=session)
    await turn([[write(5, ("b", "completed"))], "done"], "go on", resume=session)
    assert len(requests) > 8
    check_requests(requests)
    assert [note.kind for note in notes(requests[-1].messages)] == ["reminder", "continue", "interrupted"]


async def test_a_write_is_in_the_store_when_the_model_reads_its_answer() -> None:
    store = MemoryStore()
    seen: list[list[tuple[str, str]]] = []
    ids: list[str] = []

    def reply(request: Request) -> Reply:
        rows = [row.body for row in store._logs[ids[0]].rows]  # pyright: ignore[reportPrivateUsage] # what is there now
        assert [encode_record(m) for m in request.messages] == [
            body for body in rows if body in {encode_record(m) for m in request.messages}
        ]
        seen.append(outcomes(request.messages))
        return [write(1)] if len(seen) == 1 else "done"

    agent = await start(ScriptedModel(reply), store=store)
    ids.append(agent.session_id)
    await agent.run("go")
    assert seen[:2] == [[], [("t1", "ok")]]


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"todos": None},
        {"todos": "x"},
        {"todos": todos(("x", "later"))},
        {"todos": todos(("x", "in_progress"), ("y", "in_progress"))},
        {"todos": todos(*((str(n), "pending") for n in range(21)))},
        '{"todos": "x", "status": "in_progress"}, {"content": "y"]}',
        None,
        ["ls"],
    ],
)
async def test_a_refused_write_leaves_plan_and_revision(sent: Any) -> None:
    agent = await start([[write(1)], [Call("t2", "write_todos", sent)], "so"])
    result = await agent.run("go")
    assert outcomes(agent.messages)[1] == ("t2", "error")
    assert (result.revision, result.plan.to_json()) == (1, todos(*THREE))
    assert len(results(agent.messages)[1].content) < 1500


# --- I7 ---------------------------------------------------------------------------------------------


def script() -> list[Reply]:
    return [[write(1), call(2)], [call(3, "look"), call(4, "fail"), call(5, "look")], "so", "then"]


@pytest.mark.parametrize("failing", range(2, 14))
@pytest.mark.parametrize("times", [1, 2, 50])
async def test_a_store_that_fails_at_any_append_ends_the_turn_with_a_reason(failing: int, times: int) -> None:
    store = FragileStore(range(failing, failing + times))
    agent = await start(script(), store=store)
    result = await agent.run("go")
    assert result.reason in ("done", "open_todos", "store_error", "model_error")
    assert result.error or times < 3
    assert (result.reason == "store_error") <= bool(result.error)
    await check_fold(agent, store)
    store.failing.clear()
    model = ScriptedModel(["all right", "all right"])
    await agent.close()
    again = await start(model, store=store, resume=agent.session_id)
    assert (await again.run("continue")).reason in ("done", "open_todos")
    check_requests(model.requests)


@pytest.mark.parametrize("failing", range(2, 14))
async def test_the_same_agent_goes_on_once_its_store_works_again(failing: int) -> None:
    store = FragileStore(range(failing, failing + 50))
    model = ScriptedModel(lambda request: script()[min(len(model.requests) - 1, 3)])
    agent = await start(model, store=store)
    await agent.run("go")
    store.failing.clear()
    assert (await agent.run("continue")).reason in ("done", "open_todos")
    check_messages(agent.messages)
    check_requests(model.requests)
    await check_fold(agent, store)


async def test_a_plan_write_that_could_not_be_logged_did_not_happen_and_its_answer_says_so() -> None:
    store = FragileStore({5})  # session, user, reply, started, result
    agent = await start([[write(1)], "so"], store=store)
    result = await agent.run("go")
    assert (result.reason, result.revision, len(result.plan)) == ("done", 0, 0)
    (told,) = results(agent.messages)
    assert told.outcome == "error"
    assert "could not be saved" in told.content
    assert "did not take effect" in told.content


async def test_a_session_that_cannot_be_made_is_not_held() -> None:
    store = FragileStore({1})
    with pytest.raises(StoreError):
        await start(["x"], store=store)
    (info,) = await store.sessions()
    assert await store.claim(info.id, Holder("elsewhere", 1, 1.0)) is None


class Broken(Exception):
    """Anything that an adapter may raise."""


@pytest.mark.parametrize("error", [ModelError("no"), Broken("no"), OSError("no"), StoreError("no")])
async def test_whatever_a_model_raises_is_the_reason_model_error(error: Exception) -> None:
    store = MemoryStore()
    agent = await start([[write(1)], error, "better"], store=store)
    result = await agent.run("go")
    assert result.reason == "model_error"
    assert result.exit_code == 1
    assert "no" in result.error
    assert (result.requests, result.rounds, result.revision) == (2, 1, 1)
    assert (await agent.run("again")).text == "better"
    await check_fold(agent, store)


def broken(*_: object) -> None:
    raise Broken("no")


async def broken_later(*_: object) -> None:
    await asyncio.sleep(0)
    raise Broken("no")


def wrong(*_: object) -> str:
    return "what?"


EVENTS = [
    "session_start",
    "user_prompt",
    "before_model",
    "before_tool",
    "after_tool",
    "after_round",
    "plan_change",
    "stop",
    "session_end",
]


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("hook", [broken, broken_later, wrong])
async def test_a_failing_hook_warns_and_the_turn_goes_on(event: str, hook: Callable[..., Any]) -> None:
    store, events = MemoryStore(), list[Any]()
    hooks = Hooks(**{event: (hook,)})
    agent = await start(
        [[write(1, ("x", "completed")), call(2)], "done"], store=store, hooks=hooks, events=events
    )
    result = await agent.run("go")
    await agent.close()
    assert (result.reason, result.revision) == ("done", 1)
    assert outcomes(agent.messages) == [("t1", "ok"), ("t2", "ok")]
    told = [event.text for event in events if type(event).__name__ == "Warned"]
    assert told
    assert all(hook.__qualname__ in text for text in told)
    await check_fold(agent, store)


async def test_a_listener_that_fails_is_let_go_and_nothing_else_happens() -> None:
    events: list[Any] = []
    agent = await start([[call(1)], "done"], events=events)
    agent.listen(broken)
    result = await agent.run("go")
    assert result.reason == "done"
    assert sum(type(event).__name__ == "Warned" for event in events) == 1


async def test_text_that_json_cannot_say_does_not_stop_a_turn() -> None:
    @tool()
    async def odd() -> Any:
        """Answer oddly."""
        deep: Any = 1
        for _ in range(5_000):
            deep = [deep]
        details: Any = {"object": object(), ("k",): 1, "set": {1}, "deep": deep}
        return ToolOutput("name \udcff", details)

    store = MemoryStore()
    agent = await start([[Call("t1", "odd", {"x": "\ud800"})], "done \ud800"], odd, store=store)
    result = await agent.run("hello \udcff")
    assert (result.reason, outcomes(agent.messages)) == ("done", [("t1", "ok")])
    await check_fold(agent, store)


# --- I8 ---------------------------------------------------------------------------------------------

sizes = st.integers(0, 9_000)
rounds = st.lists(st.lists(sizes, min_size=1, max_size=6), min_size=1, max_size=12)


@given(rounds, st.integers(2, 12), st.integers(50, 3_000), st.sampled_from([None, 400, 40_000]))
@settings(max_examples=60, deadline=None)
def test_the_plan_is_never_farther_than_its_bound_in_any_request(
    rounds: list[list[int]], max_messages: int, max_tokens: int, hook_size: int | None
) -> None:
    @tool(read_only=True, parallel=True)
    async def give(size: int, n: int) -> str:
        """Give text."""
        return "x" * size

    policy = ReminderPolicy(max_messages=max_messages, max_tokens=max_tokens)

    def add(view: View) -> Note | None:
        return Note("y" * hook_size, "mine") if hook_size else None

    async def run() -> None:
        turns: list[Reply] = [
            tuple(call(f"{k}-{n}", "give", size=size, n=k * 10 + n) for n, size in enumerate(batch))
            for k, batch in enumerate(rounds)
        ]
        model = ScriptedModel([[write(0)], *turns, "so", "so"])
        hooks = Hooks(before_model=(add,), after_round=(add,))
        agent = await start(model, give, planning=Settings(reminder=policy), hooks=hooks)
        await agent.run("z" * 2_000)
        for request in model.requests:
            folded = PlanFold(Settings(reminder=policy))
            for message in request.messages:
                folded.fold(message)
            if folded.state.plan.open:
                assert folded.state.distance.messages <= max_messages
                assert folded.state.distance.tokens <= max_tokens
        assert agent.plan_state.stats.max_messages <= max_messages
        assert agent.plan_state.stats.max_tokens <= max_tokens

    drive(run())


# --- I9 ---------------------------------------------------------------------------------------------


def new_calls(request: Request) -> Reply:
    return [call(len(request.messages), text=str(len(request.messages)))]


def same_refused(request: Request) -> Reply:
    return [call(len(request.messages), "write_todos", todos="x")]


def same_plan(request: Request) -> Reply:
    return [write(len(request.messages))]


def reads_only(request: Request) -> Reply:
    return [call(len(request.messages), "read_todos")]


def same_call(request: Request) -> Reply:
    return [call(len(request.messages))]


def denied(request: Request) -> Reply:
    return [call(len(request.messages), text="deny")]


def cycle(request: Request) -> Reply:
    n = len(request.messages)
    return [call(n, "look", text=str(n % 3))]


ENDLESS: list[tuple[Any, str, int]] = [
    (new_calls, "rounds", 5),
    (same_call, "call_loop", 5),
    (denied, "call_loop", 5),
    (cycle, "call_loop", 5),
    (reads_only, "call_loop", 5),
    (same_plan, "plan_loop", 5),
    (same_refused, "plan_loop", 5),
    ("", "empty", 1),
    ("  \n", "empty", 1),
    (Assistant((Text("I am"),), "length"), "length", 5),
    (Assistant((Text("wait"),), "paused"), "rounds", 5),
    (Assistant((Text("no"),), "refusal"), "refusal", 1),
]


@pytest.mark.parametrize(("reply", "reason", "exit_code"), ENDLESS)
async def test_every_endless_model_ends_with_its_reason(reply: Any, reason: str, exit_code: int) -> None:
    agent = await start(forever(reply), hooks=Hooks(before_tool=(judge,)), limits=Limits(rounds=40))
    async with asyncio.timeout(LIMIT):
        result = await agent.run("go")
    assert (result.reason, result.exit_code) == (reason, exit_code)
    check_messages(agent.messages)


async def test_work_that_changes_things_between_same_calls_is_no_loop() -> None:
    def busy(request: Request) -> Reply:
        n = len(request.messages)
        return [call(n, "look"), call(f"{n}w", text=str(n))]

    agent = await start(forever(busy), limits=Limits(rounds=12))
    assert (await agent.run("go")).reason == "rounds"


async def test_tokens_are_a_cap() -> None:
    costly = Assistant((call(1),), usage=Usage(input=600, output=1))
    agent = await start(forever(costly), limits=Limits(tokens=1_000))
    result = await agent.run("go")
    assert (result.reason, result.exit_code, result.requests, result.usage.total) == ("tokens", 5, 2, 1202)


async def test_a_cap_counts_anew_with_each_turn() -> None:
    agent = await start(forever(new_calls), limits=Limits(rounds=3))
    first, second = await agent.run("go"), await agent.run("go on")
    assert [first.rounds, second.rounds] == [3, 3]


# --- I10, I12 ---------------------------------------------------------------------------------------


async def test_two_agents_in_one_process_share_nothing() -> None:
    store = MemoryStore()
    gates = [asyncio.Event(), asyncio.Event()]

    @tool(name="meet")
    async def first() -> str:
        """Meet."""
        gates[0].set()
        await gates[1].wait()
        return "met"

    @tool(name="meet")
    async def second() -> str:
        """Meet."""
        await gates[0].wait()
        gates[1].set()
        return "met"

    one = await start([[write(1), call(2, "meet")], "a", "a"], first, store=store)
    two = await start([[call(1, "meet")], [write(2, ("x", "completed"))], "b"], second, store=store)
    async with asyncio.timeout(LIMIT):
        left, right = await asyncio.gather(one.run("one"), two.run("two"))
    assert (left.plan.to_json(), left.reason) == (todos(*THREE), "open_todos")
    assert (right.plan.to_json(), right.reason) == (todos(("x", "completed")), "done")
    assert encoded(list(two.messages)).count(b'"one"') == 0
    await check_fold(one, store)
    await check_fold(two, store)


@pytest.mark.parametrize("module", [onplan.loop, onplan.execution])
def test_the_loop_imports_neither_planning_nor_permissions_nor_a_vendor(module: Any) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module)
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    allowed = {
        f"onplan.{name}"
        for name in [
            "cancellation",
            "errors",
            "events",
            "execution",
            "hooks",
            "messages",
            "parts",
            "protocols",
            "toolset",
        ]
    }
    standard = {
        "__future__",
        "asyncio",
        "contextlib",
        "hashlib",
        "collections.abc",
        "dataclasses",
        "types",
        "typing",
    }
    assert imported <= allowed | standard | {"msgspec", "msgspec.structs"}


def test_the_plan_is_a_fold_that_no_foreign_details_can_break() -> None:
    records: list[Record] = [
        SessionStarted("s", 1),
        User("go"),
        Assistant((call(1, "theirs"), call(2, "write_todos")), "tool_calls"),
        ToolResult("t1", "theirs", "x", details={"plan": {"type": "written", "revision": 9, "todos": []}}),
        ToolResult("t2", "write_todos", "x", details={"plan": {"type": "from the future"}}),
        Note("x", "theirs", details={"plan": {"kind": ["?"]}}),
        Note("x", "theirs", details={"plan": "?"}),
    ]
    assert plan_of(records).ledger.revision == 0
    assert messages_of(records)[-1] == Note("x", "theirs", details={"plan": "?"})
