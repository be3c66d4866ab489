"""What can happen to a plan, as values: the outcomes of plan calls, and everything else that counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from onplan.plan.ledger import Action
from onplan.plan.reminder import ReminderKind
from onplan.plan.todo import Fault, Plan


@dataclass(frozen=True, slots=True)
class PlanCall:
    """A call of one of the dialect's tools, with the arguments as the model sent them."""

    name: str
    arguments: object


# --- what a call does -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """The plan was replaced. `repaired`: what was mended in the input; `merged`: a person's edit was kept."""

    revision: int
    plan: Plan
    repaired: tuple[str, ...] = ()
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The plan that was sent is the plan there is. `merged`: only once the person's edit was kept."""

    merged: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing changed. `key` tells the same refused write from another; `reason` is a veto's own words."""

    faults: tuple[Fault, ...]
    key: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """The plan was shown."""


Outcome: TypeAlias = Written | Unchanged | Refused | Read


def recites(outcome: Outcome) -> bool:
    """Whether the answer to it carries every open todo."""
    match outcome:
        case Written() | Read() | Unchanged(merged=True):
            return True
        case Refused(faults=(Fault(kind="conflict"), *_)):
            return True
        case _:
            return False


# --- what else happens to a plan --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnBegan:
    pass


@dataclass(frozen=True, slots=True)
class Grew:
    """The conversation got longer."""

    messages: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A request went to the model; its answer made the conversation longer."""

    messages: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Worked:
    """Other tools were called; `changed`: one succeeded that may change things."""

    calls: int = 1
    changed: bool = False


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """All calls of a reply have their results. `calls`, `changed`: as in `Worked`, for what is not counted
    yet; `messages`, `tokens`: as in `Grew`."""

    calls: int = 0
    changed: bool = False
    messages: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Reminded:
    kind: ReminderKind
    recites: bool


@dataclass(frozen=True, slots=True)
class Demanded:
    """Another call was answered with "write the plan first"."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A person's revision."""

    plan: Plan
    action: Action = "edit"
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Shortened:
    """The conversation was made shorter: `messages` and `tokens` are left. `shows`: the revision of which it
    now ends with the open todos, 0 where it does not."""

    messages: int
    tokens: int
    shows: int = 0


Change: TypeAlias = (
    Outcome | TurnBegan | Grew | Asked | Worked | RoundEnded | Reminded | Demanded | Edited | Shortened
)
