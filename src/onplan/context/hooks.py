"""The context as hooks: what git has not committed, once; instruction files whenever they change."""

from __future__ import annotations

from collections.abc import Callable

from onplan.context.files import Context, told_of_changes
from onplan.context.git import git_state
from onplan.hooks import Hooks, View
from onplan.messages import Note


def context_hooks(context: Context, system: Callable[[], str]) -> Hooks:
    """`system`: the session's system text, which holds the files as they were when it began."""

    async def uncommitted(view: View) -> Note | None:
        state = await git_state(context.root)
        return state.note() if state else None

    def changes(text: str, view: View) -> Note | None:
        return told_of_changes(context.again(), system(), view.messages)

    return Hooks(session_start=(uncommitted,), user_prompt=(changes,))
