"""Dialects as values: the tool names, argument shape, marks and texts in which a model speaks to the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from onplan.plan.todo import STATUSES, Fault, Rules, Status

_WHEN = (
    "Plan when a job takes three or more steps; not for a single step or a question. "
    "Send the FULL list every time: it replaces the last one, so revise, merge or drop {noun}s as you learn. "
    "Keep exactly one {noun} in_progress. Mark it completed the moment it is done, not in batches. "
    "If it is blocked, leave it in_progress and add a {noun} that unblocks it."
)

_REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "too_many": "Max {limit} {noun}s allowed",
        "no_content": "{key}[{index}] requires {content}",
        "bad_content": "{key}[{index}] requires {content}",
        "two_names": "{key}[{index}] requires {content}",
        "not_an_object": "{key}[{index}] must be an object",
        "no_status": "{key}[{index}] has invalid status ''",
        "bad_status": "{key}[{index}] has invalid status '{value}'",
        "too_long": "{key}[{index}] is too long",
        "many_in_progress": "Only one {noun} can be in_progress at a time",
        "not_a_list": "{key} must be a list or JSON array string",
        "unreadable": "{key} must be a list or JSON array string",
        "no_list": "{key} is required",
        "null_list": "{key} must be a list or JSON array string",
        "vetoed": "The plan change was refused",
        "conflict": "The person changed the plan meanwhile",
    }
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a model family writes its plan. `name` is the write tool's; an empty key is not part of it.

    `marks` are those of pending, in progress, completed. `missing_status`: what an item without a status
    is taken for; `None` refuses it. `refusals` are the first lines of a refusal, by kind of fault.
    """

    name: str
    read_tool: str = ""
    list_key: str = "todos"
    content_key: str = "content"
    id_key: str = ""
    active_key: str = ""
    note_key: str = ""
    noun: str = "todo"
    marks: tuple[str, str, str] = ("[ ]", "[>]", "[x]")
    missing_status: Status | None = None
    counts: bool = True
    updated: str = ""
    cleared: str = "No todos."
    nothing: str = "No todos."
    refusals: Mapping[str, str] = field(default_factory=lambda: _REFUSALS, repr=False, hash=False)

    @property
    def tool_names(self) -> tuple[str, ...]:
        return (self.name, self.read_tool) if self.read_tool else (self.name,)

    def mark(self, status: Status) -> str:
        return self.marks[STATUSES.index(status)]


WRITE_TODOS = Dialect(
    name="write_todos",
    read_tool="read_todos",
    marks=("[ ]", "[~]", "[x]"),
    counts=False,
    updated="Task list updated:",
    cleared="Task list cleared.",
    nothing="No task list yet. Call write_todos to create one.",
)
"""The first seed's."""

TODO_WRITE = Dialect(name="todo_write")
"""The second seed's."""

TODO = Dialect(
    name="todo",
    list_key="items",
    content_key="text",
    id_key="id",
    missing_status="pending",
    refusals=MappingProxyType(
        {
            **_REFUSALS,
            "too_many": "Max {limit} todos allowed",
            "no_content": "Item {id}: text required",
            "bad_content": "Item {id}: text required",
            "two_names": "Item {id}: text required",
            "no_status": "Item {id}: invalid status ''",
            "bad_status": "Item {id}: invalid status '{value}'",
            "too_long": "Item {id}: text too long",
            "not_an_object": "Item {id}: must be an object",
            "many_in_progress": "Only one task can be in_progress at a time",
        }
    ),
)
"""The third seed's."""

CLAUDE = Dialect(
    name="TodoWrite",
    active_key="activeForm",
    updated="Todos updated:",
    cleared="Todos cleared.",
)
"""The shape that Anthropic's models know."""

CODEX = Dialect(
    name="update_plan",
    list_key="plan",
    content_key="step",
    note_key="explanation",
    noun="step",
    updated="Plan updated:",
    cleared="Plan cleared.",
    nothing="No plan yet.",
)
"""The shape that OpenAI's models know."""

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {dialect.name: dialect for dialect in (WRITE_TODOS, TODO_WRITE, TODO, CLAUDE, CODEX)}
)


def fault_words(fault: Fault, dialect: Dialect, rules: Rules) -> str:
    """The fault in the dialect's own words: the first line of a refusal, without the `Error: `."""
    template = dialect.refusals[fault.kind]
    if fault.kind == "many_in_progress" and rules.max_in_progress != 1:
        template = "Only {active} {noun}s can be in_progress at a time"
    index = -1 if fault.index is None else fault.index
    return template.format(
        key=dialect.list_key,
        content=dialect.content_key,
        noun=dialect.noun,
        index=index,
        id=fault.id or index + 1,
        value=fault.value,
        limit=rules.max_items,
        active=rules.max_in_progress,
    )


def tool_schemas(dialect: Dialect, rules: Rules) -> tuple[dict[str, Any], ...]:
    """Name, description and input schema of the dialect's tools, derived from the active rules."""
    noun = dialect.noun
    write: dict[str, Any] = {
        "name": dialect.name,
        "description": f"Write or rewrite your plan for multi-step work. {_WHEN.format(noun=noun)}",
        "input_schema": {
            "type": "object",
            "properties": {
                **({dialect.note_key: {"type": "string"}} if dialect.note_key else {}),
                dialect.list_key: _list_schema(dialect, rules),
            },
            "required": [dialect.list_key],
        },
    }
    if not dialect.read_tool:
        return (write,)
    read: dict[str, Any] = {
        "name": dialect.read_tool,
        "description": "Show your plan again: what is done and what is left. "
        f"Useful after finishing a {noun}, once the plan has scrolled far back.",
        "input_schema": {"type": "object", "properties": {}},
    }
    return (write, read)


def _list_schema(dialect: Dialect, rules: Rules) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    if not rules.allow_blank:
        text["minLength"] = 1
    if rules.max_content is not None:
        text["maxLength"] = rules.max_content
    properties: dict[str, Any] = {
        **({dialect.id_key: {"type": "string"}} if dialect.id_key else {}),
        dialect.content_key: text,
        "status": {"type": "string", "enum": list(STATUSES)},
        **({dialect.active_key: {"type": "string"}} if dialect.active_key else {}),
    }
    required = [key for key in properties if key != dialect.active_key]
    schema: dict[str, Any] = {
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": required},
    }
    if rules.max_items is not None:
        schema["maxItems"] = rules.max_items
    return schema
