"""What stands above the first prompt of a session: three lines, and what asks for attention."""

from __future__ import annotations

from pathlib import Path

from onplan._version import __version__
from onplan.cli.agents import Running
from onplan.cli.surroundings import told_files, told_notes
from onplan.cli.view.screen import Line, Prose, Span, Spans
from onplan.cli.view.words import short_path
from onplan.config import DEMO
from onplan.context import GitState, git_state
from onplan.plan.text import cells, one_line

_GAP = " · "
_LEAST = 20
"""Cells for the directory."""


async def opening_lines(run: Running, width: int | None) -> list[Line]:
    """What is open and where, what was found there, and the way on. One row each where `width` allows it."""
    return [
        _title(run.agent.model.name, run.root, width),
        *(Prose((Span(told, "dim"),)) for told in _found(run, await git_state(run.root), width)),
        *told_notes(run.context),
        Prose((Span(_way_on(run), "dim"),)),
    ]


def _title(model: str, root: Path, width: int | None) -> Spans:
    """`onplan 0.1.0 · demo in ~/work/tidemark`; of a long path the end."""
    front = f"{_GAP}{model} in "
    name = f"onplan {__version__}"
    room = None if width is None else max(_LEAST, width - cells(name + front))
    return (Span(name, "bold"), front, _end_of(short_path(root), room))


def _found(run: Running, state: GitState | None, width: int | None) -> list[str]:
    """Instruction files and what is not committed, beside each other where both have room."""
    found = [told for told in (told_files(run.context), _not_committed(state) if state else "") if told]
    joined = _GAP.join(found)
    return found if width is not None and cells(joined) > width else [joined] if joined else []


def _not_committed(state: GitState) -> str:
    counts = ((len(state.changed), "changed"), (len(state.untracked), "new"))
    told = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"not committed: {told}{f' (on {one_line(state.branch)})' if state.branch else ''}" if told else ""


def _end_of(path: str, room: int | None) -> str:
    while room is not None and cells(path) > room and "/" in path.removeprefix("…/"):
        path = f"…/{path.removeprefix('…/').partition('/')[2]}"
    return path


def _way_on(run: Running) -> str:
    config = run.config
    if config.named:
        asks = f"Ask the demo for a README{_GAP}" if config.model == DEMO else ""
        return f"{asks}/help lists the commands, Ctrl-D leaves"
    if config.model == DEMO:
        return f"No model is set (/model says how); ask the demo for a README{_GAP}/help for more"
    cap = "" if config.max_cost is None else f", at most ${config.max_cost:.2f} a turn"
    return f"By the key that is set{cap}; /model names another{_GAP}/help"
