"""Hooks: ordered lists of plain functions that look at a run and return decisions; they keep no state.

Each may be sync or async and may return `None` for no opinion, or several decisions as a tuple. A `Warned`
among them is shown to the person. One that raises, or answers what its event does not know, becomes a
warning and counts as `None`: a hook never ends a run by accident.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

import msgspec

from onplan.cancellation import is_cancelled
from onplan.events import EndReason, Event, Warned
from onplan.messages import Assistant, Call, Message, Note, ToolResult, Usage
from onplan.toolset import Tool


class Turn(msgspec.Struct, frozen=True):
    """What the loop counts in one turn; hooks read it.

    `continuations`: how often the turn was continued after a reply without calls, tool calls do not reset
    it. `stumbles`: empty or cut replies in a row. `repeats`: how often a call came with the same result.
    `blocked`: the last round held a denied call or a question that nobody answered. `nobody`: calls of
    the turn denied because there was no one to ask. `too_long`: the model has just refused the conversation
    for its length, and is asked again if a `before_model` hook makes it shorter.
    """

    rounds: int = 0
    requests: int = 0
    usage: Usage = Usage()
    continuations: int = 0
    stumbles: int = 0
    repeats: Mapping[int, int] = msgspec.field(default_factory=lambda: MappingProxyType({}))
    blocked: bool = False
    nobody: int = 0
    too_long: bool = False


class View(msgspec.Struct, frozen=True):
    """The run as a hook sees it. `messages` is a view: read it, never change or keep it.

    `decided`: of `before_tool`, what the hooks before this one said of the call, in order.
    """

    messages: Sequence[Message]
    turn: Turn
    decided: tuple[Allow | Ask | Deny, ...] = ()


# --- decisions --------------------------------------------------------------------------------------


class Block(msgspec.Struct, frozen=True):
    """Of `user_prompt`: the message is not sent; the person reads `reason`."""

    reason: str


class Allow(msgspec.Struct, frozen=True):
    """Of `before_tool`: run it, unless a later hook objects. `by` names who or what decided, `rule` the rule
    that did, for the audit."""

    by: str
    reason: str = ""
    rule: str = ""


class Ask(msgspec.Struct, frozen=True):
    """Of `before_tool`: a person is to say. Where no later hook asks one, the call is denied."""

    reason: str
    by: str = "hook"


class Deny(msgspec.Struct, frozen=True):
    """Of `before_tool`: do not run it; the model reads `reason`. `nobody`: for want of a person. `rule`: as
    of `Allow`."""

    reason: str
    by: str = "hook"
    nobody: bool = False
    rule: str = ""


class Rewrite(msgspec.Struct, frozen=True):
    """Of `before_tool`: run it with these arguments. They are checked like the model's own."""

    arguments: dict[str, Any]


class Skip(msgspec.Struct, frozen=True):
    """Of `before_tool`: answer with this error instead, which is no denial: the call may come again."""

    content: str
    details: dict[str, Any] | None = None


class Replace(msgspec.Struct, frozen=True):
    """Of `after_tool`: the model reads this instead of the result's content and media."""

    content: str


class EndTurn(msgspec.Struct, frozen=True):
    """Of `after_round`: end the turn now. Of `stop`: if nothing continues the turn, this is why it ended."""

    reason: EndReason


class Continue(msgspec.Struct, frozen=True):
    """Of `stop`: do not end, send this and go on. Honoured while the turn has continuations left;
    `otherwise` is why the turn ends when it has none."""

    note: Note
    otherwise: EndReason = "done"


class Veto(msgspec.Struct, frozen=True):
    """Of `plan_change`: the plan stays as it is; the writer reads `reason`. Of `before_compaction`: the
    conversation stays as it is; the person reads `reason`."""

    reason: str


class PlanChange(msgspec.Struct, frozen=True):
    """What `plan_change` judges: JSON todos before and after, their diff, and who writes."""

    before: list[dict[str, str]]
    after: list[dict[str, str]]
    diff: dict[str, Any]
    author: str


class CompactionPlan(msgspec.Struct, frozen=True):
    """What `before_compaction` judges. `trigger`: `manual` where the person asked for it, `focus` is what
    they want kept in mind. `tokens`: of the conversation as it is."""

    trigger: Literal["auto", "manual"]
    focus: str = ""
    tokens: int = 0


