"""Rounds and distance in, reminder out: whether one is due, and its text, which names the position last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from onplan.plan.render import names, render_open, render_plan
from onplan.plan.settings import Placement, ReminderPolicy, SeedReminder
from onplan.tokens import estimate_tokens

if TYPE_CHECKING:
    from onplan.plan.state import State

ReminderKind: TypeAlias = Literal["seed", "stale", "distance", "suggest", "edited", "continue"]


@dataclass(frozen=True, slots=True)
class Reminder:
    """Text for the model, placed beside the tool results or as a message of its own.

    `recites`: it carries every open todo, so the distance starts again behind it.
    """

    text: str
    kind: ReminderKind
    recites: bool
    placement: Placement = "beside"


def due_after_round(state: State) -> Reminder | None:
    """The reminder due now that a round has ended, or `None`."""
    match state.settings.reminder:
        case None:
            return due_before_request(state)
        case SeedReminder(after=after, text=text, placement=placement):
            due = Reminder(text, "seed", False, placement) if state.rounds >= after else None
            return due or due_before_request(state)
        case ReminderPolicy() as policy:
            if state.settings.planning == "off":
                return None
            if _is_stale(state, policy) and state.seen >= state.ledger.revision:
                return _ask_for_update(state, policy)
            urgent = due_before_request(state)
            if urgent or not _wants_plan(state, policy):
                return urgent
            return Reminder(_tagged(_suggestion(state)), "suggest", False, policy.placement)


def due_before_request(state: State) -> Reminder | None:
    """What cannot wait for the end of a round: news of a person's edit, or a plan too far away."""
    policy = state.settings.reminder
    if state.settings.planning == "off" or state.settings.tutorial:
        return None
    if state.seen < state.ledger.revision:
        return Reminder(_edited(state), "edited", True, policy.placement if policy else "beside")
    if not isinstance(policy, ReminderPolicy):
        return None
    if state.plan.open and _passes(state, policy):
        return _with_list(state, policy, "distance")
    return None


def at_stop(state: State) -> Reminder | None:
    """What continues a turn that stopped with open todos, or `None` if nothing is open."""
    if not state.plan.open or state.settings.tutorial or state.settings.planning == "off":
        return None
    dialect = state.settings.dialect
    count = len(state.plan.open)
    text = _tagged(
        f"You stopped with {count} {dialect.noun}{'s' if count > 1 else ''} open:",
        render_open(state.plan, dialect),
        f"Do them; or, if they are done or no longer apply, say so with {dialect.name} (mark completed, or "
        "leave out); or ask the person what you need to know.",
        position(state),
    )
    return Reminder(text, "continue", True, "message")


def plan_block(state: State) -> str | None:
    """The open todos word for word with the revision, as a compaction puts them behind what it leaves; `None`
    if nothing is open, as a finished plan is not shown again. News of an edit come along."""
    if not state.plan.open or state.settings.planning == "off":
        return None
    news = _news(state) if state.seen < state.ledger.revision and not state.settings.tutorial else []
    lines = [
        *news,
        f"The plan, revision {state.ledger.revision}. Still open:",
        render_open(state.plan, state.settings.dialect),
        "This is what counts, whatever a summary or an older list says.",
        position(state),
    ]
    return "<plan>" + "\n".join(lines) + "</plan>"


def demand_text(state: State) -> str:
    """What answers other calls while a plan is required and there is none."""
    return (
        f"Error: not run. Write the plan first: call {state.dialect.name} with the steps of this job, "
        "then call this again."
    )


def position(state: State) -> str:
    """Where the work stands, in one line: just finished, now, next."""
    plan = state.plan
    finished = state.ledger.revisions[-1].diff.finished if state.ledger.revisions else ()
    waiting = [todo for todo in plan.open if todo is not plan.active]
    parts = [
        f"Just finished: {names(finished[-1:])}." if finished else "",
        f"Now: {names([plan.active.content])}." if plan.active else "Nothing is in progress.",
        f"Next: {names([waiting[0].content])}." if waiting else "",
    ]
    return " ".join(part for part in parts if part)


def _is_stale(state: State, policy: ReminderPolicy) -> bool:
    patience = policy.after[min(state.fired, len(policy.after) - 1)]
    return bool(state.plan.open) and state.rounds >= patience


def _wants_plan(state: State, policy: ReminderPolicy) -> bool:
    settled = state.plan.todos or state.turn.planned or state.turn.suggested
    return policy.suggest and not settled and state.rounds >= policy.after[0]


def _ask_for_update(state: State, policy: ReminderPolicy) -> Reminder:
    """The position alone, or with the list where that is due soon anyway: one reminder instead of two."""
    text = _tagged(_stale(state), position(state))
    messages, tokens = policy.max_messages // 2, max(policy.max_tokens // 2, estimate_tokens(text))
    if _passes(state, policy, messages=messages, tokens=tokens):
        return _with_list(state, policy, "stale")
    return Reminder(text, "stale", False, policy.placement)


def _passes(state: State, policy: ReminderPolicy, *, messages: int = 0, tokens: int = 0) -> bool:
    distance = state.distance.grown(messages, tokens)
    return distance.messages > policy.max_messages or distance.tokens > policy.max_tokens


def _with_list(state: State, policy: ReminderPolicy, kind: ReminderKind) -> Reminder:
    text = _tagged(_stale(state), render_open(state.plan, state.settings.dialect), position(state))
    return Reminder(text, kind, True, policy.placement)


def _stale(state: State) -> str:
    noun = state.settings.dialect.noun
    count = len(state.plan.open)
    return (
        f"Update your todos. {count} {noun}{'s are' if count > 1 else ' is'} open: call "
        f"{state.settings.dialect.name} if anything is done or has changed, then go on."
    )


def _suggestion(state: State) -> str:
    return (
        "No plan yet. If this job has several steps left, write them down with "
        f"{state.settings.dialect.name}; if not, just go on."
    )


def _edited(state: State) -> str:
    """News of every edit since the revision that the model last saw, and the plan."""
    lines = _news(state)
    if not state.plan.todos:
        return _tagged(*lines, "The plan is empty now.")
    return _tagged(*lines, "It is now:", render_plan(state.plan, state.settings.dialect), position(state))


def _news(state: State) -> list[str]:
    diffs = [revision.diff for revision in state.ledger.revisions if revision.number > state.seen]
    present = {todo.content for todo in state.plan}
    removed = state.ledger.removed_since(state.seen)
    added = [text for diff in diffs for text in diff.added if text in present]
    lines = ["The person changed the plan."]
    if removed:
        lines.append(f"Removed, do not add again: {names(removed)}.")
    if added:
        lines.append(f"Added: {names(dict.fromkeys(added))}.")
    return lines


def _tagged(*lines: str) -> str:
    return "<reminder>" + "\n".join(lines) + "</reminder>"
