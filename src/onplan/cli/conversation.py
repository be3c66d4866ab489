"""How a question reaches the person and an answer comes back, whatever the keyboard is read with."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onplan.cli.terminal import Terminal, is_terminal
from onplan.cli.view.screen import Line, Prose, Screen, Span
from onplan.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to a question: its key, what it does, and words that mean the same where words are typed."""

    key: str
    told: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Picked:
    """The key that the person chose. `rest`: what they typed behind it; `None` where only a key can be
    pressed, so that more has to be asked for."""

    key: str
    rest: str | None = None


class Conversation(Protocol):
    """The person, one question at a time.

    Each method may be cancelled at any time and then takes its prompt away. `None` means that nobody is
    there: the end of input, a terminal that went away.
    """

    @property
    def screen(self) -> Screen:
        """Where what the question is about is shown."""
        ...

    async def key(self, prompt: str, choices: Sequence[Choice]) -> Picked | None:
        """One of the choices, which are shown; anything else asks again."""
        ...

    async def line(self, prompt: str, text: str = "") -> str | None:
        """A line that the person types; `text` stands there already where lines can be edited, else an
        empty answer means it."""
        ...

    async def edit(self, text: str, suffix: str) -> str | None:
        """`text` of any number of lines as the person made it, in their editor or in the prompt. `suffix`:
        of the file (`.sh`, `.json`). `None`: they gave it up."""
        ...

    def forget(self) -> None:
        """Drop what was typed ahead: it was no answer to a question that is asked only now."""
        ...


def choice_lines(choices: Sequence[Choice]) -> list[Line]:
    """The choices as they are shown: `  y  yes, once`, a line each."""
    return [Prose((Span(f"  {choice.key}", "bold"), f"  {choice.told}"), 5) for choice in choices]


def _either(choices: Sequence[Choice]) -> str:
    """`y, a or n`."""
    *others, last = [choice.key for choice in choices]
    return f"{', '.join(others)} or {last}" if others else last


class TerminalConversation:
    """A conversation in whole lines, for a terminal that cannot or should not be drawn on."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    @property
    def screen(self) -> Screen:
        return self._terminal.screen

    async def key(self, prompt: str, choices: Sequence[Choice]) -> Picked | None:
        """The answer may go on behind the key: `n use make instead`."""
        keys = "/".join(choice.key for choice in choices)
        while True:
            self.screen.lines(choice_lines(choices))
            answer = await self._read(f"{prompt}{keys}> ")
            if answer is None:
                return None
            word, _, rest = answer.strip().partition(" ")
            word = word.rstrip(",.:").casefold()
            for choice in choices:
                if word == choice.key or word in choice.words:
                    return Picked(choice.key, rest.strip())
            self.screen.line(f"Please answer {_either(choices)}.")

    async def line(self, prompt: str, text: str = "") -> str | None:
        answer = await self._read(f"{prompt}> ")
        return answer if answer is None else answer.strip() or text

    async def edit(self, text: str, suffix: str) -> str | None:
        from onplan.cli.editor import in_editor

        try:
            return await in_editor(text, suffix)
        except ConfigError as error:
            self.screen.say(Span(str(error), "yellow"))
            return None

    async def _read(self, prompt: str) -> str | None:
        try:
            return await self._terminal.read_line(prompt)
        except asyncio.CancelledError:
            self.screen.line()  # what comes next does not belong behind the prompt
            raise

    def forget(self) -> None:
        self._terminal.forget()


def person_at(screen: Screen) -> TerminalConversation | None:
    """The terminal at which a person can be asked: where both the question and the answer have one."""
    if not is_terminal(sys.stdin) or not screen.is_terminal:
        return None
    return TerminalConversation(Terminal(sys.stdin.fileno(), screen))
