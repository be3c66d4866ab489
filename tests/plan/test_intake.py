"""What the door for untrusted input takes, mends and refuses."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import SPELLINGS, dialects, huge_integers, json_like, plans, rules, sent

from onplan.plan.decode import Decoded, Refusal, decode, decode_as_seed
from onplan.plan.dialect import CODEX, DIALECTS, TODO, TODO_WRITE, WRITE_TODOS, Dialect, tool_schemas
from onplan.plan.memory import PlanMemory
from onplan.plan.text import clean, is_blank
from onplan.plan.todo import STATUSES, Fault, Plan, Rules, Status, Todo

A: dict[str, Any] = {"content": "A", "status": "pending"}
AS_STRING = "todos came as a string"


def refused(arguments: object, dialect: Dialect = WRITE_TODOS, limits: Rules = Rules()) -> list[Fault]:
    result = decode(arguments, dialect, limits)
    assert isinstance(result, Refusal), result
    return list(result.faults)


def taken(arguments: object, dialect: Dialect = WRITE_TODOS) -> Decoded:
    result = decode(arguments, dialect)
    assert isinstance(result, Decoded), result
    return result


def answer_to(arguments: object, *, dialect: str = "write_todos", limits: Rules | None = None) -> str:
    """The error that a model gets, after a check that nothing changed."""
    memory = PlanMemory(dialect, rules=limits)
    memory.edit(["kept"])
    answer = memory.call(dialect, arguments)
    assert (answer.is_error, memory.plan, memory.revision) == (True, Plan((Todo("kept"),)), 1)
    return answer.text


# --- the list comes as text ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "todo"),
    [
        ('[{"content":"Write report","status":"pending"}]', Todo("Write report")),
        ("[{'content': \"Don't break\", 'status': 'in_progress'}]", Todo("Don't break", "in_progress")),
        ('\n {"todos": [{"content": "a", "status": "pending"}]} ', Todo("a")),
        ('{"content": "a", "status": "completed"}', Todo("a", "completed")),
        ("- [x] a", Todo("a", "completed")),
        ("* [>] a\n\n", Todo("a", "in_progress")),
        ("1. [-] a", Todo("a", "in_progress")),
        ("[~] a", Todo("a", "in_progress")),
        ("[ ] a\n\n(0/1 completed)", Todo("a")),
    ],
)
def test_a_list_that_comes_as_text_is_read_and_that_is_said(text: str, todo: Todo) -> None:
    result = taken({"todos": text})
    assert result.todos == (todo,)
    assert AS_STRING in result.repaired


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()",
        "[" * 5000,
        "{1:" * 5000,
        "-" * 50_000 + "1",
        "1" + "+1" * 20_000,
        "",
        "  \n",
        "1e5230",
        "{}",
        "not json",
        "null",
        "NaN",
        "9" * 5000,
        "'[]'",
        '"[]"',
        "[*[]]",
        "\0",
        "\ud800",
        "- [ ] a\nand more",
        "[ ]x",
    ],
    ids=lambda text: repr(text[:20]),
)
def test_text_that_holds_no_list_is_refused_with_what_came_and_the_right_shape(text: str) -> None:
    said = answer_to({"todos": text}).splitlines()
    assert said[0] == "Error: todos must be a list or JSON array string"
    assert said[1].startswith("  received ")
    assert said[-2:] == [
        'Send: {"todos": [{"content": "…", "status": "pending|in_progress|completed"}]}',
        "The plan was not changed.",
    ]


def test_broken_arguments_are_refused_with_the_parsers_position() -> None:
    broken = '{"todos": "x", "status": "in_progress"}, {"content": "y"]}'
    assert "Extra data at character 39" in answer_to(broken)


def test_a_megabyte_of_broken_text_is_refused_with_a_preview() -> None:
    said = answer_to("x" * 1_000_000)
    assert "xxx… (1,000,000 characters, limit 262,144)" in said
    assert len(said) < 500


def test_the_parsed_text_obeys_the_same_rules() -> None:
    assert (
        refused({"todos": '[{"content": "", "status": "x"}]'})
        == [
            Fault("bad_status", 0, "x"),
            Fault("no_content", 0),
        ][::-1]
    )


# --- other shapes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "repaired"),
    [
        ({"todos": A}, "todos came as one object"),
        ({"todos": {"todos": [A]}}, "todos came wrapped in itself"),
        ({"todos": ['{"content":"A","status":"pending"}']}, "items came as strings of objects"),
        ({"todos": ["{'content':'A','status':'pending'}"]}, "items came as strings of objects"),
        ([A], "the list came without its 'todos' key"),
        ("[ ] A", "the list came without its 'todos' key"),
        ({"todos": [{"text": "A", "status": "pending"}]}, "content came as 'text'"),
        ({"todos": [{**A, "status": "TODO"}]}, "status 'TODO' was read as pending"),
    ],
)
def test_what_loses_nothing_is_repaired_and_said(arguments: object, repaired: str) -> None:
    assert taken(arguments) == Decoded((Todo("A"),), (repaired,))


def test_repairs_reach_the_answer_in_one_line_and_once() -> None:
    answer = PlanMemory().call("write_todos", [{**A, "status": "todo"}, {**A, "status": "todo"}])
    assert answer.text.splitlines()[3:] == [
        "Repaired: the list came without its 'todos' key; status 'todo' was read as pending."
    ]
    assert answer.repaired == ("the list came without its 'todos' key", "status 'todo' was read as pending")


def test_unknown_keys_of_an_item_are_ignored() -> None:
    assert taken({"todos": [{**A, "priority": "high", "check": "x"}]}) == Decoded((Todo("A"),))


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        ({"todos": ["Write tests", "Fix bug"]}, ["not_an_object", "not_an_object"]),
        ({"items": [A]}, ["no_list"]),
        ({}, ["no_list"]),
        ("", ["no_list"]),
        (None, ["no_list"]),
        (7, ["no_list"]),
        (b"[]", ["no_list"]),
        ({"todos": {}}, ["not_a_list"]),
        ({"todos": {"other": []}}, ["not_a_list"]),
        ({"todos": 0}, ["not_a_list"]),
        ({"todos": False}, ["not_a_list"]),
        ({"todos": None}, ["null_list"]),
        ({"todos": {"todos": None}}, ["null_list"]),
    ],
)
def test_what_needs_a_guess_is_refused(arguments: object, kinds: list[str]) -> None:
    assert [fault.kind for fault in refused(arguments)] == kinds


def test_junk_among_the_items_refuses_the_whole_write_and_names_each() -> None:
    said = answer_to({"todos": [A, None, 7, ["x"]]}).splitlines()
    assert said[:6] == [
        "Error: todos[1] must be an object",
        "  received null",
        "todos[2] must be an object",
        "  received 7",
        "todos[3] must be an object",
        '  received ["x"]',
    ]


def test_a_list_under_another_name_is_named() -> None:
    assert answer_to({"items": [A]}).splitlines()[:2] == [
        "Error: todos is required",
        "  received keys items",
    ]


def test_null_never_clears_and_the_answer_says_what_does() -> None:
    assert "send [] to clear it" in answer_to({"todos": None})


# --- status ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "status"),
    [
        ("pending", "pending"),
        (" completed ", "completed"),
        ("COMPLETED", "completed"),
        ("in-progress", "in_progress"),
        ("in progress", "in_progress"),
        ("IN_PROGRESS", "in_progress"),
        ("inProgress", "in_progress"),
        ("done", "completed"),
        ("Done", "completed"),
        ("complete", "completed"),
        ("todo", "pending"),
        ("open", "pending"),
        ("not_started", "pending"),
        ("notStarted", "pending"),
        ("doing", "in_progress"),
        ("active", "in_progress"),
    ],
)
def test_another_spelling_of_a_status_is_read(spelling: str, status: Status) -> None:
    assert taken({"todos": [{"content": "a", "status": spelling}]}).todos == (Todo("a", status),)


@pytest.mark.parametrize(
    ("bad", "shown"),
    [
        *[(word, word) for word in ("cancelled", "failed", "blocked", "build", "")],
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (["pending"], '["pending"]'),
        ("\u200bpending", "\u200bpending"),
    ],
)
def test_any_other_status_is_refused_with_index_value_and_the_three_words(bad: object, shown: str) -> None:
    arguments = {"todos": [A, {"content": "b", "status": bad}]}
    assert refused(arguments) == [Fault("bad_status", 1, shown)]
    first, hint = answer_to(arguments).splitlines()[:2]
    harmless = shown.replace("\u200b", "")
    assert first == f"Error: todos[1] has invalid status '{harmless}'"
    assert hint.startswith("  use one of pending, in_progress, completed")


def test_cancelled_is_told_how_to_cancel() -> None:
    assert "to cancel, leave the item out" in answer_to({"todos": [{"content": "b", "status": "Cancelled"}]})


def test_a_missing_status_is_refused_but_in_the_dialect_of_the_third_seed() -> None:
    assert refused({"todos": [{"content": "a"}]}) == [Fault("no_status", 0)]
    assert taken({"items": [{"text": "a"}]}, TODO).todos == (Todo("a", id="1"),)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
def test_schema_validator_and_refusal_know_the_same_statuses(dialect: Dialect) -> None:
    item = tool_schemas(dialect, Rules())[0]["input_schema"]["properties"][dialect.list_key]["items"]
    allowed = item["properties"]["status"]["enum"]
    assert allowed == list(STATUSES)
    for status in allowed:
        assert taken({dialect.list_key: [{dialect.content_key: "a", "status": status}]}, dialect)
    bad = {dialect.list_key: [{dialect.content_key: "a", "status": "x"}]}
    assert f"use one of {', '.join(allowed)}" in answer_to(bad, dialect=dialect.name)


# --- content ---------------------------------------------------------------------------------------


def test_every_blank_missing_or_odd_content_is_named_in_one_go() -> None:
    items: list[dict[str, Any]] = [
        {"content": "", "status": "pending"},
        {"content": "   \n\t", "status": "pending"},
        {"content": None, "status": "pending"},
        {"status": "pending"},
        {"content": 42, "status": "pending"},
        {"content": "\u200b\u200b", "status": "pending"},
    ]
    assert [(fault.kind, fault.index) for fault in refused({"todos": items})] == [
        ("no_content", 0),
        ("no_content", 1),
        ("no_content", 2),
        ("no_content", 3),
        ("bad_content", 4),
        ("no_content", 5),
    ]
    said = answer_to({"todos": items})
    assert all(f"todos[{index}] requires content" in said for index in range(6))


def test_both_faults_of_one_item_are_named_content_first() -> None:
    assert refused({"todos": [{"content": " ", "status": "x"}, {"content": 1, "status": 2}]}) == [
        Fault("no_content", 0),
        Fault("bad_status", 0, "x"),
        Fault("bad_content", 1, "1"),
        Fault("bad_status", 1, "2"),
    ]


@pytest.mark.parametrize("name", ["text", "step", "title", "description", "task"])
def test_one_known_synonym_of_content_is_taken(name: str) -> None:
    assert taken({"todos": [{name: "A", "status": "pending"}]}).todos == (Todo("A"),)


def test_each_item_may_have_its_own_synonym() -> None:
    todos = [{"title": "A", "status": "pending"}, {"step": "B", "status": "pending"}]
    assert taken({"todos": todos}).todos == (Todo("A"), Todo("B"))


def test_two_synonyms_are_refused_and_named() -> None:
    said = answer_to({"todos": [{"title": "A", "step": "B", "status": "pending"}]})
    assert said.splitlines()[1] == "  it came under several names (step, title)"


def test_a_synonym_beside_content_is_ignored() -> None:
    assert taken({"todos": [{**A, "title": "B"}]}).todos == (Todo("A"),)


@pytest.mark.parametrize("raw", [" a ", "\u200ba\ufeff", "\n\ta\u3000"])
def test_outer_blanks_are_stripped(raw: str) -> None:
    assert taken({"todos": [{**A, "content": raw}]}).todos == (Todo("a"),)


def test_lone_surrogates_are_replaced() -> None:
    assert taken({"todos": [{**A, "content": "a\ud800"}]}).todos == (Todo("a\ufffd"),)


@pytest.mark.parametrize(
    ("sent_id", "kept"),
    [(7, "7"), (" x ", "x"), ("", "1"), (None, "1"), (True, "1"), ("a" * 39 + " b", "a" * 39)],
)
def test_an_id_is_text_and_else_the_position(sent_id: object, kept: str) -> None:
    assert taken({"items": [{"id": sent_id, "text": "a"}]}, TODO).todos == (Todo("a", id=kept),)


def test_the_active_form_is_kept_where_the_dialect_has_one() -> None:
    item = {**A, "activeForm": "Doing A"}
    assert taken({"todos": [item]}, DIALECTS["TodoWrite"]).todos == (Todo("A", active_form="Doing A"),)
    assert taken({"todos": [item]}).todos == (Todo("A"),)


def test_the_explanation_of_a_plan_is_let_by() -> None:
    arguments = {"explanation": "why", "plan": [{"step": "a", "status": "pending"}]}
    assert taken(arguments, CODEX) == Decoded((Todo("a"),))


# --- limits ----------------------------------------------------------------------------------------


def test_twenty_todos_are_taken_and_one_more_is_refused_whatever_their_status() -> None:
    done: dict[str, Any] = {"content": "d", "status": "completed"}
    assert len(taken({"todos": [A] * 20}).todos) == 20
    assert answer_to({"todos": [A] * 16 + [done] * 5}).splitlines()[:2] == [
        "Error: Max 20 todos allowed",
        "  21 were sent, limit 20: merge small ones, leave out finished ones",
    ]


@pytest.mark.parametrize("item", [A, {}, None, {"content": "x" * 900, "status": "y" * 900}])
def test_two_thousand_todos_are_refused_in_less_than_a_kilobyte(item: object) -> None:
    said = answer_to({"todos": [item] * 2000})
    assert "2000 were sent, limit 20" in said
    assert len(said.encode()) < 1024


@pytest.mark.parametrize("text", ["x", "漢"])
def test_content_up_to_the_limit_is_taken_as_it_is(text: str) -> None:
    todos = [{"content": text * 500, "status": "pending"}] * 20
    assert {todo.content for todo in taken({"todos": todos}).todos} == {text * 500}


@pytest.mark.parametrize("length", [501, 100_000])
def test_longer_content_is_refused_with_index_and_length(length: int) -> None:
    said = answer_to({"todos": [A, {**A, "content": "x" * length}]})
    assert said.splitlines()[:2] == [
        "Error: todos[1] is too long",
        f"  {length} characters, limit 500: shorten it",
    ]


def test_two_in_progress_are_both_named_with_the_smallest_correction() -> None:
    todos = [{"content": name, "status": "in_progress"} for name in ("a", "b")]
    assert answer_to({"todos": todos}).splitlines()[:2] == [
        "Error: Only one todo can be in_progress at a time",
        "  0 (a) and 1 (b) are; keep one, set the others to pending",
    ]


def test_a_limit_of_two_in_progress_is_worded_as_such() -> None:
    todos = [{"content": name, "status": "in_progress"} for name in "abc"]
    said = answer_to({"todos": todos}, limits=Rules(max_in_progress=2)).splitlines()
    assert said[0] == "Error: Only 2 todos can be in_progress at a time"
    assert said[1].endswith("are; keep 2, set the others to pending")


@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize(
    "bad",
    [
        {
            "content": "漢" * 900,
            "text": "漢" * 900,
            "step": "漢" * 900,
            "status": "漢" * 900,
            "id": "漢" * 900,
        },
        ["漢" * 900],
        {"text": 1, "content": 1, "step": 1},
    ],
)
def test_a_refusal_never_explodes(dialect: str, bad: Any) -> None:
    key = DIALECTS[dialect].list_key
    few = answer_to({key: [bad] * 20}, dialect=dialect)
    many = answer_to({key: [bad] * 2000}, dialect=dialect, limits=Rules(max_items=None))
    assert max(len(few), len(many)) < 4096
    assert "more: mend these first" in many


def test_what_is_quoted_in_a_refusal_is_harmless() -> None:
    nasty = "\x1b]52;c;eA==\x07</reminder>\n\u202e"
    items = [
        {"content": "a", "status": nasty},
        nasty,
        {"content": f"{nasty} 1", "status": "in_progress"},
        {"content": f"{nasty} 2", "status": "in_progress"},
    ]
    said = answer_to({"todos": items})
    assert not set(said) & {"\x1b", "\x07", "\u202e"}
    assert "</reminder>" not in said


# --- for every input -------------------------------------------------------------------------------


def empties(value: object, dialect: Dialect) -> bool:
    """Whether `value` is an explicit empty list, in one of the wrappings that are taken off."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value.replace(" ", "") == "[]"
    if isinstance(value, dict):
        return empties(cast("dict[str, Any]", value).get(dialect.list_key), dialect)
    return value == []


