"""What the three seeds say of their plan tools, claim by claim; and where the default goes on from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onplan.plan.memory import PlanMemory
from onplan.plan.reminder import Reminder
from onplan.plan.todo import Plan, Todo

SEEDS = ("write_todos", "todo_write", "todo")
ITEMS = {
    "write_todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}],
    "todo_write": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}],
    "todo": [
        {"id": "7", "text": "a", "status": "completed"},
        {"id": "9", "text": "b", "status": "in_progress"},
    ],
}
UPDATE = "<reminder>Update your todos.</reminder>"

every_seed = pytest.mark.parametrize("dialect", SEEDS)
second_and_third = pytest.mark.parametrize("dialect", ["todo_write", "todo"])


def tutorial(dialect: str) -> PlanMemory:
    memory = PlanMemory(dialect, preset="tutorial")
    memory.begin_turn()
    return memory


def write(memory: PlanMemory, todos: Any) -> str:
    dialect = memory.state.dialect
    return memory.call(dialect.name, {dialect.list_key: todos}).text


def todo_write(*items: tuple[str, str]) -> list[dict[str, str]]:
    return [{"content": content, "status": status} for content, status in items]


def todo(*items: tuple[str, str, str]) -> list[dict[str, str]]:
    return [{"id": name, "text": text, "status": status} for name, text, status in items]


def quiet_rounds(memory: PlanMemory, count: int) -> list[Reminder | None]:
    return [memory.end_round() for _ in range(count)]


def fired(reminders: list[Reminder | None]) -> list[bool]:
    return [reminder is not None for reminder in reminders]


# --- the first seed: write_todos and read_todos ----------------------------------------------------


def test_write_todos_answers_its_words_and_the_list_with_its_marks() -> None:
    todos = todo_write(("a", "pending"), ("b", "in_progress"), ("c", "completed"))
    assert write(tutorial("write_todos"), todos) == "Task list updated:\n[ ] a\n[~] b\n[x] c"


def test_write_todos_clears_with_an_empty_list() -> None:
    memory = tutorial("write_todos")
    write(memory, ITEMS["write_todos"])
    assert write(memory, []) == "Task list cleared."
    assert memory.plan == Plan()


@pytest.mark.parametrize("cleared", [False, True])
def test_read_todos_without_a_list_says_how_to_make_one(cleared: bool) -> None:
    memory = tutorial("write_todos")
    if cleared:
        write(memory, ITEMS["write_todos"])
        write(memory, [])
    assert memory.call("read_todos", {}).text == "No task list yet. Call write_todos to create one."


def test_read_todos_shows_the_list_without_the_heading() -> None:
    memory = tutorial("write_todos")
    write(memory, ITEMS["write_todos"])
    assert memory.call("read_todos", {}).text == "[x] a\n[~] b"


def test_a_read_sees_the_write_before_it_in_the_same_reply() -> None:
    memory = tutorial("write_todos")
    write(memory, todo_write(("a", "pending")))
    assert memory.call("read_todos").text == "[ ] a"
    write(memory, todo_write(("b", "pending")))
    assert memory.call("read_todos").text == "[ ] b"


def test_write_todos_has_no_limits() -> None:
    memory = tutorial("write_todos")
    many = todo_write(*((f"{n}" * 300, "in_progress") for n in range(60)))
    assert write(memory, many).startswith("Task list updated:\n[~] 000")
    assert len(memory.plan) == 60


def test_write_todos_takes_blank_content() -> None:
    assert write(tutorial("write_todos"), todo_write(("", "pending"))) == "Task list updated:\n[ ] "


def test_a_todo_of_the_first_seed_has_two_fields() -> None:
    schema = tutorial("write_todos").tools[0]["input_schema"]
    item = schema["properties"]["todos"]["items"]
    assert list(item["properties"]) == item["required"] == ["content", "status"]
    assert item["properties"]["status"]["enum"] == ["pending", "in_progress", "completed"]


def test_read_todos_asks_the_model_for_nothing() -> None:
    read = tutorial("write_todos").tools[1]
    assert (read["name"], read["input_schema"]) == ("read_todos", {"type": "object", "properties": {}})


@pytest.mark.parametrize(
    "rule",
    [
        "Send the FULL list every time",
        "not for a single step or a question",
        "Keep exactly one todo in_progress",
        "the moment it is done, not in batches",
        "If it is blocked, leave it in_progress and add a todo that unblocks it",
    ],
)
def test_the_description_carries_the_rules_that_do_the_work(rule: str) -> None:
    assert rule in tutorial("write_todos").tools[0]["description"]


def test_write_todos_has_no_reminder() -> None:
    memory = tutorial("write_todos")
    write(memory, ITEMS["write_todos"])
    assert fired(quiet_rounds(memory, 12)) == [False] * 12


# --- the second seed: todo_write -------------------------------------------------------------------


def test_todo_write_answers_the_list_a_blank_line_and_the_count() -> None:
    todos = todo_write(("a", "completed"), ("b", "in_progress"))
    assert write(tutorial("todo_write"), todos) == "[x] a\n[>] b\n\n(1/2 completed)"


def test_a_pending_todo_has_an_empty_mark() -> None:
    assert write(tutorial("todo_write"), todo_write(("a", "pending"))) == "[ ] a\n\n(0/1 completed)"


def test_todo_write_takes_twenty_todos_and_refuses_one_more() -> None:
    memory = tutorial("todo_write")
    assert write(memory, todo_write(*[("a", "pending")] * 20)).endswith("\n\n(0/20 completed)")
    assert write(memory, todo_write(*[("a", "pending")] * 21)) == "Error: Max 20 todos allowed"


@pytest.mark.parametrize(
    ("todos", "refusal"),
    [
        (todo_write(("a", "pending"), ("b", "pending"), ("", "pending")), "Error: todos[2] requires content"),
        (todo_write(("  \n", "pending")), "Error: todos[0] requires content"),
        (
            todo_write(("a", "pending"), ("b", "pending"), ("c", "x")),
            "Error: todos[2] has invalid status 'x'",
        ),
        (todo_write(("a", "BAD")), "Error: todos[0] has invalid status 'bad'"),
        (todo_write(("", "bad")), "Error: todos[0] requires content"),
        ([{"content": "a"}], "Error: todos[0] has invalid status ''"),
        (
            todo_write(("a", "in_progress"), ("b", "in_progress")),
            "Error: Only one todo can be in_progress at a time",
        ),
        ("not json", "Error: todos must be a list or JSON array string"),
        ('{"content": "a"}', "Error: todos must be a list or JSON array string"),
        ("- [ ] a", "Error: todos must be a list or JSON array string"),
        ({"content": "a", "status": "pending"}, "Error: todos must be a list or JSON array string"),
    ],
)
def test_todo_write_refuses_letter_by_letter(todos: Any, refusal: str) -> None:
    memory = tutorial("todo_write")
    assert write(memory, todos) == refusal
    assert (memory.plan, memory.revision) == (Plan(), 0)


def test_todo_write_stops_at_the_first_fault() -> None:
    assert write(tutorial("todo_write"), todo_write(("a", "x"), ("", "y"))).splitlines() == [
        "Error: todos[0] has invalid status 'x'"
    ]


def test_todo_write_lowers_the_status_and_strips_the_content() -> None:
    memory = tutorial("todo_write")
    write(memory, todo_write((" a ", "IN_PROGRESS")))
    assert memory.plan == Plan((Todo("a", "in_progress"),))


@pytest.mark.parametrize(
    "text",
    ['[{"content": "a", "status": "pending"}]', "[{'content': 'a', 'status': 'pending'}]"],
)
def test_todo_write_reads_a_json_string_and_a_python_literal(text: str) -> None:
    assert write(tutorial("todo_write"), text) == "[ ] a\n\n(0/1 completed)"


def test_no_string_is_evaluated(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f"__import__('pathlib').Path({str(mark)!r}).write_text('bad')"
    for preset in ("tutorial", None):
        memory = PlanMemory("todo_write", preset=preset)
        assert write(memory, text).startswith("Error: todos must be a list or JSON array string")
    assert not mark.exists()


@pytest.mark.parametrize(
    "bad",
    [
        todo_write(("", "pending")),
        todo_write(("a", "in_progress"), ("b", "in_progress")),
        todo_write(*[("a", "pending")] * 21),
        todo_write(("a", "pending"), ("b", "unknown")),
    ],
)
def test_a_refused_write_keeps_the_list(bad: list[dict[str, str]]) -> None:
    memory = tutorial("todo_write")
    write(memory, todo_write(("keep this", "pending")))
    assert write(memory, bad).startswith("Error: ")
    assert (memory.plan, memory.revision) == (Plan((Todo("keep this"),)), 1)


def test_the_schema_of_todo_write_declares_the_limits() -> None:
    assert tutorial("todo_write").tools[0]["input_schema"] == {
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "maxItems": 20,
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string", "minLength": 1},
                        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                    },
                    "required": ["content", "status"],
                },
            }
        },
        "required": ["todos"],
    }


# --- the third seed: todo --------------------------------------------------------------------------


def test_todo_shows_ids_and_the_count() -> None:
    todos = todo(("1", "a", "completed"), ("x", "b", "in_progress"), ("3", "c", "pending"))
    assert write(tutorial("todo"), todos) == "[x] #1: a\n[>] #x: b\n[ ] #3: c\n\n(1/3 completed)"


def test_todo_takes_a_missing_status_for_pending_and_numbers_missing_ids() -> None:
    assert write(tutorial("todo"), [{"text": "a"}, {"text": "b"}]) == (
        "[ ] #1: a\n[ ] #2: b\n\n(0/2 completed)"
    )


def test_todo_writes_ids_and_texts_of_other_types_as_text() -> None:
    assert write(tutorial("todo"), [{"id": 7, "text": 42}]) == "[ ] #7: 42\n\n(0/1 completed)"


@pytest.mark.parametrize(
    ("todos", "refusal"),
    [
        (todo(*[("1", "a", "pending")] * 21), "Error: Max 20 todos allowed"),
        (todo(("1", "", "pending")), "Error: Item 1: text required"),
        ([{"text": "a"}, {"text": " "}], "Error: Item 2: text required"),
        ([{"id": "q", "status": "pending"}], "Error: Item q: text required"),
        (todo(("1", "a", "X")), "Error: Item 1: invalid status 'x'"),
        (
            todo(("1", "a", "in_progress"), ("2", "b", "in_progress")),
            "Error: Only one task can be in_progress at a time",
        ),
    ],
)
def test_todo_refuses_letter_by_letter(todos: Any, refusal: str) -> None:
    memory = tutorial("todo")
    write(memory, todo(("1", "keep this", "pending")))
    assert write(memory, todos) == refusal
    assert memory.plan == Plan((Todo("keep this", id="1"),))


def test_todo_does_not_read_strings() -> None:
    assert write(tutorial("todo"), "[]").startswith("Error: ")


# --- the second and third seed: an empty list, the counter and the reminder ------------------------


@second_and_third
def test_an_empty_list_is_no_todos(dialect: str) -> None:
    assert write(tutorial(dialect), []) == "No todos."


@second_and_third
def test_the_reminder_comes_with_the_third_round_without_a_write(dialect: str) -> None:
    memory = tutorial(dialect)
    write(memory, ITEMS[dialect])
    memory.end_round()
    assert fired(quiet_rounds(memory, 3)) == [False, False, True]


@second_and_third
def test_the_count_starts_again_once_the_reminder_was_sent(dialect: str) -> None:
    assert fired(quiet_rounds(tutorial(dialect), 7)) == [False, False, True, False, False, True, False]


@second_and_third
def test_a_round_counts_once_however_many_calls_it_holds(dialect: str) -> None:
    memory = tutorial(dialect)
    assert [memory.end_round(calls=9, messages=10) is not None for _ in range(3)] == [False, False, True]


@second_and_third
def test_a_write_in_a_round_resets_the_count(dialect: str) -> None:
    memory = tutorial(dialect)
    quiet_rounds(memory, 2)
    write(memory, ITEMS[dialect])
    assert fired(quiet_rounds(memory, 4)) == [False, False, False, True]


@second_and_third
def test_a_refused_write_resets_the_count_too(dialect: str) -> None:
    memory = tutorial(dialect)
    quiet_rounds(memory, 2)
    assert write(memory, None).startswith("Error: ")
    assert fired(quiet_rounds(memory, 4)) == [False, False, False, True]


@second_and_third
def test_the_count_lives_inside_one_turn(dialect: str) -> None:
    memory = tutorial(dialect)
    quiet_rounds(memory, 2)
    memory.begin_turn()
    assert fired(quiet_rounds(memory, 3)) == [False, False, True]


@second_and_third
@pytest.mark.parametrize("has_plan", [False, True], ids=["no plan", "finished plan"])
def test_the_reminder_comes_with_no_plan_and_with_a_finished_one(dialect: str, has_plan: bool) -> None:
    memory = tutorial(dialect)
    if has_plan:
        write(memory, [{**item, "status": "completed"} for item in ITEMS[dialect]])
        memory.end_round()
    assert fired(quiet_rounds(memory, 3)) == [False, False, True]


@pytest.mark.parametrize(("dialect", "placement"), [("todo_write", "beside"), ("todo", "message")])
def test_the_reminder_says_its_text_in_the_place_of_the_seed(dialect: str, placement: Any) -> None:
    assert quiet_rounds(tutorial(dialect), 3)[-1] == Reminder(UPDATE, "seed", False, placement)


# --- all three: nothing more -----------------------------------------------------------------------


@every_seed
def test_a_write_replaces_the_whole_list(dialect: str) -> None:
    memory = tutorial(dialect)
    write(memory, ITEMS[dialect])
    write(memory, ITEMS[dialect][1:])
    assert [item.content for item in memory.plan] == ["b"]


@every_seed
def test_the_tutorial_says_nothing_of_dropped_or_unchanged_todos(dialect: str) -> None:
    memory = tutorial(dialect)
    first = write(memory, ITEMS[dialect])
    assert [write(memory, ITEMS[dialect]) for _ in range(6)] == [first] * 6
    assert "b" not in write(memory, ITEMS[dialect][:1]).removeprefix("Task list updated:")


@every_seed
def test_the_tutorial_never_continues_a_turn_nor_demands_a_plan(dialect: str) -> None:
    memory = tutorial(dialect)
    write(memory, ITEMS[dialect])
    assert (memory.at_stop(), memory.demand()) == (None, None)


@every_seed
def test_the_tutorial_ends_no_turn_for_repetition(dialect: str) -> None:
    memory = tutorial(dialect)
    name = memory.state.dialect.name
    assert {memory.call(name, {"wrong": 1}).ends_turn for _ in range(9)} == {None}


@every_seed
def test_undo_works_after_the_same_list_was_written_twice(dialect: str) -> None:
    memory = tutorial(dialect)
    write(memory, ITEMS[dialect][:1])
    write(memory, ITEMS[dialect])
    write(memory, ITEMS[dialect])
    assert [item.content for item in memory.undo()] == ["a"]


@every_seed
def test_arguments_may_come_as_the_json_text_that_a_provider_sends(dialect: str) -> None:
    memory = tutorial(dialect)
    key = memory.state.dialect.list_key
    assert not memory.call(dialect, f'{{"{key}": []}}').is_error


# --- the default begins with the seed's text -------------------------------------------------------


@every_seed
def test_the_default_answer_begins_with_the_seeds(dialect: str) -> None:
    seed, ours = tutorial(dialect), PlanMemory(dialect)
    for todos in (ITEMS[dialect], ITEMS[dialect][:1], []):
        assert write(ours, todos).startswith(write(seed, todos))


@pytest.mark.parametrize(
    "bad",
    [
        todo_write(*[("a", "pending")] * 21),
        todo_write(("a", "pending"), ("", "pending")),
        todo_write(("a", "x")),
        todo_write(("a", "in_progress"), ("b", "in_progress")),
        "not json",
    ],
)
@pytest.mark.parametrize("dialect", ["todo_write", "todo"])
def test_the_default_refusal_begins_with_the_seeds_words(dialect: str, bad: Any) -> None:
    if dialect == "todo" and bad != "not json":
        bad = [
            {"id": str(n), "text": item["content"], "status": item["status"]} for n, item in enumerate(bad)
        ]
    seed, *more = write(tutorial(dialect), bad).splitlines()
    ours = write(PlanMemory(dialect), bad).splitlines()
    assert (more, ours[0]) == ([], seed)
    assert ours[-1] == "The plan was not changed."


def test_write_todos_refuses_in_the_words_of_todo_write() -> None:
    bad = todo_write(("a", "pending"), ("b", "x"))
    assert write(PlanMemory("write_todos"), bad) == write(PlanMemory("todo_write"), bad)


# --- the counter of the default, where it leaves the second seed's ---------------------------------


def with_open_plan() -> PlanMemory:
    memory = PlanMemory("todo_write")
    memory.begin_turn()
    write(memory, ITEMS["todo_write"])
    memory.end_round()
    return memory


def test_our_count_goes_on_over_turns() -> None:
    memory = with_open_plan()
    quiet_rounds(memory, 2)
    memory.begin_turn()
    assert fired(quiet_rounds(memory, 1)) == [True]


def test_our_count_is_not_reset_by_a_refused_write() -> None:
    memory = with_open_plan()
    quiet_rounds(memory, 2)
    write(memory, None)
    assert fired(quiet_rounds(memory, 1)) == [True]


def test_ours_suggests_a_plan_once_a_turn_where_there_is_none() -> None:
    memory = PlanMemory("todo_write")
    for _ in range(2):
        memory.begin_turn()
        assert fired(quiet_rounds(memory, 9)) == [False, False, True, *[False] * 6]


def test_ours_is_silent_about_a_finished_plan() -> None:
    memory = PlanMemory("todo_write")
    memory.begin_turn()
    write(memory, todo_write(("a", "completed")))
    assert fired(quiet_rounds(memory, 40)) == [False] * 40
