"""How long a conversation a model takes, and how a refusal for its length is told from others."""

from __future__ import annotations

import pytest

from onplan.models.connection import Endpoint
from onplan.models.limits import load_limits
from onplan.models.names import default_name


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("claude-sonnet-5-5", 1_000_000),
        ("anthropic:claude-opus-4-8@http://127.0.0.1:1", 1_000_000),
        ("claude-haiku-4-5-20251001", 200_000),
        ("claude-3-5-sonnet", 200_000),
        ("openai:gpt-6.1-sol", 922_000),
        ("gpt-5.5-2026-04-23", 922_000),
        ("gpt-5-mini", 272_000),
        ("gpt-4o-mini", 128_000),
        ("openai:openai/gpt-4.1@http://127.0.0.1:1/v1", 1_000_000),
        ("openai:qwen3@http://127.0.0.1:1/v1", 128_000),
        ("demo", 128_000),
        ("", 128_000),
    ],
)
def test_the_longest_beginning_of_a_name_counts_and_others_get_a_cautious_guess(
    name: str, tokens: int
) -> None:
    assert load_limits().of_model(name) == tokens


def test_the_default_models_are_in_the_table() -> None:
    table = load_limits()
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        assert table.of_model(default_name({key: "k"})) > table.default


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
        ),
        (413, "request_too_large", "Request exceeds the maximum size"),
        (400, "context_length_exceeded", "Your input exceeds the context window of this model."),
        (400, "", "This model's maximum context length is 8192 tokens."),
        (400, "exceed_context_size_error", "the request exceeds the available context size"),
    ],
)
def test_a_refusal_for_length_is_marked_so(status: int, kind: str, message: str) -> None:
    error = Endpoint("m", "http://127.0.0.1", "KEY").refused(status, kind, message)
    assert (error.too_long, error.retryable) == (True, False)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
def test_no_other_refusal_is(status: int) -> None:
    assert (
        not Endpoint("m", "http://127.0.0.1", "KEY").refused(status, "", "max_tokens is too large").too_long
    )
