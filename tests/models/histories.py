"""Any legal conversation: turns with rounds, reminders, interruptions, broken arguments, empty replies."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, get_args

from hypothesis import strategies as st

from onplan.messages import (
    Assistant,
    Call,
    Media,
    Message,
    Note,
    Outcome,
    Part,
    StopReason,
    Text,
    Thinking,
    ToolResult,
    User,
)
from onplan.models.wire_anthropic import REDACTED
from onplan.models.wire_responses import signature_of

TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "bash",
        "description": "Run a command.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
    },
    {"name": "read_todos", "description": "Show the plan.", "input_schema": {"type": "object"}},
)


@dataclass(frozen=True, slots=True)
class History:
    """`requests`: the lengths at which the conversation was sent to a model."""

    messages: tuple[Message, ...]
    requests: tuple[int, ...]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# Lone surrogates, blanks and control characters among ordinary text.
texts = st.one_of(
    st.sampled_from(["", " ", "\n", "ok", "déjà ✓", "\ud800", "\ud83d\ude00", "a\x00b", "x" * 300]),
    st.text(st.characters(), max_size=12),
)
_ids = st.sampled_from(["call_0", "call_1", "toolu_01", "functions.bash:0", "…", "y" * 70])
_names = st.sampled_from(["bash", "read_todos", "functions.bash", "", "naïve tool", "n" * 90])
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
_arguments = st.one_of(
    st.dictionaries(texts, _json, max_size=2),
    st.sampled_from(["", " ", "null", '{"todos": "x"}, {"y"]}', '["ls"]', '{"a": 1}', "{" * 3_000]),
    _json,
)
_signatures = st.sampled_from(["", "sig==", f"{REDACTED}data", signature_of("rs_1", "gAAA", ["why"])])
_thinking = st.builds(Thinking, texts, _signatures)
_notes = st.builds(
    Note, texts, st.just("reminder"), st.sampled_from(["beside", "message"])
)  # where it goes is its own to say
_outcomes = st.sampled_from(get_args(Outcome))
_media = st.builds(
    Media,
    st.sampled_from(["image/png", "image/jpeg", "image/webp", "application/pdf", "image/tiff", ""]),
    st.one_of(st.binary(min_size=1, max_size=9).map(_base64), st.sampled_from(["", "no base64", "\ud800"])),
    texts,
)
_calls = st.builds(Call, _ids, _names, _arguments)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Ends where a request is sent."""
    messages: list[Message] = []
    requests: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        messages.append(User(draw(texts)))
        messages += draw(st.lists(_notes, max_size=1))
        for _ in range(draw(st.integers(0, 4))):
            requests.append(len(messages))
            messages += draw(_replies())
        requests.append(len(messages))
        messages += draw(
            st.one_of(st.just(()), st.builds(_final, texts, st.sampled_from(["end", "interrupted"])))
        )
    while requests[-1] < len(messages):
        messages.pop()
    return History(tuple(messages), tuple(requests))


@st.composite
def _replies(draw: st.DrawFn) -> list[Message]:
    """A reply after which the turn goes on, and what follows it."""
    parts: list[Part] = draw(st.lists(st.one_of(st.builds(Text, texts), _thinking, _calls), max_size=4))
    parts = _distinct(parts)
    calls = [part for part in parts if isinstance(part, Call)]
    if not calls:
        stop: StopReason = draw(st.sampled_from(["end", "length"]))
        return [Assistant(tuple(parts), stop), Note("Go on.", "length", "message")]
    media = st.one_of(st.just(()), st.lists(_media, max_size=3).map(tuple))
    results = [
        ToolResult(call.id, call.name, draw(texts), draw(_outcomes), media=draw(media)) for call in calls
    ]
    return [Assistant(tuple(parts), "tool_calls"), *results, *draw(st.lists(_notes, max_size=2))]


def _distinct(parts: list[Part]) -> list[Part]:
    """The loop gives every call of a reply an id of its own."""
    seen = set[str]()
    kept: list[Part] = []
    for part in parts:
        if not isinstance(part, Call) or part.id not in seen:
            kept.append(part)
        if isinstance(part, Call):
            seen.add(part.id)
    return kept


def _final(text: str, stop: StopReason) -> tuple[Message, ...]:
    return (Assistant((Text(text),), stop),)
