"""What cancelling a task means here: told from a tool's own giving up, and never in the middle of a write."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

INTERRUPTS = (asyncio.CancelledError, KeyboardInterrupt)
"""What ends a turn from outside: a `KeyboardInterrupt` that is raised inside of a turn means the turn."""


def is_cancelled() -> bool:
    """Whether somebody cancelled the running task: a `CancelledError` may also come from below."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def raise_if_cancelled() -> None:
    """For where a cancellation may have been swallowed below, or put off by `unbroken`."""
    if is_cancelled():
        await asyncio.sleep(0)  # takes up what was put off: raising alone would leave it to come again
        raise asyncio.CancelledError


async def unbroken(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which runs to its end also when this task is cancelled meanwhile.

    The cancellation is put off, not lost: it is raised where the task awaits next.
    """
    task, cancelled = await _to_its_end(work)
    if cancelled and (current := asyncio.current_task()) is not None:
        current.uncancel()
        current.cancel()
    return task.result()


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """As `unbroken`, for a task that passes its cancellation on by itself afterwards."""
    task, _ = await _to_its_end(work)
    return task.result()


async def _to_its_end(work: Coroutine[Any, Any, T]) -> tuple[asyncio.Task[T], bool]:
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    return task, cancelled
