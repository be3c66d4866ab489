"""Hooks: their order, what each may decide, what a failing one does, and the budget they share."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from parts import (
    THREE,
    call,
    forever,
    log_of,
    notes,
    outcomes,
    results,
    start,
    todos,
    warnings,
    write,
)

from onplan.events import Decided
from onplan.hooks import (
    Allow,
    Ask,
    Block,
    Continue,
    Deny,
    EndTurn,
    Hooks,
    PlanChange,
    Rewrite,
    Skip,
    Veto,
    View,
)
from onplan.messages import Assistant, Call, Note, ToolResult
from onplan.models.scripted import Reply, ScriptedModel
from onplan.parts import Limits
from onplan.permissions import Permissions
from onplan.protocols import Approval, Approved, Question, Rejected, Request
from onplan.stores.memory import MemoryStore
from onplan.toolset import Tool


def note(text: str) -> Note:
    return Note(text, "mine")


def keep_going(reply: Assistant, view: View) -> Continue:
    return Continue(note("keep going"))


# --- where they run ---------------------------------------------------------------------------------


async def test_hooks_run_in_order_sync_and_async_alike() -> None:
    order: list[str] = []

    def mark(name: str) -> Any:
        def now(*args: object) -> None:
            order.append(name)

        async def later(*args: object) -> None:
            await asyncio.sleep(0)
            order.append(f"{name}+")

        return (now, later)

    events = [
        "session_start",
        "user_prompt",
        "before_model",
        "before_tool",
        "after_tool",
        "after_round",
        "stop",
        "session_end",
    ]
    agent = await start([[call(1)], "x"], hooks=Hooks(**{event: mark(event) for event in events}))
    await agent.run("go")
    await agent.close()
    expected = (
        "user_prompt session_start before_model before_tool after_tool after_round "
        "before_model stop session_end"
    )
    assert order == [name for event in expected.split() for name in (event, f"{event}+")]


async def test_hooks_of_two_values_run_one_after_the_other() -> None:
    order: list[int] = []
    one = Hooks(before_model=(lambda view: order.append(1),))
    two = Hooks(before_model=(lambda view: order.append(2),))
    agent = await start(["x"], hooks=one + two)
    await agent.run("go")
    assert order == [1, 2]


async def test_session_start_goes_along_with_the_first_user_message_only() -> None:
    store = MemoryStore()
    hooks = Hooks(session_start=(lambda view: note("welcome"),), user_prompt=(lambda text, view: note(text),))
    agent = await start(["x", "x"], store=store, hooks=hooks)
    await agent.run("one")
    await agent.run("two")
    await agent.close()
    again = await start(["x"], store=store, hooks=hooks, resume=agent.session_id)
    await again.run("three")
    assert [n.text for n in notes(again.messages)] == ["welcome", "one", "two", "three"]
    assert [type(m).__name__ for m in again.messages[:3]] == ["User", "Note", "Note"]


async def test_a_blocked_message_is_neither_sent_nor_logged_and_the_session_starts_with_the_next() -> None:
    store = MemoryStore()
    model = ScriptedModel(["x"])
    starts: list[int] = []

    def guard(text: str, view: View) -> Block | None:
        return Block("not that") if text == "bad" else None

    hooks = Hooks(user_prompt=(guard,), session_start=(lambda view: starts.append(1),))
    agent = await start(model, store=store, hooks=hooks)
    result = await agent.run("bad")
    assert (result.reason, result.error, result.exit_code, result.text) == ("blocked", "not that", 1, "")
    assert (list(agent.messages), model.requests, starts) == ([], [], [])
    assert (await agent.run("good")).text == "x"
    assert starts == [1]


async def test_a_note_before_a_request_is_at_its_end() -> None:
    model = ScriptedModel([[call(1)], "x"])
    agent = await start(model, hooks=Hooks(before_model=(lambda view: note("now"),)))
    await agent.run("go")
    assert [request.messages[-1] for request in model.requests] == [note("now")] * 2


async def test_notes_after_a_round_stand_behind_its_results() -> None:
    agent = await start([[call(1), call(2)], "x"], hooks=Hooks(after_round=(lambda view: note("then"),)))
    await agent.run("go")
    assert [type(m).__name__ for m in agent.messages[2:5]] == ["ToolResult", "ToolResult", "Note"]


async def test_a_round_may_be_the_last() -> None:
    agent = await start(
        [[call(1)], "not reached"],
        hooks=Hooks(after_round=(lambda view: note("then"), lambda view: EndTurn("cost"))),
    )
    result = await agent.run("go")
    assert (result.reason, result.exit_code, result.rounds) == ("cost", 5, 1)
    assert agent.messages[-1] == note("then")


async def test_a_hook_that_gives_up_by_itself_is_skipped_with_a_warning() -> None:
    async def give_up(view: View) -> None:
        raise asyncio.CancelledError

    events: list[Any] = []
    agent = await start(["x"], hooks=Hooks(before_model=(give_up,)), events=events)
    assert (await agent.run("go")).text == "x"
    assert len(warnings(events)) == 1
    assert warnings(events)[0].endswith("give_up gave up by itself and was skipped")


# --- before a tool ----------------------------------------------------------------------------------


def decide(*decisions: Any) -> Hooks:
    def hook(decision: Any) -> Any:
        def decide(call: Call, tool: Tool, view: View) -> Any:
            return decision

        return decide

    return Hooks(before_tool=tuple(hook(decision) for decision in decisions))


async def told(*decisions: Any) -> tuple[ToolResult, list[Decided]]:
    store = MemoryStore()
    agent = await start([[call(1, text="x")], "x"], store=store, hooks=decide(*decisions))
    await agent.run("go")
    (result,) = results(agent.messages)
    return result, [record for record in await log_of(store) if isinstance(record, Decided)]


async def test_no_opinion_lets_a_call_run_without_a_verdict() -> None:
    assert await told(None, None) == (ToolResult("t1", "work", "worked x", changed=True), [])


async def test_a_permission_lets_a_call_run_and_is_kept_with_its_reason() -> None:
    ran = ToolResult("t1", "work", "worked x", changed=True)
    assert await told(None, Allow("me", "fine")) == (ran, [Decided("t1", "allow", "me", "fine")])
    assert await told(Allow("me"), Allow("you")) == (ran, [Decided("t1", "allow", "you")])


@pytest.mark.parametrize(
    "decisions",
    [
        (Deny("no"),),
        (Deny("no"), Allow("me")),
        (Allow("me"), Deny("no")),
        (Deny("early"), Deny("no"), Ask("?")),
    ],
)
async def test_a_denial_counts_wherever_it_stands(decisions: tuple[Any, ...]) -> None:
    denied = ToolResult("t1", "work", "Error: not run: no", "denied", {"denied": "hook"})
    assert await told(*decisions) == (denied, [Decided("t1", "deny", "hook", "no")])


async def test_a_question_that_no_later_hook_takes_up_is_a_denial_for_want_of_a_person() -> None:
    result, (verdict,) = await told(Allow("me"), Ask("it looks odd"))
    assert (result.outcome, result.details) == ("denied", {"denied": "hook", "nobody": True})
    assert "it looks odd" in result.content
    assert verdict.verdict == "deny"
    asked = await told(Ask("it looks odd"), Allow("person"))
    assert asked == (ToolResult("t1", "work", "worked x", changed=True), [Decided("t1", "allow", "person")])


async def test_a_permission_does_not_hold_for_arguments_that_were_rewritten_after_it() -> None:
    result, verdicts = await told(Allow("me"), Rewrite({"text": "y"}))
    assert (result.content, verdicts) == ("worked y", [])


async def test_each_hook_knows_what_those_before_it_said() -> None:
    heard: list[Any] = []

    def listen(call: Call, tool: Tool, view: View) -> None:
        heard.append(view.decided)

    hooks = (
        decide(Allow("me")) + Hooks(before_tool=(listen,)) + decide(Ask("?")) + Hooks(before_tool=(listen,))
    )
    agent = await start([[call(1)], "x"], hooks=hooks)
    await agent.run("go")
    assert heard == [(Allow("me"),), (Allow("me"), Ask("?"))]


async def test_a_skipped_call_is_no_denial() -> None:
    skipped = ToolResult("t1", "work", "Error: later", "not_executed", {"k": 1})
    assert await told(Skip("Error: later", {"k": 1})) == (skipped, [])


async def test_rewritten_arguments_are_judged_by_the_next_hook_and_checked_like_the_models_own() -> None:
    seen: list[Any] = []

    def judge(call: Call, tool: Tool, view: View) -> None:
        seen.append(call.arguments)

    hooks = decide(Rewrite({"text": "y"})) + Hooks(before_tool=(judge,)) + decide(Rewrite({"text": 5}))
    agent = await start([[call(1, text="x")], "x"], hooks=hooks)
    await agent.run("go")
    assert seen == [{"text": "y"}]
    assert outcomes(agent.messages) == [("t1", "error")]
    assert agent.messages[1] == Assistant((call(1, text="x"),), "tool_calls", model="scripted")


# --- permissions, which are one of them -------------------------------------------------------------


class Person:
    """Answers as told, the last answer for ever, and keeps the questions."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []

    async def approve(self, question: Question) -> Approval:
        self.questions.append(question)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def ask(person: Person | None, *calls: Call) -> tuple[list[tuple[str, str]], int]:
    rights = Permissions(person)
    agent = await start([list(calls), "x"], hooks=Hooks(before_tool=(rights.before_tool,)))
    result = await agent.run("go")
    return outcomes(agent.messages), result.exit_code


