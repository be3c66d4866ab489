"""Reads lines from the person's terminal in the event loop, so that a cancellation ends the reading."""

from __future__ import annotations

import asyncio
import os
from typing import TextIO

from onplan.cli.view.screen import Screen

_MOST = 65_536


class Interrupted(Exception):
    """Ctrl-C while a line was being read."""


class Terminal:
    """The person's keyboard. One reader at a time.

    Reads through the loop's selector and never in a thread: a thread in `read(2)` would outlive a cancelled
    question and eat the next answer. Line editing is the terminal's own.
    """

    def __init__(self, descriptor: int, screen: Screen) -> None:
        self.screen = screen
        self._descriptor = descriptor
        self._pending = b""
        self._waiting: asyncio.Future[None] | None = None

    async def read_line(self, prompt: str) -> str | None:
        """What the person types after `prompt`, without the line's end; `None` at the end of input.

        Raises `Interrupted` when `interrupt` is called meanwhile. Cancellation passes through.
        """
        self.screen.prompt(prompt)
        while b"\n" not in self._pending:
            await self._readable()
            try:
                data = os.read(self._descriptor, _MOST)
            except BlockingIOError:
                continue
            except OSError:
                data = b""  # a terminal that was closed answers EIO
            if not data:
                self.screen.line()
                line, self._pending = self._pending, b""
                return line.decode("utf-8", "replace") if line else None
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    def forget(self) -> None:
        """Drop what was typed ahead: it was no answer to a question that is asked only now."""
        import termios

        self._pending = b""
        try:
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
        except termios.error:
            return

    def interrupt(self) -> bool:
        """End a `read_line` under way with `Interrupted`; `False` if there is none."""
        waiting = self._waiting
        if waiting is None or waiting.done():
            return False
        self._pending = b""
        waiting.set_exception(Interrupted())
        return True

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[None] = loop.create_future()

        def ready() -> None:
            if not waiting.done():
                waiting.set_result(None)

        self._waiting = waiting
        loop.add_reader(self._descriptor, ready)
        try:
            await waiting
        finally:
            loop.remove_reader(self._descriptor)
            self._waiting = None


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a standard stream is there, open, and a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
