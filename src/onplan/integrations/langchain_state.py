"""The plan's state in a LangChain thread: two private channels, and a fold over the messages since."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from onplan.integrations.graph_turn import recited_again
from onplan.integrations.lcmessages import calls_of, from_langchain
from onplan.messages import Assistant, Call, Message, Note, ToolResult, User
from onplan.plan.changes import Edited, Written
from onplan.plan.dialect import DIALECTS
from onplan.plan.ledger import Action, Ledger
from onplan.plan.reminder import Reminder, due_after_round, due_before_request
from onplan.plan.settings import Settings
from onplan.plan.state import State, evolve
from onplan.plan.stats import Distance
from onplan.plan.stored import restore, snapshot
from onplan.plan.todo import Plan
from onplan.planning import PlanFold

LEDGER = "onplan_ledger"
"""The channel of the revisions, kept in deltas: a checkpoint holds what is new."""
COUNTERS = "onplan_counters"
"""The channel of what changes every round: some hundred bytes, kept in deltas too."""

_KEPT_REVISIONS = 20
_OTHERWISE = ("version", "settings", "revisions", "past", "future")


def latest(counters: dict[str, Any], writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The reducer of the counters' channel: the last of each, as a write holds only those that changed."""
    for write in writes:
        plan = {**counters.get("plan", {}), **write.get("plan", {})}
        counters = {**counters, **write, "plan": plan}
    return counters