@pytest.mark.parametrize("answer", [EOFError(), RuntimeError("broken"), None, True, "yes"])
async def test_a_question_that_fails_is_no_permission(answer: Any) -> None:
    assert await ask(Person(answer), call(1)) == ([("t1", "denied")], 3)


async def test_nobody_to_ask_is_a_denial_with_an_exit_code_of_its_own() -> None:
    assert await ask(None, call(1), call(2, "look")) == ([("t1", "denied"), ("t2", "denied")], 3)
    assert await ask(Person(Rejected(nobody=True)), call(1)) == ([("t1", "denied")], 3)


async def test_a_rejection_by_the_person_is_a_denial_and_no_error_of_the_run() -> None:
    assert await ask(Person(Rejected("no")), call(1)) == ([("t1", "denied")], 0)


async def test_every_call_is_asked_for_until_the_person_says_otherwise() -> None:
    person = Person(Approved(), Approved("tool"), Rejected())
    assert await ask(person, call(1), call(2), call(3), call(4, "look")) == (
        [("t1", "ok"), ("t2", "ok"), ("t3", "ok"), ("t4", "denied")],
        0,
    )
    assert [(q.call.id, q.first) for q in person.questions] == [("t1", True), ("t2", False), ("t4", False)]


# --- the plan ---------------------------------------------------------------------------------------


