"""The result of a turn, as JSON for programs and as a few lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onplan.agent import Agent, Result
from onplan.cli.cost import cost_of
from onplan.cli.view.screen import Line, Prose, Span
from onplan.spending import Spending, usage_json


def result_json(result: Result, agent: Agent, exit_code: int, spending: Spending) -> dict[str, Any]:
    """The object at the end of `--output-format json` and `stream-json` (docs/headless.md)."""
    return {
        "type": "result",
        "session": result.session,
        "text": result.text,
        "reason": result.reason,
        "exit_code": exit_code,
        "plan": result.plan.to_json(),
        "revision": result.revision,
        "usage": usage_json(result.usage),
        "cost": spending.turn.to_json()["cost"],
        "rounds": result.rounds,
        "requests": result.requests,
        "denied_for_want_of_a_person": result.nobody,
        "figures": agent.plan_state.stats.to_json(),
        "planning": cost_of(agent).to_json(),
        "spending": spending.to_json(),
        "error": result.error,
    }


def ending_lines(result: Result, *, go_on: str = "") -> Iterator[Line]:
    """Why a turn ended and what to do about it; nothing for one that is simply done. `go_on`: how, where
    that is not a new process."""
    if result.nobody:
        count = f"{result.nobody} call{'s' if result.nobody > 1 else ''}"
        told = f"{count} denied: nobody was there to ask; --auto lets calls run"
        yield Prose((Span(f"onplan: {told}", "yellow"),))
    told = _told(result, go_on or f"go on: onplan resume {result.session}")
    if told:
        yield Prose((Span(f"onplan: {told}", "yellow"),))


def _told(result: Result, go_on: str) -> str:
    match result.reason:
        case "done":
            return ""
        case "open_todos":
            return f"stopped with {len(result.plan.open)} of {len(result.plan)} todos open; {go_on}"
        case "interrupted":
            return f"interrupted; everything until then is saved; {go_on}"
        case "rounds" | "tokens" | "cost":
            option = f"--max-{result.reason}"
            return f"the cap on {result.reason} was reached ({option}); {go_on}"
        case "plan_loop":
            return f"ended: the model sent the same plan over and over; {go_on}"
        case "call_loop":
            return f"ended: the model made the same call over and over; {go_on}"
        case "length":
            return f"ended: the model's replies were cut by their length; {go_on}"
        case "refusal":
            return "the model declined"
        case "empty":
            return f"the model answered nothing, again and again; {go_on}"
        case "blocked":
            return f"a hook did not let the message through: {result.error}"
        case "model_error" | "store_error":
            return result.error or result.reason.replace("_", " ")
