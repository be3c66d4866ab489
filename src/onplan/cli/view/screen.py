"""The only place that writes to a terminal, a pipe or a file: safe text, fitted, coloured where wanted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Literal, TextIO, TypeAlias

from onplan.cli.view.streams import utf8
from onplan.plan.text import cells, clusters, fit, one_line, printable, visible
from onplan.secrets import mask_secrets, masked_value

Style: TypeAlias = Literal["plain", "bold", "dim", "italic", "red", "green", "yellow", "magenta", "cyan"]

_CODES: Mapping[Style, str] = {
    "plain": "",
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "magenta": "35",
    "cyan": "36",
}
_words = re.compile(r"\s+|\S+").findall
# What JSON leaves as it is and a terminal may obey or hide: DEL, C1, bidi, format characters, tags.
_unsafe_in_json = re.compile(
    "[\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e"
    "\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb"
    "\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line. Its text may come from anywhere: the screen makes it safe."""

    text: str
    style: Style = "plain"


Spans: TypeAlias = tuple[Span | str, ...]


@dataclass(frozen=True, slots=True)
class Prose:
    """A line that is wrapped where it is too long, not cut; all but its first row are indented."""

    spans: Spans
    indent: int = 2


Line: TypeAlias = Spans | Prose
"""Spans, or plain strings."""


Paint: TypeAlias = Callable[[Sequence[str]], Iterable[Sequence[Span]]]
"""The spans of each line of a text that belongs together; no character of it is changed."""


def _plain(lines: Sequence[str]) -> Iterable[Sequence[Span]]:
    return ([Span(line)] for line in lines)


_LEAST_ROOM = 16
"""Cells that must be left of a line for something to be added to it."""

_LEAST_WRAPPED = 10
"""Cells that a line needs for its words to be wrapped."""

OnFailure: TypeAlias = Callable[[OSError], object]


def _raised(error: OSError) -> None:
    raise error


class Screen:
    """Writes lines to one stream. No character that was not meant gets out (I11).

    `measure` tells the cells of a line on a terminal; a pipe or a file has none and gets everything whole.
    A reader that went away is no error: what follows is dropped. Any other failure goes to `on_failure`, by
    default it is raised; a run keeps it for its end, so as not to be lost with its display. `masked`: what
    looks like a key is not shown, nor written into JSON.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        measure: Callable[[], int] | None = None,
        colour: bool = False,
        on_failure: OnFailure = _raised,
    ) -> None:
        self._measure = measure
        self.colour = colour
        self.masked = not os.environ.get("ONPLAN_SHOW_SECRETS")
        self._on_failure = on_failure
        self._stream = stream
        self._gone = False
        self._is_open = False
        self._used = 0

    @property
    def width(self) -> int | None:
        """The cells of a line now: a window may be resized. `None`: no terminal."""
        return self._measure() if self._measure else None

    @property
    def is_terminal(self) -> bool:
        return self._measure is not None

    def line(self, *spans: Span | str) -> None:
        """One line, cut to the width."""
        self._close()
        self._write(self._coloured(self._fitted(spans, self.width)) + "\n")

    def lines(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if isinstance(line, Prose):
                self.say(*line.spans, indent=line.indent)
            else:
                self.line(*line)

    def wrapped(self, lines: Iterable[Line]) -> list[Spans]:
        """The lines as rows of safe spans that fit, each a line of its own: nothing is written."""
        rows: list[Spans] = []
        for line in lines:
            if isinstance(line, Prose):
                rows += map(tuple, wrap_spans(self._safe(line.spans), self.width, line.indent))
            else:
                rows.append(tuple(self._fitted(line, self.width)))
        return rows

    def rows(self, lines: Iterable[Line]) -> list[str]:
        """The lines as `lines` would write them, a text for each row: nothing is written."""
        return [self._coloured(self._safe(row)) for row in self.wrapped(lines)]

    def say(self, *spans: Span | str, indent: int = 2) -> None:
        """A sentence: one line, wrapped at the width so that nothing of it is lost."""
        self._close()
        for row in wrap_spans(self._safe(spans), self.width, indent):
            self._write(self._coloured(row) + "\n")

    def begin(self, *spans: Span | str) -> None:
        """The start of a line that `end` may complete; whatever comes in between begins a new one."""
        self._close()
        fitted = self._fitted(spans, self.width)
        self._write(self._coloured(fitted))
        self._is_open, self._used = True, sum(cells(span.text) for span in fitted)

    @property
    def is_open(self) -> bool:
        """Whether the last thing written was the start of a line."""
        return self._is_open

    def end(self, *spans: Span | str) -> None:
        """The rest of the line that `begin` began; on a line of its own where there is no room left."""
        room = None if self.width is None else self.width - self._used
        if room is not None and room < _LEAST_ROOM:
            self.line(*spans)
            return
        self._is_open = False
        self._write(self._coloured(self._fitted(spans, room)) + "\n")

    def prompt(self, text: str) -> None:
        """A question to which the person types the answer on the same line."""
        self._close()
        self._write(self._styled(Span(one_line(text), "bold")))

    def text(self, text: str) -> None:
        """Text of several lines as it is, control characters taken out."""
        self._close()
        if text:
            self._write(self.mask(printable(text)).rstrip("\n") + "\n")

    def judged(self, text: str, *, limit: int | None = 200, paint: Paint = _plain) -> None:
        """Text that a person must judge: every unseen character shown as an escape, nothing dropped.

        Each row has a bar in front, so that no text can pose as a question of ours; that of a row that goes
        on with a line is broken.
        """
        self._close()
        lines = self.mask(visible(text)).split("\n")
        limit = len(lines) if limit is None else limit
        room = None if self.width is None else max(1, self.width - 4)
        for line in paint(lines[:limit]):
            for row, bar in zip(_cut(line, room), chain("│", repeat("┆")), strict=False):
                self._write(f"  {self._styled(Span(bar, 'dim'))} {self._coloured(row)}\n")
        if len(lines) > limit:
            self._write(f"  {self._styled(Span('│', 'dim'))} … {len(lines) - limit} more lines\n")

    def json(self, value: Any) -> None:
        """One line of JSON, safe on a terminal and the same value for a parser."""
        import msgspec

        self._close()
        # Text by text: in JSON a key at the start of a line would stand behind the n of a newline.
        shown = masked_value(msgspec.to_builtins(value)) if self.masked else value
        body = msgspec.json.encode(shown).decode("utf-8", "replace")
        self._write(_unsafe_in_json.sub(_json_escape, body) + "\n")

    def flush(self) -> None:
        self._write("")

    # --- inside ---

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._write("\n")

    def _fitted(self, spans: Iterable[Span | str], width: int | None) -> list[Span]:
        return fit_spans(self._safe(spans), width)

    def _safe(self, spans: Iterable[Span | str]) -> Iterator[Span]:
        for span in spans:
            safe = safe_span(span)
            yield Span(self.mask(safe.text), safe.style)

    def mask(self, text: str) -> str:
        """What may be shown of `text`: for text that is cut into lines first, where a key of several lines
        would not be seen any more."""
        return mask_secrets(text) if self.masked else text

    def _coloured(self, spans: Iterable[Span]) -> str:
        return "".join(self._styled(span) for span in _merged(spans))

    def _styled(self, span: Span) -> str:
        code = _CODES[span.style] if self.colour else ""
        return f"\x1b[{code}m{span.text}\x1b[0m" if code and span.text else span.text

    def _write(self, text: str) -> None:
        if self._gone:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            self._gone = True
        except OSError as error:
            self._gone = True
            self._on_failure(error)


def safe_span(span: Span | str) -> Span:
    """One line without control characters, as a screen would make it."""
    return Span(one_line(span)) if isinstance(span, str) else Span(one_line(span.text), span.style)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Neighbours of one style as one span."""
    merged: list[Span] = []
    for span in spans:
        if merged and merged[-1].style == span.style:
            merged[-1] = Span(merged[-1].text + span.text, span.style)
        else:
            merged.append(span)
    return merged


