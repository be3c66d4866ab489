"""Tells the key steps of a run: the first plan, writes, reminders, questions, errors and their like."""

from __future__ import annotations

from onplan.events import (
    ApprovalRequested,
    Compacted,
    Decided,
    PlanEdited,
    PrefixChanged,
    Record,
    Resumed,
    SessionEnded,
    TurnEnded,
)
from onplan.messages import Assistant, Note, ToolResult, User
from onplan.plan.state import State

_UNHAPPY = ("model_error", "store_error", "plan_loop", "call_loop", "empty", "length", "refusal")


def kind_of(record: Record, before: State, after: State) -> str:
    """One of `KINDS`. `before`, `after`: the plan's state around the record."""
    match record:
        case User() | Note(kind="steering"):
            return "user"
        case Assistant(stop="interrupted"):
            return "interrupted"
        case ApprovalRequested():
            return "approval"
        case Decided(verdict=verdict, by=by):
            return "denied" if verdict == "deny" else "approval" if by == "person" else ""
        case ToolResult():
            return _kind_of_result(record, before, after)
        case Note(kind=kind):
            return "reminder" if kind in ("reminder", "continue") else "note"
        case PlanEdited():
            return "edit"
        case Compacted():
            return "compaction"
        case PrefixChanged():
            return "prefix"
        case Resumed():
            return "resumed"
        case TurnEnded(reason=reason):
            return "error" if reason in _UNHAPPY else "interrupted" if reason == "interrupted" else "end"
        case SessionEnded():
            return "end"
        case _:
            return ""


def _kind_of_result(result: ToolResult, before: State, after: State) -> str:
    if after.ledger.revision != before.ledger.revision:
        return "write" if before.ledger.revisions else "plan"
    if after.stats.refused != before.stats.refused:
        return "refused"
    match result.outcome:
        case "ok" | "denied" | "not_executed":
            return ""  # who denied it has a step of their own
        case "error" | "interrupted" as outcome:
            return outcome
