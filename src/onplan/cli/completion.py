"""`onplan completion`: the shells' completion scripts, and what completes: sessions, revisions, tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from onplan.cli.main import COMPLETES
from onplan.cli.options import RunFlags, common_options

_MOST = 30


@click.command(
    "completion",
    short_help="Print the completion script for a shell.",
    epilog=(
        "\b\nExamples:\n"
        '  eval "$(onplan completion bash)"               in ~/.bashrc\n'
        '  eval "$(onplan completion zsh)"                in ~/.zshrc, below compinit\n'
        "  onplan completion fish | source                in ~/.config/fish/config.fish"
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common_options
@click.pass_context
def command(ctx: click.Context, flags: RunFlags, shell: str) -> None:
    """Print the script that teaches a shell to complete commands, options, sessions and revisions."""
    from onplan.cli.view.screen import screen_on

    found = get_completion_class(shell)
    assert found is not None
    screen_on(sys.stdout, colour=False).text(found(ctx.find_root().command, {}, "onplan", COMPLETES).source())


# --- what completes ---------------------------------------------------------------------------------


def session_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """The newest sessions, those of this directory first, by id with their titles. Never raises."""
    import asyncio

    if not _store_file().exists():
        return []
    try:
        return asyncio.run(_session_ids(incomplete))
    except Exception:  # noqa: BLE001 - a shell that asks for completions must not be answered with an error
        return []


async def _session_ids(incomplete: str) -> list[CompletionItem[Any]]:
    from onplan.config import open_store
    from onplan.plan.text import one_line

    store = open_store()
    try:
        known = await store.sessions()
    finally:
        await store.close()
    here = str(Path.cwd())
    found = [info for info in known if info.id.startswith(incomplete)]
    found.sort(key=lambda info: info.cwd != here)  # stable: the newest stay first
    latest = (
        [CompletionItem("latest", help="the newest")] if "latest".startswith(incomplete) and known else []
    )
    return latest + [CompletionItem(info.id, help=one_line(info.title)) for info in found[:_MOST]]


def revisions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """The plan's revisions of the session that is meant, with what each one did. Never raises."""
    import asyncio

    if not _store_file().exists():
        return []
    try:
        session = str(ctx.params.get("session") or "latest")
        return [item for item in asyncio.run(_revisions(session)) if item.value.startswith(incomplete)]
    except Exception:  # noqa: BLE001 - as above
        return []


def points(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """The revisions as points to fork at: `r3`."""
    found = revisions(ctx, param, incomplete.removeprefix("r"))
    return [CompletionItem(f"r{item.value}", help=item.help) for item in found]


async def _revisions(session: str) -> list[CompletionItem[Any]]:
    from onplan.cli.logs import load_from
    from onplan.cli.view.plan import diff_summary
    from onplan.config import open_store

    store = open_store()
    try:
        log = await load_from(store, session)
    finally:
        await store.close()
    newest = log.plan_state().ledger.revisions[::-1]
    return [CompletionItem(str(item.number), help=diff_summary(item.diff)) for item in newest]


def tool_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    """The tools of the coding agent, the plan's among them."""
    from onplan.coding import coding_tools, quiet_tools

    names = dict.fromkeys((*quiet_tools(), *(tool.name for tool in coding_tools())))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _store_file() -> Path:
    from onplan.config import data_dir

    return data_dir() / "sessions.sqlite3"
