"""Messages as Anthropic's Messages API takes them; pure, knows no SDK."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onplan.messages import Assistant, Media, Message, Note, Part, Text, Thinking, ToolResult, User
from onplan.models.names import EVERYTHING, Takes
from onplan.models.wire import (
    NO_REPLY,
    NO_TEXT,
    CallIds,
    Shown,
    Wire,
    arguments_object,
    is_image,
    legal_name,
    legal_text,
    media_name,
    spoken,
)
from onplan.models.wire_responses import SIGNED_BY_OPENAI

REDACTED = "redacted_thinking:"
"""Marks a signature that is the data of a block which Anthropic keeps unreadable."""

_CACHED = {"cache_control": {"type": "ephemeral"}}


class AnthropicFold:
    """Roles alternate; the results of a reply are the first blocks of the message after it, in call order;
    reminders follow them as text; no text is blank; thinking goes back where it is signed; images and PDFs
    are in their results."""

    def __init__(self, takes: Takes = EVERYTHING) -> None:
        self.sent: list[Wire] = []
        self._ids = CallIds()
        self._shown = Shown(takes)

    def add(self, message: Message) -> None:
        match message:
            case User(text=text) | Note(text=text):
                self._put("user", [_text(spoken(text, NO_TEXT))])
            case ToolResult():
                self._put("user", [self._result(message)])
            case Assistant():
                self._reply(message)

    def _put(self, role: str, blocks: list[Wire]) -> None:
        if self.sent and self.sent[-1]["role"] == role:
            blocks = [*self.sent.pop()["content"], *blocks]
        self.sent.append({"role": role, "content": blocks})

    def _result(self, result: ToolResult) -> Wire:
        text, media = self._shown.of(result)
        block: Wire = {
            "type": "tool_result",
            "tool_use_id": self._ids.of_result(result.call_id),
            "content": [_text(text), *map(_medium, media)] if media else text,
        }
        return block if result.outcome == "ok" else {**block, "is_error": True}

    def _reply(self, reply: Assistant) -> None:
        ids = iter(self._ids.of_reply(reply.calls))
        blocks = [block for part in reply.parts if (block := _block(part, ids))]
        # A message must not end with thinking, so thinking that led to nothing is left out.
        while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            blocks.pop()
        after_reply = bool(self.sent) and self.sent[-1]["role"] == "assistant"
        if blocks or not after_reply:
            self._put("assistant", blocks or [_text(NO_REPLY)])


def _medium(medium: Media) -> Wire:
    source = {"type": "base64", "media_type": medium.media_type, "data": medium.data}
    if is_image(medium):
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": media_name(medium)}


def _block(part: Part, ids: Iterator[str]) -> Wire | None:
    match part:
        case Text(text=text):
            return _text(legal_text(text)) if text.strip() else None
        case Thinking(text=text, signature=signature):
            return _thinking(text, signature)
        case call:
            return {
                "type": "tool_use",
                "id": next(ids),
                "name": legal_name(call.name),
                "input": arguments_object(call.arguments),
            }


def _thinking(text: str, signature: str) -> Wire | None:
    if not signature or signature.startswith(SIGNED_BY_OPENAI):
        return None
    if signature.startswith(REDACTED):
        return {"type": "redacted_thinking", "data": signature.removeprefix(REDACTED)}
    return {"type": "thinking", "thinking": legal_text(text), "signature": signature}


def _text(text: str) -> Wire:
    return {"type": "text", "text": text}


# --- the rest of a request --------------------------------------------------------------------------


def anthropic_tools(tools: Sequence[dict[str, Any]]) -> list[Wire]:
    return [
        {
            "name": legal_name(tool["name"]),
            "description": legal_text(tool["description"]),
            "input_schema": tool["input_schema"],
        }
        for tool in tools
    ]


def anthropic_prefix(system: str, tools: Sequence[dict[str, Any]]) -> Wire:
    """System text and tools, with a breakpoint at their end: they stay the same for a whole session."""
    offered = anthropic_tools(tools)
    if system.strip():
        prefix: Wire = {"system": [{**_text(legal_text(system)), **_CACHED}]}
        return {**prefix, "tools": offered} if offered else prefix
    return {"tools": [*offered[:-1], {**offered[-1], **_CACHED}]} if offered else {}


def with_breakpoints(messages: Sequence[Wire]) -> list[Wire]:
    """The messages with a breakpoint at the end of the last one, and of the user message before the last
    reply: there the request before ended, so what that one wrote is read however long the round was.
    """
    marked = list(messages)
    users = [n for n in range(max(0, len(marked) - 3), len(marked)) if marked[n]["role"] == "user"]
    for n in {*users[-2:], *([len(marked) - 1] if marked else [])}:
        *before, last = marked[n]["content"]
        marked[n] = {**marked[n], "content": [*before, {**last, **_CACHED}]}
    return marked