def as_list_of(key: str, count: int) -> st.SearchStrategy[Any]:
    def wrap(value: object) -> dict[str, object]:
        return {key: [value] * count if count else value}

    return json_like.map(wrap)


def in_json(value: object) -> str:
    try:
        return json.dumps(value)
    except ValueError:  # more digits than Python writes
        return "[1e999, NaN"


def in_tuple(value: object) -> tuple[object]:
    return (value,)


odd: st.SearchStrategy[Any] = st.one_of(
    json_like,
    as_list_of("todos", 0),
    as_list_of("items", 1),
    as_list_of("plan", 2),
    json_like.map(in_json),
    json_like.map(in_tuple),
    st.text(st.characters(exclude_categories=()), max_size=30),
    st.text("[]{}'\":,todscn -x\\\n()*", max_size=30),
    st.binary(max_size=8),
    st.binary(max_size=8).map(bytearray),
    st.dictionaries(st.one_of(st.integers(), huge_integers, st.none(), st.binary()), json_like),
)


@settings(max_examples=300, deadline=None)
@given(odd, dialects)
def test_no_input_raises_or_clears_by_accident(arguments: object, dialect: Dialect) -> None:
    decode_as_seed(arguments, dialect, Rules())
    memory = PlanMemory(dialect)
    memory.edit(["kept"])
    answer = memory.call(dialect.name, arguments)
    answer.text.encode()
    assert len(answer.text) < 4096
    if answer.is_error:
        assert (memory.plan, memory.revision) == (Plan((Todo("kept"),)), 1)
    elif not memory.plan.todos:
        assert empties(arguments, dialect)


