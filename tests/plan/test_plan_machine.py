"""PlanMemory against a simple model of it, over any sequence of what can happen."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from strategies import plans, sent

from onplan.plan.ledger import key
from onplan.plan.memory import PlanMemory
from onplan.plan.reminder import Reminder
from onplan.plan.settings import ReminderPolicy
from onplan.plan.todo import Plan

MESSAGES, TOKENS = 12, 900

good = plans(4, blank=True)
bad: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        7,
        "broken",
        {},
        ["a"],
        [{"content": "a"}],
        [{"content": " ", "status": "pending"}],
        [{"content": "a", "status": "failed"}],
        [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}],
        [{"content": "a", "status": "pending"}] * 21,
        [{"content": "a" * 501, "status": "pending"}],
    ]
)


def counted(items: list[dict[str, str]]) -> tuple[Counter[str], Counter[str]]:
    """How often each text is there open, and completed."""
    texts = [(key(item["content"]), item["status"] == "completed") for item in items]
    return Counter(text for text, done in texts if not done), Counter(text for text, done in texts if done)


class PlanMachine(RuleBasedStateMachine):
    """The model: the plan as plain items, the revision, the two stacks of undo, and quiet rounds."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = PlanMemory(reminder=ReminderPolicy(max_messages=MESSAGES, max_tokens=TOKENS))
        self.items: list[dict[str, str]] = []
        self.revision = 0
        self.past: list[list[dict[str, str]]] = []
        self.future: list[list[dict[str, str]]] = []
        self.edited = False
        self.quiet = 0
        self.changed = False

    @initialize()
    def starts(self) -> None:
        assert self.memory.begin_turn() is None

    def _accepted(self, items: list[dict[str, str]]) -> None:
        self.past.append(self.items)
        self.future = []
        self._now(items)

    def _now(self, items: list[dict[str, str]]) -> None:
        self.items = items
        self.revision += 1
        self.quiet = 0

    # --- the model's calls ---

    @precondition(lambda self: not self.edited)
    @rule(plan=good, as_text=st.booleans())
    def writes(self, plan: Plan, as_text: bool) -> None:
        arguments: Any = sent(plan, self.memory.state.dialect)
        answer = self.memory.call("write_todos", json.dumps(arguments) if as_text else arguments)
        if plan.to_json() == self.items:
            assert answer.text.startswith(("Plan unchanged.", "Error: this is the same plan"))
            return
        (was_open, was_done), (is_open, is_done) = counted(self.items), counted(plan.to_json())
        gone = was_open - is_open - (is_done - was_done)
        assert set(map(key, answer.dropped)) <= set(gone)
        self._accepted(plan.to_json())
        self.changed = True
        assert not answer.is_error
        assert all(todo.content in answer.text for todo in plan.open)

    @precondition(lambda self: self.edited)
    @rule(plan=good)
    def writes_on_an_older_revision(self, plan: Plan) -> None:
        before, revision = self.memory.plan, self.memory.revision
        answer = self.memory.call("write_todos", sent(plan, self.memory.state.dialect))
        if self.memory.revision == revision:
            assert self.memory.plan == before
        else:
            assert not answer.is_error
            self._accepted(self.memory.plan.to_json())
            self.changed = True
        assert all(todo.content in answer.text for todo in self.memory.plan.open) or (
            answer.text.startswith(("Plan unchanged.", "Error: this is the same plan"))
        )
        self.edited = self.memory.state.seen < self.memory.revision

    @rule(todos=bad, wrapped=st.booleans())
    def writes_badly(self, todos: Any, wrapped: bool) -> None:
        before, rounds = self.memory.ledger, self.memory.state.rounds
        bare = not wrapped and (todos is None or todos == 7 or todos == "broken" or todos == {})
        answer = self.memory.call("write_todos", todos if bare else {"todos": todos})
        assert (answer.is_error, answer.plan, answer.revision) == (True, before.plan, before.revision)
        assert (self.memory.ledger, self.memory.state.rounds) == (before, rounds)

    @rule()
    def reads(self) -> None:
        answer = self.memory.call("read_todos")
        assert (answer.text, answer.is_error) == (self.memory.render(), False)
        self.edited = False

    # --- the person's ---

    @rule(plan=good)
    def edits(self, plan: Plan) -> None:
        self.memory.edit(plan)
        if plan.to_json() != self.items:
            self._accepted(plan.to_json())
            self.edited = True

    @precondition(lambda self: self.past)
    @rule()
    def undoes(self) -> None:
        self.memory.undo()
        self.future.append(self.items)
        self._now(self.past.pop())
        self.edited = True

    @precondition(lambda self: self.future)
    @rule()
    def redoes(self) -> None:
        self.memory.redo()
        self.past.append(self.items)
        self._now(self.future.pop())
        self.edited = True

    # --- the loop's ---

    @rule(messages=st.integers(0, MESSAGES), tokens=st.integers(0, TOKENS), calls=st.integers(0, 3))
    def ends_a_round(self, messages: int, tokens: int, calls: int) -> None:
        reminder = self.memory.end_round(messages=messages, tokens=tokens, calls=calls)
        self.quiet = 0 if self.changed else self.quiet + 1
        self.changed = False
        self._reminded(reminder)
        assert self.quiet <= 12

    @rule(tokens=st.integers(0, TOKENS))
    def begins_a_turn(self, tokens: int) -> None:
        self._reminded(self.memory.begin_turn(tokens=tokens))
        self.changed = False
        if not self._open():
            self.quiet = 0

    def _reminded(self, reminder: Reminder | None) -> None:
        if self.edited:
            assert reminder is not None
            assert reminder.kind == "edited"
        if reminder is not None:
            assert (reminder.text.count("<"), reminder.text.count(">")) >= (2, 2)
            assert reminder.kind == "edited" or self._open() or reminder.kind == "suggest"
            if reminder.recites:
                assert all(item["content"] in reminder.text for item in self._open())
        if reminder is not None or not self._open():
            self.quiet = 0
        self.edited = False

    @rule()
    def stops(self) -> None:
        text = self.memory.at_stop()
        if text is not None:
            assert all(item["content"] in text for item in self._open())
            self.edited = False

    @rule()
    def is_stored_and_restored(self) -> None:
        data = json.loads(json.dumps(self.memory.snapshot()))
        again = PlanMemory.restore(data)
        assert again.snapshot() == data
        kept = 10
        self.past, self.future = self.past[-kept:], self.future[-kept:]
        self.memory = again

    # --- always ---

    def _open(self) -> list[dict[str, str]]:
        return [item for item in self.items if item["status"] != "completed"]

    @invariant()
    def the_plan_is_the_models(self) -> None:
        assert self.memory.plan.to_json() == self.items
        assert self.memory.revision == self.revision

    @invariant()
    def the_numbers_rise_one_by_one(self) -> None:
        numbers = [revision.number for revision in self.memory.ledger.revisions]
        assert numbers == list(range(self.revision - len(numbers) + 1, self.revision + 1))

    @invariant()
    def at_most_one_todo_is_in_progress(self) -> None:
        assert sum(todo.status == "in_progress" for todo in self.memory.plan) <= 1

    @invariant()
    def the_plan_is_near(self) -> None:
        if self._open() and not self.edited:
            assert self.memory.distance.messages <= MESSAGES
            assert self.memory.distance.tokens <= TOKENS


TestPlanMachine = PlanMachine.TestCase
TestPlanMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
