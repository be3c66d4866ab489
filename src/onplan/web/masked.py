"""Records without what looks like a key, for files that are sent to others and pages that are shown."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from onplan.events import PlanEdited, Record, ToolStarted, encode_record
from onplan.messages import ToolResult
from onplan.secrets import mask_secrets, masked_value

# In JSON a key at the start of a line stands behind a letter, the n of `\\n`, and is not seen to begin there.
_ESCAPES = re.compile(r"\\(?:[bfnrt]|u00..)")


def masked_record(record: Record) -> Record:
    """The record with every text in it masked; itself where there is nothing to hide."""
    if isinstance(record, ToolStarted):
        return record
    body = _ESCAPES.sub(" ", encode_record(record).decode())
    if mask_secrets(body) == body:  # nearly all: a look at the whole costs a tenth of one at every text
        return record
    return msgspec.convert(masked_value(msgspec.to_builtins(record)), Record)


def hidden_todos(record: Record) -> dict[str, str]:
    """The contents of a plan in a record that mask something, each with what it says in truth."""
    match record:
        case PlanEdited(todos=todos):
            written: Any = todos
        case ToolResult(details={"plan": {"todos": [*todos]}}):
            written = todos
        case _:
            return {}
    contents = [str(todo.get("content")) for todo in written if isinstance(todo, dict)]
    return {masked: text for text in contents if (masked := mask_secrets(text)) != text}
