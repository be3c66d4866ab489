"""What a session used and cost, in words for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onplan.agent import Agent
from onplan.cli.view.screen import Line, Prose, Span
from onplan.cli.view.words import counted, dollars
from onplan.errors import StoreError
from onplan.models.prices import load_prices
from onplan.protocols import SessionStore
from onplan.session import read
from onplan.spending import UNPLANNED, Spending, Spent, spending_of


async def spending_so_far(store: SessionStore, agent: Agent) -> Spending:
    """Of an agent's session. A log that cannot be read now leaves what the agent remembers."""
    settings = agent.plan_state.settings
    try:
        records = [stamped.record for stamped in read(await store.load(agent.session_id))]
    except StoreError:
        return spending_of(agent.messages, load_prices(), settings)
    return spending_of(records, load_prices(), settings)


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
