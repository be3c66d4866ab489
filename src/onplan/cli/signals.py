"""Signals as calls in the event loop, from the first line of a run to the last, without a gap between."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

HANGS_AFTER = 1.0
"""Seconds after which more Ctrl-C leave although the cancelled turn has not ended."""

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def leave_now(code: int) -> None:
    """Leave although something hangs. All that counts is in the log; the session's holder is dead then."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            continue
    os._exit(code)


class Interruptible(Protocol):
    """An agent, as far as signals are concerned: `interrupt` answers whether a turn was running."""

    def interrupt(self) -> bool: ...


class Interruption:
    """What signals have asked of a run so far: to end a turn, or to leave (`code`: 128 + the signal)."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        leave_now: Callable[[int], object] = leave_now,
    ) -> None:
        self.code: int | None = None
        self.on_leave: Callable[[], object] = _nothing
        self._agent: Interruptible | None = None
        self._clock = clock
        self.leave_now = leave_now
        self._first: float | None = None

    def watch(self, agent: Interruptible) -> None:
        """The agent whose turns are to be interrupted."""
        self._agent = agent

    def cancel_turn(self) -> bool:
        """Interrupt the running turn; if that hangs for a second and is asked again, leave at once.

        `False` if no turn is running.
        """
        if self._agent is None or not self._agent.interrupt():
            self._first = None
            return False
        now = self._clock()
        if self._first is None:
            self._first = now
        elif now - self._first > HANGS_AFTER:
            self.leave_now(self.code or 130)
        return True

    def turn_ended(self) -> None:
        self._first = None

    def leave(self, number: int) -> None:
        """End the running turn and the run after it."""
        self.code = 128 + number
        self.cancel_turn()
        self.on_leave()


@contextmanager
def signals(interruption: Interruption, on_interrupt: Callable[[], object]) -> Iterator[None]:
    """Handle SIGINT by `on_interrupt`, and SIGTERM and SIGHUP by leaving, inside a running loop."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, on_interrupt)
    for number in _ENDING:
        loop.add_signal_handler(number, interruption.leave, number)
    try:
        yield
    finally:
        for number in _ENDING:
            loop.remove_signal_handler(number)
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)


def _nothing() -> None: ...
