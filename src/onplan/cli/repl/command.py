"""What a command is: its name and help, what it is given, and what can follow from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from onplan.cli.agents import Running
from onplan.cli.conversation import Conversation
from onplan.cli.view.screen import Screen
from onplan.config import Config


@dataclass(frozen=True, slots=True)
class Say:
    """What follows a command: a message for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Open:
    """What follows a command: another session. `cleared`: on a clear screen."""

    config: Config
    cleared: bool = False


@dataclass(frozen=True, slots=True)
class Leave:
    """What follows a command: the end."""


Next: TypeAlias = Say | Open | Leave | None


@dataclass(frozen=True, slots=True)
class Invocation:
    """What a command is given: the open agent, the person, and what stands behind its name."""

    run: Running
    conversation: Conversation
    argument: str

    @property
    def screen(self) -> Screen:
        return self.conversation.screen


@dataclass(frozen=True, slots=True)
class Command:
    """`argument`: how the help names it. `any_time`: also while a turn runs. Raises `OnplanError`."""

    name: str
    told: str
    do: Callable[[Invocation], Awaitable[Next]]
    argument: str = ""
    any_time: bool = False
