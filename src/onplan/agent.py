"""Agent: a session, a plan and the loop behind `run` and `stream`; history lives in the log."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

import msgspec

from onplan.cancellation import finished, is_cancelled, unbroken
from onplan.compaction import Compaction, CompactionPolicy, Objection
from onplan.errors import OnplanError, StoreError
from onplan.events import (
    RECORD_VERSION,
    Compacted,
    EndReason,
    Event,
    PrefixChanged,
    Record,
    SessionStarted,
    TurnEnded,
    Warned,
)
from onplan.hooks import Block, CompactionPlan, Hooks, PlanChange, Turn, Veto, View, consult
from onplan.inbox import Inbox
from onplan.loop import Limits, Parts, run
from onplan.messages import Assistant, Message, Note, Usage, User
from onplan.plan.settings import Settings
from onplan.plan.state import State
from onplan.plan.todo import Plan, Todo
from onplan.planning import Planning, prompt_text
from onplan.protocols import Approval, Approver, Holder, Model, Question, SessionStore
from onplan.session import Session, new_id
from onplan.stores.holder import this_process
from onplan.stores.memory import MemoryStore
from onplan.toolset import Provider, Tool, Toolset

T = TypeVar("T")

Closer: TypeAlias = Callable[[], Awaitable[object]]
"""What a tool needs done when the agent closes. A `Warned` that it answers is told to the listeners."""


class Result(msgspec.Struct, frozen=True):
    """What a turn came to. `text` is the last reply's; `error` is for people, one line, or empty."""

    text: str
    reason: EndReason
    plan: Plan
    revision: int
    usage: Usage
    rounds: int
    requests: int
    session: str
    nobody: int = 0
    error: str = ""

    @property
    def exit_code(self) -> int:
        """0 done, 1 error, 3 a call was denied for want of a person, 4 open todos, 5 a cap, 130 interrupted:
        the first of 130, 1, 5, 3, 4, 0 that applies."""
        match self.reason:
            case "interrupted":
                return 130
            case "model_error" | "store_error" | "refusal" | "empty" | "blocked":
                return 1
            case "rounds" | "tokens" | "cost" | "length" | "plan_loop" | "call_loop":
                return 5
            case "done" | "open_todos":
                if self.nobody:
                    return 3
                return 4 if self.reason == "open_todos" else 0


