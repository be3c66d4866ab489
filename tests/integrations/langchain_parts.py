"""A scripted chat model, and short ways to write its replies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool

from onplan.errors import ModelError

STATUS = {" ": "pending", "~": "in_progress", "x": "completed"}


class Scripted(BaseChatModel):
    """Gives its replies in order, an exception among them is raised; keeps what it was sent."""

    replies: list[Any]
    requests: list[list[BaseMessage]]
    offered: list[Any]

    def __init__(self, *replies: AIMessage | BaseException) -> None:
        super().__init__(replies=list(replies), requests=[], offered=[])  # pyright: ignore[reportCallIssue] # fields

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Scripted:
        self.offered[:] = tools
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.requests.append(list(messages))
        if not self.replies:
            raise ModelError("the script is used up")
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return ChatResult(generations=[ChatGeneration(message=reply)])


def todos(*items: str) -> list[dict[str, str]]:
    """`[ ] text`, `[~] text`, `[x] text` as plain JSON."""
    return [{"content": item[4:], "status": STATUS[item[1]]} for item in items]


def write(call_id: str, *items: str) -> dict[str, Any]:
    return {"name": "write_todos", "id": call_id, "args": {"todos": todos(*items)}}


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "id": call_id, "args": arguments}


def calls(*made: dict[str, Any], text: str = "") -> AIMessage:
    return AIMessage(text, tool_calls=[{**one, "type": "tool_call"} for one in made])  # pyright: ignore[reportArgumentType] # as JSON has it


def broken(call_id: str, name: str, sent: str) -> AIMessage:
    """A reply with one call that nobody can read."""
    invalid = {"name": name, "id": call_id, "args": sent, "error": "no JSON", "type": "invalid_tool_call"}
    return AIMessage("", invalid_tool_calls=[invalid])  # pyright: ignore[reportArgumentType] # as JSON has it


@tool
def bash(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


def looks() -> BaseTool:
    """A tool that changes nothing."""

    @tool
    def look(at: str) -> str:
        """Look."""
        return f"saw {at}"

    look.metadata = {"read_only": True}
    return look


def told(messages: Iterable[AnyMessage | BaseMessage]) -> list[str]:
    """The conversation, a line for each message: who speaks, and what."""
    return [f"{_who(message)}: {message.text}" for message in messages]


def _who(message: BaseMessage) -> str:
    match message:
        case ToolMessage():
            return message.tool_call_id
        case HumanMessage() if "onplan" in message.additional_kwargs:
            return "note"
        case _:
            return message.type
