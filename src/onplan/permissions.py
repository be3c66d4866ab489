"""Who lets a call run: rules, hooks and the shell guard first, then the person. The last before_tool hook.

The order of verdicts: hard deny > user's deny > hook's deny > guard's or hook's ask (a person answers, also
with `auto`) > auto > rule ask > user's allow > ask.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from onplan.errors import ConfigError, StoreError, ToolError
from onplan.hooks import Allow, Ask, Deny, Rewrite, View
from onplan.messages import Assistant, Call, Message, Note, ToolResult, User
from onplan.protocols import Approval, Approved, Approver, Question, Rejected
from onplan.rules import STRICTNESS, Place, Rule, Ruling, is_of_the_moment, matches, parse_rules, ruling
from onplan.toolset import Tool, parse_arguments

if TYPE_CHECKING:
    from onplan.shellguard import Verdict

NOBODY = (
    "this run has no one to approve it (no terminal, and --auto was not given). "
    "Do what you can without it, and say what is left to do"
)
NOBODY_TO_JUDGE = (
    "this needs a person's yes, also with --auto, and this run has no one to give it. "
    "Do what you can without it, and say what is left to do"
)
REFUSED = "the person refused it"
CHANGED = "they changed the call"

GUARDED = (
    ".git",
    ".onplan",
    ".claude",
    ".mcp.json",
    ".envrc",
    ".vscode/tasks.json",
    ".vscode/settings.json",
)
"""Files of a workspace that decide what runs later: a person answers for a write to one, also with `auto`."""

_WRITING = ("write_file", "edit_file")


class _Objection(msgspec.Struct, frozen=True):
    """What the guard or a hook has against a call, for a person to judge."""

    reason: str
    by: str

    @property
    def must(self) -> bool:
        """Whether only a person's answer to this very call will do."""
        return self.by != "rule"


