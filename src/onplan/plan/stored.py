"""Stored forms of a plan's state: outcomes in a log, and the bounded snapshot. Plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from onplan.errors import PlanError
from onplan.plan.changes import Outcome, Read, Refused, Unchanged, Written
from onplan.plan.dialect import Dialect
from onplan.plan.ledger import Diff, Ledger, Revision
from onplan.plan.settings import Settings
from onplan.plan.state import State, TurnState
from onplan.plan.stats import Distance, Stats
from onplan.plan.todo import Fault, Plan

_KEPT_REVISIONS = 20
_KEPT_UNDO = 10


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """What a log keeps of an outcome, enough to fold it again."""
    match outcome:
        case Written(revision=revision, plan=plan, repaired=repaired, merged=merged):
            data: dict[str, Any] = {"type": "written", "revision": revision, "todos": plan.to_json()}
            if repaired:
                data["repaired"] = list(repaired)
            if merged:
                data["merged"] = True
            return data
        case Unchanged(merged=merged):
            return {"type": "unchanged", "merged": True} if merged else {"type": "unchanged"}
        case Refused(faults=faults, key=refused_key):
            return {"type": "refused", "faults": [fault.kind for fault in faults], "key": refused_key}
        case Read():
            return {"type": "read"}


def outcome_from_json(data: dict[str, Any]) -> Outcome:
    """The inverse of `outcome_to_json`. Raises `PlanError` for anything else."""
    match data:
        case {"type": "written", "revision": int(revision), "todos": todos}:
            repaired = tuple(str(item) for item in data.get("repaired", ()))
            return Written(revision, Plan.from_json(todos), repaired, bool(data.get("merged")))
        case {"type": "unchanged"}:
            return Unchanged(bool(data.get("merged")))
        case {"type": "refused"}:
            faults = tuple(Fault(kind) for kind in data.get("faults", ()))
            return Refused(faults, str(data.get("key", "")))
        case {"type": "read"}:
            return Read()
        case _:
            raise PlanError(f"not an outcome of a plan call: {data!r:.80}")


def snapshot(state: State) -> dict[str, Any]:
    """Plain JSON values, bounded: the newest revisions and undo steps, every counter."""
    ledger = state.ledger
    return {
        "version": 1,
        "settings": state.settings.to_json(),
        "revisions": [
            {
                "number": item.number,
                "author": item.author,
                "action": item.action,
                "todos": item.plan.to_json(),
                "diff": item.diff.to_json(),
            }
            for item in ledger.revisions[-_KEPT_REVISIONS:]
        ],
        "past": [plan.to_json() for plan in ledger.past[-_KEPT_UNDO:]],
        "future": [plan.to_json() for plan in ledger.future[-_KEPT_UNDO:]],
        "seen": state.seen,
        "distance": [state.distance.messages, state.distance.tokens],
        "rounds": state.rounds,
        "fired": state.fired,
        "turn": {name: getattr(state.turn, name) for name in TurnState.__slots__},
        "stats": state.stats.to_json(),
        "named": list(state.named),
    }


def restore(data: Mapping[str, Any], dialect: Dialect | None = None) -> State:
    """The state that `snapshot` wrote; a dialect of one's own must be handed over.

    Raises `PlanError` for data that is no snapshot.
    """
    version: object = data.get("version") if isinstance(data, Mapping) else None  # pyright: ignore[reportUnnecessaryIsInstance] # it was read from somewhere
    if version != 1:
        raise PlanError(f"not a snapshot of a plan: version {version!r:.40}, expected 1")
    try:
        messages, tokens = data["distance"]
        return State(
            Settings.from_json(data["settings"], dialect),
            Ledger(
                tuple(_revision(item) for item in data["revisions"]),
                tuple(Plan.from_json(todos) for todos in data["past"]),
                tuple(Plan.from_json(todos) for todos in data["future"]),
            ),
            int(data["seen"]),
            Distance(int(messages), int(tokens)),
            int(data["rounds"]),
            int(data["fired"]),
            TurnState(**{item.name: data["turn"][item.name] for item in fields(TurnState)}),
            Stats.from_json(data["stats"]),
            tuple(data["named"]),
        )
    except PlanError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlanError(f"not a snapshot of a plan: {type(error).__name__} {error}") from None


def _revision(data: Mapping[str, Any]) -> Revision:
    plan = Plan.from_json(data["todos"])
    return Revision(int(data["number"]), plan, data["author"], data["action"], Diff.from_json(data["diff"]))
