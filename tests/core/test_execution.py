"""Calls on their way to results: side by side, interrupted anywhere, denied, failing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from parts import (
    FragileStore,
    Gate,
    call,
    check_fold,
    check_messages,
    check_requests,
    log_of,
    look,
    notes,
    outcomes,
    results,
    start,
    work,
    write,
)

from onplan.cancellation import raise_if_cancelled, unbroken
from onplan.events import Decided, SessionStarted, ToolStarted, TurnEnded
from onplan.hooks import Allow, Deny, Hooks, Replace, View
from onplan.loop import Parts, run
from onplan.messages import Call, Note, ToolResult, User
from onplan.models.scripted import ScriptedModel
from onplan.permissions import Permissions
from onplan.protocols import Approval, Question
from onplan.session import Session
from onplan.stores.holder import this_process
from onplan.stores.memory import MemoryStore
from onplan.toolset import Tool, Toolset, tool

LIMIT = 20


@tool(name="press")
async def press(text: str = "") -> str:
    """Press Ctrl-C while the tool runs."""
    await asyncio.sleep(0)
    raise KeyboardInterrupt


@tool(name="press_too", parallel=True)
async def press_too(text: str = "") -> str:
    """Press Ctrl-C beside other tools."""
    await asyncio.sleep(0)
    raise KeyboardInterrupt


def ran() -> tuple[list[str], Tool]:
    """A tool that notes each run."""
    log: list[str] = []

    @tool()
    async def note_run(text: str = "") -> str:
        """Note a run."""
        log.append(text)
        return "ran"

    return log, note_run


# --- interruptions ----------------------------------------------------------------------------------


async def test_an_interrupt_inside_a_tool_answers_it_and_the_calls_behind_it() -> None:
    gate, (log, note_run) = Gate(partial="half"), ran()
    model = ScriptedModel([[call(1, "wait"), call(2, "read_todos"), call(3, "note_run")], "good"])
    agent = await start(model, gate.tool, note_run)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    assert agent.interrupt()
    result = await turn
    assert (result.reason, result.exit_code, result.requests) == ("interrupted", 130, 1)
    assert log == []
    assert results(agent.messages) == [
        ToolResult(
            "t1",
            "wait",
            "Error: interrupted by the user: was running, stopped after 1 s; side effects are possible.\n"
            "Output until then:\nhalf",
            "interrupted",
        ),
        ToolResult("t2", "read_todos", "Error: not executed (interrupted by the user).", "not_executed"),
        ToolResult("t3", "note_run", "Error: not executed (interrupted by the user).", "not_executed"),
    ]
    assert (await agent.run("continue")).text == "good"
    check_requests(model.requests)


@pytest.mark.parametrize("name", ["press", "press_too"])
async def test_a_keyboard_interrupt_inside_a_tool_is_an_interruption_of_the_turn(name: str) -> None:
    log, note_run = ran()
    calls = [call(1, "look"), call(2, name), call(3, "look"), call(4, "note_run")]
    model = ScriptedModel([calls, "good"])
    agent = await start(model, press, press_too, note_run, look)
    result = await agent.run("go")
    assert result.reason == "interrupted"
    assert log == []
    told = dict(outcomes(agent.messages))
    assert (told["t2"], told["t4"]) == ("interrupted", "not_executed")
    assert (await agent.run("continue")).text == "good"
    check_requests(model.requests)


def press_key(*_: object) -> None:
    raise KeyboardInterrupt


async def press_key_later(*_: object) -> None:
    await asyncio.sleep(0)
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "event", ["user_prompt", "before_model", "before_tool", "after_tool", "after_round", "stop"]
)
@pytest.mark.parametrize("press_now", [press_key, press_key_later])
async def test_a_keyboard_interrupt_inside_a_hook_is_an_interruption_of_the_turn(
    event: str, press_now: Callable[..., Any]
) -> None:
    left = [press_now]

    def once(*args: object) -> Any:
        return left.pop()() if left else None

    store = MemoryStore()
    model = ScriptedModel(lambda request: [call(len(model.requests))] if len(model.requests) == 1 else "good")
    agent = await start(model, store=store, hooks=Hooks(**{event: (once,)}))
    result = await agent.run("go")
    assert result.reason == "interrupted"
    assert (await agent.run("continue")).reason == "done"
    check_requests(model.requests)
    await check_fold(agent, store)


async def test_a_keyboard_interrupt_inside_the_model_is_an_interruption_of_the_turn() -> None:
    agent = await start([KeyboardInterrupt(), "good"])
    assert (await agent.run("go")).reason == "interrupted"
    assert (await agent.run("continue")).text == "good"


async def test_a_tool_that_swallows_its_cancellation_does_not_keep_the_turn_alive() -> None:
    entered = asyncio.Event()

    @tool()
    async def stubborn() -> str:
        """Swallow a cancellation."""
        entered.set()
        try:
            await asyncio.sleep(LIMIT)
        except asyncio.CancelledError:
            return "finished all the same"
        return "not cancelled"

    def judge(call: Call, tool: Tool, view: View) -> None:
        judged.append(call.id)

    judged: list[str] = []
    agent = await start(
        [[call(1, "stubborn"), call(2, "stubborn")], "not reached"],
        stubborn,
        hooks=Hooks(before_tool=(judge,)),
    )
    turn = asyncio.create_task(agent.run("go"))
    await entered.wait()
    agent.interrupt()
    assert (await turn).reason == "interrupted"
    assert judged == ["t1"]
    assert [(r.outcome, r.content) for r in results(agent.messages)] == [
        ("ok", "finished all the same"),
        ("not_executed", "Error: not executed (interrupted by the user)."),
    ]


async def test_no_hook_is_asked_about_a_call_once_the_turn_is_interrupted() -> None:
    judged: list[str] = []

    async def stubborn(call: Call, tool: Tool, view: View) -> None:
        judged.append(call.id)
        agent.interrupt()
        try:
            await asyncio.sleep(LIMIT)
        except asyncio.CancelledError:
            return

    agent = await start([[call(1, "look"), call(2, "look")]], hooks=Hooks(before_tool=(stubborn,)))
    assert (await agent.run("go")).reason == "interrupted"
    assert judged == ["t1"]
    assert outcomes(agent.messages) == [("t1", "not_executed"), ("t2", "not_executed")]


async def test_no_request_follows_a_round_whose_cancellation_a_hook_swallowed() -> None:
    async def stubborn(view: View) -> None:
        agent.interrupt()
        try:
            await asyncio.sleep(LIMIT)
        except asyncio.CancelledError:
            return

    model = ScriptedModel([[call(1)], "not reached"])
    agent = await start(model, hooks=Hooks(after_round=(stubborn,)))
    assert (await agent.run("go")).reason == "interrupted"
    assert len(model.requests) == 1


async def test_a_tool_that_gives_up_by_itself_is_an_error_and_the_turn_goes_on() -> None:
    agent = await start([[call(1, "fail", text="cancel"), call(2)], "good"])
    assert (await agent.run("go")).text == "good"
    assert outcomes(agent.messages) == [("t1", "error"), ("t2", "ok")]


@pytest.mark.parametrize("text", ["tool", "exit", "other"])
async def test_a_failing_tool_is_an_error_result(text: str) -> None:
    agent = await start([[call(1, "fail", text=text), call(2)], "good"])
    assert (await agent.run("go")).reason == "done"
    assert outcomes(agent.messages) == [("t1", "error"), ("t2", "ok")]


async def test_a_finished_call_keeps_its_result_when_its_hook_is_interrupted() -> None:
    async def slow(call: Call, result: ToolResult, view: View) -> None:
        agent.interrupt()
        await asyncio.sleep(LIMIT)

    agent = await start([[call(1), call(2)], "x"], hooks=Hooks(after_tool=(slow,)))
    assert (await agent.run("go")).reason == "interrupted"
    assert outcomes(agent.messages) == [("t1", "ok"), ("t2", "not_executed")]


async def test_a_denial_stays_a_denial_when_the_turn_is_interrupted_behind_it() -> None:
    gate = Gate()

    def deny(call: Call, tool: Tool, view: View) -> Deny | None:
        return Deny("no") if call.name == "work" else None

    store = MemoryStore()
    agent = await start(
        [[call(1), call(2, "wait"), call(3)]], gate.tool, work, hooks=Hooks(before_tool=(deny,)), store=store
    )
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    agent.interrupt()
    await turn
    assert outcomes(agent.messages) == [("t1", "denied"), ("t2", "interrupted"), ("t3", "not_executed")]
    assert [r for r in await log_of(store) if isinstance(r, Decided)] == [Decided("t1", "deny", "hook", "no")]


async def test_a_verdict_is_in_the_log_also_when_the_turn_ends_before_its_call_ran() -> None:
    async def judge(call: Call, tool: Tool, view: View) -> Allow:
        if call.id == "t2":
            agent.interrupt()
            await asyncio.sleep(LIMIT)
        return Allow("me")

    store = MemoryStore()
    agent = await start([[call(1, "look"), call(2, "look")]], store=store, hooks=Hooks(before_tool=(judge,)))
    await agent.run("go")
    assert outcomes(agent.messages) == [("t1", "not_executed"), ("t2", "not_executed")]
    assert [r for r in await log_of(store) if isinstance(r, Decided)] == [Decided("t1", "allow", "me")]


async def test_side_by_side_calls_that_are_interrupted_keep_each_its_own_output() -> None:
    one, two = Gate("one", parallel=True, partial="1"), Gate("two", parallel=True, partial="2")
    agent = await start([[call(1, "one"), call(2, "two")]], one.tool, two.tool)
    turn = asyncio.create_task(agent.run("go"))
    await asyncio.gather(one.entered.wait(), two.entered.wait())
    two.opened.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    agent.interrupt()
    await turn
    assert [(r.outcome, r.content.splitlines()[-1]) for r in results(agent.messages)] == [
        ("interrupted", "1"),
        ("ok", "waited"),
    ]


class WaitingApprover:
    """Asks and gets no answer; `asked` tells that it asks."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def approve(self, question: Question) -> Approval:
        self.asked.set()
        await asyncio.sleep(LIMIT)
        raise AssertionError


