"""What a session used and cost: tokens and dollars of a turn, of the session, and of each todo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from onplan.agent import Agent
from onplan.cli.view.screen import Line, Prose, Span
from onplan.cli.view.words import counted
from onplan.errors import StoreError
from onplan.events import Record
from onplan.messages import Assistant, Usage, User
from onplan.models.prices import Prices, load_prices
from onplan.plan.settings import Settings
from onplan.planning import PlanFold
from onplan.protocols import SessionStore
from onplan.session import read

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
            case Assistant():
                spent = Spent(record.usage, prices.of_messages([record]), 1)
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


async def spending_so_far(store: SessionStore, agent: Agent) -> Spending:
    """Of an agent's session. A log that cannot be read now leaves what the agent remembers."""
    settings = agent.plan_state.settings
    try:
        records = [stamped.record for stamped in read(await store.load(agent.session_id))]
    except StoreError:
        return spending_of(agent.messages, load_prices(), settings)
    return spending_of(records, load_prices(), settings)


def usage_json(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "thinking": usage.thinking,
    }


# --- for a person -----------------------------------------------------------------------------------


def turn_line(spending: Spending) -> str:
    """What the turn used and cost; empty where nobody counted."""
    if not spending.turn.usage.total:
        return ""
    return f"used: {_words(spending.turn)}"


def spending_lines(spending: Spending) -> Iterator[Line]:
    """What the session used and cost, whole and by todo."""
    total = spending.total
    if not total.usage.total:
        yield Prose((f"{counted(total.requests, 'request')}; no tokens were counted",))
        return
    yield Prose((Span("session", "bold"), f": {_words(total)}"))
    parts = [*spending.todos.items(), (UNPLANNED, spending.unplanned)]
    yield from (Prose((f"  {name}: {_words(spent)}",)) for name, spent in parts if spent.requests)
    if total.cost is not None:
        yield Prose((Span(f"prices as of {spending.date}", "dim"),))


def _words(spent: Spent) -> str:
    usage = spent.usage
    parts = [f"{usage.input:,} in", f"{usage.output:,} out"]
    parts += [f"{usage.cache_read:,} from cache"] if usage.cache_read else []
    parts += [f"{usage.cache_write:,} to cache"] if usage.cache_write else []
    tokens = f"{_list(parts)} tokens, {counted(spent.requests, 'request')}"
    return tokens if spent.cost is None else f"{tokens}, {dollars(spent.cost)}"


def _list(parts: Sequence[str]) -> str:
    return ", ".join(parts)


def dollars(cost: float) -> str:
    """Cents where that says something, else the digits that do."""
    return f"${cost:.2f}" if cost >= 0.1 else f"${cost:.4f}"
