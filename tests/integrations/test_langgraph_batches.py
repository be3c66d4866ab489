"""The calls of one reply on the graph: one result each, in call order, whatever the model sent."""

from __future__ import annotations

import json
from itertools import islice, pairwise
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command
from langgraph_parts import AUTO, RUNNERS, Graph, call, kinds, look, reply, results, todos, write

from onplan.integrations.langgraph import build_graph, end_reason, plan_state
from onplan.messages import Call
from onplan.plan.dialect import WRITE_TODOS, tool_schemas
from onplan.plan.todo import Rules
from onplan.toolset import tool as onplan_tool

A, B = ("~ a", "  b"), ("x a", "~ c")


def broken(name: str, text: str, id: str) -> dict[str, Any]:
    return {"type": "invalid_tool_call", "name": name, "args": text, "id": id, "error": None}


def played(*replies: AIMessage, tools: Any = (look,), **options: Any) -> dict[str, Any]:
    """The state after a turn with these replies of a LangChain model."""
    model = GenericFakeChatModel(messages=iter(replies))
    graph = build_graph(model, tools, max_continuations=0, **options)
    return graph.invoke({"messages": [("user", "go")]}, AUTO)


# --- several writes in one reply --------------------------------------------------------------------


@pytest.mark.parametrize("way", RUNNERS)
def test_whole_list_writes_of_one_reply_are_applied_in_call_order(way: str) -> None:
    calls = [write(*A, id="t1"), call("look", "t2", text="hi"), write(*B, id="t3")]
    graph = Graph([calls, "ok"], max_continuations=0)
    ended = RUNNERS[way](graph.app, {"messages": [("user", "go")]}, AUTO)
    assert results(ended["messages"]) == [
        ("t1", "Task list updated:\n[~] a\n[ ] b"),
        ("t2", "saw hi"),
        ("t3", 'Task list updated:\n[x] a\n[~] c\nLeft out while open: "b".'),
    ]
    assert ended["todos"] == todos(*B)


def test_the_same_list_twice_in_one_reply_is_one_revision() -> None:
    ended = Graph([[write(*A, id="t1"), write(*A, id="t2")], "ok"], max_continuations=0).say("go")
    assert [text for _, text in results(ended["messages"])] == [
        "Task list updated:\n[~] a\n[ ] b",
        'Plan unchanged. Next: "a".',
    ]
    assert plan_state(ended["messages"]).ledger.revision == 1


def test_a_refused_write_leaves_the_one_before_it_in_force() -> None:
    two = [write(*A, id="t1"), call("look", "t2"), write("~ a", "~ b", id="t3")]
    ended = Graph([two, "ok"], max_continuations=0).say("go")
    assert ended["todos"] == todos(*A)
    last = ended["messages"][-2]
    assert (last.tool_call_id, last.status) == ("t3", "error")
    assert last.text.startswith("Error: Only one todo can be in_progress at a time")
    assert last.text.endswith("The plan was not changed.")


def test_a_list_that_came_as_a_string_is_repaired_and_kept_as_a_list() -> None:
    for sent in (json.dumps(todos("~ a")), str(todos("~ a")), "- [~] a"):
        ended = Graph([[call("write_todos", todos=sent)], "ok"], max_continuations=0).say("go")
        assert ended["todos"] == todos("~ a")
        assert "todos came as a string" in ended["messages"][2].text


# --- arguments that are none ------------------------------------------------------------------------


