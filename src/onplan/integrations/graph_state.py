"""What a graph keeps: the state's channels, and the plan as a fold over the messages in it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NotRequired, cast, get_type_hints

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    BaseMessageChunk,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.channels import DeltaChannel, UntrackedValue
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from typing_extensions import TypedDict

from onplan.errors import ConfigError, PlanError
from onplan.events import PlanEdited
from onplan.integrations.lcmessages import calls_of, from_langchain, mark_of, with_mark
from onplan.messages import Call
from onplan.plan.changes import Written
from onplan.plan.settings import Settings
from onplan.plan.state import State, evolve
from onplan.plan.todo import Plan
from onplan.planning import PlanFold

EDITED = "edited"
"""The key in a message's mark that holds revisions of the plan that were noticed behind the message: a
person's, and one whose own messages were removed."""
FOLD = "onplan_fold"
APPROVALS = "onplan_approvals"
REVISION = "onplan_revision"
"""The channel of the number of the plan's newest revision. Messages that know of none so new were removed
from the thread; that is not the same as todos that a person changed."""
OURS = (FOLD, APPROVALS, REVISION)
"""The channels that the nodes keep for themselves."""
UNASKED = "unasked"
"""The key in a reply's mark that says that nobody was asked about its calls."""
SNAPSHOT_EVERY = 10_000
"""Updates of the messages after which a checkpoint holds all of them again; LangGraph does so anyway after
5,000 steps. Between two of them a checkpoint holds what is new, so storage grows with the messages."""

TODOS_EVERY = 50
"""Writes of the todos after which a checkpoint holds them again, so that few are read to find the last."""


class Todo(TypedDict):
    """One step, as plain JSON."""

    content: str
    status: Literal["pending", "in_progress", "completed"]
    id: NotRequired[str]
    active_form: NotRequired[str]


def merged(messages: list[AnyMessage], writes: Sequence[Any]) -> list[AnyMessage]:
    """The messages after some writes, each a message or a list of them: `add_messages`, for many at once.

    A message whose id is there replaces it in its place, a `RemoveMessage` takes it out, all others go to
    the end. The same however the writes are grouped, as a delta channel needs it.
    """
    result: dict[Any, AnyMessage] = {message.id: message for message in messages}
    for message in _messages_in(writes):
        match message:
            case RemoveMessage(id=removed) if removed == REMOVE_ALL_MESSAGES:
                result.clear()
            case RemoveMessage(id=removed):
                result.pop(removed, None)
            case _:
                result[_identified(message, result)] = cast("AnyMessage", message)
    return list(result.values())


def replaced(todos: list[Any], writes: Sequence[Any]) -> list[Any]:
    """The todos after some writes: the last one, whole. Nothing is merged, and `None` never clears."""
    return next((write for write in reversed(writes) if write is not None), todos)


class PlanState(TypedDict):
    """The first seed's state: messages that are added to, and todos that each write replaces whole.

    Messages merge as with `add_messages`. Both channels are kept in deltas: a checkpoint holds what is new,
    and a plan that did not change in a step takes no room in it.
    """

    messages: Annotated[list[AnyMessage], DeltaChannel(merged, snapshot_frequency=SNAPSHOT_EVERY)]
    todos: Annotated[list[Todo], DeltaChannel(replaced, snapshot_frequency=TODOS_EVERY)]


def channels_of(schema: type[Any]) -> dict[str, Any]:
    """The channels that a state declares, each with its annotation."""
    return get_type_hints(schema, include_extras=True)


def require_channels(schema: type[Any]) -> None:
    """Raise `ConfigError` if a graph with this state would drop what its nodes write.

    Source: the first seed, section 6: an update to a channel that the state does not declare goes nowhere,
    without an exception or a warning.
    """
    hints = channels_of(schema)
    for name, declared in (("messages", "Annotated[list, add_messages]"), ("todos", "list[Todo]")):
        if name not in hints:
            raise ConfigError(
                f"the state {schema.__name__} has no channel {name!r}, so every write to it would be lost: "
                f"add `{name}: {declared}` to it, or derive it from PlanState"
            )


def messages_of(schema: type[Any]) -> type[Any]:
    """What the node `chat` reads: the state's messages alone."""
    Messages: Any = TypedDict("Messages", {})  # its one field is that of the schema
    Messages.__annotations__ = {"messages": channels_of(schema)["messages"]}
    return Messages


def working_schema(schema: type[Any]) -> type[Any]:
    """What the nodes read and write: the state, what was folded in this run, a person's answers, a number.

    The fold is not part of any checkpoint: it is made anew from the messages, which are.
    """
    Working: Any = TypedDict("Working", {}, total=False)  # its fields are those of the schema, and two more
    Working.__annotations__ = {
        **channels_of(schema),
        FOLD: Annotated[Any, UntrackedValue],
        APPROVALS: dict[str, Any],
        REVISION: int,
    }
    return Working


