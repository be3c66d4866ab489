"""What is found while a line is read: findings, commands, and the work spent so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from onplan.shellguard.expand import TooMuch
from onplan.shellguard.rules import Entry
from onplan.shellguard.verdict import Span

MAX_COMMANDS = 6_000


@dataclass(frozen=True, slots=True)
class Found:
    """A finding and the piece of the line that it is about."""

    decision: Literal["deny", "ask"]
    reason: str
    span: Span


@dataclass(slots=True)
class Record:
    """Filled while one line is read."""

    whole: Span
    worst: Found | None = None
    entries: list[Entry] = field(default_factory=list[Entry])
    work: int = 0
    changes_programs: bool = False

    def find(self, decision: Literal["deny", "ask"], reason: str, span: Span) -> None:
        """Keep a finding if it is worse than what was found before."""
        if self.worst is None or (decision == "deny" and self.worst.decision == "ask"):
            self.worst = Found(decision, reason, span)

    def command(self, entry: Entry) -> int:
        """Keep a command; its number."""
        self.entries.append(entry)
        return len(self.entries) - 1

    def spend(self, amount: int = 1) -> None:
        """Count work; raises `TooMuch` beyond the cap."""
        self.work += amount
        if self.work > MAX_COMMANDS:
            raise TooMuch
