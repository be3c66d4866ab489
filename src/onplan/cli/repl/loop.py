"""The prompt loop: reads lines, one open session after the other, until the person leaves."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

from onplan.cli.agents import running
from onplan.cli.conversation import Conversation, TerminalConversation
from onplan.cli.repl.above import Above
from onplan.cli.repl.command import Leave, Open
from onplan.cli.repl.commands import offers
from onplan.cli.repl.handlers import Handlers, Offer
from onplan.cli.repl.opened import OpenSession
from onplan.cli.repl.warm import warm_up
from onplan.cli.signals import Interruption, leave_now, signals
from onplan.cli.terminal import Interrupted, Terminal, is_terminal
from onplan.cli.view.screen import Screen, Span, screen_on
from onplan.config import Config, command_line
from onplan.errors import OnplanError

if TYPE_CHECKING:
    from onplan.cli.repl.prompt import Prompt

PLAIN = "onplan> "
"""The prompt where the terminal is not drawn on."""
_TWICE = 2.0
"""Seconds within which a second Ctrl-C at the idle prompt leaves."""
_SETTLED = 0.5
"""Seconds that the prompt is there before more is loaded."""


async def run(config: Config, colour: bool) -> int:
    """Take turns until the person leaves; answers the exit code."""
    above = Above(sys.stdout)
    # A terminal that went away also ends the input, and that ends the loop.
    screen = screen_on(cast("TextIO", above), colour=colour, on_failure=lambda _: None)
    interruption = Interruption()
    opening = _drawn(screen, above, interruption) if is_drawable() else _plain(screen, interruption)
    async with opening as repl:
        with signals(interruption, repl.on_interrupt):
            await repl.take_sessions(config)
    repl.say_goodbye()
    return interruption.code or 0


def is_drawable() -> bool:
    """Whether the terminal can move its cursor, at both ends."""
    named = os.environ.get("TERM", "")
    return is_terminal(sys.stdin) and is_terminal(sys.stdout) and named not in ("", "dumb", "unknown")


@asynccontextmanager
async def _plain(screen: Screen, interruption: Interruption) -> AsyncIterator[Repl]:
    """Lines as the terminal itself reads them, between turns."""
    terminal = Terminal(sys.stdin.fileno(), screen)
    yield Repl(terminal, TerminalConversation(terminal), interruption)


@asynccontextmanager
async def _drawn(screen: Screen, above: Above, interruption: Interruption) -> AsyncIterator[Repl]:
    """The prompt that is drawn, at any time."""
    from onplan.cli.repl.prompt import Prompt

    prompt = Prompt(screen, above)
    repl = Repl(prompt, prompt, interruption, prompt)
    prompt.serve(repl.handlers())
    interruption.leave_now = _restoring(prompt)
    asyncio.get_running_loop().set_exception_handler(_telling(screen))
    async with prompt.shown():
        yield repl


def _telling(screen: Screen) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """A key or a redraw that fails is one line, the first time, and the prompt goes on."""
    known: set[str] = set()

    def tell(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        told = f"{type(error).__name__}: {error}" if error else str(context.get("message"))
        if told not in known:
            known.add(told)
            screen.say(Span(f"onplan: internal error: {told}", "red"))

    return tell


def _restoring(prompt: Prompt) -> Callable[[int], object]:
    def leave(code: int) -> None:
        prompt.restore()
        leave_now(code)

    return leave


class Input(Protocol):
    """Where messages come from: a `Prompt`, or a `Terminal` as it is.

    `read_line` answers `None` at the end of input and raises `Interrupted` after `interrupt`."""

    async def read_line(self, prompt: str) -> str | None: ...

    def interrupt(self) -> bool: ...


class Repl:
    """What the loop remembers: the open session, and when Ctrl-C was last pressed at the idle prompt.

    `prompt`: the input, where it is drawn.
    """

    def __init__(
        self,
        input: Input,
        conversation: Conversation,
        interruption: Interruption,
        prompt: Prompt | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._input = input
        self._conversation = conversation
        self._interruption = interruption
        self._prompt = prompt
        self._clock = clock
        self._pressed: float | None = None
        self._open: OpenSession | None = None
        self._ahead: list[str] = []
        self._resumable = ""
        interruption.on_leave = input.interrupt

    @property
    def screen(self) -> Screen:
        return self._conversation.screen

    def say_goodbye(self) -> None:
        """The way back, if there is something to come back to."""
        if self._resumable:
            self.screen.say(Span(f"Go on later: {command_line(f'resume {self._resumable}')}", "dim"))

    # --- sessions ---

    async def take_sessions(self, config: Config) -> None:
        """One session after the other. Raises `OnplanError` if the first cannot be opened; after another one
        that cannot, the one before is opened again."""
        wanted: Config | None = config
        back: Config | None = None
        while wanted is not None:
            try:
                wanted, back = await self._session(wanted)
            except OnplanError as error:
                if back is None or self._open is not None:
                    raise
                self.screen.say(Span(f"onplan: {error}", "yellow"))
                wanted, back = back, None

    async def _session(self, config: Config) -> tuple[Config | None, Config]:
        """One session; answers which one comes next, and the way back to this one."""
        async with running(config, self._conversation, self.screen, ask_for_trust=True) as run:
            session = OpenSession(run, self._conversation, self._interruption, self._prompt)
            if self._prompt is not None:
                self._prompt.work_in(run.config.home, run.root)
            await session.begin()
            asyncio.get_running_loop().call_later(_SETTLED, warm_up, run.config.model)
            self._open = session
            follows = await self._turns(session)
            self._open = None
            self._resumable = run.agent.session_id if session.is_spoken else ""
            back = replace(run.config, resume=self._resumable, cwd=None if self._resumable else run.root)
        return follows, back

    async def _turns(self, session: OpenSession) -> Config | None:
        session.ahead, self._ahead = self._ahead, []
        while self._interruption.code is None:
            try:
                line = session.next_ahead() or await self._read()
            except Interrupted:
                if self._leaves():
                    return None
                continue
            self._pressed = None
            if line is None:
                return None
            match await session.do(line.strip()):
                case Open(wanted, cleared):
                    if cleared and self._prompt is not None:
                        self._prompt.clear()
                    return wanted
                case Leave():
                    return None
                case _:
                    pass
        return None

    async def _read(self) -> str | None:
        return await self._input.read_line(PLAIN)

    def _leaves(self) -> bool:
        """Whether this Ctrl-C at the idle prompt, or the signal that stands behind it, ends the loop."""
        if self._prompt is None:
            self.screen.line()
        if self._interruption.code is not None:
            return True
        now = self._clock()
        if self._pressed is not None and now - self._pressed <= _TWICE:
            self._interruption.code = 130
            return True
        self._pressed = now
        self.screen.say(Span("Ctrl-C again leaves; so does Ctrl-D", "dim"))
        return False

    # --- what the prompt asks for ---

    def on_interrupt(self) -> None:
        """Ctrl-C: cancels the turn, or clears the line at the idle prompt."""
        if self._prompt is not None and self._prompt.is_away:
            return  # it was for the editor, or for the person's own command
        if not self._interruption.cancel_turn():
            self._input.interrupt()

    def handlers(self) -> Handlers:
        """For the prompt that is drawn."""
        return Handlers(
            live=lambda: self._open.working.live() if self._open else (),
            status=lambda width: self._open.working.status(width) if self._open else (),
            words=lambda text: (self._open.words if self._open else self._ahead.append)(text),
            interrupt=self.on_interrupt,
            escape=lambda: self._open.escape(self._prompt) if self._open and self._prompt else None,
            offers=self._offers,
            unfold=lambda: self._open.unfold() if self._open else None,
            plan=lambda: self._open.working.toggle_plan() if self._open else None,
        )

    async def _offers(self, name: str) -> Sequence[Offer]:
        return await offers(name, self._open.run) if self._open else ()
