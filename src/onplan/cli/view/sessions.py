"""The list of sessions as lines: one each where there is room, else two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from onplan.cli.view.screen import Line, Prose, Span, Spans
from onplan.cli.view.words import dollars
from onplan.plan.text import one_line, pad
from onplan.protocols import SessionInfo

if TYPE_CHECKING:
    from onplan.cli.search import Place

_WIDE = 80
_COLUMNS = (("id", 8), ("age", 4), ("todos", 5), ("cost", 7), ("ended", 11))


def session_lines(sessions: Sequence[SessionInfo], *, now: float, width: int | None) -> Iterator[Line]:
    """The sessions, for a screen of `width` cells (`None`: everything on one line)."""
    if not sessions:
        yield ('no sessions yet; onplan -p "…" begins one',)
        return
    if width is None or width >= _WIDE:
        heading = "  ".join(pad(name, size) for name, size in _COLUMNS)
        yield (Span(f"{heading}  title", "dim"),)
    for session in sessions:
        yield from _session(session, now, width)


def _session(session: SessionInfo, now: float, width: int | None) -> Iterator[Line]:
    todos = f"{session.done}/{session.total}" if session.total else "-"
    cost = "-" if session.cost is None else dollars(session.cost)
    facts = (age(now - session.updated), todos, cost, one_line(session.ended).replace("_", " ") or "-")
    if width is None or width >= _WIDE:
        facts = tuple(pad(fact, size) for fact, (_, size) in zip(facts, _COLUMNS[1:], strict=True))
    front: Spans = (Span(pad(one_line(session.id), 8), "bold"), "  ", "  ".join(facts))
    title = one_line(session.title) or "(untitled)"
    if width is None:
        yield (*front, "  ", title, Span(f"  {session.cwd}", "dim"))
    elif width >= _WIDE:
        yield (*front, "  ", title)
        yield Prose((Span(f"{'':10}{session.cwd}", "dim"),), 10)
    else:
        yield front
        yield ("  ", title)
        yield Prose((Span(f"  {session.cwd}", "dim"),))


def found_lines(
    session: SessionInfo, places: Sequence[Place], *, now: float, width: int | None
) -> Iterator[Line]:
    """A session in which something was found, and where: the number of the record, who said it, the words."""
    title = one_line(session.title) or "(untitled)"
    facts = f"  {age(now - session.updated)}  {session.cwd}"
    yield (Span(one_line(session.id), "bold"), f"  {title}", Span(facts, "dim"))
    for place in places:
        yield Prose((Span(f"{place.record:6} {place.by}  ", "dim"), place.text), 8)


def age(seconds: float) -> str:
    """`now`, `5m`, `3h`, `2d`, `9w`."""
    if seconds >= 14 * 86_400:
        return f"{int(seconds // (7 * 86_400))}w"
    for size, letter in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{letter}"
    return "now"
