"""What a session used and cost, as a fold: tokens and dollars of a turn, of the session, of each todo."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from onplan.events import Compacted, Record
from onplan.messages import Assistant, Usage, User
from onplan.models.prices import Prices
from onplan.plan.settings import Settings
from onplan.planning import PlanFold

UNPLANNED = "unplanned"


@dataclass(frozen=True, slots=True)
class Spent:
    """`cost`: dollars; `None` where a model has no known price."""

    usage: Usage = Usage()
    cost: float | None = 0.0
    requests: int = 0

    def __add__(self, other: Spent) -> Spent:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Spent(self.usage + other.usage, cost, self.requests + other.requests)

    def to_json(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "usage": usage_json(self.usage),
            "cost": None if self.cost is None else round(self.cost, 6),
        }


@dataclass(frozen=True, slots=True)
class Spending:
    """`todos`: by their content, in the order in which they were first worked on; a reply is charged to the
    todo that was in progress before it, else to `unplanned`. `turn`: the part since the last user message.
    """

    todos: dict[str, Spent]
    unplanned: Spent
    turn: Spent
    date: str

    @property
    def total(self) -> Spent:
        return sum(self.todos.values(), self.unplanned)

    def to_json(self) -> dict[str, Any]:
        todos = [{"content": content, **spent.to_json()} for content, spent in self.todos.items()]
        return {
            **self.total.to_json(),
            "todos": todos,
            UNPLANNED: self.unplanned.to_json(),
            "prices": self.date,
        }


def spending_of(records: Iterable[Record], prices: Prices, settings: Settings | None = None) -> Spending:
    """A fold over a session's log."""
    plan = PlanFold(settings or Settings())
    todos: dict[str, Spent] = {}
    unplanned = turn = Spent()
    for record in records:
        match record:
            case User():
                turn = Spent()
            case Assistant(usage=usage, model=model) | Compacted(usage=usage, model=model) if _asked(record):
                spent = Spent(usage, prices.of_messages([Assistant((), usage=usage, model=model)]), 1)
                turn += spent
                active = next((t.content for t in plan.state.plan.todos if t.status == "in_progress"), None)
                if active is None:
                    unplanned += spent
                else:
                    todos[active] = todos.get(active, Spent()) + spent
            case _:
                pass
        plan.fold(record)
    return Spending(todos, unplanned, turn, prices.date)


def _asked(record: Record) -> bool:
    """Whether a model was asked: a compaction that only shortens results asks none."""
    return not isinstance(record, Compacted) or bool(record.model)


def usage_json(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "thinking": usage.thinking,
    }