class Permissions:
    """Asks for every call until the person allows more: this tool, the reading and planning tools, or all.

    `auto` lets everything run that is not denied and that no guard or hook wants a person for. It is a
    setting of this run and never stored with the session. `allowed` are the tools that the person allowed by
    name; `quiet` those that the first question offers to allow: they only read, or only plan.

    `rules` are the person's, from files and flags. `root` is where paths in rules start and `cwd` answers
    where bash is now. `sandboxed`: bash runs inside the sandbox and the person chose that it is not asked
    about there; a denial stands all the same. `preview` puts a call in words for the question.
    """

    def __init__(
        self,
        approver: Approver | None = None,
        *,
        auto: bool = False,
        allowed: Iterable[str] = (),
        quiet: Iterable[str] = (),
        rules: Iterable[Rule] = (),
        root: Path | None = None,
        home: Path | None = None,
        sandboxed: bool = False,
        preview: Callable[[Call], str] | None = None,
    ) -> None:
        self.auto = auto
        self.allowed = set(allowed)
        self.sandboxed = sandboxed
        self.cwd: Callable[[], Path] | None = None
        self.answer: Callable[[Approver, Question], Awaitable[Approval]] | None = None
        self._rules = tuple(rules)
        self._preview = preview
        self._place = Place(
            Path.cwd() if root is None else root.resolve(), (Path.home() if home is None else home).resolve()
        )
        self._approver = approver
        self._quiet = tuple(quiet)
        self._asked = False

    @property
    def mode(self) -> str:
        """The permission mode in the words of the hooks' contract."""
        return "bypassPermissions" if self.auto else "default"

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._rules

    def add_rules(self, rules: Iterable[Rule]) -> None:
        """More of the person's rules, from now on."""
        self._rules = (*self._rules, *(rule for rule in rules if rule not in self._rules))

    def drop_rules(self, rules: Iterable[Rule]) -> None:
        """Without these rules from now on, wherever each was from."""
        dropped = {(rule.verdict, rule.tool, rule.pattern) for rule in rules}
        self._rules = tuple(
            rule for rule in self._rules if (rule.verdict, rule.tool, rule.pattern) not in dropped
        )

    async def before_tool(
        self, call: Call, tool: Tool, view: View
    ) -> Allow | Deny | tuple[Rewrite, Allow | Deny, Note]:
        """The verdict on a call, given what the hooks before this one said of it. A call that the person
        changed is judged again as they made it: what is never run is not run for them either."""
        asked, verdict = call, await self._verdict(call, view)
        while isinstance(verdict, Call):
            asked, verdict = verdict, await self._verdict_on_change(verdict, view)
        return verdict if asked is call else (Rewrite(asked.arguments), verdict, _told_of_change(asked))

    async def _verdict(self, call: Call, view: View) -> Allow | Deny | Call:
        verdict = self._weighed(call, view.decided)
        return verdict if isinstance(verdict, (Allow, Deny)) else await self._ask(call, view, verdict)

    async def _verdict_on_change(self, call: Call, view: View) -> Allow | Deny | Call:
        """To change a call is to say yes to it, unless the guard or a hook has something against it now."""
        verdict = self._weighed(call, view.decided)
        if isinstance(verdict, Deny):
            return verdict
        if isinstance(verdict, _Objection) and verdict.must:
            answer = await self._ask(call, view, verdict)
            return Allow("person", f"{CHANGED}; {answer.reason}") if isinstance(answer, Allow) else answer
        return Allow("person", CHANGED)

    # --- without a person ---

    def _weighed(self, call: Call, decided: Sequence[Allow | Ask | Deny]) -> Allow | Deny | _Objection | None:
        # A failing hook lets pass, but a judgement that failed is no permission.
        try:
            return self._judged(call, decided)
        except Exception as error:  # noqa: BLE001 - whatever it is, a person has to look
            return _Objection(f"it could not be judged ({type(error).__name__}: {error})", "guard")

    @property
    def _line_rules(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self._rules if rule.tool == "bash" and rule.pattern)

    def _judged(self, call: Call, decided: Sequence[Allow | Ask | Deny]) -> Allow | Deny | _Objection | None:
        """A verdict; or what a person has to judge, `None` where nothing is special about the call."""
        arguments = _arguments(call)
        line = self._line(call, arguments, self._line_rules)
        guard = line if line is not None and line.by == "guard" else None
        said = self._said(call, arguments, line)
        if guard and guard.decision == "deny":
            return Deny(f"{guard.reason.rstrip('.')}. This is never run; find another way", "guard")
        if said and said.verdict == "deny":
            told = f"a rule forbids it ({said.rule.told}). Do not try to get around it; ask what they want"
            return Deny(told, "rule", rule=said.rule.told)
        if denial := _last(decided, Deny):
            return denial
        if asking := _last(decided, Ask):
            return _Objection(asking.reason or "a hook asks for it", asking.by)
        free = self.sandboxed and call.name == "bash"
        if guard and not free:
            return _Objection(guard.reason, "guard")
        if reason := self._guarded_path(call, arguments):
            return _Objection(reason, "guard")
        if self.auto:
            return Allow("auto")
        if free:
            return Allow("sandbox", "commands inside the sandbox are not asked about")
        if said and said.verdict == "ask":
            return _Objection(f"your rule asks for it: {said.rule.told}", "rule")
        return self._allowed(call, said, _last(decided, Allow))

    def _allowed(self, call: Call, said: Ruling | None, hook: Allow | None) -> Allow | None:
        if said is not None:
            return Allow("rule", rule=said.rule.told)
        if call.name in self.allowed:
            return Allow("session", f"{call.name} was allowed for this session")
        return hook

    def _said(self, call: Call, arguments: Mapping[str, Any], line: Verdict | None) -> Ruling | None:
        """What the person's rules say: those for whole tools and paths, and those for lines of bash."""
        whole = ruling(self._rules, call.name, arguments, self._place)
        found = [one for one in (whole, self._said_of_line(call, arguments, line)) if one is not None]
        return max(found, key=lambda one: STRICTNESS[one.verdict], default=None)

    def _said_of_line(self, call: Call, arguments: Mapping[str, Any], line: Verdict | None) -> Ruling | None:
        if line is None or not self._line_rules:
            return None
        verdict = "allow" if line.allowed else line.decision if line.by == "rule" else "pass"
        if verdict == "pass":
            return None
        rules = [rule for rule in self._line_rules if rule.verdict == verdict]
        named = next((rule for rule in rules if self._speaks(rule, call, arguments)), None)
        if verdict == "allow":
            return Ruling("allow", named or rules[0])  # else several of them together
        if named is None:
            return None  # only a part of the line is allowed: an ordinary question
        if verdict == "ask" and (now := self._allowed_for_now(call, arguments)):
            return Ruling("allow", now)
        return Ruling(verdict, named)

    def _speaks(self, rule: Rule, call: Call, arguments: Mapping[str, Any]) -> bool:
        """Whether this rule alone would come to its verdict: the audit names the one that decided."""
        found = self._line(call, arguments, (rule,))
        if found is None:
            return False
        return found.allowed if rule.verdict == "allow" else found.decision == rule.verdict

    def _allowed_for_now(self, call: Call, arguments: Mapping[str, Any]) -> Rule | None:
        """What the person allowed for this session or run outweighs a question that a file asks."""
        now = [rule for rule in self._line_rules if is_of_the_moment(rule)]
        allows = [rule for rule in now if rule.verdict == "allow"]
        found = self._line(call, arguments, now) if allows else None
        return allows[0] if found is not None and found.allowed else None

    def _line(self, call: Call, arguments: Mapping[str, Any], rules: Sequence[Rule]) -> Verdict | None:
        """What a line of bash would do, and what these rules say of its commands."""
        text = arguments.get("command")
        if call.name != "bash" or not isinstance(text, str):
            return None
        from onplan.shellguard import Rule as LineRule
        from onplan.shellguard import judge

        cwd = self._place.root if self.cwd is None else self.cwd()
        told = tuple(LineRule(rule.verdict, rule.pattern) for rule in rules)
        return judge(text, cwd=str(cwd), home=str(self._place.home), rules=told)

    def _guarded_path(self, call: Call, arguments: Mapping[str, Any]) -> str:
        if call.name not in _WRITING:
            return ""
        for pattern in GUARDED:
            guarding = Rule("ask", call.name, pattern)
            if matches(guarding, call.name, arguments, self._place):
                return f"it writes to {pattern}, which decides what runs later"
        return ""

    # --- with a person ---

    async def _ask(self, call: Call, view: View, objection: _Objection | None) -> Allow | Deny | Call:
        """The person's verdict; or the call as they changed it, to be judged again."""
        reason = objection.reason if objection else ""
        must = objection is not None and objection.must
        nobody = Deny(_nobody(reason) if must else NOBODY, "nobody", nobody=True)
        if before := _refusal_before(call, view.messages):
            return Deny(f"{REFUSED} before; do not try it again unchanged, ask what they want", before)
        if self._approver is None:
            return nobody
        quiet = () if must else tuple(name for name in self._quiet if name not in self.allowed)
        shown = self._shown(call)
        question = Question(call, not self._asked and not must, quiet, preview=shown, reason=reason)
        self._asked = self._asked or not must
        told = f"asked by {objection.by}: {reason}" if objection else ""
        match await self._answer(self._approver, question):
            case Approved(scope=scope, tools=tools, arguments=changed, rule=rule):
                if scope == "tool":
                    self.allowed.add(call.name)
                self.allowed |= tools
                if changed is not None and changed != call.arguments:
                    return Call(call.id, call.name, changed)
                kept = "" if scope == "once" else f"allowed for this session ({scope})"
                saved = f"and gave the rule {rule}" if rule and self._keeps(rule) else ""
                return Allow("person", "; ".join(part for part in (kept, saved, told) if part))
            case Rejected(nobody=True):
                return nobody
            case Rejected(reason=why):
                said = f"they said: {why}" if why else "do not try it again unchanged; ask what they want"
                return Deny(f"{REFUSED}; {said}", "person")

    def _shown(self, call: Call) -> str:
        try:
            return self._preview(call) if self._preview else ""
        except Exception:  # noqa: BLE001 - the approver shows the call itself then
            return ""

    def _keeps(self, rule: str) -> bool:
        """Whether the rule that an approver says was saved is one."""
        try:
            self.add_rules(parse_rules(rule, "allow", "session"))
        except ConfigError:
            return False
        return True

    async def _answer(self, approver: Approver, question: Question) -> Approval:
        # A failing hook lets pass, but a question that failed is no permission.
        try:
            ask = self.answer
            answer: object = await (ask(approver, question) if ask else approver.approve(question))
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, nobody has said yes
            return Rejected(nobody=True)
        match answer:
            case Approved() | Rejected():
                return answer
            case _:
                return Rejected(nobody=True)