def test_every_malformed_call_gets_its_own_result_and_the_loop_goes_on() -> None:
    huge = '{"todos": [{"content": "' + "x" * 1_000_000
    ended = played(
        AIMessage("", tool_calls=[{"name": "write_todos", "args": {"todos": todos(*A)}, "id": "c0"}]),
        AIMessage(
            "",
            tool_calls=[{"name": "read_todos", "args": {}, "id": "c5"}],
            invalid_tool_calls=[
                broken("read_todos", "", "c1"),
                broken("write_todos", '{"todos": "x", "status": "in_progress"}, {"content": "y"]}', "c2"),
                broken("look", "null", "c3"),
                broken("look", '["ls"]', "c4"),
                broken("write_todos", huge, "c6"),
            ],
            additional_kwargs={"tool_calls": [{"id": f"c{n}", "type": "function"} for n in range(1, 7)]},
        ),
        AIMessage("ok"),
    )
    said = dict(results(ended["messages"]))
    assert list(said) == ["c0", "c1", "c2", "c3", "c4", "c5", "c6"]
    assert (said["c1"], said["c5"]) == ("[~] a\n[ ] b", "[~] a\n[ ] b")
    assert said["c3"] == "Error: the arguments of look must be a JSON object, not null"
    assert said["c4"] == "Error: the arguments of look must be a JSON object, not list"
    for name in ("c2", "c6"):
        assert said[name].startswith("Error: todos must be a list or JSON array string\n  received")
        assert "character" in said[name]
        assert len(said[name]) < 600
    assert ended["todos"] == todos(*A)


def test_broken_arguments_of_another_tool_name_the_place_and_do_not_run_it() -> None:
    ran: list[str] = []

    @tool
    def touch(path: str = "") -> str:
        """Touch a file."""
        ran.append(path)
        return "touched"

    ended = played(
        AIMessage("", invalid_tool_calls=[broken("touch", '{"path": "a', "c1")]),
        AIMessage("ok"),
        tools=[touch],
    )
    said = dict(results(ended["messages"]))["c1"]
    assert said.startswith("Error: the arguments of touch are not valid JSON: ")
    assert said.endswith('Received: {"path": "a')
    assert ran == []


def test_replies_with_invalid_calls_only_may_be_tried_again_three_times() -> None:
    asked = 0

    def replies():
        nonlocal asked
        while True:
            asked += 1
            yield AIMessage("", invalid_tool_calls=[broken("look", "{", f"c{asked}")])

    ended = played(*islice(replies(), 9), reminder=None)
    assert kinds(ended["messages"]) == ["human", *["ai", "tool"] * 4]
    assert end_reason(ended["messages"]) == "call_loop"


def test_calls_without_ids_or_with_ids_that_come_again_are_told_apart() -> None:
    ended = played(
        reply({"name": "look", "args": {"text": "1"}, "id": None}, {"name": "look", "args": {}, "id": None}),
        reply({"name": "look", "args": {"text": "2"}, "id": "x"}),
        reply({"name": "look", "args": {"text": "3"}, "id": "x"}),
        AIMessage("ok"),
    )
    calls = [one["id"] for message in ended["messages"] for one in getattr(message, "tool_calls", [])]
    answered = [name for name, _ in results(ended["messages"])]
    assert calls == answered
    assert len({*calls}) == 4
    assert None not in calls


# --- the tools --------------------------------------------------------------------------------------


def test_an_unknown_tool_is_answered_with_the_names_there_are() -> None:
    ended = Graph([[call("lock", "c1")], "ok"]).say("go")
    assert dict(results(ended["messages"]))["c1"] == (
        "Error: no tool is named 'lock'. Tools: write_todos, read_todos, look"
    )


def test_a_failing_tool_is_an_answer_and_its_neighbours_run() -> None:
    @tool
    def fail() -> str:
        """Fail."""
        raise ZeroDivisionError("boom")

    @tool
    def number(value: int) -> str:
        """A number."""
        return str(value)

    calls = [call("fail", "c1"), call("number", "c2", value="many"), call("number", "c3", value=3)]
    ended = Graph([calls, "ok"], [fail, number]).say("go")
    assert results(ended["messages"]) == [
        ("c1", "Error: fail failed: ZeroDivisionError: boom"),
        (
            "c2",
            "Error: number: value: Input should be a valid integer, unable to parse string as an integer",
        ),
        ("c3", "3"),
    ]
    assert [one.status for one in ended["messages"] if isinstance(one, ToolMessage)] == [
        "error",
        "error",
        "success",
    ]


