"""`onplan sessions`: the list of sessions."""

from __future__ import annotations

import sys
import time

import click

from onplan.cli.options import RunFlags, common_options

_NEWEST = 20


@click.command(
    "sessions",
    short_help="List the sessions.",
    epilog="\b\nExample:\n  onplan sessions\n  onplan sessions --all --json",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON list, times in Unix seconds.")
@click.option("--all", "everything", is_flag=True, help=f"All of them, not only the newest {_NEWEST}.")
@common_options
def command(flags: RunFlags, as_json: bool, everything: bool) -> None:
    """List the sessions, the newest first: id, age, todos done, why it ended, title, directory."""
    import asyncio  # not for the help

    asyncio.run(_list(flags, as_json, everything))


async def _list(flags: RunFlags, as_json: bool, everything: bool) -> None:
    from msgspec.structs import asdict

    from onplan.cli.logs import opened
    from onplan.cli.view.screen import screen_on
    from onplan.cli.view.sessions import session_lines

    screen = screen_on(sys.stdout, colour=flags.colour)
    async with opened() as store:
        found = await store.sessions(limit=1_000_000 if everything else _NEWEST + 1)
    shown = found if everything else found[:_NEWEST]
    if as_json:
        screen.json([asdict(session) for session in shown])
        return
    screen.lines(session_lines(shown, now=time.time(), width=screen.width))
    if len(shown) < len(found):
        screen.line("… and older ones: onplan sessions --all")