def _arguments(call: Call) -> Mapping[str, Any]:
    """The arguments as the tool will read them; none where it will refuse to read them."""
    try:
        return parse_arguments(call.arguments, call.name)
    except ToolError:
        return {}


def _meant(call: Call) -> object:
    """The arguments as an object also where they came as its text."""
    try:
        return parse_arguments(call.arguments, call.name)
    except ToolError:
        return call.arguments


def _nobody(reason: str) -> str:
    return f"{reason.rstrip('.')}: {NOBODY_TO_JUDGE}"


def _last(decided: Sequence[Allow | Ask | Deny], kind: type[Any]) -> Any:
    return next((one for one in reversed(decided) if isinstance(one, kind)), None)


def _told_of_change(call: Call) -> Note:
    sent = json.dumps(call.arguments, ensure_ascii=False, default=str)
    text = f"The person changed this call of {call.name} before it was judged and run. It is now: {sent}"
    return Note(text, "changed_call")


def _refusal_before(call: Call, messages: Sequence[Message]) -> str:
    """Who refused the same call since the person last spoke; empty if nobody did."""
    refused: dict[str, str] = {}
    for message in reversed(messages):
        match message:
            case User() | Note(kind="steering"):
                return ""
            case ToolResult(call_id=call_id, outcome="denied", details=details):
                by = str(cast("Mapping[str, Any]", details or {}).get("denied", ""))
                refused[call_id] = by
            case Assistant():
                for earlier in message.calls:
                    same = earlier.name == call.name and _meant(earlier) == _meant(call)
                    if same and refused.get(earlier.id) == "person":
                        return "person"
            case _:
                pass
    return ""
