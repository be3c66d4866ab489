"""A person's change of the todos in the graph's state: a revision of theirs, told to the model once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph_parts import AUTO, Graph, call, kinds, results, todos, write

from onplan.errors import PlanError
from onplan.integrations.langgraph import plan_state

FIRST = [[write("~ a", "  b")], "Later."]


def edited(*pairs: str, replies: list[Any], **options: Any) -> tuple[Graph, dict[str, Any]]:
    """A thread whose plan a person changed between two turns, after the second one."""
    first = Graph(FIRST, max_continuations=0)
    first.say("go")
    first.app.update_state(AUTO, {"todos": todos(*pairs)})
    graph = Graph(replies, saver=first.saver, max_continuations=0, **options)
    return graph, graph.say("go on")


def test_an_edit_is_a_revision_by_the_user_and_told_once() -> None:
    graph, ended = edited("~ a", "  c", replies=["Fine."])
    newest = plan_state(ended["messages"]).ledger.revisions[-1]
    assert (newest.number, newest.author, newest.diff.to_json()) == (
        2,
        "user",
        {"added": ["c"], "dropped": ["b"]},
    )
    assert kinds(ended["messages"])[-3:] == ["human", "reminder", "ai"]
    assert graph.requests[0][-1] == (
        "<reminder>The person changed the plan.\n"
        'Removed, do not add again: "b".\n'
        'Added: "c".\n'
        "It is now:\n[~] a\n[ ] c\n"
        'Now: "a". Next: "c".</reminder>'
    )
    again = Graph(["Yes."], saver=graph.saver, max_continuations=0)
    assert kinds(again.say("and?")["messages"])[-2:] == ["human", "ai"]
    assert ended["todos"] == todos("~ a", "  c")


def test_what_the_model_writes_after_it_is_the_next_revision() -> None:
    _, ended = edited("~ a", "  c", replies=[[write("x a", "~ c", id="c9")], "ok"])
    assert dict(results(ended["messages"]))["c9"] == "Task list updated:\n[x] a\n[~] c"
    assert [one.author for one in plan_state(ended["messages"]).ledger.revisions] == [
        "model",
        "user",
        "model",
    ]


def test_todos_in_the_input_of_a_run_are_an_edit_too() -> None:
    graph = Graph(["Thanks."], max_continuations=0)
    sent = {"messages": [("user", "go")], "todos": todos("  theirs")}
    ended = graph.app.invoke(sent, AUTO)
    assert "The person changed the plan." in graph.requests[0][-1]
    assert plan_state(ended["messages"]).plan.to_json() == todos("  theirs")


def test_todos_that_come_before_any_message_are_told_with_the_first_one() -> None:
    graph = Graph(["Hello.", "Thanks."], max_continuations=0)
    assert graph.app.invoke({"todos": todos("  theirs")}, AUTO)["todos"] == todos("  theirs")
    graph.say("go")
    assert "The person changed the plan." in graph.requests[1][-1]


def test_an_emptied_plan_stays_empty_and_none_never_clears() -> None:
    graph, ended = edited(replies=["Fine."])
    assert graph.requests[0][-1].endswith("The plan is empty now.</reminder>")
    assert ended["todos"] == []
    first = Graph(FIRST, max_continuations=0)
    first.say("go")
    first.app.update_state(AUTO, {"todos": None})
    second = Graph([[call("read_todos", "c9")], "ok"], saver=first.saver, max_continuations=0)
    assert dict(results(second.say("go on")["messages"]))["c9"] == "[~] a\n[ ] b"


def test_an_edit_in_the_middle_of_a_turn_goes_along_with_the_next_results() -> None:
    graph = Graph([[write("~ a")], [call("look")], [call("look")], "ok"], max_continuations=0)
    stop: Any = {**AUTO, "configurable": AUTO["configurable"]}
    graph.app.invoke({"messages": [("user", "go")]}, stop, interrupt_before=["chat"])
    graph.app.invoke(None, stop, interrupt_before=["chat"])
    graph.app.update_state(stop, {"todos": todos("~ b")})
    ended = graph.app.invoke(None, stop)
    assert kinds(ended["messages"]) == ["human", "ai", "tool", "reminder", "ai", "tool", "ai", "tool", "ai"]
    assert plan_state(ended["messages"]).plan.to_json() == ended["todos"] == todos("~ b")


def test_the_tutorial_takes_an_edit_without_a_word() -> None:
    graph, ended = edited("~ z", replies=[[call("read_todos", "c9")], "ok"], preset="tutorial")
    assert dict(results(ended["messages"]))["c9"] == "[~] z"
    assert "reminder" not in kinds(ended["messages"])
    assert plan_state(graph.values()["messages"]).plan.to_json() == todos("~ z")


@pytest.mark.parametrize("sent", ["text", [1], [{"content": "a", "status": "almost"}], todos("~ a", "~ b")])
def test_todos_that_are_no_plan_are_named_and_nothing_else_is_lost(sent: Any) -> None:
    graph = Graph(FIRST, max_continuations=0)
    graph.say("go")
    graph.app.update_state(AUTO, {"todos": sent})
    with pytest.raises(PlanError, match="the todos that were put into the graph's state are no plan: "):
        graph.say("go on")
    graph.app.update_state(AUTO, {"todos": todos("~ a", "  b")})
    again = Graph(["Fine."], saver=graph.saver, max_continuations=0)
    assert [*kinds(again.say("go on")["messages"])][-2:] == ["human", "ai"]


def test_without_planning_the_todos_are_the_callers_own() -> None:
    graph = Graph([[call("look")], "ok"], planning="off")
    ended = graph.app.invoke({"messages": [("user", "go")], "todos": todos("~ theirs")}, AUTO)
    assert (ended["todos"], kinds(ended["messages"])) == (todos("~ theirs"), ["human", "ai", "tool", "ai"])


# --- always -----------------------------------------------------------------------------------------

PAIRS = st.lists(st.sampled_from(["  a", "x b", "  c", "x d"]), max_size=4, unique=True)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), PAIRS),
        st.tuples(st.just("edit"), PAIRS),
        st.tuples(st.just("broken"), st.sampled_from(["x", 7, None, [{"content": "a"}]])),
        st.tuples(st.just("look"), st.just(None)),
        st.tuples(st.just("say"), st.just(None)),
    ),
    max_size=6,
)


@settings(max_examples=15, deadline=None)
@given(STEPS)
def test_the_todos_in_the_state_are_always_the_plan_that_the_messages_tell(steps: list[Any]) -> None:
    replies: list[Any] = []
    turns: list[tuple[list[Any], Any]] = []
    for kind, value in [*steps, ("say", None)]:
        match kind:
            case "write":
                replies.append([write(*value)])
            case "broken":
                replies.append([call("write_todos", todos=value)])
            case "look":
                replies.append([call("look"), call("read_todos")])
            case _:
                turns.append(([*replies, "ok"], value if kind == "edit" else None))
                replies = []
    saver: Any = None
    edits = 0
    for script, edit in turns:
        graph = Graph(script, saver=saver, max_continuations=0, reminder=None)
        saver = graph.saver
        ended = graph.say("go")
        state = plan_state(ended["messages"])
        assert ended.get("todos", []) == state.plan.to_json()
        assert sum(one.author == "user" for one in state.ledger.revisions) == edits
        if edit is not None and todos(*edit) != state.plan.to_json():
            graph.app.update_state(AUTO, {"todos": todos(*edit)})
            edits += 1
