"""`onplan sessions`: the list of sessions, a search in what was said in them, and their end."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

import click

from onplan.cli.completion import session_ids
from onplan.cli.options import RunFlags, common_options

if TYPE_CHECKING:
    from onplan.cli.view.screen import Screen
    from onplan.protocols import SessionInfo, SessionStore

_NEWEST = 20


@click.group(
    "sessions",
    short_help="List, search or delete sessions.",
    invoke_without_command=True,
    epilog=(
        "\b\nExample:\n  onplan sessions\n  onplan sessions --all --json\n"
        '  onplan sessions --search "flaky test"\n  onplan sessions delete 3f2a'
    ),
)
@click.option("--json", "as_json", is_flag=True, help="One JSON list, times in Unix seconds.")
@click.option("--all", "everything", is_flag=True, help=f"All of them, not only the newest {_NEWEST}.")
@click.option("--search", metavar="TEXT", help="Those in which TEXT was said, with the places; any case.")
@common_options
@click.pass_context
def command(ctx: click.Context, flags: RunFlags, as_json: bool, everything: bool, search: str | None) -> None:
    """List the sessions, the newest first: id, age, todos done, cost, why it ended, title, directory."""
    if ctx.invoked_subcommand is not None:
        if as_json or everything or search is not None:
            raise click.UsageError("the options of the list do not go with a command behind them")
        return
    if search is None:
        asyncio.run(_list(flags, as_json, everything))
        return
    if not search.strip():
        raise click.UsageError("--search needs a text")
    asyncio.run(_search(flags, search, as_json))


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


# --- search -----------------------------------------------------------------------------------------


async def _search(flags: RunFlags, text: str, as_json: bool) -> None:
    from msgspec.structs import asdict

    from onplan.cli.logs import opened
    from onplan.cli.search import searched
    from onplan.cli.view.screen import screen_on
    from onplan.cli.view.sessions import found_lines

    screen = screen_on(sys.stdout, colour=flags.colour)
    found = 0
    async with opened() as store:
        hits = [hit async for hit in searched(store, text)] if as_json else []
        if as_json:
            screen.json(
                [{**asdict(hit.info), "places": [asdict(place) for place in hit.places]} for hit in hits]
            )
            return
        async for hit in searched(store, text):  # told as they are found: there may be many to look through
            found += 1
            screen.lines(found_lines(hit.info, hit.places, now=time.time(), width=screen.width))
    if not found:
        screen.line(f"nothing was said of {text!r}")


# --- deleting ---------------------------------------------------------------------------------------


@command.command(
    "delete", epilog="\b\nExample:\n  onplan sessions delete 3f2a\n  onplan sessions delete 3f2a 77b0 --yes"
)
@click.argument("sessions", nargs=-1, required=True, metavar="ID…", shell_complete=session_ids)
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def delete(flags: RunFlags, sessions: tuple[str, ...], yes: bool) -> None:
    """Delete sessions for good: what was said, done and planned in them. Files stay as they are.

    Asks first. One that another process has open is not deleted.
    """
    from onplan.cli.terminal import is_terminal

    if not yes and not is_terminal(sys.stdin):
        raise click.UsageError("nobody is here to be asked: --yes deletes without a question")
    asyncio.run(_delete(flags, sessions, yes))


async def _delete(flags: RunFlags, names: tuple[str, ...], yes: bool) -> None:
    from onplan.cli.logs import opened
    from onplan.cli.view.screen import screen_on
    from onplan.cli.view.sessions import session_lines

    screen = screen_on(sys.stdout, colour=flags.colour)
    async with opened() as store:
        found = list({info.id: info for info in [await store.find(name) for name in names]}.values())
        if not yes:
            screen.lines(session_lines(found, now=time.time(), width=screen.width))
            if not await _agreed(screen, len(found)):
                screen.line("nothing was deleted")
                return
        for info in found:
            await _delete_one(store, info)
            screen.line(f"deleted {info.id}")


async def _agreed(screen: Screen, count: int) -> bool:
    from onplan.cli.terminal import Terminal

    them = "it" if count == 1 else f"these {count}"
    answer = await Terminal(sys.stdin.fileno(), screen).read_line(f"Delete {them} for good? y/N> ")
    return (answer or "").strip().casefold() in ("y", "yes")


async def _delete_one(store: SessionStore, info: SessionInfo) -> None:
    from onplan.errors import SessionBusy
    from onplan.stores.holder import this_process

    other = await store.claim(info.id, this_process())
    if other is not None:
        raise SessionBusy(
            f"session {info.id} is open in another process (pid {other.pid} on {other.host}): close it first"
        )
    await store.delete(info.id)
