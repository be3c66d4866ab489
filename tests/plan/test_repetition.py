"""The same write over and over: what it answers, and when it ends the turn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onplan.plan.answer import Answer
from onplan.plan.memory import PlanMemory

ITEMS: list[dict[str, Any]] = [
    {"content": "a", "status": "completed"},
    {"content": "b", "status": "in_progress"},
    {"content": "c", "status": "pending"},
]
REORDERED: list[dict[str, Any]] = [dict(reversed(item.items())) for item in ITEMS]
WITH_MORE: list[dict[str, Any]] = [{**item, "priority": "high"} for item in ITEMS]
VARIANTS: list[object] = [ITEMS, ITEMS, REORDERED, WITH_MORE, json.dumps(WITH_MORE), REORDERED]
BAD: list[dict[str, Any]] = [{"content": "a", "status": "failed"}]


def memory_in_turn() -> PlanMemory:
    memory = PlanMemory()
    memory.begin_turn()
    return memory


def write(memory: PlanMemory, todos: object, **more: object) -> Answer:
    return memory.call("write_todos", {"todos": todos, **more})


def ends(answers: list[Answer]) -> list[str | None]:
    return [answer.ends_turn for answer in answers]


def test_the_same_plan_is_answered_shorter_then_as_an_error_then_ends_the_turn() -> None:
    memory = memory_in_turn()
    answers = [write(memory, variant) for variant in VARIANTS]
    assert [answer.text for answer in answers] == [
        "Task list updated:\n[x] a\n[~] b\n[ ] c",
        'Plan unchanged. Next: "b".',
        'Error: this is the same plan for the third time. Do the work. Next: "b".',
        'Error: this is the same plan for the fourth time. Do the work. Next: "b".',
        'Error: this is the same plan for the fifth time. Do the work. Next: "b".',
        'Error: this is the same plan for the 6th time. Do the work. Next: "b".',
    ]
    assert [answer.is_error for answer in answers] == [False, False, True, True, True, True]
    assert ends(answers) == [None, None, None, None, "plan_loop", "plan_loop"]
    assert {answer.revision for answer in answers} == {memory.revision} == {1}


def test_a_finished_plan_sent_again_names_no_next_step() -> None:
    memory = memory_in_turn()
    write(memory, ITEMS[:1])
    assert write(memory, ITEMS[:1]).text == "Plan unchanged."


def test_rounds_and_reads_between_do_not_hide_the_repetition() -> None:
    memory = memory_in_turn()
    answers: list[Answer] = []
    for _ in range(5):
        answers.append(write(memory, ITEMS))
        memory.call("read_todos")
        memory.end_round(calls=2)
    assert ends(answers) == [None, None, None, None, "plan_loop"]


def test_work_that_changes_something_clears_the_count() -> None:
    memory = memory_in_turn()
    for _ in range(4):
        write(memory, ITEMS)
    memory.end_round(calls=1, changed=True)
    assert [write(memory, ITEMS).is_error for _ in range(4)] == [False, False, True, True]


def test_the_count_is_per_turn() -> None:
    memory = memory_in_turn()
    for _ in range(4):
        write(memory, ITEMS)
    memory.begin_turn()
    answers = [write(memory, ITEMS) for _ in range(5)]
    assert ends(answers) == [None, None, None, None, "plan_loop"]


def test_another_plan_between_starts_the_count_again() -> None:
    memory = memory_in_turn()
    for _ in range(4):
        write(memory, ITEMS)
    write(memory, ITEMS[:2])
    assert [write(memory, ITEMS).is_error for _ in range(2)] == [False, False]


def test_repetition_makes_no_revision_no_undo_step_and_no_further_write_in_the_figures() -> None:
    memory = memory_in_turn()
    for _ in range(5):
        write(memory, ITEMS)
    assert (memory.revision, len(memory.ledger.past)) == (1, 1)
    assert (memory.stats.writes, memory.stats.unchanged) == (1, 4)


def test_nothing_sent_to_an_empty_memory_changes_nothing() -> None:
    assert write(memory_in_turn(), []).text == "Plan unchanged."


# --- refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [BAD, "broken", None, [1], [ITEMS[1], ITEMS[1]]])
def test_the_same_refused_write_ends_the_turn_the_third_time(bad: object) -> None:
    memory = memory_in_turn()
    assert ends([write(memory, bad) for _ in range(4)]) == [None, None, "plan_loop", "plan_loop"]


@pytest.mark.parametrize(
    "again",
    [
        [dict(reversed(BAD[0].items()))],
        [{**BAD[0], "priority": "high"}],
        json.dumps(BAD),
        BAD[0],
    ],
    ids=["reordered", "with more", "as text", "unwrapped"],
)
def test_a_refused_write_is_known_again_in_another_dress(again: object) -> None:
    memory = memory_in_turn()
    assert ends([write(memory, bad) for bad in (BAD, again, BAD)]) == [None, None, "plan_loop"]


def test_more_arguments_do_not_hide_a_refused_write() -> None:
    memory = memory_in_turn()
    assert ends([write(memory, BAD, note=n) for n in range(3)]) == [None, None, "plan_loop"]


def test_another_refused_write_is_counted_by_itself() -> None:
    memory = memory_in_turn()
    tries = [[{"content": "a", "status": status}] for status in ("x", "x", "y", "y", "x")]
    assert ends([write(memory, bad) for bad in tries]) == [None] * 5


def test_an_accepted_write_between_starts_the_count_of_refusals_again() -> None:
    memory = memory_in_turn()
    tries = (BAD, BAD, ITEMS, BAD, BAD)
    assert ends([write(memory, todos) for todos in tries]) == [None] * 5


def test_work_and_a_new_turn_clear_the_count_of_refusals() -> None:
    memory = memory_in_turn()
    answers = [write(memory, BAD), write(memory, BAD)]
    memory.end_round(changed=True)
    answers += [write(memory, BAD), write(memory, BAD)]
    memory.begin_turn()
    answers += [write(memory, BAD), write(memory, BAD)]
    assert ends(answers) == [None] * 6