def wrap_spans(spans: Iterable[Span], width: int | None, indent: int = 2) -> list[list[Span]]:
    """The spans of a safe line in rows of at most `width` cells, broken between words where there are any.

    Where hardly a word has room the line is cut instead.
    """
    if width is None or width < _LEAST_WRAPPED:
        return [fit_spans(spans, width)]
    rows: list[list[Span]] = [[]]
    used = 0
    for span in spans:
        for piece in _words(span.text):
            rest = piece
            if used + cells(rest) > width and used > indent:
                rows[-1] = _without_blank_end(rows[-1])
                rows.append([Span(" " * indent)])
                used = indent
                if rest.isspace():
                    continue
            while used + cells(rest) > width:
                head = _head(rest, width - used)
                rows[-1].append(Span(head, span.style))
                rows.append([Span(" " * indent)])
                rest, used = rest[len(head) :], indent
            rows[-1].append(Span(rest, span.style))
            used += cells(rest)
    return rows


def _without_blank_end(row: list[Span]) -> list[Span]:
    """A row that is not the last: what stood between two words is left out."""
    return row[:-1] if len(row) > 1 and row[-1].text.isspace() else row


def _cut(spans: Sequence[Span], room: int | None) -> Iterator[list[Span]]:
    """The spans of a line in rows of at most `room` cells, broken wherever one is full."""
    if room is None:
        yield list(spans)
        return
    row, used = list[Span](), 0
    for span in spans:
        size = cells(span.text)
        if used + size <= room:
            row.append(span)
            used += size
            continue
        text = ""
        for cluster in clusters(span.text):
            size = cells(cluster)
            if used and used + size > room:
                yield [*row, Span(text, span.style)]
                row, text, used = [], "", 0
            text += cluster
            used += size
        row.append(Span(text, span.style))
    yield row


def _head(text: str, width: int) -> str:
    """The first clusters of `text` that have room in `width` cells; one where none has."""
    head = ""
    for cluster in clusters(text):
        if head and cells(head + cluster) > width:
            break
        head += cluster
    return head


def fit_spans(spans: Iterable[Span], width: int | None) -> list[Span]:
    """The spans of a safe line that have room in `width` cells, the last one cut with `…`."""
    if width is None:
        return list(spans)
    kept: list[Span] = []
    whole = list(spans)
    if sum(cells(span.text) for span in whole) <= width:
        return whole
    room = width
    for span in whole:
        size = cells(span.text)
        if size >= room:
            kept.append(Span(fit(span.text + "…" if size == room else span.text, room), span.style))
            break
        kept.append(span)
        room -= size
    return kept


def screen_on(stream: TextIO, *, colour: bool = True, on_failure: OnFailure = _raised) -> Screen:
    """A screen on a standard stream: its width if it is a terminal, colours if these are welcome."""
    utf8(stream)
    if not stream.isatty():
        return Screen(stream, on_failure=on_failure)
    wanted = colour and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(stream, measure=lambda: _columns(stream), colour=wanted, on_failure=on_failure)


def _columns(stream: TextIO) -> int:
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and 0 < int(told) < 10_000:
        return int(told)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[n] << 8 | units[n + 1]:04x}" for n in range(0, len(units), 2))
