"""`onplan trust`: which directories may bring settings, hooks and servers."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from onplan.cli.options import RunFlags, common_options


@click.command(
    "trust",
    short_help="Trust a directory to bring settings and hooks, or take that back.",
    epilog="\b\nExample:\n  onplan trust\n  onplan trust ~/src/thing --revoke\n  onplan trust --list",
)
@click.argument("directory", required=False, metavar="[DIR]")
@click.option("--revoke", is_flag=True, help="Trust it no more, and do not ask about it.")
@click.option("--list", "as_list", is_flag=True, help="What was said of which directory.")
@common_options
def command(flags: RunFlags, directory: str | None, revoke: bool, as_list: bool) -> None:
    """Trust DIR (default: the current directory) with all that is in it: its settings files may then allow
    calls and run commands as hooks. Without trust they can only forbid. Trust covers subfolders, except that
    of your home directory and of /, and is remembered until you take it back."""
    from onplan.cli.view.screen import screen_on
    from onplan.config import data_dir, here
    from onplan.trust import brought_by, real_path, remember

    screen = screen_on(sys.stdout, colour=flags.colour)
    if as_list:
        if directory or revoke:
            raise click.UsageError("--list stands alone")
        screen.lines(_listed(data_dir()))
        return
    root = real_path(Path(directory).expanduser() if directory else here())
    remember(data_dir(), root, not revoke)
    screen.line("not trusted: " if revoke else "trusted: ", str(root))
    brought = ", ".join(brought_by(root))
    if brought and not revoke:
        screen.say(f"It brings {brought}; they count from the next start on.")


def _listed(home: Path):
    from onplan.cli.view.screen import Line, Span
    from onplan.trust import load_trust

    trust = load_trust(home)
    lines: list[Line] = [(Span(trust.warning, "yellow"),)] if trust.warning else []
    for directory, trusted in sorted(trust.directories.items()):
        lines.append(
            (
                Span("trusted    " if trusted else "not trusted", "green" if trusted else "yellow"),
                f"  {directory}",
            )
        )
    return lines or [(Span("nothing was said of any directory", "dim"),)]
