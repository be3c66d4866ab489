"""A session as the request that a provider would get next: the conversation as the model sees it now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from onplan.events import Compacted, PrefixChanged, Record, SessionStarted
from onplan.messages import Assistant, Message, Note, ToolResult, User
from onplan.models.names import bare_name
from onplan.models.wire import translate
from onplan.models.wire_anthropic import AnthropicFold, anthropic_prefix
from onplan.models.wire_chat import ChatFold, chat_request
from onplan.protocols import Request
from onplan.session import compacted, missing_results

_LONGEST_REPLY = 32_000


def anthropic_body(records: Iterable[Record]) -> dict[str, Any]:
    """For Anthropic's Messages API. After the last message goes what the person says next."""
    name, request = _request(list(records))
    return {
        "model": name,
        "max_tokens": _LONGEST_REPLY,
        **anthropic_prefix(request.system, request.tools),
        "messages": translate(AnthropicFold(), request.messages),
    }


def openai_body(records: Iterable[Record]) -> dict[str, Any]:
    """For OpenAI's Chat Completions and every compatible server."""
    name, request = _request(list(records))
    return {
        "model": name,
        **chat_request(request.system, request.tools, translate(ChatFold(), request.messages)),
    }


def _request(records: list[Record]) -> tuple[str, Request]:
    """Calls without a result get one, as on resume: no provider takes a call that nobody answered."""
    messages: list[Message] = []
    system = model = ""
    tools: tuple[dict[str, Any], ...] = ()
    for record in (*records, *missing_results(records)):
        match record:
            case SessionStarted():
                system, tools, model = record.system, record.tools, record.model
            case PrefixChanged():
                system = system if record.system is None else record.system
                tools = tools if record.tools is None else record.tools
                model = model if record.model is None else record.model
            case Compacted():
                messages = compacted(messages, record)
            case User() | Assistant() | ToolResult() | Note():
                messages.append(record)
            case _:
                pass
    return bare_name(model), Request(system, tools, messages)