# --- the fold ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Folded:
    """The plan after the first `count` messages, the last of which has the id `last`."""

    count: int
    last: str
    fold: PlanFold

    @property
    def state(self) -> State:
        return self.fold.state

    def over(self, messages: Sequence[BaseMessage]) -> Folded:
        """After more messages. The value itself stays as it is."""
        if not messages:
            return self
        fold = _copied(self.fold)
        for message in messages:
            _take(fold, message)
        return Folded(self.count + len(messages), str(messages[-1].id or ""), fold)

    def edited(self, todos: Iterable[Mapping[str, Any]]) -> tuple[Folded, dict[str, Any]]:
        """After a person's edit, and what the last message has to keep of it. Raises `PlanError`."""
        plan = _plan_of(lambda: Plan.of((dict(todo) for todo in todos), self.state.settings.rules))
        return self._with({"revision": self.state.ledger.revision + 1, "todos": plan.to_json()})

    def restored(self, todos: Any, revision: int) -> tuple[Folded, dict[str, Any]]:
        """With the plan whose messages were removed, and what the last message has to keep of it. Raises
        `PlanError`."""
        plan = _plan_of(lambda: Plan.from_json(todos or ()))
        return self._with({"revision": revision, "todos": plan.to_json(), "author": "model"})

    def _with(self, kept: dict[str, Any]) -> tuple[Folded, dict[str, Any]]:
        fold = _copied(self.fold)
        _take_kept(fold, kept)
        return replace(self, fold=fold), kept


def _plan_of(made: Callable[[], Plan]) -> Plan:
    try:
        return made()
    except (PlanError, ValueError, TypeError, AttributeError) as error:
        raise PlanError(
            f"the todos that were put into the graph's state are no plan: {error}; "
            "put in a list of {'content': …, 'status': 'pending' | 'in_progress' | 'completed'}"
        ) from None


def fold_messages(messages: Sequence[BaseMessage], settings: Settings, known: Folded | None = None) -> Folded:
    """The plan's state after these messages, from where it is known on."""
    if known is not None and 0 < known.count <= len(messages) and _is_at(known, messages):
        return known.over(messages[known.count :])
    return Folded(0, "", PlanFold(settings)).over(messages)


def plan_state(messages: Sequence[BaseMessage], settings: Settings | None = None) -> State:
    """The plan's whole state, ledger and counters too, as the messages of a thread tell it."""
    return fold_messages(messages, settings or Settings()).state


def was_edited(todos: object, state: State) -> bool:
    """Whether somebody put other todos into the graph's state than the plan has."""
    return todos is not None and todos != state.plan.to_json()


def is_behind(messages: Sequence[BaseMessage], state: State, revision: int | None) -> bool:
    """Whether messages that told of the plan's newest revision are no longer there."""
    return bool(messages) and (revision or 0) > state.ledger.revision


def _copied(fold: PlanFold) -> PlanFold:
    """A fold that goes its own way: what it stands on is frozen, but for the calls that it waits for."""
    twin = copy.copy(fold)
    twin._outstanding = set(fold._outstanding)
    return twin


def _is_at(known: Folded, messages: Sequence[BaseMessage]) -> bool:
    return str(messages[known.count - 1].id or "") == known.last


def _take(fold: PlanFold, message: BaseMessage) -> None:
    said = from_langchain(message)
    if said is not None:
        fold.fold(said)
    for kept in cast("Iterable[Mapping[str, Any]]", mark_of(message).get(EDITED, ())):
        _take_kept(fold, kept)


def _take_kept(fold: PlanFold, kept: Mapping[str, Any]) -> None:
    if kept.get("author") == "model":
        fold.state = evolve(fold.state, Written(kept["revision"], Plan.from_json(kept["todos"])))
    else:
        fold.fold(PlanEdited(kept["revision"], tuple(kept["todos"]), "edit"))


# --- the batch --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """The last reply with calls, if any of them has no result yet. `place`: the reply's in the messages."""

    calls: tuple[Call, ...] = ()
    answered: frozenset[str] = frozenset()
    place: int = 0

    @property
    def open(self) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if call.id not in self.answered)

    def is_followed(self, messages: Sequence[BaseMessage]) -> bool:
        """Whether the conversation went on although calls are open: a crash, or a question left alone."""
        return any(not isinstance(message, ToolMessage) for message in messages[self.place + 1 :])


def last_batch(messages: Sequence[BaseMessage]) -> Batch:
    """The last reply that calls tools, and which of its calls have a result."""
    answered: set[str] = set()
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        match message:
            case ToolMessage():
                answered.add(message.tool_call_id)
            case AIMessage():
                return Batch(calls_of(message), frozenset(answered), place)
            case _:
                pass
    return Batch()


# --- messages ---------------------------------------------------------------------------------------


def _messages_in(writes: Sequence[Any]) -> Iterable[BaseMessage]:
    flat = [item for write in writes for item in (write if isinstance(write, list) else [write])]
    for message in convert_to_messages(flat):
        yield message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message


def _identified(message: BaseMessage, before: dict[Any, AnyMessage]) -> str:
    """The message's id; one made of its text and its place, the same on every replay, where it has none."""
    if not message.id:
        from uuid import NAMESPACE_OID, uuid5  # graphs give ids to all but plain text

        last = next(reversed(before), "")
        message.id = str(uuid5(NAMESPACE_OID, f"{last} {message.type} {message.content}"))
    return message.id


def with_kept(message: BaseMessage, kept: Mapping[str, Any]) -> BaseMessage:
    """The message with such a revision in its mark."""
    return with_mark(message, **{EDITED: [*mark_of(message).get(EDITED, ()), dict(kept)]})
