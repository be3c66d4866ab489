"""The prompt as it is drawn: the real program in a pseudo-terminal, and what is on its screen."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable

import pexpect
import pyte

PATIENCE = 20.0
CTRL_C, CTRL_D, CTRL_G, CTRL_O, CTRL_T, ESC, ENTER = "\x03", "\x04", "\x07", "\x0f", "\x14", "\x1b", "\r"


class Drawn:
    """Somebody at a terminal on which the prompt is drawn. pyte cuts lines when it gets narrower, as xterm
    does, and answers no question that a program asks a terminal."""

    def __init__(self, *arguments: str, columns: int = 80, rows: int = 40, **environ: str) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=5_000, ratio=0.001)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        environment = {**os.environ, "TERM": "xterm-256color", "XTERM_VERSION": "pyte", "SHELL": "/bin/sh"}
        self.process = pexpect.spawn(
            sys.executable,
            ["-m", "onplan", *arguments],
            dimensions=(rows, columns),
            env={**environment, **environ},
            timeout=PATIENCE,
        )

    # --- the screen ---

    @property
    def rows(self) -> list[str]:
        """The screen, without the blank rows at its end."""
        rows = [row.rstrip() for row in self._screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def all_rows(self) -> list[str]:
        """What scrolled away, and the screen."""
        columns = range(self._screen.columns)
        above = ["".join(row[x].data for x in columns).rstrip() for row in self._screen.history.top]
        return [*above, *self.rows]

    @property
    def text(self) -> str:
        """All rows as one text."""
        return "\n".join(self.all_rows)

    @property
    def status(self) -> str:
        """The last row."""
        return self.rows[-1] if self.rows else ""

    @property
    def input(self) -> str:
        """The row that the cursor is in."""
        return self._screen.display[self._screen.cursor.y].rstrip()

    def colours_of(self, text: str) -> set[str]:
        """The colours in which a text on the screen is drawn."""
        for y, row in enumerate(self._screen.display):
            if (x := row.find(text)) >= 0:
                return {self._screen.buffer[y][x + n].fg for n in range(len(text))}
        raise AssertionError(f"{text!r} is not on the screen: {self._told()}")

    # --- what the person does ---

    def types(self, text: str) -> None:
        self.process.send(text)

    def pastes(self, text: str) -> None:
        self.process.send(f"\x1b[200~{text}\x1b[201~")

    def resizes(self, columns: int, rows: int) -> None:
        self._pump()
        self._screen.resize(rows, columns)
        self.process.setwinsize(rows, columns)

    def hangs_up(self) -> None:
        """The terminal is gone: the program gets SIGHUP."""
        with contextlib.suppress(pexpect.ExceptionPexpect):  # it takes its time
            self.process.close(force=False)

    def signals(self, number: signal.Signals) -> None:
        self.process.kill(number)

    # --- what comes of it ---

    def sees(self, text: str) -> None:
        """Wait until `text` is on the screen, in one row or wrapped."""
        self.waits(
            lambda: text in "\n".join(self.rows) or text in self._unwrapped(), f"{text!r} did not come"
        )

    def _unwrapped(self) -> str:
        return " ".join(" ".join(self.rows).split())

    def loses(self, text: str) -> None:
        """Wait until `text` is no more on the screen."""
        self.waits(lambda: not any(text in row for row in self.rows), f"{text!r} did not go")

    def sees_prompt(self) -> None:
        """Wait until a message is waited for and nothing is under way."""
        self.waits(lambda: self.input == "›" and "Esc interrupts" not in "\n".join(self.rows), "no prompt")

    def waits(self, until: Callable[[], bool], told: str) -> None:
        end = time.monotonic() + PATIENCE
        while not until():
            if time.monotonic() > end or not self._pump():
                if until():
                    return
                raise AssertionError(f"{told}: {self._told()}")

    def settles(self) -> None:
        """Wait until nothing more is drawn for a moment."""
        quiet = time.monotonic()
        while time.monotonic() - quiet < 0.4:
            before = len(self.raw)
            if not self._pump():
                return
            if len(self.raw) != before:
                quiet = time.monotonic()

    def leaves(self) -> int:
        """Wait for the end; answers the exit code."""
        end = time.monotonic() + PATIENCE
        while self._pump() and time.monotonic() < end:
            pass
        self.process.close(force=False)
        return self.process.exitstatus if self.process.exitstatus is not None else -1

    def close(self) -> None:
        try:
            self.process.close(force=True)
        except pexpect.ExceptionPexpect:  # it was killed, and is not gone yet
            self.process.wait()

    def _pump(self) -> bool:
        try:
            data = self.process.read_nonblocking(65_536, 0.05)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return True

    def _told(self) -> str:
        return "\n" + "\n".join(f"| {row}" for row in self.rows)
