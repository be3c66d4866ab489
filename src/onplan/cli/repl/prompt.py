"""The prompt at the bottom of the terminal: input, what is in progress, questions, status; drawn inline."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import termios
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import AnyFormattedText

from onplan.cli.conversation import Choice, Picked
from onplan.cli.repl.above import Above
from onplan.cli.repl.completer import PromptCompleter
from onplan.cli.repl.drawing import TALLEST, Texts, drawn, inline
from onplan.cli.repl.handlers import Handlers
from onplan.cli.repl.history import ProjectHistory, history_file
from onplan.cli.repl.keys import bindings
from onplan.cli.repl.pastes import Pastes
from onplan.cli.repl.printing import Printing
from onplan.cli.repl.reading import Reading, echoed, mark_of, question_lines
from onplan.cli.terminal import Interrupted
from onplan.cli.view.screen import Line, Screen, Span
from onplan.errors import ConfigError

_TICK = 0.12
_REST = 0.5
"""Seconds between two looks at what is in progress, and whether anything is."""
_QUIET = 1.0
"""Seconds without a key after which somebody who was typing is taken to answer a question."""


class Prompt:
    """A `Conversation`, and the input of messages. Made anew for each run of the program; see `shown`.

    What is written to `screen` goes above it, into the terminal's own scrollback. One reading at a time;
    while nothing is read, what the person enters goes to `Handlers.words`. A question takes the place of what
    was being typed, which comes back afterwards.
    """

    def __init__(self, screen: Screen, above: Above) -> None:
        self.screen = screen
        self.handlers = Handlers()
        self.pastes = Pastes()
        self._above = above
        self._reading: Reading | None = None
        self._begun = False
        self._ended = False
        self._pressed = 0.0
        self._missed = -_QUIET
        self._before = _attributes()
        self._root = Path.cwd()
        self.buffer = Buffer(
            completer=PromptCompleter(lambda: self._root, lambda name: self.handlers.offers(name)),
            complete_while_typing=Condition(lambda: not self.is_asking),
            multiline=True,
        )
        texts = Texts(
            mark=self._mark,
            live=self._live_text,
            question=self._question_text,
            status=self._status_text,
            is_live=self._is_live,
            is_asking=lambda: self.is_asking,
        )
        self.app = inline(self.buffer, texts, bindings(self), colour=screen.colour)
        self.app.key_processor.after_key_press += self.pressed
        self._printing = Printing(self.app)

    # --- the life of it ---

    def serve(self, handlers: Handlers) -> None:
        """Who answers to the keys from now on."""
        self.handlers = handlers

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Show the prompt, until the end of the block. The end of input ends every reading with `None`."""
        task = asyncio.create_task(self.app.run_async(set_exception_handler=False, handle_sigint=False))
        task.add_done_callback(lambda _: self._end())
        ticking = asyncio.create_task(self._tick())
        self._above.hand_over(self._printing.show)
        try:
            yield
        finally:
            ticking.cancel()
            self._printing.flush()
            self._above.take_back()
            if self.app.is_running:
                self.app.exit()
            else:
                task.cancel()  # it ended by itself, or never began
            with contextlib.suppress(EOFError, OSError, asyncio.CancelledError):
                await task

    def restore(self) -> None:
        """Give the terminal back as it was, for a process that leaves at once."""
        with contextlib.suppress(OSError, termios.error):
            self.app.renderer.erase()
            if self._before is not None:
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._before)

    def echo(self, text: str) -> None:
        """Print a message of the person; of a long one its beginning."""
        self.screen.lines(echoed(text))

    def clear(self) -> None:
        """An empty screen; the scrollback stays."""
        self._printing.flush()
        self.app.renderer.clear()

    @property
    def is_away(self) -> bool:
        """Whether the terminal is another program's."""
        return self._printing.is_held

    def away(self) -> AbstractAsyncContextManager[None]:
        """The terminal is another program's inside of the block; what is printed waits for its end."""
        return self._printing.held()

    # --- reading ---

    @property
    def is_asking(self) -> bool:
        return self._reading is not None and self._reading.kind != "message"

    @property
    def is_key(self) -> bool:
        """Whether a question takes a single key."""
        return self._reading is not None and self._reading.kind == "key"

    @property
    def is_idle(self) -> bool:
        """Whether a message is waited for: of several that come at once only the first is."""
        reading = self._reading
        return reading is not None and reading.kind == "message" and not reading.answer.done()

    async def read_line(self, prompt: str) -> str | None:
        """The next message, with what was pasted; `None` at the end of input. Raises `Interrupted`."""
        return await self._read(Reading("message", prompt, _future()))

    async def line(self, prompt: str, text: str = "") -> str | None:
        return await self._ask(Reading("line", prompt, _future()), text)

    async def key(self, prompt: str, choices: Sequence[Choice]) -> Picked | None:
        picked = await self._ask(Reading("key", prompt, _future(), choices))
        for choice in choices:
            if picked is not None and choice.key == picked.key:
                self.screen.line(Span(f"  {choice.key}  {choice.told}", "dim"))
        return picked

    async def edit(self, text: str, suffix: str) -> str | None:
        """In the person's editor."""
        from onplan.cli.editor import in_editor

        try:
            async with self.away():
                return await in_editor(text, suffix)
        except ConfigError as error:
            self.screen.say(Span(str(error), "yellow"))
            return None

    def forget(self) -> None:
        """Nothing is lost: a question never reads what was typed before it, which comes back behind it."""

    def interrupt(self) -> bool:
        """End a reading under way with `Interrupted`, a message's with a cleared input; `False` if there is
        none."""
        if self._reading is None:
            return False
        if self.is_idle:
            self.buffer.reset()
        self._answer(Interrupted())
        return True

    def work_in(self, home: Path, root: Path) -> None:
        """The history and the files of `root` from now on."""
        self._root = root
        self.buffer.history = ProjectHistory(history_file(home, root))
        self.buffer.reset(self.buffer.document)

    async def _ask(self, reading: Reading, text: str = "") -> Any:
        reading.stood = self.buffer.document
        self.buffer.reset(Document(text))
        try:
            return await self._read(reading)
        finally:
            self.buffer.reset(reading.stood)

    async def _read(self, reading: Reading) -> Any:
        if self._ended:
            return None
        before, self._reading, self._begun = self._reading, reading, True
        self.app.invalidate()
        try:
            return await reading.answer
        finally:
            self._reading = before
            self.app.invalidate()

    def _answer(self, answer: object) -> None:
        reading = self._reading
        if reading is None or reading.answer.done():
            return
        if isinstance(answer, BaseException):
            reading.answer.set_exception(answer)
        else:
            reading.answer.set_result(answer)

    def _end(self) -> None:
        self._ended = True
        self._answer(None)

    # --- what the keys do ---

    def pressed(self, _: object = None) -> None:
        """A key was pressed."""
        self._pressed = asyncio.get_running_loop().time()

    def enter(self) -> None:
        """Take what stands in the input: an answer, a message, or words for the one who works."""
        text = self.buffer.text
        if self._reading is not None and self._reading.kind == "line":
            self._answer(text)
            return
        whole = self.taken()
        if self.is_idle:
            if text.strip():
                self.echo(text)
            self._answer(whole)
        elif whole.strip():
            self.handlers.words(whole)

    def taken(self) -> str:
        """What stands in the input, with what was pasted; it is remembered, and the input is empty then."""
        whole = self.pastes.unfolded(self.buffer.text)
        if whole.strip():
            self.buffer.history.append_string(whole)
        self.buffer.reset()
        return whole

    def pick(self, key: str) -> None:
        """A key at a question that takes one. What somebody types on who was typing when it came up is no
        answer, and goes on where it stood; neither is what follows on a key that is none."""
        reading = self._reading
        if reading is None or reading.kind != "key":
            return
        now = asyncio.get_running_loop().time()
        if reading.stood is not None and reading.stood.text and now - self._pressed < _QUIET:
            reading.stood = Document(reading.stood.text + key)
            return
        picked = key.casefold()
        if not any(choice.key == picked for choice in reading.choices):
            self._missed = now
        elif now - self._missed >= _QUIET:
            self._answer(Picked(picked))

    def end_of_input(self) -> None:
        """Ctrl-D: of an empty input, nobody is there; else the character under the cursor goes."""
        if self.buffer.text:
            self.buffer.delete()
        elif self._reading is not None:
            self._answer(None)

    def paste(self, text: str) -> None:
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        self.buffer.insert_text(plain if self.is_asking else self.pastes.folded(plain))

    def take_back(self, text: str) -> None:
        """Put `text` in front of what stands in the input."""
        stands = self.buffer.text
        self.buffer.reset(Document("\n".join(part for part in (text, stands) if part)))

    # --- drawing ---

    def _mark(self, line: int, wrapped: int) -> AnyFormattedText:
        if not self._begun:
            return ""
        return "  " if line or wrapped else [("class:mark", mark_of(self._reading))]

    def _live_text(self) -> AnyFormattedText:
        return self._drawn(self.handlers.live(), self._rows - TALLEST)

    def _is_live(self) -> bool:
        return next(iter(self.handlers.live()), None) is not None

    def _question_text(self) -> AnyFormattedText:
        return self._drawn(question_lines(self._reading), self._rows - 2)

    def _status_text(self) -> AnyFormattedText:
        return self._drawn([self.handlers.status(self._columns)], 1)

    def _drawn(self, lines: Iterable[Line], rows: int) -> AnyFormattedText:
        return drawn(lines, like=self.screen, columns=self._columns, rows=rows)

    @property
    def _columns(self) -> int:
        return self.app.output.get_size().columns

    @property
    def _rows(self) -> int:
        return self.app.output.get_size().rows

    async def _tick(self) -> None:
        while True:
            is_live = not self.is_asking and self._is_live()
            if is_live:
                self.app.invalidate()
            await asyncio.sleep(_TICK if is_live else _REST)


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


def _attributes() -> list[Any] | None:
    try:
        return termios.tcgetattr(sys.stdin.fileno())
    except termios.error:
        return None
