"""Follows each todo through the revisions of a plan: which is which, and when it was in progress."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from onplan.plan.ledger import match
from onplan.plan.todo import Plan
from onplan.web.run import Phase, PlanTodo


class Phases:
    """A fold over revisions."""

    def __init__(self) -> None:
        self._phases: list[Phase] = []
        self._changed: list[int] = []
        self._running: dict[int, int] = {}
        self._keys: tuple[int, ...] = ()
        self._next = 0

    def revise(self, old: Plan, new: Plan, step: int) -> tuple[PlanTodo, ...]:
        """The todos of the new plan with their keys; `old` is the plan of the revision before."""
        keys = self._keyed(old, new)
        active = {
            key: todo.content for key, todo in zip(keys, new, strict=True) if todo.status == "in_progress"
        }
        done = {key for key, todo in zip(keys, new, strict=True) if not todo.is_open}
        for key in [key for key in self._running if key not in active]:
            self._end(key, step, "completed" if key in done else "paused" if key in keys else "dropped")
        for key, content in active.items():
            if key not in self._running:
                self._begin(key, content, step)
        return tuple(
            PlanTodo(key, todo.content, todo.status, todo.id) for key, todo in zip(keys, new, strict=True)
        )

    def since(self, step: int) -> tuple[Phase, ...]:
        """The phases that changed at `step` or later."""
        return tuple(
            phase for phase, changed in zip(self._phases, self._changed, strict=True) if changed >= step
        )

    def _keyed(self, old: Plan, new: Plan) -> tuple[int, ...]:
        before = {j: self._keys[i] for i, j in match(old, new).items()}
        keys: list[int] = []
        for index in range(len(new)):
            keys.append(before.get(index, self._next))
            self._next += index not in before
        self._keys = tuple(keys)
        return self._keys

    def _begin(self, key: int, content: str, step: int) -> None:
        self._running[key] = len(self._phases)
        self._phases.append(Phase(len(self._phases), key, content, step))
        self._changed.append(step)

    def _end(self, key: int, step: int, outcome: Literal["completed", "paused", "dropped"]) -> None:
        index = self._running.pop(key)
        self._phases[index] = replace(self._phases[index], end=step, outcome=outcome)
        self._changed[index] = step