@pytest.mark.parametrize("way", RUNNERS)
def test_tools_may_be_onplans_own_langchains_and_plain_functions(way: str) -> None:
    @onplan_tool(read_only=True)
    async def ours(text: str) -> str:
        """Answer."""
        return f"ours {text}"

    @tool(response_format="content_and_artifact")
    def theirs(text: str) -> tuple[str, dict[str, int]]:
        """Answer."""
        return f"theirs {text}", {"size": len(text)}

    calls = [call("ours", "c1", text="a"), call("theirs", "c2", text="bb"), call("look", "c3", text="c")]
    graph = Graph([calls, "ok"], [ours, theirs, look])
    ended = RUNNERS[way](graph.app, {"messages": [("user", "go")]}, AUTO)
    assert results(ended["messages"]) == [("c1", "ours a"), ("c2", "theirs bb"), ("c3", "saw c")]
    assert [one.artifact for one in ended["messages"] if isinstance(one, ToolMessage)] == [
        None,
        {"size": 2},
        None,
    ]


def test_a_tool_cannot_set_the_todos_behind_the_plans_back() -> None:
    @tool
    def forge() -> Command[Any]:
        """Forge the plan."""
        return Command(update={"todos": todos("x forged")})

    ended = Graph([[write("~ a", id="c1"), call("forge", "c2")], "ok"], [forge], max_continuations=0).say(
        "go"
    )
    assert ended["todos"] == todos("~ a")
    assert dict(results(ended["messages"]))["c2"] == (
        "Error: forge failed: only the plan's own tools change the todos"
    )


# --- what ends a turn -------------------------------------------------------------------------------


def test_the_same_plan_over_and_over_ends_the_turn() -> None:
    ended = Graph([[write("~ a")]] * 9, reminder=None).say("go")
    assert kinds(ended["messages"]) == ["human", *["ai", "tool"] * 5]
    assert end_reason(ended["messages"]) == "plan_loop"


def test_the_same_call_with_the_same_result_five_times_ends_the_turn() -> None:
    ended = Graph([[call("look")]] * 9, reminder=None).say("go")
    assert kinds(ended["messages"]) == ["human", *["ai", "tool"] * 5]
    assert end_reason(ended["messages"]) == "call_loop"


def test_the_gate_continues_a_turn_with_open_todos_once() -> None:
    ended = Graph([[write("~ a")], "I stop.", "I do stop."]).say("go")
    assert kinds(ended["messages"]) == ["human", "ai", "tool", "ai", "continue", "ai"]
    assert end_reason(ended["messages"]) == "open_todos"


def test_planning_off_offers_no_plan_tools_and_adds_nothing() -> None:
    graph = Graph([[call("look")]] * 4 + ["ok"], planning="off", system="Be brief.")
    assert kinds(graph.say("go")["messages"]) == ["human", *["ai", "tool"] * 4, "ai"]
    request = graph.model.requests[0]
    assert ([tool["name"] for tool in request.tools], request.system) == (["look"], "Be brief.")


@pytest.mark.parametrize(
    ("dialect", "sent"),
    [
        ("todo", {"items": [{"id": "1", "text": "a", "status": "in_progress"}]}),
        ("update_plan", {"plan": [{"step": "a", "status": "in_progress"}]}),
        ("todo", todos("~ a")),
    ],
)
def test_the_graph_speaks_every_dialect(dialect: str, sent: Any) -> None:
    name = "write_todos" if isinstance(sent, list) else dialect
    arguments = {"todos": sent} if isinstance(sent, list) else sent
    graph = Graph([[Call("c1", name, arguments)], "ok"], dialect=dialect, max_continuations=0)
    (todo,) = graph.say("go")["todos"]
    assert (todo["content"], todo["status"]) == ("a", "in_progress")
    assert graph.model.requests[0].tools[0]["name"] == dialect


def test_every_request_extends_the_one_before_it() -> None:
    graph = Graph([[write("~ a")], *[[call("look", text=str(n))] for n in range(8)], "a", "b"])
    graph.say("go")
    requests = [(request.system, request.tools, request.messages) for request in graph.model.requests]
    for (system, tools, before), (system_, tools_, after) in pairwise(requests):
        assert (system, tools) == (system_, tools_)
        assert after[: len(before)] == before


def test_scripted_models_are_offered_the_schemas_of_the_active_rules() -> None:
    rules = Rules(max_items=3)
    graph = Graph(["ok"], rules=rules)
    graph.say("go")
    assert graph.model.requests[0].tools[:2] == tool_schemas(WRITE_TODOS, rules)
