"""The words for what a plan call did: the seed's text first, ours on the lines after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onplan.plan.changes import Outcome, Read, Refused, Unchanged, Written
from onplan.plan.dialect import Dialect, fault_words
from onplan.plan.ledger import key
from onplan.plan.render import names, render_answer, render_plan, safe
from onplan.plan.settings import Settings
from onplan.plan.todo import STATUSES, Fault, Plan

if TYPE_CHECKING:
    from onplan.plan.state import State

SAME_IS_AN_ERROR = 3
"""The how-manieth identical write is answered as an error."""
_FAULTS_BUDGET = 3_000
"""Characters of a refusal's list of faults, after which the rest is only counted."""


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
                text = "\n".join([text, *_remarks(dropped, repaired, _kept(before) if merged else "")])
            return Answer(text, False, plan, revision, dropped, repaired)
        case Unchanged(merged=True):
            return Answer(
                "\n".join([render_answer(plan, after.dialect), *_remarks((), (), _kept(before))]),
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


def _kept(before: State) -> str:
    """Of a write that was merged with a person's edit; what the edit took out is named once, here."""
    removed = before.ledger.removed_since(before.seen)
    return "The person had changed the plan meanwhile; their changes were kept in it." + (
        f" Removed, do not add again: {names(removed)}." if removed else ""
    )


def _remarks(dropped: tuple[str, ...], repaired: tuple[str, ...], kept: str) -> list[str]:
    lines: list[str] = [kept] if kept else []
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
    first = safe(f"Error: {fault_words(refused.faults[0], settings.dialect, settings.rules)}")
    if settings.tutorial:
        return first
    if refused.faults[0].kind == "vetoed":
        return f"{first}: {safe(refused.reason)}\nThe plan was not changed."
    if refused.faults[0].kind == "conflict":
        shown = render_plan(after.plan, settings.dialect)
        return f"{first}, and yours does not fit. It is now:\n{shown}\nWrite your plan again from this one."
    lines = _fault_lines(refused.faults, settings)
    return "\n".join(
        [f"Error: {lines[0]}", *lines[1:], _shape(settings.dialect), "The plan was not changed."]
    )


def _fault_lines(faults: tuple[Fault, ...], settings: Settings) -> list[str]:
    """Each fault in the dialect's words, with the way out below it where that is not said already."""
    lines: list[str] = []
    for number, fault in enumerate(faults):
        if sum(map(len, lines)) > _FAULTS_BUDGET:
            return [*lines, f"and {len(faults) - number} more: mend these first"]
        lines.append(safe(fault_words(fault, settings.dialect, settings.rules)))
        detail = safe(_detail(fault, settings))
        if detail and f"  {detail}" not in lines:
            lines.append(f"  {detail}")
    return lines


def _detail(fault: Fault, settings: Settings) -> str:
    """What is added to the dialect's words: what was found, and the way out."""
    one_of = ", ".join(STATUSES)
    match fault.kind:
        case "too_many":
            limit = settings.rules.max_items
            return f"{fault.value} were sent, limit {limit}: merge small ones, leave out finished ones"
        case "null_list":
            return "null never clears the plan: send [] to clear it"
        case "no_list" | "not_a_list" | "unreadable":
            return f"received {fault.value}"
        case "bad_status" if fault.value in ("cancelled", "canceled"):
            return f"use one of {one_of}; to cancel, leave the item out"
        case "bad_status":
            return f"use one of {one_of}"
        case "no_status":
            return f"status is missing: use one of {one_of}"
        case "many_in_progress":
            keep = settings.rules.max_in_progress
            return f"{fault.value} are; keep {'one' if keep == 1 else keep}, set the others to pending"
        case "too_long":
            return f"{fault.value} characters, limit {settings.rules.max_content}: shorten it"
        case "two_names":
            return f"it came under several names ({fault.value})"
        case "not_an_object" | "bad_content":
            return f"received {fault.value}"
        case "no_content" | "vetoed" | "conflict":
            return ""


def _shape(dialect: Dialect) -> str:
    item = {
        **({dialect.id_key: "1"} if dialect.id_key else {}),
        dialect.content_key: "…",
        "status": "|".join(STATUSES),
    }
    import json  # only a refusal needs it

    return f"Send: {json.dumps({dialect.list_key: [item]}, ensure_ascii=False)}"
