"""How the demo model writes and reads its plan with whichever plan tools the request offers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from onplan.protocols import Request

_READERS = ("read_todos", "todo_read", "TodoRead")
_LINE = re.compile(r"\s*(?:\d+\. )?\[(.)\] (?:#\S+:? )?(.+?)\s*")
_STATUS = {" ": "pending", "x": "completed", "X": "completed", "✓": "completed"}


@dataclass(frozen=True, slots=True)
class Step:
    """A todo of the demo's own: what it says, and what it says while it is done."""

    text: str
    doing: str


@dataclass(frozen=True, slots=True)
class Shape:
    """The arguments of a write tool: the list's key, the text's key, and what else an item has."""

    items: str
    text: str
    with_id: bool = False
    with_doing: bool = False


@dataclass(frozen=True, slots=True)
class PlanTools:
    """The names of the plan tools in a request; empty where there is none."""

    write: str
    read: str


_SHAPES = {
    "write_todos": Shape("todos", "content"),
    "todo_write": Shape("todos", "content"),
    "todo": Shape("items", "text", with_id=True),
    "TodoWrite": Shape("todos", "content", with_doing=True),
    "update_plan": Shape("plan", "step"),
}


def plan_tools(request: Request) -> PlanTools:
    offered = {str(schema.get("name", "")) for schema in request.tools}
    write = next((name for name in _SHAPES if name in offered), "")
    read = next((name for name in _READERS if name in offered), "") if write else ""
    return PlanTools(write, read)


def plan_arguments(
    tool: str, steps: Sequence[Step], done: int, others: Iterable[tuple[str, str]] = ()
) -> Any:
    """The arguments that write `steps` with the first `done` completed and the next one in progress.

    `others` are todos that somebody else put into the plan, as (text, status): they are kept.
    """
    shape = _SHAPES[tool]
    rows = [(step.text, _status(at, done), step.doing) for at, step in enumerate(steps)]
    rows += [(text, status, text) for text, status in others]
    return {shape.items: [_item(shape, at, *row) for at, row in enumerate(rows, 1)]}


def _status(at: int, done: int) -> str:
    return "completed" if at < done else "in_progress" if at == done else "pending"


def _item(shape: Shape, number: int, text: str, status: str, doing: str) -> dict[str, str]:
    item = {"id": str(number)} if shape.with_id else {}
    item |= {shape.text: text, "status": status}
    return item | {"activeForm": doing} if shape.with_doing else item


def todos_in(listing: str) -> list[tuple[str, str]]:
    """The todos of a list as a plan tool shows it, as (text, status). One in progress counts as pending."""
    found = [match for line in listing.splitlines() if (match := _LINE.fullmatch(line))]
    return [(match[2], _STATUS.get(match[1], "pending")) for match in found]
