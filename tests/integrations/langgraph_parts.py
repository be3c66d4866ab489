"""Parts for tests of the graph: a scripted chat model, a few tools, calls and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from onplan.integrations.graph_model import ChatModel
from onplan.integrations.langgraph import build_graph
from onplan.messages import Call
from onplan.models.scripted import Reply, ScriptedModel

AUTO: Any = {"configurable": {"thread_id": "t", "auto_approve": True}}
ASK: Any = {"configurable": {"thread_id": "t"}}


def todos(*pairs: str) -> list[dict[str, str]]:
    """`"~ Step one"`: the mark of a status, and the content."""
    statuses = {" ": "pending", "~": "in_progress", "x": "completed"}
    return [{"content": pair[2:], "status": statuses[pair[0]]} for pair in pairs]


def write(*pairs: str, id: str = "") -> Call:
    return Call(id, "write_todos", {"todos": todos(*pairs)})


def call(name: str, id: str = "", /, **arguments: Any) -> Call:
    return Call(id, name, arguments)


def look(text: str = "") -> str:
    """Look at something."""
    return f"saw {text}"


class Graph:
    """A graph on a script, and what its model was asked."""

    def __init__(
        self, replies: Iterable[Reply], tools: Sequence[Any] = (look,), saver: Any = None, **options: Any
    ) -> None:
        self.model = ScriptedModel(replies)
        self.saver = InMemorySaver() if saver is None else saver
        self.app: Any = build_graph(ChatModel(self.model), tools, checkpointer=self.saver, **options)

    def say(self, text: str, config: Any = AUTO) -> dict[str, Any]:
        return self.app.invoke({"messages": [("user", text)]}, config)

    def values(self, config: Any = AUTO) -> dict[str, Any]:
        return self.app.get_state(config).values

    @property
    def requests(self) -> list[list[str]]:
        """The texts of each request's messages."""
        from onplan.messages import model_text

        return [[model_text(message) for message in request.messages] for request in self.model.requests]


def results(messages: Iterable[BaseMessage]) -> list[tuple[str, str]]:
    """Call id and text of every result, in order."""
    return [(one.tool_call_id, str(one.text)) for one in messages if isinstance(one, ToolMessage)]


def kinds(messages: Iterable[BaseMessage]) -> list[str]:
    """What follows what: `human`, `ai`, `tool`, or the kind of a note."""
    return [one.additional_kwargs.get("onplan", {}).get("kind", one.type) for one in messages]


def reply(*calls: dict[str, Any], **others: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"type": "tool_call", **one} for one in calls], **others)


RUNNERS: dict[str, Callable[..., dict[str, Any]]] = {
    "invoke": lambda app, given, config: app.invoke(given, config),
    "stream": lambda app, given, config: [*app.stream(given, config, stream_mode="values")][-1],
    "ainvoke": lambda app, given, config: asyncio.run(app.ainvoke(given, config)),
    "astream": lambda app, given, config: asyncio.run(_last_streamed(app, given, config)),
}
"""The four ways to run a graph, each to the state at the end."""


async def _last_streamed(app: Any, given: Any, config: Any) -> dict[str, Any]:
    return [values async for values in app.astream(given, config, stream_mode="values")][-1]
