"""Every revision of the plan, what each one changed, and the way back: matching, diff, merge, undo, redo."""

from __future__ import annotations

import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from onplan.errors import PlanError
from onplan.frozen import with_changes
from onplan.plan.todo import Plan, Todo

Author: TypeAlias = Literal["model", "user"]
Action: TypeAlias = Literal["write", "edit", "undo", "redo"]

UNDO_DEPTH = 100
"""How many steps back undo reaches."""

_SIMILAR = 0.6
_SIMILAR_WITH_ID = 0.3
_MOST_PAIRS = 2_500
"""Pairs of todos whose texts are compared; beyond, only those at the same position: it is quadratic."""


@dataclass(frozen=True, slots=True)
class Diff:
    """What a revision did, by content, each in plan order.

    `dropped` were open and are gone; `cleared` were completed and are gone; `renamed` are pairs
    (old, new) of one todo in other words.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    paused: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Only what is not empty, as lists."""
        data: dict[str, Any] = {
            name: list(getattr(self, name)) for name in self.__slots__ if getattr(self, name)
        }
        if self.renamed:
            data["renamed"] = [list(pair) for pair in self.renamed]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Diff:
        """The inverse of `to_json`."""
        texts = {name: tuple(data[name]) for name in cls.__slots__ if name in data and name != "renamed"}
        return cls(**texts, renamed=tuple((str(old), str(new)) for old, new in data.get("renamed", ())))


@dataclass(frozen=True, slots=True)
class Revision:
    """The plan as it stood from this revision on. Numbers count 1, 2, … and are never used twice."""

    number: int
    plan: Plan
    author: Author
    action: Action
    diff: Diff


@dataclass(frozen=True, slots=True)
class Ledger:
    """The history of one plan. `past` and `future` are the plans that undo and redo go to, nearest last."""

    revisions: tuple[Revision, ...] = ()
    past: tuple[Plan, ...] = ()
    future: tuple[Plan, ...] = ()

    @property
    def plan(self) -> Plan:
        return self.revisions[-1].plan if self.revisions else Plan()

    @property
    def revision(self) -> int:
        """The number of the newest revision; 0 before the first."""
        return self.revisions[-1].number if self.revisions else 0

    def at(self, number: int) -> Plan:
        """The plan as it stood at revision `number` (0: empty). Raises `PlanError` if it is not kept."""
        if number == 0:
            return Plan()
        return self._find(number).plan

    def diff(self, older: int, newer: int) -> Diff:
        """What changed between two revisions. Raises `PlanError` if one is not kept."""
        return compare(self.at(older), self.at(newer))

    def dropped(self) -> tuple[str, ...]:
        """Todos that were left out while open and are not in the plan now, oldest first."""
        found: dict[str, str] = {}
        for revision in self.revisions:
            for text in revision.diff.added:
                found.pop(key(text), None)
            found.update((key(text), text) for text in revision.diff.dropped)
        present = {key(todo.content) for todo in self.plan}
        return tuple(text for name, text in found.items() if name not in present)

    def removed_since(self, revision: int) -> tuple[str, ...]:
        """Todos that were taken out after `revision` and are not in the plan now, oldest first."""
        diffs = [item.diff for item in self.revisions if item.number > revision]
        present = {key(todo.content) for todo in self.plan}
        removed = [text for diff in diffs for text in (*diff.dropped, *diff.cleared)]
        return tuple(dict.fromkeys(text for text in removed if key(text) not in present))

    def written(self, plan: Plan, author: Author, action: Action = "write", number: int = 0) -> Ledger:
        """The ledger with one revision more. `number` is given when a stored one is folded again."""
        current = self.plan
        revision = Revision(number or self.revision + 1, plan, author, action, compare(current, plan))
        match action:
            case "undo":
                past, future = self.past[:-1], (*self.future, current)
            case "redo":
                past, future = (*self.past, current), self.future[:-1]
            case "write" | "edit" if plan == current:
                past, future = self.past, self.future  # nothing that undo could take back
            case "write" | "edit":
                past, future = (*self.past, current), ()
        return with_changes(
            self,
            revisions=(*self.revisions, revision),
            past=past[-UNDO_DEPTH:],
            future=future[-UNDO_DEPTH:],
        )

    def undo_target(self) -> Plan:
        """The plan that undo brings back. Raises `PlanError` when there is none."""
        if not self.past:
            raise PlanError("nothing to undo: the plan has no earlier revision")
        return self.past[-1]

    def redo_target(self) -> Plan:
        """The plan that redo brings back. Raises `PlanError` when nothing was undone."""
        if not self.future:
            raise PlanError("nothing to redo: nothing was undone since the last change")
        return self.future[-1]

    def _find(self, number: int) -> Revision:
        for revision in reversed(self.revisions):
            if revision.number == number:
                return revision
        if not self.revisions:
            raise PlanError(f"no revision {number}: the plan has none yet")
        first, last = self.revisions[0].number, self.revision
        raise PlanError(f"no revision {number}: the ledger holds {first} to {last}")


