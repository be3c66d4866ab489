"""A tool call as one line: what was called, and how it came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from onplan.cli.view.markdown import diff_style
from onplan.cli.view.screen import Line, Prose, Span, Spans, Style, fit_spans, safe_span
from onplan.cli.view.words import as_json
from onplan.messages import Call, ToolResult
from onplan.plan.text import cells

_LONGEST = 300
"""Characters of arguments or answers in a line, also where there is no width to cut them to."""

_DIFF_LINES = 16
"""Lines of an edit that are shown at once; the rest can be unfolded."""

_TAB = 4

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
    """`→ done (+2 lines)`, or the first line of what went wrong; of a command its last line, and its exit
    code where that is not 0."""
    code = _exit_code(result)
    if code is not None:
        style = "dim" if code == 0 else "yellow"
        return (Span(" → ", "dim"), Span(_last_said(result.content, code), style))
    if result.outcome == "ok":
        shown = "".join(f" + {medium}" for medium in result.media)
        return (Span(" → ", "dim"), Span(f"{_said(result.content)}{shown}", "dim"))
    word, style = _OUTCOMES[result.outcome]
    return (Span(" → ", "dim"), Span(f"{word}: {_said(result.content)}", style))


def beside(call: Spans, outcome: Spans, width: int | None) -> Spans:
    """Both on one line; the call gives way where they have no room, but for half of it."""
    if width is None:
        return (*call, *outcome)
    told = [safe_span(span) for span in call]
    size = sum(cells(safe_span(span).text) for span in outcome)
    return (*fit_spans(told, max(width - size, width // 2)), *outcome)


def _exit_code(result: ToolResult) -> int | None:
    """Of a command that ended by itself."""
    code: object = (result.details or {}).get("exit_code")
    return code if isinstance(code, int) and result.outcome == "ok" else None


def _last_said(content: str, code: int) -> str:
    """A command says what it came to at its end; its own last line is the exit code."""
    lines = [line for line in content.strip().splitlines()[:-1] if line.strip()]
    last = lines[-1].strip()[:_LONGEST] if lines else "(nothing)"
    more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return f"{last}{more}" if code == 0 else f"exit {code}: {last}{more}"


def _said(content: str) -> str:
    lines = content.strip().splitlines() or ["(nothing)"]
    first = lines[0].removeprefix("Error: ")[:_LONGEST]
    return first if len(lines) == 1 else f"{first} (+{len(lines) - 1} lines)"


def diff_lines_of(result: ToolResult) -> Iterator[Line]:
    """The change that a call made to a file, in its colours; nothing for any other call."""
    if result.outcome != "ok":
        return
    lines = _diff(result)
    for line in lines[:_DIFF_LINES]:
        yield (Span(f"    {line.expandtabs(_TAB)}", diff_style(line)),)
    if len(lines) > _DIFF_LINES:
        yield (Span(f"    … {len(lines) - _DIFF_LINES} more lines", "dim"),)


def is_folded(call: Call, result: ToolResult, width: int | None) -> bool:
    """Whether there is more to a call and its result than their line shows in `width` cells."""
    line = "".join(safe_span(span).text for span in (*call_line(call), *outcome_line(result)))
    if width is not None and cells(line) > width:
        return True
    unseen = result.content.strip().count("\n") - (_exit_code(result) is not None)
    several = unseen > 0 or len(result.content) > _LONGEST
    return several or bool(_sent(call)) or len(_diff(result)) > _DIFF_LINES


def result_lines(call: Call, result: ToolResult, mask: Callable[[str], str] = str) -> list[Line]:
    """The call and its result whole, as it is unfolded. `mask`: what may be shown of a text of several
    lines."""
    lines: list[Line] = [Prose(call_line(call))]
    lines += [Prose((Span(f"  {line}", "dim"),), 4) for line in _sent(call, mask)]
    shown = mask("\n".join(_diff(result))).splitlines()
    if shown and result.outcome == "ok":
        return lines + [Prose((Span(f"    {line.expandtabs(_TAB)}", diff_style(line)),), 6) for line in shown]
    style = _OUTCOMES[result.outcome][1] if result.outcome in _OUTCOMES else "plain"
    content = mask(result.content.expandtabs(_TAB).rstrip("\n")).split("\n")
    return lines + [Prose((Span(f"  {line}", style),), 4) for line in content]


def _sent(call: Call, mask: Callable[[str], str] = str) -> list[str]:
    """A command that the call's line cannot hold: of several lines, or too long."""
    if not isinstance(call.arguments, dict):
        return []
    arguments = cast("dict[str, Any]", call.arguments)
    command = arguments.get("command")
    if not isinstance(command, str) or ("\n" not in command and len(command) <= _LONGEST):
        return []
    return mask(command.expandtabs(_TAB)).split("\n")


def _diff(result: ToolResult) -> list[str]:
    found: object = (result.details or {}).get("diff")
    if not isinstance(found, list):
        return []
    return [str(line) for line in cast("list[object]", found)]
