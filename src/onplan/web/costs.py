"""What the replies of a session cost, in all and for each todo, as a fold."""

from __future__ import annotations

from msgspec.structs import replace

from onplan.events import Compacted
from onplan.messages import Assistant, Usage
from onplan.models.prices import Price, Prices
from onplan.plan.todo import Plan
from onplan.web.run import Cost


class Costs:
    """`usage` and `cost`: of all requests so far. As `onplan.spending` counts, advanced one by one."""

    def __init__(self, prices: Prices) -> None:
        self.usage = Usage()
        self.cost: float | None = 0.0
        self.date = prices.date
        self._prices = prices
        self._known: dict[str, Price | None] = {}
        self._todos: dict[str, Cost] = {}

    def charge(self, reply: Assistant | Compacted, plan: Plan, step: int) -> None:
        """A reply, or a summary, is charged to the todo that was in progress before it."""
        if isinstance(reply, Compacted) and not reply.model:
            return  # it only shortened results and asked nobody
        cost = self._cost(reply)
        self.usage += reply.usage
        self.cost = _plus(self.cost, cost)
        content = plan.active.content if plan.active else ""
        before = self._todos.get(content) or Cost(len(self._todos), content, step, 0, Usage(), 0.0)
        self._todos[content] = replace(
            before,
            step=step,
            requests=before.requests + 1,
            usage=before.usage + reply.usage,
            cost=_plus(before.cost, cost),
        )

    def since(self, step: int) -> tuple[Cost, ...]:
        """Those that grew at `step` or later."""
        return tuple(cost for cost in self._todos.values() if cost.step >= step)

    def _cost(self, reply: Assistant | Compacted) -> float | None:
        if reply.model not in self._known:
            self._known[reply.model] = self._prices.of_model(reply.model)
        price = self._known[reply.model]
        return None if price is None else price.of_reply(reply.usage)


def _plus(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right
