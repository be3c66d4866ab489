"""What is drawn around the input: what is worked at, what is queued, the plan, the status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from onplan.cli.agents import Running
from onplan.cli.view.activity import Activity
from onplan.cli.view.plan import plan_lines
from onplan.cli.view.screen import Line, Span, Spans
from onplan.cli.view.status import Meter, status_of, status_spans
from onplan.events import Event
from onplan.messages import Note
from onplan.models.prices import load_prices

_SHOWN = 3
"""Queued messages that are shown."""


class Working:
    """One open session as the prompt shows it; a listener of its agent.

    `is_busy`: whether a turn runs, or what follows from it. `queued`: what the person said meanwhile and no
    request has taken along yet.
    """

    def __init__(self, run: Running, activity: Activity) -> None:
        self.is_busy = False
        self.queued: list[str] = []
        self._shows_plan = False
        self._over = 0
        self._run = run
        self._activity = activity
        self._meter = Meter(load_prices(), run.agent.messages)

    def begin(self) -> None:
        """A turn begins. A plan that was finished before it is not told of any more."""
        self.is_busy = True
        state = self._run.agent.plan_state
        self._over = 0 if state.plan.open else state.ledger.revision

    def end(self) -> None:
        self.is_busy = False
        self.queued.clear()

    def toggle_plan(self) -> None:
        """Show the whole plan above the input, or no more."""
        self._shows_plan = not self._shows_plan

    def hear(self, event: Event) -> None:
        self._meter.hear(event)
        if isinstance(event, Note) and event.kind == "steering" and event.text in self.queued:
            self.queued.remove(event.text)

    def live(self) -> Iterator[Line]:
        """What stands above the input, apart from what was printed."""
        if self._shows_plan or self.is_busy:
            yield ()
        if self._shows_plan:
            state = self._run.agent.plan_state
            yield from plan_lines(state.plan, state.ledger.revision)
        if self.is_busy:
            yield from self._activity.live()
            yield from _queue(self.queued)

    def status(self, width: int) -> Spans:
        """What stands below it."""
        agent = self._run.agent
        status = status_of(agent, self._meter, auto=self._run.permissions.auto)
        if agent.plan_state.ledger.revision == self._over:
            status = replace(status, total=0)
        return status_spans(status, width)


def _queue(queued: Sequence[str]) -> Iterator[Line]:
    for text in queued[:_SHOWN]:
        yield (Span("  next: ", "dim"), Span(text, "cyan"))
    if len(queued) > _SHOWN:
        yield (Span(f"  and {len(queued) - _SHOWN} more", "dim"),)
