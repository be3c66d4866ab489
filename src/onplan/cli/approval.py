"""Asks the person: whether a call may run, and what the model wants to know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from onplan.cli.allow import RuleFiles, save_rule
from onplan.cli.conversation import Choice, Conversation
from onplan.cli.preview import painter, preview
from onplan.cli.suggestions import suggested_rules
from onplan.cli.view.code import Highlighter
from onplan.cli.view.screen import Span
from onplan.messages import Call
from onplan.plan.text import visible
from onplan.protocols import ANSWERED_ELSEWHERE, Approval, Approved, Question, Rejected

_SHOWN = 200
"""Lines of a call that are shown at first."""
_EDITED_AT_MOST = 1_000_000


class TerminalApprover:
    """Shows what would run, whole and with every unseen character visible, and takes the answer.

    `y` allows this call, `a` this tool for the session, `r` saves a rule, `e` changes the call first, `n`
    refuses and may give the model a reason. The first question offers `p`: the tools that only read or plan,
    by name; the call itself is then still asked about unless it is one of them. What was typed before the
    question is no answer to it. Without `files` no rule can be saved.
    """

    def __init__(self, conversation: Conversation, root: Path, files: RuleFiles | None = None) -> None:
        self._conversation = conversation
        self._root = root
        self._files = files
        self._granted: frozenset[str] = frozenset()

    async def approve(self, question: Question) -> Approval:
        call = question.call
        if call.name in self._granted and not question.reason:
            return Approved("tools", self._granted)
        screen = self._conversation.screen
        screen.line()
        screen.line(Span("onplan asks: ", "yellow"), Span(f"run {visible(call.name)}?", "bold"))
        self._show(call, question.preview or preview(call, self._root))
        if question.reason:
            screen.say(f"Why you are asked: {visible(question.reason)}")
        self._conversation.forget()
        try:
            return await self._answer(question)
        except asyncio.CancelledError as cancelled:
            if cancelled.args == (ANSWERED_ELSEWHERE,):
                screen.say(Span("  answered in the player", "dim"))
            raise

    def _show(self, call: Call, text: str, *, limit: int | None = _SHOWN) -> None:
        screen = self._conversation.screen
        screen.judged(text, limit=limit, paint=painter(call, Highlighter() if screen.colour else None))

    async def _answer(self, question: Question) -> Approval:
        offered = question.quiet_tools if question.first else ()
        while True:
            picked = await self._conversation.key("", self._choices(question, offered))
            match picked.key if picked else "":
                case "":
                    return Rejected(nobody=True)
                case "y":
                    return Approved("once", self._granted)
                case "a":
                    return Approved("tool", self._granted)
                case "n":
                    return await self._refused(picked.rest if picked else "")
                case "p":
                    self._granted = frozenset(offered)
                    if question.call.name in self._granted:
                        return Approved("tools", self._granted)
                    offered = ()
                    self._again(question, "Allowed for this session. Still: ")
                case "v":
                    self._show(question.call, preview(question.call, self._root, None), limit=None)
                    self._again(question, "")
                case "r":
                    if rule := await self._rule(question.call):
                        return Approved("once", self._granted, rule=rule)
                    self._again(question, "No rule was saved. Still: ")
                case _:
                    if changed := await self._changed(question.call):
                        return Approved("once", self._granted, arguments=changed)
                    self._again(question, "The call is as it was. Still: ")

    def _choices(self, question: Question, offered: Sequence[str]) -> list[Choice]:
        name = visible(question.call.name)
        choices = [
            Choice("y", "yes, once", ("yes",)),
            Choice("a", f"yes, and {name} for the whole session", ("all", "always")),
        ]
        if offered:
            choices.append(Choice("p", f"what only reads or plans, for the session: {', '.join(offered)}"))
        if self._files is not None and not question.reason:
            choices.append(Choice("r", "yes, and save a rule for such calls", ("rule",)))
        if self._is_cut(question.call):
            choices.append(Choice("v", "view it whole", ("view",)))
        choices.append(Choice("e", "change the call first", ("edit",)))
        return [*choices, Choice("n", "no; a reason behind it goes to the model", ("no",))]

    def _is_cut(self, call: Call) -> bool:
        """Whether not all of what would happen is shown at first."""
        whole = preview(call, self._root, None)
        return whole.count("\n") >= _SHOWN or whole != preview(call, self._root)

    def _again(self, question: Question, told: str) -> None:
        asked = Span(f"run {visible(question.call.name)}?", "bold")
        self._conversation.screen.line(Span(told, "yellow"), asked)

    async def _refused(self, reason: str | None) -> Rejected:
        if reason is None:
            reason = await self._conversation.line("Why not, or what instead? (Enter: say nothing)")
        return Rejected((reason or "").strip())

    async def _rule(self, call: Call) -> str:
        """The rule that the person saved; empty if none."""
        if self._files is None:
            return ""
        offered = suggested_rules(call, self._root)
        saved = await save_rule(self._conversation, self._files, offered)
        return str(saved) if saved else ""

    async def _changed(self, call: Call) -> dict[str, Any] | None:
        """The arguments as the person changed them; `None` if they did not."""
        text, suffix = editable(call)
        while True:
            edited = await self._conversation.edit(text, suffix)
            if edited is None or edited.strip() == text.strip():
                return None
            try:
                return from_edited(call, edited)
            except ValueError as error:
                self._conversation.screen.say(Span(f"That cannot be sent: {error}", "yellow"))
                picked = await self._conversation.key(
                    "",
                    (
                        Choice("e", "change it again", ("edit",)),
                        Choice("n", "leave the call as it was", ("no",)),
                    ),
                )
                if picked is None or picked.key == "n":
                    return None
                text = edited


def editable(call: Call) -> tuple[str, str]:
    """A call as text for an editor, and the suffix of the file: a command as it is, else JSON."""
    match call.name, call.arguments:
        case "bash", {"command": str(command)} if len(call.arguments) == 1:
            return f"{command}\n", ".sh"
        case _, str(text):
            return text, ".json"
        case _:
            return json.dumps(call.arguments, ensure_ascii=False, indent=2, default=str) + "\n", ".json"


def from_edited(call: Call, text: str) -> dict[str, Any]:
    """The arguments that `text` means. Raises `ValueError`, one line."""
    if len(text) > _EDITED_AT_MOST:
        raise ValueError("it is too long")
    if editable(call)[1] == ".sh":
        if not text.strip():
            raise ValueError("no command is left (n refuses the call)")
        return {"command": text.rstrip("\n")}
    try:
        arguments: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} (at line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise ValueError("it nests too deep") from None
    if not isinstance(arguments, dict):
        raise ValueError("the arguments of a call are a JSON object")
    return cast("dict[str, Any]", arguments)


class TerminalAsker:
    """Puts a question of the model to the person; a number picks one of the choices."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def ask(self, question: str, choices: Sequence[str]) -> str | None:
        screen = self._conversation.screen
        screen.line()
        screen.line("The model asks:")
        screen.judged(question)
        for number, choice in enumerate(choices, 1):
            screen.line(f"  {number}. {visible(choice)}")
        self._conversation.forget()
        answer = await self._conversation.line("answer")
        if answer is None:
            return None
        picked = answer.strip()
        if picked.isdecimal() and 1 <= int(picked) <= len(choices):
            return choices[int(picked) - 1]
        return picked
