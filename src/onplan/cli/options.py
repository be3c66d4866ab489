"""The options of a run, shared by the commands that run an agent, and those of every command."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

import click

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]
F = TypeVar("F", bound=Callable[..., Any])

# The names of onplan.plan.dialect, written out: help must not import the engine. A test compares them.
DIALECT_NAMES = ("write_todos", "todo_write", "todo", "TodoWrite", "update_plan")


@dataclass(frozen=True, slots=True)
class RunFlags:
    """What was said on the command line; empty or `None` where nothing was."""

    prompt: str | None = None
    output_format: OutputFormat = "text"
    model: str = ""
    auto: bool = False
    sandbox: bool = False
    sandbox_network: bool = False
    dialect: str = ""
    preset: str = ""
    plan: str = ""
    max_rounds: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_context: int | None = None
    resume: str = ""
    cwd: str = ""
    colour: bool = True

    def refuse_before(self, command: str) -> None:
        """Raise `UsageError` if options of a run stand in front of a command, where they would be lost."""
        if replace(self, colour=True) != RunFlags():
            raise click.UsageError(f"put the options behind the command: onplan {command} …")


Decorator: TypeAlias = Callable[[Any], Any]

_RUN_OPTIONS: Mapping[str, Decorator] = {
    "prompt": click.option("-p", "--prompt", metavar="TEXT", help="Do one job and leave; `-`: from stdin."),
    "output_format": click.option(
        "--output-format",
        type=click.Choice(["text", "json", "stream-json"]),
        default="text",
        help="What -p prints: the final text; one object; or a line for each event.",
    ),
    "model": click.option(
        "--model",
        metavar="NAME",
        help="`anthropic:NAME`, `openai:NAME`, `openai:NAME@URL`, `demo`, or `script:FILE`.",
    ),
    "auto": click.option(
        "--auto",
        is_flag=True,
        help="Let tool calls run without asking, but for what is denied or needs a person.",
    ),
    "sandbox": click.option(
        "--sandbox", is_flag=True, help="Run commands where they can write here only, without a network."
    ),
    "sandbox_network": click.option(
        "--sandbox-network", is_flag=True, help="The network is open to commands in the sandbox."
    ),
    "dialect": click.option(
        "--dialect",
        type=click.Choice([*DIALECT_NAMES, "auto"]),
        help="Name and shape of the plan tool; auto: what the model was trained on.",
    ),
    "preset": click.option(
        "--preset", type=click.Choice(["tutorial"]), help="The exact behaviour of the systems it grew from."
    ),
    "plan": click.option(
        "--plan",
        type=click.Choice(["suggest", "require", "off"]),
        help="Whether the model is asked for a plan (suggest, the default), must write one, or has no tool.",
    ),
    "max_rounds": click.option(
        "--max-rounds", type=click.IntRange(min=1), metavar="N", help="End a turn after N rounds of calls."
    ),
    "max_tokens": click.option(
        "--max-tokens", type=click.IntRange(min=1), metavar="N", help="End a turn after N tokens."
    ),
    "max_cost": click.option(
        "--max-cost",
        type=click.FloatRange(min=0, min_open=True),
        metavar="USD",
        help="End a turn that has cost as many dollars, for models whose price is known.",
    ),
    "max_context": click.option(
        "--max-context",
        type=click.IntRange(min=1_000),
        metavar="N",
        help="Keep the conversation below N tokens, where the model takes less than is known of it.",
    ),
    "resume": click.option("--resume", metavar="ID", help="Go on with a session: id, prefix or `latest`."),
    "cwd": click.option("--cwd", metavar="DIR", help="Work in DIR; a resumed session knows its own."),
}


def run_options(*without: str) -> Callable[[F], F]:
    """The options of a run, those named apart; the function gets them as one `flags`."""

    def add(function: F) -> F:
        for name in reversed(tuple(_RUN_OPTIONS)):
            if name not in without:
                function = _RUN_OPTIONS[name](function)
        return function

    return add


def common_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command. Goes below `run_options`, whose values it gathers into `flags`."""

    @functools.wraps(function)
    def gathered(*args: Any, **values: Any) -> Any:
        values.pop("debug")
        found: dict[str, Any] = {"colour": not values.pop("no_color")}
        for name in set(_RUN_OPTIONS) & set(values):
            value = values.pop(name)
            if value is not None:
                found[name] = value
        return function(*args, flags=RunFlags(**found), **values)

    gathered = click.option("--no-color", is_flag=True, help="No colours; NO_COLOR does the same.")(gathered)
    return click.option("--debug", is_flag=True, help="Show tracebacks.")(gathered)
