"""Prints above the prompt: takes the prompt away, writes, and has it drawn again."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import in_terminal


class Printing:
    """Whole lines in the order in which they come; those of one moment together, so that nothing flickers.

    `is_held`: the terminal is another program's, and lines wait.
    """

    def __init__(self, app: Application[Any]) -> None:
        self.is_held = False
        self._app = app
        self._pending = ""
        self._is_due = False

    def show(self, text: str) -> None:
        """Print `text` soon."""
        self._pending += text
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Print what waits now."""
        self._is_due = False
        if not self._pending or self.is_held:
            return
        text, self._pending = self._pending, ""
        with contextlib.suppress(OSError):  # a terminal that went away ends the input too
            self._app.renderer.erase()
            sys.stdout.write(text)
            sys.stdout.flush()
        self._app.invalidate()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """The terminal belongs to another program inside of the block."""
        async with in_terminal():
            self.is_held = True
            try:
                yield
            finally:
                self.is_held = False
        self.flush()
