"""`onplan demo`: the real loop, tools, plan and log with a scripted model, every step shown."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onplan.cli.options import RunFlags, common_options, run_options

if TYPE_CHECKING:
    from onplan.agent import Agent
    from onplan.cli.view.screen import Screen
    from onplan.config import Config
    from onplan.events import Event


@click.command(
    "demo",
    short_help="Watch an agent plan and write a README; no key, no network.",
    epilog="\b\nExample:\n  onplan demo examples/project --auto\n  onplan demo .",
)
@click.argument("directory", default=".", metavar="[DIR]")
@run_options("prompt", "output_format", "model", "resume", "cwd")
@common_options
@click.pass_context
def command(ctx: click.Context, flags: RunFlags, directory: str) -> None:
    """Watch an agent plan, read the Python project in DIR (default: here), and write its README.md.

    The model is scripted: it needs no key and no network. Loop, tools, permissions, plan and session log are
    the real ones. Reading and planning tools are allowed; writing asks first, unless --auto is given.
    """
    import asyncio  # not for the help

    from onplan.config import DEMO, load_config

    config = load_config(replace(flags, model=DEMO, cwd=directory))
    ctx.exit(asyncio.run(_run(config, flags.colour)))


async def _run(config: Config, colour: bool) -> int:
    from onplan.cli.agents import running
    from onplan.cli.conversation import person_at
    from onplan.cli.result import ending_lines
    from onplan.cli.signals import Interruption, signals
    from onplan.cli.view.activity import Activity
    from onplan.cli.view.screen import Span, screen_on
    from onplan.demo import DEMO_TASK

    failures: list[OSError] = []
    screen = screen_on(sys.stdout, colour=colour, on_failure=failures.append)
    interruption = Interruption()

    def interrupt() -> None:
        interruption.code = 130
        interruption.cancel_turn()

    with signals(interruption, interrupt):
        async with running(config, person_at(screen), screen, allow_quiet=True) as run:
            interruption.watch(run.agent)
            readme = run.root / "README.md"
            before = _text(readme)
            _introduce(screen, run.root, DEMO_TASK, auto=config.auto)
            activity = Activity(screen, final=True, numbered=True, side_by_side=run.side_by_side)
            watched = _Counts()
            run.agent.listen(activity.show)
            run.agent.listen(watched.count)
            if interruption.code is not None:
                return interruption.code
            result = await run.agent.run(DEMO_TASK)
            screen.lines(ending_lines(result))
            after = _text(readme)
            if after and after != before:
                screen.line()
                screen.line(Span("README.md", "bold"))
                screen.text(after)
            _close(screen, run.agent, watched)
            code = interruption.code or result.exit_code
    if failures:
        raise failures[0]
    return code


class _Counts:
    """What the figures of the log do not tell: tool calls that ran and files that were written."""

    def __init__(self) -> None:
        self.calls = 0
        self.files: set[str] = set()

    def count(self, event: Event) -> None:
        from onplan.messages import ToolResult

        if not isinstance(event, ToolResult):
            return
        self.calls += 1
        if event.changed and event.name in ("write_file", "edit_file"):
            self.files.add(str((event.details or {}).get("path", event.call_id)))


def _introduce(screen: Screen, root: Path, task: str, *, auto: bool) -> None:
    from onplan.cli.view.screen import Span

    screen.say(Span("onplan demo", "bold"), f"  in {root}")
    screen.say("The model is scripted (no key, no network); everything else is the real thing.")
    rule = "reading and planning tools are allowed; " + ("writing too (--auto)" if auto else "writing asks")
    screen.say(f"Rule for this run: {rule}.")
    screen.say(Span("job", "bold"), f"  {task}")
    screen.line()


def _close(screen: Screen, agent: Agent, watched: _Counts) -> None:
    from onplan.cli.view.screen import Span
    from onplan.cli.view.words import counted

    stats = agent.plan_state.stats
    screen.line()
    screen.say(
        Span("figures", "bold"),
        f"  {counted(stats.requests, 'model call')}, {counted(watched.calls, 'tool call')}, "
        f"{counted(stats.writes, 'plan write')}, "
        f"{counted(len(watched.files), 'file')} written",
    )
    screen.say(
        f"  the plan was at most {stats.max_messages} messages, {stats.max_tokens:,} tokens away; "
        f"{counted(stats.reminders, 'reminder')}"
    )
    screen.say(
        "The model was scripted. A real one is named by --model or MODEL_ID. "
        "Everything else is what a real model works with."
    )
    from onplan.config import command_line

    screen.say(Span(f"See the run again: {command_line(f'show {agent.session_id}')}", "dim"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
