"""Commands about the plan: show, edit, clear, undo, redo."""

from __future__ import annotations

from onplan.cli.repl.command import Invocation, Next
from onplan.cli.view.plan import plan_lines
from onplan.cli.view.screen import Span


async def plan(asked: Invocation) -> Next:
    if asked.argument == "edit":
        await _edit_plan(asked)
        return
    state = asked.run.agent.plan_state
    asked.screen.lines(plan_lines(state.plan, state.ledger.revision))


async def _edit_plan(asked: Invocation) -> None:
    from onplan.cli.checklist import HEADER, from_checklist, to_checklist

    state = asked.run.agent.plan_state
    made = await asked.conversation.edit(HEADER + to_checklist(state.plan), ".md")
    if made is None:
        return
    plan = from_checklist(made, state)
    if plan == state.plan:
        asked.screen.line(Span("the plan is as it was", "dim"))
        return
    await asked.run.agent.edit_plan(plan, base=state.ledger.revision)


async def todos(asked: Invocation) -> Next:
    agent = asked.run.agent
    if asked.argument == "clear":
        if not agent.plan.todos:
            asked.screen.line(Span("there is no plan to clear", "dim"))
            return
        await agent.edit_plan(())
        return
    plan = agent.plan
    if not plan.open:
        told = f"nothing is open; {plan.done}/{len(plan)} done" if plan.todos else "no plan yet"
        asked.screen.line(Span(told, "dim"))
        return
    for todo in plan.open:
        mark = Span("  [~] ", "cyan") if todo.status == "in_progress" else "  [ ] "
        asked.screen.line(mark, todo.content)


async def undo(asked: Invocation) -> Next:
    await asked.run.agent.undo_plan()


async def redo(asked: Invocation) -> Next:
    await asked.run.agent.redo_plan()
