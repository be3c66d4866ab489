"""PlanMemory as a library: its face, its snapshot, and what goes on behind a restore."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as sizes
from hypothesis import strategies as st
from strategies import dialects, plans, sent

from onplan.errors import PlanError
from onplan.plan.answer import Answer, answer
from onplan.plan.changes import Outcome, PlanCall, Read, Refused, Unchanged, Written
from onplan.plan.dialect import CODEX, DIALECTS, Dialect
from onplan.plan.memory import PlanMemory
from onplan.plan.settings import ReminderPolicy, Settings, settings
from onplan.plan.state import State, apply, decide, evolve
from onplan.plan.stats import Distance, Stats
from onplan.plan.stored import outcome_from_json, outcome_to_json, restore, snapshot
from onplan.plan.todo import Fault, Plan, Rules, Todo

TODOS: list[dict[str, str]] = [
    {"content": "read", "status": "completed"},
    {"content": "write", "status": "in_progress"},
    {"content": "ship", "status": "pending"},
]
PLAN = Plan((Todo("read", "completed"), Todo("write", "in_progress"), Todo("ship")))
OWN = Dialect(name="plan", list_key="steps", content_key="what", marks=(".", ">", "v"))


def in_json(data: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(data))


# --- the face --------------------------------------------------------------------------------------


def test_one_turn_in_a_loop_of_ones_own() -> None:
    memory = PlanMemory()
    assert [tool["name"] for tool in memory.tools] == ["write_todos", "read_todos"]
    assert memory.begin_turn() is None
    text = "Task list updated:\n[x] read\n[~] write\n[ ] ship"
    assert memory.call("write_todos", {"todos": TODOS}) == Answer(text, False, PLAN, 1, (), (), None)
    assert memory.end_round(messages=2, tokens=900) is None
    assert (memory.plan, memory.revision, memory.distance) == (PLAN, 1, Distance())
    assert memory.end_round(messages=2, tokens=900, calls=2, changed=True) is None
    assert memory.distance == Distance(2, 900)
    assert [memory.at_stop() is None for _ in range(2)] == [False, True]
    assert memory.render() == "[x] read\n[~] write\n[ ] ship"


def test_arguments_may_be_an_object_or_text_or_left_out() -> None:
    memory = PlanMemory()
    assert not memory.call("write_todos", json.dumps({"todos": TODOS})).is_error
    assert memory.plan == PLAN
    nothing: tuple[object, ...] = ("", "{}", {}, None)
    assert {memory.call("read_todos", arguments).text for arguments in nothing} == {memory.render()}
    assert memory.call("read_todos").text == memory.render()


def test_an_unknown_tool_is_answered_with_those_there_are() -> None:
    said = PlanMemory().call("update_plan", {})
    assert said.is_error
    assert said.text == ("Error: no plan tool is named 'update_plan'. Plan tools: write_todos, read_todos")


def test_a_dialect_without_a_read_tool_takes_no_call_without_a_name() -> None:
    assert PlanMemory("todo").call("").is_error


def test_the_answer_carries_the_drop_and_the_repair() -> None:
    memory = PlanMemory()
    memory.call("write_todos", {"todos": TODOS})
    said = memory.call("write_todos", TODOS[:2])
    assert (said.dropped, said.repaired) == (("ship",), ("the list came without its 'todos' key",))


def test_a_person_edits_undoes_and_redoes() -> None:
    memory = PlanMemory()
    assert memory.edit(["a", {"content": "b", "status": "completed"}, Todo("c")]) == memory.plan
    edited = memory.plan
    assert edited == Plan((Todo("a"), Todo("b", "completed"), Todo("c")))
    assert (memory.undo(), memory.redo(), memory.revision) == (Plan(), edited, 3)


def test_an_edit_that_changes_nothing_is_no_revision() -> None:
    memory = PlanMemory()
    memory.edit(["a"])
    memory.edit(["a"])
    assert (memory.revision, memory.stats.edits) == (1, 1)


@pytest.mark.parametrize(
    ("todos", "fault"),
    [
        (["a"] * 21, "21 todos, limit 20"),
        ([" "], "todo 0 has no content"),
        (["x" * 501], "todo 0 has 501 characters, limit 500"),
        (
            [Todo("a", "in_progress"), Todo("b", "in_progress")],
            "only 1 todo may be in progress: 0 (a) and 1 (b) are",
        ),
        ([{"content": "a", "status": "done"}], "not a todo: {'content': 'a', 'status': 'done'}"),
        ([{"status": "pending"}], "not a todo: {'status': 'pending'}"),
    ],
)
def test_an_edit_that_breaks_the_rules_raises_and_changes_nothing(todos: list[Any], fault: str) -> None:
    memory = PlanMemory()
    memory.edit(["kept"])
    with pytest.raises(PlanError) as caught:
        memory.edit(todos)
    assert caught.value.faults == (fault,)
    assert (memory.plan, memory.revision) == (Plan((Todo("kept"),)), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "nope"}, "unknown dialect 'nope': use one of write_todos, todo_write, todo,"),
        ({"preset": "nope"}, "unknown preset 'nope': the only one is 'tutorial'"),
        ({"dialect": "update_plan", "preset": "tutorial"}, "no seed describes update_plan"),
        ({"planning": "nope"}, "planning must be suggest, require or off, not 'nope'"),
        ({"max_continuations": -1}, "max_continuations must be 0 or more, not -1"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_those_that_can(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        PlanMemory(**options)


def test_a_dialect_of_ones_own_is_a_value() -> None:
    memory = PlanMemory(OWN)
    said = memory.call("plan", {"steps": [{"what": "a", "status": "in_progress"}]})
    assert said.text == "> a\n\n(0/1 completed)"
    assert memory.tools[0]["input_schema"]["required"] == ["steps"]


def test_the_rules_are_for_writes_and_never_for_a_stored_plan() -> None:
    memory = PlanMemory(rules=Rules(max_items=None, max_in_progress=None))
    memory.edit([Todo(str(n), "in_progress") for n in range(30)])
    data = memory.snapshot()
    data["settings"]["rules"] = {"max_items": 2, "max_in_progress": 1}
    strict = PlanMemory.restore(data)
    assert strict.plan == memory.plan
    assert len(strict.call("read_todos").plan) == 30


def test_the_figures_are_a_fold_over_what_happened() -> None:
    memory = PlanMemory()
    memory.begin_turn()
    memory.call("write_todos", {"todos": [{**item, "status": "PENDING"} for item in TODOS]})
    memory.call("write_todos", {"todos": [{**item, "status": "pending"} for item in TODOS]})
    memory.call("write_todos", {"todos": 7})
    memory.end_round()
    memory.end_round(messages=4, tokens=70, calls=3)
    memory.call("write_todos", {"todos": [{**item, "status": "completed"} for item in TODOS[:2]]})
    memory.call("read_todos")
    memory.end_round(calls=1)
    memory.edit([])
    assert memory.stats == Stats(
        requests=3,
        rounds=3,
        calls=4,
        idle_calls=4,
        writes=2,
        unchanged=1,
        refused=1,
        reads=1,
        repaired=1,
        reminders=0,
        edits=1,
        dropped=1,
        late_batches=1,
        max_messages=4,
        max_tokens=70,
    )
    assert (memory.stats.idle_share, Stats().idle_share) == (1.0, 0.0)


# --- snapshot and restore --------------------------------------------------------------------------


def some_history(dialect: str = "write_todos", **options: Any) -> PlanMemory:
    memory = PlanMemory(dialect, **options)
    known = memory.state.dialect
    memory.begin_turn()
    for count in (1, 3, 2):
        memory.call(dialect, sent(Plan(PLAN.todos[:count]), known))
        memory.end_round(tokens=70, calls=1)
    memory.call(dialect, {"wrong": 1})
    memory.edit(["mine"])
    memory.undo()
    return memory


@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reminder": None, "planning": "require", "max_continuations": 3},
        {"reminder": ReminderPolicy((1, 2), 9, 99, False, "message"), "rules": Rules(5, 2, 90, True)},
    ],
)
def test_a_snapshot_is_json_and_restores_the_whole_state(dialect: str, options: dict[str, Any]) -> None:
    memory = some_history(dialect, **options)
    assert PlanMemory.restore(in_json(memory.snapshot())).state == memory.state


@pytest.mark.parametrize("dialect", ["write_todos", "todo_write", "todo"])
def test_a_tutorial_memory_is_restored_as_one(dialect: str) -> None:
    memory = PlanMemory(dialect, preset="tutorial")
    assert PlanMemory.restore(in_json(memory.snapshot())).state == memory.state


def test_a_dialect_of_ones_own_is_handed_over() -> None:
    memory = PlanMemory(OWN)
    data = in_json(memory.snapshot())
    assert PlanMemory.restore(data, dialect=OWN).state == memory.state
    with pytest.raises(PlanError, match="unknown dialect 'plan'"):
        PlanMemory.restore(data)


def test_a_snapshot_in_the_middle_of_a_round_forgets_nothing_of_it() -> None:
    memory = PlanMemory()
    memory.call("write_todos", {"todos": TODOS})
    again = PlanMemory.restore(in_json(memory.snapshot()))
    again.end_round()
    memory.end_round()
    assert again.state == memory.state
    assert memory.distance == Distance()


NO_SNAPSHOTS: list[Any] = [
    {},
    {"version": 2},
    {"version": 1},
    {"version": 1, "settings": "x"},
    None,
    [],
    "x",
    {**some_history().snapshot(), "revisions": [{}]},
    {**some_history().snapshot(), "distance": [1]},
    {**some_history().snapshot(), "turn": {}},
    {**some_history().snapshot(), "past": [[7]]},
    {**some_history().snapshot(), "stats": None},
]


@pytest.mark.parametrize("data", NO_SNAPSHOTS)
def test_what_is_no_snapshot_is_refused(data: Any) -> None:
    with pytest.raises(PlanError, match="not a"):
        PlanMemory.restore(data)


def test_a_snapshot_stays_bounded() -> None:
    memory = PlanMemory()
    seen: list[int] = []
    for number in range(500):
        memory.begin_turn()
        todos = [{"content": f"{number:03} {n:02}" + "x" * 200, "status": "pending"} for n in range(20)]
        memory.call("write_todos", {"todos": todos})
        memory.end_round()
        seen.append(len(json.dumps(memory.snapshot())) if number % 50 == 49 else 0)
    sizes_seen = [size for size in seen if size]
    assert max(sizes_seen) < 700_000
    assert sizes_seen[-1] <= 1.01 * sizes_seen[1]
    again = PlanMemory.restore(memory.snapshot())
    assert (again.plan, again.revision, again.undo()) == (memory.plan, 500, memory.undo())


step = st.one_of(
    st.tuples(st.just("write"), plans(3, blank=True)),
    st.tuples(st.just("edit"), plans(3, blank=True)),
    st.tuples(
        st.sampled_from(["bad", "read", "round", "far", "turn", "undo", "redo", "stop"]), st.just(Plan())
    ),
)


def take(memory: PlanMemory, name: str, plan: Plan) -> object:
    """One step, and everything that can be seen of it."""
    match name:
        case "write":
            return memory.call(memory.state.dialect.name, sent(plan, memory.state.dialect))
        case "bad":
            return memory.call(memory.state.dialect.name, {"bad": 1})
        case "read":
            return memory.call("read_todos")
        case "round":
            return memory.end_round(tokens=90, calls=1, changed=True)
        case "far":
            return memory.end_round(messages=40)
        case "turn":
            return memory.begin_turn()
        case "stop":
            return memory.at_stop()
        case "edit":
            return memory.edit(plan)
        case _:
            try:
                return memory.undo() if name == "undo" else memory.redo()
            except PlanError as error:
                return str(error)


@sizes(max_examples=100, deadline=None)
@given(st.lists(step, max_size=10), st.lists(step, max_size=8))
def test_behind_a_restore_everything_goes_on_as_without(
    before: list[tuple[str, Plan]], after: list[tuple[str, Plan]]
) -> None:
    memory = PlanMemory()
    for name, plan in before:
        take(memory, name, plan)
    again = PlanMemory.restore(in_json(memory.snapshot()))
    for name, plan in after:
        assert take(again, name, plan) == take(memory, name, plan)
    assert again.state == memory.state


# --- the pure state beneath ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "outcome",
    [
        Written(4, PLAN, ("a repair",), merged=True),
        Written(1, Plan()),
        Unchanged(),
        Unchanged(merged=True),
        Refused((Fault("bad_status"), Fault("conflict")), "k"),
        Read(),
    ],
)
def test_an_outcome_survives_the_log(outcome: Outcome) -> None:
    assert outcome_from_json(in_json(outcome_to_json(outcome))) == outcome


@pytest.mark.parametrize("data", [{}, {"type": "other"}, {"type": "written", "revision": "1", "todos": []}])
def test_what_is_no_outcome_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="not an outcome of a plan call"):
        outcome_from_json(data)


@sizes(max_examples=60, deadline=None)
@given(st.lists(plans(3, blank=True), max_size=5), dialects)
def test_folding_what_the_log_kept_gives_the_same_state(written: list[Plan], dialect: Dialect) -> None:
    state = folded = State(settings(dialect))
    for plan in written:
        for call in (PlanCall(dialect.name, sent(plan, dialect)), PlanCall(dialect.name, {"bad": 1})):
            outcome = decide(state, call)
            state, _ = apply(state, call)
            folded = evolve(folded, outcome_from_json(in_json(outcome_to_json(outcome))))
    assert folded == state


def test_apply_leaves_the_state_it_was_given() -> None:
    state = State()
    after, _ = apply(state, PlanCall("write_todos", {"todos": TODOS}))
    assert (state, after.plan) == (State(), PLAN)


def test_a_veto_is_an_answer_with_its_reason() -> None:
    state, _ = apply(State(), PlanCall("write_todos", {"todos": TODOS}))
    vetoed = Refused((Fault("vetoed"),), "k", "tests first\x1b[2J")
    after = evolve(state, vetoed)
    assert answer(state, after, vetoed).text == (
        "Error: The plan change was refused: tests first\nThe plan was not changed."
    )
    assert (after.plan, after.ledger) == (state.plan, state.ledger)


def test_settings_and_states_of_one_kind_are_equal_values() -> None:
    assert settings("update_plan") == Settings(CODEX)
    assert restore(snapshot(State())) == State()
