"""The prompt loop: one turn after the other, with commands of its own between them."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable

from onplan._version import __version__
from onplan.agent import Result
from onplan.cli.agents import Running, running
from onplan.cli.cost import cost_line, cost_of
from onplan.cli.result import ending_lines
from onplan.cli.signals import Interruption, signals
from onplan.cli.spending import spending_lines, spending_so_far
from onplan.cli.terminal import Interrupted, Terminal
from onplan.cli.view.activity import Activity
from onplan.cli.view.plan import plan_lines
from onplan.cli.view.screen import Screen, Span, screen_on
from onplan.config import DEMO, Config, command_line
from onplan.demo import DEMO_TASK
from onplan.errors import OnplanError
from onplan.messages import User
from onplan.models.names import CHOICE

PROMPT = "onplan> "
_TWICE = 2.0
"""Seconds within which a second Ctrl-C at the idle prompt leaves."""

_HELP = (
    ("/auto", "let tool calls run without asking; again: ask"),
    ("/plan", "show the plan"),
    ("/cost", "what the session used and cost, by todo"),
    ("/undo", "take the last change of the plan back; the model is told"),
    ("/redo", "take the last undo back"),
    ("/help", "this list"),
    ("/quit", "leave; so do q, exit and Ctrl-D"),
)


def run_repl(config: Config, *, colour: bool = True) -> int:
    """Take turns until the person leaves; answers the exit code."""
    return asyncio.run(_run(config, colour))


async def _run(config: Config, colour: bool) -> int:
    # A terminal that went away also ends the input, and that ends the loop.
    screen = screen_on(sys.stdout, colour=colour, on_failure=lambda _: None)
    terminal = Terminal(sys.stdin.fileno(), screen)
    interruption = Interruption()
    repl = _Repl(terminal, interruption)
    with signals(interruption, repl.on_interrupt):
        async with running(config, terminal, screen, ask_for_trust=True) as run:
            interruption.watch(run.agent)
            return await repl.take_turns(run)


class _Repl:
    """What the prompt loop remembers between turns: when Ctrl-C was last pressed at the idle prompt."""

    def __init__(
        self, terminal: Terminal, interruption: Interruption, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._terminal = terminal
        self._interruption = interruption
        self._clock = clock
        self._pressed: float | None = None
        interruption.on_leave = terminal.interrupt

    @property
    def _screen(self) -> Screen:
        return self._terminal.screen

    def on_interrupt(self) -> None:
        """Ctrl-C: cancels the turn, or clears the line at the idle prompt."""
        if not self._interruption.cancel_turn():
            self._terminal.interrupt()

    async def take_turns(self, run: Running) -> int:
        screen = self._screen
        run.agent.listen(Activity(screen, final=True, side_by_side=run.side_by_side).show)
        _greet(screen, run)
        while self._interruption.code is None:
            try:
                line = await self._terminal.read_line(PROMPT)
            except Interrupted:
                if self._leaves():
                    break
                continue
            self._pressed = None
            if line is None or line.strip() in ("/quit", "q", "exit", "quit"):
                break
            await self._do(run, line.strip())
        if any(isinstance(message, User) for message in run.agent.messages):
            again = command_line(f"resume {run.agent.session_id}")
            screen.say(Span(f"Go on later: {again}", "dim"))
        return self._interruption.code or 0

    def _leaves(self) -> bool:
        """Whether this Ctrl-C at the idle prompt, or the signal that stands behind it, ends the loop."""
        self._screen.line()
        if self._interruption.code is not None:
            return True
        now = self._clock()
        if self._pressed is not None and now - self._pressed <= _TWICE:
            self._interruption.code = 130
            return True
        self._pressed = now
        self._screen.say(Span("Ctrl-C again leaves; so does Ctrl-D", "dim"))
        return False

    async def _do(self, run: Running, line: str) -> None:
        screen = self._screen
        match line:
            case "":
                return
            case "/auto":
                _toggle_auto(screen, run)
            case "/plan":
                screen.lines(plan_lines(run.agent.plan, run.agent.plan_state.ledger.revision))
            case "/cost":
                screen.lines(spending_lines(await spending_so_far(run.store, run.agent)))
                screen.say(cost_line(cost_of(run.agent)))
            case "/undo" | "/redo":
                await _revise(screen, run, line)
            case "/help":
                screen.lines((Span(f"  {name:6}", "bold"), f"  {told}") for name, told in _HELP)
            case _ if line.startswith("/") and " " not in line and "/" not in line[1:]:
                screen.line(f"{line} is no command; /help lists them")
            case _:
                self._show_ending(await run.agent.run(line))
                self._interruption.turn_ended()

    def _show_ending(self, result: Result) -> None:
        if result.reason == "interrupted":
            self._screen.say(Span("interrupted; what was done until then is saved", "yellow"))
            return
        self._screen.lines(ending_lines(result))


def _greet(screen: Screen, run: Running) -> None:
    root = str(run.root)
    screen.say(Span(f"onplan {__version__}", "bold"), f"  {run.agent.model.name} in {root}")
    if run.config.model == DEMO:
        screen.say(f'The scripted demo model answers (ask it: "{DEMO_TASK}").')
        if not run.config.named:
            screen.say(f"{CHOICE[0].upper()}{CHOICE[1:]}.")
    screen.say(Span("/help lists the commands, Ctrl-D leaves", "dim"))
    if run.agent.plan.todos:
        screen.lines(plan_lines(run.agent.plan, run.agent.plan_state.ledger.revision))


def _toggle_auto(screen: Screen, run: Running) -> None:
    run.permissions.auto = not run.permissions.auto
    if run.permissions.auto:
        screen.say(
            Span("auto-approve ON", "yellow"),
            ": calls run without asking, but for what is denied or needs a person; /auto ends it",
        )
    else:
        screen.say(Span("auto-approve OFF", "green"), ": calls are asked about again")


async def _revise(screen: Screen, run: Running, command: str) -> None:
    try:
        await (run.agent.undo_plan() if command == "/undo" else run.agent.redo_plan())
    except OnplanError as error:
        screen.say(Span(str(error), "yellow"))
