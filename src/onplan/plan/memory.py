"""PlanMemory: the plan engine for people who write their own loop; a thin shell over the pure state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from onplan.plan.answer import Answer
from onplan.plan.changes import (
    Asked,
    Change,
    Demanded,
    Edited,
    Grew,
    PlanCall,
    Reminded,
    RoundEnded,
    TurnBegan,
)
from onplan.plan.dialect import Dialect, tool_schemas
from onplan.plan.ledger import Action, Ledger
from onplan.plan.reminder import Reminder, at_stop, demand_text, due_after_round, due_before_request
from onplan.plan.render import render_plan
from onplan.plan.settings import Planning, Reminders, settings
from onplan.plan.state import State, apply, evolve
from onplan.plan.stats import Distance, Stats
from onplan.plan.stored import restore, snapshot
from onplan.plan.todo import Plan, Rules, Todo
from onplan.tokens import estimate_tokens


class PlanMemory:
    """One agent's plan: tools for the model, answers to its calls, reminders, and the way back.

    The loop around it calls `begin_turn` with each user message, `call` for each call of a plan tool,
    `end_round` after each batch of tool results, and `at_stop` when a reply calls no tool. Reminders that
    these return go to the model: behind the tool results, or as a user message of their own where
    `placement` says so. One instance is one agent's: it holds no global state.

    Raises `PlanError` for an unknown dialect, preset or mode; never for what a model sends.
    """

    def __init__(
        self,
        dialect: str | Dialect = "write_todos",
        *,
        preset: Literal["tutorial"] | None = None,
        rules: Rules | None = None,
        reminder: Reminders | Literal["default"] = "default",
        planning: Planning = "suggest",
        max_continuations: int = 1,
    ) -> None:
        self._state = State(
            settings(
                dialect,
                preset=preset,
                rules=rules,
                reminder=reminder,
                planning=planning,
                max_continuations=max_continuations,
            )
        )

    # --- for the model ---

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Name, description and input_schema of the plan tools; none where planning is off."""
        if self._state.settings.planning == "off":
            return []
        return list(tool_schemas(self._state.dialect, self._state.settings.rules))

    def begin_turn(self, *, messages: int = 1, tokens: int = 0) -> Reminder | None:
        """A user message came. Answers what has to go along with it: news of an edit, or the plan itself.

        `messages` and `tokens`: by how much the conversation grew since the last round or turn.
        """
        self._evolve(TurnBegan())
        self._evolve(Grew(messages, tokens))
        return self._remind(due_before_request(self._state))

    def call(self, name: str, arguments: object = None) -> Answer:
        """Answer a call of a plan tool with its arguments as the model sent them (an object or a string).

        Never raises for what a model sent: a bad write is an error answer and changes nothing.
        """
        if name not in self._state.dialect.tool_names:
            known = ", ".join(self._state.dialect.tool_names)
            text = f"Error: no plan tool is named {name[:80]!r}. Plan tools: {known}"
            return Answer(text, True, self.plan, self.revision)
        self._state, answer = apply(self._state, PlanCall(name, arguments))
        return answer

    def demand(self) -> str | None:
        """With `planning="require"`: the error that answers any other call, or `None` to let it run.

        At most three times a turn, and only until a plan is accepted.
        """
        if not self._state.demands_plan:
            return None
        self._evolve(Demanded())
        return demand_text(self._state)

    def end_round(
        self, *, messages: int = 2, tokens: int = 0, calls: int = 0, changed: bool = False
    ) -> Reminder | None:
        """A reply with tool calls has got its results. Answers the reminder due now, or `None`.

        `messages` and `tokens`: by how much the conversation grew (a round in which the plan was shown
        ends with the plan at its end). `calls`: calls of other tools; `changed`: one of them succeeded
        and may have changed something.
        """
        grown = (0, 0) if self._state.turn.round_recited else (messages, tokens)
        self._evolve(RoundEnded(calls, changed, *grown))
        reminder = self._remind(due_after_round(self._state))
        self._evolve(Asked())
        return reminder

    def at_stop(self) -> str | None:
        """The text that continues a turn which stops with todos open, or `None` to let it end."""
        reminder = at_stop(self._state)
        if reminder is None or self._state.turn.continued >= self._state.settings.max_continuations:
            return None
        self._remind(reminder)
        return reminder.text

    # --- for people ---

    @property
    def plan(self) -> Plan:
        return self._state.plan

    @property
    def revision(self) -> int:
        return self._state.ledger.revision

    @property
    def ledger(self) -> Ledger:
        return self._state.ledger

    @property
    def distance(self) -> Distance:
        """How far the plan is from the end of the context."""
        return self._state.distance

    @property
    def stats(self) -> Stats:
        return self._state.stats

    @property
    def state(self) -> State:
        """The whole state, an immutable value."""
        return self._state

    def render(self) -> str:
        """The plan as the model sees it."""
        return render_plan(self.plan, self._state.dialect)

    def edit(self, todos: Iterable[Todo | str | dict[str, Any]]) -> Plan:
        """Replace the plan as the person; the model is told once. Raises `PlanError`, nothing changed."""
        return self._edit(Plan.of(todos, self._state.settings.rules), "edit")

    def undo(self) -> Plan:
        """Go back one revision, as a new one. Raises `PlanError` when there is none."""
        return self._edit(self.ledger.undo_target(), "undo")

    def redo(self) -> Plan:
        """Take the last undo back. Raises `PlanError` when there is none."""
        return self._edit(self.ledger.redo_target(), "redo")

    # --- storage ---

    def snapshot(self) -> dict[str, Any]:
        """Plain JSON values, bounded: plan, counters, the newest revisions and undo steps."""
        return snapshot(self._state)

    @classmethod
    def restore(cls, data: Mapping[str, Any], *, dialect: Dialect | None = None) -> PlanMemory:
        """A memory that goes on where `snapshot` was taken. Raises `PlanError` for other data."""
        memory = cls()
        memory._state = restore(data, dialect)
        return memory

    # --- inside ---

    def _edit(self, plan: Plan, action: Action) -> Plan:
        if plan != self.plan:
            self._evolve(Edited(plan, action))
        return self.plan

    def _remind(self, reminder: Reminder | None) -> Reminder | None:
        if reminder is not None:
            self._evolve(Grew(1, estimate_tokens(reminder.text)))
            self._evolve(Reminded(reminder.kind, reminder.recites))
        return reminder

    def _evolve(self, change: Change) -> None:
        self._state = evolve(self._state, change)
