"""What a graph keeps: the state's channels, and the plan as a fold over the messages in it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
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
from onplan.plan.settings import Settings
from onplan.plan.state import State
from onplan.plan.todo import Plan
from onplan.planning import PlanFold

EDITED = "edited"
"""The key in a message's mark that holds a person's revisions of the plan, noticed behind the message."""
FOLD = "onplan_fold"
APPROVALS = "onplan_approvals"
UNASKED = "unasked"
"""The key in a reply's mark that says that nobody was asked about its calls."""
SNAPSHOT_EVERY = 10_000
"""Updates of the messages after which a checkpoint holds all of them again; LangGraph does so anyway after
5,000 steps. Between two of them a checkpoint holds what is new, so storage grows with the messages."""


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


class PlanState(TypedDict):
    """The first seed's state: messages that are added to, and todos that each write replaces whole.

    Messages merge as with `add_messages`; a checkpoint holds only the new ones.
    """

    messages: Annotated[list[AnyMessage], DeltaChannel(merged, snapshot_frequency=SNAPSHOT_EVERY)]
    todos: list[Todo]


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


def working_schema(schema: type[Any]) -> type[Any]:
    """What the nodes read and write: the state, what was folded in this run, and the answers of a person.

    The fold is not part of any checkpoint: it is made anew from the messages, which are.
    """
    Working: Any = TypedDict("Working", {}, total=False)  # its fields are those of the schema, and two more
    Working.__annotations__ = {
        **channels_of(schema),
        FOLD: Annotated[Any, UntrackedValue],
        APPROVALS: dict[str, Any],
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
        try:
            plan = Plan.of((dict(todo) for todo in todos), self.state.settings.rules)
        except (PlanError, ValueError, TypeError, AttributeError) as error:
            raise PlanError(
                f"the todos that were put into the graph's state are no plan: {error}; "
                "put in a list of {'content': …, 'status': 'pending' | 'in_progress' | 'completed'}"
            ) from None
        kept = {"revision": self.state.ledger.revision + 1, "todos": plan.to_json()}
        fold = _copied(self.fold)
        _take_edit(fold, kept)
        return replace(self, fold=fold), kept


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
        _take_edit(fold, kept)


def _take_edit(fold: PlanFold, kept: Mapping[str, Any]) -> None:
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


def with_edit(message: BaseMessage, kept: Mapping[str, Any]) -> BaseMessage:
    """The message with a person's revision in its mark."""
    return with_mark(message, **{EDITED: [*mark_of(message).get(EDITED, ()), dict(kept)]})
