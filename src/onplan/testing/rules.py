"""The rules that providers hold requests to, as strict checkers: what they refuse, a server answers 400.

Stricter than the real ones where those only mend what we promise not to send: two messages of one role,
results out of order.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

Json: TypeAlias = Mapping[str, Any]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_BREAKPOINTS = 4
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_PDF = "application/pdf"
_LARGEST_IMAGE = 5_000_000
_MOST_MEDIA = 100
_LARGEST_BODY = 32_000_000
"""Characters of an image as base64, images of a request, and bytes of it: Anthropic's limits."""


def faults_of(check: Callable[[Json], Iterator[str]], body: Json) -> list[str]:
    """Every fault of a request; empty if the provider takes it."""
    try:
        return list(check(body))
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        return [f"malformed: {type(error).__name__}: {error}"]


# --- Anthropic --------------------------------------------------------------------------------------


def anthropic_faults(body: Json) -> Iterator[str]:
    """The Messages API: alternation, pairing, no blank text, signed thinking, at most four breakpoints,
    images and PDFs in results that are no errors."""
    messages: Sequence[Json] = body["messages"]
    if not isinstance(body["model"], str) or not isinstance(body["max_tokens"], int):
        yield "model and max_tokens are required"
    yield from _anthropic_prefix(body)
    if not messages:
        yield "messages: at least one is required"
        return
    if messages[0]["role"] != "user":
        yield "messages.0: the first message must be the user's"
    used: set[str] = set()
    expected: list[str] = []
    for n, message in enumerate(messages):
        if n and message["role"] == messages[n - 1]["role"]:
            yield f"messages.{n}: roles must alternate"
        blocks = _blocks(message)
        if not blocks:
            yield f"messages.{n}: content must not be empty"
        for fault in _blocks_faults(message["role"], blocks, used):
            yield f"messages.{n}: {fault}"
        yield from _anthropic_pairing(n, message["role"], blocks, expected)
        expected = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if expected:
        yield f"tool_use ids without tool_result blocks after them: {expected}"
    if sum(1 for _ in _marked(body)) > _BREAKPOINTS:
        yield f"at most {_BREAKPOINTS} blocks with cache_control may be provided"
    if sum(1 for message in messages for block in _blocks(message) for _ in _shown(block)) > _MOST_MEDIA:
        yield f"at most {_MOST_MEDIA} images and documents may be provided"
    yield from _unsendable(body, _LARGEST_BODY)


def _anthropic_prefix(body: Json) -> Iterator[str]:
    system = body.get("system", "…")
    texts = [system] if isinstance(system, str) else [block["text"] for block in system]
    if not texts or not all(text.strip() for text in texts):
        yield "system: text must not be blank"
    names = [tool["name"] for tool in body.get("tools", ())]
    yield from _name_faults(names)
    for tool in body.get("tools", ()):
        if tool["input_schema"].get("type") != "object":
            yield f"tools: the input_schema of {tool['name']} must be of type object"


