"""OpenAI's models over the Responses API, and every compatible server over Chat Completions, on the
official SDK.

The SDK is imported with the first request: a prompt is there before it is loaded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from onplan.messages import Assistant, Call, Part, StopReason, Text, Thinking, Usage
from onplan.models.connection import PATIENT, Endpoint, PerLoop, Retry, ServerError, persistently
from onplan.models.names import Takes, takes_of
from onplan.models.wire import Translation, received_arguments
from onplan.models.wire_chat import OPENAI, ChatFold, Quirks, chat_request, quirks_of
from onplan.models.wire_responses import ResponsesFold, responses_request, signature_of
from onplan.protocols import Delta, Request

if TYPE_CHECKING:
    from openai import AsyncOpenAI

URL = "https://api.openai.com/v1"

Api: TypeAlias = Literal["chat", "responses"]


class OpenAIModel:
    """A `Model` behind Chat Completions or the Responses API.

    `api`: which of the two; by default Responses where the endpoint is OpenAI's own, else Chat Completions,
    which every compatible server speaks. `takes`: what the model takes besides text; `None` goes by its
    name. `timeout`: seconds of silence after which a request is given up.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str,
        base_url: str = URL,
        name: str = "",
        api: Api | None = None,
        quirks: Quirks | None = None,
        takes: Takes | None = None,
        timeout: float = 300.0,
        retry: Retry = PATIENT,
    ) -> None:
        own = is_openai(base_url)
        self._name = name or model
        self._model = model
        self._timeout = timeout
        self._retry = retry
        self._endpoint = Endpoint(model, base_url, "OPENAI_API_KEY")
        self._api: Api = api or ("responses" if own else "chat")
        found = quirks or (OPENAI if own else quirks_of(model))
        taken = takes_of(model, own=own) if takes is None else takes
        responses = self._api == "responses"
        self._translation = Translation(lambda: ResponsesFold(taken) if responses else ChatFold(found, taken))
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
        sent = self._translation(request.messages)
        if self._api == "chat":
            body = chat_request(request.system, request.tools, sent)
            return {**body, "stream_options": {"include_usage": True}}
        # Nothing is kept at the provider's: what has to come back, encrypted reasoning, is in our log.
        return {**responses_request(request.system, request.tools, sent), "store": False}

    async def _attempt(self, body: dict[str, Any]) -> AsyncGenerator[Delta | Assistant, None]:
        client = self._clients.get()
        from openai import OpenAIError

        reading = self._reading()
        try:
            async with await self._create(client, body) as events:
                async for event in events:
                    for delta in reading.take(event):
                        yield delta
        # ValueError: an event that is no JSON, the last one of a cut stream for instance.
        except (OpenAIError, ValueError) as error:
            raise self._failure(error) from error
        if not reading.ended:
            raise self._endpoint.cut()
        yield reading.whole()

    async def _create(self, client: AsyncOpenAI, body: dict[str, Any]) -> Any:
        # As `extra_body` it is sent as it is: the SDK's walk over typed parameters takes a third of a second
        # for a thousand messages, with every request.
        if self._api == "chat":
            return await client.chat.completions.create(
                model=self._model, messages=[], stream=True, extra_body=body
            )
        return await client.responses.create(model=self._model, stream=True, extra_body=body)

    def _reading(self) -> _Reading:
        if self._api == "chat":
            return _ChatReading(self._name)
        return _ResponsesReading(self._name, self._endpoint)

    def _failure(self, error: Exception) -> ServerError:
        from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

        match error:
            case APITimeoutError():
                return self._endpoint.silent(self._timeout)
            # While the stream was read, there is a connection that was lost.
            case APIConnectionError() if (
                error.__cause__ and "connect" not in type(error.__cause__).__name__.casefold()
            ):
                return self._endpoint.cut(str(error.__cause__))
            case APIConnectionError():
                return self._endpoint.unreachable(error.__cause__)
            case APIStatusError():
                kind = error.code or error.type or ""
                return self._endpoint.refused(
                    error.status_code, kind, _said(error.body) or error.message, error.response.headers
                )
            case APIError():
                code = error.code or ""
                status = int(code) if code.isdecimal() and len(code) == 3 else 0
                return self._endpoint.refused(status, error.type or code, error.message)
            case _:
                return self._endpoint.cut(str(error))


