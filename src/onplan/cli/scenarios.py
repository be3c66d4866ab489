"""`onplan scenarios`: behaviour written down as data, played before one's eyes; no key, no network."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from onplan.cli.options import RunFlags, common_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onplan.cli.view.screen import Line
    from onplan.messages import Call, Message
    from onplan.testing.scenarios import Observed, Scenario


@click.command(
    "scenarios",
    short_help="Play the scenarios that say how the plan must behave; offline.",
    epilog="\b\nExample:\n  onplan scenarios\n  onplan scenarios readme_run",
)
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--list", "listed", is_flag=True, help="Only their names and what each says.")
@common_options
def command(flags: RunFlags, names: tuple[str, ...], listed: bool) -> None:
    """Play scenarios with a scripted model and check what must be seen. With a NAME: the conversation too,
    with how far the plan is from its end after each message. The exit code is 1 if anything differs."""
    import asyncio  # not for the help

    from onplan.cli.view.screen import Span, screen_on
    from onplan.cli.view.words import counted
    from onplan.testing.scenarios import PlainLoop, check

    screen = screen_on(sys.stdout, colour=flags.colour)
    chosen = _chosen(names)
    wrong = 0
    for scenario in chosen:
        if listed:
            screen.say(Span(scenario.name, "bold"), f"  {scenario.title}", indent=4)
            continue
        observed = asyncio.run(PlainLoop().play(scenario))
        differences = check(scenario, observed)
        wrong += bool(differences)
        if names:
            screen.lines(_told(scenario, observed))
        screen.lines(_judged(scenario, differences, named=bool(names)))
    if not listed and not names:
        screen.say(f"{counted(len(chosen), 'scenario')}, {wrong or 'none'} differing")
    if wrong:
        raise click.exceptions.Exit(1)


def _chosen(names: tuple[str, ...]) -> list[Scenario]:
    from onplan.testing.scenarios import load_scenarios

    scenarios = {scenario.name: scenario for scenario in load_scenarios()}
    for name in names:
        if name not in scenarios:
            raise click.UsageError(f"no scenario is named {name[:60]!r}; onplan scenarios --list names them")
    return [scenarios[name] for name in names] if names else list(scenarios.values())


def _told(scenario: Scenario, observed: Observed) -> Iterator[Line]:
    from onplan.cli.view.screen import Prose, Span

    yield Prose((Span(scenario.name, "bold"), f"  {scenario.title} ({scenario.source})"), 4)
    counter = observed.counter
    asked = frozenset(observed.asked)
    for number, message in enumerate(observed.messages):
        away = f"  plan {counter[number]} from the end" if number < len(counter) else ""
        yield from _message(message, away, asked)
    for number, turn in enumerate(observed.turns, 1):
        told = f"turn {number}: {turn.reason}, requests: {turn.requests}, rounds: {turn.rounds}"
        yield (Span(f"  {told}", "dim"),)


def _message(message: Message, away: str, asked: frozenset[str]) -> Iterator[Line]:
    from onplan.cli.view.screen import Span
    from onplan.messages import Assistant, Note, ToolResult, User

    match message:
        case User(text=text):
            who, body = "user", text
        case Assistant():
            calls = [_call(call, asked=call.id in asked) for call in message.calls]
            who, body = "model", "\n".join((*filter(None, [message.text]), *calls))
        case ToolResult(name=name, content=content, outcome=outcome):
            who, body = f"{name} → {outcome}", content
        case Note(kind=kind, text=text):
            who, body = f"harness: {kind}", text
    yield (Span(f"  {who}", "cyan"), Span(away, "dim"))
    yield from (("    ", line) for line in body.splitlines())


def _call(call: Call, *, asked: bool) -> str:
    from onplan.cli.view.calls import short_arguments

    return f"→ {call.name} {short_arguments(call)}".rstrip() + (" (the person is asked)" if asked else "")


def _judged(scenario: Scenario, differences: list[str], *, named: bool) -> Iterator[Line]:
    from onplan.cli.view.screen import Prose, Span

    if not differences:
        if named:
            yield (Span("  as it must be", "green"),)
        return
    yield (Span(f"{scenario.name}: differs", "red"),)
    yield from (Prose((f"  {difference}",), 4) for difference in differences)
