"""`onplan resume`: go on with a session, at the prompt or for one job."""

from __future__ import annotations

from dataclasses import replace

import click

from onplan.cli.completion import session_ids
from onplan.cli.options import RunFlags, common_options, run_options


@click.command(
    "resume",
    short_help="Go on with a session.",
    epilog='\b\nExample:\n  onplan resume latest\n  onplan resume 3f2a -p "and now the tests"',
)
@click.argument("session", default="latest", metavar="[ID|PREFIX|latest]", shell_complete=session_ids)
@run_options("resume", "dialect", "preset", "plan")
@common_options
@click.pass_context
def command(ctx: click.Context, flags: RunFlags, session: str) -> None:
    """Go on with a session where it stopped, in the directory where it worked.

    How it plans was settled when it began and stays. With -p or with input on stdin it does one job.
    """
    from onplan.cli.start import start

    ctx.exit(start(replace(flags, resume=session)))
