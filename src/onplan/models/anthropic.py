"""Claude, and every server that speaks Anthropic's Messages API, on the official SDK.

The SDK is imported with the first request: a prompt is there before it is loaded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from onplan.messages import Assistant, Call, Part, StopReason, Text, Thinking, Usage
from onplan.models.connection import PATIENT, Endpoint, PerLoop, Retry, ServerError, persistently
from onplan.models.names import Takes, takes_of
from onplan.models.wire import Translation, received_arguments
from onplan.models.wire_anthropic import REDACTED, AnthropicFold, anthropic_prefix, with_breakpoints
from onplan.protocols import Delta, Request

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import RawMessageStreamEvent

URL = "https://api.anthropic.com"

_STOPS: Mapping[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "paused",
    "refusal": "refusal",
}


class AnthropicModel:
    """A `Model` behind the Messages API.

    `max_tokens` is the longest reply. `timeout`: seconds of silence after which a request is given up.
    `thinking` goes to the API as it is; `None` leaves it to the model's own default. `takes`: what it takes
    besides text; `None` goes by its name.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str,
        base_url: str = URL,
        name: str = "",
        max_tokens: int = 32_000,
        thinking: dict[str, Any] | None = None,
        takes: Takes | None = None,
        timeout: float = 300.0,
        retry: Retry = PATIENT,
    ) -> None:
        self._name = name or model
        self._model = model
        self._max_tokens = max_tokens
        self._thinking = thinking
        self._timeout = timeout
        self._retry = retry
        self._endpoint = Endpoint(model, base_url, "ANTHROPIC_API_KEY")
        # Who serves Claude speaks its whole format, a gateway too.
        own = base_url == URL or "claude" in model.casefold()
        taken = takes_of(model, own=own) if takes is None else takes
        self._translation = Translation(lambda: AnthropicFold(taken))
        self._clients = PerLoop(lambda: _connect(api_key, base_url, timeout))

    @property
    def name(self) -> str:
        return self._name

    def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        body = self._body(request)
        return persistently(lambda: self._attempt(body), self._retry)

    async def aclose(self) -> None:
        """Close the connections. The model can be used again."""
        await self._clients.close()

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._max_tokens,
            **anthropic_prefix(request.system, request.tools),
            "messages": with_breakpoints(self._translation(request.messages)),
        }
        return {**body, "thinking": self._thinking} if self._thinking else body

    async def _attempt(self, body: dict[str, Any]) -> AsyncGenerator[Delta | Assistant, None]:
        client = self._clients.get()
        import httpx2
        from anthropic import AnthropicError

        reading = _Reading(self._name)
        try:
            async with await client.messages.create(**body, stream=True) as events:
                async for event in events:
                    if delta := reading.take(event):
                        yield delta
        # ValueError: an event that is no JSON, the last one of a cut stream for instance.
        except (AnthropicError, httpx2.HTTPError, ValueError) as error:
            raise self._failure(error) from error
        if not reading.ended:
            raise self._endpoint.cut()
        yield reading.whole()

    def _failure(self, error: Exception) -> ServerError:
        import httpx2
        from anthropic import APIConnectionError, APIStatusError, APITimeoutError

        match error:
            case APITimeoutError() | httpx2.TimeoutException():
                return self._endpoint.silent(self._timeout)
            case APIConnectionError():
                return self._endpoint.unreachable(error.__cause__)
            case APIStatusError():
                status = error.status_code if error.status_code >= 400 else 0
                said = error.api_message or error.message
                return self._endpoint.refused(status, error.type or "", said, error.response.headers)
            case _:
                return self._endpoint.cut(str(error))


def _connect(api_key: str, base_url: str, timeout: float) -> AsyncAnthropic:
    import httpx2
    from anthropic import AsyncAnthropic

    # Repeating is ours to do: the SDK cannot tell whether text was shown.
    waits = httpx2.Timeout(timeout, connect=min(timeout, 15.0))
    return AsyncAnthropic(api_key=api_key, base_url=base_url, max_retries=0, timeout=waits)


class _Block:
    """A content block on its way."""

    def __init__(self, kind: str, *, text: str = "", id: str = "", name: str = "", given: Any = None) -> None:
        self.kind = kind
        self.pieces = [text] if text else []
        self.id = id
        self.name = name
        self.given = given
        self.signature = ""

    def part(self) -> Part:
        text = "".join(self.pieces)
        match self.kind:
            case "text":
                return Text(text)
            case "thinking":
                return Thinking(text, self.signature)
            case _:
                # No piece at all means no arguments, unless a server sent them whole.
                return Call(self.id, self.name, received_arguments(text) if text else self.given or {})


class _Reading:
    """Gathers the events of a stream into a reply."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._blocks: dict[int, _Block] = {}
        self._stop: StopReason = "end"
        self._usage = Usage()
        self.ended = False

    def take(self, event: RawMessageStreamEvent) -> Delta | None:
        match event.type:
            case "message_start":
                self._usage = _usage(event.message.usage, self._usage)
            case "content_block_start":
                return self._begin(event.index, event.content_block)
            case "content_block_delta":
                return self._grow(event.index, event.delta)
            case "message_delta":
                self._stop = _STOPS.get(event.delta.stop_reason or "", self._stop)
                self._usage = _usage(event.usage, self._usage)
            case "message_stop":
                self.ended = True
            case _:
                pass
        return None

    def _begin(self, index: int, block: Any) -> Delta | None:
        match block.type:
            case "text":
                self._blocks[index] = _Block("text", text=block.text)
                return Delta("text", block.text) if block.text else None
            case "thinking":
                self._blocks[index] = _Block("thinking", text=block.thinking)
                self._blocks[index].signature = block.signature or ""
                return Delta("thinking", block.thinking) if block.thinking else None
            case "redacted_thinking":
                self._blocks[index] = _Block("thinking")
                self._blocks[index].signature = f"{REDACTED}{block.data}"
            case "tool_use":
                self._blocks[index] = _Block("call", id=block.id, name=block.name, given=block.input)
            case _:
                pass
        return None

    def _grow(self, index: int, delta: Any) -> Delta | None:
        block = self._blocks.get(index)
        if block is None:
            return None
        match delta.type:
            case "text_delta":
                block.pieces.append(delta.text)
                return Delta("text", delta.text) if delta.text else None
            case "thinking_delta":
                block.pieces.append(delta.thinking)
                return Delta("thinking", delta.thinking) if delta.thinking else None
            case "signature_delta":
                block.signature += delta.signature
            case "input_json_delta":
                block.pieces.append(delta.partial_json)
            case _:
                pass
        return None

    def whole(self) -> Assistant:
        parts = tuple(self._blocks[index].part() for index in sorted(self._blocks))
        kept = tuple(part for part in parts if not (isinstance(part, Text) and not part.text))
        stop: StopReason = self._stop
        if stop == "end" and any(isinstance(part, Call) for part in kept):
            stop = "tool_calls"
        return Assistant(kept, stop, self._usage, self._name)


def _usage(told: Any, before: Usage) -> Usage:
    """The counts so far: what an event does not say stays. The API counts cached input apart."""

    def count(name: str, known: int) -> int:
        value = getattr(told, name, None)
        return value if isinstance(value, int) else known

    details = getattr(told, "output_tokens_details", None)
    return Usage(
        input=count("input_tokens", before.input),
        output=count("output_tokens", before.output),
        cache_read=count("cache_read_input_tokens", before.cache_read),
        cache_write=count("cache_creation_input_tokens", before.cache_write),
        thinking=getattr(details, "thinking_tokens", None) or before.thinking,
    )
