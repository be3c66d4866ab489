"""Planning as a feature of the loop: the plan tools of a dialect, reminders, the stop gate, prompt text.

The plan is a fold over the log: a write counts once its result is in there, never before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast, get_args

import msgspec

from onplan.errors import PlanError
from onplan.events import (
    Compacted,
    Decided,
    PlanChanged,
    PlanEdited,
    PrefixChanged,
    Record,
    Resumed,
    SessionStarted,
    ToolStarted,
    TurnEnded,
)
from onplan.hooks import Continue, EndTurn, Hooks, PlanChange, Skip, View
from onplan.messages import Assistant, Call, Message, Note, ToolResult, User, estimate
from onplan.plan.answer import answer
from onplan.plan.changes import (
    Asked,
    Change,
    Demanded,
    Edited,
    Grew,
    Outcome,
    PlanCall,
    Refused,
    Reminded,
    RoundEnded,
    Shortened,
    TurnBegan,
    Worked,
    Written,
)
from onplan.plan.decode import heard, translated
from onplan.plan.dialect import DIALECTS, Dialect, tool_schemas
from onplan.plan.ledger import Action, Author, compare, merge
from onplan.plan.reminder import (
    Reminder,
    ReminderKind,
    at_stop,
    demand_text,
    due_after_round,
    due_before_request,
    plan_block,
)
from onplan.plan.render import names
from onplan.plan.settings import Settings
from onplan.plan.state import State, decide, evolve, fingerprint
from onplan.plan.stored import outcome_from_json, outcome_to_json
from onplan.plan.todo import Fault, Plan, Todo
from onplan.session import InboxRequest
from onplan.toolset import Ctx, Param, Provider, Tool, ToolOutput

Judge = Callable[[PlanChange], Awaitable[str | None]]
"""Asks the plan-change hooks: the reason of a veto, or `None`."""

_KEY = "plan"


class _Expected(msgspec.Struct, frozen=True):
    call_id: str
    before: State
    after: State


class PlanFold:
    """The plan's state as a fold over records or messages, advanced one at a time."""

    def __init__(self, settings: Settings) -> None:
        self.state = State(settings)
        self.interrupted = False
        self._outstanding: set[str] = set()
        self._in_turn = False
        self._expected: _Expected | None = None

    def expect(self, call_id: str, before: State, after: State) -> None:
        """What the write of `call_id` makes of the state `before`, worked out already to answer it."""
        self._expected = _Expected(call_id, before, after)

    def fold(self, record: Record) -> None:
        match record:
            case SessionStarted(planning=planning) | PrefixChanged(planning=planning) if planning:
                self._resettle(planning)
            case User():
                self._grow(record)
                self._evolve(TurnBegan())
                self._in_turn = True
            case Assistant():
                self._evolve(Asked(1, record.usage.output or estimate(record)))
                self._outstanding = {call.id for call in record.calls}
            case ToolResult():
                self._result(record)
            case Note():
                self._note(record)
            case PlanEdited(revision=revision, todos=todos, action=action):
                self._evolve(Edited(Plan.from_json(todos), action, revision))
            case Compacted():
                self._compacted(record)
            case TurnEnded(reason=reason):
                # A turn that was cancelled before its message was in the log has not begun.
                self.interrupted = reason == "interrupted" if self._in_turn else self.interrupted
                self._in_turn = False
            case Resumed():
                self.interrupted = self.interrupted or self._in_turn
                self._in_turn = False
            case _:
                pass

    def _result(self, result: ToolResult) -> None:
        last = self._outstanding == {result.call_id}
        self._outstanding.discard(result.call_id)
        kept = (result.details or {}).get(_KEY)
        if result.name in self.state.dialect.tool_names:
            if not self._came_as_expected(result.call_id, kept):
                self._grow(result)
                self._plan_call(kept)
        elif kept == "demanded" and result.outcome == "not_executed":
            self._grow(result)
            self._evolve(Demanded())
        elif last:  # the usual round: all that it changes in one step
            self._evolve(RoundEnded(1, result.changed, 1, estimate(result)))
            return
        else:
            self._grow(result)
            self._evolve(Worked(changed=result.changed))
        if last:
            self._evolve(RoundEnded())

    def _came_as_expected(self, call_id: str, kept: Any) -> bool:
        """Take the state that was worked out before, if it is this write's and nothing happened meanwhile."""
        expected, self._expected = self._expected, None
        if expected is None or expected.call_id != call_id or self.state is not expected.before:
            return False
        match kept:
            case {"revision": revision} if revision == expected.after.ledger.revision:
                pass
            case _:
                return False
        self.state = expected.after  # the plan is in the answer, so the distance is 0 however long that is
        return True

    def _plan_call(self, kept: Any) -> None:
        # Without an outcome it did not run; one that this version does not know changes nothing here.
        if not isinstance(kept, dict):
            return
        try:
            outcome = outcome_from_json(cast("dict[str, Any]", kept))
        except PlanError:
            return
        self._evolve(outcome)

    def _note(self, note: Note) -> None:
        self._grow(note)
        if note.kind == "interrupted":
            self.interrupted = False
        match (note.details or {}).get(_KEY):
            case {"kind": kind, **more} if kind in get_args(ReminderKind):
                self._evolve(Reminded(kind, bool(more.get("recites"))))
            case _:
                pass

    def _compacted(self, record: Compacted) -> None:
        left = len(record.head) + record.kept + len(record.tail)
        shows = max(map(_shown_revision, record.tail), default=0)
        self._evolve(Shortened(left, record.after, min(shows, self.state.ledger.revision)))

    def _grow(self, message: Message) -> None:
        self._evolve(Grew(1, estimate(message)))

    def _resettle(self, stored: Mapping[str, Any]) -> None:
        """The log's settings count; a dialect of the host's own making is kept, the log has only its name."""
        own = self.state.dialect if self.state.dialect.name == stored.get("dialect") else None
        self.state = replace(self.state, settings=Settings.from_json(stored, own))

    def _evolve(self, change: Change) -> None:
        self.state = evolve(self.state, change)