def nested(depth: int, wrap: str) -> object:
    value: Any = []
    for _ in range(depth):
        value = [value] if wrap == "list" else {"todos": value}
    return value


@pytest.mark.parametrize("wrap", ["list", "object"])
@pytest.mark.parametrize("place", ["top", "list", "item", "content", "status", "id"])
def test_deep_nesting_is_refused(wrap: str, place: str) -> None:
    deep = nested(50_000, wrap)
    arguments = {
        "top": deep if wrap == "object" else {"todos": [deep]},
        "list": {"todos": deep},
        "item": {"todos": [deep]},
        "content": {"todos": [{"content": deep, "status": "pending"}]},
        "status": {"todos": [{"content": "a", "status": deep}]},
        "id": {"items": [{"id": deep, "text": 1}]},
    }[place]
    dialect = "todo" if place == "id" else "write_todos"
    assert len(answer_to(arguments, dialect=dialect)) < 1024


@st.composite
def loose(draw: st.DrawFn, dialect: Dialect) -> dict[str, Any]:
    """Arguments that are mostly acceptable, in spellings that nobody asked for."""
    raw = st.text(st.characters(exclude_categories=()), max_size=6)
    long = st.text("a \u200b\ud800😀", min_size=30, max_size=60)
    item: dict[str, st.SearchStrategy[Any]] = {
        draw(st.sampled_from([dialect.content_key, "text", "title"])): st.one_of(raw.map("a".__add__), raw),
        "status": st.sampled_from([*STATUSES, "Done", "todo", "notStarted", " pending"]),
        "id": st.one_of(raw, long, st.integers(), st.none()),
        "activeForm": st.one_of(raw, st.text("a \u200b", min_size=199, max_size=230)),
    }
    items = draw(st.lists(st.fixed_dictionaries(item), max_size=3))
    return {dialect.list_key: draw(st.sampled_from([items, json.dumps(items), {dialect.list_key: items}]))}


