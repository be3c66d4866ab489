"""What is known about a shell at one point of a line: variables, functions, directory; knows no programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from onplan.shellguard.marks import SOME, UNKNOWN
from onplan.shellguard.paths import components

if TYPE_CHECKING:
    from tree_sitter import Node

    from onplan.shellguard.syntax import Source

T = TypeVar("T")
Value = tuple[str, ...]
"""A variable's value: one text, or the elements of an array."""
MAX_ALTERNATIVES = 16
MAX_TEXT = 20_000

_NAMES = frozenset(
    [
        "#",
        "$",
        "!",
        "?",
        "-",
        "RANDOM",
        "SRANDOM",
        "UID",
        "EUID",
        "PPID",
        "SECONDS",
        "LINENO",
        "EPOCHSECONDS",
        "EPOCHREALTIME",
        "BASHPID",
    ]
)
_WORDS = frozenset(
    ["HOSTNAME", "OSTYPE", "HOSTTYPE", "MACHTYPE", "SHLVL", "COLUMNS", "LINES", "BASH_VERSION"]
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function's body and the text that it is a part of."""

    body: Node
    source: Source


@dataclass(slots=True)
class Shell:
    """One shell or subshell. Each name has every value that it may hold here; a name not held is unknown."""

    home: str
    cwds: tuple[str, ...]
    previous: tuple[str, ...]
    variables: dict[str, tuple[Value, ...]] = field(default_factory=dict[str, "tuple[Value, ...]"])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    positional: tuple[str, ...] | None = None
    stack: tuple[tuple[str, ...], ...] = ()
    left: bool = False
    """Whether `exit` or `return` has ended it."""

    def fork(self) -> Shell:
        """A shell that starts as this one is and changes nothing here."""
        return Shell(
            self.home,
            self.cwds,
            self.previous,
            dict(self.variables),
            dict(self.functions),
            dict(self.aliases),
            self.positional,
            self.stack,
        )

    def become(self, others: Iterable[Shell]) -> None:
        """Continue as any of `others`, whichever was not left; as the first if all were."""
        first, *rest = [other.fork() for other in others if not other.left] or [self]
        self.cwds, self.previous = first.cwds, first.previous
        self.variables, self.positional, self.stack = first.variables, first.positional, first.stack
        self.functions, self.aliases = first.functions, first.aliases
        for other in rest:
            self._join(other)

    def _join(self, other: Shell) -> None:
        self.cwds = _united(self.cwds, other.cwds, UNKNOWN)
        self.previous = _united(self.previous, other.previous, UNKNOWN)
        if self.positional != other.positional:
            self.positional = None
        self.functions = {**other.functions, **self.functions}
        self.aliases = {**other.aliases, **self.aliases}
        if self.variables == other.variables:
            return
        self.variables = {
            name: _united(self.values(name), other.values(name), (UNKNOWN,))
            for name in self.variables.keys() | other.variables.keys()
        }

    def values(self, name: str) -> tuple[Value, ...]:
        """Every value that variable `name` may have."""
        if name in self.variables:
            return self.variables[name]
        match name:
            case "HOME":
                return ((self.home,),)
            case "PWD":
                return tuple((cwd,) for cwd in self.cwds)
            case "OLDPWD":
                return tuple((cwd,) for cwd in self.previous)
            case "IFS":
                return ((" \t\n",),)
            case "TMPDIR":
                return (("/tmp",),)
            case "USER" | "LOGNAME":
                return ((self.home.rpartition("/")[2] or SOME,),)
            case "SHELL" | "BASH":
                return (("/bin/bash",),)
            case "@" | "*":
                return ((UNKNOWN,) if self.positional is None else self.positional,)
            case _ if name.isdigit() and name != "0" and self.positional is not None:
                return (self.positional[int(name[:4]) - 1 :][:1] or ("",),)
            case _ if name in _NAMES or name in _WORDS:
                return ((SOME,),)
            case _:
                return ((UNKNOWN,),)

    def assign(self, name: str, values: Iterable[Value]) -> None:
        """Give `name` the values that it may have from here on."""
        kept = tuple(dict.fromkeys(values))
        if len(kept) > MAX_ALTERNATIVES or sum(len(text) for value in kept for text in value) > MAX_TEXT:
            kept = ((UNKNOWN,),)
        if name == "PWD":
            return
        self.variables[name] = kept

    def restore(self, before: dict[str, tuple[Value, ...]], names: Iterable[str]) -> None:
        """Give `names` the values that they have in `before`: an assignment was for one command only."""
        for name in names:
            if name in before:
                self.variables[name] = before[name]
            else:
                self.variables.pop(name, None)

    def go(self, targets: Iterable[str]) -> None:
        """Change directory to any of `targets`, each relative to where the shell may be."""
        reached = [_reached(cwd, target) for target in targets for cwd in self.cwds]
        self.previous, self.cwds = self.cwds, _united(tuple(reached), (), UNKNOWN)


def _reached(cwd: str, target: str) -> str:
    if UNKNOWN in target or (UNKNOWN in cwd and not target.startswith("/")):
        return UNKNOWN
    return "/" + "/".join(components(target if target.startswith("/") else f"{cwd}/{target}"))


def _united(first: tuple[T, ...], second: tuple[T, ...], too_many: T) -> tuple[T, ...]:
    both = tuple(dict.fromkeys((*first, *second)))
    return both if len(both) <= MAX_ALTERNATIVES else (too_many,)