class Planning:
    """Plan tools and hooks around one fold. Hand `fold` to the session, `tools` to the toolset, `hooks` to
    the loop (last, so that its reminder is the last word)."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        judge: Judge | None = None,
        changed: Callable[[PlanChanged], None] | None = None,
    ) -> None:
        self._folded = PlanFold(settings or Settings())
        self._judge = judge
        self._changed = changed
        self._quiet = True
        self._writing = ""  # the call that changed the plan and is not in the log yet

    @property
    def state(self) -> State:
        return self._folded.state

    @property
    def plan(self) -> Plan:
        return self.state.plan

    def fold(self, record: Record) -> None:
        if isinstance(record, (ToolStarted, Decided)):
            return  # a third of all records, and nothing to a plan
        before = self.state.ledger
        self._folded.fold(record)
        if isinstance(record, ToolResult) and record.call_id == self._writing:
            self._writing = ""
        if self.state.ledger is not before and self._changed is not None and not self._quiet:
            newest = self.state.ledger.revisions[-1]
            todos = tuple(newest.plan.to_json())
            self._changed(PlanChanged(newest.number, todos, newest.diff.to_json(), newest.author))

    def go_live(self) -> None:
        """From now on changes are told; what was folded before is history."""
        self._quiet = False

    # --- tools ---

    def tools(self) -> tuple[Tool, ...]:
        """The dialect's tools; none where planning is off."""
        settings = self.state.settings
        if settings.planning == "off":
            return ()
        return tuple(
            Tool(
                name=schema["name"],
                description=schema["description"],
                input_schema=schema["input_schema"],
                run=self._runner(schema["name"]),
                read_only=True,  # nothing outside of the plan changes
                params=(Param("state", "State", required=True, runtime=True),),
            )
            for schema in tool_schemas(settings.dialect, settings.rules)
        )

    def canonical(self, call: Call) -> Call:
        """A call of another dialect's write tool as one of ours: models fall back into what they learned."""
        spoken = DIALECTS.get(call.name)
        if spoken is None or self.state.settings.planning == "off":
            return call
        ours = self.state.dialect
        return Call(call.id, ours.name, translated(call.arguments, spoken, ours))

    def _runner(self, name: str):
        async def run(arguments: Any, ctx: Ctx, providers: Mapping[str, Provider]) -> ToolOutput:
            outcome = await self._decide(PlanCall(name, arguments))
            before = self.state
            after = evolve(before, outcome)
            if isinstance(outcome, Written):
                self._writing = ctx.call_id
                self._folded.expect(ctx.call_id, before, after)
            said = answer(before, after, outcome)
            return ToolOutput(said.text, {_KEY: outcome_to_json(outcome)}, said.is_error)

        return run

    async def _decide(self, call: PlanCall) -> Outcome:
        while True:
            revision, outcome = self.state.ledger.revision, decide(self.state, call)
            if not isinstance(outcome, Written) or self._judge is None:
                return outcome
            reason = await self._judge(plan_change(self.plan, outcome.plan, "model"))
            if reason is not None:
                return Refused(
                    (Fault("vetoed"),), fingerprint(heard(call.arguments, self.state.dialect)), reason
                )
            if revision == self.state.ledger.revision:
                return outcome  # else a person changed the plan meanwhile: that must not be lost

    # --- hooks ---

    def hooks(self) -> Hooks:
        if self.state.settings.planning == "off":
            return Hooks(user_prompt=(self._announce_interruption,))
        return Hooks(
            user_prompt=(self._announce_interruption,),
            before_model=(self._before_request,),
            before_tool=(self._demand,) if self.state.settings.planning == "require" else (),
            after_round=(self._after_round,),
            stop=(self._stop,),
        )

    def _before_request(self, view: View) -> Note | None:
        return _note(due_before_request(self.state))

    def _after_round(self, view: View) -> Note | EndTurn | None:
        if self.state.ends_turn:
            return EndTurn(self.state.ends_turn)
        return _note(due_after_round(self.state))

    def _demand(self, call: Call, tool: Tool, view: View) -> Skip | None:
        if call.name in self.state.dialect.tool_names or call.name == "ask_user":
            return None
        return Skip(demand_text(self.state), {_KEY: "demanded"}) if self.state.demands_plan else None

    def _stop(self, reply: Assistant, view: View) -> Continue | EndTurn | None:
        if not self.plan.open:
            return EndTurn("done") if self._answered_with_last_write(reply, view) else None
        allowed = view.turn.continuations < self.state.settings.max_continuations
        reminder = at_stop(self.state) if allowed and not view.turn.blocked else None
        note = _note(reminder)
        return Continue(note, otherwise="open_todos") if note else EndTurn("open_todos")

    def _answered_with_last_write(self, reply: Assistant, view: View) -> bool:
        """The plan is done, and the words came along with the write that said so: silence is an end, and
        asking for more would only bring the answer again."""
        if reply.text.strip() or not self.plan.todos:
            return False
        said = [message for message in view.messages[-8:] if isinstance(message, Assistant)][:-1]
        written = bool(said) and any(call.name in DIALECTS for call in said[-1].calls)
        return written and bool(said[-1].text.strip())

    def _announce_interruption(self, text: str, view: View) -> Note | None:
        if not self._folded.interrupted:
            return None
        active = self.plan.active
        at = (
            f" {names([active.content])} was in progress: verify what was done before you go on."
            if active
            else ""
        )
        return Note(f"<notice>The turn before this was interrupted.{at}</notice>", "interrupted")

    # --- compaction ---

    def block(self) -> Note | None:
        """The open todos as they are in the log, to stand behind a conversation that was made shorter."""
        text = plan_block(self.state)
        return Note(text, "plan", details={_KEY: {"shows": self.state.ledger.revision}}) if text else None

    # --- people ---

    async def edited(
        self, todos: Iterable[Todo | str | dict[str, Any]], *, base: int = 0
    ) -> PlanEdited | None:
        """The record of a person's edit, to be appended; `None` if nothing changes. Raises `PlanError`.

        `base`: the revision that they edited; what was written since is kept beside their edit.
        """
        rules = self.state.settings.rules
        plan = Plan.of(todos, rules)
        if base and base < self.state.ledger.revision:
            plan = Plan.of(merge(self.state.ledger.at(base), plan, self.plan).todos, rules)
        return await self._revised(plan, "edit")

    async def undone(self) -> PlanEdited | None:
        """The record of an undo. Raises `PlanError` when there is nothing to undo."""
        return await self._revised(self.state.ledger.undo_target(), "undo")

    async def redone(self) -> PlanEdited | None:
        """The record of a redo. Raises `PlanError` when nothing was undone."""
        return await self._revised(self.state.ledger.redo_target(), "redo")

    async def requested(self, request: InboxRequest) -> PlanEdited | None:
        """The record of an edit, undo or redo that somebody asks for from outside. Raises `PlanError`."""
        match request.action:
            case "undo":
                return await self.undone()
            case "redo":
                return await self.redone()
            case _:
                return await self.edited(request.todos, base=request.base)

    async def _revised(self, plan: Plan, action: Action) -> PlanEdited | None:
        if action == "write" or plan == self.plan:
            return None
        if self._judge and (reason := await self._judge(plan_change(self.plan, plan, "user"))):
            raise PlanError(f"the plan change was refused: {reason}")
        if self._writing:  # what the model reads in answer to its write has to stay true
            raise PlanError("the model is changing the plan at this moment: try again")
        return PlanEdited(self.state.ledger.revision + 1, tuple(plan.to_json()), action)


def plan_change(before: Plan, after: Plan, author: Author) -> PlanChange:
    return PlanChange(before.to_json(), after.to_json(), compare(before, after).to_json(), author)


def _note(reminder: Reminder | None) -> Note | None:
    if reminder is None:
        return None
    details = {_KEY: {"kind": reminder.kind, **({"recites": True} if reminder.recites else {})}}
    kind = "continue" if reminder.kind == "continue" else "reminder"
    return Note(reminder.text, kind, reminder.placement, details)


def _shown_revision(message: Message) -> int:
    """The revision that a block of the plan shows; 0 for any other message."""
    kept: object = (message.details or {}).get(_KEY) if isinstance(message, Note) else None
    match kept:
        case {"shows": int(revision)}:
            return revision
        case _:
            return 0


def prompt_text(dialect: Dialect) -> str:
    """What the system text says about planning. Never changes during a session (I2)."""
    return (
        f"Before starting any multi-step task, use {dialect.name} to plan your steps. "
        "Update status as you go. For a single step or a question, just do it."
    )


def plan_of(records: Iterable[Record], settings: Settings | None = None) -> State:
    """The plan's state after these records or messages."""
    folded = PlanFold(settings or Settings())
    for record in records:
        folded.fold(record)
    return folded.state
