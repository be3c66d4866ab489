"""The approver between the harness and a terminal: what counts as an answer to which question."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import pytest

from onplan.cli.approval import TerminalApprover
from onplan.cli.terminal import Terminal
from onplan.cli.view.screen import Screen
from onplan.messages import Call
from onplan.protocols import Approval, Approved, Question, Rejected

QUIET = ("glob", "grep")


class Typist(Terminal):
    """A terminal at which the answers are known beforehand; after the last one the input ends."""

    def __init__(self, answers: Iterable[str]) -> None:
        self.shown = io.StringIO()
        super().__init__(-1, Screen(self.shown))
        self._answers = iter(answers)

    async def read_line(self, prompt: str) -> str | None:
        self.screen.prompt(prompt)
        return next(self._answers, None)

    def forget(self) -> None: ...


def question(name: str = "bash", *, first: bool = True, reason: str = "") -> Question:
    return Question(Call("1", name, {"command": "make"}), first, QUIET, reason=reason)


async def answer(*typed: str, asked: Question | None = None) -> Approval:
    return await TerminalApprover(Typist(typed), Path()).approve(asked or question())


@pytest.mark.parametrize(
    ("typed", "verdict"),
    [
        (["y"], Approved("once")),
        ([" YES "], Approved("once")),
        (["a"], Approved("tool")),
        (["n"], Rejected()),
        (["no"], Rejected()),
        (["n use make instead"], Rejected("use make instead")),
        (["n: later"], Rejected("later")),
        (["r", "y"], Approved("once", frozenset(QUIET))),
        (["r", "a"], Approved("tool", frozenset(QUIET))),
        (["r", "n"], Rejected()),
        (["r", "r", "n"], Rejected()),
        (["", "yeah", "1", "y"], Approved("once")),
        ([], Rejected(nobody=True)),
        (["what"], Rejected(nobody=True)),
        (["r"], Rejected(nobody=True)),
    ],
)
async def test_each_answer_has_one_meaning_and_any_other_asks_again(typed: list[str], verdict: Approval):
    assert await answer(*typed) == verdict


async def test_the_reading_and_planning_tools_are_offered_at_the_first_question_only():
    assert await answer("r", asked=question("glob")) == Approved("tools", frozenset(QUIET))
    assert await answer("r", "y", asked=question("glob", first=False)) == Approved("once")


async def test_what_was_granted_is_not_asked_again_unless_something_speaks_against_the_call():
    typist = Typist(["r", "n", "n"])
    approver = TerminalApprover(typist, Path())
    await approver.approve(question("bash"))
    assert await approver.approve(question("grep", first=False)) == Approved("tools", frozenset(QUIET))
    objected = question("grep", first=False, reason="it reads a secret\x1b[2J")
    assert await approver.approve(objected) == Rejected()
    assert "Why you are asked: it reads a secret\\x1b[2J\n" in typist.shown.getvalue()
