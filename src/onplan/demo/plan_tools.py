"""How the demo model writes and reads its plan with whichever plan tools the request offers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from onplan.plan.dialect import DIALECTS, Dialect
from onplan.plan.todo import STATUSES, Status
from onplan.protocols import Request


@dataclass(frozen=True, slots=True)
class Step:
    """A todo of the demo's own: what it says, and what it says while it is done."""

    text: str
    doing: str


@dataclass(frozen=True, slots=True)
class PlanTools:
    """The names of the plan tools in a request; empty where there is none."""

    write: str = ""
    read: str = ""


def plan_tools(request: Request) -> PlanTools:
    offered = {schema.get("name") for schema in request.tools}
    dialect = next((item for name, item in DIALECTS.items() if name in offered), None)
    if dialect is None:
        return PlanTools()
    return PlanTools(dialect.name, dialect.read_tool if dialect.read_tool in offered else "")


def plan_arguments(
    tool: str, steps: Sequence[Step], done: int, others: Iterable[tuple[str, Status]] = ()
) -> dict[str, Any]:
    """The arguments that write `steps` with the first `done` completed and the next one in progress.

    `others` are todos that somebody else put into the plan, with their status: they are kept.
    """
    dialect = DIALECTS[tool]
    rows: list[tuple[str, str, Status]] = [
        (step.text, step.doing, _status(at, done)) for at, step in enumerate(steps)
    ]
    rows.extend((text, text, status) for text, status in others)
    return {dialect.list_key: [_item(dialect, at, *row) for at, row in enumerate(rows, 1)]}


def _status(at: int, done: int) -> Status:
    return "completed" if at < done else "in_progress" if at == done else "pending"


def _item(dialect: Dialect, number: int, text: str, doing: str, status: Status) -> dict[str, str]:
    item = {dialect.id_key: str(number)} if dialect.id_key else {}
    item |= {dialect.content_key: text, "status": status}
    return item | ({dialect.active_key: doing} if dialect.active_key else {})


def todos_in(listing: str, tool: str) -> list[tuple[str, Status]]:
    """The todos in the answer of a read tool. One in progress counts as pending: only one may be."""
    found: list[tuple[str, Status]] = []
    for line in listing.splitlines():
        mark, text = line[:3], line[4:].strip()
        if mark in DIALECTS[tool].marks and text:
            status = STATUSES[DIALECTS[tool].marks.index(mark)]
            found.append((text, "pending" if status == "in_progress" else status))
    return found
