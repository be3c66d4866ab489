"""Generated todos, plans and input for the tests of the plan engine."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from onplan.plan.dialect import DIALECTS, Dialect
from onplan.plan.render import safe
from onplan.plan.text import clean
from onplan.plan.todo import STATUSES, Plan, Rules, Todo

WORDS = (
    "Read the spec",
    "read  the spec",
    "Write tests",
    "Fix the bug",
    "Fix bug 2",
    "文書を書く",
    "naïve",
    "x",
)
SPELLINGS = ("completed", "DONE", " in-progress ", "inProgress", "todo", "cancelled", "failed", "", "Pending")

dialects = st.sampled_from(list(DIALECTS.values()))
statuses = st.sampled_from(STATUSES)


def _is_stable(text: str) -> bool:
    return text != "" and safe(text) == text == clean(text)


safe_lines = (
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
    .map(lambda text: clean(safe(text)))
    .filter(_is_stable)
)
"""What a todo may hold and is shown as it is: one line, nothing unseen, no tag."""

contents = st.one_of(st.sampled_from(WORDS), safe_lines)
ids = st.from_regex(r"[A-Za-z0-9._-]{1,8}", fullmatch=True)
rules = st.builds(
    Rules,
    max_items=st.one_of(st.none(), st.integers(0, 6)),
    max_in_progress=st.one_of(st.none(), st.integers(1, 3)),
    max_content=st.one_of(st.none(), st.integers(1, 12)),
    allow_blank=st.booleans(),
)

huge_integers = st.integers(5_000, 5_001).map(lambda digits: 10**digits)
"""More digits than Python turns into text."""

json_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    huge_integers,
    st.floats(),
    st.text(st.characters(exclude_categories=()), max_size=8),
    st.sampled_from([*SPELLINGS, *WORDS]),
)
_KEYS = ("todos", "items", "plan", "content", "text", "step", "title", "status", "id", "activeForm")
keys = st.one_of(st.sampled_from(_KEYS), st.text(max_size=4))
json_like: st.SearchStrategy[Any] = st.recursive(
    json_scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)


@st.composite
def plans(draw: st.DrawFn, max_size: int = 6, *, with_ids: bool = False, blank: bool = False) -> Plan:
    """A plan that obeys the default rules: at most one todo in progress."""
    texts = draw(st.lists(contents, max_size=max_size, min_size=0 if blank else 1))
    active = draw(st.integers(-1, max(0, len(texts) - 1)))
    todos = [
        Todo(
            text,
            "in_progress" if index == active else draw(st.sampled_from(["pending", "completed"])),
            draw(st.one_of(ids, st.just(str(index + 1)))) if with_ids else "",
        )
        for index, text in enumerate(texts)
    ]
    return Plan(tuple(todos))


def sent(plan: Plan, dialect: Dialect) -> dict[str, Any]:
    """The arguments with which a model that speaks `dialect` writes `plan`."""
    return {dialect.list_key: [sent_item(todo, dialect) for todo in plan]}


def sent_item(todo: Todo, dialect: Dialect) -> dict[str, str]:
    item = {dialect.content_key: todo.content, "status": str(todo.status)}
    if dialect.id_key and todo.id:
        item[dialect.id_key] = todo.id
    if dialect.active_key and todo.active_form:
        item[dialect.active_key] = todo.active_form
    return item
