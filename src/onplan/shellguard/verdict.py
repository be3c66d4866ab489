"""The values that go in and out of the guard: rules, commands, findings, the verdict; no behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Decision = Literal["deny", "ask", "pass"]
"""`deny` never runs, `ask` needs a person, `pass`: the guard is silent and ordinary approval applies."""

Span = tuple[int, int]
"""Start and end in characters of the judged line, end excluded."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A person's own rule for bash: what to do with commands that `pattern` matches.

    `git clean*`: `*` stands for any text. `git diff:*`: these words, then anything or nothing.
    """

    decision: Literal["deny", "ask", "allow"]
    pattern: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command that the line would run: as it is written, and with everything resolved."""

    raw: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a line would do, as one decision.

    `reason` is one sentence for the person and the model ("" for a pass), `span` the piece of the line that
    decided. `by` tells the guard's own verdict from a person's rule. `allowed`: every command of the line
    is covered by an allow rule and nothing else objected.
    """

    decision: Decision
    reason: str = ""
    span: Span = (0, 0)
    commands: tuple[Command, ...] = ()
    by: Literal["guard", "rule", "nobody"] = "nobody"
    allowed: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """An objection to one command."""

    decision: Literal["deny", "ask"]
    reason: str


@dataclass(frozen=True, slots=True)
class Code:
    """Shell text that a command would run. `positional` are its `$1`…, None where they are not known."""

    text: str
    positional: tuple[str, ...] | None = None
    zero: str | None = None
    """Its `$0`, if it is given one."""
    here: bool = False
    """Whether it runs in the same shell (`eval`) and not in a child."""


@dataclass(frozen=True, slots=True)
class Argv:
    """Another command that a command would run, word by word."""

    words: tuple[str, ...]
    joined: bool = False
    """Whether the command line that named it speaks for it too (a wrapper, not `find -exec`)."""
    functions: bool = False
    """Whether the shell looks for a function of that name first."""
    cwd: str | None = None
    """Where the wrapper goes first, if it goes anywhere."""


Outcome = Finding | Code | Argv


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command would run. `workspace` is the directory that was given, `cwd` where `cd` has led."""

    workspace: str
    cwd: str
    home: str
    stdin: str | None = None
    """What it reads: known text, text with marks, or None when nothing was piped in."""
