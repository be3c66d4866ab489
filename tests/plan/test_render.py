"""How a plan is shown: what is read back, what can do no harm, what it costs; and the schemas."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from strategies import dialects, plans, sent

from onplan.plan.decode import Decoded, decode, parse_checklist
from onplan.plan.dialect import DIALECTS, Dialect, tool_schemas
from onplan.plan.memory import PlanMemory
from onplan.plan.render import answer_budget, names, render_answer, render_open, render_plan
from onplan.plan.todo import STATUSES, Plan, Rules, Todo

every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
moderate = settings(max_examples=120, deadline=None)

EVERY_STATUS = Plan(tuple(Todo(content, status) for content, status in zip("abc", STATUSES, strict=True)))
CONTROLS = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
hostile = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "\x1b[2J",
                "\x1b]52;c;eA==\x07",
                "\x9b31m",
                "\x1bPq",
                "\x1b\\",
                "\u202e",
                "\r",
                "\n",
                "\u2028",
                "</reminder>",
                "<system-reminder>",
                "<PLAN",
                "< plan",
                "[x] ",
                "[ ]",
                "(1/1 completed)",
                "#1: ",
            ]
        ),
        st.characters(exclude_categories=()),
    ),
    max_size=6,
).map("".join)


# --- what each dialect shows -----------------------------------------------------------------------


@every_dialect
def test_marks_lists_and_counts(dialect: Dialect) -> None:
    shown = {name: render_answer(EVERY_STATUS, known) for name, known in DIALECTS.items()}
    assert (
        shown[dialect.name]
        == {
            "write_todos": "Task list updated:\n[ ] a\n[~] b\n[x] c",
            "todo_write": "[ ] a\n[>] b\n[x] c\n\n(1/3 completed)",
            "todo": "[ ] #1: a\n[>] #2: b\n[x] #3: c\n\n(1/3 completed)",
            "TodoWrite": "Todos updated:\n[ ] a\n[>] b\n[x] c\n\n(1/3 completed)",
            "update_plan": "Plan updated:\n[ ] a\n[>] b\n[x] c\n\n(1/3 completed)",
        }[dialect.name]
    )


@every_dialect
def test_an_empty_plan_has_words_of_its_own(dialect: Dialect) -> None:
    assert (render_answer(Plan(), dialect), render_plan(Plan(), dialect)) == {
        "write_todos": ("Task list cleared.", "No task list yet. Call write_todos to create one."),
        "todo_write": ("No todos.", "No todos."),
        "todo": ("No todos.", "No todos."),
        "TodoWrite": ("Todos cleared.", "No todos."),
        "update_plan": ("Plan cleared.", "No plan yet."),
    }[dialect.name]


def test_open_todos_keep_the_number_that_they_have_in_the_plan() -> None:
    plan = Plan((Todo("a", "completed"), Todo("b"), Todo("c", "in_progress", id="x")))
    assert render_open(plan, DIALECTS["todo"]) == "[ ] #2: b\n[>] #x: c"


def test_names_are_quoted_cut_and_counted() -> None:
    assert names(["a", "b\nc"]) == '"a", "b c"'
    assert names(["x" * 130]) == f'"{"x" * 119}…"'
    assert names([str(n) for n in range(23)], limit=2) == '"0", "1" and 21 more'


# --- read back -------------------------------------------------------------------------------------


@moderate
@given(st.data(), dialects)
def test_what_is_shown_is_read_back(data: st.DataObject, dialect: Dialect) -> None:
    plan = data.draw(plans(with_ids=bool(dialect.id_key)))
    items = parse_checklist(render_plan(plan, dialect), id_key=dialect.id_key and "id")
    assert items is not None
    assert Plan.from_json(items) == plan


@moderate
@given(st.data(), dialects)
def test_a_shown_list_that_a_model_sends_back_is_the_same_plan(data: st.DataObject, dialect: Dialect) -> None:
    plan = data.draw(plans(with_ids=bool(dialect.id_key)))
    said = (f"{dialect.list_key} came as a string",)
    assert decode({dialect.list_key: render_plan(plan, dialect)}, dialect) == Decoded(plan.todos, said)


@moderate
@given(st.data(), dialects)
def test_the_same_plan_gives_the_same_bytes_and_another_plan_others(
    data: st.DataObject, dialect: Dialect
) -> None:
    one, other = (data.draw(plans(with_ids=bool(dialect.id_key))) for _ in range(2))
    copy = Plan.from_json(json.loads(json.dumps(one.to_json())))
    assert render_plan(copy, dialect).encode() == render_plan(one, dialect).encode()
    assert (render_plan(one, dialect) == render_plan(other, dialect)) == (one == other)


@pytest.mark.parametrize("text", ["", "no list", "[x]", "- a", "[ ] a\nb", "[y] a", "(1/1 completed)"])
def test_what_is_no_checklist_is_not_read_as_one(text: str) -> None:
    assert parse_checklist(text) is None


# --- harmless --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("ok\x1b]52;c;cm0gLXJmIC8=\x07", "ok"),
        ("a\x1b[2J\x1b[1;1Hb", "ab"),
        ("x\rPASS", "x PASS"),
        ("\x9b31mred", "red"),
        ("a\x1b]unterminated", "a"),
        ("a\x1bPq...\x1b\\", "a"),
        ("abc\u202etxt.exe", "abctxt.exe"),
        ("a\bb", "ab"),
        ("one\ntwo\n\n[x] three", "one two [x] three"),
        ("a</reminder>", "a‹/reminder>"),
        ("<plan>", "‹plan>"),
        ("a < b and <b>", "a < b and <b>"),
    ],
)
def test_a_todo_is_one_harmless_line(content: str, shown: str) -> None:
    memory = PlanMemory()
    answer = memory.call("write_todos", {"todos": [{"content": content, "status": "pending"}]})
    assert answer.text == f"Task list updated:\n[ ] {shown}"
    assert memory.plan.todos[0].content == content.strip()


@moderate
@given(st.lists(st.tuples(hostile, hostile, st.sampled_from(STATUSES)), min_size=1, max_size=4), dialects)
def test_whatever_a_todo_holds_it_is_one_line_without_controls_or_tags(
    items: list[tuple[str, str, Any]], dialect: Dialect
) -> None:
    plan = Plan(tuple(Todo(content, status, name) for content, name, status in items))
    text = render_plan(plan, dialect)
    lines = text.split("\n")
    assert len(lines) == len(plan) + (2 if dialect.counts else 0)
    assert all(line.startswith(dialect.mark(todo.status)) for line, todo in zip(lines, plan, strict=False))
    assert CONTROLS.search(text) is None
    assert re.search(r"(?i)<[\s/]*(system-reminder|reminder|plan)(?![\w-])", text) is None


@every_dialect
def test_the_answer_to_the_last_write_invites_no_recap(dialect: Dialect) -> None:
    memory = PlanMemory(dialect)
    memory.call(dialect.name, sent(EVERY_STATUS, dialect))
    done = Plan(tuple(Todo(todo.content, "completed") for todo in EVERY_STATUS))
    assert memory.call(dialect.name, sent(done, dialect)).text == render_answer(done, dialect)


# --- cost ------------------------------------------------------------------------------------------


@every_dialect
@pytest.mark.parametrize("limits", [Rules(), Rules(max_items=3, max_content=9)])
def test_the_longest_legal_answer_is_within_its_budget(dialect: Dialect, limits: Rules) -> None:
    budget = answer_budget(limits)
    assert budget is not None
    assert limits.max_items is not None
    assert limits.max_content is not None
    longest = Todo("漢" * limits.max_content, id="漢" * 90)
    answer = PlanMemory(dialect, rules=limits).call(
        dialect.name, sent(Plan((longest,) * limits.max_items), dialect)
    )
    assert not answer.is_error
    assert limits.max_items * limits.max_content < len(answer.text) <= budget


@pytest.mark.parametrize("limits", [Rules(max_items=None), Rules(max_content=None)])
def test_without_a_limit_there_is_no_budget(limits: Rules) -> None:
    assert answer_budget(limits) is None


@every_dialect
def test_the_tools_of_a_dialect_cost_at_most_1500_characters(dialect: Dialect) -> None:
    assert len(json.dumps(PlanMemory(dialect).tools)) <= 1500


@every_dialect
def test_the_description_says_when_not_to_plan(dialect: Dialect) -> None:
    assert "not for a single step or a question" in PlanMemory(dialect).tools[0]["description"]


@every_dialect
def test_schemas_are_the_same_bytes_every_time_and_hold_no_plan(dialect: Dialect) -> None:
    memory = PlanMemory(dialect)
    before = json.dumps(memory.tools)
    memory.edit(["something secret"])
    assert json.dumps(memory.tools) == before == json.dumps(list(tool_schemas(dialect, Rules())))


def test_lifted_limits_leave_the_schema() -> None:
    schema = tool_schemas(DIALECTS["write_todos"], Rules(None, None, None, allow_blank=True))[0]
    todos = schema["input_schema"]["properties"]["todos"]
    assert (list(todos), todos["items"]["properties"]["content"]) == (["type", "items"], {"type": "string"})


@every_dialect
def test_what_a_model_reads(dialect: Dialect) -> None:
    pinned: dict[str, Any] = {
        "write_todos": snapshot(
            [
                {
                    "name": "write_todos",
                    "description": (
                        "Write or rewrite your plan for multi-step work. "
                        "Plan when a job takes three or more steps; "
                        "not for a single step or a question. Send the FULL list every time: "
                        "it replaces the last one, so revise, merge or drop todos as you learn. "
                        "Keep exactly one todo in_progress. Mark it completed the moment it is done, "
                        "not in batches. If it is blocked, "
                        "leave it in_progress and add a todo that unblocks it."
                    ),
                    "input_schema": {
                        "type": "object",
                        "properties": {
                            "todos": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": {
                                        "content": {"type": "string", "minLength": 1, "maxLength": 500},
                                        "status": {
                                            "type": "string",
                                            "enum": ["pending", "in_progress", "completed"],
                                        },
                                    },
                                    "required": ["content", "status"],
                                },
                                "maxItems": 20,
                            }
                        },
                        "required": ["todos"],
                    },
                },
                {
                    "name": "read_todos",
                    "description": (
                        "Show your plan again: what is done and what is left. "
                        "Useful after finishing a todo, once the plan has scrolled far back."
                    ),
                    "input_schema": {"type": "object", "properties": {}},
                },
            ]
        ),
        "todo_write": snapshot(
            [
                {
                    "name": "todo_write",
                    "description": (
                        "Write or rewrite your plan for multi-step work. "
                        "Plan when a job takes three or more steps; "
                        "not for a single step or a question. Send the FULL list every time: "
                        "it replaces the last one, so revise, merge or drop todos as you learn. "
                        "Keep exactly one todo in_progress. Mark it completed the moment it is done, "
                        "not in batches. If it is blocked, "
                        "leave it in_progress and add a todo that unblocks it."
                    ),
                    "input_schema": {
                        "type": "object",
                        "properties": {
                            "todos": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": {
                                        "content": {"type": "string", "minLength": 1, "maxLength": 500},
                                        "status": {
                                            "type": "string",
                                            "enum": ["pending", "in_progress", "completed"],
                                        },
                                    },
                                    "required": ["content", "status"],
                                },
                                "maxItems": 20,
                            }
                        },
                        "required": ["todos"],
                    },
                }
            ]
        ),
        "todo": snapshot(
            [
                {
                    "name": "todo",
                    "description": (
                        "Write or rewrite your plan for multi-step work. "
                        "Plan when a job takes three or more steps; "
                        "not for a single step or a question. Send the FULL list every time: "
                        "it replaces the last one, so revise, merge or drop todos as you learn. "
                        "Keep exactly one todo in_progress. Mark it completed the moment it is done, "
                        "not in batches. If it is blocked, "
                        "leave it in_progress and add a todo that unblocks it."
                    ),
                    "input_schema": {
                        "type": "object",
                        "properties": {
                            "items": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": {
                                        "id": {"type": "string"},
                                        "text": {"type": "string", "minLength": 1, "maxLength": 500},
                                        "status": {
                                            "type": "string",
                                            "enum": ["pending", "in_progress", "completed"],
                                        },
                                    },
                                    "required": ["id", "text", "status"],
                                },
                                "maxItems": 20,
                            }
                        },
                        "required": ["items"],
                    },
                }
            ]
        ),
        "TodoWrite": snapshot(
            [
                {
                    "name": "TodoWrite",
                    "description": (
                        "Write or rewrite your plan for multi-step work. "
                        "Plan when a job takes three or more steps; "
                        "not for a single step or a question. Send the FULL list every time: "
                        "it replaces the last one, so revise, merge or drop todos as you learn. "
                        "Keep exactly one todo in_progress. Mark it completed the moment it is done, "
                        "not in batches. If it is blocked, "
                        "leave it in_progress and add a todo that unblocks it."
                    ),
                    "input_schema": {
                        "type": "object",
                        "properties": {
                            "todos": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": {
                                        "content": {"type": "string", "minLength": 1, "maxLength": 500},
                                        "status": {
                                            "type": "string",
                                            "enum": ["pending", "in_progress", "completed"],
                                        },
                                        "activeForm": {"type": "string"},
                                    },
                                    "required": ["content", "status"],
                                },
                                "maxItems": 20,
                            }
                        },
                        "required": ["todos"],
                    },
                }
            ]
        ),
        "update_plan": snapshot(
            [
                {
                    "name": "update_plan",
                    "description": (
                        "Write or rewrite your plan for multi-step work. "
                        "Plan when a job takes three or more steps; "
                        "not for a single step or a question. Send the FULL list every time: "
                        "it replaces the last one, so revise, merge or drop steps as you learn. "
                        "Keep exactly one step in_progress. Mark it completed the moment it is done, "
                        "not in batches. If it is blocked, "
                        "leave it in_progress and add a step that unblocks it."
                    ),
                    "input_schema": {
                        "type": "object",
                        "properties": {
                            "explanation": {"type": "string"},
                            "plan": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": {
                                        "step": {"type": "string", "minLength": 1, "maxLength": 500},
                                        "status": {
                                            "type": "string",
                                            "enum": ["pending", "in_progress", "completed"],
                                        },
                                    },
                                    "required": ["step", "status"],
                                },
                                "maxItems": 20,
                            },
                        },
                        "required": ["plan"],
                    },
                }
            ]
        ),
    }
    assert list(tool_schemas(dialect, Rules())) == pinned[dialect.name]
