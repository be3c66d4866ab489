"""What happened in a step, in one line of words."""

from __future__ import annotations

from typing import Any, assert_never, cast

from onplan.events import (
    ApprovalRequested,
    Compacted,
    Decided,
    PlanEdited,
    PrefixChanged,
    Record,
    Resumed,
    SessionEnded,
    SessionStarted,
    ToolStarted,
    TurnEnded,
)
from onplan.messages import Assistant, Call, Details, Note, Outcome, Text, ToolResult, User
from onplan.plan.ledger import Diff
from onplan.plan.text import counted, one_line

_LONGEST = 120
_ENOUGH = 400
_TELLING = ("command", "path", "file_path", "pattern", "query", "url", "question")
_OUTCOMES: dict[Outcome, str] = {
    "ok": "",
    "error": "failed",
    "denied": "was denied",
    "interrupted": "was interrupted",
    "not_executed": "was not executed",
}


def title(record: Record, call: Call | None, revised: str) -> str:
    """`call`: the one that the record is about; `revised`: what the record did to the plan, if anything."""
    name = call.name if call else "an unknown call"
    match record:
        case SessionStarted():
            return "The session begins"
        case PrefixChanged(reason=reason):
            return _line(f"Requests begin differently from here: {reason}")
        case User(text=text):
            return _line(f"You: {text[:_ENOUGH]}")
        case Assistant():
            return _reply(record)
        case ApprovalRequested(reason=reason):
            return _line(f"Asked: may {name} run?{f' {reason}' if reason else ''}")
        case Decided(verdict=verdict, by=by, reason=reason):
            said = "allowed" if verdict == "allow" else "denied"
            return _line(f"{name} {said} by {by}{f': {reason}' if reason else ''}")
        case ToolStarted():
            return _line(f"{name} runs {telling(call)}".rstrip())
        case ToolResult(outcome=outcome, content=content):
            came = f"{record.name} {_OUTCOMES[outcome]}".rstrip()
            return _line(f"{record.name}: {revised}" if revised else f"{came}: {_first(content)}")
        case Note(kind="steering", text=text):
            return _line(f"You, meanwhile: {text[:_ENOUGH]}")
        case Note(kind=kind, details=details):
            return _line(_note(kind, details))
        case PlanEdited(action=action):
            return _line(f"Plan {_PAST[action]} by you: {revised}")
        case Compacted(before=before, after=after, head=head, error=error):
            size = f": {before:,} to {after:,} tokens" if before else ""
            return f"Context {'shortened' if error or not head else 'compacted'}{size}"
        case Resumed(repaired=repaired):
            return f"The session is resumed{f', {len(repaired)} calls had been cut off' if repaired else ''}"
        case TurnEnded(reason=reason, error=error):
            return _line(f"The turn ends: {reason.replace('_', ' ')}{f', {error}' if error else ''}")
        case SessionEnded(reason=reason):
            return _line(f"The session ends: {reason}")
        case _:
            assert_never(record)


_PAST = {"edit": "edited", "undo": "undone", "redo": "redone"}


def _note(kind: str, details: Details | None) -> str:
    match (details or {}).get("plan"):
        case {"kind": str(why)} if why != kind:
            return f"{kind.capitalize()}: {why}"
        case _:
            return kind.capitalize() or "Note"


def _reply(reply: Assistant) -> str:
    calls = reply.calls
    cut = " (cut off)" if reply.stop == "interrupted" else ""
    if not calls:
        said = "".join(part.text[:_ENOUGH] for part in reply.parts if isinstance(part, Text))
        return _line(f"The model answers{cut}: {said}" if said.strip() else f"The model answers nothing{cut}")
    names = ", ".join(call.name for call in calls[:5])
    more = f" and {len(calls) - 5} more" if len(calls) > 5 else ""
    told = f" {telling(calls[0])}" if len(calls) == 1 else ""
    return _line(f"The model calls {names}{more}{told}{cut}".rstrip())


def telling(call: Call | None) -> str:
    """The one argument that tells most of a call; empty where there is none."""
    if call is None or not isinstance(call.arguments, dict):
        return ""
    arguments = cast("dict[str, Any]", call.arguments)
    found = next((arguments[name] for name in _TELLING if isinstance(arguments.get(name), str)), "")
    return str(found)[:_ENOUGH]


def changes(number: int, diff: Diff) -> str:
    """`plan r3: 1 finished, 1 started`."""
    counts = (
        (len(diff.added), "added"),
        (len(diff.finished), "finished"),
        (len(diff.started), "started"),
        (len(diff.dropped), "dropped"),
        (len(diff.cleared), "cleared"),
        (len(diff.reopened), "reopened"),
        (len(diff.paused), "paused"),
        (len(diff.renamed), "renamed"),
    )
    told = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"plan r{number}: {told or 'reordered'}"


def _first(content: str) -> str:
    """The first line that says something, and how many follow."""
    text = content.strip().removeprefix("Error: ")
    more = text.count("\n")
    first = text.partition("\n")[0][:_ENOUGH] or "(nothing)"
    return f"{first[: _LONGEST - 40]} (+{counted(more, 'line')})" if more else first


def _line(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