@settings(max_examples=150, deadline=None)
@given(st.data(), dialects)
def test_what_was_taken_is_taken_again_as_it_is(data: st.DataObject, dialect: Dialect) -> None:
    first = decode(data.draw(loose(dialect)), dialect)
    todos = first.todos if isinstance(first, Decoded) else ()
    again = decode(json.loads(json.dumps(sent(Plan(todos), dialect))), dialect)
    assert again == Decoded(todos)


@settings(max_examples=100, deadline=None)
@given(st.data(), dialects)
def test_a_legal_list_is_taken_as_it_is_from_an_object_and_from_text(
    data: st.DataObject, dialect: Dialect
) -> None:
    plan = data.draw(plans(with_ids=bool(dialect.id_key), blank=True))
    arguments = sent(plan, dialect)
    assert decode(arguments, dialect) == Decoded(plan.todos)
    assert decode(json.dumps(arguments), dialect) == Decoded(plan.todos)
    listed = arguments[dialect.list_key]
    said = (f"{dialect.list_key} came as a string",)
    for text in (json.dumps(listed), repr(listed)):
        assert decode({dialect.list_key: text}, dialect) == Decoded(plan.todos, said)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(SPELLINGS), min_size=1, max_size=8))
def test_each_bad_status_of_a_list_is_named(spellings: list[str]) -> None:
    known = {"completed", "DONE", " in-progress ", "inProgress", "todo", "Pending"}
    bad = [index for index, status in enumerate(spellings) if status not in known]
    result = decode(
        {"todos": [{"content": "a", "status": status} for status in spellings]},
        TODO_WRITE,
        Rules(max_in_progress=None),
    )
    found = [fault.index for fault in result.faults] if isinstance(result, Refusal) else []
    assert found == bad


