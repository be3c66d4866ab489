"""The whole state of a plan and its pure transitions; every host, loop and log calls these.

`decide` says what a call would do, `evolve` folds what happened, `answer` puts it in words;
`apply` is the three in one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, assert_never

from onplan.errors import PlanError
from onplan.frozen import with_changes
from onplan.plan.answer import Answer, answer
from onplan.plan.changes import (
    Asked,
    Change,
    Demanded,
    Edited,
    Grew,
    Outcome,
    PlanCall,
    Read,
    Refused,
    Reminded,
    RoundEnded,
    Shortened,
    TurnBegan,
    Unchanged,
    Worked,
    Written,
    recites,
)
from onplan.plan.decode import Decoded, Refusal, decode, decode_as_seed, heard
from onplan.plan.dialect import Dialect
from onplan.plan.ledger import Ledger, key, merge
from onplan.plan.settings import SeedReminder, Settings
from onplan.plan.stats import Distance, Stats
from onplan.plan.todo import Fault, Plan

SAME_ENDS_THE_TURN = 5
REFUSED_ENDS_THE_TURN = 3
DEMANDS_A_TURN = 3
"""How often a turn answers "write the plan first" before it lets other calls pass."""

_NAMED = 200

_AFRESH: Mapping[str, Any] = MappingProxyType({"same": 0, "refused": 0, "refused_key": ""})
"""What a successful call that changes something clears of the counters of repetition."""


@dataclass(frozen=True, slots=True)
class TurnState:
    """What is counted anew with each user message.

    `same`: writes of the plan as it stands, the accepted one included. `planned`: the plan changed in this
    turn. `round_…`: in the round under way the write tool was called, the plan changed, the plan was shown.
    """

    same: int = 0
    refused: int = 0
    refused_key: str = ""
    planned: bool = False
    suggested: bool = False
    demanded: int = 0
    continued: int = 0
    round_called: bool = False
    round_wrote: bool = False
    round_recited: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """Everything about one agent's plan. `seen`: the revision that the model last saw; `rounds` since the
    last change or reminder; `fired`: stale reminders since the last change; `named`: drops already named."""

    settings: Settings = Settings()
    ledger: Ledger = Ledger()
    seen: int = 0
    distance: Distance = Distance()
    rounds: int = 0
    fired: int = 0
    turn: TurnState = TurnState()
    stats: Stats = Stats()
    named: tuple[str, ...] = ()

    @property
    def plan(self) -> Plan:
        return self.ledger.plan

    @property
    def dialect(self) -> Dialect:
        return self.settings.dialect

    @property
    def ends_turn(self) -> Literal["plan_loop"] | None:
        """Why the turn should end now: the same plan, or the same refused one, over and over."""
        looping = self.turn.same >= SAME_ENDS_THE_TURN or self.turn.refused >= REFUSED_ENDS_THE_TURN
        return "plan_loop" if looping and not self.settings.tutorial else None

    @property
    def demands_plan(self) -> bool:
        """Other calls are to be answered with "write the plan first"."""
        required = self.settings.planning == "require"
        return (
            required and not self.plan.open and not self.turn.planned and self.turn.demanded < DEMANDS_A_TURN
        )


def apply(state: State, call: PlanCall) -> tuple[State, Answer]:
    """The state after a plan call, and its answer. Pure; never raises for what a model sent."""
    outcome = decide(state, call)
    after = evolve(state, outcome)
    return after, answer(state, after, outcome)


def decide(state: State, call: PlanCall) -> Outcome:
    """What a plan call would do, without doing it."""
    if call.name == state.dialect.read_tool:
        return Read()
    intake = decode_as_seed if state.settings.tutorial else decode
    match intake(call.arguments, state.dialect, state.settings.rules):
        case Refusal(faults=faults):
            return Refused(faults, fingerprint(heard(call.arguments, state.dialect)))
        case Decoded(todos=todos, repaired=repaired):
            return _decide_write(state, Plan(todos), repaired, call)


def _decide_write(state: State, plan: Plan, repaired: tuple[str, ...], call: PlanCall) -> Outcome:
    base = _seen_plan(state)
    if base is None or state.settings.tutorial:
        if plan == state.plan and not state.settings.tutorial:
            return Unchanged()
        return Written(state.ledger.revision + 1, plan, repaired)
    merged = merge(base, state.plan, plan)
    if any(state.settings.rules.faults(list(enumerate(merged)), sent=len(merged))):
        return Refused((Fault("conflict"),), fingerprint(heard(call.arguments, state.dialect)))
    if merged == state.plan:
        return Unchanged(merged=merged != plan)
    return Written(state.ledger.revision + 1, merged, repaired, merged != plan)


def _seen_plan(state: State) -> Plan | None:
    """The plan that the model last saw, if a person has changed it since."""
    if state.seen >= state.ledger.revision:
        return None
    try:
        return state.ledger.at(state.seen)
    except PlanError:
        return None  # older than the ledger keeps: nothing left to merge with


def evolve(state: State, change: Change) -> State:
    """The state after something happened. Trusts what it is told: rules were judged before."""
    match change:
        case Written() | Unchanged() | Refused() | Read():
            state = _called(state, change)
            if not recites(change):
                return state
            return _recited(with_changes(state, turn=with_changes(state.turn, round_recited=True)))
        case TurnBegan():
            fresh_count = isinstance(state.settings.reminder, SeedReminder) or not state.plan.open
            return with_changes(state, turn=TurnState(), rounds=0 if fresh_count else state.rounds)
        case Grew(messages=messages, tokens=tokens):
            return with_changes(state, distance=state.distance.grown(messages, tokens))
        case Asked(messages=messages, tokens=tokens):
            stats = state.stats.asked(state.distance, is_open=bool(state.plan.open))
            return with_changes(state, stats=stats, distance=state.distance.grown(messages, tokens))
        case Worked(calls=calls, changed=changed):
            idle = 0 if state.plan.active else calls
            turn = with_changes(state.turn, **_AFRESH) if changed else state.turn
            return with_changes(state, turn=turn, stats=state.stats.plus(calls=calls, idle_calls=idle))
        case RoundEnded():
            return _round_ended(state, change)
        case Reminded():
            return _reminded(state, change)
        case Demanded():
            return with_changes(state, turn=with_changes(state.turn, demanded=state.turn.demanded + 1))
        case Edited(plan=plan, action=action, revision=revision):
            ledger = state.ledger.written(plan, "user", action, revision)
            turn = with_changes(state.turn, planned=True, same=0)
            stats = state.stats.plus(edits=1)
            return with_changes(state, ledger=ledger, turn=turn, stats=stats, rounds=0, fired=0)
        case Shortened():
            return _shortened(state, change)
        case _:
            assert_never(change)


def _called(state: State, outcome: Outcome) -> State:
    match outcome:
        case Written():
            return _written(state, outcome)
        case Unchanged():
            turn = with_changes(state.turn, same=state.turn.same + 1, refused=0, round_called=True)
            return with_changes(state, turn=turn, stats=state.stats.plus(unchanged=1))
        case Refused(key=refused_key):
            again = state.turn.refused + 1 if refused_key == state.turn.refused_key else 1
            turn = with_changes(state.turn, refused=again, refused_key=refused_key, round_called=True)
            return with_changes(state, turn=turn, stats=state.stats.plus(refused=1))
        case Read():
            return with_changes(state, stats=state.stats.plus(reads=1))


def _written(state: State, change: Written) -> State:
    ledger = state.ledger.written(change.plan, "model", number=change.revision)
    diff = ledger.revisions[-1].diff
    turn = with_changes(
        state.turn, same=1, refused=0, refused_key="", planned=True, round_called=True, round_wrote=True
    )
    named = state.named
    if diff.dropped:
        named = tuple(dict.fromkeys((*named, *map(key, diff.dropped))))[-_NAMED:]
    return with_changes(
        state,
        ledger=ledger,
        turn=turn,
        rounds=0,
        fired=0,
        stats=state.stats.written(diff, len(change.repaired)),
        named=named,
    )


def _recited(state: State) -> State:
    return with_changes(state, seen=state.ledger.revision, distance=Distance())


def _round_ended(state: State, change: RoundEnded) -> State:
    by_seed = isinstance(state.settings.reminder, SeedReminder)
    quiet = not (state.turn.round_called if by_seed else state.turn.round_wrote)
    counted: Mapping[str, Any] = _AFRESH if change.changed else {}
    return with_changes(
        state,
        rounds=state.rounds + 1 if quiet else 0,
        distance=state.distance.grown(change.messages, change.tokens),
        turn=with_changes(state.turn, round_called=False, round_wrote=False, round_recited=False, **counted),
        stats=state.stats.plus(
            rounds=1, calls=change.calls, idle_calls=0 if state.plan.active else change.calls
        ),
    )


def _reminded(state: State, change: Reminded) -> State:
    if change.kind == "continue":
        state = with_changes(state, turn=with_changes(state.turn, continued=state.turn.continued + 1))
    else:
        suggested = state.turn.suggested or change.kind == "suggest"
        state = with_changes(
            state,
            rounds=0,
            fired=state.fired + (change.kind == "stale"),
            turn=with_changes(state.turn, suggested=suggested),
            stats=state.stats.plus(reminders=1),
        )
    return _recited(state) if change.recites else state


def _shortened(state: State, change: Shortened) -> State:
    """No reminder: neither the figures nor the patience for the next one change."""
    if change.shows:
        return with_changes(state, seen=max(state.seen, change.shows), distance=Distance())
    messages = min(state.distance.messages, change.messages)
    return with_changes(state, distance=Distance(messages, min(state.distance.tokens, change.tokens)))


def fingerprint(arguments: object) -> str:
    """The same for equal arguments, whatever the order of their keys."""
    import hashlib  # only refused writes are told apart by it
    import json

    try:
        text = json.dumps(arguments, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(arguments))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
