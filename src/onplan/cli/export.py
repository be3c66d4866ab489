"""`onplan export`: a session as a file for others."""

from __future__ import annotations

import asyncio
import sys
from io import StringIO
from typing import TYPE_CHECKING

import click

from onplan.cli.completion import session_ids
from onplan.cli.options import RunFlags, common_options

if TYPE_CHECKING:
    from onplan.cli.logs import SessionLog

FORMATS = ("md", "html", "json", "anthropic", "openai")


@click.command(
    "export",
    short_help="Write a session as Markdown, a player, records, or a provider's request.",
    epilog=(
        "\b\nExample:\n  onplan export > run.md\n  onplan export 3f2a --format html -o run.html\n"
        "  onplan export --format anthropic -o request.json"
    ),
)
@click.argument("session", default="latest", metavar="[ID|PREFIX|latest]", shell_complete=session_ids)
@click.option(
    "--format",
    "to",
    type=click.Choice(FORMATS),
    default="md",
    help="A transcript (the default); the player in one file; all records; or the body of a request.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE; else to stdout.")
@common_options
def command(flags: RunFlags, session: str, to: str, output: str | None) -> None:
    """Write a session for others. What looks like a key is masked in every format; look at the file all the
    same before you hand it on. The session is only read, whoever has it open."""
    from onplan.cli.logs import load
    from onplan.cli.runs import masks
    from onplan.cli.view.screen import screen_on

    if to == "html" and output is None and sys.stdout.isatty():
        raise click.UsageError("html is for a file: say where with -o FILE")
    masked = masks()
    log = asyncio.run(load(session))
    text = written(log, to, masked=masked)  # whole, before a file is touched
    if output is None:
        sys.stdout.write(text)
        return
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)
    screen_on(sys.stdout, colour=flags.colour).say(f"wrote {output}")


def written(log: SessionLog, to: str, *, masked: bool) -> str:
    """The session in this format, harmless on a terminal."""
    from onplan.cli.runs import folded
    from onplan.cli.view.screen import Screen

    stream = StringIO()
    screen = Screen(stream)
    screen.masked = masked
    match to:
        case "md":
            from onplan.web.markdown import markdown

            screen.text(markdown(folded(log, masked=masked)))
        case "html":
            from onplan.web.html import single_file

            stream.write(single_file(folded(log, masked=masked)))
        case "json" | "anthropic" | "openai":
            from onplan.web.export import exported

            screen.json(exported(log.info, log.stamped, to, masked=masked))
        case _:
            raise ValueError(to)
    return stream.getvalue()
