"""Servers on loopback that speak the wire formats with SSE, hold requests to the rules, answer as told."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from onplan.messages import Assistant, Call, Text, Thinking, Usage
from onplan.models.wire_responses import SIGNED_BY_OPENAI
from onplan.testing.models import Answer, CutOff, Hang, Refuse
from onplan.testing.rules import (
    Json,
    anthropic_faults,
    chat_faults,
    faults_of,
    responses_faults,
    strict_chat_faults,
)

KEY = "test-key"


@dataclass(frozen=True, slots=True)
class Speech:
    """A wire format, from the server's side. `head` begins a stream; `speak` is a whole one."""

    path: str
    rules: Callable[[Json], Iterator[str]]
    speak: Callable[[Assistant], Iterator[bytes]]
    begin: Callable[[str], Iterator[bytes]]
    error: Callable[[Refuse], Any]
    key: Callable[[Request], str]


class Server:
    """The far side of a model: `onplan.testing.models.FarSide`. `replies` may answer by itself."""

    def __init__(self, speech: Speech, url: str) -> None:
        self.url = url
        self.requests: list[bytes] = []
        self.aborted = 0
        self.reply: Callable[[Any], Answer] | None = None
        self._speech = speech
        self._answers: deque[Answer] = deque()

    def will(self, *answers: Answer) -> None:
        self._answers.extend(answers)

    def forget(self) -> None:
        self.requests.clear()
        self._answers.clear()
        self.aborted = 0
        self.reply = None

    async def serve(self, request: Request) -> Response:
        raw = await request.body()
        self.requests.append(raw)
        if self._speech.key(request) != KEY:
            return self._refuse(Refuse(401, "authentication_error", "invalid key"))
        body = json.loads(raw)
        if faults := faults_of(self._speech.rules, body):
            return self._refuse(Refuse(400, "invalid_request_error", "; ".join(faults)))
        answer = self.reply(body) if self.reply else self._answers.popleft()
        if isinstance(answer, Refuse):
            return self._refuse(answer)
        return StreamingResponse(self._stream(request, answer), media_type="text/event-stream")

    def _refuse(self, refusal: Refuse) -> Response:
        headers = {} if refusal.retry_after is None else {"retry-after": str(refusal.retry_after)}
        return JSONResponse(self._speech.error(refusal), refusal.status, headers)

    async def _stream(self, request: Request, answer: Assistant | CutOff | Hang) -> AsyncIterator[bytes]:
        match answer:
            case Assistant():
                for piece in self._speech.speak(answer):
                    yield piece
            case CutOff(text=text):
                for piece in self._speech.begin(text):
                    yield piece
                # What was sent must have left before the connection breaks.
                await asyncio.sleep(0.05)
                raise ConnectionResetError
            case Hang(text=text):
                for piece in self._speech.begin(text):
                    yield piece
                try:
                    while not await request.is_disconnected():
                        await asyncio.sleep(0.01)
                finally:  # reached by being cancelled, too
                    self.aborted += 1


