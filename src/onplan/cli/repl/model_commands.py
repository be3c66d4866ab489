"""Commands about the model: what it costs, which one answers, how it plans, how much it reads."""

from __future__ import annotations

from dataclasses import replace

from onplan.cli.repl.command import Invocation, Next
from onplan.cli.repl.warm import warm_up
from onplan.cli.view.screen import Span
from onplan.config import DEMO, open_model
from onplan.errors import ConfigError


async def cost(asked: Invocation) -> Next:
    from onplan.cli.cost import cost_line, cost_of
    from onplan.cli.spending import spending_lines, spending_so_far

    asked.screen.lines(spending_lines(await spending_so_far(asked.run.store, asked.run.agent)))
    asked.screen.say(cost_line(cost_of(asked.run.agent)))


async def model(asked: Invocation) -> Next:
    from onplan.models.names import CHOICE

    run = asked.run
    if asked.argument:
        model = open_model(asked.argument, run.config.environ)
        run.keep(model)
        await run.agent.change(f"/model {asked.argument}", model=model)
        warm_up(asked.argument)
        asked.screen.say(f"{model.name} answers from now on")
        return
    asked.screen.say(f"{run.agent.model.name} answers; /model NAME lets another one")
    if run.agent.model.name == DEMO:
        asked.screen.say(f"{CHOICE[0].upper()}{CHOICE[1:]}.")


async def dialect(asked: Invocation) -> Next:
    from onplan.config import trained_on
    from onplan.plan.dialect import DIALECTS

    run, settings = asked.run, asked.run.agent.plan_state.settings
    if not asked.argument:
        names = ", ".join(DIALECTS)
        asked.screen.say(f"{settings.dialect.name} is the plan tool; /dialect NAME: {names}, auto")
        return
    name = trained_on(run.agent.model.name) if asked.argument == "auto" else asked.argument
    if name not in DIALECTS:
        raise ConfigError(f"no dialect is named {name[:40]!r}; there are {', '.join(DIALECTS)} and auto")
    dialect = DIALECTS[name]
    await run.agent.change(f"/dialect {name}", planning=replace(settings, dialect=dialect))
    if run.permissions.allowed & set(settings.dialect.tool_names):
        run.permissions.allowed.update(dialect.tool_names)
    asked.screen.say(f"the plan tool is {dialect.name} from now on")


async def compact(asked: Invocation) -> Next:
    done = await asked.run.agent.compact(asked.argument)
    if done is None:
        asked.screen.line(Span("there is nothing to make shorter yet", "dim"))


async def doctor(asked: Invocation) -> Next:
    from onplan.cli.doctor import examine, finding_lines
    from onplan.cli.options import RunFlags

    async for finding in examine(RunFlags(model=asked.run.config.model)):
        asked.screen.lines(finding_lines(finding))