def newest(revisions: list[dict[str, Any]], writes: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The reducer of the ledger's channel: the last revisions, each number once."""
    found = {item["number"]: item for group in (revisions, *writes) for item in group}
    return [found[number] for number in sorted(found)][-_KEPT_REVISIONS:]


@dataclass(frozen=True, slots=True)
class Thread:
    """Where the plan of a thread stands.

    `folded`: the id of the last message that counts in `state`; `waiting`: calls whose results do not yet;
    `recited`: the id of the message that last carried the open todos; `blocked`: in this turn a call was
    answered in its tool's place, or a question to the person was not; `stored` and `counted`: the ledger and
    the counters as their channels have them.
    """

    state: State
    folded: str = ""
    waiting: tuple[str, ...] = ()
    recited: str = ""
    blocked: bool = False
    stored: Ledger | None = None
    counted: Mapping[str, Any] | None = None

    @property
    def todos(self) -> list[dict[str, Any]]:
        """The public channel's value."""
        return self.state.plan.to_json()


def load(values: Mapping[str, Any], settings: Settings) -> Thread:
    """The thread as the channels hold it; todos that somebody else put there are a person's revision.

    Raises `PlanError` for `todos` that are no plan at all.
    """
    counters, ledger = values.get(COUNTERS), values.get(LEDGER) or []
    plan = Plan.from_json(values.get("todos") or ())
    if not counters:
        return _first(plan, values.get("messages") or (), settings)
    kept = {**snapshot(State(settings)), "revisions": ledger}
    for name, value in counters["plan"].items():
        kept[name] = {**kept[name], **value} if isinstance(value, dict) else value
    state = restore(kept, settings.dialect)
    stored = _with_ways_back(state.ledger)
    state = replace(state, ledger=stored)
    if plan != state.plan:
        state = evolve(state, Edited(plan, _action(stored, plan)))
    return Thread(
        state,
        counters["folded"],
        tuple(counters["waiting"]),
        counters["recited"],
        bool(counters["blocked"]),
        stored,
        counters,
    )


def _with_ways_back(ledger: Ledger) -> Ledger:
    """The ledger with what undo and redo lead to, which its revisions tell."""
    known = ledger.revisions
    whole = bool(known) and known[0].number == 1
    current = Plan() if whole or not known else known[0].plan
    past: tuple[Plan, ...] = ()
    future: tuple[Plan, ...] = ()
    for revision in known if whole else known[1:]:
        match revision.action:
            case "undo":
                past, future = past[:-1], (*future, current)
            case "redo":
                past, future = (*past, current), future[:-1]
            case "write" | "edit" if revision.plan != current:
                past, future = (*past, current), ()
            case _:
                pass
        current = revision.plan
    return replace(ledger, past=past, future=future)


def _action(ledger: Ledger, plan: Plan) -> Action:
    """What a person did who put `plan` into the channel: going back by hand is an undo too."""
    if ledger.past and plan == ledger.past[-1]:
        return "undo"
    return "redo" if ledger.future and plan == ledger.future[-1] else "edit"


def _first(plan: Plan, messages: Sequence[AnyMessage], settings: Settings) -> Thread:
    """A thread without our channels. Its todos are a person's, or a model's of another middleware."""
    state = State(settings)
    if not plan.todos:
        return Thread(state)
    by_model = any(
        call["name"] in DIALECTS
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    )
    return Thread(evolve(state, Written(1, plan) if by_model else Edited(plan)))


def dump(thread: Thread) -> dict[str, Any]:
    """The update that stores `thread`: only what is not stored yet."""
    kept, known = snapshot(thread.state), thread.counted or {}
    counters = {name: _short(value) for name, value in kept.items() if name not in _OTHERWISE}
    place = {
        "folded": thread.folded,
        "waiting": list(thread.waiting),
        "recited": thread.recited,
        "blocked": thread.blocked,
    }
    new = {"plan": _news(counters, known.get("plan", {})), **_news(place, known)}
    update: dict[str, Any] = {COUNTERS: new}
    if thread.state.ledger is not thread.stored:
        known = thread.stored.revision if thread.stored else 0
        update |= {"todos": thread.todos, LEDGER: [one for one in kept["revisions"] if one["number"] > known]}
    return update


def _news(counters: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in counters.items() if name not in known or known[name] != value}


def _short(value: Any) -> Any:
    """Counters without those that are 0 or not so, as they are in a fresh state."""
    return {name: count for name, count in value.items() if count} if isinstance(value, dict) else value


def caught_up(thread: Thread, messages: Sequence[AnyMessage], read_only: Collection[str] = ()) -> Thread:
    """The thread with every message folded that came after the last folded one."""
    ids = [message.id for message in messages]
    start = ids.index(thread.folded) + 1 if thread.folded in ids else 0
    return folded(thread, messages[start:], messages, read_only)


def folded(
    thread: Thread,
    new: Iterable[AnyMessage],
    messages: Sequence[AnyMessage] = (),
    read_only: Collection[str] = (),
) -> Thread:
    """The thread after the `new` messages. `messages`: the conversation, where `new` answers its last reply.

    Answers to plan calls are folded before those of other calls of the same reply, whatever their order in
    it: what stands before the plan in the next request does not count as distance.
    """
    fold = PlanFold(thread.state.settings)
    fold.fold(Assistant(tuple(Call(call_id, "", None) for call_id in thread.waiting)))
    fold.state = thread.state
    waiting, recited, last, blocked = list(thread.waiting), thread.recited, thread.folded, thread.blocked
    behind = _behind_the_plan(messages, recited)
    for message in new:
        record = _record(message, read_only)
        last = message.id or last
        if record is None or _is_old(record, fold.state):
            continue
        distance = fold.state.distance
        fold.fold(record)
        if isinstance(record, (ToolResult, Note)) and fold.state.distance == Distance():
            recited = message.id or ""
        match record:
            case User():
                blocked = False
            case Assistant():
                waiting, behind = [call.id for call in record.calls], None
            case ToolResult(call_id=call_id):
                blocked = blocked or is_blocked(record)
                waiting = [other for other in waiting if other != call_id]
                if behind is not None and call_id not in behind:
                    fold.state = replace(fold.state, distance=distance)
            case _:
                pass
    return Thread(fold.state, last, tuple(waiting), recited, blocked, thread.stored, thread.counted)


def is_blocked(result: ToolResult) -> bool:
    """A denied call, or a question that nobody answered: the tool says so in the message's artifact."""
    return result.outcome == "denied" or bool((result.details or {}).get("unanswered"))


def _record(message: AnyMessage, read_only: Collection[str]) -> Message | None:
    if message.additional_kwargs.get("lc_source") == "summarization":
        return Note(str(message.text), "summary")  # what the person said is in it, but no turn begins with it
    return from_langchain(message, read_only)


def _behind_the_plan(messages: Sequence[AnyMessage], recited: str) -> frozenset[str] | None:
    """The calls of the last reply that come after the one whose answer recites; `None`: it is not of it."""
    for at in range(len(messages) - 1, -1, -1):
        reply = messages[at]
        if not isinstance(reply, AIMessage):
            continue
        said = [message for message in messages[at + 1 :] if isinstance(message, ToolMessage)]
        shown = next((message.tool_call_id for message in said if message.id == recited), None)
        ids = [call.id for call in calls_of(reply)]
        return frozenset(ids[ids.index(shown) + 1 :]) if shown in ids else None
    return None


def _is_old(record: Message, state: State) -> bool:
    """A write that is in the ledger already: its message was folded, and the one we looked for is gone."""
    match record:
        case ToolResult(details={"plan": {"revision": int(revision)}}):
            return revision <= state.ledger.revision
        case _:
            return False


def due(thread: Thread, state_messages: Sequence[AnyMessage], sent: Sequence[AnyMessage]) -> Reminder | None:
    """The reminder that goes along with the next request, or `None`.

    `sent`: the messages of that request. A plan whose last recitation is not among them (a summary took its
    place, say) is recited again.
    """
    state = thread.state
    told = state.seen >= state.ledger.revision
    if told and state.plan.open and _is_lost(thread, sent) and not state.settings.tutorial:
        return recited_again(state)
    after_round = bool(state_messages) and isinstance(state_messages[-1], ToolMessage)
    return due_after_round(state) if after_round else due_before_request(state)


def _is_lost(thread: Thread, sent: Sequence[AnyMessage]) -> bool:
    return all(message.id != thread.recited for message in sent)
