"""Where a turn stands, as the messages of the thread tell it: what is due, whether it turns in circles."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from onplan.events import EndReason
from onplan.integrations.graph_state import plan_state
from onplan.integrations.lcmessages import calls_of, from_langchain, mark_of
from onplan.messages import Assistant, Note, ToolResult
from onplan.plan.dialect import DIALECTS
from onplan.plan.reminder import Reminder, at_stop, due_after_round, due_before_request, position
from onplan.plan.render import render_open
from onplan.plan.settings import Settings
from onplan.plan.state import State

SAME_CALL_ENDS_THE_TURN = 5
BROKEN_REPLIES = 3
"""How often in a row a model may try again whose calls cannot be read at all."""
_STUMBLES = 3
_REMEMBERED = 250
"""Messages in which a call is looked for again."""


def due_after_calls(state: State) -> Note | None:
    """What goes behind the results of a round."""
    return None if state.ends_turn else _note(due_after_round(state))


def due_now(messages: Sequence[BaseMessage], state: State) -> Note | None:
    """What goes to the model before it is asked again; after a reply without calls, what continues the turn,
    or `None` to let it end."""
    if not messages or not isinstance(messages[-1], AIMessage):
        return _note(due_before_request(state))
    reply = from_langchain(messages[-1])
    if not isinstance(reply, Assistant) or reply.stop in ("refusal", "paused"):
        return None
    stumble = _stumble(reply)
    if stumble == "empty" and _said_all_with_last_write(messages, state):
        return None
    if stumble is not None:
        return _go_on(stumble) if _stumbles(messages) < _STUMBLES else None
    if state.turn.continued >= state.settings.max_continuations or _is_blocked(messages):
        return None
    return _note(at_stop(state))


def recited_again(state: State) -> Reminder:
    """The open todos, word for word, for a conversation that the messages with them were taken out of."""
    lines = [
        f"Earlier messages are no longer shown. The plan stands at revision {state.ledger.revision}. Open:",
        render_open(state.plan, state.settings.dialect),
        position(state),
    ]
    return Reminder("<reminder>" + "\n".join(lines) + "</reminder>", "distance", True)


def after_removal(state: State) -> Note | None:
    """What the model is told where messages that told of the plan were removed."""
    return _note(recited_again(state)) if state.plan.open and not state.settings.tutorial else None


def is_paused(message: BaseMessage) -> bool:
    """Whether the provider cut its own reply short and wants to be asked again."""
    reply = from_langchain(message)
    return isinstance(reply, Assistant) and reply.stop == "paused" and not reply.calls


def loops(messages: Sequence[BaseMessage], state: State) -> EndReason | None:
    """Why the turn should end now that a round is over: it goes round in circles."""
    if state.ends_turn:
        return state.ends_turn
    if _broken_in_a_row(messages) > BROKEN_REPLIES:
        return "call_loop"
    return "call_loop" if _repeats(messages) else None


def end_reason(messages: Sequence[BaseMessage], settings: Settings | None = None) -> EndReason:
    """Why the last turn of a thread ended; `interrupted` for one that did not come to its end."""
    state = plan_state(messages, settings)
    reply = from_langchain(messages[-1]) if messages else None
    if not isinstance(reply, Assistant) or reply.calls:
        return loops(messages, state) or "interrupted"
    if reply.stop == "refusal":
        return "refusal"
    stumble = _stumble(reply)
    if stumble is not None and not _said_all_with_last_write(messages, state):
        return stumble
    return "open_todos" if state.plan.open and not state.settings.tutorial else "done"


# --- a reply without calls --------------------------------------------------------------------------


def _stumble(reply: Assistant) -> EndReason | None:
    if reply.calls or reply.stop in ("refusal", "paused"):
        return None
    if reply.stop == "length":
        return "length"
    return None if reply.text.strip() else "empty"


def _stumbles(messages: Sequence[BaseMessage]) -> int:
    """How many replies in a row, up to now, were empty or cut."""
    count = 0
    for message in reversed(messages):
        said = from_langchain(message)
        if isinstance(said, Assistant) and _stumble(said):
            count += 1
        elif not (isinstance(said, Note) and said.kind in ("empty", "length")):
            return count
    return count


def _go_on(stumble: EndReason) -> Note:
    told = {
        "length": "was cut at its length limit. Go on from there.",
        "empty": "was empty. Go on, or say that you are done.",
    }
    return Note(f"<notice>Your reply {told[stumble]}</notice>", stumble, "message")


def _said_all_with_last_write(messages: Sequence[BaseMessage], state: State) -> bool:
    """The plan is done, and the words came along with the write that said so: silence is an end."""
    if state.plan.open or not state.plan.todos:
        return False
    before = next((one for one in reversed(messages[:-1]) if isinstance(one, AIMessage)), None)
    if before is None or not str(before.text).strip():
        return False
    return any(call.name in DIALECTS for call in calls_of(before))


def _is_blocked(messages: Sequence[BaseMessage]) -> bool:
    """Whether the last round held a denied call, or a question that nobody answered."""
    for message in reversed(messages[:-1]):
        if not isinstance(message, ToolMessage):
            return False
        result = from_langchain(message)
        unanswered = isinstance(result, ToolResult) and (result.details or {}).get("unanswered")
        if unanswered or mark_of(message).get("outcome") == "denied":
            return True
    return False


def _note(due: Reminder | None) -> Note | None:
    if due is None:
        return None
    details = {"plan": {"kind": due.kind, **({"recites": True} if due.recites else {})}}
    kind = "continue" if due.kind == "continue" else "reminder"
    return Note(due.text, kind, due.placement, details)


# --- circles ----------------------------------------------------------------------------------------


def _repeats(messages: Sequence[BaseMessage]) -> bool:
    """Whether the same call came to the same result five times in this turn, with no other call between
    them that changed something."""
    counts: dict[str, int] = {}
    only = ""
    for key, changed in _results(messages):
        if only and key != only:
            if changed:
                return False
            continue
        counts[key] = counts.get(key, 0) + 1
        if counts[key] >= SAME_CALL_ENDS_THE_TURN:
            return True
        if changed:
            only = key
    return False


def _results(messages: Sequence[BaseMessage]) -> Iterator[tuple[str, bool]]:
    """The results of this turn, the newest first: what tells them from others, and whether they changed
    anything."""
    waiting: list[ToolResult] = []
    for message in islice(_of_this_turn(messages), _REMEMBERED):
        said = from_langchain(message)
        if isinstance(said, ToolResult):
            waiting.append(said)
        elif isinstance(said, Assistant):
            calls = {call.id: f"{call.name} {_as_json(call.arguments)}" for call in said.calls}
            for result in waiting:
                yield f"{calls.get(result.call_id, '')} {result.content}", result.changed
            waiting.clear()


def _as_json(arguments: Any) -> str:
    return json.dumps(arguments, sort_keys=True, default=str)


def _of_this_turn(messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and "kind" not in mark_of(message):
            return
        yield message


def _broken_in_a_row(messages: Sequence[BaseMessage]) -> int:
    """How many replies in a row, up to now, hold only calls that cannot be read."""
    count = 0
    for message in reversed(messages):
        match message:
            case AIMessage() if message.invalid_tool_calls and not message.tool_calls:
                count += 1
            case AIMessage():
                return count
            case _:
                pass
    return count
