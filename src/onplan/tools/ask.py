"""`ask_user`: the tool by which the model asks the person."""

from __future__ import annotations

from onplan.protocols import Asker
from onplan.toolset import Injected, ToolOutput, tool

NOBODY = (
    "Nobody is there to answer in this run. Decide yourself what is safest, say what you assumed, "
    "or stop and say what you need to know."
)


@tool(read_only=True)
async def ask_user(
    question: str, choices: list[str] | None = None, *, asker: Injected[Asker | None]
) -> ToolOutput:
    """Ask the person one question and wait for the answer. Only for what you cannot find out yourself.

    Args:
        question: One clear question.
        choices: Likely answers, if there are a few.
    """
    answer = await asker.ask(question, choices or []) if asker is not None else None
    if answer is None:
        return ToolOutput(NOBODY, {"unanswered": True})
    return ToolOutput(answer or "(an empty answer)")
