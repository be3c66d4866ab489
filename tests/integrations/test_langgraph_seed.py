"""The first seed's walk through its system, on the graph: what each section claims, in its order."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any, TypedDict, get_type_hints

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from langgraph_parts import ASK, AUTO, RUNNERS, Graph, call, kinds, results, todos, write

from onplan.errors import ConfigError
from onplan.integrations.langgraph import (
    PlanState,
    Todo,
    add_plan_nodes,
    build_graph,
    needs_state,
    read_todos,
    two_views,
    write_todos,
)
from onplan.messages import Call

DRAFT = ("~ Read the sources", "  Write the README", "  Check it")
README = [
    [write(*DRAFT)],
    [call("glob")],
    [call("read_file")],
    [write("x Read the sources", "~ Write the README", "  Check it")],
    [call("write_file")],
    [
        write("x Read the sources", "x Write the README", "~ Check it"),
    ],
    [call("read_todos")],
    [write("x Read the sources", "x Write the README", "x Check it")],
    "The README is written.",
]


@tool
def glob() -> str:
    """List files."""
    return "a.py b.py"


@tool
def read_file(path: str = "", offset: int = 1, limit: int = 2000) -> str:
    """Read a file."""
    return "def a(): ..."


@tool
def write_file() -> str:
    """Write a file."""
    return "written"


FILES = (glob, read_file, write_file)

# --- 1. one request, start to finish ----------------------------------------------------------------


@pytest.mark.parametrize("way", RUNNERS)
def test_the_thread_alone_carries_the_plan_however_the_graph_is_run(way: str) -> None:
    graph = Graph(README, FILES, preset="tutorial")
    ended = RUNNERS[way](graph.app, {"messages": [("user", "Write a README.")]}, AUTO)
    assert kinds(ended["messages"]) == ["human", *["ai", "tool"] * 8, "ai"]
    assert len(graph.requests[-1]) + 2 == 19  # with the system text and the last reply
    recited = [text for _, text in results(ended["messages"]) if text.startswith("Task list updated:\n")]
    assert len(recited) == 4
    assert recited[0] == "Task list updated:\n[~] Read the sources\n[ ] Write the README\n[ ] Check it"
    assert ended["todos"] == todos("x Read the sources", "x Write the README", "x Check it")


# --- 2. the graph -----------------------------------------------------------------------------------


def test_planning_adds_no_node() -> None:
    assert set(Graph([]).app.get_graph().nodes) == {
        "__start__",
        "chat",
        "human_approval",
        "tools",
        "__end__",
    }


def test_only_tools_touches_todos_and_chat_writes_messages_alone() -> None:
    graph = Graph(
        [[write(*DRAFT)], [call("look")], [call("look")], [call("look")], "ok"], max_continuations=0
    )
    steps = list(graph.app.stream({"messages": [("user", "go")]}, AUTO, stream_mode="updates"))
    wrote = [(node, sorted(update or {})) for step in steps for node, update in step.items()]
    assert wrote == [
        ("chat", ["messages"]),
        ("tools", ["messages", "todos"]),
        *[("chat", ["messages"]), ("tools", ["messages"])] * 3,
        ("chat", ["messages"]),
    ]
    reminded = next(update for step in reversed(steps) for node, update in step.items() if node == "tools")
    assert kinds(reminded["messages"]) == ["tool", "reminder"]


# --- 3 and 4. the two tools -------------------------------------------------------------------------


def test_write_todos_by_itself_formats_a_string_and_does_nothing() -> None:
    assert write_todos.invoke({"todos": todos("~ a", "  b")}) == "Task list updated:\n[~] a\n[ ] b"
    assert write_todos.invoke({"todos": []}) == "Task list cleared."


def test_read_todos_gets_its_list_from_the_state() -> None:
    assert read_todos.invoke({"state": {"todos": todos("x a")}}) == "[x] a"
    assert read_todos.invoke({"state": {}}) == "No task list yet. Call write_todos to create one."


# --- 5. the two views of a tool ---------------------------------------------------------------------


def test_the_two_views_agree_for_the_first_two_tools_and_come_apart_for_read_todos() -> None:
    schema, filled = two_views(read_file)
    assert (list(schema["properties"]), filled) == (["path", "offset", "limit"], ())
    schema, filled = two_views(write_todos)
    assert (list(schema["properties"]), filled) == (["todos"], ())
    schema, filled = two_views(read_todos)
    assert (schema["properties"], filled) == ({}, ("state",))
    assert read_todos.args == {}
    whole: Any = read_todos.get_input_schema()
    assert "state" in whole.model_fields


def test_without_the_annotation_the_state_leaks_into_the_models_schema() -> None:
    @tool
    def leaking(state: dict) -> str:
        """Read the list."""
        return str(state)

    schema, filled = two_views(leaking)
    assert (list(schema["properties"]), filled) == (["state"], ())
    assert (needs_state(read_todos), needs_state(write_todos), needs_state(leaking)) == (True, False, False)


def test_only_a_tool_that_asks_for_the_state_gets_it() -> None:
    seen: dict[str, Any] = {}

    @tool
    def counting(state: Annotated[dict, InjectedState], text: str = "") -> str:
        """Count."""
        seen["whole"] = (sorted(state), state["todos"])
        return "ok"

    @tool
    def part(steps: Annotated[list, InjectedState("todos")]) -> str:
        """Count."""
        seen["part"] = steps
        return "ok"

    @tool
    def state_capital(state: str) -> str:
        """The capital of a state."""
        seen["plain"] = state
        return "Sacramento"

    calls = [write("~ a"), call("counting", text="x"), call("part"), call("state_capital", state="CA")]
    Graph([calls, "ok"], [counting, part, state_capital], max_continuations=0).say("go")
    assert seen == {
        "whole": (["messages", "todos"], todos("~ a")),
        "part": todos("~ a"),
        "plain": "CA",
    }


@pytest.mark.parametrize("way", RUNNERS)
def test_a_tool_that_mutates_its_state_changes_neither_state_nor_checkpoint(way: str) -> None:
    @tool
    def careless(
        state: Annotated[dict, InjectedState], steps: Annotated[list, InjectedState("todos")]
    ) -> str:
        """Spoil everything in reach."""
        state["todos"].append({"content": "forged", "status": "pending"})
        state["messages"][0].content = "forged"
        state["messages"].clear()
        steps.clear()
        return f"left {state['todos'][-1]['content']}"

    graph = Graph(
        [[write("~ a")], [call("careless"), call("read_todos")], "ok"], [careless], max_continuations=0
    )
    ended = RUNNERS[way](graph.app, {"messages": [("user", "go")]}, AUTO)
    assert [text for _, text in results(ended["messages"])][1:] == ["left forged", "[~] a"]
    for values in (ended, graph.values()):
        assert (values["todos"], values["messages"][0].content) == (todos("~ a"), "go")
    history = list(graph.app.get_state_history(AUTO))
    assert "forged" not in str([state.values.get("todos") for state in history])


def test_what_the_model_sends_for_an_injected_parameter_is_ignored() -> None:
    forged = {"state": {"todos": [{"content": "forged", "status": "pending"}]}}
    graph = Graph([[write("~ a")], [Call("", "read_todos", forged)], "ok"], max_continuations=0)
    assert results(graph.say("go")["messages"])[-1][1] == "[~] a"


# --- 6. the todos channel ---------------------------------------------------------------------------


class Bare(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def test_a_bare_graph_drops_the_write_in_silence() -> None:
    def writes_todos(state: Bare) -> dict[str, Any]:
        return {"messages": [], "todos": todos("~ a")}

    builder: Any = StateGraph(Bare)
    builder.add_node("writes", writes_todos)
    builder.add_edge(START, "writes")
    builder.add_edge("writes", END)
    assert "todos" not in builder.compile().invoke({"messages": []})


def test_ours_names_the_missing_channel_when_the_graph_is_built() -> None:
    with pytest.raises(ConfigError, match=r"the state Bare has no channel 'todos'.*todos: list\[Todo\]"):
        build_graph(AIMessage, state_schema=Bare)  # pyright: ignore[reportArgumentType] # it comes before that


def test_a_state_of_ones_own_keeps_its_channels_and_gets_the_plan() -> None:
    class Mine(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        todos: list[Any]
        visits: int

    @tool
    def visit(state: Annotated[dict, InjectedState], tool_call_id: str = "") -> Command[Any]:
        """Come by."""
        own = state["messages"][-1].tool_calls[0]["id"]
        said = ToolMessage("seen", tool_call_id=own)
        return Command(update={"visits": state["visits"] + 1, "messages": [said]})

    graph = Graph([[call("visit")], [write("~ a")], "ok"], [visit], state_schema=Mine, max_continuations=0)
    ended = graph.app.invoke({"messages": [("user", "go")], "visits": 4}, AUTO)
    assert (ended["visits"], ended["todos"]) == (5, todos("~ a"))


def test_a_write_replaces_the_list_wholesale() -> None:
    graph = Graph([[write("~ a", "  b", "  c")], [write("x a", "~ d")], "ok"], max_continuations=0)
    assert graph.say("go")["todos"] == todos("x a", "~ d")
    assert get_type_hints(PlanState)["todos"] == list[Todo]


# --- 7. the tool node -------------------------------------------------------------------------------


def test_a_read_sees_the_write_before_it_in_the_same_message() -> None:
    graph = Graph([[write("~ a", id="c1"), call("read_todos", "c2")], "ok"], max_continuations=0)
    assert results(graph.say("go")["messages"]) == [("c1", "Task list updated:\n[~] a"), ("c2", "[~] a")]


def test_the_details_of_a_result_are_its_artifact_and_never_sent() -> None:
    graph = Graph([[write("~ a", id="c1")], "ok"], max_continuations=0)
    message = graph.say("go")["messages"][2]
    assert message.artifact == {"plan": {"type": "written", "revision": 1, "todos": todos("~ a")}}
    assert "revision" not in json.dumps(graph.requests)


# --- 8. auto mode -----------------------------------------------------------------------------------


def test_every_call_is_asked_about_reading_and_planning_tools_too() -> None:
    graph = Graph([[write("~ a", id="c1"), call("read_todos", "c2")], "ok"], max_continuations=0)
    asked = graph.say("go", ASK)["__interrupt__"][0].value
    assert asked == {
        "calls": [
            {"id": "c1", "name": "write_todos", "args": {"todos": todos("~ a")}},
            {"id": "c2", "name": "read_todos", "args": {}},
        ]
    }


def test_a_rejection_skips_one_call_and_the_others_run() -> None:
    graph = Graph([[call("look", "c1"), write("~ a", id="c2"), call("look", "c3", text="x")], "ok"])
    graph.say("go", ASK)
    answer = {"c3": True, "c1": {"approved": False, "reason": "not now"}, "c2": True}
    ended = graph.app.invoke(Command(resume=answer), ASK)
    assert results(ended["messages"]) == [
        ("c1", "Error: not run: not now"),
        ("c2", "Task list updated:\n[~] a"),
        ("c3", "saw x"),
    ]
    assert [one.status for one in ended["messages"] if isinstance(one, ToolMessage)] == [
        "error",
        "success",
        "success",
    ]


def test_auto_is_a_setting_of_the_run_and_no_part_of_the_state() -> None:
    graph = Graph([[call("look")], "ok", [call("look")], "ok"])
    assert "__interrupt__" not in graph.say("go", AUTO)
    assert "auto" not in str(graph.values())
    assert "auto" not in str([state.values for state in graph.app.get_state_history(ASK)])
    assert "__interrupt__" in graph.say("again", ASK)


# --- and the plan outlives the process --------------------------------------------------------------


def test_another_graph_on_the_same_thread_goes_on_with_the_plan_and_its_ledger() -> None:
    saver = InMemorySaver()
    Graph([[write("~ a", "  b")], "later"], saver=saver, max_continuations=0).say("go")
    graph = Graph([[call("read_todos")], [write("x a", "~ c")], "ok"], saver=saver, max_continuations=0)
    said = [text for _, text in results(graph.say("go on")["messages"])]
    assert said[1:] == ["[~] a\n[ ] b", 'Task list updated:\n[x] a\n[~] c\nLeft out while open: "b".']


def test_a_human_message_reads_as_such_again() -> None:
    graph = Graph(["ok"])
    assert isinstance(asyncio.run(graph.app.ainvoke({"messages": "go"}, AUTO))["messages"][0], HumanMessage)


def test_a_graph_of_ones_own_gets_the_nodes_around_its_chat() -> None:
    asked: list[int] = []

    def chat(state: PlanState) -> dict[str, Any]:
        asked.append(len(state["messages"]))
        if len(asked) == 1:
            call_ = {"name": "write_todos", "args": {"todos": todos("x a")}, "id": "c1"}
            return {"messages": [AIMessage("", tool_calls=[call_])]}
        return {"messages": [AIMessage("ok")]}

    builder: Any = StateGraph(PlanState)
    builder.add_node("chat", chat)
    assert [one.name for one in add_plan_nodes(builder, [glob])] == ["write_todos", "read_todos", "glob"]
    app = builder.compile(checkpointer=InMemorySaver())
    app.invoke({"messages": [("user", "go")]}, ASK)
    ended = app.invoke(Command(resume=False), ASK)
    assert results(ended["messages"]) == [("c1", "Error: not run: the user rejected it")]
    assert (asked, ended["todos"]) == ([1, 3], [])
