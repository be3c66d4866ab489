"""The stream behind a screen whose output goes above the prompt: whole lines, each once."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TextIO


class Above(io.TextIOBase):
    """Passes text on to `stream`; while a prompt is shown, to the prompt, which makes room for it first.

    A line that has no end yet waits for it there: what a prompt stands below cannot be gone on with.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._show: Callable[[str], None] | None = None
        self._held = ""

    def hand_over(self, show: Callable[[str], None]) -> None:
        """From now on `show` gets whole lines."""
        self._show = show

    def take_back(self) -> None:
        """From now on the stream gets everything, beginning with a line that was not whole."""
        self._show = None
        held, self._held = self._held, ""
        self._stream.write(held)

    def write(self, s: str, /) -> int:
        if self._show is None:
            return self._stream.write(s)
        whole, newline, rest = (self._held + s).rpartition("\n")
        self._held = rest
        if newline:
            self._show(whole + newline)
        return len(s)

    def flush(self) -> None:
        if self._show is None:
            self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()