async def test_an_interrupt_at_the_question_is_no_denial() -> None:
    approver, store = WaitingApprover(), MemoryStore()
    rights = Permissions(approver)
    agent = await start(
        [[call(1), call(2)], "good"], hooks=Hooks(before_tool=(rights.before_tool,)), store=store
    )
    turn = asyncio.create_task(agent.run("go"))
    await approver.asked.wait()
    agent.interrupt()
    await turn
    assert outcomes(agent.messages) == [("t1", "not_executed"), ("t2", "not_executed")]
    assert not [r for r in await log_of(store) if isinstance(r, (Decided, ToolStarted))]
    rights.auto = True
    assert (await agent.run("continue")).text == "good"


async def test_an_outer_timeout_ends_the_turn_and_is_passed_on() -> None:
    gate, store = Gate(), MemoryStore()
    agent = await start([[call(1, "wait"), call(2, "wait")], "good"], gate.tool, store=store)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await agent.run("go")
    assert gate.entered.is_set()
    assert outcomes(agent.messages) == [("t1", "interrupted"), ("t2", "not_executed")]
    assert (await store.find("latest")).ended == "interrupted"
    await asyncio.sleep(0)  # nothing of the cancellation is left over
    assert (await agent.run("continue")).text == "good"


async def test_cancelling_again_while_the_results_are_written_loses_none() -> None:
    gate, store = Gate(), FragileStore()
    agent = await start([[call(1, "wait"), call(2, "wait")], "good"], gate.tool, store=store)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    turn.cancel()
    for _ in range(6):
        await asyncio.sleep(0)
        turn.cancel()
    await asyncio.wait([turn])
    assert turn.cancelled()
    assert outcomes(agent.messages) == [("t1", "interrupted"), ("t2", "not_executed")]
    ends = [r.reason for r in await log_of(store) if isinstance(r, TurnEnded)]
    assert ends == ["interrupted"]
    await check_fold(agent, store)


