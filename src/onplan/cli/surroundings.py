"""What a run finds in its directory, instruction files and uncommitted changes, and leaves: its cost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from onplan.agent import Agent
from onplan.cli.spending import spending_so_far
from onplan.cli.view.screen import Line, Prose, Span
from onplan.context import Context, git_state, load_context, own_files
from onplan.errors import OnplanError
from onplan.protocols import SessionStore
from onplan.settingsfile import places
from onplan.spending import Spending

_TARGET = "AGENTS.md"
_ASKED = (
    "It is what a coding agent reads before it works here. Look first: at the layout, the manifests, how "
    "things are built, tested and checked, and at a few files for their style. Then say in at most 60 lines "
    "what the project is, where things are, the commands to set up, build, test and check it (only those "
    "that you found in its files or have run), and the conventions that the code shows. No general advice, "
    "nothing that you have not seen here."
)


def surroundings(root: Path) -> Context:
    """The instruction files that count in `root`."""
    where = places()
    return load_context(root, own_files(where.config, where.claude))


async def start_lines(context: Context, root: Path) -> list[Line]:
    """What a person is told of it when a run begins; nothing where there is nothing."""
    lines: list[Line] = [Prose((Span(told_files(context), "dim"),))] if context.files else []
    lines += told_notes(context)
    state = await git_state(root)
    if state and not state.is_clean:
        lines.append(Prose((Span(f"git: {state.summary()}; onplan commits nothing on its own", "dim"),)))
    return lines


def told_files(context: Context) -> str:
    """Which instruction files are read, the most general first; empty for none."""
    return f"instructions: {', '.join(file.name for file in context.files)}" if context.files else ""


def told_notes(context: Context) -> Iterator[Line]:
    """What of them is not read."""
    return (Prose((Span(f"onplan: {note}", "yellow"),)) for note in context.notes)


def init_message(root: Path) -> str:
    """What `/init` says to the model in the person's name."""
    task = (
        f"Improve the {_TARGET} of this project: keep what is right in it, correct what no longer is, add "
        "what is missing."
        if (root / _TARGET).is_file()
        else f"Write an {_TARGET} for this project."
    )
    return f"{task} {_ASKED}"


async def keep_cost(store: SessionStore, agent: Agent, spending: Spending | None = None) -> None:
    """Write what the session cost so far into its line of the list. A store that fails loses only that."""
    spent = (spending or await spending_so_far(store, agent)).total
    cost = spent.cost if spent.usage.total else None
    with contextlib.suppress(OnplanError):
        await store.describe(agent.session_id, {"cost": cost})
