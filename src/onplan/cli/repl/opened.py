"""One open session at the prompt: what each line asks for, its turns, and what is said while one runs."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

from onplan.agent import Result
from onplan.cli.agents import Running
from onplan.cli.conversation import Conversation
from onplan.cli.repl.command import Invocation, Leave, Next, Say
from onplan.cli.repl.commands import command_named, commands, is_command
from onplan.cli.repl.opening import opening_lines
from onplan.cli.repl.shell import run_line
from onplan.cli.repl.working import Working
from onplan.cli.result import ending_lines
from onplan.cli.signals import Interruption
from onplan.cli.surroundings import keep_cost
from onplan.cli.terminal import Interrupted
from onplan.cli.view.activity import Activity
from onplan.cli.view.plan import finished_plan, plan_lines
from onplan.cli.view.screen import Line, Screen, Span
from onplan.errors import OnplanError
from onplan.messages import Assistant, User
from onplan.plan.ledger import Diff
from onplan.plan.todo import Plan

if TYPE_CHECKING:
    from onplan.cli.repl.prompt import Prompt

LEAVING = ("q", "exit", "quit")
_RECALLED = 3
"""Lines of the last answer that are shown when a session goes on."""
_WAITS = "has to wait until the turn is over; Esc interrupts it"


class OpenSession:
    """`prompt`: the input, where that is drawn; else lines are read only between turns."""

    def __init__(
        self, run: Running, conversation: Conversation, interruption: Interruption, prompt: Prompt | None
    ) -> None:
        self.run = run
        self.ahead: list[str] = []
        self._conversation = conversation
        self._interruption = interruption
        self._prompt = prompt
        self._activity = Activity(
            self.screen,
            final=True,
            side_by_side=run.side_by_side,
            live=prompt is not None,
            plan=run.agent.plan,
        )
        self.working = Working(run, self._activity)
        self._sends_now = False
        self._meanwhile: set[asyncio.Future[None]] = set()
        interruption.watch(run.agent)

    @property
    def screen(self) -> Screen:
        return self._conversation.screen

    @property
    def is_spoken(self) -> bool:
        """Whether anything was said in it: else it is not kept."""
        return any(isinstance(message, User) for message in self.run.agent.messages)

    async def begin(self) -> None:
        """Say what was opened, and listen to it."""
        run, screen = self.run, self.screen
        run.agent.listen(self._activity.show)
        run.agent.listen(self.working.hear)
        screen.lines(await opening_lines(run, screen.width))
        self._recall()
        if run.agent.plan.todos:
            screen.lines(_plan_lines(run.agent.plan, run.agent.plan_state.ledger.revision))

    def _recall(self) -> None:
        """Where a session that goes on had come to: the last message, and how the answer ended."""
        messages = self.run.agent.messages
        said = [message.text for message in messages if isinstance(message, User)]
        told = [one.text for one in messages if isinstance(one, Assistant) and one.text.strip()]
        if not said:
            return
        self.screen.line(Span(f"› {said[-1]}", "dim"))
        rows = told[-1].strip().splitlines()[-_RECALLED:] if told else []
        self.screen.lines((Span(f"  {row}", "dim"),) for row in rows)

    # --- lines ---

    def next_ahead(self) -> str:
        """What was entered while nobody read; empty if nothing was."""
        if not self.ahead:
            return ""
        line = self.ahead.pop(0)
        if self._prompt is not None:
            self._prompt.echo(line)
        return line

    async def do(self, line: str) -> Next:
        """What one line asks for. A command's own failure is a line of its own."""
        if not line:
            return None
        if line in LEAVING:
            return Leave()
        try:
            follows = await self._asked(line)
        except OnplanError as error:
            self.screen.say(Span(str(error), "yellow"))
            return None
        except OSError as error:
            named = f"{error.filename}: " if error.filename else ""
            self.screen.say(Span(f"{named}{error.strerror or error}", "yellow"))
            return None
        except Interrupted:
            return None  # a question of the command was given up
        if not isinstance(follows, Say):
            return follows
        await self._converse(follows.text)
        return None

    async def _asked(self, line: str) -> Next:
        if line.startswith("!") and len(line) > 1:
            await self._shell(line[1:].strip())
            return None
        if not is_command(line):
            return Say(line)
        name, _, argument = line.partition(" ")
        command = command_named(name, commands())
        if command is None:
            self.screen.line(f"{name} is no command; /help lists them")
            return None
        return await command.do(Invocation(self.run, self._conversation, argument.strip()))

    async def _shell(self, line: str) -> None:
        if self._prompt is None:
            code = await run_line(line, self.run.root)
        else:
            async with self._prompt.away():
                code = await run_line(line, self.run.root)
        if code:
            told = f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
            self.screen.line(Span(told, "yellow"))

    # --- turns ---

    async def _converse(self, text: str) -> None:
        """A turn, and those that follow from what was said while it ran."""
        while text and self._interruption.code is None:
            text = await self._turn(text)

    async def _turn(self, text: str) -> str:
        """One turn; answers what is to be sent next."""
        agent = self.run.agent
        self._sends_now = False
        self.working.begin()
        try:
            result = await agent.run(text)
        finally:
            self.working.end()
            self._interruption.turn_ended()
        self._show_ending(result)
        await keep_cost(self.run.store, agent)
        left = "\n".join(agent.unsent())
        if not left or self._prompt is None:
            return left
        if result.reason == "interrupted" and not self._sends_now:
            self._prompt.take_back(left)
            return ""
        self._prompt.echo(left)
        return left

    def _show_ending(self, result: Result) -> None:
        if result.reason == "interrupted":
            self.screen.say(Span("interrupted; what was done until then is saved", "yellow"))
            return
        self.screen.lines(ending_lines(result, go_on="write to go on"))

    # --- while a turn runs ---

    def words(self, text: str) -> None:
        """What the person entered while no message was waited for."""
        line = text.strip()
        if not self.working.is_busy:
            self.ahead.append(text)
        elif line in LEAVING or is_command(line):
            self._command_meanwhile("/quit" if line in LEAVING else line)
        elif line.startswith("!"):
            self.screen.say(Span(f"{line} {_WAITS}", "yellow"))
        else:
            self.run.agent.steer(text)
            self.working.queued.append(text)

    def escape(self, prompt: Prompt) -> None:
        """Interrupt the turn and send what the person typed in its place; else give up a question."""
        if not self.working.is_busy:
            if prompt.is_asking:
                prompt.interrupt()
            return
        if not prompt.is_asking and (text := prompt.taken()):
            self.words(text)
        self._sends_now = bool(self.working.queued)
        self._interruption.cancel_turn()

    def unfold(self) -> None:
        """The last folded result; each time the one before it."""
        self.screen.lines(self._activity.expand() or [(Span("no more is folded", "dim"),)])

    def _command_meanwhile(self, line: str) -> None:
        command = command_named(line.partition(" ")[0], commands())
        if command is not None and not command.any_time:
            self.screen.say(Span(f"{command.name} {_WAITS}", "yellow"))
            return
        task = asyncio.ensure_future(self._do_meanwhile(line))
        self._meanwhile.add(task)
        task.add_done_callback(self._meanwhile.discard)

    async def _do_meanwhile(self, line: str) -> None:
        if self._prompt is not None:
            self._prompt.echo(line)
        if isinstance(await self.do(line), Leave):
            self.ahead.insert(0, line)
            self._interruption.cancel_turn()


def _plan_lines(plan: Plan, revision: int) -> Iterator[Line]:
    """A finished plan is one line."""
    return plan_lines(plan, revision) if plan.open else finished_plan(plan, revision, Diff())
