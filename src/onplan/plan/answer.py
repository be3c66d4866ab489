"""The words for what a plan call did: the seed's text first, ours on the lines after it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onplan.plan.changes import Outcome, Read, Refused, Unchanged, Written
from onplan.plan.dialect import Dialect, fault_words
from onplan.plan.ledger import key
from onplan.plan.render import names, render_answer, render_plan
from onplan.plan.settings import Settings
from onplan.plan.todo import STATUSES, Fault, Plan

if TYPE_CHECKING:
    from onplan.plan.state import State

SAME_IS_AN_ERROR = 3
"""The how-manieth identical write is answered as an error."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a plan call came to. `dropped`: open todos that the write left out, named now; `ends_turn`: why
    the turn should end, or `None`."""

    text: str
    is_error: bool
    plan: Plan
    revision: int
    dropped: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    ends_turn: str | None = None


def answer(before: State, after: State, outcome: Outcome) -> Answer:
    """The words for what a call did: the seed's text first, ours on the lines after it."""
    plan, revision = after.plan, after.ledger.revision
    match outcome:
        case Written(repaired=repaired, merged=merged):
            diff = after.ledger.revisions[-1].diff
            known = set(before.named)
            dropped = tuple(text for text in diff.dropped if key(text) not in known)
            text = render_answer(plan, after.dialect)
            if not after.settings.tutorial:
                text = "\n".join([text, *_remarks(dropped, repaired, merged=merged)])
            return Answer(text, False, plan, revision, dropped, repaired)
        case Unchanged(merged=True):
            return Answer(
                "\n".join([render_answer(plan, after.dialect), *_remarks((), (), merged=True)]),
                False,
                plan,
                revision,
            )
        case Unchanged():
            return _same_answer(after)
        case Refused():
            return Answer(_refusal(after, outcome), True, plan, revision, ends_turn=after.ends_turn)
        case Read():
            return Answer(render_plan(plan, after.dialect), False, plan, revision)


def _remarks(dropped: tuple[str, ...], repaired: tuple[str, ...], *, merged: bool) -> list[str]:
    lines: list[str] = []
    if merged:
        lines.append("The person had changed the plan meanwhile; their changes were kept in it.")
    if dropped:
        lines.append(f"Left out while open: {names(dropped)}.")
    if repaired:
        lines.append(f"Repaired: {'; '.join(repaired[:4])}.")
    return lines


def _same_answer(after: State) -> Answer:
    plan = after.plan
    following = f" Next: {names([plan.next.content])}." if plan.next else ""
    if after.turn.same < SAME_IS_AN_ERROR:
        return Answer(f"Plan unchanged.{following}", False, plan, after.ledger.revision)
    text = f"Error: this is the same plan for the {_ordinal(after.turn.same)} time. Do the work.{following}"
    return Answer(text, True, plan, after.ledger.revision, ends_turn=after.ends_turn)


def _ordinal(number: int) -> str:
    return {3: "third", 4: "fourth", 5: "fifth"}.get(number, f"{number}th")


def _refusal(after: State, refused: Refused) -> str:
    settings = after.settings
    first = f"Error: {fault_words(refused.faults[0], settings.dialect, settings.rules)}"
    if settings.tutorial:
        return first
    if refused.faults[0].kind == "vetoed":
        return f"{first}: {refused.reason}\nThe plan was not changed."
    if refused.faults[0].kind == "conflict":
        shown = render_plan(after.plan, settings.dialect)
        return f"{first}, and yours does not fit. It is now:\n{shown}\nWrite your plan again from this one."
    lines = [f"{first}{_detail(refused.faults[0], settings)}"]
    lines += [
        f"{fault_words(fault, settings.dialect, settings.rules)}{_detail(fault, settings)}"
        for fault in refused.faults[1:]
    ]
    return "\n".join([*lines, _shape(settings.dialect), "The plan was not changed."])


def _detail(fault: Fault, settings: Settings) -> str:
    """What is added to the dialect's words: what was found, and the way out, on a line of its own."""
    one_of = ", ".join(STATUSES)
    match fault.kind:
        case "too_many":
            limit = settings.rules.max_items
            text = f"{fault.value} were sent, limit {limit}: merge small ones, leave out finished ones"
        case "null_list":
            text = "null never clears the plan: send [] to clear it"
        case "no_list" | "not_a_list" | "unreadable":
            text = f"received {fault.value}" if fault.value else ""
        case "bad_status" if fault.value.strip("'\"") in ("cancelled", "canceled"):
            text = f"use one of {one_of}; to cancel, leave the item out"
        case "bad_status":
            text = f"use one of {one_of}"
        case "no_status":
            text = f"status is missing: use one of {one_of}"
        case "many_in_progress":
            text = f"{fault.value} are; keep one, set the others to pending"
        case "too_long":
            text = f"{fault.value} characters, limit {settings.rules.max_content}: shorten it"
        case "two_names":
            text = f"it came under several names ({fault.value})"
        case "not_an_object" | "bad_content":
            text = f"received {fault.value}"
        case "no_content" | "vetoed" | "conflict":
            text = ""
    return f"\n  {text}" if text else ""


def _shape(dialect: Dialect) -> str:
    item = {
        **({dialect.id_key: "1"} if dialect.id_key else {}),
        dialect.content_key: "…",
        "status": "|".join(STATUSES),
    }
    return f"Send: {json.dumps({dialect.list_key: [item]}, ensure_ascii=False)}"
