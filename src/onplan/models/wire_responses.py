"""Messages as OpenAI's Responses API takes them; pure, knows no SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from onplan.messages import Assistant, Media, Message, Note, Text, Thinking, ToolResult, User
from onplan.models.names import EVERYTHING, Takes
from onplan.models.wire import (
    NO_REPLY,
    NO_TEXT,
    CallIds,
    Shown,
    Wire,
    arguments_json,
    data_url,
    is_image,
    legal_name,
    legal_text,
    media_name,
    spoken,
)

SIGNED_BY_OPENAI = "openai:"
"""Begins the signature of OpenAI's thinking, so that no other provider is sent it."""


class ResponsesFold:
    """The outputs of calls come directly after them, in call order; reasoning goes back, encrypted as it
    came, in front of the item that it led to; images and PDFs are in their outputs."""

    def __init__(self, takes: Takes = EVERYTHING) -> None:
        self.sent: list[Wire] = []
        self._ids = CallIds()
        self._shown = Shown(takes)

    def add(self, message: Message) -> None:
        match message:
            case User(text=text) | Note(text=text):
                self.sent.append({"role": "user", "content": spoken(text, NO_TEXT)})
            case ToolResult():
                self._result(message)
            case Assistant():
                self._reply(message)

    def _result(self, result: ToolResult) -> None:
        text, media = self._shown.of(result)
        self.sent.append(
            {
                "type": "function_call_output",
                "call_id": self._ids.of_result(result.call_id),
                "output": [{"type": "input_text", "text": text}, *map(_medium, media)] if media else text,
            }
        )

    def _reply(self, reply: Assistant) -> None:
        ids = iter(self._ids.of_reply(reply.calls))
        items: list[Wire] = []
        reasoning: list[Wire] = []
        for part in reply.parts:
            match part:
                case Thinking(signature=signature):
                    reasoning += _reasoning(signature)
                    continue
                case Text(text=text):
                    if not text.strip():
                        continue
                    item: Wire = {"role": "assistant", "content": legal_text(text)}
                case call:
                    item = {
                        "type": "function_call",
                        "call_id": next(ids),
                        "name": legal_name(call.name),
                        "arguments": arguments_json(call.arguments),
                    }
            items += [*reasoning, item]
            reasoning = []
        self.sent += items or [{"role": "assistant", "content": NO_REPLY}]


def _medium(medium: Media) -> Wire:
    if is_image(medium):
        return {"type": "input_image", "image_url": data_url(medium), "detail": "auto"}
    return {"type": "input_file", "filename": media_name(medium), "file_data": data_url(medium)}


def signature_of(item_id: str, encrypted: str | None, summary: Sequence[str]) -> str:
    """What has to go back of a reasoning item, as the signature of a `Thinking`."""
    if not encrypted:
        return ""
    kept = {"id": item_id, "encrypted_content": encrypted, "summary": list(summary)}
    return SIGNED_BY_OPENAI + msgspec.json.encode(kept).decode()


def _reasoning(signature: str) -> list[Wire]:
    if not signature.startswith(SIGNED_BY_OPENAI):
        return []
    kept = cast("dict[str, Any]", msgspec.json.decode(signature.removeprefix(SIGNED_BY_OPENAI)))
    summary = [{"type": "summary_text", "text": text} for text in kept["summary"]]
    return [{"type": "reasoning", **kept, "summary": summary}]


def responses_tools(tools: Sequence[dict[str, Any]]) -> list[Wire]:
    return [
        {
            "type": "function",
            "name": legal_name(tool["name"]),
            "description": legal_text(tool["description"]),
            "parameters": tool["input_schema"],
            # Strict mode wants every property required, which our schemas do not promise.
            "strict": False,
        }
        for tool in tools
    ]


def responses_request(system: str, tools: Sequence[dict[str, Any]], items: Sequence[Wire]) -> Wire:
    """Instructions, input and tools of a request."""
    request: Wire = {"input": list(items)}
    if system.strip():
        request["instructions"] = legal_text(system)
    return {**request, "tools": responses_tools(tools)} if tools else request