class Agent:
    """One conversation. `await Agent.start(...)`, then `run` or `stream` a turn at a time, then `close`.

    Also an async context manager. Listeners get every record once it is in the log, and live events.
    """

    def __init__(
        self,
        session: Session,
        planning: Planning,
        compaction: Compaction,
        parts: Parts,
        relay: _Relay,
        own_hooks: Hooks,
        offered: Callable[[Planning], Toolset],
        closers: Sequence[Closer],
    ) -> None:
        self._session = session
        self._planning = planning
        self._compaction = compaction
        self._own_hooks = own_hooks
        self._offered = offered
        self._closers = closers
        self._relay = relay
        self._inbox = Inbox(session, revise=planning.requested, warn=relay.emit)
        self._parts = msgspec.structs.replace(parts, hooks=self._hooks())
        self._steering: list[str] = []
        self._turn: asyncio.Task[TurnEnded] | None = None
        self._shortening: asyncio.Task[Compacted | None] | None = None
        self._told: dict[str, Plan | str] = {}
        self._closed = False

    @classmethod
    async def start(
        cls,
        *,
        model: Model,
        store: SessionStore | None = None,
        holder: Holder | None = None,
        tools: Iterable[Tool] = (),
        inject: Mapping[str, Provider] | None = None,
        instructions: str = "",
        planning: Settings | None = None,
        compaction: CompactionPolicy | None = None,
        hooks: Hooks | None = None,
        limits: Limits | None = None,
        resume: str = "",
        cwd: Path | str = "",
        listeners: Iterable[Callable[[Event], None]] = (),
        closers: Sequence[Closer] = (),
    ) -> Agent:
        """A new session, or the one that `resume` names (its id).

        A resumed session keeps its own system text, tool schemas and plan settings (I2).
        Without a `store` the log is kept in memory. `compaction`: when the conversation is made shorter by
        itself; without one only `compact` does it. Raises `StoreError` and its kind, `ToolDefinitionError`,
        `PlanError`.
        """
        store, holder = store or MemoryStore(), holder or this_process()
        relay = _Relay(list(listeners))
        own_hooks = hooks or Hooks()
        planner = Planning(planning, judge=_judge(own_hooks, relay.emit), changed=relay.emit)
        shortener = Compaction(
            compaction or CompactionPolicy(automatic=False),
            model=lambda: agent.model,
            limit=_context_limit,
            block=planner.block,
            objection=_objection(own_hooks, relay.emit),
        )
        folds = (planner.fold, shortener.fold, relay.fold)
        own_tools = tuple(tools)

        def offered(by: Planning = planner) -> Toolset:
            """The plan's tools, as the session has them, and the others."""
            providers = {"state": state, **(inject or {})}
            return Toolset((*by.tools(), *own_tools), providers, by.canonical)

        def state(_: object) -> dict[str, Any]:
            return _copied(session.messages, planner.plan)

        if resume:
            session = await Session.resume(store, holder, resume, folds=folds)
            relay.live = True
            try:
                toolset = offered()
                if session.model != model.name:
                    await session.append(PrefixChanged("another model", model=model.name))
            except BaseException:
                await session.release()
                raise
        else:
            toolset = offered()
            text = "\n\n".join(
                part for part in (instructions, _planning_text(planner.state.settings)) if part
            )
            started = SessionStarted(
                new_id(),
                RECORD_VERSION,
                str(cwd),
                model.name,
                text,
                toolset.schemas(),
                planner.state.settings.to_json(),
            )
            session = await Session.create(store, holder, started, folds=folds)
        relay.live = True
        planner.go_live()
        parts = Parts(model, toolset, session, relay.emit, limits=limits or Limits())
        agent = cls(session, planner, shortener, parts, relay, own_hooks, offered, closers)
        return agent

    # --- turns ---

    async def run(self, text: str) -> Result:
        """One turn. Never raises for a failing model, tool, hook or store: the result's `reason` says so.

        `interrupt()`, or a `KeyboardInterrupt` inside of the turn, makes it return with reason
        `interrupted`. Cancelling the task that waits here interrupts the turn too and is passed on: the
        log is whole when `CancelledError` comes out. Raises `OnplanError` while another turn is running.
        """
        self._refuse_while_busy()
        current = asyncio.current_task()
        before = current.cancelling() if current else 0
        self._relay.ended = None
        self._turn = asyncio.create_task(run(self._parts, User(text)))
        try:
            ended = await self._turn
        except asyncio.CancelledError:
            ended = self._relay.ended or TurnEnded("interrupted")
        finally:
            self._turn = None
        await finished(self._describe(ended=ended.reason))
        if current is not None and current.cancelling() > before:
            raise asyncio.CancelledError
        return self._result(ended)

    async def stream(self, text: str) -> AsyncIterator[Event]:
        """One turn as events, in order; the last is its `TurnEnded`. Leaving early interrupts the turn."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._relay.listeners.append(queue.put_nowait)
        turn = asyncio.create_task(self.run(text))
        turn.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await turn
        finally:
            self._relay.listeners.remove(queue.put_nowait)
            if not turn.done():
                turn.cancel()
                await unbroken(_settled(turn))

    def steer(self, text: str) -> None:
        """Words of the person for the turn that runs: they go along with its next request."""
        self._steering.append(text)

    def unsent(self) -> tuple[str, ...]:
        """What `steer` was given and no request took along; taken back by this."""
        left, self._steering = tuple(self._steering), []
        return left

    def interrupt(self) -> bool:
        """End the running turn, whose outstanding calls all get their result, or a `compact`. `False` if
        neither is running."""
        running = self._turn or self._shortening
        return running is not None and running.cancel()

    def _refuse_while_busy(self) -> None:
        if self._turn is not None:
            raise OnplanError("a turn is running already: wait for it, or interrupt it")
        if self._shortening is not None:
            raise OnplanError("the conversation is being shortened: wait for it, or interrupt it")

    # --- compaction ---

    async def compact(self, focus: str = "") -> Compacted | None:
        """Make the conversation shorter now; `focus`: what the summary should keep in mind above all.

        `None` if there is nothing to gain, or if it was interrupted. Where the model gives no summary, old
        results are shortened all the same and the record's `error` says why. Raises `OnplanError` while a
        turn is running, and with the reason of a hook that refuses it; `StoreError`.
        """
        self._refuse_while_busy()
        self._shortening = asyncio.create_task(self._shorten(focus))
        try:
            return await self._shortening
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return None
        finally:
            self._shortening = None

    async def _shorten(self, focus: str) -> Compacted | None:
        await self._session.settle()
        record = await self._compaction.asked(self._session.messages, focus)
        if record is not None:
            await self._session.append(record)
        return record

    @property
    def context_tokens(self) -> int:
        """The length of the next request: as the provider counted the last one, and estimates of the rest."""
        return self._compaction.tokens

    @property
    def context_limit(self) -> int:
        """Tokens that the model takes, as far as it is known."""
        return self._compaction.limit

    # --- the plan, for people ---

    @property
    def plan(self) -> Plan:
        return self._planning.plan

    @property
    def plan_state(self) -> State:
        """The plan with its ledger, counters and figures; an immutable value."""
        return self._planning.state

    async def edit_plan(self, todos: Iterable[Todo | str | dict[str, Any]], *, base: int = 0) -> Plan:
        """Replace the plan as the person; the model is told once. Raises `PlanError`, `StoreError`.

        `base`: the revision that the person edited. What the model wrote since is kept beside their edit.
        """
        return await self._revise(self._planning.edited(todos, base=base))

    async def undo_plan(self) -> Plan:
        """Raises `PlanError` when there is nothing to undo."""
        return await self._revise(self._planning.undone())

    async def redo_plan(self) -> Plan:
        """Raises `PlanError` when nothing was undone."""
        return await self._revise(self._planning.redone())

    async def _revise(self, revision: Coroutine[Any, Any, Record | None]) -> Plan:
        record = await revision
        if record is not None:
            await self._session.append(record)
            await self._describe()
        return self.plan

    # --- another model, another dialect ---

    async def change(
        self, reason: str, *, model: Model | None = None, planning: Settings | None = None
    ) -> None:
        """From the next request on another model, or other plan settings: the announced exception to I2.

        Raises `OnplanError` while a turn runs, `StoreError`.
        """
        self._refuse_while_busy()
        if planning is not None:
            before = _planning_text(self.plan_state.settings)
            system = _resettled(self._session.system, before, _planning_text(planning))
            schemas = self._offered(Planning(planning)).schemas()
            await self._session.append(PrefixChanged(reason, system, schemas, planning=planning.to_json()))
            toolset = self._offered(self._planning)
            self._parts = msgspec.structs.replace(self._parts, toolset=toolset, hooks=self._hooks())
        if model is not None:
            await self._session.append(PrefixChanged(reason, model=model.name))
            self._parts = msgspec.structs.replace(self._parts, model=model)

    # --- the session ---

    @property
    def session_id(self) -> str:
        return self._session.id

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation so far; a view."""
        return self._session.messages

    @property
    def system(self) -> str:
        return self._session.system

    @property
    def toolset(self) -> Toolset:
        return self._parts.toolset

    @property
    def model(self) -> Model:
        return self._parts.model

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event from now on. It must not block; one that raises is let go."""
        self._relay.listeners.append(listener)

    async def close(self, reason: str = "closed") -> None:
        """End a running turn, log the end, let go of the session and of what the tools hold.

        What fails on the way is a warning: nothing that was logged is lost. A second call does nothing.
        """
        if self._closed:
            return
        self._closed = True
        running = self._turn or self._shortening
        if running is not None and self.interrupt():
            await _settled(running)
        hooks = self._parts.hooks.session_end
        await consult(hooks, View(self._session.messages, Turn()), warn=self._relay.emit, known=())
        for closer in (lambda: self._session.close(reason), *self._closers):
            try:
                told = await closer()
                if isinstance(told, Warned):
                    self._relay.emit(told)
            except Exception as error:  # noqa: BLE001 - the others are still to be closed (I7)
                self._relay.emit(Warned(f"closing failed: {error}"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- inside ---

    def _hooks(self) -> Hooks:
        """Edits from outside come first, a demand for a plan before anybody is asked, the plan's word
        last."""
        planning = self._planning.hooks()
        first = Hooks(before_model=(self._before_request,), before_tool=planning.before_tool)
        last = self._compaction.hooks() + msgspec.structs.replace(planning, before_tool=())
        return first + self._own_hooks + last

    async def _before_request(self, view: View) -> None:
        """Put what others and the person have asked for since the last request into the log."""
        await self._inbox.serve(lambda text: self._heard(text, view))
        await self._describe(ended="")
        try:
            while self._steering:  # nothing is let go of before it is in the log
                await self._session.append(*await self._heard(self._steering[0], view))
                del self._steering[0]
        except StoreError as error:
            self._relay.emit(Warned(f"what you said has to wait: {error}"))

    async def _heard(self, text: str, view: View) -> list[Note]:
        """The person's words in the middle of a turn; hooks judge them like any message of theirs."""
        hooks, warn = self._own_hooks.user_prompt, self._relay.emit
        answers = await consult(hooks, text, view, warn=warn, known=(Note, Block))
        for answer in answers:
            if isinstance(answer, Block):
                warn(Warned(f"a hook did not let your message through: {answer.reason}"))
                return []
        return [Note(text, "steering", "message"), *answers]

    async def approval(self, approver: Approver, question: Question) -> Approval:
        """What the person says to a question of a `before_tool` hook: asked by `approver`, or through the
        session's inbox, whichever is answered first."""
        return await self._inbox.approval(approver, question)

    async def _describe(self, **ended: str) -> None:
        """Keep the session's line in the list as things are, so that it is right after a `kill -9` too."""
        told = {**self._told, "plan": self.plan, **ended}
        if told == self._told:
            return
        self._told = told
        title = " ".join(self._session.first_words[:1_000].split())[:80]
        try:
            await self._session.describe(title=title, done=self.plan.done, total=len(self.plan), **ended)
        except OnplanError as error:
            self._parts.emit(Warned(str(error)))

    def _result(self, ended: TurnEnded) -> Result:
        return Result(
            self._last_words(),
            ended.reason,
            self.plan,
            self.plan_state.ledger.revision,
            ended.usage,
            ended.rounds,
            ended.requests,
            self.session_id,
            ended.nobody,
            ended.error,
        )

    def _last_words(self) -> str:
        for message in reversed(self.messages):
            if isinstance(message, User):
                break
            if isinstance(message, Assistant) and message.text.strip():
                return message.text
        return ""