# --- identity ---------------------------------------------------------------------------------------


def key(content: str) -> str:
    """The identity of a text: NFC, case folded, white space collapsed."""
    return " ".join(unicodedata.normalize("NFC", content).casefold().split())


Matches: TypeAlias = dict[int, int]
"""Index in the older plan to index in the newer one."""


def match(old: Plan, new: Plan) -> Matches:
    """Which todo became which: by exact normalised content (as a multiset, open ones with open ones first),
    then by id where the texts are not strangers (ids may repeat or be mere positions), then by similarity
    where it is beyond doubt."""
    if _same_texts(old, new):
        return {n: n for n in range(len(old))}
    old_keys = [key(todo.content) for todo in old]
    new_keys = [key(todo.content) for todo in new]
    matches: Matches = _same(
        [(name, todo.is_open) for name, todo in zip(old_keys, old, strict=True)],
        [(name, todo.is_open) for name, todo in zip(new_keys, new, strict=True)],
    )
    rest_old, rest_new = _unmatched(matches, old, new)
    found = _same([old_keys[i] for i in rest_old], [new_keys[j] for j in rest_new])
    matches.update((rest_old[i], rest_new[j]) for i, j in found.items())
    rest_old, rest_new = _unmatched(matches, old, new)
    if not (rest_old and rest_new):
        return matches
    old_grams = {i: _bigrams(old_keys[i]) for i in rest_old}
    new_grams = {j: _bigrams(new_keys[j]) for j in rest_new}

    def alike(pairs: Iterable[tuple[int, int]], least: float) -> list[tuple[int, int]]:
        return [(i, j) for i, j in pairs if _dice(old_grams[i], new_grams[j]) >= least]

    by_id = _unique_ids(rest_old, rest_new, old.todos, new.todos)
    matches.update(alike(by_id, _SIMILAR_WITH_ID))
    rest_old, rest_new = _unmatched(matches, old, new)
    if len(rest_old) * len(rest_new) > _MOST_PAIRS:
        candidates = [(i, i) for i in sorted({*rest_old} & {*rest_new})]
    else:
        candidates = [(i, j) for i in rest_old for j in rest_new]
    matches.update(_beyond_doubt(alike(candidates, _SIMILAR)))
    return matches


def _unmatched(matches: Matches, old: Plan, new: Plan) -> tuple[list[int], list[int]]:
    taken = set(matches.values())
    return [i for i in range(len(old)) if i not in matches], [j for j in range(len(new)) if j not in taken]


def _same(left: Sequence[Hashable], right: Sequence[Hashable]) -> Matches:
    """Which positions hold equal values, first with first."""
    waiting: dict[Hashable, deque[int]] = {}
    for j, value in enumerate(right):
        waiting.setdefault(value, deque()).append(j)
    return {i: waiting[value].popleft() for i, value in enumerate(left) if waiting.get(value)}


def _unique_ids(
    left: list[int], right: list[int], old: tuple[Todo, ...], new: tuple[Todo, ...]
) -> list[tuple[int, int]]:
    old_count, new_count = Counter(todo.id for todo in old), Counter(todo.id for todo in new)
    found = {new[j].id: j for j in right if new[j].id and new_count[new[j].id] == 1}
    return [(i, found[old[i].id]) for i in left if old[i].id in found and old_count[old[i].id] == 1]


