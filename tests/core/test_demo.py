"""The demo model at work on real files, with the real tools and the real plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from shutil import copytree

import pytest

from onplan.demo import DEMO_TASK, demo_model
from onplan.messages import Assistant, Call, Message, Note, Outcome, ToolResult, User
from onplan.plan.memory import PlanMemory
from onplan.plan.todo import Todo
from onplan.protocols import Request
from onplan.toolset import Ctx, Toolset
from onplan.tools.files import file_tools
from onplan.tools.search import search_tools
from onplan.tools.workspace import Workspace

PROJECT = Path(__file__).parents[2] / "examples" / "project"


def allow(_: Call) -> Outcome | None:
    return None


class Desk:
    """A loop as small as can be: a directory, the tools, the plan, and the conversation so far.

    `outcome` may refuse a call; `after_round` sees the desk after each batch of results.
    """

    def __init__(
        self,
        root: Path,
        *,
        dialect: str = "write_todos",
        outcome: Callable[[Call], Outcome | None] = allow,
        after_round: Callable[[Desk], None] | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        workspace = Workspace(root)
        tools = [item for item in (*file_tools(), *search_tools()) if item.name not in without]
        self.root = root
        self.tools = Toolset(tools, {"workspace": lambda _: workspace})
        self.memory = PlanMemory(dialect, reminder="default")
        self.planning = "plan" not in without
        self.outcome = outcome
        self.after_round = after_round
        self.messages: list[Message] = []

    async def run(self, text: str = DEMO_TASK) -> Assistant:
        self.messages.append(User(text))
        return await self.go_on()

    async def go_on(self) -> Assistant:
        for _ in range(20):
            reply = await self.ask()
            self.messages.append(reply)
            if not reply.calls:
                return reply
            for call in reply.calls:
                self.messages.append(await self.answer(call))
            if self.after_round:
                self.after_round(self)
        raise AssertionError("the demo model does not end")

    async def ask(self) -> Assistant:
        schemas = (*self.tools.schemas(), *(self.memory.tools if self.planning else ()))
        items = [item async for item in demo_model().stream(Request("", schemas, self.messages))]
        assert isinstance(items[-1], Assistant)
        return items[-1]

    async def answer(self, call: Call) -> ToolResult:
        refused = self.outcome(call)
        if refused:
            return ToolResult(call.id, call.name, f"The call was {refused}.", outcome=refused)
        if call.name in self.memory.state.dialect.tool_names:
            plan = self.memory.call(call.name, call.arguments)
            return ToolResult(call.id, call.name, plan.text, outcome="error" if plan.is_error else "ok")
        output = await self.tools.call(call, Ctx(call.id))
        return ToolResult(call.id, call.name, output.content, outcome="error" if output.is_error else "ok")

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
        return [todo.status for todo in self.memory.plan]