class _Relay:
    """Hands records and live events to the listeners, once there is something live to tell."""

    def __init__(self, listeners: list[Callable[[Event], None]]) -> None:
        self.listeners = listeners
        self.live = False
        self.ended: TurnEnded | None = None

    def fold(self, record: Record) -> None:
        if self.live:
            self.emit(record)

    def emit(self, event: Event) -> None:
        """A listener that raises, a closed terminal say, is let go: it must not stop the turn (I7)."""
        if isinstance(event, TurnEnded):
            self.ended = event
        for listener in tuple(self.listeners):
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - see above
                if listener in self.listeners:
                    self.listeners.remove(listener)
                self.emit(Warned(f"a listener failed and is not told more: {type(error).__name__}: {error}"))


def _copied(messages: Sequence[Message], plan: Plan) -> dict[str, Any]:
    """What tools get that ask for `state`: copies to the bottom, so that a change of them changes nothing."""
    return {"messages": copy.deepcopy(list(messages)), "todos": plan.to_json()}


async def _settled(turn: asyncio.Task[Any]) -> None:
    await asyncio.wait([turn])


def _planning_text(settings: Settings) -> str:
    return "" if settings.planning == "off" else prompt_text(settings.dialect)


def _resettled(system: str, before: str, after: str) -> str:
    """The system text with what it says about planning in the words of another dialect."""
    if before and before in system:
        return system.replace(before, after).rstrip()
    return "\n\n".join(part for part in (system, after) if part)


def _judge(
    hooks: Hooks, warn: Callable[[Event], None]
) -> Callable[[PlanChange], Awaitable[str | None]] | None:
    if not hooks.plan_change:
        return None

    async def judge(change: PlanChange) -> str | None:
        return await _veto(hooks.plan_change, change, warn)

    return judge


def _objection(hooks: Hooks, warn: Callable[[Event], None]) -> Objection:
    async def object_to(plan: CompactionPlan) -> str | None:
        return await _veto(hooks.before_compaction, plan, warn)

    return object_to


async def _veto(
    hooks: Sequence[Callable[..., Any]], subject: object, warn: Callable[[Event], None]
) -> str | None:
    """The reason of the first hook that has something against it."""
    vetoes = await consult(hooks, subject, warn=warn, known=(Veto,))
    return vetoes[0].reason if vetoes else None


def _context_limit(model: str) -> int:
    from onplan.models.limits import load_limits  # short sessions never need it

    return load_limits().of_model(model)


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run one coroutine from code that is not async: `run_sync(agent.run("…"))` in a script."""
    return asyncio.run(work)
