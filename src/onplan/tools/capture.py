"""What a command prints: its beginning and end kept within bounds, shown while it comes; starts nothing."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import io
import os
import threading
import time
from collections.abc import Callable

Progress = Callable[[str], None]

_CHUNK = 65_536
_PIPE_AT_MOST = 1 << 20
_LATE_EVERY = 0.02
_PROGRESS_EVERY = 0.1
_PROGRESS_CHARACTERS = 4_000


class Capture:
    """Decodes a stream of bytes and keeps its beginning and its end, in memory bounded by `limit`.

    What it answers depends on the bytes alone, never on how they were cut into pieces.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = io.StringIO()
        self._tail = io.StringIO()
        self._characters = 0
        self._newlines = 0

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """Take the next bytes; answers the text that they completed."""
        text = self._decoder.decode(data, final)
        missing = max(0, self._limit - self._characters)
        self._characters += len(text)
        self._newlines += text.count("\n")
        if missing:
            self._head.write(text[:missing])
        self._tail.write(text[missing:][-self._limit :])
        if self._tail.tell() > 4 * self._limit:
            kept = self._tail.getvalue()[-self._limit :]
            self._tail = io.StringIO()
            self._tail.write(kept)
        return text

    def excerpt(self, room: int) -> tuple[str, int]:
        """The text in at most `room` characters (never more than `limit`), and how many it leaves out.

        What is left out is the middle, cut at line ends where some are near; a line in its place says
        how much it was.
        """
        room = min(room, self._limit)
        if self._characters <= room:
            return self._head.getvalue(), 0
        keep = room - len(_omission(self._characters, self._newlines + 2)) - 2
        if keep <= 0:
            return "", self._characters
        first, last = _head_of(self._head.getvalue(), keep * 2 // 5), self._last(keep - keep * 2 // 5)
        omitted = self._characters - len(first) - len(last)
        lines = self._newlines - first.count("\n") - last.count("\n")
        separator = "" if not first or first.endswith("\n") else "\n"
        return f"{first}{separator}{_omission(omitted, max(1, lines))}\n{last}", omitted

    def _last(self, size: int) -> str:
        kept = self._tail.getvalue()
        if len(kept) < size:
            kept = self._head.getvalue() + kept
        return _tail_of(kept, size)


def _head_of(text: str, size: int) -> str:
    cut = text[:size]
    line_end = cut.rfind("\n") + 1
    return cut[:line_end] if line_end > len(cut) - len(cut) // 8 else cut


def _tail_of(text: str, size: int) -> str:
    cut = text[len(text) - size :]
    line_start = cut.find("\n") + 1
    return cut[line_start:] if 0 < line_start < len(cut) // 8 else cut


def _omission(characters: int, lines: int) -> str:
    return (
        f"[... {characters:,} characters ({lines:,} line{'' if lines == 1 else 's'}) omitted: "
        "filter the output, or send it to a file and read parts ...]"
    )


class Reader:
    """Takes what arrives on a pipe into a capture, and shows it."""

    def __init__(self, pipe: int, capture: Capture, progress: Progress) -> None:
        self.capture = capture
        self.ended = False
        self._pipe = pipe
        self._shown = _Shown(progress)
        os.set_blocking(pipe, False)
        asyncio.get_running_loop().add_reader(pipe, self._take)

    def drain(self) -> None:
        """Take what is in the pipe now, which is all that a process wrote that has exited."""
        taken = 0
        while taken < _PIPE_AT_MOST and (size := self._take()):
            taken += size

    def close(self) -> None:
        """Take nothing more. A pipe that is still written to is emptied elsewhere."""
        asyncio.get_running_loop().remove_reader(self._pipe)
        if self.ended:
            os.close(self._pipe)
        else:
            self.capture.feed(b"", final=True)
            threading.Thread(target=_discard, args=(self._pipe,), daemon=True).start()
        self._shown.close()

    def _take(self) -> int:
        if self.ended:
            return 0
        try:
            data = os.read(self._pipe, _CHUNK)
        except BlockingIOError:
            return 0
        if not data:
            self.ended = True
            asyncio.get_running_loop().remove_reader(self._pipe)
        self._shown.add(self.capture.feed(data, final=not data))
        return len(data)


def _discard(pipe: int) -> None:
    # A closed pipe would end a background server at its next line, a full one would stop it.
    os.set_blocking(pipe, True)
    with contextlib.suppress(OSError), open(pipe, "rb", buffering=0) as late:
        while late.read(_CHUNK):
            time.sleep(_LATE_EVERY)


class _Shown:
    """Passes text on as it comes, several times a second at most, and of a flood only the newest."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._pending = ""
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        self._pending = (self._pending + text)[-_PROGRESS_CHARACTERS:]
        if self._timer is None:
            self._show()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._pending:
            self._progress(self._pending)

    def _show(self) -> None:
        self._timer = None
        if not self._pending:
            return
        text, self._pending = self._pending, ""
        self._timer = asyncio.get_running_loop().call_later(_PROGRESS_EVERY, self._show)
        self._progress(text)