async def test_a_turn_that_is_interrupted_while_the_start_of_a_call_is_logged_does_not_run_it() -> None:
    store, (log, note_run) = FragileStore(), ran()
    agent = await start([[call(1, "note_run")], "good"], note_run, store=store)
    store.during[4] = agent.interrupt  # session, user, reply, start
    assert (await agent.run("go")).reason == "interrupted"
    assert (log, outcomes(agent.messages)) == ([], [("t1", "not_executed")])
    assert ToolStarted("t1") in await log_of(store)


@pytest.mark.parametrize("at", range(2, 8))
async def test_a_cancellation_that_comes_while_the_log_is_written_comes_out_of_the_loop_once(at: int) -> None:
    store = FragileStore()
    session = await Session.create(store, this_process(), SessionStarted("s1", 1))
    parts = Parts(ScriptedModel([[call(1)], "good"]), Toolset([work]), session, lambda _: None)

    async def turn() -> int:
        came = 0
        for step in (run(parts, User("go")), *(asyncio.sleep(0) for _ in range(3))):
            try:
                await step
            except asyncio.CancelledError:
                came += 1
        return came

    task = asyncio.create_task(turn())
    store.during[at] = task.cancel
    assert await task == 1
    check_messages(session.messages)


async def test_a_cancellation_that_was_put_off_is_raised_once() -> None:
    came: list[str] = []

    async def put_off() -> None:
        await unbroken(asyncio.sleep(0, came.append("begun")))
        came.append("ended")
        try:
            await raise_if_cancelled()
        except asyncio.CancelledError:
            came.append("raised")
        await asyncio.sleep(0)
        came.append("left")

    task = asyncio.create_task(put_off())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert came == ["begun", "ended", "raised", "left"]


