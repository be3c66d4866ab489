"""The approver between the harness and the person: what counts as an answer to which question."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from onplan.cli.allow import RuleFiles
from onplan.cli.approval import TerminalApprover, TerminalAsker, editable, from_edited
from onplan.cli.conversation import Choice, Picked, TerminalConversation
from onplan.cli.terminal import Terminal
from onplan.cli.view.screen import Screen
from onplan.messages import Call
from onplan.protocols import ANSWERED_ELSEWHERE, Approval, Approved, Question, Rejected
from onplan.settingsfile import Places

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


class Keys:
    """A conversation in single keys; what is edited becomes the next of `edits`."""

    def __init__(self, keys: Iterable[str], *, lines: Iterable[str] = (), edits: Iterable[str] = ()) -> None:
        self.shown = io.StringIO()
        self.screen = Screen(self.shown)
        self.offered: list[str] = []
        self.edited: list[tuple[str, str]] = []
        self._keys, self._lines, self._edits = iter(keys), iter(lines), iter(edits)

    async def key(self, prompt: str, choices: Sequence[Choice]) -> Picked | None:
        self.offered.append("".join(choice.key for choice in choices))
        key = next(self._keys, None)
        return None if key is None else Picked(key)

    async def line(self, prompt: str, text: str = "") -> str | None:
        return next(self._lines, None)

    async def edit(self, text: str, suffix: str) -> str | None:
        self.edited.append((text, suffix))
        return next(self._edits, None)

    def forget(self) -> None: ...


def question(
    name: str = "bash", *, first: bool = True, reason: str = "", arguments: dict[str, Any] | None = None
) -> Question:
    sent = {"command": "make"} if arguments is None else arguments
    return Question(Call("1", name, sent), first, QUIET, reason=reason)


async def answer(*typed: str, asked: Question | None = None) -> Approval:
    approver = TerminalApprover(TerminalConversation(Typist(typed)), Path())
    return await approver.approve(asked or question())


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
        (["p", "y"], Approved("once", frozenset(QUIET))),
        (["p", "a"], Approved("tool", frozenset(QUIET))),
        (["p", "n"], Rejected()),
        (["p", "p", "n"], Rejected()),
        (["", "yeah", "1", "y"], Approved("once")),
        ([], Rejected(nobody=True)),
        (["what"], Rejected(nobody=True)),
        (["p"], Rejected(nobody=True)),
    ],
)
async def test_each_answer_has_one_meaning_and_any_other_asks_again(typed: list[str], verdict: Approval):
    assert await answer(*typed) == verdict


async def test_where_only_keys_are_pressed_a_refusal_asks_for_its_reason():
    assert await TerminalApprover(Keys("n", lines=["use pytest "]), Path()).approve(question()) == Rejected(
        "use pytest"
    )
    assert await TerminalApprover(Keys("n", lines=[""]), Path()).approve(question()) == Rejected()
    assert await TerminalApprover(Keys("n"), Path()).approve(question()) == Rejected()


async def test_the_reading_and_planning_tools_are_offered_at_the_first_question_only():
    assert await answer("p", asked=question("glob")) == Approved("tools", frozenset(QUIET))
    assert await answer("p", "y", asked=question("glob", first=False)) == Approved("once")


async def test_what_was_granted_is_not_asked_again_unless_something_speaks_against_the_call():
    typist = Typist(["p", "n", "n"])
    approver = TerminalApprover(TerminalConversation(typist), Path())
    await approver.approve(question("bash"))
    assert await approver.approve(question("grep", first=False)) == Approved("tools", frozenset(QUIET))
    objected = question("grep", first=False, reason="it reads a secret\x1b[2J")
    assert await approver.approve(objected) == Rejected()
    assert "Why you are asked: it reads a secret\\x1b[2J\n" in typist.shown.getvalue()


async def test_a_question_that_was_answered_elsewhere_says_so_and_ends():
    class Waiting(Keys):
        async def key(self, prompt: str, choices: Sequence[Choice]) -> Picked | None:
            await asyncio.Event().wait()

    conversation = Waiting("")
    asked = asyncio.create_task(TerminalApprover(conversation, Path()).approve(question()))
    await asyncio.sleep(0)
    asked.cancel(ANSWERED_ELSEWHERE)
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert conversation.shown.getvalue().endswith("  answered in the player\n")


# --- changing the call ------------------------------------------------------------------------------


async def test_a_command_is_edited_as_text_and_approved_as_it_was_made():
    keys = Keys("e", edits=["make test\n"])
    assert await TerminalApprover(keys, Path()).approve(question()) == Approved(
        arguments={"command": "make test"}
    )
    assert keys.edited == [("make\n", ".sh")]


async def test_other_calls_are_edited_as_json():
    keys = Keys("e", edits=['{"path": "b", "n": 2}'])
    asked = question("read_file", arguments={"path": "a"})
    assert await TerminalApprover(keys, Path()).approve(asked) == Approved(arguments={"path": "b", "n": 2})
    assert keys.edited == [('{\n  "path": "a"\n}\n', ".json")]


@pytest.mark.parametrize("made", ["make\n", None])
async def test_a_call_that_was_not_changed_is_asked_about_again(made: str | None):
    keys = Keys("en", edits=[] if made is None else [made])
    assert await TerminalApprover(keys, Path()).approve(question()) == Rejected()
    assert "The call is as it was. Still: run bash?\n" in keys.shown.getvalue()


async def test_what_cannot_be_sent_can_be_changed_again_or_left():
    keys = Keys("een", edits=["{broken", '{"path": "b"}'])
    asked = question("read_file", arguments={"path": "a"})
    assert await TerminalApprover(keys, Path()).approve(asked) == Approved(arguments={"path": "b"})
    assert keys.edited[1] == ("{broken", ".json")
    given_up = Keys("eny", edits=["[]"])
    assert await TerminalApprover(given_up, Path()).approve(asked) == Approved()
    assert "That cannot be sent: the arguments of a call are a JSON object\n" in given_up.shown.getvalue()


@pytest.mark.parametrize(
    "call",
    [
        Call("1", "bash", {"command": "a\nb"}),
        Call("1", "bash", {"command": "a", "timeout": 3}),
        Call("1", "write_file", {"path": "ü", "content": "\x1b\n"}),
        Call("1", "read_file", '{"path": "a"}'),
    ],
)
def test_what_is_edited_means_the_call_again(call: Call):
    text, _ = editable(call)
    sent = {"path": "a"} if isinstance(call.arguments, str) else call.arguments
    assert from_edited(call, text) == sent


@pytest.mark.parametrize("text", ["", " \n", "x" * 1_000_001])
def test_a_command_that_is_none_is_refused(text: str):
    with pytest.raises(ValueError, match=r"no command|too long"):
        from_edited(Call("1", "bash", {"command": "a"}), text)


async def test_a_call_that_is_not_shown_whole_at_first_can_be_viewed():
    long = question("write_file", arguments={"path": "new", "content": "".join(f"{n}\n" for n in range(99))})
    keys = Keys("vn")
    assert await TerminalApprover(keys, Path("/nowhere")).approve(long) == Rejected()
    assert keys.offered == ["yapven"] * 2
    before, whole = keys.shown.getvalue().split("… 69 more lines")
    assert ("+98" in before, "+98" in whole) == (False, True)


# --- rules ------------------------------------------------------------------------------------------


def files(tmp_path: Path, *, trusted: bool = True) -> RuleFiles:
    return RuleFiles(tmp_path / "work", Places(tmp_path / "config", tmp_path / "claude"), trusted)


async def test_r_saves_a_rule_that_is_shown_before(tmp_path: Path):
    keys = Keys("r1uy")
    asked = question(arguments={"command": "git diff --stat"})
    approver = TerminalApprover(keys, tmp_path / "work", files(tmp_path))
    assert await approver.approve(asked) == Approved(rule="bash(git diff:*)")
    assert keys.offered == ["yapren", "12ob", "spub", "yb"]
    file = tmp_path / "config" / "settings.toml"
    assert file.read_text() == '[permissions]\nallow = ["bash(git diff:*)"]\n'
    shown = keys.shown.getvalue()
    assert shown.index('+allow = ["bash(git diff:*)"]') < shown.index("saved in")


@pytest.mark.parametrize("typed", ["rb", "r1b", "r1ub"])
async def test_a_rule_can_be_given_up_at_each_step_and_the_call_is_asked_about_again(
    typed: str, tmp_path: Path
):
    keys = Keys(f"{typed}n")
    approver = TerminalApprover(keys, tmp_path / "work", files(tmp_path))
    assert await approver.approve(question(arguments={"command": "git diff"})) == Rejected()
    assert not (tmp_path / "config").exists()
    assert "No rule was saved. Still: run bash?\n" in keys.shown.getvalue()


async def test_a_rule_can_hold_for_the_session_only(tmp_path: Path):
    approver = TerminalApprover(Keys("r1s"), tmp_path / "work", files(tmp_path))
    assert await approver.approve(question(arguments={"command": "git diff"})) == Approved(
        rule="bash(git diff:*)"
    )
    assert not (tmp_path / "config").exists()


async def test_another_rule_is_typed_and_one_that_is_not_understood_is_asked_for_again(tmp_path: Path):
    keys = Keys("ros", lines=["bash(", "todo(x)", "bash(git:*)"])
    approver = TerminalApprover(keys, tmp_path / "work", files(tmp_path))
    assert await approver.approve(question(arguments={"command": "git diff"})) == Approved(rule="bash(git:*)")
    assert "'bash(' is no rule" in keys.shown.getvalue()


async def test_no_rule_is_offered_where_something_speaks_against_the_call_or_nothing_can_be_saved(
    tmp_path: Path,
):
    objected, bare = Keys("n"), Keys("n")
    reason = question(reason="it deletes")
    await TerminalApprover(objected, tmp_path, files(tmp_path)).approve(reason)
    await TerminalApprover(bare, tmp_path).approve(question())
    assert (objected.offered, bare.offered) == (["yapen"], ["yapen"])


# --- questions of the model -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "picked"), [("2", "b"), (" 1 ", "a"), ("3", "3"), ("none", "none"), (None, None)]
)
async def test_a_number_picks_a_choice_and_anything_else_is_the_answer(line: str | None, picked: str | None):
    keys = Keys("", lines=[] if line is None else [line])
    assert await TerminalAsker(keys).ask("which?\x1b[2J", ["a", "b"]) == picked
    assert "which?\\x1b[2J" in keys.shown.getvalue()