def is_openai(base_url: str) -> bool:
    """Whether an address is OpenAI's own."""
    host = base_url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
    return host == "openai.com" or host.endswith(".openai.com")


def _connect(api_key: str, base_url: str, timeout: float) -> AsyncOpenAI:
    import httpx2
    from openai import AsyncOpenAI

    # Repeating is ours to do: the SDK cannot tell whether text was shown.
    waits = httpx2.Timeout(timeout, connect=min(timeout, 15.0))
    return AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0, timeout=waits)


def _said(body: Any) -> str:
    """The server's own words. Compatible servers put them in different places."""
    match body:
        case {"message": str(message)} | {"error": {"message": str(message)}} | {"error": str(message)}:
            return message
        case {"detail": str(message)} | str(message):
            return message
        case _:
            return ""


class _Reading(Protocol):
    """Gathers the events of a stream into a reply."""

    @property
    def ended(self) -> bool: ...

    def take(self, event: Any) -> list[Delta]: ...

    def whole(self) -> Assistant: ...


# --- Chat Completions -------------------------------------------------------------------------------

_FINISHES: Mapping[str, StopReason] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}


class _ArrivingCall:
    def __init__(self, id: str) -> None:
        self.id = id
        self.name = ""
        self.pieces: list[str] = []

    def part(self) -> Call:
        text = "".join(self.pieces)
        return Call(self.id, self.name, received_arguments(text) if text else "")


class _ChatReading:
    def __init__(self, name: str) -> None:
        self._name = name
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[_ArrivingCall] = []
        self._at: dict[int, _ArrivingCall] = {}
        self._stop: StopReason = "end"
        self._usage = Usage()
        self.ended = False

    def take(self, event: Any) -> list[Delta]:
        if usage := getattr(event, "usage", None):
            self._usage = _chat_usage(usage)
        deltas: list[Delta] = []
        choices: list[Any] = getattr(event, "choices", None) or []
        for choice in choices[:1]:
            if choice.delta:
                deltas += self._grow(choice.delta)
            if choice.finish_reason:
                self._stop = _FINISHES.get(choice.finish_reason, "end")
                self.ended = True
        return deltas

    def _grow(self, delta: Any) -> list[Delta]:
        deltas: list[Delta] = []
        # Not in the official format: what vLLM, llama.cpp, DeepSeek (`reasoning_content`) and Ollama,
        # OpenRouter (`reasoning`) call it.
        thought = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
        if isinstance(thought, str) and thought:
            self._thinking.append(thought)
            deltas.append(Delta("thinking", thought))
        for text in (delta.content, delta.refusal):
            if text:
                self._text.append(text)
                deltas.append(Delta("text", text))
        if delta.refusal:
            self._stop = "refusal"
        for call in delta.tool_calls or ():
            self._grow_call(call)
        return deltas

    def _grow_call(self, piece: Any) -> None:
        index = piece.index if isinstance(piece.index, int) else len(self._at)
        call = self._at.get(index)
        # Some servers number every call 0; another id then begins another call.
        if call is None or (piece.id and call.id and piece.id != call.id):
            call = self._at[index] = _ArrivingCall(piece.id or "")
            self._calls.append(call)
        call.id = call.id or piece.id or ""
        if piece.function and piece.function.name:
            call.name = call.name or piece.function.name
        if piece.function and piece.function.arguments:
            call.pieces.append(_as_text(piece.function.arguments))

    def whole(self) -> Assistant:
        thinking, text = "".join(self._thinking), "".join(self._text)
        parts: list[Part] = [Thinking(thinking)] if thinking else []
        parts += [Text(text)] if text else []
        calls = [call.part() for call in self._calls]
        return Assistant((*parts, *calls), _stop_of(self._stop, calls), self._usage, self._name)


