"""`onplan play`: a session in the browser, step by step, or as one file."""

from __future__ import annotations

import asyncio
import contextlib
import sys

import click

from onplan.cli.completion import session_ids
from onplan.cli.options import RunFlags, common_options


@click.command(
    "play",
    short_help="Play a session step by step in the browser, or write the player as a file.",
    epilog="\b\nExample:\n  onplan play\n  onplan play 3f2a --html run.html",
)
@click.argument("session", default="latest", metavar="[ID|PREFIX|latest]", shell_complete=session_ids)
@click.option("--html", "output", metavar="FILE", help="Write one file that opens offline; serve nothing.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; else any free one."
)
@click.option("--open", "opens", is_flag=True, help="Open the address in the browser.")
@common_options
def command(flags: RunFlags, session: str, output: str | None, port: int, opens: bool) -> None:
    """Play a session: the graph, the context window and the plan, step by step. It is served to this machine
    only, at an address with a token in it, and follows a session that is running; there you can edit the
    plan and answer what the agent asks."""
    if output is None:
        with contextlib.suppress(KeyboardInterrupt):  # the way to end it
            asyncio.run(_serve(flags, session, port, opens))
        return
    if port or opens:
        raise click.UsageError("--html writes a file and serves nothing: leave out --port and --open")
    _write(flags, session, output)


def _write(flags: RunFlags, session: str, output: str) -> None:
    from onplan.cli.logs import load
    from onplan.cli.runs import folded, masks
    from onplan.cli.view.screen import screen_on
    from onplan.web.html import single_file

    page = single_file(folded(asyncio.run(load(session)), masked=masks()))
    with open(output, "w", encoding="utf-8") as file:
        file.write(page)
    screen = screen_on(sys.stdout, colour=flags.colour)
    screen.say(f"wrote {output} ({len(page.encode()) / 1_000_000:.1f} MB): it opens without a network")


async def _serve(flags: RunFlags, session: str, port: int, opens: bool) -> None:
    from secrets import token_hex

    from onplan.cli.logs import opened
    from onplan.cli.runs import masks, runtime
    from onplan.cli.view.screen import screen_on
    from onplan.models.prices import load_prices
    from onplan.web.following import Following

    try:
        from onplan.web.server import listen, serve
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f'the player is served by {error.name}, which is not installed: pip install "onplan[web]"; '
            "or write a file: onplan play --html run.html"
        ) from None
    screen = screen_on(sys.stdout, colour=flags.colour)
    token = token_hex(16)
    async with opened() as store:
        info = await store.find(session)
        following = Following(store, info.id, prices=load_prices(), runtime=runtime(), masked=masks())
        await following.read()
        with listen(port) as socket:
            address = f"http://127.0.0.1:{socket.getsockname()[1]}/#token={token}"
            screen.say(f"session {info.id}; Ctrl-C ends it")
            screen.text(address)
            if opens:
                _open(address)
            await serve(following, token, socket)


def _open(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
