"""`onplan hooks`: the hooks that are commands, listed and tried out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from onplan.cli.options import RunFlags, common_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onplan.cli.view.screen import Line
    from onplan.commandhooks import HookCommand, Said
    from onplan.settingsfile import FileSettings


@click.group(
    "hooks",
    short_help="List the hooks that are commands, or try those of an event.",
    epilog="\b\nExample:\n  onplan hooks list",
)
def command() -> None:
    """Hooks are commands in settings files that are asked, or told, at certain events of a run."""


@command.command("list", epilog="\b\nExample:\n  onplan hooks list")
@common_options
def list_hooks(flags: RunFlags) -> None:
    """The hooks that count in the current directory, and what of the settings does not count."""
    from onplan.cli.view.screen import Span, screen_on

    screen = screen_on(sys.stdout, colour=flags.colour)
    settings, _ = _settings()
    for hook in settings.hooks:
        screen.lines([_line(hook)])
    if not settings.hooks:
        screen.line(Span("no hooks count here", "dim"))
    for note in settings.notes:
        screen.say(Span(note, "yellow"))


@command.command(
    "test",
    epilog='\b\nExample:\n  onplan hooks test PreToolUse --tool bash --input \'{"command": "make"}\'',
)
@click.argument("event")
@click.option("--tool", default="bash", metavar="NAME", help="The tool of PreToolUse and PostToolUse.")
@click.option(
    "--input", "given", default="{}", metavar="JSON", help="The call's arguments, or the event's facts."
)
@common_options
def test_hooks(flags: RunFlags, event: str, tool: str, given: str) -> None:
    """Run the hooks of EVENT in the current directory as a run would, with made-up facts, and show what each
    answers. The hooks are really run; the tool is not."""
    import asyncio  # not for the help

    from onplan.cli.view.screen import Span, screen_on
    from onplan.commandhooks import CommandHooks, HookEvent
    from onplan.messages import Call

    if event not in get_args(HookEvent):
        raise click.UsageError(f"{event[:40]!r} is no event; events: {', '.join(get_args(HookEvent))}")
    facts = _object(given)
    settings, root = _settings()
    screen = screen_on(sys.stdout, colour=flags.colour)
    call = Call("test", tool, facts) if event in ("PreToolUse", "PostToolUse") else None
    commands = CommandHooks(settings.hooks, root)
    said = asyncio.run(commands.ask(event, {} if call else facts, call=call))  # pyright: ignore[reportArgumentType] # checked above
    for one in said:
        screen.lines(_answer(one))
    if not said:
        screen.line(Span(f"no hook of {event} fits", "dim"))


def _settings() -> tuple[FileSettings, Path]:
    from onplan.config import data_dir, here
    from onplan.settingsfile import load_settings, places
    from onplan.trust import load_trust, real_path

    root = real_path(here())
    return load_settings(root, places(), trusted=load_trust(data_dir()).covers(root)), root


def _object(given: str) -> Mapping[str, Any]:
    import json

    try:
        found: Any = json.loads(given)
    except ValueError as error:
        raise click.UsageError(f"--input is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise click.UsageError("--input must be a JSON object")
    return found  # pyright: ignore[reportUnknownVariableType] # JSON objects have text keys


def _line(hook: HookCommand) -> Line:
    from onplan.cli.view.screen import Span

    more = [f"{hook.timeout:g} s", hook.source, *(["fails closed"] if hook.fail_closed else [])]
    more += ["in the words of Claude Code"] if hook.claude else []
    matcher = hook.matcher or "*"
    return (
        Span(f"{hook.event:16}", "bold"),
        f"  {matcher:12}  {hook.name}",
        Span(f"  ({', '.join(more)})", "dim"),
    )


def _answer(said: Said) -> Iterator[Line]:
    from onplan.cli.view.screen import Span

    yield (Span(said.hook.name, "bold"),)
    told = {
        "failed": said.failure,
        "blocks": said.block,
        "permission": said.permission,
        "reason": said.reason if said.permission else "",
        "changes the input to": str(said.updated) if said.updated is not None else "",
        "tells the model": said.context,
        "tells the person": said.message,
        "ends the turn": said.ended,
    }
    found = [(name, text) for name, text in told.items() if text]
    for name, text in found or [("says", "nothing: it has no objection")]:
        yield (f"  {name}: ", str(text))
