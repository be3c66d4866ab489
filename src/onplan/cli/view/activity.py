"""A run as it happens: each tool call on one line, plan changes as a panel, text line by line."""

from __future__ import annotations

from onplan.cli.view.calls import call_line, outcome_line
from onplan.cli.view.plan import diff_summary, plan_panel
from onplan.cli.view.screen import Screen, Span
from onplan.events import Event, PlanChanged, Resumed, TextDelta, ToolStarted, Warned
from onplan.messages import Assistant, Call, Note, ToolResult
from onplan.plan.ledger import Diff
from onplan.plan.todo import Plan


class Activity:
    """Shows events on a screen. `final`: also the text of the reply that ends a turn, as it streams in;
    without it only the text that goes along with calls. `numbered`: says which reply it is. `side_by_side`:
    tools whose calls may run together, so that each is shown only once it has its result.
    """

    def __init__(
        self,
        screen: Screen,
        *,
        final: bool,
        numbered: bool = False,
        side_by_side: frozenset[str] = frozenset(),
    ) -> None:
        self._screen = screen
        self._side_by_side = side_by_side
        self._final = final
        self._numbered = numbered
        self._replies = 0
        self._calls: dict[str, Call] = {}
        self._open = ""
        self._changed: PlanChanged | None = None
        self._heard = ""
        self._streamed = False
        self._unsaid = ""

    def show(self, event: Event) -> None:
        match event:
            case TextDelta(text=text):
                if self._final and not self._numbered:
                    self._hear(text)
            case Assistant():
                self._reply(event)
            case ToolStarted(call_id=call_id):
                self._started(self._call(call_id))
            case PlanChanged(author="model"):
                self._changed = event  # shown below the call that made it
            case PlanChanged():
                self._panel(event)
            case ToolResult():
                self._result(event)
            case Note():
                self._note(event)
            case Resumed(repaired=repaired) if repaired:
                self._screen.line(Span(f"{len(repaired)} calls had been cut off; they are marked so", "dim"))
            case Warned(text=text):
                self._screen.say(Span(f"warning: {text}", "yellow"))
            case _:
                pass

    def _hear(self, text: str) -> None:
        self._heard += text
        whole, newline, self._heard = self._heard.rpartition("\n")
        if newline:
            self._screen.text(whole)
            self._streamed = True

    def _reply(self, reply: Assistant) -> None:
        self._replies += 1
        self._calls = {call.id: call for call in reply.calls}
        rest, self._heard = self._heard, ""
        streamed, self._streamed = self._streamed, False
        if self._numbered:
            self._screen.say(Span(f"reply {self._replies}", "bold"), "  ", reply.text)
        elif self._final:
            self._screen.text(rest if streamed else reply.text)
        elif reply.calls:
            self._aside(reply.text)
        else:
            self._unsaid = reply.text  # the result tells it, unless the turn goes on

    def _started(self, call: Call) -> None:
        if call.name not in self._side_by_side:
            self._open = call.id
            self._screen.begin(*call_line(call))

    def _result(self, result: ToolResult) -> None:
        call = self._call(result.call_id)
        changed, self._changed = self._changed, None
        outcome = outcome_line(result)
        if changed is not None:
            told = f"r{changed.revision} {diff_summary(Diff.from_json(changed.diff))}"
            outcome = (Span(" → ", "dim"), Span(told, "dim"))
        if self._screen.is_open and self._open == result.call_id:
            self._screen.end(*outcome)
        else:
            self._screen.line(*call_line(call), *outcome)
        if changed is not None:
            self._panel(changed)

    def _panel(self, changed: PlanChanged) -> None:
        plan, diff = Plan.from_json(changed.todos), Diff.from_json(changed.diff)
        self._screen.lines(plan_panel(plan, changed.revision, diff, changed.author))

    def _note(self, note: Note) -> None:
        unsaid, self._unsaid = self._unsaid, ""
        self._aside(unsaid)
        told = {"reminder": "reminded of the plan", "continue": "asked to go on: todos are open"}
        self._screen.line(Span(f"◦ {told.get(note.kind, note.kind)}", "dim"))

    def _aside(self, text: str) -> None:
        if text:
            self._screen.say(Span(text, "dim"), indent=0)

    def _call(self, call_id: str) -> Call:
        return self._calls.get(call_id) or Call(call_id, "(unknown)", {})
