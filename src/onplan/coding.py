"""`coding_agent`: the standard parts put together, workspace, tools, permissions, store and instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from onplan.agent import Agent, Closer
from onplan.commandhooks import CommandHooks
from onplan.compaction import CompactionPolicy
from onplan.context import Context, context_hooks
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
from onplan.tools.search import search_tools
from onplan.tools.shell import Shell, bash, named
from onplan.tools.web import Web, web_tools
from onplan.tools.workspace import Workspace
from onplan.toolset import Tool

if TYPE_CHECKING:
    from onplan.tools.sandbox import Sandbox

LARGE_OUTPUT = 100_000
"""Characters of one tool's output from which on the person is warned; the model gets a shortened answer."""


def coding_tools() -> tuple[Tool, ...]:
    """The tools of the coding agent, the plan's apart, in their fixed order."""
    return (bash, *file_tools(), *search_tools(), *web_tools(), ask_user)


def quiet_tools(settings: Settings | None = None) -> tuple[str, ...]:
    """The tools that only read, ask or plan, by name: what a first question may offer to allow."""
    return _quiet(coding_tools(), settings)


def _quiet(tools: Iterable[Tool], settings: Settings | None) -> tuple[str, ...]:
    planning = (settings or Settings()).dialect.tool_names
    return (*planning, *(tool.name for tool in tools if tool.read_only))


def instructions(root: Path, sandbox: Sandbox | None = None, context: Context | None = None) -> str:
    """The system text's first part. It is stored with the session and never changes in it (I2)."""
    work = (
        f"You are onplan, a coding agent in the terminal, working in {root}. "
        "Use the tools to look before you change, keep changes small, and check what you did. "
        "Commit nothing unless you are asked to. "
        "When you are done, say so in a few words."
    )
    parts = (work, sandbox.notice() if sandbox else "", context.text if context else "")
    return "\n\n".join(part for part in parts if part)


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
    sandbox: Sandbox | bool = False,
    context: Context | None = None,
    compaction: CompactionPolicy | None = None,
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
    inside this one; `True`, or settings that ask for it: inside `session_sandbox`. `context`: instruction
    files (`load_context`); the model is told when they change, and first what git has not committed.
    `compaction`: when the conversation is made shorter. What commands left in the background is ended and
    named when the agent closes. Raises `StoreError` and its kind for the session, `ConfigError` if `root` is
    no directory or the sandbox cannot be made.
    """
    workspace = Workspace(Path(root))
    said = settings or FileSettings()
    tools = coding_tools()
    held = ExitStack()
    with ExitStack() as on_failure:
        on_failure.callback(held.close)
        inside = _confined(sandbox or bool(said.sandbox), workspace.root, held)
        shell = Shell(workspace.root, sandbox=inside)
        web = Web(allow_hosts=frozenset(said.web_allow_hosts))
        rights = permissions or Permissions(
            approver, auto=auto, quiet=_quiet(tools, planning), rules=said.rules, root=workspace.root
        )
        rights.cwd = lambda: shell.cwd
        # Without a sandbox nothing of the sort counts, whoever said it.
        rights.sandboxed = inside is not None and (rights.sandboxed or said.auto == "sandboxed")
        commands = CommandHooks(said.hooks, workspace.root, mode=lambda: rights.mode)
        told = context_hooks(context, lambda: agent.system) if context else Hooks()
        judging = Hooks(before_tool=(rights.before_tool,), after_tool=(warn_of_large_output,))
        agent = await Agent.start(
            model=model,
            store=store,
            tools=(*tools, *extra_tools),
            inject={
                "workspace": lambda _: workspace,
                "shell": lambda _: shell,
                "web": lambda _: web,
                "asker": lambda _: asker,
            },
            instructions=instructions(workspace.root, inside, context),
            planning=planning,
            compaction=compaction or CompactionPolicy(),
            hooks=(hooks or Hooks()) + told + commands.hooks() + judging,
            limits=limits,
            resume=resume,
            cwd=workspace.root,
            listeners=listeners,
            closers=(_closer(shell, held),),
        )
        on_failure.pop_all()
    commands.session_id = agent.session_id
    rights.answer = agent.approval
    return agent


def _confined(sandbox: Sandbox | bool, root: Path, held: ExitStack) -> Sandbox | None:
    if sandbox is False:
        return None
    from onplan.config import data_dir  # a run without a sandbox starts without all of it
    from onplan.tools.confinement import confinement, session_sandbox

    chosen = session_sandbox(root, Path.home(), private=(data_dir(),)) if sandbox is True else sandbox
    return held.enter_context(confinement(chosen))


def _closer(shell: Shell, held: ExitStack) -> Closer:
    async def close() -> Warned | None:
        try:
            ended = await shell.close()
        finally:
            held.close()
        count = f"{len(ended)} process" if len(ended) == 1 else f"{len(ended)} processes"
        return Warned(f"ended {count} left in the background: {named(ended)}") if ended else None

    return close


def warn_of_large_output(call: Call, result: ToolResult, view: View) -> Warned | None:
    """An after_tool hook: tells the person of output so large that it costs, or hides what matters."""
    omitted: object = (result.details or {}).get("omitted")
    size = len(result.content) + (omitted if isinstance(omitted, int) else 0)
    if size < LARGE_OUTPUT:
        return None
    return Warned(
        f"large output: {call.name} put out {size:,} characters; the model saw {len(result.content):,}"
    )