def _blocks(message: Json) -> Sequence[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _blocks_faults(role: str, blocks: Sequence[Json], used: set[str]) -> Iterator[str]:
    for block in blocks:
        match role, block["type"]:
            case _, "text":
                if not block["text"].strip():
                    yield "text content blocks must contain non-whitespace text"
            case "user", "tool_result":
                yield from _tool_result_faults(block)
            case "assistant", "tool_use":
                yield from _call_faults(block, used)
            case "assistant", "thinking" | "redacted_thinking":
                if not block.get("signature") and not block.get("data"):
                    yield "thinking must be signed"
                if "cache_control" in block:
                    yield "thinking cannot have cache_control"
            case _:
                yield f"a block of type {block['type']} is not allowed for the role {role}"
    if blocks and role == "assistant" and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        yield "the final block of an assistant message cannot be thinking"


def _tool_result_faults(block: Json) -> Iterator[str]:
    content = block.get("content")
    if content in ("", []):
        yield "the content of a tool_result must not be empty"
    if isinstance(content, str) or content is None:
        return
    if block.get("is_error") and any(_shown(block)):
        yield "all content must be of type text if is_error is true"
    for part in content:
        match part["type"]:
            case "text":
                if not part["text"].strip():
                    yield "text content blocks must contain non-whitespace text"
            case "image" | "document" as kind:
                source = part["source"]
                types = _IMAGES if kind == "image" else (_PDF,)
                if source["type"] != "base64" or source["media_type"] not in types:
                    yield f"a source of type {source['type']}, {source['media_type']} is no {kind}"
                yield from _data_faults(source["data"])
                if kind == "image" and len(source["data"]) > _LARGEST_IMAGE:
                    yield f"an image exceeds {_LARGEST_IMAGE} bytes"
                if kind == "document" and not part.get("title", "…").strip():
                    yield "the title of a document must not be blank"
            case kind:
                yield f"a block of type {kind} is not allowed in a tool_result"


def _shown(block: Json) -> Iterator[Json]:
    content = block.get("content")
    if block["type"] != "tool_result" or not isinstance(content, list):
        return
    for part in cast("list[Json]", content):
        if part["type"] != "text":
            yield part


def _data_faults(data: str) -> Iterator[str]:
    try:
        if binascii.a2b_base64(data, strict_mode=True):
            return
    except ValueError:
        pass
    yield "media data must be base64 and not empty"


def _call_faults(block: Json, used: set[str]) -> Iterator[str]:
    if not _NAME.fullmatch(block["id"]):
        yield f"tool_use.id {block['id']!r} must match {_NAME.pattern}"
    if block["id"] in used:
        yield f"tool_use ids must be unique: {block['id']}"
    used.add(block["id"])
    if not _NAME.fullmatch(block["name"]):
        yield f"tool_use.name {block['name']!r} must match {_NAME.pattern}"
    if not isinstance(block["input"], dict):
        yield "tool_use.input must be an object"


def _anthropic_pairing(n: int, role: str, blocks: Sequence[Json], expected: Sequence[str]) -> Iterator[str]:
    kinds = [block["type"] for block in blocks]
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if role == "assistant" and not expected:
        return
    if answered != list(expected):
        yield f"messages.{n}: tool_results {answered} must answer the calls before them {list(expected)}"
    if kinds[: len(answered)] != ["tool_result"] * len(answered):
        yield f"messages.{n}: tool_result blocks must come first"


def _marked(value: Any) -> Iterator[Json]:
    match value:
        case dict():
            found = cast("dict[str, Any]", value)
            if "cache_control" in found:
                yield found
            for item in found.values():
                yield from _marked(item)
        case list():
            for item in cast("list[Any]", value):
                yield from _marked(item)
        case _:
            return


# --- Chat Completions -------------------------------------------------------------------------------


def chat_faults(body: Json) -> Iterator[str]:
    """Chat Completions as OpenAI has it: pairing, arguments that are JSON objects, no blank content."""
    messages: Sequence[Json] = body["messages"]
    if not isinstance(body["model"], str):
        yield "model is required"
    if not any(message["role"] != "system" for message in messages):
        yield "messages: at least one is required"
    yield from _name_faults([tool["function"]["name"] for tool in body.get("tools", ())])
    expected: list[str] = []
    used: set[str] = set()
    for n, message in enumerate(messages):
        for fault in _chat_message_faults(n, message, expected, used):
            yield f"messages.{n}: {fault}"
        if message["role"] == "tool":
            expected = expected[1:]
        else:
            expected = [call["id"] for call in message.get("tool_calls", ())]
    if expected:
        yield f"tool_call_ids without tool messages after them: {expected}"
    yield from _unsendable(body)


def _chat_message_faults(n: int, message: Json, expected: Sequence[str], used: set[str]) -> Iterator[str]:
    role, content, calls = message["role"], message.get("content"), message.get("tool_calls")
    if role not in ("system", "user", "assistant", "tool") or (role == "system" and n):
        yield f"the role {role} is not allowed here"
    if role == "tool":
        if message["tool_call_id"] not in expected[:1]:
            yield f"a tool message for {message['tool_call_id']}, but the next call is {list(expected[:1])}"
    elif expected:
        yield f"calls must be followed by their tool messages; missing: {list(expected)}"
    if content is None and not calls:
        yield "content is required where there are no tool_calls"
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if content == []:
        yield "content must not be empty"
    for part in content or ():
        yield from _chat_part_faults(role, part)
    if calls is not None and (role != "assistant" or not calls):
        yield "tool_calls belong to an assistant message, and there must be one"
    for call in calls or ():
        yield from _function_faults(call["id"], call["function"], used)


def _chat_part_faults(role: str, part: Json) -> Iterator[str]:
    match part["type"]:
        case "text":
            if not part["text"].strip():
                yield "content must not be blank"
        case "image_url" if role == "user":
            yield from _data_url_faults(part["image_url"]["url"], _IMAGES)
        case "file" if role == "user":
            yield from _data_url_faults(part["file"]["file_data"], (_PDF,))
            if not part["file"]["filename"].strip():
                yield "a file needs its name"
        case kind:
            yield f"a part of type {kind} is not allowed for the role {role}"


def _data_url_faults(url: str, types: Sequence[str]) -> Iterator[str]:
    beginning, comma, data = url.partition(",")
    if not comma or beginning not in [f"data:{media_type};base64" for media_type in types]:
        yield f"{beginning[:80]!r} does not begin a data URL of {' or '.join(types)}"
    yield from _data_faults(data)


def _function_faults(call_id: str, function: Json, used: set[str]) -> Iterator[str]:
    if not _NAME.fullmatch(call_id) or call_id in used:
        yield f"the id {call_id!r} must match {_NAME.pattern} and be unique"
    used.add(call_id)
    if not _NAME.fullmatch(function["name"]):
        yield f"the name {function['name']!r} must match {_NAME.pattern}"
    try:
        if isinstance(msgspec.json.decode(function["arguments"]), dict):
            return
    except msgspec.DecodeError:
        pass
    yield "arguments must be a string that holds a JSON object"


def strict_chat_faults(body: Json) -> Iterator[str]:
    """Chat Completions behind a template like Mistral's: besides, roles alternate, and only a reply may
    follow tool messages."""
    yield from chat_faults(body)
    before = ""
    for n, message in enumerate(body["messages"]):
        role = message["role"]
        if role == before and role != "tool":
            yield f"messages.{n}: roles must alternate"
        if role == "user" and before == "tool":
            yield f"messages.{n}: a user message may not follow a tool message"
        before = role


# --- Responses --------------------------------------------------------------------------------------


def responses_faults(body: Json) -> Iterator[str]:
    """The Responses API: outputs directly after their calls, reasoning in front of what it led to."""
    items: Sequence[Json] = body["input"]
    if not isinstance(body["model"], str) or not items:
        yield "model and input are required"
    if not body.get("instructions", "…").strip():
        yield "instructions must not be blank"
    yield from _name_faults([tool["name"] for tool in body.get("tools", ())])
    used: set[str] = set()
    expected: list[str] = []
    answering = False
    for n, item in enumerate(items):
        kind = item.get("type", "message")
        answering = kind == "function_call_output" or (answering and bool(expected))
        if expected and ((answering and kind != "function_call_output") or item.get("role") == "user"):
            yield f"input.{n}: no output found for the calls {expected}"
        for fault in _item_faults(kind, item, expected, used):
            yield f"input.{n}: {fault}"
        if kind == "function_call":
            expected = [*expected, item["call_id"]]
        elif kind == "function_call_output":
            expected = expected[1:]
        if kind == "reasoning" and not _leads_to_something(items[n + 1 :]):
            yield f"input.{n}: a reasoning item without the item that follows it"
    if expected:
        yield f"no output found for the calls {expected}"
    yield from _unsendable(body)


def _item_faults(kind: str, item: Json, expected: Sequence[str], used: set[str]) -> Iterator[str]:
    match kind:
        case "message":
            if item["role"] not in ("user", "assistant") or not item["content"].strip():
                yield "a message needs a role and a text that is not blank"
        case "function_call":
            yield from _function_faults(item["call_id"], item, used)
        case "function_call_output":
            if item["call_id"] not in expected[:1]:
                yield f"an output for {item['call_id']}, but the next call is {list(expected[:1])}"
            yield from _output_faults(item["output"])
        case "reasoning":
            if not item["id"] or not item["encrypted_content"]:
                yield "reasoning needs its id and its encrypted content"
        case _:
            yield f"unknown item {kind}"


def _output_faults(output: str | Sequence[Json]) -> Iterator[str]:
    if not output:
        yield "an output must not be empty"
    parts = [{"type": "input_text", "text": output}] if isinstance(output, str) else output
    for part in parts:
        match part["type"]:
            case "input_text":
                if not part["text"].strip():
                    yield "an output must not be blank"
            case "input_image":
                yield from _data_url_faults(part["image_url"], _IMAGES)
            case "input_file":
                yield from _data_url_faults(part["file_data"], (_PDF,))
                if not part["filename"].strip():
                    yield "a file needs its name"
            case kind:
                yield f"a part of type {kind} is not allowed in an output"


def _leads_to_something(rest: Sequence[Json]) -> bool:
    for item in rest:
        if item.get("type") == "reasoning":
            continue
        return item.get("type") == "function_call" or item.get("role") == "assistant"
    return False


# --- all --------------------------------------------------------------------------------------------


def _name_faults(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if not _NAME.fullmatch(name):
            yield f"tools: the name {name!r} must match {_NAME.pattern}"
    if len(set(names)) < len(names):
        yield "tools: names must be unique"


def _unsendable(body: Json, largest: int | None = None) -> Iterator[str]:
    try:
        raw = msgspec.json.encode(body)
        sent = msgspec.json.decode(raw)
    except (UnicodeEncodeError, TypeError, msgspec.MsgspecError) as error:
        yield f"the request is not JSON: {error}"
        return
    if sent != body:
        yield "the request holds values that JSON cannot say"
    if largest is not None and len(raw) > largest:
        yield f"the request exceeds {largest} bytes"
