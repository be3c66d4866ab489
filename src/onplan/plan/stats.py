"""Figures of a run as a fold: how far the plan was from the end of the context, and how it was kept."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from onplan.frozen import with_changes
from onplan.plan.ledger import Diff


@dataclass(frozen=True, slots=True)
class Distance:
    """Messages, and tokens, after the last recitation."""

    messages: int = 0
    tokens: int = 0

    def grown(self, messages: int, tokens: int) -> Distance:
        return Distance(self.messages + messages, self.tokens + tokens)


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts since the session began. `max_messages` and `max_tokens`: the greatest distance in a request
    that was sent while todos were open. `late_batches`: writes that completed several todos at once.
    `idle_calls`: calls of other tools made while nothing was in progress, out of `calls`."""

    requests: int = 0
    rounds: int = 0
    calls: int = 0
    idle_calls: int = 0
    writes: int = 0
    unchanged: int = 0
    refused: int = 0
    reads: int = 0
    repaired: int = 0
    reminders: int = 0
    edits: int = 0
    dropped: int = 0
    late_batches: int = 0
    max_messages: int = 0
    max_tokens: int = 0

    @property
    def idle_share(self) -> float:
        """Share of other calls made while nothing was in progress, from 0 to 1."""
        return self.idle_calls / self.calls if self.calls else 0.0

    def asked(self, distance: Distance, *, is_open: bool) -> Stats:
        """A request was sent with the plan at `distance`."""
        if not is_open:
            return with_changes(self, requests=self.requests + 1)
        return with_changes(
            self,
            requests=self.requests + 1,
            max_messages=max(self.max_messages, distance.messages),
            max_tokens=max(self.max_tokens, distance.tokens),
        )

    def written(self, diff: Diff, repaired: int) -> Stats:
        return with_changes(
            self,
            writes=self.writes + 1,
            repaired=self.repaired + bool(repaired),
            dropped=self.dropped + len(diff.dropped),
            late_batches=self.late_batches + (len(diff.finished) > 1),
        )

    def plus(self, **counts: int) -> Stats:
        """With some counts raised."""
        return with_changes(
            self, **{name: getattr(self, name) + count for name, count in counts.items() if count}
        )

    def to_json(self) -> dict[str, int]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Stats:
        """Unknown names are ignored, missing ones are 0."""
        return cls(**{item.name: int(data.get(item.name, 0)) for item in fields(cls)})
