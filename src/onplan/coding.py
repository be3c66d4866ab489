"""`coding_agent`: the standard parts put together, workspace, tools, permissions, store and instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from onplan.agent import Agent
from onplan.events import Event
from onplan.hooks import Hooks
from onplan.parts import Limits
from onplan.permissions import Permissions
from onplan.plan.settings import Settings
from onplan.protocols import Approver, Asker, Model, SessionStore
from onplan.tools.ask import ask_user
from onplan.tools.files import file_tools
from onplan.tools.search import search_tools
from onplan.tools.shell import Shell, bash
from onplan.tools.workspace import Workspace
from onplan.toolset import Tool


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
    hooks: Hooks | None = None,
    limits: Limits | None = None,
    resume: str = "",
    extra_tools: Iterable[Tool] = (),
    listeners: Iterable[Callable[[Event], None]] = (),
) -> Agent:
    """An agent that works in the directory `root`. Close it when done.

    Without `approver` and without `auto`, every call is denied for want of a person. Raises `StoreError`
    and its kind for the session, `ConfigError` if `root` is no directory.
    """
    workspace = Workspace(Path(root))
    shell = Shell(workspace.root)
    rights = permissions or Permissions(approver, auto=auto, quiet=quiet_tools(planning))
    return await Agent.start(
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
        hooks=(hooks or Hooks()) + Hooks(before_tool=(rights.before_tool,)),
        limits=limits,
        resume=resume,
        cwd=workspace.root,
        listeners=listeners,
        closers=(shell.close,),
    )
