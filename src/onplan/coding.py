"""`coding_agent`: the standard parts put together, workspace, tools, permissions, store and instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from onplan.agent import Agent
from onplan.commandhooks import CommandHooks
from onplan.errors import ConfigError
from onplan.events import Event, Warned
from onplan.hooks import Hooks, View
from onplan.messages import Call, ToolResult
from onplan.parts import Limits
from onplan.permissions import Permissions
from onplan.plan.settings import Settings
from onplan.protocols import Approver, Asker, Model, SessionStore
from onplan.settingsfile import FileSettings
from onplan.tools.ask import ask_user
from onplan.tools.files import file_tools
from onplan.tools.sandbox import Sandbox
from onplan.tools.search import search_tools
from onplan.tools.shell import Shell, bash
from onplan.tools.workspace import Workspace
from onplan.toolset import Tool

LARGE_OUTPUT = 100_000
"""Characters of one tool's output from which on the person is warned; the model gets a shortened answer."""


def coding_tools() -> tuple[Tool, ...]:
    """The tools of the coding agent, the plan's apart, in their fixed order."""
    return (bash, *file_tools(), *search_tools(), ask_user)


def quiet_tools(settings: Settings | None = None) -> tuple[str, ...]:
    """The tools that only read, ask or plan, by name: what a first question may offer to allow."""
    planning = (settings or Settings()).dialect.tool_names
    return (*planning, *(tool.name for tool in coding_tools() if tool.read_only))


def instructions(root: Path) -> str:
    """The system text's first part. It is stored with the session and never changes in it (I2)."""
    return (
        f"You are onplan, a coding agent in the terminal, working in {root}. "
        "Use the tools to look before you change, keep changes small, and check what you did. "
        "When you are done, say so in a few words."
    )


async def coding_agent(
    root: Path | str,
    *,
    model: Model,
    store: SessionStore,
    approver: Approver | None = None,
    asker: Asker | None = None,
    permissions: Permissions | None = None,
    auto: bool = False,
    planning: Settings | None = None,
    settings: FileSettings | None = None,
    sandbox: Sandbox | None = None,
    hooks: Hooks | None = None,
    limits: Limits | None = None,
    resume: str = "",
    extra_tools: Iterable[Tool] = (),
    listeners: Iterable[Callable[[Event], None]] = (),
) -> Agent:
    """An agent that works in the directory `root`. Close it when done.

    Without `approver` and without `auto`, every call is denied for want of a person that no rule allows.
    `settings` are those of settings files, which are read only by who asks for it: their hooks run beside
    `hooks`, their rules count unless `permissions` are given, which bring their own. `sandbox`: commands run
    inside it. Raises `StoreError` and its kind for the session, `ConfigError` if `root` is no directory.
    """
    workspace = Workspace(Path(root))
    if sandbox is not None:
        # To say nothing would let a person believe in a wall that is not there.
        raise ConfigError("this version cannot run commands in the sandbox: leave out --sandbox")
    shell = Shell(workspace.root)
    said = settings or FileSettings()
    rights = permissions or Permissions(
        approver, auto=auto, quiet=quiet_tools(planning), rules=said.rules, root=workspace.root
    )
    rights.cwd = lambda: shell.cwd
    commands = CommandHooks(said.hooks, workspace.root, mode=lambda: rights.mode)
    judging = Hooks(before_tool=(rights.before_tool,), after_tool=(warn_of_large_output,))
    agent = await Agent.start(
        model=model,
        store=store,
        tools=(*coding_tools(), *extra_tools),
        inject={
            "workspace": lambda _: workspace,
            "shell": lambda _: shell,
            "asker": lambda _: asker,
        },
        instructions=instructions(workspace.root),
        planning=planning,
        hooks=(hooks or Hooks()) + commands.hooks() + judging,
        limits=limits,
        resume=resume,
        cwd=workspace.root,
        listeners=listeners,
        closers=(shell.close,),
    )
    commands.session_id = agent.session_id
    return agent


def warn_of_large_output(call: Call, result: ToolResult, view: View) -> Warned | None:
    """An after_tool hook: tells the person of output so large that it costs, or hides what matters."""
    omitted: object = (result.details or {}).get("omitted")
    size = len(result.content) + (omitted if isinstance(omitted, int) else 0)
    if size < LARGE_OUTPUT:
        return None
    return Warned(
        f"large output: {call.name} put out {size:,} characters; the model saw {len(result.content):,}"
    )
