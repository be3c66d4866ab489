"""Tries a model out: does it answer, stream, call a tool, read its cache; and a cure where it does not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

from onplan.errors import ModelError
from onplan.messages import Assistant, Message, Note, ToolResult, User
from onplan.protocols import Model, Request


@dataclass(frozen=True, slots=True)
class Finding:
    """`unknown`: it could not be told, which is no failure. `cure`: what to do, where there is something."""

    name: str
    state: Literal["ok", "failed", "unknown"]
    told: str
    cure: str = ""


_TOOL: dict[str, Any] = {
    "name": "echo",
    "description": "Answers with the text that it is given.",
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "Any text."}},
        "required": ["text"],
    },
}

# Providers cache nothing shorter than some thousand tokens.
_SYSTEM = "You are being tried out. Answer in a few words.\n\n" + "\n".join(
    f"Line {n}: this text is here only to be long enough for a prompt cache." for n in range(400)
)


async def probe(model: Model) -> AsyncIterator[Finding]:
    """Two requests. Raises nothing for what a model does wrong; a request without an answer is the last."""
    messages: list[Message] = [
        User("Call the tool echo once with the text ping. After its result answer with the one word: done.")
    ]
    try:
        pieces, reply = await _ask(model, messages)
    except ModelError as error:
        yield Finding("answers", "failed", str(error))
        return
    yield Finding("answers", "ok", model.name)
    yield _calls(reply)
    messages += [reply, *(ToolResult(call.id, call.name, "ping") for call in reply.calls)]
    if not reply.calls:
        messages.append(Note("Answer with the one word: done.", "probe", "message"))
    try:
        more, second = await _ask(model, messages)
    except ModelError as error:
        yield Finding("goes on after a tool's result", "failed", str(error))
        return
    yield Finding("goes on after a tool's result", "ok", f"{second.text.strip()[:40]!r}")
    yield _streams(pieces + more)
    yield _caches(reply, second)


async def _ask(model: Model, messages: list[Message]) -> tuple[int, Assistant]:
    """How many pieces came, and the whole reply."""
    pieces = 0
    async for item in model.stream(Request(_SYSTEM, (_TOOL,), messages)):
        if isinstance(item, Assistant):
            return pieces, item
        pieces += 1
    raise ModelError(f"{model.name} ended its stream without a reply")


def _calls(reply: Assistant) -> Finding:
    match [(call.name, call.arguments) for call in reply.calls]:
        case [("echo", {"text": str()})]:
            return Finding("calls a tool", "ok", "echo, with arguments that fit")
        case []:
            return Finding(
                "calls a tool",
                "failed",
                "it answered in words",
                "take a model that was trained to call tools; llama.cpp needs --jinja, vLLM "
                "--enable-auto-tool-choice and its --tool-call-parser",
            )
        case calls:
            told = f"it sent {calls!r}"[:200]
            return Finding("calls a tool", "failed", told, "take a larger model, or another chat template")


def _streams(pieces: int) -> Finding:
    if pieces:
        return Finding("streams", "ok", f"{pieces} piece{'' if pieces == 1 else 's'}")
    return Finding("streams", "unknown", "nothing but calls came, so there was nothing to see on its way")


def _caches(first: Assistant, second: Assistant) -> Finding:
    if second.usage.cache_read:
        return Finding("reads its cache", "ok", f"{second.usage.cache_read:,} tokens of the request before")
    if not second.usage.total:
        return Finding("reads its cache", "unknown", "the server counts no tokens")
    if first.usage.cache_write:
        return Finding(
            "reads its cache",
            "failed",
            f"{first.usage.cache_write:,} tokens were written, none were read",
            "a proxy between may change the requests",
        )
    return Finding(
        "reads its cache", "unknown", "the server says nothing of a cache; local ones often do not"
    )
