"""What replies cost."""

from __future__ import annotations

import datetime

import pytest

from onplan.hooks import EndTurn, Turn, View
from onplan.messages import Assistant, Text, Usage, User
from onplan.models.names import default_name
from onplan.models.prices import Price, cost_cap, load_prices

MILLION = 1_000_000


def test_every_kind_of_token_has_its_rate() -> None:
    price = Price(1, 2, 0.1, 1.25)
    assert price.of_reply(Usage(input=MILLION)) == 1
    assert price.of_reply(Usage(output=MILLION, thinking=MILLION)) == 2
    assert price.of_reply(Usage(cache_read=MILLION)) == 0.1
    assert price.of_reply(Usage(cache_write=MILLION)) == 1.25


def test_a_long_prompt_has_rates_of_its_own() -> None:
    price = load_prices().models["gpt-6.1-sol"]
    assert price.of_reply(Usage(cache_read=272_000)) == pytest.approx(0.0272)
    assert price.of_reply(Usage(input=1, cache_read=272_000)) == pytest.approx(0.054404)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("anthropic:claude-sonnet-5-5", True),
        ("claude-haiku-4-5-20251001", True),
        ("claude-opus-4-5@20251101", True),
        ("anthropic:claude-sonnet-5-5@https://api.anthropic.com", True),
        ("openai:gpt-6.1-sol@http://127.0.0.1:8080/v1", False),
        ("gpt-6.1-sol-mini", False),
        ("demo", False),
        ("", False),
    ],
)
def test_only_known_models_at_their_providers_have_a_price(name: str, known: bool) -> None:
    assert (load_prices().of_model(name) is not None) is known


def test_the_table_is_dated_and_knows_the_defaults() -> None:
    prices = load_prices()
    assert datetime.date.fromisoformat(prices.date) <= datetime.date.today() + datetime.timedelta(days=1)
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        assert prices.of_model(default_name({variable: "k"}))


def test_replies_are_priced_by_their_own_model() -> None:
    replies = [
        Assistant((Text("a"),), usage=Usage(output=MILLION), model="claude-sonnet-5-5"),
        Assistant((Text("b"),), usage=Usage(output=MILLION), model="claude-opus-5-5"),
        Assistant((Text("c"),), "interrupted", model="claude-opus-5-5"),
    ]
    assert load_prices().of_messages(replies) == 30
    unpriced = Assistant((Text("d"),), usage=Usage(output=1), model="unknown")
    assert load_prices().of_messages([*replies, unpriced]) is None


def test_the_cap_counts_the_turn_and_not_the_session() -> None:
    reply = Assistant((Text("a"),), usage=Usage(output=MILLION), model="claude-sonnet-5-5")
    end = cost_cap(15.0, load_prices())
    assert end(View([User("1"), reply, reply, User("2"), reply], Turn())) is None
    assert end(View([User("2"), reply, reply], Turn())) == EndTurn("cost")