async def test_a_veto_keeps_the_plan_and_tells_the_model_why() -> None:
    changes: list[PlanChange] = []

    async def veto(change: PlanChange) -> Veto | None:
        changes.append(change)
        return Veto("b must stay") if len(change.after) < 3 else None

    agent = await start(
        [[write(1)], [write(2, ("a", "completed"))], "x", "x"], hooks=Hooks(plan_change=(veto,))
    )
    result = await agent.run("go")
    assert (result.revision, result.plan.to_json()) == (1, todos(*THREE))
    assert outcomes(agent.messages) == [("t1", "ok"), ("t2", "error")]
    assert "b must stay" in results(agent.messages)[1].content
    assert changes[1] == PlanChange(
        todos(*THREE), todos(("a", "completed")), {"dropped": ["b", "c"]}, "model"
    )


async def test_an_edit_by_the_person_while_a_write_is_judged_is_not_lost() -> None:
    async def edits_meanwhile(change: PlanChange) -> None:
        if change.author == "model" and len(agent.plan) == 3:
            await agent.edit_plan([*agent.plan, "mine"])

    agent = await start(
        [[write(1)], [write(2, ("a", "completed"), ("b", "completed"), ("c", "in_progress"))], "x", "x"],
        hooks=Hooks(plan_change=(edits_meanwhile,)),
    )
    result = await agent.run("go")
    assert result.plan.to_json() == todos(
        ("a", "completed"), ("b", "completed"), ("c", "in_progress"), ("mine", "pending")
    )
    assert [r.number for r in agent.plan_state.ledger.revisions] == [1, 2, 3]


