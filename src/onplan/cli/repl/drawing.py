"""How the prompt is drawn: rows below the scrollback, as safe as what is printed, without a background."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import ConditionalContainer, Dimension, HSplit, Layout, VerticalAlign, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from onplan.cli.view.screen import Line, Screen

TALLEST = 10
"""Rows of the input; a longer text scrolls in them."""
_MENU = 8

# No background but reversed: it has to be read on light and on dark.
_STYLE = Style.from_dict(
    {
        "completion-menu": "noinherit",
        "completion-menu.completion": "noinherit",
        "completion-menu.completion.current": "noinherit reverse",
        "completion-menu.meta.completion": "noinherit dim",
        "completion-menu.meta.completion.current": "noinherit reverse",
        "scrollbar.background": "noinherit",
        "scrollbar.button": "noinherit reverse",
        "mark": "bold",
    }
)


@dataclass(frozen=True, slots=True)
class Texts:
    """What stands in each row now, from top to bottom. `mark`: what is in front of a line of the input."""

    live: Callable[[], AnyFormattedText]
    question: Callable[[], AnyFormattedText]
    mark: Callable[[int, int], AnyFormattedText]
    status: Callable[[], AnyFormattedText]
    is_live: Callable[[], bool]
    is_asking: Callable[[], bool]


def inline(buffer: Buffer, texts: Texts, keys: KeyBindings, *, colour: bool) -> Inline:
    """The application around an input. It asks the terminal nothing: not all of them answer."""
    search = SearchToolbar()
    is_asking = Condition(texts.is_asking)
    input_window = Window(
        BufferControl(buffer, search_buffer_control=search.control),
        height=Dimension(min=1, max=TALLEST),
        dont_extend_height=True,
        wrap_lines=True,
        get_line_prefix=texts.mark,
    )
    rows = [
        ConditionalContainer(_rows(texts.live), ~is_asking & Condition(texts.is_live)),
        ConditionalContainer(_rows(texts.question), is_asking),
        input_window,
        CompletionsMenu(max_height=_MENU, extra_filter=~is_asking),
        search,
        Window(FormattedTextControl(texts.status), height=1, dont_extend_height=True),
    ]
    output = Vt100_Output(sys.stdout, _size, term=os.environ.get("TERM"), enable_cpr=False)
    app = Inline(
        Layout(HSplit(rows, align=VerticalAlign.TOP), focused_element=input_window),
        style=_STYLE,
        include_default_pygments_style=False,
        key_bindings=keys,
        color_depth=output.get_default_color_depth() if colour else ColorDepth.DEPTH_1_BIT,
        erase_when_done=True,
        input=Vt100Input(sys.stdin),
        output=output,
    )
    app.ttimeoutlen, app.timeoutlen = 0.05, 0.25
    return app


def _rows(text: Callable[[], AnyFormattedText]) -> Window:
    return Window(FormattedTextControl(text), dont_extend_height=True)


def _size() -> Size:
    try:
        found = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return Size(rows=24, columns=80)
    return Size(rows=found.lines or 24, columns=found.columns or 80)


def drawn(lines: Iterable[Line], *, like: Screen, columns: int, rows: int) -> AnyFormattedText:
    """The last `rows` rows of lines, at least 3, as the screen `like` would print them in so many columns."""
    stream = io.StringIO()
    screen = Screen(stream, measure=lambda: columns, colour=like.colour)
    screen.masked = like.masked
    screen.lines(lines)
    return ANSI("\n".join(stream.getvalue().removesuffix("\n").split("\n")[-max(rows, 3) :]))


class Inline(Application[None]):
    """An application below the scrollback, which takes itself away whole when the window gets narrower."""

    def _on_resize(self) -> None:
        if self._running_in_terminal:
            return  # the screen is another program's
        if extra := self._wrapped_rows():
            self.output.cursor_up(extra)
        super()._on_resize()

    def _wrapped_rows(self) -> int:
        """Rows that the terminal made above the cursor, by wrapping lines drawn for a wider window."""
        screen, columns = self.renderer.last_rendered_screen, self.output.get_size().columns
        if screen is None or not wraps_on_resize(os.environ):
            return 0
        cursor = screen.get_cursor_position(self.layout.current_window)
        rows = (screen.data_buffer[y] for y in range(cursor.y))
        widths = (max((x + 1 for x, cell in row.items() if cell.char != " "), default=1) for row in rows)
        return sum((width - 1) // columns for width in widths) + cursor.x // columns


def wraps_on_resize(environ: Mapping[str, str]) -> bool:
    """Whether the terminal wraps the lines it shows when it gets narrower: nearly all do. xterm, GNU screen
    and the console of Linux cut them."""
    cuts = environ.get("XTERM_VERSION") or environ.get("STY") or environ.get("TERM") == "linux"
    return not cuts
