"""`onplan fork`: a new session from any point of another."""

from __future__ import annotations

import asyncio
import re
import sys
from typing import TYPE_CHECKING

import click

from onplan.cli.completion import points, session_ids
from onplan.cli.options import RunFlags, common_options

if TYPE_CHECKING:
    from onplan.protocols import SessionStore


@click.command(
    "fork",
    short_help="Begin a new session from any point of another.",
    epilog="\b\nExample:\n  onplan fork latest\n  onplan fork 3f2a --at 42\n  onplan fork 3f2a --at r3",
)
@click.argument("session", default="latest", metavar="[ID|PREFIX|latest]", shell_complete=session_ids)
@click.option(
    "--at",
    default="",
    metavar="N|rN",
    shell_complete=points,
    help="Up to record N (onplan show tells them), or to revision N of the plan.",
)
@common_options
def command(flags: RunFlags, session: str, at: str) -> None:
    """Begin a new session with what was said and done in another, its plan and all, whole or up to a point.

    The other session stays as it is, and so do the files: only the conversation is taken back.
    """
    asyncio.run(_fork(flags, session, at))


async def _fork(flags: RunFlags, session: str, at: str) -> None:
    from onplan.cli.logs import load_from, opened
    from onplan.cli.view.plan import plan_lines
    from onplan.cli.view.screen import Span, screen_on
    from onplan.config import command_line

    screen = screen_on(sys.stdout, colour=flags.colour)
    async with opened() as store:
        source = (await store.find(session)).id
        made = await fork_at(store, source, at)
        log = await load_from(store, made)
    ledger = log.plan_state().ledger
    screen.line(f"session {made}", Span(f"  forked from {source}, {len(log.stamped)} records", "dim"))
    if ledger.revision:
        screen.lines(plan_lines(ledger.plan, ledger.revision))
    screen.say(Span(f"Go on with it: {command_line(f'resume {made}')}", "dim"))


async def fork_at(store: SessionStore, session_id: str, at: str = "") -> str:
    """A new session from this one's log: up to record `12`, up to revision `r3` of the plan, or whole.

    Answers its id. Raises `ConfigError` for what is no point of the session, `StoreError` and its kind.
    """
    from onplan.cli.logs import load_from
    from onplan.session.forking import fork

    made = await fork(store, session_id, await _record(store, session_id, at))
    plan = (await load_from(store, made)).plan_state().plan
    await store.describe(made, {"done": plan.done, "total": len(plan)})
    return made


async def _record(store: SessionStore, session_id: str, at: str) -> int | None:
    from onplan.errors import ConfigError
    from onplan.plan.settings import Settings
    from onplan.planning import PlanFold
    from onplan.session import read

    point = re.fullmatch(r"\s*(r?)(\d{1,9})\s*", at, re.I)
    if not at.strip():
        return None
    if point is None:
        raise ConfigError(
            f"{at[:40]!r} is no point of a session: give a record's number, or r3 for a revision"
        )
    number = int(point[2])
    if not point[1]:
        return number
    fold = PlanFold(Settings())
    for seq, stamped in enumerate(read(await store.load(session_id)), 1):
        fold.fold(stamped.record)
        if number and fold.state.ledger.revision == number:
            return seq
    known = fold.state.ledger.revision
    has = f"it has r1 to r{known}" if known else "it has none"
    raise ConfigError(f"session {session_id} has no revision {number} of the plan: {has}")
