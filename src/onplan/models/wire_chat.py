"""Messages as Chat Completions takes them, OpenAI's and every compatible server's; pure, knows no SDK."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from onplan.messages import Assistant, Media, Message, Note, ToolResult, User
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


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a server's prompt template does not take.

    `alternate`: two messages of one role in a row are refused, so they become one.
    `user_after_tool`: `False` where a user message may not follow a tool result: a reminder then joins
    the last result, and the person's word gets a reply of one line before it.
    """

    alternate: bool = False
    user_after_tool: bool = True


OPENAI = Quirks()
COMPATIBLE = Quirks(alternate=True)
STRICT = Quirks(alternate=True, user_after_tool=False)

_STRICT_FAMILIES = ("mistral", "ministral", "magistral", "devstral", "codestral", "mixtral", "gemma")


def quirks_of(model: str) -> Quirks:
    """The quirks of a compatible server, by the family that its model's name tells.

    Mistral's and Gemma's own templates raise an error where roles do not alternate or a user message
    follows a tool result. Joined messages lose nothing elsewhere, so every compatible server gets them.
    """
    name = model.casefold()
    return STRICT if any(family in name for family in _STRICT_FAMILIES) else COMPATIBLE


class ChatFold:
    """Tool messages come directly after their calls, in call order; images and PDFs of these results follow
    in a user message, as a tool message holds text only; then reminders. No content is blank; thinking stays
    at home, as this format has no place for it."""

    def __init__(self, quirks: Quirks = OPENAI, takes: Takes = EVERYTHING) -> None:
        self.sent: list[Wire] = []
        self._quirks = quirks
        self._ids = CallIds()
        self._shown = Shown(takes)
        self._unanswered = 0
        self._waiting: list[Wire] = []

    def add(self, message: Message) -> None:
        match message:
            case User(text=text):
                self._user(text, joins=self._quirks.alternate)
            case Note(text=text, placement=placement):
                self._note(text, joins=self._quirks.alternate or placement == "beside")
            case ToolResult():
                self._result(message)
            case Assistant():
                self._reply(message)

    def _user(self, text: str, *, joins: bool) -> None:
        text = spoken(text, NO_TEXT)
        if joins and self._last() == "user":
            self._join(text)
        else:
            self._say(text)

    def _say(self, content: str | list[Wire]) -> None:
        if self._last() == "tool" and not self._quirks.user_after_tool:
            self.sent.append({"role": "assistant", "content": NO_REPLY})
        self.sent.append({"role": "user", "content": content})

    def _note(self, text: str, *, joins: bool) -> None:
        if self._last() == "tool" and not self._quirks.user_after_tool:
            self._join(spoken(text, NO_TEXT))
            return
        self._user(text, joins=joins)

    def _last(self) -> str:
        return self.sent[-1]["role"] if self.sent else ""

    def _join(self, text: str) -> None:
        last = self.sent.pop()
        before = last["content"]
        joined = f"{before}\n\n{text}" if isinstance(before, str) else [*before, _text(text)]
        self.sent.append({**last, "content": joined})

    def _result(self, result: ToolResult) -> None:
        text, media = self._shown.of(result)
        call_id = self._ids.of_result(result.call_id)
        self.sent.append({"role": "tool", "tool_call_id": call_id, "content": text})
        for medium in media:
            told = f"Shown by {legal_name(result.name)}: {media_name(medium)}"
            self._waiting += [_text(told), _medium(medium)]
        self._unanswered -= 1
        if self._unanswered <= 0 and self._waiting:
            self._say(self._waiting)
            self._waiting = []

    def _reply(self, reply: Assistant) -> None:
        self._unanswered, self._waiting = len(reply.calls), []
        calls = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": legal_name(call.name), "arguments": arguments_json(call.arguments)},
            }
            for call_id, call in zip(self._ids.of_reply(reply.calls), reply.calls, strict=True)
        ]
        text = legal_text(reply.text) if reply.text.strip() else None
        after_reply = self._last() == "assistant"
        if not calls and text is None:
            if after_reply:
                return
            text = NO_REPLY
        if after_reply and self._quirks.alternate:
            before = self.sent.pop()["content"]
            text = "\n\n".join(part for part in (before, text) if part)
        message: Wire = {"role": "assistant", "content": text}
        self.sent.append({**message, "tool_calls": calls} if calls else message)


def _text(text: str) -> Wire:
    return {"type": "text", "text": text}


def _medium(medium: Media) -> Wire:
    if is_image(medium):
        return {"type": "image_url", "image_url": {"url": data_url(medium)}}
    return {"type": "file", "file": {"filename": media_name(medium), "file_data": data_url(medium)}}


def chat_tools(tools: Sequence[dict[str, Any]]) -> list[Wire]:
    return [
        {
            "type": "function",
            "function": {
                "name": legal_name(tool["name"]),
                "description": legal_text(tool["description"]),
                "parameters": tool["input_schema"],
            },
        }
        for tool in tools
    ]


def chat_request(system: str, tools: Sequence[dict[str, Any]], messages: Sequence[Wire]) -> Wire:
    """System text, messages and tools of a request."""
    first = [{"role": "system", "content": legal_text(system)}] if system.strip() else []
    request: Wire = {"messages": [*first, *messages]}
    return {**request, "tools": chat_tools(tools)} if tools else request
