"""Watches how long a conversation is, and says when and how it is made shorter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from onplan.cancellation import raise_if_cancelled
from onplan.compaction.draft import Draft, Reason
from onplan.compaction.summary import fault, request_for_summary, summary_note
from onplan.errors import ConfigError, ModelError, OnplanError
from onplan.events import Compacted, PrefixChanged, Record, SessionStarted, Warned
from onplan.hooks import CompactionPlan, Hooks, View
from onplan.loop import hear
from onplan.messages import Assistant, Message, Note, ToolResult, User, estimate
from onplan.protocols import Model, Request
from onplan.tokens import estimate_tokens

Objection: TypeAlias = Callable[[CompactionPlan], Awaitable[str | None]]
"""Asks the `before_compaction` hooks: the reason of a veto, or `None`."""

_ENOUGH = 0.5
"""Share of the limit that shortened results alone have to come down to; else the model sums up."""
_PATIENCE = 0.05
"""Share of the limit that a conversation grows by before what failed, or gained nothing, is tried again."""


class CompactionPolicy(msgspec.Struct, frozen=True):
    """When a conversation is made shorter, in shares of `limit`: the tokens that the model takes, `None` for
    what is known of it. Raises `ConfigError` for shares that make no sense.

    From `shorten` on old results are shortened, if that is enough; from `summarise` on the oldest rounds are
    summed up. `keep`: how much of the newest rounds stays as it is; the newest one stays in any case. With
    `summarise` at 0.8 a limit of 200,000 leaves room for a reply of 40,000. `automatic`: else only where the
    person asks for it.
    """

    limit: int | None = None
    shorten: float = 0.6
    summarise: float = 0.8
    keep: float = 0.2
    automatic: bool = True

    def __post_init__(self) -> None:
        in_order = 0 <= self.keep < self.shorten <= self.summarise <= 1
        if not in_order or (self.limit is not None and self.limit < 1):
            raise ConfigError(
                "a compaction policy needs a limit above 0, and 0 <= keep < shorten <= summarise <= 1"
            )


class Compaction:
    """Watches how long a conversation is, and makes it shorter. Hand `fold` to the session and `hooks` to the
    loop, behind what adds to a request and before what speaks of the plan.

    `model` answers with the model that sums up, `limit` with the tokens that one of a name takes, `block`
    with what is to stand behind the rest: the plan as it is in the log, or nothing.
    """

    def __init__(
        self,
        policy: CompactionPolicy,
        *,
        model: Callable[[], Model],
        limit: Callable[[str], int],
        block: Callable[[], Note | None],
        objection: Objection,
    ) -> None:
        self._counted = 0
        self._uncounted: list[Message] = []
        self._policy = policy
        self._model = model
        self._limit = limit
        self._block = block
        self._objection = objection
        self._system = ""
        self._tools: tuple[dict[str, Any], ...] = ()
        self._fixed = 0
        self._waits_until = 0.0
        self._known: tuple[str, int] = ("", 0)

    @property
    def limit(self) -> int:
        """Tokens that the model takes."""
        if self._policy.limit is not None:
            return self._policy.limit
        name = self._model().name
        if self._known[0] != name:
            self._known = (name, self._limit(name))
        return self._known[1]

    @property
    def tokens(self) -> int:
        """The length of the next request: as the provider counted the last one, and estimates of what came
        after that."""
        if self._uncounted:
            self._count(self._counted + sum(map(estimate, self._uncounted)))
        return self._counted

    def _count(self, tokens: int) -> None:
        self._counted = tokens
        self._uncounted.clear()

    def fold(self, record: Record) -> None:
        """Keep `tokens`. Messages are estimated when it is asked for: most are counted by the provider."""
        match record:
            case Assistant(usage=usage) if asked := usage.input + usage.cache_read + usage.cache_write:
                self._count(asked + usage.output)
            case User() | Assistant() | ToolResult() | Note():
                self._uncounted.append(record)
            case Compacted(after=after, error=error):
                self._count(after)
                self._waits_until = self._waits_until if error else 0.0
            case SessionStarted(system=system, tools=tools) | PrefixChanged(system=system, tools=tools):
                self._begin_with(self._system if system is None else system, tools)
            case _:
                pass

    def _begin_with(self, system: str, tools: tuple[dict[str, Any], ...] | None) -> None:
        self._system, self._tools = system, self._tools if tools is None else tools
        schemas = msgspec.json.encode(self._tools).decode()
        fixed = estimate_tokens(system) + estimate_tokens(schemas)
        self._counted, self._fixed = self._counted + fixed - self._fixed, fixed

    def hooks(self) -> Hooks:
        return Hooks(before_model=(self._before_request,)) if self._policy.automatic else Hooks()

    # --- when ---

    async def _before_request(self, view: View) -> Compacted | Warned | None:
        """Make the next request shorter if it comes near the limit, or was refused for its length."""
        if not view.turn.too_long and self.tokens < max(self._waits_until, self._policy.shorten * self.limit):
            return None
        try:
            found = await self._compact(view.messages, "too_long" if view.turn.too_long else "limit")
        except OnplanError as refused:
            self._waits_until = self._later(self.tokens)
            return Warned(str(refused))
        if found is None or found.error:
            self._waits_until = self._later(found.after if found else self.tokens)
        return found

    def _later(self, tokens: int) -> float:
        """The length at which to try again what gained nothing now."""
        next_try, sums_up = tokens + _PATIENCE * self.limit, self._policy.summarise * self.limit
        return min(next_try, sums_up) if tokens < sums_up else next_try

    async def asked(self, messages: Sequence[Message], focus: str = "") -> Compacted | None:
        """The record of a compaction that the person wants; `None` if there is nothing to gain. `focus`: what
        the summary should keep in mind. Raises `OnplanError` with the reason if a hook refuses it."""
        return await self._compact(messages, "asked", focus)

    async def _compact(
        self, messages: Sequence[Message], reason: Reason, focus: str = ""
    ) -> Compacted | None:
        limit = self.limit if reason == "limit" else min(self.limit, self.tokens)
        urgent = reason == "too_long" or self.tokens >= self._policy.summarise * self.limit
        room = int(self._policy.keep * limit)
        draft = Draft.of(
            messages, self.tokens, self._fixed, limit, room, 2 * room if urgent else limit, self._block
        )
        shorter = draft.shorter(reason)
        enough = shorter.after <= _ENOUGH * draft.limit and reason != "asked"
        if not enough and not urgent and reason != "asked":
            return None
        sums_up = not enough and draft.is_worth_a_summary
        if not sums_up and not draft.gains(shorter):
            return None
        plan = CompactionPlan("manual" if reason == "asked" else "auto", focus, self.tokens)
        if objection := await self._objection(plan):
            raise OnplanError(f"a hook refused to shorten the conversation: {objection}")
        return await self._summed_up(draft, reason, focus) if sums_up else shorter

    # --- the summary ---

    async def _summed_up(self, draft: Draft, reason: Reason, focus: str) -> Compacted:
        """With a summary of the oldest rounds; where there is none, with shortened results only and why."""
        model = self._model()
        told = request_for_summary(draft.summary_size, focus)
        # System text, tools and messages begin as in the requests before, so the provider's cache is read.
        older = draft.readable(0.6 if reason == "too_long" else 0.9)
        try:
            reply = await hear(model, Request(self._system, self._tools, (*older, told)), lambda _: None)
            await raise_if_cancelled()
        except ModelError as error:
            return replace(draft.shorter(reason), focus=focus, model=model.name, error=str(error))
        if error := fault(reply):
            record = draft.shorter(reason)
            return replace(record, focus=focus, model=model.name, usage=reply.usage, error=error)
        record = draft.summarised(reason, summary_note(reply.text, draft.summary_size))
        return replace(record, focus=focus, model=model.name, usage=reply.usage)
