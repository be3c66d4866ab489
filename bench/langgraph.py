"""Checkpoint storage and time per round of the graph, beside a plain one, at growing numbers of rounds.

Messages of about a kilobyte; every fourth round writes a plan of ten todos. One turn in auto mode, SQLite
checkpoints, `durability="sync"`. The plain graph is the first seed's, written out below: the same nodes,
messages with `add_messages`, no rules and no reminders.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

sys.path.remove(
    str(Path(__file__).resolve().parent)
)  # else this file would be the langgraph that is imported

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage, messages_to_dict
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from onplan.integrations.langgraph import build_graph, write_todos

RESULT, NOTE = "x" * 1024, "y" * 900
STEPS = [f"Step {n}: change the module and run its tests" for n in range(10)]


@tool
def work(number: int, note: str) -> str:
    """Return a kilobyte."""
    return RESULT


def replies(rounds: int, marks: list[float]) -> Any:
    for number in range(rounds):
        marks.append(time.process_time())
        if number % 4:
            call = {"name": "work", "args": {"number": number, "note": NOTE}, "id": f"c{number}"}
        else:
            done = number // 4 % 10
            statuses = ["completed"] * done + ["in_progress"] + ["pending"] * (9 - done)
            todos = [{"content": c, "status": s} for c, s in zip(STEPS, statuses, strict=True)]
            call = {"name": "write_todos", "args": {"todos": todos}, "id": f"c{number}"}
        yield AIMessage("", tool_calls=[call])
    marks.append(time.process_time())
    yield AIMessage("done")


def plain_graph(model: Any, saver: SqliteSaver) -> Any:
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        todos: list[Any]

    def chat(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def human_approval(state: State) -> dict[str, Any]:
        return {"messages": []}

    def tools(state: State) -> dict[str, Any]:
        update: dict[str, Any] = {}
        messages: list[Any] = []
        for call in state["messages"][-1].tool_calls:
            called = write_todos if call["name"] == "write_todos" else work
            if called is write_todos:
                update["todos"] = call["args"]["todos"]
            messages.append(ToolMessage(called.invoke(call["args"]), tool_call_id=call["id"]))
        return {"messages": messages, **update}

    builder = StateGraph(State)
    for node in (chat, human_approval, tools):
        builder.add_node(node)
    builder.add_edge(START, "chat")
    builder.add_conditional_edges(
        "chat", lambda state: "human_approval" if state["messages"][-1].tool_calls else END
    )
    builder.add_edge("human_approval", "tools")
    builder.add_edge("tools", "chat")
    return builder.compile(checkpointer=saver)


def our_graph(model: Any, saver: SqliteSaver) -> Any:
    return build_graph(model, [work], checkpointer=saver, max_continuations=0)


def run(build: Callable[[Any, SqliteSaver], Any], rounds: int, path: Path) -> dict[str, float]:
    marks: list[float] = []
    connection = sqlite3.connect(path, check_same_thread=False)
    graph = build(GenericFakeChatModel(messages=replies(rounds, marks)), SqliteSaver(connection))
    config = {"configurable": {"thread_id": "t", "auto_approve": True}}
    result = graph.invoke({"messages": [("user", "do it")]}, config, durability="sync")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    started = time.process_time()
    messages = graph.get_state(config).values["messages"]
    loading = time.process_time() - started
    assert [one.content for one in messages] == [one.content for one in result["messages"]]
    connection.close()
    tail = max(1, rounds // 10)
    return {
        "disk": path.stat().st_size,
        "messages": len(json.dumps(messages_to_dict(result["messages"]))),
        "ms": (marks[rounds] - marks[0]) / rounds * 1e3,
        "last": (marks[rounds] - marks[rounds - tail]) / tail * 1e3,
        "load": loading * 1e3,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, nargs="*", default=[100, 200, 400, 800])
    parser.add_argument("--only-ours", action="store_true", help="the plain graph fills a disk")
    options = parser.parse_args()
    kinds = {"onplan": our_graph, "plain": plain_graph}
    names = ("rounds", "MB on disk", "x messages", "ms/round", "last tenth", "load ms")
    print(" " * 8 + "".join(f"{name:>12}" for name in names))
    for name, build in kinds.items():
        if options.only_ours and build is plain_graph:
            continue
        for rounds in options.rounds:
            with tempfile.TemporaryDirectory() as folder:
                got = run(build, rounds, Path(folder) / "checkpoints.sqlite3")
            print(
                f"{name:8}{rounds:12}{got['disk'] / 1e6:12.2f}{got['disk'] / got['messages']:12.1f}"
                f"{got['ms']:12.2f}{got['last']:12.2f}{got['load']:12.1f}"
            )


if __name__ == "__main__":
    main()
