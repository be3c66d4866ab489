"""A session as a timeline, its verdicts, and the distance of the plan as a row of small blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from onplan.cli.view.calls import call_line, outcome_line, short_arguments
from onplan.cli.view.compaction import compaction_lines
from onplan.cli.view.plan import diff_lines, diff_summary
from onplan.cli.view.screen import Line, Prose, Span, Spans
from onplan.cli.view.words import counted
from onplan.events import (
    Compacted,
    Decided,
    PlanEdited,
    PrefixChanged,
    Record,
    Resumed,
    SessionEnded,
    SessionStarted,
    TurnEnded,
)
from onplan.messages import Assistant, Call, Message, Note, ToolResult, User
from onplan.permissions import CHANGED
from onplan.plan.settings import Settings
from onplan.plan.stats import Stats
from onplan.planning import PlanFold
from onplan.protocols import SessionInfo
from onplan.session import compacted

_BLOCKS = "▁▂▃▄▅▆▇█"
_ROW = 64


def timeline(info: SessionInfo, records: Sequence[Record], *, width: int | None) -> Iterator[Line]:
    """The session, turn by turn and round by round, with the number of each record in front, which is what
    `onplan fork --at` takes; then the distance and the figures."""
    yield Prose((Span(f"session {info.id}", "bold"), Span(f"  {info.cwd}", "dim")))
    told = _Told()
    digits = len(str(len(records)))
    for number, record in enumerate(records, 1):
        yield from _numbered(told.lines(record), f"{number:{digits}} ")
    yield from distance_lines(told.points, width=width)
    yield from figure_lines(told.fold.state.stats)


def audit_lines(records: Iterable[Record]) -> Iterator[Line]:
    """Every verdict: the call, what was decided, by whom or what, and why."""
    calls: dict[str, Call] = {}
    found = False
    for record in records:
        match record:
            case Assistant():
                calls.update({call.id: call for call in record.calls})
            case Decided(call_id=call_id):
                found = True
                yield _verdict(record, calls.get(call_id, Call(call_id, "(unknown)", {})))
            case _:
                pass
    if not found:
        yield (Span("no verdicts in this session", "dim"),)


def _verdict(decided: Decided, call: Call) -> Line:
    """Where a hook or the person changed the call, what ran."""
    changed = decided.arguments is not None
    ran = Call(call.id, call.name, decided.arguments) if changed else call
    style = "green" if decided.verdict == "allow" else "yellow"
    why = "; ".join(part for part in (decided.reason, decided.rule) if part)
    by_you = " by you" if decided.reason.startswith(CHANGED) else ""
    what = f"  {ran.name} {short_arguments(ran)}{f' (changed{by_you})' if changed else ''}"
    by = f"  by {decided.by}: {why}" if why else f"  by {decided.by}"
    return (Span(f"{decided.verdict:5}", style), what, Span(by, "dim"))


@dataclass(frozen=True, slots=True)
class Point:
    """A request: the distance of the plan in it, whether todos were open, and what followed it."""

    messages: int
    is_open: bool
    wrote: bool = False
    reminded: bool = False


def _numbered(lines: Iterator[Line], number: str) -> Iterator[Line]:
    """The first of a record's lines with its number, the others below it."""
    front = Span(number, "dim")
    for line in lines:
        match line:
            case Prose(spans=spans, indent=indent):
                yield Prose((front, *spans), indent + len(number))
            case _:
                yield (front, *line)
        front = Span(" " * len(number))