async def test_a_turn_that_is_interrupted_while_its_last_reply_is_logged_is_not_continued() -> None:
    store = FragileStore()
    model = ScriptedModel([[write(1)], "I will go on", "good", "good"])
    agent = await start(model, store=store)
    store.during[6] = agent.interrupt  # session, user, reply, start, result, reply
    assert (await agent.run("go")).reason == "interrupted"
    assert (len(model.requests), notes(agent.messages)) == (2, [])


async def test_results_that_are_there_are_kept_when_the_log_fails_for_a_moment() -> None:
    store = FragileStore({5, 6})  # session, user, reply, starts, result, its replacement
    agent = await start([[call(1, "look"), call(2, "look"), call(3)], "good"], store=store)
    assert (await agent.run("go")).reason == "store_error"
    assert outcomes(agent.messages) == [("t1", "ok"), ("t2", "ok"), ("t3", "not_executed")]
    told = "Error: not executed (interrupted because the session log failed)."
    assert results(agent.messages)[2].content == told


# --- side by side -----------------------------------------------------------------------------------


async def test_neighbours_that_are_safe_for_it_run_at_the_same_time_and_answer_in_call_order() -> None:
    here, there = asyncio.Event(), asyncio.Event()

    @tool(parallel=True)
    async def first() -> str:
        """Meet the other."""
        here.set()
        await there.wait()
        return "one"

    @tool(parallel=True)
    async def second() -> str:
        """Meet the other, and be done before it."""
        there.set()
        await here.wait()
        return "two"

    store = MemoryStore()
    agent = await start([[call(1, "first"), call(2, "second")], "x"], first, second, store=store)
    async with asyncio.timeout(LIMIT):
        await agent.run("go")
    told = [r for r in await log_of(store) if isinstance(r, (ToolStarted, ToolResult))]
    assert told == [
        ToolStarted("t1"),
        ToolStarted("t2"),
        ToolResult("t1", "first", "one", changed=True),
        ToolResult("t2", "second", "two", changed=True),
    ]


