"""`onplan show`: one session as a timeline."""

from __future__ import annotations

import sys
from typing import Any

import click

from onplan.cli.completion import session_ids
from onplan.cli.options import RunFlags, common_options


@click.command(
    "show",
    short_help="Show a session as a timeline.",
    epilog="\b\nExample:\n  onplan show latest\n  onplan show 3f2a --audit",
)
@click.argument("session", default="latest", metavar="[ID|PREFIX|latest]", shell_complete=session_ids)
@click.option("--audit", is_flag=True, help="Who let each call run, or refused it, and why.")
@click.option("--json", "as_json", is_flag=True, help="All records as one JSON object.")
@common_options
def command(flags: RunFlags, session: str, audit: bool, as_json: bool) -> None:
    """Show a session: turns, rounds, calls and how they came out, what changed in the plan, reminders,
    and how far away the plan was in each request. It is only read, whoever has it open."""
    if audit and as_json:
        raise click.UsageError("give --audit or --json, not both")
    import asyncio  # not for the help

    asyncio.run(_show(flags, session, audit, as_json))


async def _show(flags: RunFlags, session: str, audit: bool, as_json: bool) -> None:
    from msgspec.structs import asdict

    from onplan.cli.logs import load
    from onplan.cli.view.screen import screen_on
    from onplan.cli.view.timeline import audit_lines, timeline
    from onplan.settingsfile import places, user_settings

    screen = screen_on(sys.stdout, colour=flags.colour)
    screen.masked = screen.masked and user_settings(places()).mask_secrets is not False
    log = await load(session)
    if as_json:
        records: list[dict[str, Any]] = [
            {"seq": seq, "time": item.time, "record": item.record} for seq, item in enumerate(log.stamped, 1)
        ]
        screen.json({"session": asdict(log.info), "records": records})
    elif audit:
        screen.lines(audit_lines(log.records))
    else:
        screen.lines(timeline(log.info, log.records, width=screen.width))
