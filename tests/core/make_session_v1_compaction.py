"""Made `golden/session-v1-compaction.jsonl`, once, with version 1 of the record format: a session whose
conversation was made shorter, and a person who was asked.

The file must never be made again: it stands for the logs that people have on their disks.
"""

from __future__ import annotations

import sys
from pathlib import Path

from onplan.events import (
    ApprovalRequested,
    Compacted,
    Decided,
    Record,
    SessionStarted,
    ToolStarted,
    encode_record,
)
from onplan.messages import Assistant, Call, Note, Text, ToolResult, Usage, User

TODOS = [
    {"content": "Read the code", "status": "completed"},
    {"content": "Fix the bug ✓", "status": "in_progress"},
    {"content": "Run the tests", "status": "pending"},
]
PLAN = Note("<plan>The plan, revision 1.</plan>", "plan", details={"plan": {"shows": 1}})
SUMMARY = Note("<summary>It was read.\n\nThe bug is in a.py\n</summary>", "summary", "message")


def records() -> list[Record]:
    written = {"plan": {"type": "written", "revision": 1, "todos": TODOS}}
    return [
        SessionStarted("20260102", 1, "/work", "scripted", "Be good."),
        User("Fix it"),
        Assistant((Call("t1", "write_todos", {"todos": TODOS}),), "tool_calls"),
        ToolStarted("t1"),
        ToolResult("t1", "write_todos", "Task list updated:", details=written),
        Assistant((Call("t2", "bash", {"command": "cat a.py"}),), "tool_calls", Usage(900, 20), "scripted"),
        ApprovalRequested("t2", "cat a.py", "it reads what it should not"),
        Decided("t2", "allow", "person", rule="bash(cat:*)"),
        ToolStarted("t2"),
        ToolResult("t2", "bash", "x" * 30, changed=True),
        Compacted("limit", 5, tail=(PLAN,), shortened={"t2": "x…"}, before=1_000, after=700),
        Assistant((Call("t3", "bash", {"command": "ls"}),), "tool_calls"),
        ApprovalRequested("t3"),
        Decided("t3", "allow", "person"),
        ToolStarted("t3"),
        ToolResult("t3", "bash", "a.py"),
        Note("mind the tests", "steering", "message"),
        Compacted(
            "asked",
            3,
            (User("Fix it"), SUMMARY),
            (PLAN,),
            {"t3": "…"},
            900,
            300,
            "the bug",
            "scripted",
            Usage(800, 40, 30, 20, 10),
        ),
        Compacted("too_long", 6, tail=(PLAN,), before=300, after=290, model="scripted", error="overloaded"),
        Assistant((Text("I am"),), "interrupted"),
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(b"".join(encode_record(record) + b"\n" for record in records()))
