"""The demo model against real files: what it does with a project depends on what the tools answer."""

from __future__ import annotations

import asyncio
import fnmatch
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from onplan.demo import DEMO_TASK, demo_model
from onplan.messages import Assistant, Call, Message, Note, Outcome, ToolResult, User
from onplan.protocols import Request

PROJECT = Path(__file__).parents[2] / "examples" / "project"
PLAN_TOOLS = ("write_todos", "read_todos")
MARKS = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}


@dataclass
class Desk:
    """The tools over a directory, as simple as they can be, and the conversation so far."""

    root: Path
    plan_tools: tuple[str, ...] = PLAN_TOOLS
    refuse: Callable[[Call], Outcome | None] = lambda call: None
    messages: list[Message] = field(default_factory=list[Message])
    plan: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    after_round: Callable[[Desk], None] = lambda desk: None

    def run(self, text: str = DEMO_TASK) -> Assistant:
        self.messages.append(User(text))
        return self.go_on()

    def go_on(self) -> Assistant:
        for _ in range(20):
            reply = asyncio.run(self._ask())
            self.messages.append(reply)
            if not reply.calls:
                return reply
            self.messages.extend(self._answer(call) for call in reply.calls)
            self.after_round(self)
        raise AssertionError("the demo model does not end")

    async def _ask(self) -> Assistant:
        tools = tuple({"name": name} for name in ("glob", "read_file", "write_file", *self.plan_tools))
        whole = [item async for item in demo_model().stream(Request("", tools, self.messages))][-1]
        assert isinstance(whole, Assistant)
        return whole

    def _answer(self, call: Call) -> ToolResult:
        refused = self.refuse(call)
        if refused:
            return ToolResult(call.id, call.name, f"The call was {refused}.", outcome=refused)
        try:
            return ToolResult(call.id, call.name, self._do(call.name, call.arguments))
        except OSError as error:
            return ToolResult(call.id, call.name, f"Error: {error.strerror}", outcome="error")

    def _do(self, tool: str, arguments: dict[str, Any]) -> str:
        match tool:
            case "glob":
                return self._glob(arguments["pattern"])
            case "read_file":
                return self._read(arguments["path"], arguments.get("offset", 1), arguments.get("limit", 2000))
            case "write_file":
                (self.root / arguments["path"]).write_text(arguments["content"], encoding="utf-8")
                return f"Created {arguments['path']} ({len(arguments['content'].splitlines())} lines)."
            case "read_todos":
                return self._listing()
            case _:
                [self.plan] = arguments.values()
                return f"Task list updated:\n{self._listing()}"

    def _listing(self) -> str:
        return "\n".join(f"{MARKS[todo['status']]} {text_of(todo)}" for todo in self.plan)

    def _glob(self, pattern: str) -> str:
        found = sorted(path for path in self.root.glob(pattern) if path.is_file())
        names = [path.relative_to(self.root).as_posix() for path in found]
        return "\n".join(names) or f"No files match {pattern}."

    def _read(self, path: str, offset: int, limit: int) -> str:
        lines = (self.root / path).read_text(encoding="utf-8", errors="replace").splitlines()
        last = offset + limit - 1
        if len(lines) <= last:
            return "\n".join(lines[offset - 1 :])
        notice = f"(lines {offset}-{last} of {len(lines)}; continue with offset={last + 1})"
        return "\n".join((*lines[offset - 1 : last], notice))

    @property
    def replies(self) -> list[Assistant]:
        return [item for item in self.messages if isinstance(item, Assistant)]

    @property
    def calls(self) -> list[Call]:
        return [call for reply in self.replies for call in reply.calls]

    def made(self, tool: str) -> list[Call]:
        return [call for call in self.calls if call.name == tool]

    @property
    def readme(self) -> str:
        return (self.root / "README.md").read_text(encoding="utf-8")

    @property
    def statuses(self) -> list[str]:
        return [todo["status"] for todo in self.plan]


def text_of(todo: dict[str, str]) -> str:
    return next(todo[key] for key in ("content", "text", "step") if key in todo)
