"""What replies cost, by a table with its date; a model that is not in it has no price: nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from onplan.errors import ConfigError
from onplan.hooks import EndTurn, View
from onplan.messages import Assistant, Message, Usage, User
from onplan.models.names import parse_name

_OFFICIAL = ("https://api.anthropic.com", "https://api.openai.com/v1")


class Rates(msgspec.Struct, frozen=True):
    """Dollars for a million tokens of each kind."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def of(self, usage: Usage) -> float:
        """Dollars. Thinking is part of the output."""
        dollars = (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
        )
        return dollars / 1_000_000


class Above(Rates, frozen=True):
    """The rates of a request whose prompt is longer than `prompt` tokens."""

    prompt: int


class Price(Rates, frozen=True):
    above: Above | None = None

    def of_reply(self, usage: Usage) -> float:
        """Dollars of one reply: the length of its prompt decides which rates count."""
        prompt = usage.input + usage.cache_read + usage.cache_write
        return (self.above if self.above and prompt > self.above.prompt else self).of(usage)


class Prices(msgspec.Struct, frozen=True):
    """`date`: when the table was last compared with the providers' own pages."""

    date: str
    models: Mapping[str, Price]

    def of_model(self, name: str) -> Price | None:
        """The price of a model by any of its names; `None` for one that the table does not know, and for one
        that answers at another address than the provider's."""
        try:
            parsed = parse_name(name)
        except ConfigError:
            return None
        if parsed.url and parsed.url not in _OFFICIAL:
            return None
        # A dated name is the same model: claude-haiku-4-5-20251001, gpt-5.5-2026-04-23.
        undated = re.sub(r"[-@](\d{8}|\d{4}-\d\d-\d\d)$", "", parsed.name)
        return self.models.get(undated)

    def of_messages(self, messages: Iterable[Message]) -> float | None:
        """Dollars of all replies; `None` if the model of one has no price."""
        total = 0.0
        for message in messages:
            if not isinstance(message, Assistant):
                continue
            price = self.of_model(message.model)
            if price is None:
                return None
            total += price.of_reply(message.usage)
        return total


def load_prices() -> Prices:
    """The table that comes with this version."""
    return msgspec.json.decode(Path(__file__).with_name("prices.json").read_bytes(), type=Prices)


def cost_cap(dollars: float, prices: Prices) -> Callable[[View], EndTurn | None]:
    """An `after_round` hook: ends a turn whose requests cost as much. Replies without a price cost nothing.

    What a compaction took out of the view, and its own request, are known by their tokens only: these are
    priced at the plain rates of the newest reply's model.
    """

    known: dict[str, Price | None] = {}

    def cost(reply: Assistant) -> float:
        # A turn of thousands of rounds is added up in each of them.
        if reply.model not in known:
            known[reply.model] = prices.of_model(reply.model)
        price = known[reply.model]
        return price.of_reply(reply.usage) if price else 0.0

    def end(view: View) -> EndTurn | None:
        replies = list(_replies_of_turn(view.messages))
        spent = sum(map(cost, replies))
        price = known.get(replies[0].model) if replies else None
        if price and (unseen := _unseen(view.turn.usage, replies)).total > 0:
            spent += price.of(unseen)
        return EndTurn("cost") if spent >= dollars else None

    return end


def _unseen(turn: Usage, replies: Iterable[Assistant]) -> Usage:
    """What the turn used beyond these replies."""
    seen = sum((reply.usage for reply in replies), Usage())
    return Usage(
        max(0, turn.input - seen.input),
        max(0, turn.output - seen.output),
        max(0, turn.cache_read - seen.cache_read),
        max(0, turn.cache_write - seen.cache_write),
    )


def _replies_of_turn(messages: Sequence[Message]) -> Iterable[Assistant]:
    for message in reversed(messages):
        if isinstance(message, User):
            return
        if isinstance(message, Assistant):
            yield message
