"""Matching, diff, what was dropped, the way back, and the merge with a person's edits."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import plans

from onplan.errors import PlanError
from onplan.plan.ledger import Diff, Ledger, compare, key, match, merge
from onplan.plan.memory import PlanMemory
from onplan.plan.todo import Plan, Status, Todo

MARKS: dict[str, Status] = {" ": "pending", ">": "in_progress", "x": "completed"}
moderate = settings(max_examples=100, deadline=None)


def plan(*lines: str) -> Plan:
    """A plan of lines such as `x done`, `> active`, `  pending`, with an id as in `  #1 text`."""
    return Plan(tuple(map(_todo, lines)))


def _todo(line: str) -> Todo:
    status, text = MARKS[line[0]], line[2:]
    if not text.startswith("#"):
        return Todo(text, status)
    name, content = text[1:].split(" ", 1)
    return Todo(content, status, name)


def history(*written: Plan) -> Ledger:
    ledger = Ledger()
    for item in written:
        ledger = ledger.written(item, "model")
    return ledger


def contents(of: Plan) -> Counter[str]:
    return Counter(key(todo.content) for todo in of)


# --- which todo became which -----------------------------------------------------------------------


def test_the_same_text_is_the_same_todo_wherever_it_stands() -> None:
    assert match(plan("  a", "  b"), plan("  b", "  a")) == {0: 1, 1: 0}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Read THE Spec", "read the spec"),
        ("cafe\u0301", "caf\u00e9"),
        ("a  b\tc", "a b c"),
        ("STRASSE", "straße"),
    ],
)
def test_case_blanks_and_composition_do_not_make_another_todo(old: str, new: str) -> None:
    assert match(plan(f"  {old}"), plan(f"  {new}")) == {0: 0}


def test_equal_texts_are_matched_as_a_multiset_first_with_first() -> None:
    assert match(plan("  a", "  a", "  a"), plan("  a", "  a")) == {0: 0, 1: 1}


def test_of_equal_texts_the_open_one_goes_with_the_open_one() -> None:
    old = plan("x Edit a", "x Run tests", "> Edit b", "  Run tests")
    new = plan("x Edit b", "> Run tests")
    assert compare(old, new) == Diff(
        cleared=("Edit a", "Run tests"), started=("Run tests",), finished=("Edit b",)
    )
    assert compare(old, plan("x Run tests", "x Edit b", "x Run tests")).finished == ("Edit b", "Run tests")


def test_a_text_beats_an_id() -> None:
    old, new = plan("  #1 Write tests", "  #2 Fix bug"), plan("  #1 Fix bug", "  #2 Write tests")
    assert match(old, new) == {0: 1, 1: 0}


def test_an_id_finds_a_todo_in_other_words() -> None:
    old = plan("  #a Write the tests", "  #b Ship")
    new = plan("  #c Plan the party", "  #a Write many more tests", "  #b Ship")
    assert match(old, new) == {0: 1, 1: 2}


def test_a_mere_position_as_id_does_not_make_strangers_one_todo() -> None:
    assert match(plan("  #1 Read the spec", "  #2 Ship"), plan("  #1 Buy milk", "  #2 Ship")) == {1: 1}


def test_an_id_that_repeats_is_no_identity() -> None:
    old = plan("  #1 alpha one", "  #1 beta two")
    new = plan("  #1 alpha two", "  #1 gamma")
    assert match(old, new) == {0: 0}


def test_one_like_text_is_the_same_todo_renamed() -> None:
    assert match(plan("  Fix the login bug"), plan("  Ship", "  Fix the login bugs")) == {0: 1}


def test_between_several_like_texts_the_position_decides() -> None:
    assert match(plan("  Write test 1", "  Write test 2"), plan("  Write test 3", "  Write test 4")) == {
        0: 0,
        1: 1,
    }


def test_a_like_text_with_a_rival_is_left_alone() -> None:
    assert match(plan("  Ship", "  Write test 1"), plan("  Write test 2", "  Ship", "  Write test 3")) == {
        0: 1
    }


def test_strangers_are_not_matched() -> None:
    assert match(plan("  Read the spec"), plan("  Buy milk")) == {}


def test_a_long_plan_in_other_words_is_matched_by_position() -> None:
    old = Plan(tuple(Todo(f"Write the chapter on topic {n}") for n in range(2000)))
    new = Plan(tuple(Todo(f"Rewrite the chapter on topic {n + 5000}") for n in range(2000)))
    assert match(old, new) == {n: n for n in range(2000)}


@moderate
@given(plans(blank=True, with_ids=True), plans(blank=True, with_ids=True))
def test_a_match_is_one_to_one(old: Plan, new: Plan) -> None:
    found = match(old, new)
    assert len(set(found.values())) == len(found)
    assert set(found) <= set(range(len(old)))
    assert set(found.values()) <= set(range(len(new)))


@moderate
@given(plans(blank=True, with_ids=True))
def test_a_plan_matches_itself(same: Plan) -> None:
    assert match(same, same) == {n: n for n in range(len(same))}
    assert compare(same, same) == Diff()


# --- what a write changed --------------------------------------------------------------------------


def test_a_diff_names_everything_that_happened() -> None:
    old = plan("> go", "  wait", "x done", "> stop", "  leave", "x old", "  Fix the login bug")
    new = plan("x go", "> wait", "  done", "  stop", "> fresh", "  Fix the login bugs", "  later")
    assert compare(old, new) == Diff(
        added=("fresh", "later"),
        dropped=("leave",),
        cleared=("old",),
        started=("wait", "fresh"),
        finished=("go",),
        reopened=("done",),
        paused=("stop",),
        renamed=(("Fix the login bug", "Fix the login bugs"),),
    )


def test_another_order_alone_is_no_difference() -> None:
    assert compare(plan("  a", "  b"), plan("  b", "  a")) == Diff()


@moderate
@given(plans(blank=True, with_ids=True), plans(blank=True, with_ids=True))
def test_every_open_todo_is_in_the_new_plan_or_dropped(old: Plan, new: Plan) -> None:
    diff, matches = compare(old, new), match(old, new)
    gone = Counter(todo.content for i, todo in enumerate(old) if i not in matches and todo.is_open)
    assert gone == Counter(diff.dropped)
    kept = {new.todos[j].content for j in matches.values()}
    accounted = contents(new) + Counter(map(key, (*diff.dropped, *(before for before, _ in diff.renamed))))
    assert kept <= {todo.content for todo in new}
    for text, count in Counter(key(todo.content) for todo in old.open).items():
        assert accounted[text] >= count
    assert len(new) == len(matches) + len(diff.added)


@moderate
@given(plans(blank=True), plans(blank=True))
def test_a_diff_survives_json(old: Plan, new: Plan) -> None:
    diff = compare(old, new)
    assert Diff.from_json(diff.to_json()) == diff


# --- what was dropped, as the model is told --------------------------------------------------------

ABCD = [("A", "completed"), ("B", "in_progress"), ("C", "pending"), ("D", "pending")]


def write(memory: PlanMemory, *items: tuple[str, str]) -> str:
    todos = [{"content": content, "status": status} for content, status in items]
    return memory.call("write_todos", {"todos": todos}).text


def test_dropped_open_todos_are_accepted_and_named_once() -> None:
    memory = PlanMemory()
    write(memory, *ABCD)
    said = write(memory, ("B", "completed"))
    assert said == 'Task list updated:\n[x] B\nLeft out while open: "C", "D".'
    assert memory.ledger.dropped() == ("C", "D")
    assert memory.undo().to_json()[2:] == [
        {"content": "C", "status": "pending"},
        {"content": "D", "status": "pending"},
    ]


def test_another_case_or_trailing_blank_drops_nothing() -> None:
    memory = PlanMemory()
    write(memory, *ABCD)
    answer = write(memory, *ABCD[:2], ("c", "pending"), ("D ", "pending"))
    assert "Left out" not in answer
    assert memory.ledger.dropped() == ()


def test_clearing_names_what_was_open() -> None:
    memory = PlanMemory()
    write(memory, *ABCD)
    assert write(memory) == 'Task list cleared.\nLeft out while open: "B", "C", "D".'


def test_the_same_drop_is_not_named_twice() -> None:
    memory = PlanMemory()
    answers = [write(memory, *items) for items in (ABCD, ABCD[:3], ABCD, ABCD[:3])]
    assert ["Left out" in text for text in answers] == [False, True, False, False]
    assert memory.ledger.dropped() == ("D",)


def test_a_drop_is_never_asked_back() -> None:
    memory = PlanMemory()
    write(memory, *ABCD)
    said = write(memory, ("B", "completed")).casefold()
    assert not any(word in said for word in ("again", "full list", "must", "resend", "error"))


def test_what_came_back_and_was_finished_is_not_dropped() -> None:
    ledger = history(plan("  a", "  b"), plan("  b"), plan("  a", "  b"), plan("x a", "  b"), plan("  b"))
    assert ledger.dropped() == ()


# --- the way back ----------------------------------------------------------------------------------


def test_at_gives_each_revision_and_zero_the_empty_plan() -> None:
    ledger = history(plan("  a"), plan("> a"), plan("x a"))
    assert [ledger.at(n) for n in range(4)] == [Plan(), plan("  a"), plan("> a"), plan("x a")]
    assert ledger.diff(1, 3) == Diff(finished=("a",))


@pytest.mark.parametrize("number", [3, -1, 99])
def test_a_revision_that_is_not_there_is_named_with_those_that_are(number: int) -> None:
    with pytest.raises(PlanError, match=rf"no revision {number}: the ledger holds 1 to 2"):
        history(plan("  a"), plan("> a")).at(number)


def test_nothing_to_undo_or_redo_is_said() -> None:
    with pytest.raises(PlanError, match="nothing to undo"):
        Ledger().undo_target()
    with pytest.raises(PlanError, match="nothing to redo"):
        history(plan("  a")).redo_target()


def test_a_write_after_undo_ends_redo() -> None:
    memory = PlanMemory()
    memory.edit(["a"])
    memory.edit(["b"])
    memory.undo()
    memory.edit(["c"])
    with pytest.raises(PlanError, match="nothing to redo"):
        memory.redo()


def test_each_step_back_and_forth_is_a_revision_with_its_author_and_action() -> None:
    memory = PlanMemory()
    write(memory, ("a", "pending"))
    memory.edit(["b"])
    memory.undo()
    memory.redo()
    assert [(item.number, item.author, item.action) for item in memory.ledger.revisions] == [
        (1, "model", "write"),
        (2, "user", "edit"),
        (3, "user", "undo"),
        (4, "user", "redo"),
    ]


@moderate
@given(st.lists(plans(blank=True), min_size=1, max_size=5), st.integers(1, 5))
def test_undo_then_redo_is_identity(written: list[Plan], steps: int) -> None:
    memory = PlanMemory()
    for item in written:
        memory.edit(item)
    steps = min(steps, len(memory.ledger.past))
    seen = [memory.plan]
    seen += [memory.undo() for _ in range(steps)]
    back = [memory.plan] + [memory.redo() for _ in range(steps)]
    assert back == seen[::-1]
    assert memory.plan == written[-1]


# --- the three-way merge ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "user", "model", "merged"),
    [
        (("> a", "  b"), ("> a", "  b", "  mine"), ("x a", "> b"), ("x a", "> b", "  mine")),
        (("  a", "  b"), ("  first", "  a", "  b"), ("> a", "  b"), ("  first", "> a", "  b")),
        (("> a", "  b"), ("> a",), ("x a", "> b"), ("x a",)),
        (("  Write the doc", "  b"), ("  Write the docs", "  b"), ("> Write the doc", "  b"), None),
        (("  a", "  b"), ("x a", "  b"), ("  a", "> b"), ("x a", "> b")),
        (("  a",), ("  a", "  same"), ("> a", "  Same"), ("> a", "  Same")),
        (("  a",), (), ("  a", "  new"), ("  new",)),
        ((), ("  mine",), ("  theirs",), ("  theirs", "  mine")),
    ],
    ids=["added", "added first", "removed", "renamed", "finished", "both added", "cleared", "from nothing"],
)
def test_a_persons_edit_stays_in_what_the_model_writes(
    base: tuple[str, ...], user: tuple[str, ...], model: tuple[str, ...], merged: tuple[str, ...] | None
) -> None:
    expected = plan(*merged) if merged is not None else plan("> Write the docs", "  b")
    assert merge(plan(*base), plan(*user), plan(*model)) == expected


def test_where_both_changed_a_status_the_models_counts() -> None:
    assert merge(plan("  a"), plan("> a"), plan("x a")) == plan("x a")


@moderate
@given(plans(blank=True, with_ids=True), plans(blank=True, with_ids=True))
def test_without_an_edit_the_merge_is_the_models_plan(base: Plan, model: Plan) -> None:
    assert merge(base, base, model) == model


@moderate
@given(plans(blank=True), plans(blank=True))
def test_without_a_change_of_the_models_the_merge_holds_what_the_person_has(base: Plan, user: Plan) -> None:
    merged = merge(base, user, base)
    assert set(contents(merged)) == set(contents(user))


def test_a_write_on_an_older_revision_does_not_erase_the_persons_edit() -> None:
    memory = PlanMemory()
    write(memory, ("a", "in_progress"))
    memory.edit([Todo("a", "in_progress"), Todo("mine")])
    said = write(memory, ("a", "completed"))
    assert said == (
        "Task list updated:\n[x] a\n[ ] mine\n"
        "The person had changed the plan meanwhile; their changes were kept in it."
    )


def test_an_edit_that_does_not_fit_is_shown_and_the_next_write_counts() -> None:
    memory = PlanMemory()
    write(memory, ("a", "in_progress"), ("b", "pending"))
    memory.edit([Todo("a"), Todo("b"), Todo("c", "in_progress")])
    first = memory.call("write_todos", {"todos": [{"content": "b", "status": "in_progress"}]})
    assert (first.is_error, memory.revision) == (True, 2)
    assert first.text == (
        "Error: The person changed the plan meanwhile, and yours does not fit. It is now:\n"
        "[ ] a\n[ ] b\n[~] c\nWrite your plan again from this one."
    )
    second = memory.call("write_todos", {"todos": [{"content": "b", "status": "in_progress"}]})
    assert (second.is_error, memory.plan) == (False, plan("> b"))