async def test_a_call_that_must_be_alone_splits_its_neighbours() -> None:
    running: list[str] = []
    together: list[tuple[str, ...]] = []

    async def run(name: str) -> str:
        running.append(name)
        together.append(tuple(running))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.remove(name)
        return name

    @tool(parallel=True)
    async def safe(name: str) -> str:
        """Run beside others."""
        return await run(name)

    @tool()
    async def alone(name: str) -> str:
        """Run alone."""
        return await run(name)

    calls = [
        call(1, "safe", name="a"),
        call(2, "safe", name="b"),
        call(3, "alone", name="c"),
        call(4, "safe", name="d"),
    ]
    agent = await start([calls, "x"], safe, alone)
    await agent.run("go")
    assert together == [("a",), ("a", "b"), ("c",), ("d",)]
    assert [r.content for r in results(agent.messages)] == ["a", "b", "c", "d"]


async def test_a_call_that_does_not_run_keeps_its_place_among_neighbours() -> None:
    def deny(call: Call, tool: Tool, view: View) -> Deny | Allow:
        return Deny("no") if call.arguments.get("text") == "b" else Allow("test")

    calls = [call(n, "look", text=text) for n, text in enumerate("abc")]
    agent = await start([calls, "x"], hooks=Hooks(before_tool=(deny,)))
    await agent.run("go")
    assert outcomes(agent.messages) == [("t0", "ok"), ("t1", "denied"), ("t2", "ok")]


async def test_the_start_of_a_call_is_in_the_log_when_its_tool_runs() -> None:
    store = MemoryStore()
    seen: list[bool] = []

    @tool()
    async def peek() -> str:
        """Look into the log."""
        seen.append(ToolStarted("t1") in await log_of(store))
        return "x"

    agent = await start([[call(1, "peek")], "x"], peek, store=store)
    await agent.run("go")
    assert seen == [True]


async def test_a_result_is_in_the_log_when_the_next_call_runs() -> None:
    store = MemoryStore()
    seen: list[list[tuple[str, str]]] = []

    @tool()
    async def peek() -> str:
        """Look into the log."""
        seen.append(outcomes(await log_of(store)))
        return "x"

    agent = await start([[call(1, "peek"), call(2, "peek")], "x"], peek, store=store)
    await agent.run("go")
    assert seen == [[], [("t1", "ok")]]


# --- notes and words --------------------------------------------------------------------------------


async def test_notes_of_after_tool_stand_behind_all_results_in_call_order() -> None:
    async def remark(call: Call, result: ToolResult, view: View) -> Note:
        for _ in range(5 if call.id == "t1" else 1):
            await asyncio.sleep(0)
        return Note(f"about {call.id}", "remark")

    agent = await start([[call(1, "look"), call(2, "look"), call(3)], "x"], hooks=Hooks(after_tool=(remark,)))
    await agent.run("go")
    kinds = [type(message).__name__ for message in agent.messages]
    assert kinds == ["User", "Assistant", *["ToolResult"] * 3, *["Note"] * 3, "Assistant"]
    assert [note.text for note in notes(agent.messages)] == ["about t1", "about t2", "about t3"]


async def test_replaced_content_is_what_the_model_reads_and_details_stay() -> None:
    def shorten(call: Call, result: ToolResult, view: View) -> Replace:
        return Replace(f"[{result.content}]")

    agent = await start(
        [[write(1, ("x", "completed")), call(2)], "x"], hooks=Hooks(after_tool=(shorten, shorten))
    )
    result = await agent.run("go")
    assert results(agent.messages)[1].content == "[[worked ]]"
    assert result.revision == 1


async def test_an_unknown_tool_is_answered_with_those_there_are() -> None:
    agent = await start([[call(1, "rm"), call(2)], "x"])
    await agent.run("go")
    told, other = results(agent.messages)
    assert told == ToolResult(
        "t1",
        "rm",
        "Error: no tool is named 'rm'. Tools: write_todos, read_todos, work, look, fail",
        "error",
    )
    assert other.outcome == "ok"
    check_messages(agent.messages)
