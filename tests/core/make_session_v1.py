"""Made `golden/session-v1.jsonl`, once, with version 1 of the record format: one of every record type.

The file must never be made again: it stands for the logs that people have on their disks.
"""

from __future__ import annotations

import sys
from pathlib import Path

from onplan.events import (
    Decided,
    PlanEdited,
    PrefixChanged,
    Record,
    Resumed,
    SessionEnded,
    SessionStarted,
    ToolStarted,
    TurnEnded,
    encode_record,
)
from onplan.messages import Assistant, Call, Note, Text, Thinking, ToolResult, Usage, User

TODOS = [
    {"content": "Read the code", "status": "completed"},
    {"content": "Fix the bug ✓", "status": "in_progress", "id": "2", "active_form": "Fixing the bug"},
    {"content": "Run the tests", "status": "pending"},
]
PLANNING = {
    "dialect": "write_todos",
    "rules": {"max_items": 2, "max_in_progress": 1, "max_content": 500, "allow_blank": False},
    "reminder": {
        "after": [3, 6, 12],
        "max_messages": 30,
        "max_tokens": 8000,
        "suggest": True,
        "placement": "beside",
    },
    "planning": "suggest",
    "tutorial": False,
    "max_continuations": 1,
}
SCHEMA = {"name": "write_todos", "description": "Plan.", "input_schema": {"type": "object"}}


def records() -> list[Record]:
    written = {"plan": {"type": "written", "revision": 1, "todos": TODOS, "repaired": ["a status"]}}
    return [
        SessionStarted(
            "20260101",
            1,
            "/work",
            "scripted",
            "Be good.",
            (SCHEMA,),
            PLANNING,
            "parent",
        ),
        User("Fix it"),
        Note("<notice>Hello</notice>", "mine", "message", {"k": [1, None, 2.5]}),
        Assistant(
            (
                Thinking("hm", "signed"),
                Text("First a plan."),
                Call("t1", "write_todos", {"todos": TODOS}),
                Call("t2", "bash", '{"command": "l'),
                Call("t3", "bash", {"command": "ls"}),
                Call("t4", "bash", {"command": "ls"}),
            ),
            "tool_calls",
            Usage(10, 20, 30, 40, 5),
            "scripted",
        ),
        ToolStarted("t1"),
        ToolResult("t1", "write_todos", "Task list updated:", details=written),
        ToolResult("t2", "bash", "Error: not JSON", "error"),
        Decided("t3", "deny", "person", "not now"),
        ToolResult("t3", "bash", "Error: not run", "denied", {"denied": "person"}),
        Decided("t4", "allow", "auto"),
        ToolStarted("t4"),
        ToolResult("t4", "bash", "a b", changed=True),
        Note("<reminder>Go on.</reminder>", "reminder", details={"plan": {"kind": "stale"}}),
        Assistant((Text("I am"),), "interrupted"),
        TurnEnded("interrupted", 1, 2, Usage(10, 20), 0, ""),
        PlanEdited(2, (*TODOS, {"content": "Mine", "status": "pending"})),
        PlanEdited(3, tuple(TODOS), "undo"),
        PlanEdited(4, (*TODOS, {"content": "Mine", "status": "pending"}), "redo"),
        SessionEnded("closed"),
        Resumed(("t9",)),
        PrefixChanged("tools", "Be better.", (SCHEMA,), "other", None),
        User("Go on"),
        Assistant(
            (Call("t5", "bash", {"command": "ls"}), Call("t6", "bash", {"command": "ls"})), "tool_calls"
        ),
        ToolStarted("t5"),
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(b"".join(encode_record(record) + b"\n" for record in records()))
