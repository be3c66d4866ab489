"""How a plan is kept: dialect, rules, reminders and mode in one value; the seeds' own are a preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from onplan.errors import PlanError
from onplan.plan.dialect import DIALECTS, WRITE_TODOS, Dialect
from onplan.plan.todo import Rules

Placement: TypeAlias = Literal["beside", "message"]
Planning: TypeAlias = Literal["suggest", "require", "off"]


@dataclass(frozen=True, slots=True)
class ReminderPolicy:
    """When a stale plan is asked for.

    `after`: rounds without a change before the first, second, … reminder; the last number repeats until the
    plan changes. `max_messages` and `max_tokens` bound the distance of the plan in any request while todos
    are open; `suggest`: ask once a turn for a plan where there is none.
    """

    after: tuple[int, ...] = (3, 6, 12)
    max_messages: int = 30
    max_tokens: int = 8_000
    suggest: bool = True
    placement: Placement = "beside"

    def __post_init__(self) -> None:
        if not self.after or min(self.after) < 1 or self.max_messages < 2 or self.max_tokens < 1:
            raise PlanError("a reminder policy needs rounds of 1 or more and bounds of at least 2 messages")


@dataclass(frozen=True, slots=True)
class SeedReminder:
    """The second and third seed's counter: inside one turn, any call of the write tool resets it, also a
    refused one, and it fires whatever the plan looks like, then counts anew."""

    after: int = 3
    text: str = "<reminder>Update your todos.</reminder>"
    placement: Placement = "beside"


Reminders: TypeAlias = ReminderPolicy | SeedReminder | None


@dataclass(frozen=True, slots=True)
class Settings:
    """`tutorial`: answers, intake and counter are the seeds' and nothing is added.

    `max_continuations`: how often a turn that stops with open todos is continued.
    """

    dialect: Dialect = WRITE_TODOS
    rules: Rules = Rules()
    reminder: Reminders = ReminderPolicy()
    planning: Planning = "suggest"
    tutorial: bool = False
    max_continuations: int = 1

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values. Of a dialect only its name is kept."""
        return {
            "dialect": self.dialect.name,
            "rules": asdict(self.rules),
            "reminder": _reminder_json(self.reminder),
            "planning": self.planning,
            "tutorial": self.tutorial,
            "max_continuations": self.max_continuations,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], dialect: Dialect | None = None) -> Settings:
        """The inverse of `to_json`; a dialect that is not built in must be handed over."""
        return cls(
            dialect or find_dialect(str(data.get("dialect", "write_todos"))),
            Rules(**data.get("rules", {})),
            _reminder_of(data.get("reminder")),
            data.get("planning", "suggest"),
            bool(data.get("tutorial", False)),
            int(data.get("max_continuations", 1)),
        )


_SEED_RULES: Mapping[str, Rules] = {
    "write_todos": Rules(max_items=None, max_in_progress=None, max_content=None, allow_blank=True),
    "todo_write": Rules(max_content=None),
    "todo": Rules(max_content=None),
}
_SEED_REMINDERS: Mapping[str, Reminders] = {
    "write_todos": None,
    "todo_write": SeedReminder(),
    "todo": SeedReminder(placement="message"),
}


def settings(
    dialect: str | Dialect = "write_todos",
    *,
    preset: Literal["tutorial"] | None = None,
    rules: Rules | None = None,
    reminder: Reminders | Literal["default"] = "default",
    planning: Planning = "suggest",
    max_continuations: int = 1,
) -> Settings:
    """Settings by name. `preset="tutorial"` is the exact behaviour of the seed that the dialect comes from.

    Raises `PlanError` for an unknown dialect, preset or mode, and for a dialect that no seed describes.
    """
    found = find_dialect(dialect) if isinstance(dialect, str) else dialect
    if planning not in ("suggest", "require", "off"):
        raise PlanError(f"planning must be suggest, require or off, not {planning!r}")
    if max_continuations < 0:
        raise PlanError(f"max_continuations must be 0 or more, not {max_continuations}")
    if preset is None:
        policy = ReminderPolicy() if reminder == "default" else reminder
        return Settings(found, rules or Rules(), policy, planning, False, max_continuations)
    if preset != "tutorial":
        raise PlanError(f"unknown preset {preset!r}: the only one is 'tutorial'")
    if found.name not in _SEED_RULES:
        raise PlanError(f"no seed describes {found.name}: tutorial knows {', '.join(_SEED_RULES)}")
    policy = _SEED_REMINDERS[found.name] if reminder == "default" else reminder
    return Settings(found, rules or _SEED_RULES[found.name], policy, planning, True, 0)


def find_dialect(name: str) -> Dialect:
    """A built-in dialect by the name of its write tool. Raises `PlanError`."""
    if name not in DIALECTS:
        raise PlanError(f"unknown dialect {name!r}: use one of {', '.join(DIALECTS)}")
    return DIALECTS[name]


def _reminder_json(policy: Reminders) -> dict[str, Any] | None:
    match policy:
        case None:
            return None
        case SeedReminder():
            return {"seed": True, **asdict(policy)}
        case ReminderPolicy():
            return {**asdict(policy), "after": list(policy.after)}


def _reminder_of(data: dict[str, Any] | None) -> Reminders:
    if data is None:
        return None
    values: dict[str, Any] = {name: value for name, value in data.items() if name != "seed"}
    if data.get("seed"):
        return SeedReminder(**values)
    values["after"] = tuple(values["after"])
    return ReminderPolicy(**values)
