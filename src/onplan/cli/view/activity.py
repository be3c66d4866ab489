"""A run as it happens: text block by block, each tool call on one line, what changed of the plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from onplan.cli.view.calls import beside, call_line, diff_lines_of, is_folded, outcome_line, result_lines
from onplan.cli.view.code import Highlighter
from onplan.cli.view.compaction import compaction_words
from onplan.cli.view.markdown import MarkdownStream
from onplan.cli.view.plan import diff_summary, finished_plan, plan_changes, plan_panel
from onplan.cli.view.running import RunningCalls
from onplan.cli.view.screen import Line, Prose, Screen, Span, Spans
from onplan.cli.view.status import working_spans
from onplan.cli.view.words import counted
from onplan.events import (
    ApprovalRequested,
    Compacted,
    Decided,
    Event,
    PlanChanged,
    PrefixChanged,
    RequestStarted,
    Resumed,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    Warned,
)
from onplan.messages import Assistant, Call, Note, ToolResult, User
from onplan.plan.ledger import Diff
from onplan.plan.todo import Plan

_NOTES = {
    "reminder": "reminded of the plan",
    "continue": "asked to go on: todos are open",
    "changed_call": "told that you changed the call",
    "git": "told of what is not committed",
    "context": "told of changed instructions",
    "interrupted": "told that the turn before was interrupted",
    "plan": "shown the plan",
    "hook": "told what a hook says",
    "stop_hook": "asked to go on by a hook",
}
_PENDING_ROWS = 6
_KEPT = 50
"""How many folded results can be unfolded."""


class Activity:
    """Shows events on a screen, each once it is whole.

    `final`: also the text of the reply that ends a turn, as it streams in; without it only the text that goes
    along with calls. `numbered`: says which reply it is. `side_by_side`: tools whose calls may run together,
    so that each is shown only once it has its result. `live`: somebody draws `live()` below what is written,
    so that no line is left open for its end, and the plan is shown by what changed of it. `plan`: as it
    stands, where the session goes on.
    """

    def __init__(
        self,
        screen: Screen,
        *,
        final: bool,
        numbered: bool = False,
        side_by_side: frozenset[str] = frozenset(),
        live: bool = False,
        plan: Plan = Plan(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._screen = screen
        self._side_by_side = side_by_side
        self._final = final
        self._numbered = numbered
        self._live = live
        self._plan = plan
        self._clock = clock
        self._replies = 0
        self._calls: dict[str, Call] = {}
        self._running = RunningCalls(clock)
        self._judged: set[str] = set()  # calls that the person has seen as they are
        self._changed: PlanChanged | None = None
        self._heard = ""
        self._streamed = False
        self._markdown = MarkdownStream(
            screen.width, Highlighter() if screen.colour else None, mask=screen.mask
        )
        self._unsaid = ""
        self._after_text = True
        self._began: float | None = None
        self._doing = ""
        self._folded: list[tuple[Line, ...]] = []
        self._unfolded = 0

    # --- what is drawn besides ---

    @property
    def is_working(self) -> bool:
        """Whether a turn is under way."""
        return self._began is not None

    def live(self) -> list[Line]:
        """What is in progress: the text that is being written, what runs with the last lines of its output,
        and what is worked on since when. Nothing between turns. Every line has room."""
        if self._began is None:
            return []
        now = self._clock()
        pending: list[Line] = [*self._screen.wrapped(self._markdown.pending())[-_PENDING_ROWS:]]
        return [
            *pending,
            *self._running.lines(self._screen.width),
            working_spans(self._now_doing(), now - self._began, self._screen.width),
        ]

    def expand(self) -> list[Line]:
        """What the last line folded, whole; asked again, what the one before it did. Nothing if none is
        left; then it begins anew."""
        if self._unfolded >= len(self._folded):
            self._unfolded = 0
            return []
        self._unfolded += 1
        return list(self._folded[-self._unfolded])

    def _now_doing(self) -> str:
        active = self._plan.active
        if active is not None:
            return active.active_form or active.content
        return self._running.told or self._doing or "Working"

    # --- events ---

    def show(self, event: Event) -> None:
        match event:
            case User():
                self._begin()
                self._after_text = not self._live  # the message stands above
            case RequestStarted():
                self._begin()
                self._doing = "Waiting for the model"
            case ThinkingDelta():
                self._doing = "Thinking"
            case TextDelta(text=text):
                self._doing = "Writing"
                if self._final and not self._numbered:
                    self._hear(text)
            case Assistant():
                self._reply(event)
            case ApprovalRequested(call_id=call_id):
                self._judged.add(call_id)
            case Decided(call_id=call_id, arguments=ran) if ran is not None:
                self._call_changed(call_id, ran)
            case ToolStarted(call_id=call_id):
                self._started(self._call(call_id))
            case ToolProgress(call_id=call_id, text=text):
                self._running.heard(call_id, text)
            case PlanChanged():
                self._plan_changed(event)
            case ToolResult():
                self._result(event)
            case Note():
                self._note(event)
            case Compacted():
                self._compacted(event)
            case PrefixChanged(reason=reason):
                self._screen.say(Span(f"◦ requests begin differently from here: {reason}", "dim"))
            case Resumed(repaired=repaired) if repaired:
                cut = counted(len(repaired), "call")
                self._screen.say(Span(f"{cut} had been cut off; they are marked so", "dim"))
            case Warned(text=text):
                self._screen.say(Span(f"warning: {text}", "yellow"))
            case TurnEnded():
                self._end()
            case _:
                pass

    def _begin(self) -> None:
        if self._began is None:
            self._began = self._clock()

    def _end(self) -> None:
        """A reply that was cut off has left its beginning behind."""
        self._began = None
        self._running.clear()
        self._write(self._markdown.end())

    # --- text ---

    def _hear(self, text: str) -> None:
        """Text to a person is Markdown, to a program it stays as it came."""
        if self._screen.is_terminal:
            self._write(self._markdown.feed(text, self._screen.width))
            return
        self._heard += text
        whole, newline, self._heard = self._heard.rpartition("\n")
        if newline:
            self._screen.text(whole)
            self._streamed = True

    def _write(self, lines: list[Line]) -> None:
        """Lines of a text, apart from the calls before it."""
        if lines and not self._after_text:
            self._screen.line()
        self._after_text = self._after_text or bool(lines)
        self._screen.lines(lines)

    def _reply(self, reply: Assistant) -> None:
        self._replies += 1
        self._calls = {call.id: call for call in reply.calls}
        self._judged.clear()
        if self._numbered:
            self._screen.say(Span(f"reply {self._replies}", "bold"), "  ", reply.text)
        elif self._final:
            self._said(reply.text)
        elif reply.calls:
            self._aside(reply.text)
        else:
            self._unsaid = reply.text  # the result tells it, unless the turn goes on

    def _said(self, text: str) -> None:
        """The end of a text; all of it where nothing was streamed."""
        if self._screen.is_terminal:
            if not self._markdown.is_begun:
                self._write(self._markdown.feed(text, self._screen.width))
            self._write(self._markdown.end())
            return
        rest, self._heard = self._heard, ""
        streamed, self._streamed = self._streamed, False
        self._screen.text(rest if streamed else text)

    def _aside(self, text: str) -> None:
        if text:
            self._screen.say(Span(text, "dim"), indent=0)

    # --- calls ---

    def _call_changed(self, call_id: str, ran: object) -> None:
        """A hook or the person made another call of it: that one is shown."""
        self._calls[call_id] = Call(call_id, self._call(call_id).name, ran)
        self._judged.discard(call_id)

    def _started(self, call: Call) -> None:
        self._running.started(call)
        if not self._live and call.name not in self._side_by_side:
            self._screen.begin(*call_line(call))

    def _result(self, result: ToolResult) -> None:
        call = self._call(result.call_id)
        was_open = self._running.ended(result.call_id)
        changed, self._changed = self._changed, None
        outcome = outcome_line(result)
        if changed is not None:
            told = f"r{changed.revision} {diff_summary(Diff.from_json(changed.diff))}"
            outcome = (Span(" → ", "dim"), Span(told, "dim"))
        if self._screen.is_open and was_open:
            self._screen.end(*outcome)
        else:
            self._screen.line(*beside(call_line(call), outcome, self._screen.width))
        if changed is not None:
            self._panel(changed)
        elif self._shows_changes and result.call_id not in self._judged:
            self._screen.lines(diff_lines_of(result))
        if changed is None and is_folded(call, result, self._screen.width):
            self._fold(result_lines(call, result, self._screen.mask))
        self._after_text = False

    @property
    def _shows_changes(self) -> bool:
        """A person sees what an edit changed; where replies are numbered the result is shown at the end."""
        return self._screen.is_terminal and not self._numbered

    def _call(self, call_id: str) -> Call:
        return self._calls.get(call_id) or Call(call_id, "(unknown)", {})

    def _fold(self, lines: list[Line]) -> None:
        self._folded = [*self._folded[1 - _KEPT :], tuple(lines)]
        self._unfolded = 0

    # --- the plan and the rest ---

    def _plan_changed(self, changed: PlanChanged) -> None:
        self._plan = Plan.from_json(changed.todos)
        if changed.author == "model":
            self._changed = changed  # shown below the call that made it
        else:
            self._panel(changed)

    def _panel(self, changed: PlanChanged) -> None:
        plan, diff = Plan.from_json(changed.todos), Diff.from_json(changed.diff)
        self._screen.lines(self._panel_of(plan)(plan, changed.revision, diff, changed.author))

    def _panel_of(self, plan: Plan) -> Callable[[Plan, int, Diff, str], Iterator[Line]]:
        if not self._live:
            return plan_panel
        return plan_changes if plan.open or not plan.todos else finished_plan

    def _note(self, note: Note) -> None:
        unsaid, self._unsaid = self._unsaid, ""
        self._aside(unsaid)
        if note.kind == "steering":
            self._screen.say(Span("› ", "cyan"), note.text)
            return
        title: Spans = (Span(f"◦ {_NOTES.get(note.kind, note.kind)}", "dim"),)
        self._screen.line(*title)
        self._fold([title, *(Prose((f"  {line}",), 2) for line in note.text.split("\n"))])

    def _compacted(self, event: Compacted) -> None:
        self._screen.say(Span(f"◦ {compaction_words(event)}", "yellow" if event.error else "dim"))
