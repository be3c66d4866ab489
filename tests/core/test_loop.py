"""The loop against models: what a stream may do, what a reply may be, how a turn ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from parts import (
    FragileStore,
    StreamModel,
    call,
    check_fold,
    check_requests,
    notes,
    outcomes,
    start,
    warnings,
)

from onplan.errors import ModelError
from onplan.events import RequestStarted, TextDelta, ThinkingDelta, TurnEnded
from onplan.messages import Assistant, Call, Text, Thinking, ToolResult, Usage, User
from onplan.models.scripted import Cut, ScriptedModel
from onplan.protocols import Delta, Request
from onplan.stores.memory import MemoryStore

LIMIT = 20


async def test_a_turn_without_calls_is_one_request() -> None:
    model = ScriptedModel([Assistant((Text("hello"),), usage=Usage(3, 4))])
    agent = await start(model)
    result = await agent.run("hi")
    assert (result.text, result.reason, result.exit_code) == ("hello", "done", 0)
    assert (result.usage, result.requests, result.rounds) == (Usage(3, 4), 1, 0)
    assert list(model.requests[0].messages) == [User("hi")]


async def test_pieces_are_told_as_they_come_between_request_and_reply() -> None:
    events: list[Any] = []
    agent = await start([[Thinking("well"), Text("a b")]], events=events)
    await agent.run("hi")
    told = [event for event in events if not isinstance(event, User)]
    assert told == [
        RequestStarted(1, 1),
        ThinkingDelta("well"),
        TextDelta("a "),
        TextDelta("b"),
        Assistant((Thinking("well"), Text("a b")), model="scripted"),
        TurnEnded("done", requests=1),
    ]


async def test_a_cut_stream_keeps_its_text_as_interrupted_and_drops_the_rest() -> None:
    async def cut(request: Request) -> AsyncIterator[Delta | Assistant]:
        yield Delta("thinking", "hm")
        yield Delta("text", "I was ")
        yield Delta("text", "ab")
        raise ModelError("the line broke")

    store = MemoryStore()
    agent = await start(StreamModel(cut), store=store)
    result = await agent.run("go")
    assert (result.reason, result.error, result.text) == ("model_error", "the line broke", "I was ab")
    assert list(agent.messages) == [User("go"), Assistant((Text("I was ab"),), "interrupted", model="stream")]
    await check_fold(agent, store)


async def test_a_stream_cut_before_any_text_leaves_no_reply() -> None:
    agent = await start([Cut("  "), "good"])
    assert (await agent.run("go")).reason == "model_error"
    assert list(agent.messages) == [User("go")]
    assert (await agent.run("again")).text == "good"


async def test_a_stream_without_a_reply_is_a_model_error() -> None:
    async def nothing(request: Request) -> AsyncIterator[Delta | Assistant]:
        yield Delta("text", "abc")

    agent = await start(StreamModel(nothing))
    result = await agent.run("go")
    assert (result.reason, result.error) == ("model_error", "stream ended its stream without a reply")


async def test_a_model_that_cannot_even_begin_is_a_model_error() -> None:
    class Broken:
        name = "broken"

        def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
            raise RuntimeError("no key")

    agent = await start(Broken())
    result = await agent.run("go")
    assert (result.reason, result.error) == ("model_error", "broken failed: RuntimeError: no key")


async def test_a_model_that_gives_up_by_itself_is_a_model_error() -> None:
    agent = await start([asyncio.CancelledError(), "good"])
    assert (await agent.run("go")).reason == "model_error"
    assert (await agent.run("again")).text == "good"


async def test_cancelling_aborts_the_request_and_keeps_the_text() -> None:
    waiting = asyncio.Event()

    async def slow(request: Request) -> AsyncIterator[Delta | Assistant]:
        yield Delta("text", "I am")
        waiting.set()
        await asyncio.sleep(LIMIT)

    model = StreamModel(slow)
    agent = await start(model)
    turn = asyncio.create_task(agent.run("go"))
    await waiting.wait()
    agent.interrupt()
    assert (await turn).reason == "interrupted"
    assert model.closed == 1
    assert agent.messages[-1] == Assistant((Text("I am"),), "interrupted", model="stream")


class KeptModel:
    """A model that holds on to its streams, so that nothing but the loop closes them."""

    name = "kept"

    def __init__(self, make: Callable[[Request], AsyncIterator[Delta | Assistant]]) -> None:
        self._make = make
        self._kept: list[AsyncIterator[Delta | Assistant]] = []

    def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        self._kept.append(self._make(request))
        return self._kept[-1]


async def test_a_stream_is_closed_once_its_reply_is_there() -> None:
    closed: list[bool] = []

    async def long(request: Request) -> AsyncIterator[Delta | Assistant]:
        try:
            yield Assistant((Text("hi"),))
            await asyncio.sleep(LIMIT)
        finally:
            closed.append(True)

    agent = await start(KeptModel(long))
    assert (await agent.run("go")).text == "hi"
    assert closed == [True]


async def test_a_stream_that_fails_when_closed_does_not_spoil_its_reply() -> None:
    async def rude(request: Request) -> AsyncIterator[Delta | Assistant]:
        try:
            yield Assistant((Text("hi"),))
        finally:
            raise OSError("reset")

    agent = await start(KeptModel(rude))
    assert (await agent.run("go")).text == "hi"


@pytest.mark.parametrize("ids", [("", ""), ("x", "x"), ("x", "")])
async def test_calls_without_an_id_of_their_own_get_one(ids: tuple[str, str]) -> None:
    model = ScriptedModel([[Call(n, "work", {"text": str(k)}) for k, n in enumerate(ids)], "x"])
    agent = await start(model)
    await agent.run("go")
    reply = agent.messages[1]
    assert isinstance(reply, Assistant)
    assert [r.content for r in agent.messages if isinstance(r, ToolResult)] == ["worked 0", "worked 1"]
    assert len({c.id for c in reply.calls}) == 2
    assert all(c.id for c in reply.calls)
    check_requests(model.requests)


async def test_a_refusal_ends_the_turn() -> None:
    agent = await start([Assistant((Text("I will not"),), "refusal")])
    result = await agent.run("go")
    assert (result.reason, result.exit_code, result.text) == ("refusal", 1, "I will not")


async def test_a_reply_cut_by_length_may_go_on_twice() -> None:
    cut = Assistant((Text("and"),), "length")
    model = ScriptedModel([cut, cut, "done"])
    agent = await start(model)
    assert (await agent.run("go")).reason == "done"
    assert [note.kind for note in notes(agent.messages)] == ["length", "length"]
    agent = await start([cut, cut, cut])
    assert (await agent.run("go")).reason == "length"


async def test_an_empty_reply_may_be_mended_twice_and_work_in_between_counts_anew() -> None:
    agent = await start(["", "", [call(1)], "", "", "done"])
    result = await agent.run("go")
    assert (result.reason, result.requests) == ("done", 6)
    assert [note.text for note in notes(agent.messages, "empty")] == [
        "<notice>Your reply was empty. Go on, or say that you are done.</notice>"
    ] * 4


@pytest.mark.parametrize("reply", ["", "  \n ", [Thinking("hm")], [Text(""), Text(" ")]])
async def test_a_reply_that_says_nothing_is_empty(reply: Any) -> None:
    agent = await start([reply] * 3)
    assert (await agent.run("go")).reason == "empty"


async def test_a_paused_reply_is_taken_up_again_as_it_is() -> None:
    model = ScriptedModel([Assistant((Text("wait"),), "paused"), "done"])
    agent = await start(model)
    assert (await agent.run("go")).reason == "done"
    assert model.requests[1].messages[-1] == Assistant((Text("wait"),), "paused")


async def test_a_reply_with_calls_that_was_cut_by_length_still_gets_its_results() -> None:
    agent = await start([Assistant((Call("t1", "work", '{"text": "un'),), "length"), "x"])
    await agent.run("go")
    assert outcomes(agent.messages) == [("t1", "error")]


async def test_notes_of_the_harness_are_messages_of_their_own_where_nothing_stands_before_them() -> None:
    agent = await start(["", "x"])
    await agent.run("go")
    (note,) = notes(agent.messages)
    assert note.placement == "message"


async def test_one_turn_tells_its_end_once_also_where_it_is_not_logged() -> None:
    events: list[Any] = []
    agent = await start(["x"], store=FragileStore(range(2, 9)), events=events)
    result = await agent.run("go")
    assert (result.reason, result.error) == ("store_error", "the disk is full")
    ends = [event for event in events if isinstance(event, TurnEnded)]
    assert [(end.reason, end.error) for end in ends] == [("store_error", "the disk is full")]
    assert warnings(events) == []
