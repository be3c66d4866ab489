"""LangChain messages as onplan's and back; knows no graph and no plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast, get_args

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from onplan.messages import (
    Assistant,
    Call,
    Details,
    Media,
    Message,
    Note,
    Outcome,
    Part,
    StopReason,
    Text,
    Thinking,
    ToolResult,
    Usage,
    User,
)

MARK = "onplan"
"""The key of a message's `additional_kwargs` that holds what LangChain has no field for. Adapters of models
send none of it."""

_STOPS: Mapping[str, StopReason] = {
    "stop": "end",
    "end_turn": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "content_filter": "refusal",
    "pause_turn": "paused",
    **{stop: stop for stop in get_args(StopReason)},
}


def to_langchain(message: Message) -> BaseMessage:
    """The message for a LangChain model. A note is a human message with a mark, so that it can be told from
    what the person said."""
    match message:
        case User(text=text):
            return HumanMessage(text)
        case Note():
            return HumanMessage(message.text, additional_kwargs={MARK: _note_mark(message)})
        case ToolResult():
            return _tool_message(message)
        case Assistant():
            return _ai_message(message)


def from_langchain(message: BaseMessage, read_only: Collection[str] = ()) -> Message | None:
    """The inverse of `to_langchain`, for messages of any origin; `None` for what is no part of a
    conversation: system text, removals.

    A result that somebody else made is taken to have changed something, unless it failed or its tool is
    one of `read_only`: nothing else is known of it.
    """
    match message:
        case HumanMessage():
            mark = mark_of(message)
            return _note(message, mark) if "kind" in mark else User(_text(message))
        case ToolMessage():
            return _result(message, read_only)
        case AIMessage():
            return _assistant(message)
        case _:
            return None


def conversation(messages: Iterable[BaseMessage], read_only: Collection[str] = ()) -> list[Message]:
    """The messages that are part of a conversation, as onplan's."""
    return [said for message in messages if (said := from_langchain(message, read_only)) is not None]


def call_of(tool_call: ToolCall | InvalidToolCall) -> Call:
    """A call as the model sent it: the arguments of an invalid one are the text that could not be read."""
    return Call(tool_call["id"] or "", tool_call["name"] or "", tool_call["args"])


def calls_of(message: AIMessage) -> tuple[Call, ...]:
    """All calls of a reply, the unreadable ones too, in the order in which the model made them, as far as
    its provider's own form tells it."""
    calls = [call_of(call) for call in (*message.tool_calls, *message.invalid_tool_calls)]
    if not message.invalid_tool_calls or not message.tool_calls:
        return tuple(calls)
    order = {id: place for place, id in enumerate(_ids_as_sent(message))}
    return tuple(sorted(calls, key=lambda call: order.get(call.id, len(order))))


def mark_of(message: BaseMessage) -> Mapping[str, Any]:
    """What onplan noted down with a message; empty where it noted nothing."""
    found: object = message.additional_kwargs.get(MARK)
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def with_mark(message: BaseMessage, **noted: Any) -> BaseMessage:
    """A copy of the message with more noted down; its text and id stay as they are."""
    mark = {**mark_of(message), **noted}
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, MARK: mark}})


def system_message(text: str) -> tuple[SystemMessage, ...]:
    """The system text as the messages that go before all others: none where it is empty."""
    return (SystemMessage(text),) if text else ()


# --- to LangChain -----------------------------------------------------------------------------------


def _note_mark(note: Note) -> dict[str, Any]:
    placed = {} if note.placement == "beside" else {"placement": note.placement}
    return {"kind": note.kind, **placed, **({"details": note.details} if note.details else {})}


def _tool_message(result: ToolResult) -> ToolMessage:
    mark: dict[str, Any] = {"outcome": result.outcome, "changed": result.changed}
    return ToolMessage(
        content=_result_content(result),
        tool_call_id=result.call_id,
        name=result.name,
        status="success" if result.outcome == "ok" else "error",
        artifact=result.details,
        additional_kwargs={MARK: mark},
    )


def _result_content(result: ToolResult) -> str | list[str | dict[Any, Any]]:
    if not result.media:
        return result.content
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": result.content}] if result.content else []
    for media in result.media:
        kind = "image" if media.media_type.startswith("image/") else "file"
        block = {"type": kind, "base64": media.data, "mime_type": media.media_type}
        blocks.append({**block, "extras": {"name": media.name}} if media.name else block)
    return blocks