# --- stop -------------------------------------------------------------------------------------------


async def test_a_stop_hook_that_always_blocks_is_overridden_after_three() -> None:
    events: list[Any] = []
    model = forever("I am done")
    agent = await start(model, hooks=Hooks(stop=(keep_going,)), events=events)
    result = await agent.run("go")
    assert (len(model.requests), result.reason) == (4, "done")
    assert warnings(events) == ["stop hook overridden: the turn was continued 3 times already"]


async def test_tool_calls_do_not_give_a_stop_hook_more_continuations() -> None:
    events: list[Any] = []

    def alternately(request: Request) -> Reply:
        n = len(request.messages)
        worked = any(isinstance(message, ToolResult) for message in request.messages[-2:])
        return "I am done" if worked else [call(n, text=str(n))]

    model = forever(alternately)
    agent = await start(model, hooks=Hooks(stop=(keep_going,)), events=events)
    result = await agent.run("go")
    assert (len(model.requests), result.rounds, result.reason) == (8, 4, "done")
    assert len(warnings(events)) == 1


async def test_a_stop_hook_that_blocks_once_continues_once() -> None:
    active: list[bool] = []

    def once(reply: Assistant, view: View) -> Continue | None:
        active.append(view.turn.continuations > 0)
        return None if active[-1] else Continue(note("once more"))

    model = forever("done")
    agent = await start(model, hooks=Hooks(stop=(once,)))
    await agent.run("go")
    await agent.run("again")
    assert (len(model.requests), active) == (4, [False, True, False, True])


async def test_a_stop_hook_that_crashes_warns_and_lets_the_turn_end() -> None:
    def crash(reply: Assistant, view: View) -> None:
        raise RuntimeError("exit 1")

    events: list[Any] = []
    agent = await start(["x"], hooks=Hooks(stop=(crash,)), events=events)
    assert (await agent.run("go")).reason == "done"
    assert len(warnings(events)) == 1
    assert "RuntimeError: exit 1" in warnings(events)[0]


async def test_an_interrupt_ends_a_turn_that_a_stop_hook_keeps_alive() -> None:
    def interrupting(reply: Assistant, view: View) -> Continue:
        if view.turn.continuations == 1:
            agent.interrupt()
        return keep_going(reply, view)

    agent = await start(forever("done"), hooks=Hooks(stop=(interrupting,)))
    assert (await agent.run("go")).reason == "interrupted"


async def test_stop_gate_and_stop_hooks_share_one_budget() -> None:
    model = forever("I am done")

    def planned(request: Request) -> Reply:
        return [write(1)] if len(request.messages) == 1 else "I am done"

    model = forever(planned)
    agent = await start(model, hooks=Hooks(stop=(keep_going,)))
    result = await agent.run("go")
    assert (len(model.requests), result.reason, result.exit_code) == (5, "open_todos", 4)
    assert len(notes(agent.messages, "continue")) == 1


async def test_a_budget_of_none_ends_with_the_gates_own_reason() -> None:
    agent = await start([[write(1)], "so"], limits=Limits(continuations=0))
    assert (await agent.run("go")).reason == "open_todos"


async def test_hooks_see_the_turn_and_cannot_replace_it() -> None:
    seen: list[tuple[int, int, int]] = []

    def look_on(view: View) -> None:
        seen.append((view.turn.rounds, view.turn.requests, len(view.messages)))

    agent = await start([[call(1)], [call(2, "look")], "x"], hooks=Hooks(before_model=(look_on,)))
    await agent.run("go")
    assert seen == [(0, 0, 1), (1, 1, 3), (2, 2, 5)]
