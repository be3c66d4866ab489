"""Plan to text: one line for each todo, the same bytes for the same plan."""

from __future__ import annotations

from collections.abc import Iterable

from onplan.plan.dialect import Dialect
from onplan.plan.text import disarm, one_line
from onplan.plan.todo import Plan, Rules, Todo


def safe(content: str) -> str:
    """A todo's text as one harmless line: no control characters, no tag of the harness."""
    return disarm(one_line(content))


def render_todo(todo: Todo, dialect: Dialect, position: int = 1) -> str:
    """`[ ] text`, or `[ ] #id: text` in a dialect with ids (the position, from 1, where there is none)."""
    mark = dialect.mark(todo.status)
    if not dialect.id_key:
        return f"{mark} {safe(todo.content)}"
    return f"{mark} #{safe(todo.id) or position}: {safe(todo.content)}"


def render_plan(plan: Plan, dialect: Dialect) -> str:
    """Every todo on a line of its own, and the dialect's count of completed ones. Empty: its own words."""
    if not plan.todos:
        return dialect.nothing
    lines = [render_todo(todo, dialect, n) for n, todo in enumerate(plan, 1)]
    if dialect.counts:
        lines += ["", count_line(plan)]
    return "\n".join(lines)


def render_open(plan: Plan, dialect: Dialect) -> str:
    """The open todos only, in order."""
    return "\n".join(render_todo(todo, dialect, n) for n, todo in enumerate(plan, 1) if todo.is_open)


def render_answer(plan: Plan, dialect: Dialect) -> str:
    """The seed's answer to an accepted write: its words and the whole list."""
    if not plan.todos:
        return dialect.cleared
    listed = render_plan(plan, dialect)
    return f"{dialect.updated}\n{listed}" if dialect.updated else listed


def count_line(plan: Plan) -> str:
    return f"({plan.done}/{len(plan)} completed)"


def names(contents: Iterable[str], limit: int = 20, width: int = 120) -> str:
    """Todos by name in a sentence: quoted, cut to `width` characters each, at most `limit` of them."""
    shown = [safe(content) for content in contents]
    quoted = [f'"{text if len(text) <= width else text[: width - 1] + "…"}"' for text in shown[:limit]]
    more = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return ", ".join(quoted) + more


def answer_budget(rules: Rules) -> int | None:
    """The most characters that the list in an answer can have under `rules`; `None` without limits."""
    if rules.max_items is None or rules.max_content is None:
        return None
    overhead = len("[ ] #") + 40 + len(": \n")
    return rules.max_items * (rules.max_content + overhead) + 80
