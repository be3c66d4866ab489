"""The calls that run now, each with how long and the last lines of what it put out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onplan.cli.view.calls import call_line
from onplan.cli.view.screen import Line, Span, fit_spans, safe_span
from onplan.cli.view.status import elapsed
from onplan.messages import Call
from onplan.plan.text import cells, one_line

_OUTPUT_ROWS = 4
_KEPT = 4_000
"""Characters of output that are kept to show the end of them."""
_TELLS_AFTER = 1.0
"""Seconds after which it is said how long a call runs."""
_MOST = 4


@dataclass(slots=True)
class _Running:
    call: Call
    since: float
    output: str = ""


class RunningCalls:
    """What started and has no result yet, in the order in which it started."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._running: dict[str, _Running] = {}

    @property
    def told(self) -> str:
        """What runs, in a few words; empty if nothing does."""
        names = list(dict.fromkeys(one.call.name for one in self._running.values()))
        return f"Running {', '.join(names[:_MOST])}" if names else ""

    def started(self, call: Call) -> None:
        self._running[call.id] = _Running(call, self._clock())

    def heard(self, call_id: str, text: str) -> None:
        """A piece of the output of a call; of one that does not run it is dropped."""
        if one := self._running.get(call_id):
            one.output = (one.output + text)[-_KEPT:]

    def ended(self, call_id: str) -> bool:
        """Whether the call was the one that started last."""
        is_last = next(reversed(self._running), None) == call_id
        self._running.pop(call_id, None)
        return is_last

    def clear(self) -> None:
        self._running.clear()

    def lines(self, width: int | None) -> Iterator[Line]:
        """Each call, and the end of its output where it runs alone."""
        running = list(self._running.values())
        alone = len(running) == 1
        for one in running[-_MOST:]:
            yield self._head(one, width)
            if alone:
                rows = [row for row in one.output.split("\n") if one_line(row).strip()]
                yield from ((Span(f"  │ {row.expandtabs(4)}", "dim"),) for row in rows[-_OUTPUT_ROWS:])
        if len(running) > _MOST:
            yield (Span(f"  and {len(running) - _MOST} more", "dim"),)

    def _head(self, one: _Running, width: int | None) -> Line:
        seconds = self._clock() - one.since
        told = f"  {elapsed(seconds)}" if seconds >= _TELLS_AFTER else ""
        spans = [safe_span(span) for span in call_line(one.call)]
        room = None if width is None else max(1, width - cells(told))
        return (*fit_spans(spans, room), Span(told, "dim"))
