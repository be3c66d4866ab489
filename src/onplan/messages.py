"""The messages of a conversation: values that the loop, the log and every adapter share; no behaviour."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from onplan.tokens import estimate_tokens as estimate_tokens

StopReason: TypeAlias = Literal["end", "tool_calls", "length", "refusal", "paused", "interrupted"]
"""Why a reply ended. `interrupted`: the stream was cut or cancelled; what had arrived is kept."""

Outcome: TypeAlias = Literal["ok", "error", "denied", "interrupted", "not_executed"]
"""How a tool call ended.

`interrupted`: it was running, side effects are possible. `not_executed`: it never started.
`denied`: a person, a rule or the want of a person refused it. The three are never mixed up (I1).
"""

Details: TypeAlias = dict[str, Any]
"""JSON values for code and people. Never sent to a model."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one reply, as the provider counted them; 0 where it did not say."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.thinking + other.thinking,
        )


class Text(msgspec.Struct, frozen=True, tag="text"):
    text: str


class Thinking(msgspec.Struct, frozen=True, tag="thinking", omit_defaults=True):
    text: str
    signature: str = ""


class Call(msgspec.Struct, frozen=True, tag="call"):
    """A tool call. `arguments` is an object, or what else the model sent: JSON text that was broken, say."""

    id: str
    name: str
    arguments: Any


Part: TypeAlias = Text | Thinking | Call


class User(msgspec.Struct, frozen=True, tag="user"):
    """What the person said."""

    text: str


class Assistant(msgspec.Struct, frozen=True, tag="assistant", omit_defaults=True):
    """One whole reply of a model."""

    parts: tuple[Part, ...]
    stop: StopReason = "end"
    usage: Usage = Usage()
    model: str = ""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple([part for part in self.parts if isinstance(part, Call)])


class Media(msgspec.Struct, frozen=True, omit_defaults=True):
    """An image or a PDF for the model. `data` is base64; `name` says what it is, a path for instance."""

    media_type: str
    data: str
    name: str = ""

    @property
    def size(self) -> int:
        """Bytes, decoded."""
        return len(self.data) * 3 // 4 - self.data.count("=", -2)

    def __str__(self) -> str:
        return f"{self.media_type}, {self.size:,} bytes"


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """The one answer to a call. `content` is for the model; `details` is for code and people.

    `changed`: the call succeeded and its tool is one that may change things outside of the plan.
    `media` goes to the model behind `content`, where it takes such and the call succeeded.
    """

    call_id: str
    name: str
    content: str
    outcome: Outcome = "ok"
    details: Details | None = None
    changed: bool = False
    media: tuple[Media, ...] = ()


class Note(msgspec.Struct, frozen=True, tag="note", omit_defaults=True):
    """Text that the harness adds for the model: a reminder, a notice of an edit or an interruption.

    `placement`: `beside` puts it behind the tool results or user message before it, in the same
    message where the provider's format allows; `message` makes it a user message of its own.
    """

    text: str
    kind: str
    placement: Literal["beside", "message"] = "beside"
    details: Details | None = None


Message: TypeAlias = User | Assistant | ToolResult | Note


MEDIA_TOKENS = 1_500
"""What an image, or a PDF, counts for in an estimate: about what a screenful costs. Many pages cost more."""


def estimate(message: Message) -> int:
    """Tokens of `message` where no provider counted them: its text's, and a fixed number for each of its
    media."""
    media = len(message.media) if isinstance(message, ToolResult) else 0
    return estimate_tokens(model_text(message)) + MEDIA_TOKENS * media


def model_text(message: Message) -> str:
    """All text that a model reads of `message`, as one string: the basis of every size estimate."""
    match message:
        case User(text=text) | Note(text=text):
            return text
        case ToolResult(content=content):
            return content
        case Assistant(parts=parts):
            return "\n".join(_part_text(part) for part in parts)


def _part_text(part: Part) -> str:
    match part:
        case Text(text=text) | Thinking(text=text):
            return text
        case Call(name=name, arguments=arguments):
            sent = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
            return f"{name} {sent}"
