"""Who lets a call run: the person, call by call, until the person says otherwise. A before_tool hook."""

from __future__ import annotations

from collections.abc import Iterable

from onplan.hooks import Allow, Deny, View
from onplan.messages import Call
from onplan.protocols import Approval, Approved, Approver, Question, Rejected
from onplan.toolset import Tool

NOBODY = (
    "this run has no one to approve it (no terminal, and --auto was not given). "
    "Do what you can without it, and say what is left to do"
)


class Permissions:
    """Asks for every call until the person allows more: this tool, the reading and planning tools, or all.

    `auto` lets everything run without asking. It is a setting of this run and never stored with the
    session. `allowed` are the tools that the person allowed by name; `quiet` those that the first question
    offers to allow: they only read, or only plan.
    """

    def __init__(
        self,
        approver: Approver | None = None,
        *,
        auto: bool = False,
        allowed: Iterable[str] = (),
        quiet: Iterable[str] = (),
    ) -> None:
        self.auto = auto
        self.allowed = set(allowed)
        self._approver = approver
        self._quiet = tuple(quiet)
        self._asked = False

    async def before_tool(self, call: Call, tool: Tool, view: View) -> Allow | Deny:
        """The verdict on a call."""
        if self.auto:
            return Allow("auto")
        if call.name in self.allowed:
            return Allow("session", f"{call.name} was allowed for this session")
        if self._approver is None:
            return Deny(NOBODY, "nobody", nobody=True)
        quiet = tuple(name for name in self._quiet if name not in self.allowed)
        question = Question(call, first=not self._asked, quiet_tools=quiet)
        self._asked = True
        match await self._answer(self._approver, question):
            case Approved(scope=scope, tools=tools):
                if scope == "tool":
                    self.allowed.add(call.name)
                self.allowed |= tools
                return Allow("person", "" if scope == "once" else f"allowed for this session ({scope})")
            case Rejected(nobody=True):
                return Deny(NOBODY, "nobody", nobody=True)
            case Rejected(reason=reason):
                said = (
                    f"they said: {reason}" if reason else "do not try it again unchanged; ask what they want"
                )
                return Deny(f"the person refused it; {said}", "person")

    async def _answer(self, approver: Approver, question: Question) -> Approval:
        # A failing hook lets pass, but a question that failed is no permission.
        try:
            answer: object = await approver.approve(question)
        except Exception:  # noqa: BLE001 - whatever it is, nobody has said yes
            return Rejected(nobody=True)
        match answer:
            case Approved() | Rejected():
                return answer
            case _:
                return Rejected(nobody=True)
