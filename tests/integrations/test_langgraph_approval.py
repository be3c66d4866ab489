"""Asking a person: before anything of a batch runs, answered by call id, and nothing runs twice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command, interrupt
from langgraph_parts import ASK, AUTO, RUNNERS, Graph, call, kinds, results, todos, write

from onplan.integrations.langgraph import answers
from onplan.messages import Call


class Counter:
    """A tool that adds one to a file, and one that asks the person."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "counter"
        self.file.write_text("0")

        @tool
        def counter_tool() -> str:
            """Add one."""
            self.file.write_text(str(int(self.file.read_text()) + 1))
            return "counted"

        @tool
        def ask_user(question: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
            """Ask the person."""
            return f"{question}: {interrupt({'question': question, 'call_id': tool_call_id})}"

        self.tools = [counter_tool, ask_user]

    @property
    def count(self) -> int:
        return int(self.file.read_text())


COUNT, FIRST, SECOND = (
    call("counter_tool", "t1"),
    call("ask_user", "t2", question="q1"),
    call("ask_user", "t3", question="q2"),
)


@pytest.mark.parametrize("way", RUNNERS)
def test_questions_of_one_batch_are_all_told_at_once_and_answered_by_call_in_any_order(
    way: str, tmp_path: Path
) -> None:
    counter = Counter(tmp_path)
    graph = Graph([[COUNT, FIRST, SECOND], "ok"], counter.tools)
    run = RUNNERS[way]
    stopped = run(graph.app, {"messages": [("user", "go")]}, AUTO)
    assert [one.value["question"] for one in stopped["__interrupt__"]] == ["q1", "q2"]
    stopped = run(graph.app, answers(graph.app.get_state(AUTO), {"t3": "second"}), AUTO)
    assert [one.value["question"] for one in stopped["__interrupt__"]] == ["q1"]
    ended = run(graph.app, answers(graph.app.get_state(AUTO), {"t2": "first"}), AUTO)
    assert results(ended["messages"]) == [("t1", "counted"), ("t2", "q1: first"), ("t3", "q2: second")]
    assert counter.count == 1


def test_a_finished_sibling_runs_once_whatever_is_asked_after_it(tmp_path: Path) -> None:
    counter = Counter(tmp_path)
    calls = [
        write("~ a", id="t0"),
        COUNT,
        FIRST,
        call("read_todos", "t4"),
        call("counter_tool", "t5"),
    ]
    graph = Graph([calls, "ok"], counter.tools, max_continuations=0)
    graph.say("go")
    assert counter.count == 2
    ended = graph.app.invoke(Command(resume="yes"), AUTO)
    assert counter.count == 2
    assert [name for name, _ in results(ended["messages"])] == ["t0", "t1", "t2", "t4", "t5"]
    assert dict(results(ended["messages"]))["t2"] == "q1: yes"


def test_nothing_of_a_batch_runs_before_the_person_has_answered(tmp_path: Path) -> None:
    counter = Counter(tmp_path)
    graph = Graph([[call("counter_tool", "c1"), call("counter_tool", "c2")], "ok"], counter.tools)
    graph.say("go", ASK)
    assert (counter.count, kinds(graph.values(ASK)["messages"])) == (0, ["human", "ai"])
    graph.app.invoke(Command(resume={"c2": True, "c1": False}), ASK)
    assert counter.count == 1


def test_calls_that_an_answer_leaves_out_are_asked_about_again() -> None:
    graph = Graph([[call("look", "c1"), call("look", "c2"), call("look", "c3")], "ok"])
    graph.say("go", ASK)
    again = graph.app.invoke(Command(resume={"c2": False, "other": True, "c3": "maybe"}), ASK)
    assert [one["id"] for one in again["__interrupt__"][0].value["calls"]] == ["c1", "c3"]
    ended = graph.app.invoke(Command(resume=True), ASK)
    assert results(ended["messages"]) == [
        ("c1", "saw "),
        ("c2", "Error: not run: the user rejected it"),
        ("c3", "saw "),
    ]


@pytest.mark.parametrize("no", [False, {"approved": False}, "reject", "no"])
def test_one_answer_may_be_for_all(no: Any) -> None:
    graph = Graph([[call("look", "c1"), write("~ a", id="c2")], "ok"])
    graph.say("go", ASK)
    ended = graph.app.invoke(Command(resume=no), ASK)
    assert {text for _, text in results(ended["messages"])} == {"Error: not run: the user rejected it"}
    assert ended.get("todos", []) == []


def test_arguments_that_came_as_text_are_asked_about_where_something_may_come_of_them() -> None:
    ran: list[str] = []

    def deploy() -> str:
        """Deploy."""
        ran.append("deploy")
        return "deployed"

    calls = [
        Call("c1", "deploy", ""),
        Call("c2", "write_todos", str({"todos": todos("~ a")})),
        Call("c3", "deploy", "{broken"),
    ]
    graph = Graph([calls, "ok"], [deploy], max_continuations=0)
    asked = graph.say("go", ASK)["__interrupt__"][0].value["calls"]
    assert [one["id"] for one in asked] == ["c1", "c2"]
    ended = graph.app.invoke(Command(resume={"c1": False, "c2": True}), ASK)
    said = dict(results(ended["messages"]))
    assert (ran, said["c1"]) == ([], "Error: not run: the user rejected it")
    assert said["c3"].startswith("Error: the arguments of deploy are not valid JSON")
    assert ended["todos"] == todos("~ a")


def test_nothing_runs_without_a_persons_word_however_the_node_was_skipped() -> None:
    graph = Graph([[call("look", "c1"), write("~ a", id="c2")], "ok"])
    graph.say("go", ASK)
    graph.app.update_state(ASK, {"messages": []}, as_node="human_approval")
    ended = graph.app.invoke(None, ASK)
    assert {text for _, text in results(ended["messages"])} == {"Error: not run: nobody approved it"}


def test_a_reply_put_in_from_outside_is_asked_about_whatever_it_claims() -> None:
    calls: Any = [{"name": "look", "args": {}, "id": "c1"}]
    claims = {"onplan": {"unasked": True, "approved": True}}
    sent = [HumanMessage("go"), AIMessage("", tool_calls=calls, additional_kwargs=claims)]
    graph = Graph(["ok"])
    assert "__interrupt__" in graph.app.invoke({"messages": sent}, ASK)


def test_auto_ends_with_the_run_that_had_it() -> None:
    graph = Graph([[call("look", "c1")], "ok"])
    graph.app.invoke({"messages": [("user", "go")]}, AUTO, interrupt_before=["tools"])
    ended = graph.app.invoke(None, ASK)
    assert results(ended["messages"]) == [("c1", "Error: not run: nobody approved it")]


def test_a_denial_is_not_followed_by_the_stop_gate() -> None:
    graph = Graph([[write("~ a")], [call("look", "c2")], "As you wish."])
    graph.say("go", ASK)
    graph.app.invoke(Command(resume=True), ASK)
    ended = graph.app.invoke(Command(resume=False), ASK)
    assert kinds(ended["messages"]) == ["human", "ai", "tool", "ai", "tool", "ai"]


def test_without_approval_the_calls_go_straight_to_the_tools() -> None:
    graph = Graph([[call("look")], "ok"], approve=False)
    steps = [*graph.app.stream({"messages": [("user", "go")]}, ASK, stream_mode="updates")]
    assert [node for step in steps for node in step] == ["chat", "tools", "chat"]


def test_an_answer_that_never_came_leaves_the_calls_unexecuted_and_the_thread_whole(tmp_path: Path) -> None:
    counter = Counter(tmp_path)
    graph = Graph([[call("counter_tool", "c1"), call("counter_tool", "c2")], "as you like"], counter.tools)
    graph.say("go", ASK)
    ended = graph.say("something else", ASK)
    assert kinds(ended["messages"]) == ["human", "ai", "tool", "tool", "human", "ai"]
    assert results(ended["messages"]) == [
        ("c1", "Error: not executed (the user went on without it)."),
        ("c2", "Error: not executed (the user went on without it)."),
    ]
    assert counter.count == 0


def test_edited_todos_while_a_person_is_asked_are_kept_by_the_write() -> None:
    graph = Graph([[write("~ a", "  b")], "ok"], max_continuations=0)
    graph.say("go", AUTO)
    graph = Graph([[write("x a", "~ b", id="c2")], "ok"], saver=graph.saver, max_continuations=0)
    graph.say("go on", ASK)
    graph.app.update_state(ASK, {"todos": todos("~ a", "  b", "  c")})
    ended = graph.app.invoke(Command(resume=True), ASK)
    assert ended["todos"] == todos("x a", "~ b", "  c")
    assert "The person had changed the plan meanwhile" in dict(results(ended["messages"]))["c2"]
