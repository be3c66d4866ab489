"""A plan as lines: each todo with its mark and what a revision did to it; what was dropped; the count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onplan.cli.view.screen import Line, Span, Spans, Style
from onplan.plan.ledger import Diff, key
from onplan.plan.todo import Plan, Status, Todo

_MARKS: Mapping[Status, tuple[str, Style]] = {
    "pending": ("[ ]", "plain"),
    "in_progress": ("[~]", "cyan"),
    "completed": ("[x]", "dim"),
}
_NOTHING = Diff()
_LEAST_LEFT_OUT = 2
"""Unchanged todos for which it pays to leave them out."""
_SIGNS: Mapping[str, Style] = {"+": "green", ">": "cyan", "x": "green", "-": "red", "~": "yellow"}


def plan_panel(plan: Plan, revision: int, diff: Diff = _NOTHING, author: str = "model") -> Iterator[Line]:
    """The list with what changed in front: + added, > started, x finished, ~ otherwise, - dropped."""
    yield _heading(plan, revision, author)
    signs = _signs(diff)
    for todo in plan:
        yield _todo_line(todo, signs.get(key(todo.content), " "))
    yield from _gone(diff)
    if not plan.todos:
        yield (Span("   (empty)", "dim"),)


def plan_changes(plan: Plan, revision: int, diff: Diff, author: str = "model") -> Iterator[Line]:
    """What changed of the list: just finished, just started, added, dropped; and the count. The whole list
    where hardly anything stayed, or only the order changed."""
    signs = _signs(diff)
    changed = [todo for todo in plan if key(todo.content) in signs]
    same = len(plan) - len(changed)
    if same < _LEAST_LEFT_OUT or not (changed or diff.dropped or diff.cleared):
        yield from plan_panel(plan, revision, diff, author)
        return
    yield _heading(plan, revision, author)
    for todo in changed:
        yield _todo_line(todo, signs[key(todo.content)])
    yield from _gone(diff)
    yield (Span(f"   … {same} as before", "dim"),)


def finished_plan(plan: Plan, revision: int, diff: Diff, author: str = "model") -> Iterator[Line]:
    """A plan without open todos in one line, and what was left out on the way."""
    yield _heading(plan, revision, author)
    yield from _gone(diff)


def plan_lines(plan: Plan, revision: int) -> Iterator[Line]:
    """The plan as it stands."""
    if revision == 0:
        yield (Span("no plan yet", "dim"),)
        return
    yield from plan_panel(plan, revision)


def diff_lines(diff: Diff) -> Iterator[Spans]:
    """What changed, one line each."""
    groups = (
        ("+", "added", diff.added),
        ("-", "dropped", diff.dropped),
        ("-", "cleared", diff.cleared),
        (">", "started", diff.started),
        ("x", "finished", diff.finished),
        ("~", "reopened", diff.reopened),
        ("~", "paused", diff.paused),
        ("~", "renamed", tuple(f"{old} → {new}" for old, new in diff.renamed)),
    )
    for sign, word, contents in groups:
        for content in contents:
            yield (Span(f" {sign} {word}: ", _SIGNS[sign]), content)


def diff_summary(diff: Diff) -> str:
    """`+4 >1`: the counts of a diff in a few characters."""
    changed = len(diff.reopened) + len(diff.paused) + len(diff.renamed)
    counts = (
        ("+", len(diff.added)),
        ("-", len(diff.dropped) + len(diff.cleared)),
        (">", len(diff.started)),
        ("x", len(diff.finished)),
        ("~", changed),
    )
    return " ".join(f"{sign}{count}" for sign, count in counts if count) or "reordered"


def _heading(plan: Plan, revision: int, author: str) -> Spans:
    by = " by you" if author == "user" else ""
    is_finished = bool(plan.todos) and not plan.open
    count = Span(f"{plan.done}/{len(plan)} done", "green" if is_finished else "dim")
    return (Span("plan", "bold"), Span(f" r{revision}{by} · ", "dim"), count)


def _gone(diff: Diff) -> Iterator[Line]:
    for content in diff.dropped:
        yield (Span(" - ", "red"), Span(f"dropped: {content}", "red"))
    for content in diff.cleared:
        yield (Span(" - ", "red"), Span(f"cleared: {content}", "dim"))


def _signs(diff: Diff) -> dict[str, str]:
    """The most telling change of each todo, by the identity of its text."""
    groups = (
        ("~", (*diff.reopened, *diff.paused, *(new for _, new in diff.renamed))),
        (">", diff.started),
        ("+", diff.added),
        ("x", diff.finished),
    )
    return {key(content): sign for sign, contents in groups for content in contents}


def _todo_line(todo: Todo, sign: str) -> Spans:
    mark, style = _MARKS[todo.status]
    return (Span(f" {sign} ", _SIGNS.get(sign, "plain")), Span(f"{mark} ", style), Span(todo.content, style))
