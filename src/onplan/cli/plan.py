"""`onplan plan`: a session's plan, its history, and a person's changes to it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from onplan.cli.completion import revisions, session_ids
from onplan.cli.options import RunFlags, common_options

if TYPE_CHECKING:
    from onplan.cli.logs import SessionLog
    from onplan.cli.view.screen import Screen

F = TypeVar("F", bound=Callable[..., Any])


def _session_option(function: F) -> F:
    return click.option(
        "--session",
        default="latest",
        metavar="ID",
        help="Id, prefix or `latest`. [default: latest]",
        shell_complete=session_ids,
    )(function)


def _json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="JSON instead of lines.")(function)


@click.group(
    "plan",
    short_help="Show, compare, undo, redo or edit a session's plan.",
    epilog="\b\nExample:\n  onplan plan show\n  onplan plan diff 1 3 --session 3f2a\n  onplan plan undo",
)
def command() -> None:
    """Show a session's plan and its history, or change it.

    Every accepted change is a revision: 1, 2, … A change of yours is one too, and the model is told of it.
    """


@command.command("show", epilog="\b\nExample:\n  onplan plan show --session latest")
@_session_option
@_json_option
@common_options
def show(flags: RunFlags, session: str, as_json: bool) -> None:
    """Show the plan as it stands, with its revision."""
    log, screen = _read(flags, session)
    ledger = log.plan_state().ledger
    _show(screen, log, ledger.revision, as_json)


@command.command("at", epilog="\b\nExample:\n  onplan plan at 2")
@click.argument("revision", type=click.IntRange(min=0), shell_complete=revisions)
@_session_option
@_json_option
@common_options
def at(flags: RunFlags, session: str, revision: int, as_json: bool) -> None:
    """Show the plan as it stood at REVISION (0: before the first)."""
    log, screen = _read(flags, session)
    _show(screen, log, revision, as_json)


@command.command("diff", epilog="\b\nExample:\n  onplan plan diff\n  onplan plan diff 1 3")
@click.argument("older", required=False, type=click.IntRange(min=0), metavar="[A]", shell_complete=revisions)
@click.argument("newer", required=False, type=click.IntRange(min=0), metavar="[B]", shell_complete=revisions)
@_session_option
@_json_option
@common_options
def diff(flags: RunFlags, session: str, older: int | None, newer: int | None, as_json: bool) -> None:
    """Show what changed from revision A to B. Without B: to the newest; without both: the last change."""
    from onplan.cli.view.plan import diff_lines

    log, screen = _read(flags, session)
    ledger = log.plan_state().ledger
    to = ledger.revision if newer is None else newer
    start = max(to - 1, 0) if older is None else older
    changed = ledger.diff(start, to)
    if as_json:
        screen.json({"session": log.info.id, "from": start, "to": to, "diff": changed.to_json()})
        return
    screen.line(f"r{start} → r{to}")
    lines = list(diff_lines(changed))
    screen.lines(lines or [("no todo was added, dropped or changed",)])


@command.command("stats", epilog="\b\nExample:\n  onplan plan stats --json")
@_session_option
@_json_option
@common_options
def stats(flags: RunFlags, session: str, as_json: bool) -> None:
    """Show the figures: writes, refusals, reminders, how far away the plan was, and what planning cost."""
    from onplan.cli.cost import cost_line, planning_cost
    from onplan.cli.view.timeline import figure_lines
    from onplan.events import messages_of

    log, screen = _read(flags, session)
    state, started = log.plan_state(), log.started
    cost = planning_cost(
        messages_of(tuple(log.records)),
        state.settings,
        system=started.system if started else "",
        tools=started.tools if started else (),
    )
    if as_json:
        screen.json({"session": log.info.id, "figures": state.stats.to_json(), "planning": cost.to_json()})
        return
    screen.lines(figure_lines(state.stats))
    screen.say(cost_line(cost))


@command.command("undo", epilog="\b\nExample:\n  onplan plan undo")
@_session_option
@common_options
def undo(flags: RunFlags, session: str) -> None:
    """Take the last change of the plan back, as a new revision."""
    asyncio.run(_change(flags, session, "undo"))


@command.command("redo", epilog="\b\nExample:\n  onplan plan redo")
@_session_option
@common_options
def redo(flags: RunFlags, session: str) -> None:
    """Take the last undo back."""
    asyncio.run(_change(flags, session, "redo"))


@command.command(
    "edit",
    epilog="\b\nExample:\n  onplan plan edit\n  onplan plan edit --file todos.md",
)
@click.option("--file", "source", metavar="FILE", help="Take the checklist from FILE (`-`: stdin).")
@click.option("--clear", is_flag=True, help="Leave the plan empty.")
@_session_option
@common_options
def edit(flags: RunFlags, session: str, source: str | None, clear: bool) -> None:
    """Edit the plan as a Markdown checklist in $VISUAL or $EDITOR.

    `- [ ]` is open, `- [~]` in progress, `- [x]` completed. A file without todos changes nothing.
    """
    if clear and source is not None:
        raise click.UsageError("give --file or --clear, not both")
    log, _ = _read(flags, session)
    if clear:
        asyncio.run(_change(flags, log.info.id, "edit"))
        return
    from onplan.cli.checklist import from_checklist, in_editor, read_checklist

    state = log.plan_state()
    text = in_editor(state.plan) if source is None else read_checklist(source)
    plan = from_checklist(text, state)
    asyncio.run(_change(flags, log.info.id, "edit", tuple(plan.to_json()), base=state.ledger.revision))


# --- reading ----------------------------------------------------------------------------------------


def _read(flags: RunFlags, session: str) -> tuple[SessionLog, Screen]:
    from onplan.cli.logs import load
    from onplan.cli.view.screen import screen_on

    return asyncio.run(load(session)), screen_on(sys.stdout, colour=flags.colour)


def _show(screen: Screen, log: SessionLog, revision: int, as_json: bool) -> None:
    from onplan.cli.view.plan import plan_lines

    plan = log.plan_state().ledger.at(revision)
    if as_json:
        screen.json({"session": log.info.id, "revision": revision, "todos": plan.to_json()})
        return
    screen.lines(plan_lines(plan, revision))


# --- changing ---------------------------------------------------------------------------------------


async def _change(
    flags: RunFlags,
    session: str,
    action: Literal["edit", "undo", "redo"],
    todos: tuple[dict[str, Any], ...] = (),
    base: int = 0,
) -> None:
    from onplan.cli.logs import load_from, opened
    from onplan.cli.view.plan import plan_panel
    from onplan.cli.view.screen import screen_on
    from onplan.revising import revise
    from onplan.session import InboxRequest
    from onplan.stores.holder import this_process

    screen = screen_on(sys.stdout, colour=flags.colour)
    async with opened() as store:
        name = (await store.find(session)).id
        found = await revise(store, name, InboxRequest(action, todos, base=base), this_process())
        ledger = (await load_from(store, name)).plan_state().ledger
    for reason in found.refused:
        screen.say(f"A change that was left here earlier was refused: {reason}")
    match found.done:
        case "left":
            screen.say(f"{found.held}.")
            screen.say(f"The {action} was left there: it is made before the next request to the model.")
        case "unchanged":
            screen.line("nothing changed: that is the plan already")
        case "made":
            newest = ledger.revisions[-1]
            screen.lines(plan_panel(newest.plan, newest.number, newest.diff, newest.author))
