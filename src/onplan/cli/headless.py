"""One job without a prompt: progress aside, the result as text, as one object, or event by event."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from onplan.agent import Agent, Result
from onplan.cli.agents import Running, running, told_default
from onplan.cli.conversation import person_at
from onplan.cli.cost import cost_line, cost_of
from onplan.cli.options import OutputFormat
from onplan.cli.result import ending_lines, result_json
from onplan.cli.signals import Interruption, signals
from onplan.cli.spending import spending_so_far, turn_line
from onplan.cli.surroundings import keep_cost, start_lines
from onplan.cli.view.activity import Activity
from onplan.cli.view.screen import Screen, Span, screen_on
from onplan.config import Config
from onplan.errors import StoreError
from onplan.events import Event, RequestStarted, Warned
from onplan.messages import ToolResult
from onplan.session import read
from onplan.spending import Spending


def run_job(prompt: str, config: Config, output_format: OutputFormat, *, colour: bool = True) -> int:
    """Do one job; answers the exit code. Raises `OnplanError` for what keeps it from starting."""
    return asyncio.run(_run(prompt, config, output_format, colour))


async def _run(prompt: str, config: Config, output_format: OutputFormat, colour: bool) -> int:
    failures: list[OSError] = []
    out = screen_on(sys.stdout, colour=colour, on_failure=failures.append)
    notices = screen_on(sys.stderr, colour=colour, on_failure=lambda _: None)
    interruption = Interruption()

    def interrupt() -> None:
        interruption.code = 130
        interruption.cancel_turn()

    with signals(interruption, interrupt):
        async with running(config, person_at(notices), notices, needs_model=True) as run:
            interruption.watch(run.agent)
            if told := told_default(run.config):
                notices.say(told)
            out.masked = out.masked and run.access.masked
            if output_format == "stream-json":
                await _begin_stream(run, out)
            elif output_format == "text":
                notices.lines(await start_lines(run.context, run.root))
                run.agent.listen(Activity(notices, final=False, side_by_side=run.side_by_side).show)
            else:
                run.agent.listen(_warner(notices))
            if interruption.code is not None:
                return interruption.code
            result = await run.agent.run(prompt)
            code = interruption.code or result.exit_code
            await _close(run.agent, notices)
            spending = await spending_so_far(run.store, run.agent)
            await keep_cost(run.store, run.agent, spending)
            _report(result, run.agent, code, spending, output_format, out, notices)
    if failures:
        raise failures[0]
    return code


def _warner(notices: Screen) -> Callable[[Event], None]:
    def warn(event: Event) -> None:
        if isinstance(event, Warned):
            notices.say(Span(f"onplan: {event.text}", "yellow"))

    return warn


async def _close(agent: Agent, notices: Screen) -> None:
    """Close before the result is told, so that it is the last word; a log that cannot end is a warning."""
    try:
        await agent.close()
    except StoreError as error:
        notices.say(Span(f"onplan: {error}", "yellow"))


def _report(
    result: Result,
    agent: Agent,
    code: int,
    spending: Spending,
    output_format: OutputFormat,
    out: Screen,
    notices: Screen,
) -> None:
    if output_format != "text":
        out.json(result_json(result, agent, code, spending))
        return
    notices.flush()
    out.text(result.text)
    notices.lines(ending_lines(result))
    notices.lines((Span(line, "dim"),) for line in (turn_line(spending), cost_line(cost_of(agent))) if line)


async def _begin_stream(run: Running, out: Screen) -> None:
    """Tell how the session began (and that it was resumed), then every event as it comes."""
    records = [stamped.record for stamped in read(await run.store.load(run.agent.session_id))]
    out.json(records[0])
    if len(records) > 1:
        out.json(records[-1])
    if run.agent.plan_state.ledger.revision:
        out.json(_plan_snapshot(run.agent))
    run.agent.listen(event_writer(run.agent, out))


def _plan_snapshot(agent: Agent) -> dict[str, Any]:
    """The plan that a run goes on with; what becomes of it is told by `plan_changed`."""
    revision = agent.plan_state.ledger.revision
    return {"type": "plan", "revision": revision, "todos": agent.plan.to_json(), "distance": _distance(agent)}


def event_writer(agent: Agent, out: Screen) -> Callable[[Event], None]:
    """Writes each event as a line of JSON; a request also says how far away the plan is in it, and of an
    image there is its size in place of its bytes."""

    def write(event: Event) -> None:
        match event:
            case RequestStarted():
                out.json(_with_distance(event, agent))
            case ToolResult(media=media) if media:
                out.json(_without_data(event))
            case _:
                out.json(event)

    return write


def _with_distance(event: RequestStarted, agent: Agent) -> dict[str, Any]:
    known: dict[str, Any] = msgspec.to_builtins(event)
    return {**known, "distance": _distance(agent)}


def _distance(agent: Agent) -> dict[str, int]:
    distance = agent.plan_state.distance
    return {"messages": distance.messages, "tokens": distance.tokens}


def _without_data(result: ToolResult) -> dict[str, Any]:
    known: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(result, media=()))
    told = [{"media_type": one.media_type, "bytes": one.size, "name": one.name} for one in result.media]
    return {**known, "media": told}
