"""Asks the person: whether a call may run, and what the model wants to know."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onplan.cli.preview import preview
from onplan.cli.terminal import Terminal
from onplan.plan.text import visible
from onplan.protocols import Approval, Approved, Question, Rejected


class TerminalApprover:
    """Shows what would run, whole and with every unseen character visible, and takes the answer.

    `y` allows this call, `a` this tool for the session, `n` refuses and may give the model a reason. The
    first question offers `r`: the tools that only read or plan, by name; the call itself is then still
    asked about unless it is one of them. What was typed before the question is no answer to it.
    """

    def __init__(self, terminal: Terminal, root: Path) -> None:
        self._terminal = terminal
        self._root = root
        self._granted: frozenset[str] = frozenset()

    async def approve(self, question: Question) -> Approval:
        call = question.call
        if call.name in self._granted and not question.reason:
            return Approved("tools", self._granted)
        screen = self._terminal.screen
        screen.line()
        screen.line(f"onplan asks: run {visible(call.name)}?")
        screen.judged(question.preview or preview(call, self._root))
        if question.reason:
            screen.say(f"Why you are asked: {visible(question.reason)}")
        self._terminal.forget()
        offered = question.quiet_tools if question.first else ()
        while True:
            screen.text(_choices(visible(call.name), offered))
            answer = await self._terminal.read_line("y/a/n> " if not offered else "y/a/r/n> ")
            if answer is None:
                return Rejected(nobody=True)
            word, reason = _split(answer)
            match word:
                case "y" | "yes":
                    return Approved("once", self._granted)
                case "a" | "all" | "always":
                    return Approved("tool", self._granted)
                case "n" | "no":
                    return Rejected(reason)
                case "r" if offered:
                    self._granted = frozenset(offered)
                    if call.name in self._granted:
                        return Approved("tools", self._granted)
                    offered = ()
                    screen.line(f"Allowed for this session. Still: run {visible(call.name)}?")
                case _:
                    screen.line("Please answer with one of the letters.")


def _choices(name: str, quiet: Sequence[str]) -> str:
    lines = ["  y  yes, once", f"  a  yes, and {name} for the whole session"]
    if quiet:
        lines.append(f"  r  what only reads or plans, for the session: {', '.join(quiet)}")
    return "\n".join([*lines, "  n  no; a reason behind it goes to the model"])


def _split(answer: str) -> tuple[str, str]:
    word, _, rest = answer.strip().partition(" ")
    return word.rstrip(",.:").casefold(), rest.strip()


class TerminalAsker:
    """Puts a question of the model to the person; a number picks one of the choices."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    async def ask(self, question: str, choices: Sequence[str]) -> str | None:
        screen = self._terminal.screen
        screen.line()
        screen.line("The model asks:")
        screen.judged(question)
        for number, choice in enumerate(choices, 1):
            screen.line(f"  {number}. {visible(choice)}")
        self._terminal.forget()
        answer = await self._terminal.read_line("answer> ")
        if answer is None:
            return None
        picked = answer.strip()
        if picked.isdecimal() and 1 <= int(picked) <= len(choices):
            return choices[int(picked) - 1]
        return picked