def _as_text(arguments: Any) -> str:
    """Arguments as text: some servers send an object where the format has a string."""
    if isinstance(arguments, str):
        return arguments
    import msgspec

    return msgspec.json.encode(arguments).decode()


def _stop_of(stop: StopReason, calls: list[Call]) -> StopReason:
    return "tool_calls" if calls and stop == "end" else stop


def _chat_usage(told: Any) -> Usage:
    """Cached input is part of the prompt's count here; ours counts it apart."""
    prompt = getattr(told, "prompt_tokens_details", None)
    completion = getattr(told, "completion_tokens_details", None)
    read, written = _count(prompt, "cached_tokens"), _count(prompt, "cache_write_tokens")
    return Usage(
        input=max(0, _count(told, "prompt_tokens") - read - written),
        output=_count(told, "completion_tokens"),
        cache_read=read,
        cache_write=written,
        thinking=_count(completion, "reasoning_tokens"),
    )


def _count(told: Any, name: str) -> int:
    value = getattr(told, name, None)
    return value if isinstance(value, int) else 0


# --- Responses --------------------------------------------------------------------------------------


class _ResponsesReading:
    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self._name = name
        self._endpoint = endpoint
        self._parts: list[Part] = []
        self._stop: StopReason = "end"
        self._usage = Usage()
        self.ended = False

    def take(self, event: Any) -> list[Delta]:
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta":
                return [Delta("text", event.delta)] if event.delta else []
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return [Delta("thinking", event.delta)] if event.delta else []
            case "response.output_item.done":
                self._parts += self._of_item(event.item)
            case "response.completed" | "response.incomplete":
                self._end(event.response)
            case "response.failed":
                error = event.response.error
                raise self._endpoint.refused(0, getattr(error, "code", ""), getattr(error, "message", ""))
            case "error":
                raise self._endpoint.refused(0, event.code or "", event.message)
            case _:
                pass
        return []

    def _of_item(self, item: Any) -> list[Part]:
        match item.type:
            case "message":
                return [part for content in item.content if (part := self._of_content(content))]
            case "function_call":
                arguments = received_arguments(item.arguments) if item.arguments else ""
                return [Call(item.call_id, item.name, arguments)]
            case "reasoning":
                summary = [piece.text for piece in item.summary or ()]
                shown = summary or [piece.text for piece in item.content or ()]
                signature = signature_of(item.id, item.encrypted_content, summary)
                return [Thinking("\n\n".join(shown), signature)] if shown or signature else []
            case _:
                return []

    def _of_content(self, content: Any) -> Text | None:
        if content.type == "refusal":
            self._stop = "refusal"
            return Text(content.refusal)
        return Text(content.text) if content.text else None

    def _end(self, response: Any) -> None:
        self.ended = True
        if response.usage:
            self._usage = _responses_usage(response.usage)
        if details := response.incomplete_details:
            self._stop = "refusal" if details.reason == "content_filter" else "length"

    def whole(self) -> Assistant:
        calls = [part for part in self._parts if isinstance(part, Call)]
        return Assistant(tuple(self._parts), _stop_of(self._stop, calls), self._usage, self._name)


def _responses_usage(told: Any) -> Usage:
    """Cached input is part of the input's count here; ours counts it apart."""
    read = _count(told.input_tokens_details, "cached_tokens")
    written = _count(told.input_tokens_details, "cache_write_tokens")
    return Usage(
        input=max(0, _count(told, "input_tokens") - read - written),
        output=_count(told, "output_tokens"),
        cache_read=read,
        cache_write=written,
        thinking=_count(told.output_tokens_details, "reasoning_tokens"),
    )