def _beyond_doubt(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs that are each other's only candidate; the same position decides between several."""
    rows, columns = Counter(i for i, _ in pairs), Counter(j for _, j in pairs)
    return [(i, j) for i, j in pairs if i == j or rows[i] == columns[j] == 1]


def _bigrams(text: str) -> Counter[str]:
    return Counter(text[n : n + 2] for n in range(max(1, len(text) - 1)))


def _dice(left: Counter[str], right: Counter[str]) -> float:
    """Similarity of two texts from 0 to 1: shared pairs of characters."""
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


# --- diff and merge ---------------------------------------------------------------------------------


def _same_texts(old: Plan, new: Plan) -> bool:
    """The usual write: only statuses moved on, and no text comes twice."""
    texts = [todo.content for todo in old]
    return texts == [todo.content for todo in new] and len({*texts}) == len(texts)


def compare(old: Plan, new: Plan) -> Diff:
    """What happened between two plans."""
    if old == new:
        return Diff()
    if _same_texts(old, new):
        pairs, gone, fresh = list(zip(old, new, strict=True)), (), ()
    else:
        matches = match(old, new)
        pairs = [(old.todos[i], new.todos[j]) for i, j in sorted(matches.items(), key=lambda pair: pair[1])]
        gone = tuple(todo for i, todo in enumerate(old) if i not in matches)
        kept = set(matches.values())
        fresh = tuple(todo for j, todo in enumerate(new) if j not in kept)
    steps = [(before, after) for before, after in pairs if before.status != after.status]

    def moved(test: Callable[[Todo, Todo], bool]) -> tuple[str, ...]:
        return tuple(after.content for before, after in steps if test(before, after))

    return Diff(
        added=tuple(todo.content for todo in fresh),
        dropped=tuple(todo.content for todo in gone if todo.is_open),
        cleared=tuple(todo.content for todo in gone if not todo.is_open),
        started=moved(lambda a, b: b.status == "in_progress" and a.status == "pending")
        + tuple(todo.content for todo in fresh if todo.status == "in_progress"),
        finished=moved(lambda a, b: a.is_open and not b.is_open),
        reopened=moved(lambda a, b: not a.is_open and b.is_open),
        paused=moved(lambda a, b: a.status == "in_progress" and b.status == "pending"),
        renamed=tuple((a.content, b.content) for a, b in pairs if a.content != b.content),
    )


def merge(base: Plan, user: Plan, model: Plan) -> Plan:
    """The model's new plan, written against `base`, with the person's edits of `base` kept.

    What the person removed stays removed, what they added stays, where they changed words or status and
    the model did not, theirs count. The result may break rules: the caller checks.
    """
    in_user, in_model = match(base, user), match(base, model)
    from_base = {j: i for i, j in in_model.items()}
    merged: list[Todo] = []
    for j, todo in enumerate(model):
        i = from_base.get(j)
        if i is None:
            merged.append(todo)
        elif i in in_user:
            merged.append(_merge_todo(base.todos[i], user.todos[in_user[i]], todo))
    present = Counter(key(todo.content) for todo in merged)
    known = set(in_user.values())
    for position, todo in enumerate(user):
        if position not in known and not present[key(todo.content)]:
            merged.insert(_place(todo, user, position, merged), todo)
    return Plan(tuple(merged))


def _merge_todo(base: Todo, user: Todo, model: Todo) -> Todo:
    return with_changes(
        model,
        content=user.content if model.content == base.content else model.content,
        status=user.status if model.status == base.status else model.status,
    )


def _place(todo: Todo, user: Plan, position: int, merged: list[Todo]) -> int:
    """Behind the nearest todo that stood before it in the person's plan, else in front of the one after."""
    where = {key(item.content): n for n, item in enumerate(merged)}
    for before in reversed(user.todos[:position]):
        if key(before.content) in where:
            return where[key(before.content)] + 1
    for after in user.todos[position + 1 :]:
        if key(after.content) in where:
            return where[key(after.content)]
    return len(merged)
