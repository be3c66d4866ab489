"""Every scenario on onplan's own loop; and that the checker, the format and the set are worth their name."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from onplan.errors import ConfigError
from onplan.messages import Assistant, Message, Note, Text, ToolResult, User
from onplan.plan.dialect import DIALECTS
from onplan.plan.reminder import ReminderKind
from onplan.plan.todo import FaultKind, Plan, Todo
from onplan.testing import scenarios as module
from onplan.testing.scenarios import (
    Need,
    Observed,
    PlainLoop,
    Scenario,
    check,
    load_scenarios,
    needs_of,
    parse_scenario,
)

SCENARIOS = load_scenarios()
FORMAT = "onplan.testing.scenarios.format"
DOCS = Path(__file__).parents[2] / "docs" / "scenarios.md"


def named(name: str) -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.name == name)


def played(scenario: Scenario) -> Observed:
    return asyncio.run(PlainLoop().play(scenario))


@pytest.fixture(scope="module")
def everything() -> list[tuple[Scenario, Observed]]:
    return [(scenario, played(scenario)) for scenario in SCENARIOS]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_the_plain_loop_behaves_as_the_scenario_says(scenario: Scenario) -> None:
    assert check(scenario, await PlainLoop().play(scenario)) == []


async def test_a_scenario_gives_the_same_observation_every_time() -> None:
    scenario = named("an_interrupt_leaves_no_call_without_result")
    assert await PlainLoop().play(scenario) == await PlainLoop().play(scenario)


# --- the checker fails where it should ----------------------------------------------------------------


def seen_by_the_model(observed: Observed) -> int:
    return len(observed.requests[-1].messages) if observed.requests else 0


def altered(message: Message) -> Message:
    match message:
        case User(text=text):
            return User(text + "!")
        case Note():
            return msgspec.structs.replace(message, text=message.text + "!")
        case ToolResult():
            return msgspec.structs.replace(message, content=message.content + "!")
        case Assistant():
            return msgspec.structs.replace(message, parts=(*message.parts, Text("!")))


def with_messages(observed: Observed, messages: list[Message]) -> Observed:
    return replace(observed, messages=tuple(messages))


def test_a_dropped_message_is_noticed(everything: list[tuple[Scenario, Observed]]) -> None:
    for scenario, observed in everything:
        for at in range(seen_by_the_model(observed)):
            without = [*observed.messages[:at], *observed.messages[at + 1 :]]
            assert check(scenario, with_messages(observed, without)), (scenario.name, at)


def test_a_changed_text_is_noticed(everything: list[tuple[Scenario, Observed]]) -> None:
    for scenario, observed in everything:
        for at in range(seen_by_the_model(observed)):
            messages = list(observed.messages)
            messages[at] = altered(messages[at])
            assert check(scenario, with_messages(observed, messages)), (scenario.name, at)


def test_swapped_results_are_noticed(everything: list[tuple[Scenario, Observed]]) -> None:
    swaps = 0
    for scenario, observed in everything:
        for at, (one, other) in enumerate(zip(observed.messages, observed.messages[1:], strict=False)):
            if isinstance(one, ToolResult) and isinstance(other, ToolResult):
                messages = list(observed.messages)
                messages[at : at + 2] = [other, one]
                swaps += 1
                assert check(scenario, with_messages(observed, messages)), (scenario.name, at)
    assert swaps > 20


def test_a_result_that_never_came_is_noticed_at_the_end() -> None:
    observed = played(named("the_same_plan_over_and_over_ends_the_turn"))
    assert isinstance(observed.messages[-1], ToolResult)
    assert "the conversation ends without results for c5" in check(
        named("the_same_plan_over_and_over_ends_the_turn"), with_messages(observed, [*observed.messages[:-1]])
    )


def test_two_calls_with_one_id_are_noticed() -> None:
    scenario = named("readme_run")
    observed = played(scenario)
    twice = [*observed.messages, *observed.messages[1:3]]
    assert "several calls have the id c1" in check(scenario, with_messages(observed, twice))


def first_turn(observed: Observed, **changes: Any) -> Observed:
    return replace(observed, turns=(replace(observed.turns[0], **changes), *observed.turns[1:]))


def last_note(observed: Observed, **changes: Any) -> Observed:
    at = max(n for n, message in enumerate(observed.messages) if isinstance(message, Note))
    messages = list(observed.messages)
    messages[at] = msgspec.structs.replace(messages[at], **changes)
    # what the model was told changes with it, so that nothing but the expectation can notice
    requests = [
        msgspec.structs.replace(request, messages=tuple(messages[: len(request.messages)]))
        for request in observed.requests
    ]
    return replace(observed, messages=tuple(messages), requests=tuple(requests))


CHANGES: list[tuple[str, Callable[[Observed], Observed], str]] = [
    ("readme_run", lambda seen: replace(seen, plan=Plan(seen.plan.todos[:-1])), "the plan at the end"),
    (
        "readme_run",
        lambda seen: replace(seen, plan=Plan((*seen.plan.todos[:-1], Todo(seen.plan.todos[-1].content)))),
        "the plan at the end",
    ),
    ("readme_run", lambda seen: replace(seen, revision=5), "the revision at the end"),
    ("readme_run", lambda seen: replace(seen, dropped=("B",)), "dropped"),
    ("readme_run", lambda seen: replace(seen, counter=(*seen.counter[:-1], 2)), "distance after message 17"),
    ("readme_run", lambda seen: replace(seen, counter=seen.counter[:-1]), "counted messages"),
    ("readme_run", lambda seen: replace(seen, stats={**seen.stats, "writes": 5}), "stats: writes"),
    ("readme_run", lambda seen: replace(seen, stats={**seen.stats, "max_messages": 9}), "distance at most"),
    ("readme_run", lambda seen: replace(seen, ran=("c2",)), "ran"),
    ("readme_run", lambda seen: replace(seen, asked=("c2",)), "asked"),
    ("readme_run", lambda seen: replace(seen, rounds=seen.rounds[1:]), "rounds"),
    (
        "readme_run",
        lambda seen: replace(seen, rounds=(*seen.rounds[:-1], seen.rounds[0])),
        "the revision after round 8",
    ),
    ("readme_run", lambda seen: replace(seen, requests=seen.requests[:-1]), "requests"),
    ("readme_run", lambda seen: replace(seen, requests=(seen.requests[1], *seen.requests[1:])), "request 2"),
    (
        "readme_run",
        lambda seen: replace(
            seen,
            requests=(
                *seen.requests[:-1],
                msgspec.structs.replace(seen.requests[-1], system="You are another."),
            ),
        ),
        "request 9: its system text or tools",
    ),
    ("readme_run", lambda seen: first_turn(seen, reason="open_todos"), "turn 1: reason"),
    ("readme_run", lambda seen: first_turn(seen, requests=8), "turn 1: requests"),
    ("readme_run", lambda seen: first_turn(seen, exit_code=4), "turn 1: exit_code"),
    ("readme_run", lambda seen: replace(seen, turns=()), "turns"),
    ("reminders_back_off", lambda seen: last_note(seen, text="Hurry."), "reminder at message"),
    ("reminders_back_off", lambda seen: last_note(seen, details=None), "reminder at message"),
    ("a_reminder_as_a_message_of_its_own", lambda seen: last_note(seen, placement="beside"), "reminder at"),
    ("a_failing_hook_warns_and_lets_pass", lambda seen: replace(seen, warnings=()), "warnings"),
    ("a_failing_hook_warns_and_lets_pass", lambda seen: replace(seen, warnings=("!",)), "warning 1"),
    (
        "nothing_to_undo_is_an_error_for_the_person",
        lambda seen: replace(seen, refused_edits=()),
        "refused edits",
    ),
    ("a_model_error_loses_nothing", lambda seen: first_turn(seen, error="?"), "turn 1: error"),
]


@pytest.mark.parametrize(("name", "change", "told"), CHANGES)
def test_a_changed_observation_is_told(name: str, change: Callable[[Observed], Observed], told: str) -> None:
    differences = check(named(name), change(played(named(name))))
    assert any(difference.startswith(told) for difference in differences), differences


def test_a_changed_outcome_is_told() -> None:
    scenario = named("a_denial_carries_the_reason")
    observed = played(scenario)
    messages = [
        msgspec.structs.replace(message, outcome="error") if isinstance(message, ToolResult) else message
        for message in observed.messages
    ]
    assert "answer to c1: outcome: expected 'denied', found 'error'" in check(
        scenario, with_messages(observed, messages)
    )


def test_what_a_scenario_does_not_state_is_not_compared() -> None:
    scenario = msgspec.structs.replace(named("readme_run"), expect=module.ExpectData())
    observed = replace(played(scenario), plan=Plan(), revision=0, counter=(), stats={}, ran=(), rounds=())
    assert check(scenario, observed) == []


# --- the format ---------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {
    "name": "small",
    "title": "A turn.",
    "source": "nowhere",
    "turns": [{"user": "Hello.", "replies": [{"text": "Hello."}]}],
    "expect": {},
}


def changed(**fields: Any) -> str:
    return json.dumps({**SMALL, **fields})


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("[]", "here: Expected `object`"),
        ("{", "here: Input data was truncated"),
        (changed(mood="good"), "here: Object contains unknown field `mood`"),
        (changed(turns=[{"user": "Hello.", "answer": 1}]), "unknown field `answer`"),
        (changed(expect={"reminder": []}), "unknown field `reminder`"),
        (changed(needs=["telepathy"]), "Invalid enum value 'telepathy'"),
        (changed(expect={"plan": ["A"]}), "a todo begins with '[ ] ', '[~] ' or '[x] ', not 'A'"),
        (changed(settings={"approval": "ask"}), "it must also say that it needs approval"),
        (
            changed(turns=[{"user": "Hello.", "resume": True, "crash": {"after": "user"}}]),
            "it must also say that it needs crash, resume",
        ),
    ],
)
def test_a_file_that_breaks_the_format_is_refused_by_name(body: str, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)) as caught:
        parse_scenario(body, "here")
    assert "\n" not in str(caught.value)


def test_calls_are_numbered_through_the_scenario() -> None:
    calls = [{"name": "a"}, {"name": "b", "id": "mine"}, {"name": "c"}]
    scenario = parse_scenario(changed(turns=[{"user": "1", "replies": [{"calls": calls}]}] * 2))
    assert [call.id for turn in scenario.turns for reply in turn.replies for call in reply.calls] == [
        "c1",
        "mine",
        "c3",
        "c4",
        "mine",
        "c6",
    ]


def test_scenarios_have_names_titles_and_sources_of_their_own() -> None:
    assert len(SCENARIOS) >= 60
    for texts in ([item.name for item in SCENARIOS], [item.title for item in SCENARIOS]):
        assert len(set(texts)) == len(texts)
    for scenario in SCENARIOS:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", scenario.name)
        assert scenario.title.endswith(".")
        assert scenario.title.count("\n") == 0
        assert scenario.source.startswith(("first seed", "second seed", "third seed", "report: ", "design"))
        assert scenario.expect != module.ExpectData()


# --- the set covers what it should --------------------------------------------------------------------


def kept(messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    """What the plan keeps beside results and notes."""
    for message in messages:
        if isinstance(message, (ToolResult, Note)):
            found = (message.details or {}).get("plan")
            if isinstance(found, dict):
                yield found


def test_every_dialect_and_preset_is_played() -> None:
    found = {(item.settings.dialect, item.settings.preset) for item in SCENARIOS}
    seeds = ("write_todos", "todo_write", "todo")
    assert found == {(name, None) for name in DIALECTS} | {(name, "tutorial") for name in seeds}


def test_every_mode_of_planning_is_played() -> None:
    assert {item.settings.planning for item in SCENARIOS} == {"suggest", "require", "off"}


def test_every_kind_of_refusal_happens(everything: list[tuple[Scenario, Observed]]) -> None:
    kinds = {
        kind for _, seen in everything for item in kept(seen.messages) for kind in item.get("faults", ())
    }
    assert kinds == set(get_args(FaultKind))


def test_every_kind_of_reminder_happens(everything: list[tuple[Scenario, Observed]]) -> None:
    kinds = {item["kind"] for _, seen in everything for item in kept(seen.messages) if "kind" in item}
    assert kinds == set(get_args(ReminderKind))


def test_every_kind_of_note_is_placed_both_ways(everything: list[tuple[Scenario, Observed]]) -> None:
    notes = [item for _, seen in everything for item in seen.messages if isinstance(item, Note)]
    assert {item.placement for item in notes} == {"beside", "message"}
    assert {item.kind for item in notes} >= {"reminder", "continue", "interrupted", "empty", "length", "hook"}


def test_every_outcome_of_a_call_happens(everything: list[tuple[Scenario, Observed]]) -> None:
    outcomes = {
        item.outcome for _, seen in everything for item in seen.messages if isinstance(item, ToolResult)
    }
    assert outcomes == {"ok", "error", "denied", "interrupted", "not_executed"}


def test_every_way_to_end_a_turn_happens(everything: list[tuple[Scenario, Observed]]) -> None:
    reasons = {turn.reason for _, seen in everything for turn in seen.turns}
    reachable = {"done", "open_todos", "plan_loop", "call_loop", "rounds", "tokens", "refusal", "length"}
    reachable |= {"empty", "model_error", "interrupted", "blocked", "crashed"}
    assert reasons == reachable
    codes = {turn.exit_code for _, seen in everything for turn in seen.turns}
    assert codes == {0, 1, 3, 4, 5, 130}


def test_every_capability_is_needed_by_some_and_none_by_some() -> None:
    assert {need for item in SCENARIOS for need in item.needs} == set(get_args(Need))
    assert any(not item.needs for item in SCENARIOS)
    for scenario in SCENARIOS:
        assert needs_of(scenario) <= set(scenario.needs)


def test_every_way_of_the_person_and_of_the_process_is_played() -> None:
    turns = [turn for item in SCENARIOS for turn in item.turns]
    edits = [edit for turn in turns for edit in turn.edits]
    assert {edit.action for edit in edits} == {"edit", "undo", "redo", "clear"}
    assert any(edit.during_reply for edit in edits)
    assert any(edit.before_reply for edit in edits)
    assert {turn.crash.after for turn in turns if turn.crash} == {"user", "reply", "started", "result"}
    verdicts = [verdict for turn in turns for verdict in turn.approvals.values()]
    assert {verdict for verdict in verdicts if isinstance(verdict, str)} == {"allow_tool", "deny", "nobody"}
    assert any(isinstance(verdict, module.DenialData) for verdict in verdicts)
    interrupts = [turn.interrupt for turn in turns if turn.interrupt]
    for way in ("during", "asking", "before_reply", "heard"):
        assert any(getattr(interrupt, way) for interrupt in interrupts)
    stops = {reply.stop for turn in turns for reply in turn.replies}
    assert {"length", "refusal", "paused"} <= stops
    assert any(reply.cut for turn in turns for reply in turn.replies)


def test_several_plan_calls_in_one_reply_are_played() -> None:
    assert any(
        sum(call.name in DIALECTS[item.settings.dialect].tool_names for call in reply.calls) > 1
        for item in SCENARIOS
        for turn in item.turns
        for reply in turn.replies
    )


def test_the_back_off_is_played_to_its_end() -> None:
    scenario = named("reminders_back_off")
    notes = [note.after for note in scenario.expect.reminders or () if note is not None]
    assert notes[:4] == ["c4", "c10", "c22", "c34"]  # 3, 6, 12 and 12 rounds after the one before


# --- the first seed's run -----------------------------------------------------------------------------


async def test_the_readme_run_is_the_seeds_to_the_letter() -> None:
    observed = await PlainLoop().play(named("readme_run"))
    calls = [
        call.name for message in observed.messages if isinstance(message, Assistant) for call in message.calls
    ]
    assert calls == [
        "write_todos",
        "read_file",
        "read_file",
        "write_todos",
        "write_file",
        "write_todos",
        "read_todos",
        "write_todos",
    ]
    assert (len(observed.messages) + 1, len(observed.requests)) == (19, 9)
    assert observed.requests[0].system.startswith("You are Axon, a terminal-native coding assistant.")
    rewritten = [at for at, message in enumerate(observed.messages) if _shows_the_plan(message)]
    assert [observed.counter[at] for at in rewritten] == [0, 0, 0, 0, 0]
    assert max(observed.counter[rewritten[0] :]) == 5


def _shows_the_plan(message: Message) -> bool:
    return isinstance(message, ToolResult) and message.name in ("write_todos", "read_todos")


# --- the document -------------------------------------------------------------------------------------


async def test_the_documented_example_loads_and_passes() -> None:
    blocks = re.findall(r"```json\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 1
    scenario = parse_scenario(blocks[0], "docs/scenarios.md")
    observed = await PlainLoop().play(scenario)
    assert check(scenario, observed) == []
    assert check(scenario, replace(observed, plan=Plan())) != []


def test_the_document_names_every_field_and_every_need() -> None:
    text = DOCS.read_text(encoding="utf-8")
    structs = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, msgspec.Struct) and item.__module__ == FORMAT
    ]
    names = {field.name for struct in structs for field in msgspec.structs.fields(struct)}
    missing = sorted(name for name in {*names, *get_args(Need)} if f"`{name}`" not in text)
    assert missing == []
