"""The thread in a checkpointer: every saver, crashes, growth, and what a checkpoint holds."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    messages_to_dict,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.message import add_messages
from langgraph.types import Command
from langgraph_parts import ASK, AUTO, Graph, call, kinds, results, todos, write
from postgres import binaries, running_server
from typing_extensions import TypedDict

from onplan.integrations.graph_state import fold_messages, merged
from onplan.integrations.langgraph import build_graph, plan_state
from onplan.plan.settings import Settings

SCRIPT = [[write("~ a", "  b", id="c1"), call("look", "c2", text="x")], [call("look", "c3")], "Later."]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    home = binaries()
    if home is None:
        pytest.skip("no PostgreSQL binaries are installed")
    with running_server(home) as address:
        yield address


# --- every saver ------------------------------------------------------------------------------------


@contextmanager
def opened(kind: str, folder: Path, address: Callable[[], str]) -> Iterator[Any]:
    match kind:
        case "memory":
            yield InMemorySaver()
        case "sqlite":
            with SqliteSaver.from_conn_string(str(folder / "c.sqlite3")) as saver:
                yield saver
        case _:
            with PostgresSaver.from_conn_string(address()) as saver:
                saver.setup()
                yield saver


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_a_thread_is_approved_resumed_and_taken_up_again(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with opened(kind, tmp_path, lambda: request.getfixturevalue("server")) as saver:
        graph = Graph(SCRIPT, saver=saver, max_continuations=0)
        graph.say("go", ASK)
        graph.app.invoke(Command(resume={"c1": True, "c2": False}), ASK)
        ended = graph.app.invoke(Command(resume=True), ASK)
        again = Graph([[call("read_todos", "c4")], "ok"], saver=saver, max_continuations=0)
        assert again.app.get_state(ASK).values == {"messages": ended["messages"], "todos": ended["todos"]}
        assert dict(results(again.say("and?", AUTO)["messages"])) == {
            "c1": "Task list updated:\n[~] a\n[ ] b",
            "c2": "Error: not run: the user rejected it",
            "c3": "saw ",
            "c4": "[~] a\n[ ] b",
        }


@asynccontextmanager
async def aopened(kind: str, folder: Path, address: Callable[[], str]) -> AsyncIterator[Any]:
    match kind:
        case "memory":
            yield InMemorySaver()
        case "sqlite":
            async with AsyncSqliteSaver.from_conn_string(str(folder / "c.sqlite3")) as saver:
                yield saver
        case _:
            opening: AbstractAsyncContextManager[Any] = AsyncPostgresSaver.from_conn_string(address())
            async with opening as saver:
                await saver.setup()
                yield saver


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
async def test_the_same_awaited(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    address = str(request.getfixturevalue("server")) if kind == "postgres" else ""
    config: Any = {"configurable": {"thread_id": "awaited"}}
    async with aopened(kind, tmp_path, lambda: address) as saver:
        graph = Graph(SCRIPT, saver=saver, max_continuations=0)
        await graph.app.ainvoke({"messages": [("user", "go")]}, config)
        await graph.app.ainvoke(Command(resume={"c1": True, "c2": False}), config)
        ended = await graph.app.ainvoke(Command(resume=True), config)
        kept = await graph.app.aget_state(config)
        assert kept.values == {"messages": ended["messages"], "todos": todos("~ a", "  b")}
        assert plan_state(kept.values["messages"]).ledger.revision == 1


# --- crashes ----------------------------------------------------------------------------------------


class Died(BaseException):
    """Stands for the death of the process: nothing in the graph may catch it."""


def fragile(runs: list[str], *, dies: bool) -> list[Any]:
    @tool
    def bash(command: str) -> str:
        """Run a command."""
        runs.append(command)
        if dies and command == "b":
            raise Died
        return f"ran {command}"

    return [bash]


BATCH = [write("~ a", id="c0"), *(call("bash", f"c{n}", command=name) for n, name in enumerate("abc", 1))]


def test_a_crash_inside_a_tool_and_a_new_message_leave_no_call_without_result() -> None:
    runs: list[str] = []
    graph = Graph([BATCH], fragile(runs, dies=True))
    with pytest.raises(Died):
        graph.say("go")
    again = Graph(["I see."], fragile(runs, dies=False), saver=graph.saver, max_continuations=0)
    ended = again.say("what happened?")
    assert kinds(ended["messages"]) == ["human", "ai", *["tool"] * 4, "human", "ai"]
    assert [name for name, _ in results(ended["messages"])] == ["c0", "c1", "c2", "c3"]
    lost = "Error: interrupted: it may have been running; side effects are possible."
    assert dict(results(ended["messages"]))["c2"] == lost
    assert ended.get("todos", []) == []  # its result never reached the model: the write did not happen
    request = again.model.requests[0].messages
    assert request[-1] == again.model.requests[0].messages[-1]
    assert kinds(again.values()["messages"]) == kinds(ended["messages"])
    assert runs == ["a", "b"]


def test_repairing_twice_changes_nothing() -> None:
    graph = Graph([[call("bash", "c1", command="b")]], fragile([], dies=True))
    with pytest.raises(Died):
        graph.say("go")
    first = Graph(["One."], fragile([], dies=False), saver=graph.saver).say("1")
    second = Graph(["Two."], fragile([], dies=False), saver=graph.saver).say("2")
    assert second["messages"][: len(first["messages"])] == first["messages"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_run_that_is_taken_up_again_repeats_no_call_that_was_finished(way: str) -> None:
    runs: list[str] = []

    def go(graph: Graph, given: Any) -> dict[str, Any]:
        return (
            graph.app.invoke(given, AUTO) if way == "invoke" else asyncio.run(graph.app.ainvoke(given, AUTO))
        )

    graph = Graph([BATCH], fragile(runs, dies=True))
    with pytest.raises(Died):
        go(graph, {"messages": [("user", "go")]})
    again = Graph(["Done."], fragile(runs, dies=False), saver=graph.saver, max_continuations=0)
    ended = go(again, None)
    assert runs == ["a", "b", "b", "c"]
    assert [text for _, text in results(ended["messages"])] == [
        "Task list updated:\n[~] a",
        "ran a",
        "ran b",
        "ran c",
    ]


# --- growth -----------------------------------------------------------------------------------------


def stored(rounds: int, folder: Path) -> tuple[int, int]:
    """Bytes on disk, and bytes of the messages, after that many rounds of about a kilobyte a message, each
    fourth with a write of a plan of ten todos."""

    @tool
    def work(note: str) -> str:
        """Work."""
        return "x" * 1024

    def replies() -> Iterator[AIMessage]:
        for number in range(rounds):
            steps = [
                f"{'~' if n == 0 else ' '} Step {number + n}: change the module, run its tests"
                for n in range(10)
            ]
            args: Any = {"note": f"{number} {'y' * 900}"} if number % 4 else {"todos": todos(*steps)}
            name = "work" if number % 4 else "write_todos"
            yield AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c{number}"}])
        yield AIMessage("done")

    path = folder / f"{rounds}.sqlite3"
    connection = sqlite3.connect(path, check_same_thread=False)
    model = GenericFakeChatModel(messages=replies())
    graph = build_graph(model, [work], checkpointer=SqliteSaver(connection), max_continuations=0)
    ended = graph.invoke({"messages": [("user", "go")]}, AUTO, durability="sync")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.stat().st_size, len(json.dumps(messages_to_dict(ended["messages"])))


def test_storage_grows_with_the_rounds_and_stays_within_three_times_the_messages(tmp_path: Path) -> None:
    (half, _), (whole, messages) = stored(100, tmp_path), stored(200, tmp_path)
    assert whole / half <= 2.3
    assert whole / messages <= 3


def test_a_checkpoint_holds_what_is_new_and_no_fold() -> None:
    graph = Graph([[write("~ a")], [call("look")], "ok"], max_continuations=0)
    graph.say("go")
    held = [tuple(saved.checkpoint["channel_values"]) for saved in graph.saver.list(AUTO)]
    assert not any({"onplan_fold", "messages", "todos"} & {*names} for names in held)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_the_todos_are_found_again_however_often_they_were_written(durability: str) -> None:
    plans = [f"~ step {number}" for number in range(120)]
    graph = Graph([*[[write(one)] for one in plans], "ok"], max_continuations=0)
    graph.app.invoke({"messages": [("user", "go")]}, AUTO, durability=durability)
    assert graph.values()["todos"] == todos("~ step 119")
    again = Graph([[call("read_todos", "r")], "ok"], saver=graph.saver, max_continuations=0)
    assert dict(results(again.say("and?")["messages"]))["r"] == "[~] step 119"


def test_a_thread_that_was_stored_whole_goes_on_in_deltas() -> None:
    class Whole(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        todos: list[Any]

    first = Graph([[write("~ a", "  b")], "Later."], state_schema=Whole, max_continuations=0)
    before = first.say("go")
    again = Graph([[call("read_todos", "r")], "ok"], saver=first.saver, max_continuations=0)
    ended = again.say("and?")
    assert ended["messages"][: len(before["messages"])] == before["messages"]
    assert (dict(results(ended["messages"]))["r"], ended["todos"]) == ("[~] a\n[ ] b", todos("~ a", "  b"))


def test_a_fold_that_goes_on_leaves_the_one_it_came_from_as_it_was() -> None:
    graph = Graph(
        [[write("~ a", id="c0")], [call("look", "c1"), call("look", "c2")], "ok"], max_continuations=0
    )
    messages = graph.say("go")["messages"]
    known = fold_messages(messages[:4], Settings())
    assert isinstance(messages[3], AIMessage)
    once, again = known.over(messages[4:]), known.over(messages[4:])
    assert once.state == again.state == plan_state(messages)
    assert (known.state.stats.rounds, once.state.stats.rounds) == (1, 2)


# --- how messages merge -----------------------------------------------------------------------------

IDS = st.sampled_from(["1", "2", "3", "4"])
WRITES = st.lists(
    st.lists(
        st.one_of(
            st.builds(lambda id, text: HumanMessage(text, id=id), IDS, st.sampled_from("ab")),
            st.builds(lambda id: AIMessage("ai", id=id), IDS),
        ),
        max_size=4,
    ),
    max_size=5,
)


@given(WRITES)
def test_messages_merge_as_with_add_messages(writes: list[Any]) -> None:
    one_by_one: Any = []
    for write_ in writes:
        one_by_one = add_messages(one_by_one, list(write_))
    assert merged([], writes) == one_by_one


@given(WRITES, st.integers(0, 5), st.lists(IDS, max_size=3))
def test_messages_merge_the_same_however_the_writes_are_grouped(
    writes: list[Any], cut: int, removed: list[str]
) -> None:
    steps: list[Any] = [
        *writes,
        *[RemoveMessage(id=name) for name in removed],
        "plain text",
        ("user", "pair"),
    ]
    random.Random(cut).shuffle(steps)
    assert merged(merged([], steps[:cut]), steps[cut:]) == merged([], steps)
    assert all(message.id for message in merged([], steps))


def test_a_plain_reducer_works_too() -> None:
    class Plain(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        todos: list[Any]

    graph = Graph([[write("~ a", id="c1")], "ok"], state_schema=Plain, max_continuations=0)
    assert isinstance(graph.say("go")["messages"][2], ToolMessage)
    assert graph.values()["todos"] == todos("~ a")