SessionHook: TypeAlias = Callable[[View], Any]
PromptHook: TypeAlias = Callable[[str, View], Any]
ModelHook: TypeAlias = Callable[[View], Any]
BeforeToolHook: TypeAlias = Callable[[Call, Tool, View], Any]
AfterToolHook: TypeAlias = Callable[[Call, ToolResult, View], Any]
RoundHook: TypeAlias = Callable[[View], Any]
PlanHook: TypeAlias = Callable[[PlanChange], Any]
CompactionHook: TypeAlias = Callable[[CompactionPlan], Any]
StopHook: TypeAlias = Callable[[Assistant, View], Any]


class Hooks(msgspec.Struct, frozen=True):
    """One ordered list for each event. What each may return, `None` apart:

    session_start   Note: sent along with the first user message
    user_prompt     Note: sent behind the message; Block
    before_model    Note: sent at the end of the request; Compacted: the request is made of that
    before_tool     Allow, Ask, Deny, Rewrite; Note: sent behind the results; Skip, which decides at once
    after_tool      Note: sent behind the results of the round; Replace
    after_round     Note: sent behind the results; EndTurn
    plan_change     Veto
    stop            Continue, EndTurn
    session_end     nothing
    before_compaction   Veto
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
    before_compaction: tuple[CompactionHook, ...] = ()

    def __add__(self, other: Hooks) -> Hooks:
        """Both, these first."""
        return Hooks(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


async def consult(
    hooks: Sequence[Callable[..., Any]],
    *args: Any,
    warn: Callable[[Event], None],
    known: tuple[type, ...] | None = None,
) -> list[Any]:
    """What each hook answers, in order, `None` left out. `known`: the decisions that the event takes.

    Cancellation passes through.
    """
    answers: list[Any] = []
    for hook in hooks:
        answers += await consult_one(hook, *args, warn=warn, known=known)
    return answers


async def consult_one(
    hook: Callable[..., Any],
    *args: Any,
    warn: Callable[[Event], None],
    known: tuple[type, ...] | None = None,
) -> tuple[Any, ...]:
    """What one hook answers; nothing, and a warning, if it fails or answers what is not `known`."""
    try:
        answer = hook(*args)
        if answer is None:
            return ()
        answer = await answer if inspect.isawaitable(answer) else answer
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        warn(Warned(f"hook {_name(hook)} gave up by itself and was skipped"))
        return ()
    except Exception as error:  # noqa: BLE001 - a failing hook warns and lets pass (I7)
        warn(Warned(f"hook {_name(hook)} failed and was skipped: {type(error).__name__}: {error}"))
        return ()
    answers = cast("tuple[Any, ...]", answer) if isinstance(answer, tuple) else (answer,)
    return tuple(one for one in answers if _counts(one, hook, warn, known))


def _counts(
    answer: Any, hook: Callable[..., Any], warn: Callable[[Event], None], known: tuple[type, ...] | None
) -> bool:
    """Whether an answer is a decision that the event takes; what the person is to read is told here."""
    if isinstance(answer, Warned):
        warn(answer)
        return False
    if answer is None:
        return False
    if known is None or isinstance(answer, known):
        return True
    may = ", ".join(kind.__name__ for kind in known) or "nothing"
    warn(
        Warned(
            f"hook {_name(hook)} answered {type(answer).__name__} and was skipped: "
            f"it may answer {may}, or None"
        )
    )
    return False


def _name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__qualname__", type(hook).__name__)


def settled(decided: Sequence[Allow | Ask | Deny]) -> Allow | Deny | None:
    """What the decisions on one call come to: a denial counts wherever it stands, the last one if there are
    several; else the last word, where a question that nobody took up is a denial for want of a person."""
    denials = [decision for decision in decided if isinstance(decision, Deny)]
    if denials:
        return denials[-1]
    match decided[-1] if decided else None:
        case Ask(reason=reason, by=by):
            return Deny(
                f"a person would have to say yes ({reason or by}), and nothing here asks one", by, True
            )
        case Deny() | Allow() | None as word:
            return word