def _ai_message(reply: Assistant) -> AIMessage:
    calls = [call for call in reply.calls if isinstance(call.arguments, dict)]
    broken = [call for call in reply.calls if not isinstance(call.arguments, dict)]
    usage = reply.usage
    sent = usage.input + usage.cache_read + usage.cache_write
    return AIMessage(
        content=_reply_content(reply),
        tool_calls=[ToolCall(name=call.name, args=call.arguments, id=call.id or None) for call in calls],
        invalid_tool_calls=[_invalid(call) for call in broken],
        usage_metadata={
            "input_tokens": sent,
            "output_tokens": usage.output,
            "total_tokens": sent + usage.output,
            "input_token_details": {"cache_read": usage.cache_read, "cache_creation": usage.cache_write},
            "output_token_details": {"reasoning": usage.thinking},
        }
        if usage.total or usage.thinking
        else None,
        response_metadata={
            "stop_reason": reply.stop,
            **({"model_name": reply.model} if reply.model else {}),
        },
        additional_kwargs={MARK: {"order": [call.id for call in reply.calls]}} if calls and broken else {},
    )


def _reply_content(reply: Assistant) -> str | list[str | dict[Any, Any]]:
    said = [part for part in reply.parts if not isinstance(part, Call)]
    if all(isinstance(part, Text) for part in said):
        return reply.text
    blocks: list[str | dict[Any, Any]] = []
    for part in said:
        match part:
            case Thinking(text=text, signature=signature):
                signed = {"signature": signature} if signature else {}
                blocks.append({"type": "thinking", "thinking": text, **signed})
            case Text(text=text):
                blocks.append({"type": "text", "text": text})
    return blocks


def _invalid(call: Call) -> InvalidToolCall:
    import json  # models rarely send what cannot be read

    sent = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    return InvalidToolCall(
        type="invalid_tool_call", name=call.name, args=sent, id=call.id or None, error="not a JSON object"
    )


# --- from LangChain ---------------------------------------------------------------------------------


def _note(message: HumanMessage, mark: Mapping[str, Any]) -> Note:
    placement = "message" if mark.get("placement") == "message" else "beside"
    return Note(_text(message), str(mark["kind"]), placement, _details(mark.get("details")))


def _result(message: ToolMessage, read_only: Collection[str]) -> ToolResult:
    mark = mark_of(message)
    outcome: Outcome = "ok" if message.status == "success" else "error"
    if mark.get("outcome") in get_args(Outcome):
        outcome = mark["outcome"]
    return ToolResult(
        message.tool_call_id,
        message.name or "",
        _text(message),
        outcome,
        _details(message.artifact),
        changed=bool(mark.get("changed", outcome == "ok" and message.name not in read_only)),
        media=tuple(_media(message.content)),
    )


def _details(kept: object) -> Details | None:
    """An artifact of another shape is not ours to read."""
    return cast("Details", kept) if isinstance(kept, dict) else None


def _assistant(message: AIMessage) -> Assistant:
    parts = (*_said(message), *calls_of(message))
    model = message.response_metadata.get("model_name") or ""
    return Assistant(parts, _stop(message), _usage(message), str(model))


def _said(message: AIMessage) -> Iterable[Part]:
    if isinstance(message.content, str):
        return (Text(message.content),) if message.content else ()
    parts: list[Part] = []
    for block in message.content:
        match block:
            case str() if block:
                parts.append(Text(block))
            case {"type": "text", "text": str(text)}:
                parts.append(Text(text))
            case {"type": "thinking", "thinking": str(text)}:
                parts.append(Thinking(text, str(block.get("signature") or "")))
            case {"type": "reasoning", "reasoning": str(text)}:
                parts.append(Thinking(text))
            case _:
                pass
    return parts


def _stop(message: AIMessage) -> StopReason:
    told = message.response_metadata.get("stop_reason") or message.response_metadata.get("finish_reason")
    calls = bool(message.tool_calls or message.invalid_tool_calls)
    return _STOPS.get(str(told), "tool_calls" if calls else "end")


def _usage(message: AIMessage) -> Usage:
    told = message.usage_metadata
    if told is None:
        return Usage()
    sent = told.get("input_token_details") or {}
    read, written = sent.get("cache_read") or 0, sent.get("cache_creation") or 0
    thinking = (told.get("output_token_details") or {}).get("reasoning") or 0
    return Usage(told["input_tokens"] - read - written, told["output_tokens"], read, written, thinking)


def _text(message: BaseMessage) -> str:
    return str(message.text)


def _media(content: str | list[str | dict[Any, Any]]) -> Iterable[Media]:
    if isinstance(content, str):
        return
    for block in content:
        match block:
            case {"type": "image" | "file", "base64": str(data), "mime_type": str(media_type)}:
                extras: object = block.get("extras")
                name = cast("dict[str, Any]", extras).get("name", "") if isinstance(extras, dict) else ""
                yield Media(media_type, data, str(name))
            case _:
                pass


def _ids_as_sent(message: AIMessage) -> list[str]:
    """The ids of the calls in the provider's own form of the reply."""
    ours = mark_of(message).get("order")
    raw = ours or message.additional_kwargs.get("tool_calls") or message.content
    ids: list[str] = []
    for item in cast("list[Any]", raw) if isinstance(raw, list) else []:
        found = item.get("id") if isinstance(item, dict) else item
        if isinstance(found, str):
            ids.append(found)
    return ids
