"""What the tests of permissions, hooks and settings stand on: an agent whose bash only records."""

from __future__ import annotations

import shlex
import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onplan.agent import Agent, Result
from onplan.commandhooks import CommandHooks, HookCommand
from onplan.events import Decided, Event, Warned
from onplan.hooks import Hooks
from onplan.messages import Call, ToolResult
from onplan.models.scripted import Reply, ScriptedModel
from onplan.parts import Limits
from onplan.permissions import Permissions
from onplan.plan.settings import Settings, settings
from onplan.protocols import Approval, Approved
from onplan.rules import Rule, parse_rules
from onplan.testing.approval import RecordingApprover
from onplan.tools.files import file_tools
from onplan.tools.search import search_tools
from onplan.tools.workspace import Workspace
from onplan.toolset import Tool, tool

NO_PLAN = settings("write_todos", planning="off")


class Recorder:
    """A `bash` that records every line it is told to run and runs none."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def tool(self) -> Tool:
        @tool(name="bash")
        async def bash(command: str, timeout: float | None = None) -> str:
            """Record a command."""
            self.ran.append(command)
            return f"recorded {len(self.ran)}"

        return bash


@dataclass
class Seat:
    """An agent at work in a directory, with everything that a test looks at."""

    agent: Agent
    bash: Recorder
    rights: Permissions
    approver: RecordingApprover
    model: ScriptedModel
    events: list[Event] = field(default_factory=list[Event])

    @property
    def warnings(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Warned)]

    @property
    def decided(self) -> list[Decided]:
        return [event for event in self.events if isinstance(event, Decided)]

    @property
    def results(self) -> list[ToolResult]:
        return [message for message in self.agent.messages if isinstance(message, ToolResult)]

    @property
    def notes(self) -> list[str]:
        return [m.text for m in self.agent.messages if type(m).__name__ == "Note"]  # pyright: ignore

    async def says(self, text: str = "go") -> Result:
        return await self.agent.run(text)


async def seat(
    root: Path,
    replies: Sequence[Reply],
    *,
    rules: Iterable[Rule] = (),
    hooks: Hooks | None = None,
    commands: Sequence[HookCommand] = (),
    answers: Sequence[Approval] = (Approved(),),
    nobody: bool = False,
    planning: Settings = NO_PLAN,
    limits: Limits | None = None,
    **more: Any,
) -> Seat:
    """An agent in `root` that gives `replies`; `more` goes to its permissions."""
    bash, approver = Recorder(), RecordingApprover(answers)
    home = root.parent / "home"
    home.mkdir(exist_ok=True)
    rights = Permissions(None if nobody else approver, rules=rules, root=root, home=home, **more)
    workspace = Workspace(root)
    model = ScriptedModel(replies)
    command_hooks = CommandHooks(commands, root, mode=lambda: rights.mode)
    events: list[Event] = []
    agent = await Agent.start(
        model=model,
        tools=(bash.tool(), *file_tools(), *search_tools()),
        inject={"workspace": lambda _: workspace},
        planning=planning,
        hooks=(hooks or Hooks()) + command_hooks.hooks() + Hooks(before_tool=(rights.before_tool,)),
        limits=limits,
        cwd=root,
        listeners=(events.append,),
    )
    command_hooks.session_id = agent.session_id
    return Seat(agent, bash, rights, approver, model, events)


def rules(**entries: Sequence[str]) -> tuple[Rule, ...]:
    """`rules(deny=["bash(rm*)"], allow=["bash(git*)"])`, all of the person's own settings."""
    found: list[Rule] = []
    for verdict, texts in entries.items():
        for text in texts:
            found += parse_rules(text, verdict)  # pyright: ignore[reportArgumentType]
    return tuple(found)


def run(command: str, call_id: str = "") -> Call:
    """A call of bash."""
    return Call(call_id or "t1", "bash", {"command": command})


def shell_script(path: Path, *lines: str) -> str:
    """A hook script for sh; answers the command that runs it."""
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return shlex.quote(str(path))


def python_script(path: Path, *lines: str) -> str:
    """A hook script for Python that has read its input as `told`; answers the command that runs it."""
    begin = ["import json, os, sys, time", "told = json.load(sys.stdin)"]
    path.write_text("\n".join([*begin, *lines, ""]))
    return shlex.join([sys.executable, "-S", str(path)])
