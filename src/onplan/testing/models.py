"""What every model must do, as checks that anybody can run on theirs; needs no test framework.

A check gets a model and its *far side*: whatever answers the model's requests, a server in a test for
instance, and can be told what to answer. With pytest: `@pytest.mark.parametrize("check", CHECKS,
ids=lambda check: check.name)`, then `await check.run(model, far_side)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from onplan.errors import ModelError
from onplan.messages import Assistant, Call, Media, Message, Note, Text, Thinking, ToolResult, Usage, User
from onplan.protocols import Delta, Model, Request

PATIENCE = 20.0
"""Seconds after which something that should happen counts as never happening."""

DOT = "R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw=="
"""The smallest image there is, a GIF in base64."""

SYSTEM = "You are a coding agent."
TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "bash",
        "description": "Run a command.",
        "input_schema": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
)


# --- the far side -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Refuse:
    """An error in place of a reply. `kind`: the provider's own word, `overloaded_error` for instance."""

    status: int
    kind: str = ""
    message: str = "no"
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class CutOff:
    """A reply whose stream breaks after `text`."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Hang:
    """A reply that begins with `text` and never goes on."""

    text: str


Answer: TypeAlias = Assistant | Refuse | CutOff | Hang


class FarSide(Protocol):
    """What answers the requests of a model: by the rules of its format, or with an error where they are
    broken. `requests`: the body of each so far. `aborted`: how many replies the model did not wait for."""

    @property
    def requests(self) -> Sequence[bytes]: ...

    @property
    def aborted(self) -> int: ...

    def will(self, *answers: Answer) -> None:
        """The next requests get these answers, one each."""
        ...


Steps = Callable[[Model, FarSide], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Check:
    """One rule. `run` raises AssertionError if it is broken. `wire`: it is about requests over a network,
    which a model that answers by itself has none of."""

    name: str
    run: Steps
    wire: bool = False


# --- replies ----------------------------------------------------------------------------------------


async def _text_arrives_in_pieces_and_whole(model: Model, far: FarSide) -> None:
    far.will(Assistant((Text("Hello there, this is a reply in several pieces."),)))
    heard, reply = await _ask(model, [User("Hi.")])
    _same(reply.parts, (Text("Hello there, this is a reply in several pieces."),))
    _same(reply.stop, "end")
    _same("".join(delta.text for delta in heard if delta.kind == "text"), reply.text)
    _true(len(heard) > 1, "the text came in one piece")


async def _one_call(model: Model, far: FarSide) -> None:
    call = Call("call_1", "bash", {"command": "ls -l", "nested": {"n": [1, 2.5, None, True]}})
    far.will(Assistant((Text("Looking."), call), "tool_calls"), Assistant((Text("Done."),)))
    messages: list[Message] = [User("List.")]
    _, reply = await _ask(model, messages)
    _same((reply.parts, reply.stop), ((Text("Looking."), call), "tool_calls"))
    messages += [reply, ToolResult("call_1", "bash", "a.py")]
    _, reply = await _ask(model, messages)
    _same(reply.text, "Done.")


async def _parallel_calls_keep_their_order(model: Model, far: FarSide) -> None:
    calls = tuple(Call(f"call_{n}", "bash", {"command": f"echo {n}"}) for n in range(5))
    far.will(Assistant(calls, "tool_calls"), Assistant((Text("Done."),)))
    messages: list[Message] = [User("Go.")]
    _, reply = await _ask(model, messages)
    _same(reply.calls, calls)
    results = [ToolResult(call.id, call.name, f"out {call.id}") for call in calls]
    messages += [reply, *results, Note("<reminder>", "reminder")]
    _, reply = await _ask(model, messages)
    _same(reply.text, "Done.")


async def _a_call_without_arguments(model: Model, far: FarSide) -> None:
    far.will(Assistant((Call("call_1", "bash", {}),), "tool_calls"))
    _, reply = await _ask(model, [User("Go.")])
    _true(reply.calls[0].arguments in ({}, ""), f"its arguments are {reply.calls[0].arguments!r}")


async def _broken_arguments_come_as_the_text_they_were(model: Model, far: FarSide) -> None:
    broken = '{"command": "ls", '
    calls = (Call("call_1", "bash", broken), Call("call_2", "bash", {"command": "ls"}))
    far.will(Assistant(calls, "tool_calls"), Assistant((Text("Once more."),)))
    messages: list[Message] = [User("Go.")]
    _, reply = await _ask(model, messages)
    _same(reply.calls, calls)
    messages += [reply, ToolResult("call_1", "bash", "Error: not JSON", "error")]
    messages += [ToolResult("call_2", "bash", "a.py")]
    _, reply = await _ask(model, messages)
    _same(reply.text, "Once more.")


async def _unicode_and_lone_surrogates(model: Model, far: FarSide) -> None:
    text = "déjà vu ✓ 😀 \u2028 عربى \x07"
    far.will(Assistant((Text(text),)), Assistant((Text("ok"),)))
    messages: list[Message] = [User(f"{text} \ud800")]
    _, reply = await _ask(model, messages)
    _same(reply.text, text)
    call = Call("call_1", "bash", {"command": "cat \udcff"})
    messages += [Assistant((call,), "tool_calls"), ToolResult("call_1", "bash", "name\udcff.txt")]
    _, reply = await _ask(model, messages)
    _same(reply.text, "ok")


async def _very_long_output(model: Model, far: FarSide) -> None:
    text = "0123456789abcdé\n" * 65_536
    far.will(Assistant((Text(text),)))
    heard, reply = await _ask(model, [User("Write.")])
    _true(reply.text == text, f"{len(reply.text):,} of {len(text):,} characters arrived")
    _true("".join(delta.text for delta in heard) == text, "the pieces are not the whole")


async def _an_empty_reply_has_no_parts(model: Model, far: FarSide) -> None:
    far.will(Assistant(()), Assistant((Text("Here."),)))
    messages: list[Message] = [User("Hi.")]
    _, reply = await _ask(model, messages)
    _same(reply.parts, ())
    messages += [reply, Note("Go on.", "empty", "message")]
    _, reply = await _ask(model, messages)
    _same(reply.text, "Here.")


async def _a_reply_cut_by_its_length_says_so(model: Model, far: FarSide) -> None:
    far.will(Assistant((Text("and then"),), "length"))
    _, reply = await _ask(model, [User("Tell.")])
    _same((reply.text, reply.stop), ("and then", "length"))


async def _a_refusal_says_so(model: Model, far: FarSide) -> None:
    far.will(Assistant((Text("I cannot."),), "refusal"))
    _, reply = await _ask(model, [User("Do.")])
    _same(reply.stop, "refusal")


async def _usage_is_what_was_counted(model: Model, far: FarSide) -> None:
    usage = Usage(input=1_000, output=70, cache_read=8_000, cache_write=500, thinking=30)
    far.will(Assistant((Text("Hi."),), usage=usage))
    _, reply = await _ask(model, [User("Hi.")])
    _same(reply.usage, usage)


async def _thinking_is_told_and_can_go_back(model: Model, far: FarSide) -> None:
    call = Call("call_1", "bash", {"command": "ls"})
    far.will(Assistant((Thinking("Let me see.", "signed"), call), "tool_calls"), Assistant((Text("Done."),)))
    messages: list[Message] = [User("Go.")]
    heard, reply = await _ask(model, messages)
    _same("".join(delta.text for delta in heard if delta.kind == "thinking"), "Let me see.")
    _same([part.text for part in reply.parts if isinstance(part, Thinking)], ["Let me see."])
    messages += [reply, ToolResult("call_1", "bash", "a.py")]
    _, reply = await _ask(model, messages)
    _same(reply.text, "Done.")


async def _an_image_is_shown_or_said_not_to_be(model: Model, far: FarSide) -> None:
    call = Call("call_1", "bash", {"command": "ls"})
    far.will(Assistant((call,), "tool_calls"), Assistant((Text("A dot."),)))
    messages: list[Message] = [User("Go.")]
    _, reply = await _ask(model, messages)
    result = ToolResult("call_1", "bash", "an image", media=(Media("image/gif", DOT, "dot.gif"),))
    messages += [reply, result, Note("<reminder>", "reminder")]
    _, reply = await _ask(model, messages)
    _same(reply.text, "A dot.")
    shown, said = DOT.encode() in far.requests[-1], b"(not shown: " in far.requests[-1]
    _true(shown is not said, "the image has to be sent, or the result to say (not shown: REASON)")


async def _leaving_in_the_middle_aborts_the_request(model: Model, far: FarSide) -> None:
    far.will(Hang("Thinking about it for long."), Assistant((Text("Again."),)))
    started = asyncio.Event()

    async def listen() -> None:
        async for _ in model.stream(Request(SYSTEM, TOOLS, [User("Go.")])):
            started.set()

    task = asyncio.create_task(listen())
    await asyncio.wait_for(started.wait(), PATIENCE)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(task, PATIENCE)
    _true(task.cancelled(), "the cancellation was swallowed")
    async with asyncio.timeout(PATIENCE):
        while far.aborted == 0:  # noqa: ASYNC110 - the far side may be in another thread
            await asyncio.sleep(0.01)
    _, reply = await _ask(model, [User("Once more.")])
    _same(reply.text, "Again.")


# --- errors -----------------------------------------------------------------------------------------


async def _a_call_without_a_result_is_refused_in_one_line(model: Model, far: FarSide) -> None:
    call = Call("call_1", "bash", {"command": "ls"})
    error = await _fails(model, [User("Go."), Assistant((call,), "tool_calls"), User("Continue.")])
    _same((error.retryable, len(far.requests)), (False, 1))


async def _overload_is_waited_out(model: Model, far: FarSide) -> None:
    far.will(Refuse(529, "overloaded_error"), Refuse(503), Assistant((Text("Here."),)))
    _, reply = await _ask(model, [User("Hi.")])
    _same((reply.text, len(far.requests)), ("Here.", 3))
    _true(len(set(far.requests)) == 1, "a repeated request has the same bytes")


async def _a_rate_limit_is_waited_out_as_asked(model: Model, far: FarSide) -> None:
    far.will(Refuse(429, "rate_limit_error", retry_after=0.3), Assistant((Text("Here."),)))
    clock = asyncio.get_running_loop().time
    before = clock()
    _, reply = await _ask(model, [User("Hi.")])
    _same(reply.text, "Here.")
    _true(clock() - before >= 0.3, "it did not wait as long as it was asked to")


async def _overload_without_end_is_an_error(model: Model, far: FarSide) -> None:
    far.will(*[Refuse(529, "overloaded_error")] * 50)
    error = await _fails(model, [User("Hi.")])
    _same(error.retryable, True)


async def _a_wrong_key_is_not_tried_again(model: Model, far: FarSide) -> None:
    far.will(Refuse(401, "authentication_error", "invalid key"))
    error = await _fails(model, [User("Hi.")])
    _same((error.retryable, len(far.requests)), (False, 1))
    _true("key" in str(error), f"it does not speak of the key: {error}")


async def _an_unknown_model_is_named(model: Model, far: FarSide) -> None:
    far.will(Refuse(404, "not_found_error", "no such model"))
    error = await _fails(model, [User("Hi.")])
    _same((error.retryable, len(far.requests)), (False, 1))


async def _too_long_a_conversation_is_called_so(model: Model, far: FarSide) -> None:
    far.will(Refuse(400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"))
    error = await _fails(model, [User("Hi.")])
    _same((error.retryable, error.too_long, len(far.requests)), (False, True, 1))
    _true("conversation is too long" in str(error), f"it does not say what is too long: {error}")


async def _a_stream_cut_before_any_text_is_asked_for_again(model: Model, far: FarSide) -> None:
    far.will(CutOff(), Assistant((Text("Here."),)))
    heard, reply = await _ask(model, [User("Hi.")])
    _same((reply.text, len(far.requests)), ("Here.", 2))
    _same("".join(delta.text for delta in heard), "Here.")


async def _a_stream_cut_after_text_is_an_error(model: Model, far: FarSide) -> None:
    far.will(CutOff("So far so good"), Assistant((Text("Not to be asked for."),)))
    heard: list[Delta] = []
    try:
        await _ask(model, [User("Hi.")], heard)
    except ModelError as error:
        _same(error.retryable, True)
    else:
        raise AssertionError("a cut stream ended as if it were whole")
    _same(("".join(delta.text for delta in heard), len(far.requests)), ("So far so good", 1))


CHECKS: tuple[Check, ...] = (
    Check("text arrives in pieces and whole", _text_arrives_in_pieces_and_whole),
    Check("one call", _one_call),
    Check("parallel calls keep their order", _parallel_calls_keep_their_order),
    Check("a call without arguments", _a_call_without_arguments),
    Check("broken arguments come as the text they were", _broken_arguments_come_as_the_text_they_were),
    Check("unicode and lone surrogates", _unicode_and_lone_surrogates),
    Check("very long output", _very_long_output),
    Check("an empty reply has no parts", _an_empty_reply_has_no_parts),
    Check("a reply cut by its length says so", _a_reply_cut_by_its_length_says_so),
    Check("a refusal says so", _a_refusal_says_so),
    Check("usage is what was counted", _usage_is_what_was_counted),
    Check("thinking is told and can go back", _thinking_is_told_and_can_go_back),
    Check("an image is shown or said not to be", _an_image_is_shown_or_said_not_to_be, wire=True),
    Check("leaving in the middle aborts the request", _leaving_in_the_middle_aborts_the_request, wire=True),
    Check(
        "a call without a result is refused in one line",
        _a_call_without_a_result_is_refused_in_one_line,
        wire=True,
    ),
    Check("overload is waited out", _overload_is_waited_out, wire=True),
    Check("a rate limit is waited out as asked", _a_rate_limit_is_waited_out_as_asked, wire=True),
    Check("overload without end is an error", _overload_without_end_is_an_error, wire=True),
    Check("a wrong key is not tried again", _a_wrong_key_is_not_tried_again, wire=True),
    Check("an unknown model is named", _an_unknown_model_is_named, wire=True),
    Check("too long a conversation is called so", _too_long_a_conversation_is_called_so, wire=True),
    Check(
        "a stream cut before any text is asked for again",
        _a_stream_cut_before_any_text_is_asked_for_again,
        wire=True,
    ),
    Check("a stream cut after text is an error", _a_stream_cut_after_text_is_an_error),
)


# --- asking -----------------------------------------------------------------------------------------


async def _ask(
    model: Model, messages: Sequence[Message], heard: list[Delta] | None = None
) -> tuple[list[Delta], Assistant]:
    """The pieces and the one whole reply, which comes last."""
    pieces: list[Delta] = [] if heard is None else heard
    replies: list[Assistant] = []
    async for item in model.stream(Request(SYSTEM, TOOLS, messages)):
        _true(not replies, "something came after the whole reply")
        if isinstance(item, Assistant):
            replies.append(item)
        else:
            pieces.append(item)
    _same(len(replies), 1)
    return pieces, replies[0]


async def _fails(model: Model, messages: Sequence[Message]) -> ModelError:
    try:
        _, reply = await _ask(model, messages)
    except ModelError as error:
        _true(bool(str(error)) and "\n" not in str(error), f"the error is not one line: {error}")
        return error
    raise AssertionError(f"it should have failed, and answered {reply.text[:80]!r}")


def _same(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"found {found!r}, expected {expected!r}")


def _true(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