class _Told:
    """Folds records into lines, and the plan along with them."""

    def __init__(self) -> None:
        self.fold = PlanFold(Settings())
        self.points: list[Point] = []
        self._turn = 0
        self._round = 0
        self._calls: dict[str, Call] = {}
        self._view: list[Message] = []

    def lines(self, record: Record) -> Iterator[Line]:
        before = self.fold.state
        self.fold.fold(record)
        after = self.fold.state
        if isinstance(record, (User, Assistant, ToolResult, Note)):
            self._view.append(record)
        match record:
            case SessionStarted(model=model, parent=parent):
                yield (Span(f"model {model}, plan tool {after.dialect.name}", "dim"),)
                if parent:
                    yield (Span(f"began as a fork of {parent}", "dim"),)
            case User(text=text):
                self._turn, self._round = self._turn + 1, 0
                yield Prose((Span(f"turn {self._turn}", "bold"), f"  {text}"))
            case Assistant():
                self.points.append(Point(before.distance.messages, bool(before.plan.open)))
                yield from self._reply(record)
            case ToolResult():
                call = self._calls.get(record.call_id) or Call(record.call_id, record.name, {})
                revision = after.ledger.revision
                if revision == before.ledger.revision:
                    yield ("    ", *call_line(call), *outcome_line(record))
                    return
                self._mark(wrote=True)
                diff = after.ledger.revisions[-1].diff
                yield ("    ", *call_line(call), Span(f" → r{revision} {diff_summary(diff)}", "cyan"))
                yield from _indented(diff_lines(diff))
            case Note(kind=kind, details=details):
                plan = (details or {}).get("plan") or {}
                self._mark(reminded=bool(plan))
                why = f" ({plan['kind']})" if plan else ""
                yield (Span(f"    ◦ {kind}{why}", "yellow"),)
            case PlanEdited(action=action, revision=revision):
                yield (Span(f"  {action} by you → r{revision}", "cyan"),)
                yield from _indented(diff_lines(after.ledger.revisions[-1].diff))
            case Compacted(kept=kept):
                yield from compaction_lines(record, len(self._view) - kept)
                self._view = compacted(self._view, record)
            case TurnEnded():
                yield Prose((Span(f"  ended: {_ending(record)}", "dim"),), 4)
            case Resumed(repaired=repaired):
                cut = f", {len(repaired)} calls had been cut off" if repaired else ""
                yield (Span(f"resumed{cut}", "dim"),)
            case PrefixChanged(reason=reason):
                yield Prose((Span(f"requests begin differently from here: {reason}", "dim"),))
            case SessionEnded(reason=reason):
                yield (Span(f"session ended: {reason}", "dim"),)
            case _:
                pass

    def _reply(self, reply: Assistant) -> Iterator[Line]:
        self._calls = {call.id: call for call in reply.calls}
        cut = Span(" (cut off)", "yellow") if reply.stop == "interrupted" else ""
        if reply.calls:
            self._round += 1
            yield Prose(
                (Span(f"  round {self._round}", "bold"), f"  {reply.text}" if reply.text else "", cut), 4
            )
        else:
            yield Prose((Span("  reply", "bold"), f"  {reply.text}", cut), 4)

    def _mark(self, *, wrote: bool = False, reminded: bool = False) -> None:
        if self.points:
            last = self.points[-1]
            self.points[-1] = Point(
                last.messages, last.is_open, last.wrote or wrote, last.reminded or reminded
            )


def distance_lines(points: Sequence[Point], *, width: int | None) -> Iterator[Line]:
    """One block for each request, as high as the plan was far; below it `w` a write, `r` a reminder.

    `*` is both. A request without open todos is a `·`. Long sessions take several rows.
    """
    if not points:
        return
    top = max((point.messages for point in points if point.is_open), default=0)
    legend = f"  at most {counted(top, 'message')}; w write, r reminder"
    yield Prose((Span("distance of the plan", "bold"), Span(legend, "dim")), 4)
    room = _ROW if width is None else max(8, min(_ROW, width - 2))
    for start in range(0, len(points), room):
        row = points[start : start + room]
        yield ("  ", Span("".join(_block(point, top) for point in row), "cyan"))
        yield ("  ", Span("".join(_sign(point) for point in row).rstrip(), "dim"))


def figure_lines(stats: Stats) -> Iterator[Line]:
    """The figures of a run in a few lines."""
    calls = (
        f"  {counted(stats.requests, 'model call')}, {counted(stats.rounds, 'round')}, "
        f"{counted(stats.calls, 'call')} of other tools than the plan's"
    )
    plan = (
        f"  plan: {counted(stats.writes, 'write')}, {stats.refused} refused, {stats.unchanged} unchanged, "
        f"{counted(stats.reads, 'read')}, {stats.dropped} dropped, {stats.edits} by you"
    )
    distance = (
        f"  distance at most {counted(stats.max_messages, 'message')}, "
        f"{counted(stats.max_tokens, 'token')}; {counted(stats.reminders, 'reminder')}"
    )
    yield Prose((Span("figures", "bold"), calls), 4)
    yield Prose((plan,), 4)
    yield Prose((distance,), 4)


def _indented(lines: Iterable[Spans]) -> Iterator[Line]:
    return (("      ", *line) for line in lines)


def _block(point: Point, top: int) -> str:
    if not point.is_open:
        return "·"
    return _BLOCKS[min(len(_BLOCKS) - 1, point.messages * len(_BLOCKS) // (top + 1))]


def _sign(point: Point) -> str:
    if point.wrote and point.reminded:
        return "*"
    return "w" if point.wrote else "r" if point.reminded else " "


def _ending(ended: TurnEnded) -> str:
    reason = ended.reason.replace("_", " ")
    parts = [reason, counted(ended.rounds, "round"), counted(ended.requests, "request")]
    if ended.usage.total:
        parts.append(f"{ended.usage.total:,} tokens")
    if ended.nobody:
        parts.append(f"{ended.nobody} denied for want of a person")
    if ended.error:
        parts.append(ended.error)
    return " · ".join(parts)
