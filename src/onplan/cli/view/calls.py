"""A tool call as one line: what was called, and how it came out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from onplan.cli.view.screen import Span, Spans, Style
from onplan.cli.view.words import as_json
from onplan.messages import Call, ToolResult

_LONGEST = 300
"""Characters of arguments or answers in a line, also where there is no width to cut them to."""

_TELLING = ("command", "path", "pattern", "question")

_OUTCOMES: Mapping[str, tuple[str, Style]] = {
    "error": ("error", "red"),
    "denied": ("denied", "yellow"),
    "interrupted": ("interrupted", "yellow"),
    "not_executed": ("not executed", "yellow"),
}


def call_line(call: Call) -> Spans:
    """`· bash touch x`."""
    return (Span("· ", "dim"), Span(call.name, "bold"), " ", short_arguments(call))


def short_arguments(call: Call) -> str:
    """The arguments in a few words: the telling one alone, else the whole as JSON."""
    sent = call.arguments
    if not isinstance(sent, dict):
        return str(sent)[:_LONGEST]
    arguments = cast("dict[str, Any]", sent)
    told = next((arguments[name] for name in _TELLING if isinstance(arguments.get(name), str)), None)
    if told is not None:
        return str(told)[:_LONGEST]
    lists = [value for value in arguments.values() if isinstance(value, list)]
    if lists:
        count = len(cast("list[Any]", lists[0]))
        return f"({count} item{'' if count == 1 else 's'})"
    return as_json(arguments)[:_LONGEST] if arguments else ""


def outcome_line(result: ToolResult) -> Spans:
    """`→ ok: 12 lines` or the first line of what went wrong."""
    if result.outcome == "ok":
        shown = "".join(f" + {medium}" for medium in result.media)
        return (Span(" → ", "dim"), Span(f"{_said(result.content)}{shown}", "dim"))
    word, style = _OUTCOMES[result.outcome]
    return (Span(" → ", "dim"), Span(f"{word}: {_said(result.content)}", style))


def _said(content: str) -> str:
    lines = content.strip().splitlines() or ["(nothing)"]
    first = lines[0].removeprefix("Error: ")[:_LONGEST]
    return first if len(lines) == 1 else f"{first} (+{len(lines) - 1} lines)"
