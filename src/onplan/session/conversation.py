"""What the next request is made of, as a fold over the records of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import msgspec

from onplan.events import (
    ApprovalRequested,
    Compacted,
    Decided,
    PlanEdited,
    PrefixChanged,
    Record,
    Resumed,
    SessionEnded,
    SessionStarted,
    ToolStarted,
    TurnEnded,
)
from onplan.messages import Assistant, Message, Note, ToolResult, User


class Conversation:
    """System text, tools and messages, advanced one record at a time."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.call_ids: set[str] = set()
        self.system = ""
        self.model = ""
        self.tools: tuple[dict[str, Any], ...] = ()
        self.started: SessionStarted | None = None
        self.first_words = ""

    def fold(self, record: Record) -> None:
        match record:
            case ToolResult() | Note():
                self.messages.append(record)
            case Assistant():
                self.messages.append(record)
                for call in record.calls:
                    self.call_ids.add(call.id)
            case User():
                self.messages.append(record)
                self.first_words = self.first_words or record.text
            case SessionStarted(system=system, tools=tools, model=model):
                self.started, self.system, self.tools, self.model = record, system, tools, model
            case PrefixChanged(system=system, tools=tools, model=model):
                self.system = self.system if system is None else system
                self.tools = self.tools if tools is None else tools
                self.model = self.model if model is None else model
            case Compacted():
                self.messages[:] = compacted(self.messages, record)
            case ToolStarted() | PlanEdited() | Decided() | ApprovalRequested() | Resumed():
                pass
            case TurnEnded() | SessionEnded():
                pass
            case _:
                assert_never(record)


def compacted(messages: Sequence[Message], by: Compacted) -> list[Message]:
    """The messages of the next request after a compaction of these."""
    kept = messages[max(0, len(messages) - by.kept) :] if by.kept else ()
    stays = (_shortened(message, by.shortened) for message in kept if not is_plan_block(message))
    return [*by.head, *stays, *by.tail]


def is_plan_block(message: Message) -> bool:
    """Whether a compaction put the plan there: of these there is never more than one, the newest."""
    return isinstance(message, Note) and message.kind == "plan"


def _shortened(message: Message, shortened: Mapping[str, str]) -> Message:
    if not isinstance(message, ToolResult) or message.call_id not in shortened:
        return message
    return msgspec.structs.replace(message, content=shortened[message.call_id], media=())
