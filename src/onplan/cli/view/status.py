"""The line below the prompt and the line of the one who works: state in, spans out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from onplan.cli.view.screen import Span, Spans, Style
from onplan.cli.view.words import counted
from onplan.events import Event
from onplan.messages import Assistant, Message
from onplan.plan.text import cells, fit, one_line

if TYPE_CHECKING:
    from onplan.agent import Agent
    from onplan.models.prices import Prices

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_SECONDS = 0.12
"""Seconds that one picture of the spinner stands."""

_LONGEST_NAME = 24
_GAP = " · "


class Meter:
    """Tokens and dollars of a session, counted as the replies come. `cost`: `None` where a model has no
    known price."""

    def __init__(self, prices: Prices, messages: Iterable[Message] = ()) -> None:
        self._prices = prices
        self.tokens = 0
        self.cost: float | None = 0.0
        for message in messages:
            self.hear(message)

    def hear(self, event: Event) -> None:
        """A listener of an agent."""
        if not isinstance(event, Assistant):
            return
        self.tokens += event.usage.total
        cost = self._prices.of_messages([event])
        self.cost = None if cost is None or self.cost is None else self.cost + cost


@dataclass(frozen=True, slots=True)
class Status:
    """What the status line tells. `distance`: messages since the plan was last recited; `open`, `total`:
    todos."""

    model: str
    session: str
    tokens: int = 0
    cost: float | None = None
    auto: bool = False
    open: int = 0
    total: int = 0
    distance: int = 0


def status_of(agent: Agent, meter: Meter, *, auto: bool) -> Status:
    """The status of an agent now; cheap enough to be asked for at every redraw."""
    plan = agent.plan
    return Status(
        model=agent.model.name,
        session=agent.session_id,
        tokens=meter.tokens,
        cost=meter.cost,
        auto=auto,
        open=len(plan.open),
        total=len(plan),
        distance=agent.plan_state.distance.messages,
    )


def status_spans(status: Status, width: int) -> Spans:
    """One line of at most `width` cells; what matters least is left out first."""
    parts = _parts(status)
    while len(parts) > 1 and _width(parts) > width:
        parts.remove(max(parts, key=lambda part: part.rank))
    if _width(parts) > width:
        parts = [replace(parts[0], text=fit(parts[0].text, width))]
    spans: list[Span | str] = []
    for part in parts:
        spans += [Span(_GAP, "dim")] if spans else []
        spans.append(Span(part.text, part.style))
    return tuple(spans)


@dataclass(frozen=True, slots=True)
class _Part:
    rank: int
    text: str
    style: Style = "dim"


def _parts(status: Status) -> list[_Part]:
    """From left to right; the greater the rank, the sooner a part is left out."""
    parts = [_Part(0, "AUTO", "yellow")] if status.auto else []
    parts.append(_Part(2, fit(one_line(status.model).rpartition(":")[2] or status.model, _LONGEST_NAME)))
    if status.total:
        told = f"{status.open} open" if status.open else f"{status.total}/{status.total} done"
        parts.append(_Part(1, told, "cyan" if status.open else "green"))
    if status.open and status.distance:
        parts.append(_Part(5, f"plan {counted(status.distance, 'message')} ago"))
    if status.tokens:
        parts.append(_Part(4, f"{short_number(status.tokens)} tokens"))
    if status.tokens and status.cost is not None:
        parts.append(_Part(3, f"${status.cost:.2f}" if status.cost >= 0.1 else f"${status.cost:.4f}"))
    parts.append(_Part(6, one_line(status.session)))
    return parts


def _width(parts: Sequence[_Part]) -> int:
    return sum(cells(part.text) for part in parts) + len(_GAP) * (len(parts) - 1)


def working_spans(doing: str, seconds: float, width: int | None = None) -> Spans:
    """`⠹ Writing the tests · 12s · Esc interrupts`: the picture turns with the seconds.

    `doing`: what is done, cut so that the time and the way out have room.
    """
    frame = FRAMES[int(seconds / FRAME_SECONDS) % len(FRAMES)]
    tail = f"{_GAP}{elapsed(seconds)}{_GAP}Esc interrupts"
    told = one_line(doing)
    if width is not None:
        room = width - 2 - len(tail)
        if room < 8:
            tail, room = f"{_GAP}{elapsed(seconds)}", width - 2 - len(_GAP) - len(elapsed(seconds))
        told = fit(told, room)
    return (Span(f"{frame} ", "cyan"), Span(told, "bold"), Span(tail, "dim"))


def elapsed(seconds: float) -> str:
    """`8s`, `2m05s`, `1h02m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3_600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3_600}h{whole % 3_600 // 60:02}m"


def short_number(number: int) -> str:
    """`999`, `12.4k`, `3.1M`."""
    if number < 1_000:
        return str(number)
    size, letter = (1_000_000, "M") if number >= 999_950 else (1_000, "k")
    return f"{number / size:.1f}".removesuffix(".0") + letter