@contextmanager
def serving(speech: Speech) -> Iterator[Server]:
    """A server in a thread of its own, on a free port of loopback."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = Server(speech, f"http://127.0.0.1:{listening.getsockname()[1]}")
    app = Starlette(routes=[Route(speech.path, server.serve, methods=["POST"])])
    config = uvicorn.Config(app, log_level="critical", ws="none", lifespan="off", http="h11")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        running.should_exit = True
        thread.join(20)
        listening.close()


def _pieces(text: str) -> Iterator[str]:
    size = 16 if len(text) < 10_000 else 4_096
    return (text[n : n + size] for n in range(0, len(text), size))


def _event(name: str, **data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


# --- Anthropic --------------------------------------------------------------------------------------

_ANTHROPIC_STOPS = {"end": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "refusal": "refusal"}


def _anthropic_begin(text: str) -> Iterator[bytes]:
    yield from _anthropic_start(Usage())
    if text:
        yield from _anthropic_block(0, {"type": "text", "text": ""}, _deltas("text_delta", "text", text))


def _anthropic_start(usage: Usage) -> Iterator[bytes]:
    counts = {
        "input_tokens": usage.input,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": 1,
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "m",
        "usage": counts,
    }
    yield _event("message_start", message=message)
    yield _event("ping")


def _anthropic_speak(reply: Assistant) -> Iterator[bytes]:
    yield from _anthropic_start(reply.usage)
    for n, part in enumerate(reply.parts):
        match part:
            case Text(text=text):
                yield from _anthropic_block(
                    n, {"type": "text", "text": ""}, _deltas("text_delta", "text", text)
                )
            case Thinking(text=text, signature=signature):
                block = {"type": "thinking", "thinking": "", "signature": ""}
                signed = {"type": "signature_delta", "signature": signature}
                yield from _anthropic_block(n, block, [*_deltas("thinking_delta", "thinking", text), signed])
            case Call(id=call_id, name=name):
                block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
                text = _arguments(part)
                yield from _anthropic_block(n, block, _deltas("input_json_delta", "partial_json", text))
    usage = {
        "output_tokens": reply.usage.output,
        "output_tokens_details": {"thinking_tokens": reply.usage.thinking},
    }
    delta = {"stop_reason": _ANTHROPIC_STOPS[reply.stop], "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage=usage)
    yield _event("message_stop")


def _deltas(kind: str, key: str, text: str) -> list[dict[str, str]]:
    return [{"type": kind, key: piece} for piece in _pieces(text)]


def _anthropic_block(n: int, block: dict[str, Any], deltas: list[dict[str, str]]) -> Iterator[bytes]:
    yield _event("content_block_start", index=n, content_block=block)
    for delta in deltas:
        yield _event("content_block_delta", index=n, delta=delta)
    yield _event("content_block_stop", index=n)


def _arguments(call: Call) -> str:
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments) if call.arguments else ""


ANTHROPIC = Speech(
    path="/v1/messages",
    rules=anthropic_faults,
    speak=_anthropic_speak,
    begin=_anthropic_begin,
    error=lambda refusal: {"type": "error", "error": {"type": refusal.kind, "message": refusal.message}},
    key=_bearer,
)


# --- Chat Completions -------------------------------------------------------------------------------

_FINISHES = {"end": "stop", "tool_calls": "tool_calls", "length": "length", "refusal": "content_filter"}


def _chunk(choices: list[Any], **more: Any) -> bytes:
    data = {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        **more,
    }
    return f"data: {json.dumps(data)}\n\n".encode()


def _grown(finish: str | None = None, **delta: Any) -> bytes:
    return _chunk([{"index": 0, "delta": delta, "finish_reason": finish}])


def _chat_begin(text: str) -> Iterator[bytes]:
    yield _grown(role="assistant", content="")
    for piece in _pieces(text):
        yield _grown(content=piece)


def _chat_speak(reply: Assistant) -> Iterator[bytes]:
    yield _grown(role="assistant", content=None)
    for part in reply.parts:
        match part:
            case Text(text=text):
                for piece in _pieces(text):
                    yield _grown(content=piece)
            case Thinking(text=text):
                for piece in _pieces(text):
                    yield _grown(reasoning_content=piece)
            case Call(id=call_id, name=name):
                n = reply.calls.index(part)
                function = {"name": name, "arguments": ""}
                yield _grown(
                    tool_calls=[{"index": n, "id": call_id, "type": "function", "function": function}]
                )
                for piece in _pieces(_arguments(part)):
                    yield _grown(tool_calls=[{"index": n, "function": {"arguments": piece}}])
    yield _grown(_FINISHES[reply.stop])
    usage = reply.usage
    counts = {
        "prompt_tokens": usage.input + usage.cache_read + usage.cache_write,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.thinking},
    }
    yield _chunk([], usage=counts)
    yield b"data: [DONE]\n\n"


def _openai_error(refusal: Refuse) -> Any:
    return {"error": {"message": refusal.message, "type": refusal.kind, "code": None, "param": None}}


CHAT = Speech("/v1/chat/completions", chat_faults, _chat_speak, _chat_begin, _openai_error, _bearer)
STRICT_CHAT = Speech(
    "/v1/chat/completions", strict_chat_faults, _chat_speak, _chat_begin, _openai_error, _bearer
)


# --- Responses --------------------------------------------------------------------------------------


def _response(status: str, **more: Any) -> dict[str, Any]:
    fixed = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": []}
    return {**fixed, "status": status, "parallel_tool_calls": True, "tool_choice": "auto", **more}


def _responses_begin(text: str) -> Iterator[bytes]:
    yield _event("response.created", response=_response("in_progress"), sequence_number=0)
    for piece in _pieces(text):
        yield _event("response.output_text.delta", delta=piece, item_id="i0", output_index=0, content_index=0)


def _responses_speak(reply: Assistant) -> Iterator[bytes]:
    yield from _responses_begin("")
    for n, part in enumerate(reply.parts):
        match part:
            case Text(text=text):
                for piece in _pieces(text):
                    yield _event("response.output_text.delta", delta=piece, item_id=f"i{n}", output_index=n)
                content = {"type": "output_text", "text": text, "annotations": []}
                if reply.stop == "refusal":
                    content = {"type": "refusal", "refusal": text}
                item: dict[str, Any] = {"type": "message", "role": "assistant", "content": [content]}
            case Thinking(text=text, signature=signature):
                for piece in _pieces(text):
                    yield _event("response.reasoning_summary_text.delta", delta=piece, item_id=f"i{n}")
                encrypted = signature.removeprefix(SIGNED_BY_OPENAI) or None
                summary = [{"type": "summary_text", "text": text}]
                item = {"type": "reasoning", "summary": summary, "encrypted_content": encrypted}
            case Call(id=call_id, name=name):
                arguments = part.arguments if isinstance(part.arguments, str) else json.dumps(part.arguments)
                item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
        item = {"id": f"i{n}", "status": "completed", **item}
        yield _event("response.output_item.done", output_index=n, item=item)
    cut = reply.stop == "length"
    counts = {
        "input_tokens": reply.usage.input + reply.usage.cache_read + reply.usage.cache_write,
        "input_tokens_details": {
            "cached_tokens": reply.usage.cache_read,
            "cache_write_tokens": reply.usage.cache_write,
        },
        "output_tokens": reply.usage.output,
        "output_tokens_details": {"reasoning_tokens": reply.usage.thinking},
        "total_tokens": reply.usage.total,
    }
    details = {"reason": "max_output_tokens"} if cut else None
    status = "incomplete" if cut else "completed"
    yield _event(f"response.{status}", response=_response(status, usage=counts, incomplete_details=details))


RESPONSES = Speech(
    "/v1/responses", responses_faults, _responses_speak, _responses_begin, _openai_error, _bearer
)
