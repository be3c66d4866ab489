"""What servers do on their streams that is not in the book, and how long a repeated request waits."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
from far_side import ANTHROPIC, CHAT, RESPONSES, Server, Speech, serving
from test_conformance_http import model_for

from onplan.errors import ModelError
from onplan.messages import Assistant, Call, Text, Thinking, User
from onplan.models.connection import Endpoint, Retry, ServerError, retry_after
from onplan.models.openai import is_openai
from onplan.models.wire_anthropic import REDACTED
from onplan.protocols import Delta, Request

KINDS = {"anthropic": ANTHROPIC, "chat": CHAT, "responses": RESPONSES}


class Raw:
    """A server of one kind whose streams are given as they are, the last one again and again."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.streams: list[bytes] = []

    def speak(self, _: Assistant) -> Iterator[bytes]:
        yield self.streams.pop(0) if len(self.streams) > 1 else self.streams[0]

    def speech(self) -> Speech:
        return replace(KINDS[self.kind], speak=self.speak)


async def _answer(kind: str, *streams: bytes) -> tuple[Assistant, Server]:
    raw = Raw(kind)
    raw.streams = list(streams)
    with serving(raw.speech()) as server:
        server.reply = lambda _: Assistant(())
        model = model_for(kind, server)
        try:
            return await _whole(model.stream(Request("", (), [User("Hi.")]))), server
        finally:
            await model.aclose()


async def _whole(items: AsyncIterator[Delta | Assistant]) -> Assistant:
    found = [item async for item in items]
    assert isinstance(found[-1], Assistant)
    return found[-1]


def _lines(*data: Any, named: bool = False) -> bytes:
    heads = [f"event: {item['type']}\n" if named else "" for item in data]
    return "".join(
        f"{head}data: {json.dumps(item)}\n\n" for head, item in zip(heads, data, strict=True)
    ).encode()


def _chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


DONE = b"data: [DONE]\n\n"
HELLO = _lines(_chunk(content="Hello."), _chunk("stop")) + DONE


# --- Chat Completions -------------------------------------------------------------------------------


def _piece(index: int | None, id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        pytest.param(
            [[_piece(0, "a", "bash", '{"x":')], [_piece(0, None, None, "1}")]],
            (Call("a", "bash", {"x": 1}),),
            id="in pieces",
        ),
        pytest.param(
            [[_piece(0, "a", "bash", "{}")], [_piece(0, "b", "glob", "{}")]],
            (Call("a", "bash", {}), Call("b", "glob", {})),
            id="every call has the index 0",
        ),
        pytest.param(
            [[_piece(0, "a", "bash", '{"x":')], [_piece(0, "a", "bash", "1}")]],
            (Call("a", "bash", {"x": 1}),),
            id="id and name in every piece",
        ),
        pytest.param([[_piece(0, "a", "bash", {"x": 1})]], (Call("a", "bash", {"x": 1}),), id="an object"),
        pytest.param([[_piece(0, "a", "bash", None)]], (Call("a", "bash", ""),), id="no arguments"),
        pytest.param(
            [[_piece(0, None, "bash", "{}"), _piece(1, None, "glob", "{}")]],
            (Call("", "bash", {}), Call("", "glob", {})),
            id="no ids",
        ),
        pytest.param([[_piece(None, "a", "bash", "{}")]], (Call("a", "bash", {}),), id="no index"),
    ],
)
async def test_calls_of_compatible_servers_are_put_together(
    pieces: list[list[dict[str, Any]]], calls: tuple[Call, ...]
) -> None:
    # They say "stop" where they should say "tool_calls", too.
    stream = _lines(*(_chunk(tool_calls=piece) for piece in pieces), _chunk("stop")) + DONE
    reply, _ = await _answer("chat", stream)
    assert (reply.calls, reply.stop) == (calls, "tool_calls")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
async def test_thinking_is_heard_under_either_name(key: str) -> None:
    stream = _lines(_chunk(**{key: "hm"}), _chunk(content="Hello."), _chunk("stop")) + DONE
    reply, _ = await _answer("chat", stream)
    assert reply.parts == (Thinking("hm"), Text("Hello."))


async def test_a_stream_without_a_reason_for_its_end_was_cut() -> None:
    reply, server = await _answer("chat", _lines(_chunk(content=None)), HELLO)
    assert (reply.text, len(server.requests)) == ("Hello.", 2)


async def test_half_an_event_at_the_end_was_cut() -> None:
    reply, server = await _answer("chat", b'data: {"id": "c", "choi\n\n', HELLO)
    assert (reply.text, len(server.requests)) == ("Hello.", 2)


