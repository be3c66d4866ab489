"""Hooks: ordered lists of plain functions that look at a run and return decisions; they keep no state.

Each may be sync or async and may return `None` for no opinion. One that raises becomes a warning and
counts as `None`: a hook never ends a run by accident.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from onplan.events import EndReason, Event, Warned
from onplan.messages import Assistant, Call, Message, Note, ToolResult, Usage
from onplan.toolset import Tool


@dataclass(frozen=True, slots=True)
class Turn:
    """What the loop counts in one turn; hooks read it.

    `continuations`: how often the turn was continued after a reply without calls, tool calls do not reset
    it. `stumbles`: empty or cut replies in a row. `repeats`: how often a call came with the same result.
    `blocked`: the last round held a denied call or a question that nobody answered. `nobody`: calls of
    the turn denied because there was no one to ask.
    """

    rounds: int = 0
    requests: int = 0
    usage: Usage = Usage()
    continuations: int = 0
    stumbles: int = 0
    repeats: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    blocked: bool = False
    nobody: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """The run as a hook sees it. `messages` is a view: read it, never change or keep it."""

    messages: Sequence[Message]
    turn: Turn


# --- decisions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """Of `user_prompt`: the message is not sent; the person reads `reason`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Allow:
    """Of `before_tool`: run it. `by` names who or what decided, for the audit."""

    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Deny:
    """Of `before_tool`: do not run it; the model reads `reason`. `nobody`: for want of a person."""

    reason: str
    by: str = "hook"
    nobody: bool = False


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Of `before_tool`: run it with these arguments. They are checked like the model's own."""

    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Skip:
    """Of `before_tool`: answer with this error instead, which is no denial: the call may come again."""

    content: str
    details: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Replace:
    """Of `after_tool`: the model reads this instead of the result's content."""

    content: str


@dataclass(frozen=True, slots=True)
class EndTurn:
    """Of `after_round`: end the turn now. Of `stop`: if nothing continues the turn, this is why it ended."""

    reason: EndReason


@dataclass(frozen=True, slots=True)
class Continue:
    """Of `stop`: do not end, send this and go on. Honoured while the turn has continuations left."""

    note: Note


@dataclass(frozen=True, slots=True)
class Veto:
    """Of `plan_change`: the plan stays as it is; the writer reads `reason`."""

    reason: str


@dataclass(frozen=True, slots=True)
class PlanChange:
    """What `plan_change` judges: JSON todos before and after, their diff, and who writes."""

    before: list[dict[str, str]]
    after: list[dict[str, str]]
    diff: dict[str, Any]
    author: str


SessionHook: TypeAlias = Callable[[View], Any]
PromptHook: TypeAlias = Callable[[str, View], Any]
ModelHook: TypeAlias = Callable[[View], Any]
BeforeToolHook: TypeAlias = Callable[[Call, Tool, View], Any]
AfterToolHook: TypeAlias = Callable[[Call, ToolResult, View], Any]
RoundHook: TypeAlias = Callable[[View], Any]
PlanHook: TypeAlias = Callable[[PlanChange], Any]
StopHook: TypeAlias = Callable[[Assistant, View], Any]


@dataclass(frozen=True, slots=True)
class Hooks:
    """One ordered list for each event. What each may return, `None` apart:

    session_start   Note: sent along with the first user message
    user_prompt     Note: sent behind the message; Block
    before_model    Note: sent at the end of the request
    before_tool     Allow, Deny, Rewrite, Skip; the first Allow, Deny or Skip decides
    after_tool      Note: sent behind the results of the round; Replace
    after_round     Note: sent behind the results; EndTurn
    plan_change     Veto
    stop            Continue, EndTurn
    session_end     nothing
    """

    session_start: tuple[SessionHook, ...] = ()
    user_prompt: tuple[PromptHook, ...] = ()
    before_model: tuple[ModelHook, ...] = ()
    before_tool: tuple[BeforeToolHook, ...] = ()
    after_tool: tuple[AfterToolHook, ...] = ()
    after_round: tuple[RoundHook, ...] = ()
    plan_change: tuple[PlanHook, ...] = ()
    stop: tuple[StopHook, ...] = ()
    session_end: tuple[SessionHook, ...] = ()

    def __add__(self, other: Hooks) -> Hooks:
        """Both, these first."""
        return replace(
            self,
            **{item.name: getattr(self, item.name) + getattr(other, item.name) for item in fields(self)},
        )


async def consult(
    hooks: Sequence[Callable[..., Any]], *args: Any, warn: Callable[[Event], None]
) -> list[Any]:
    """What each hook answers, in order, `None` left out. Cancellation passes through."""
    answers: list[Any] = []
    for hook in hooks:
        answer = await consult_one(hook, *args, warn=warn)
        if answer is not None:
            answers.append(answer)
    return answers


async def consult_one(hook: Callable[..., Any], *args: Any, warn: Callable[[Event], None]) -> Any:
    """What one hook answers; `None`, and a warning, if it fails."""
    try:
        answer = hook(*args)
        return await answer if inspect.isawaitable(answer) else answer
    except Exception as error:  # noqa: BLE001 - a failing hook warns and lets pass (I7)
        name = getattr(hook, "__qualname__", type(hook).__name__)
        warn(Warned(f"hook {name} failed and was skipped: {type(error).__name__}: {error}"))
        return None
