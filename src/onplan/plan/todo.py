"""Todo, Plan and Rules: what a plan is, and when a write of one is legal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast, get_args

from onplan.errors import PlanError
from onplan.plan.text import clean, is_blank

Status: TypeAlias = Literal["pending", "in_progress", "completed"]
STATUSES: tuple[Status, ...] = get_args(Status)

FaultKind: TypeAlias = Literal[
    "no_list",  # the list is missing from the arguments
    "null_list",
    "not_a_list",
    "unreadable",  # a string that holds no list
    "too_many",
    "not_an_object",
    "no_content",
    "bad_content",
    "two_names",  # content came under two names
    "too_long",
    "no_status",
    "bad_status",
    "many_in_progress",
    "vetoed",
    "conflict",  # the person changed the plan meanwhile and the two do not fit together
]


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason to refuse a write. `index` counts items from 0; `value` is what was found, for people."""

    kind: FaultKind
    index: int | None = None
    value: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Todo:
    """One step. `active_form` is how to say it while it is being done. The name `check` is reserved."""

    content: str
    status: Status = "pending"
    id: str = ""
    active_form: str = ""

    @property
    def is_open(self) -> bool:
        return self.status != "completed"

    def to_json(self) -> dict[str, str]:
        """Plain JSON values; `id` and `active_form` only where they are set."""
        data: dict[str, str] = {"content": self.content, "status": self.status}
        if self.id:
            data["id"] = self.id
        if self.active_form:
            data["active_form"] = self.active_form
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Todo:
        """The inverse of `to_json`. Raises `PlanError` for anything else."""
        content, status = data.get("content"), data.get("status", "pending")
        if not isinstance(content, str) or status not in STATUSES:
            raise PlanError(f"not a todo: {data!r:.80}")
        if len(data) == 2:  # nearly all are: logs hold thousands
            return cls(content, status)
        return cls(content, status, str(data.get("id", "")), str(data.get("active_form", "")))


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits of a write; `None` lifts one. They judge writes, never a plan that is already stored.

    `max_content` counts characters. Source: 20 and 1 are the second and third seed's; 500 is ours;
    only the first seed takes blank content.
    """

    max_items: int | None = 20
    max_in_progress: int | None = 1
    max_content: int | None = 500
    allow_blank: bool = False

    def faults(self, todos: Sequence[tuple[int, Todo]], *, sent: int) -> Iterator[Fault]:
        """Every fault of `todos` (each with its index in the list that was sent, of `sent` items)."""
        if self.max_items is not None and sent > self.max_items:
            yield Fault("too_many", value=str(sent))
            return
        for index, todo in todos:
            if is_blank(todo.content) and not self.allow_blank:
                yield Fault("no_content", index, id=todo.id)
            elif self.max_content is not None and len(todo.content) > self.max_content:
                yield Fault("too_long", index, str(len(todo.content)), todo.id)
        active = [(index, todo) for index, todo in todos if todo.status == "in_progress"]
        if self.max_in_progress is not None and len(active) > self.max_in_progress:
            named = " and ".join(f"{index} ({_short(todo.content)})" for index, todo in active[:4])
            yield Fault("many_in_progress", active[0][0], named)


@dataclass(frozen=True, slots=True)
class Plan:
    """An ordered, immutable list of todos, and the open ones among them, in order.

    `Plan.of` is the way to make one that obeys the rules.
    """

    todos: tuple[Todo, ...] = ()
    open: tuple[Todo, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "open", tuple(todo for todo in self.todos if todo.is_open))

    @classmethod
    def of(cls, todos: Iterable[Todo | str | dict[str, Any]], rules: Rules = Rules()) -> Plan:
        """A plan of `todos` (values, plain strings for pending ones, or JSON objects).

        Raises `PlanError` with every fault when the rules are broken.
        """
        plan = cls(tuple(_todo(item) for item in todos))
        numbered = list(enumerate(plan.todos))
        faults = [_plain_words(fault, rules) for fault in rules.faults(numbered, sent=len(numbered))]
        if faults:
            raise PlanError(*faults)
        return plan

    @property
    def done(self) -> int:
        return len(self.todos) - len(self.open)

    @property
    def active(self) -> Todo | None:
        """The todo in progress: the first, where the rules allow several."""
        return next((todo for todo in self.todos if todo.status == "in_progress"), None)

    @property
    def next(self) -> Todo | None:
        """What to do now: the todo in progress, else the first pending one."""
        return self.active or next(iter(self.open), None)

    def __len__(self) -> int:
        return len(self.todos)

    def __iter__(self) -> Iterator[Todo]:
        return iter(self.todos)

    def to_json(self) -> list[dict[str, str]]:
        return [todo.to_json() for todo in self.todos]

    @classmethod
    def from_json(cls, data: Iterable[Any]) -> Plan:
        """A stored plan, taken as it is: rules judge writes only. Raises `PlanError` for what is no plan."""
        items = list(data)
        if not all(isinstance(item, dict) for item in items):
            raise PlanError("not a plan: its items must be objects")
        return cls(tuple(Todo.from_json(item) for item in items))


def _todo(item: Todo | str | dict[str, Any]) -> Todo:
    if isinstance(item, str):
        item = Todo(item)
    if isinstance(item, dict):
        item = Todo.from_json(item)
    if item.status not in STATUSES:
        raise PlanError(f"invalid status {cast('str', item.status)!r}: use {', '.join(STATUSES)}")
    return Todo(clean(item.content), item.status, item.id, item.active_form)


def _short(content: str) -> str:
    return content if len(content) <= 40 else content[:39] + "…"


def _plain_words(fault: Fault, rules: Rules) -> str:
    match fault.kind:
        case "too_many":
            return f"{fault.value} todos, limit {rules.max_items}"
        case "no_content":
            return f"todo {fault.index} has no content"
        case "too_long":
            return f"todo {fault.index} has {fault.value} characters, limit {rules.max_content}"
        case "many_in_progress":
            return f"only {rules.max_in_progress} todo may be in progress: {fault.value} are"
        case _:
            return f"{fault.kind} {fault.value}".strip()
