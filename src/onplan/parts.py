"""What a run stands on: model, tools, hooks, log and limits in one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, Protocol

import msgspec

from onplan.events import EndReason, Event, Record
from onplan.hooks import Hooks, Turn, View
from onplan.messages import Message
from onplan.protocols import Model
from onplan.toolset import Toolset


class Log(Protocol):
    """Where a run writes. `append` returns when the records are durable, or raises `StoreError` with none
    of them written; `messages`, `system` and `tools` are what the next request is made of; `call_ids` are
    those of all calls so far."""

    @property
    def messages(self) -> Sequence[Message]: ...
    @property
    def system(self) -> str: ...
    @property
    def tools(self) -> tuple[dict[str, Any], ...]: ...
    @property
    def call_ids(self) -> Set[str]: ...
    async def append(self, *records: Record) -> None: ...


class Limits(msgspec.Struct, frozen=True):
    """Caps of one turn; `None` lifts one. `continuations` is the budget that stop gate and hooks share."""

    rounds: int | None = 500
    tokens: int | None = None
    continuations: int = 3

    def reached(self, turn: Turn) -> EndReason | None:
        if self.rounds is not None and turn.rounds >= self.rounds:
            return "rounds"
        if self.tokens is not None and turn.usage.total >= self.tokens:
            return "tokens"
        return None


class Parts(msgspec.Struct, frozen=True):
    """What a run stands on. `emit` takes live events and must not raise or block."""

    model: Model
    toolset: Toolset
    log: Log
    emit: Callable[[Event], None]
    hooks: Hooks = Hooks()
    limits: Limits = Limits()

    def view(self, turn: Turn) -> View:
        return View(self.log.messages, turn)