async def test_an_error_on_the_stream_is_an_error_of_the_request() -> None:
    error = {"error": {"message": "the context window is full", "type": "invalid_request_error", "code": 400}}
    with pytest.raises(ModelError, match="the conversation is too long for qwen-test: the context window"):
        await _answer("chat", _lines(error))


# --- Anthropic --------------------------------------------------------------------------------------

START = {
    "type": "message_start",
    "message": {"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}},
}
END = (
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
)


def _block(block: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    return [start, *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas)]


async def test_overload_on_the_stream_is_waited_out() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    text = _block({"type": "text", "text": ""}, {"type": "text_delta", "text": "Hello."})
    reply, server = await _answer(
        "anthropic", _lines(START, error, named=True), _lines(START, *text, *END, named=True)
    )
    assert (reply.text, len(server.requests)) == ("Hello.", 2)


async def test_thinking_that_is_kept_unreadable_goes_back_as_it_came() -> None:
    block = _block({"type": "redacted_thinking", "data": "gAAA"})
    reply, _ = await _answer("anthropic", _lines(START, *block, *END, named=True))
    assert reply.parts == (Thinking("", f"{REDACTED}gAAA"),)


async def test_blocks_that_nobody_knows_are_left_out() -> None:
    block = _block({"type": "new_thing", "x": 1}, {"type": "new_delta", "y": 2})
    reply, _ = await _answer("anthropic", _lines(START, *block, {"type": "news"}, *END, named=True))
    assert reply.parts == ()


# --- Responses --------------------------------------------------------------------------------------


async def test_a_response_that_fails_is_asked_for_again_where_that_may_help() -> None:
    response = {"id": "r", "status": "failed", "error": {"code": "server_error", "message": "sorry"}}
    with pytest.raises(ModelError, match=r"failed \(server_error\): sorry") as failed:
        await _answer("responses", _lines({"type": "response.failed", "response": response}, named=True))
    assert failed.value.retryable


# --- waiting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After-Ms": "250", "Retry-After": "7"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_a_server_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_is_as_good_as_seconds() -> None:
    wait = retry_after({"retry-after": email.utils.formatdate(time.time() + 1_000)})
    assert wait is not None
    assert 900 < wait < 1_100


def test_each_wait_is_about_twice_the_one_before_it_up_to_the_longest() -> None:
    retry = Retry(tries=9, first=1.0, longest=8.0)
    error = ServerError("overloaded", retryable=True)
    for tried, most in enumerate([1, 2, 4, 8, 8, 8, 8, 8], 1):
        delay = retry.delay(tried, error)
        assert delay is not None
        assert most * 0.75 <= delay <= most
    assert retry.delay(9, error) is None
    assert retry.delay(1, ServerError("no key")) is None


def test_a_server_that_wants_too_long_a_wait_is_not_waited_for() -> None:
    assert Retry(patience=60).delay(1, ServerError("limit", retryable=True, retry_after=61)) is None


# --- errors -----------------------------------------------------------------------------------------

HERE = Endpoint("m", "https://x.invalid", "X_KEY")


@pytest.mark.parametrize(
    ("status", "kind", "message", "told", "retryable"),
    [
        (401, "", "", "refused the key: set X_KEY", False),
        (402, "", "", "no credit left", False),
        (403, "", "", "does not let this key use m", False),
        (404, "", "", "knows no model 'm'", False),
        (400, "context_length_exceeded", "", "the conversation is too long", False),
        (413, "request_too_large", "", "the conversation is too long", False),
        (429, "", "", "limits the rate", True),
        (429, "insufficient_quota", "", "no credit left", False),
        (500, "", "", "failed (500)", True),
        (503, "", "", "is overloaded", True),
        (529, "", "", "is overloaded", True),
        (0, "overloaded_error", "", "is overloaded", True),
        (0, "api_error", "", "failed (api_error)", True),
        (422, "", "a\nb\x1b[31m", "refused the request (422): a b [31m", False),
    ],
)
def test_every_error_is_one_line_that_says_what_to_do(
    status: int, kind: str, message: str, told: str, retryable: bool
) -> None:
    error = HERE.refused(status, kind, message)
    assert told in str(error)
    assert error.retryable is retryable
    assert str(error).isprintable()


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com:443/v1", True),
        ("https://api.openai.com.evil.invalid/v1", False),
        ("https://evil.invalid/api.openai.com", False),
        ("http://api.openai.com@127.0.0.1/v1", False),
    ],
)
def test_only_openais_own_address_is_spoken_to_with_responses(url: str, own: bool) -> None:
    assert is_openai(url) is own