# --- schema and validator --------------------------------------------------------------------------


def list_schema(dialect: Dialect, limits: Rules) -> dict[str, Any]:
    return tool_schemas(dialect, limits)[0]["input_schema"]["properties"][dialect.list_key]


@settings(max_examples=120, deadline=None)
@given(st.data(), dialects, rules)
def test_what_the_schema_allows_is_taken(data: st.DataObject, dialect: Dialect, limits: Rules) -> None:
    limits = Rules(limits.max_items, None, limits.max_content, limits.allow_blank)  # no schema can count
    schema = list_schema(dialect, limits)
    item: dict[str, Any] = schema["items"]["properties"]
    content: dict[str, Any] = item[dialect.content_key]
    texts = st.text(
        "ab 漢", min_size=content.get("minLength", 0), max_size=content.get("maxLength", 20)
    ).filter(lambda text: limits.allow_blank or not is_blank(text))  # minLength cannot say "not blank"
    values: dict[str, st.SearchStrategy[str]] = {
        name: st.sampled_from(part["enum"]) if "enum" in part else texts if part is content else st.text()
        for name, part in item.items()
    }
    required = schema["items"]["required"]
    items: list[dict[str, str]] = data.draw(
        st.lists(
            st.fixed_dictionaries(
                {name: value for name, value in values.items() if name in required},
                optional={name: value for name, value in values.items() if name not in required},
            ),
            max_size=schema.get("maxItems", 8),
        )
    )
    result = decode({dialect.list_key: items}, dialect, limits)
    assert isinstance(result, Decoded)
    assert [(todo.content, todo.status) for todo in result.todos] == [
        (clean(item[dialect.content_key]), item["status"]) for item in items
    ]


@settings(max_examples=120, deadline=None)
@given(st.data(), dialects, rules)
def test_what_the_schema_forbids_is_refused(data: st.DataObject, dialect: Dialect, limits: Rules) -> None:
    schema = list_schema(dialect, limits)
    text = schema["items"]["properties"][dialect.content_key]
    good = {dialect.content_key: "a", "status": "pending"}
    too_many = [good] * (schema["maxItems"] + 1) if "maxItems" in schema else None
    too_long = [{**good, dialect.content_key: "a" * (text["maxLength"] + 1)}] if "maxLength" in text else None
    blank = [{**good, dialect.content_key: ""}] if "minLength" in text else None
    other = [{**good, "status": "failed"}]
    no_content = [{"status": "pending"}]
    bad = data.draw(
        st.sampled_from([case for case in (too_many, too_long, blank, other, no_content) if case])
    )
    assert isinstance(decode({dialect.list_key: bad}, dialect, limits), Refusal)
