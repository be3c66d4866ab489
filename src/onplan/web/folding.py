"""Folds a session's log into what the player's page shows, one record at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, TypeVar, cast

from onplan._version import __version__
from onplan.events import (
    ApprovalRequested,
    Compacted,
    Decided,
    PlanEdited,
    PrefixChanged,
    Record,
    SessionStarted,
    ToolStarted,
    TurnEnded,
)
from onplan.messages import Assistant, Note, ToolResult, User
from onplan.models.prices import Prices
from onplan.plan.settings import ReminderPolicy, Settings
from onplan.plan.state import State
from onplan.planning import PlanFold
from onplan.protocols import SessionInfo
from onplan.secrets import masked_value
from onplan.session import Stamped
from onplan.web.conversation import Conversation, When
from onplan.web.costs import Costs
from onplan.web.kinds import kind_of
from onplan.web.lens import Runtime, tool_faces
from onplan.web.masked import hidden_todos, masked_record
from onplan.web.phases import Phases
from onplan.web.run import KINDS, NO_CALL, NODES, Asked, Facts, PlanRevision, Run, Steps, ToolFace, Verdict
from onplan.web.words import changes, title

T = TypeVar("T")

SUBAGENT_TOOL = "task"
_LONGEST_TITLE = 80
_NODE = {name: number for number, name in enumerate(NODES)}
_KIND = {name: number for number, name in enumerate(KINDS)}


def run_of(
    info: SessionInfo,
    stamped: Iterable[Stamped],
    *,
    prices: Prices,
    runtime: Runtime | None = None,
    masked: bool = True,
) -> Run:
    """A whole session. `runtime`: what the runtime fills of each tool; the log has the schemas only.
    `masked`: what looks like a key is taken out."""
    folded = RunFold(prices, runtime, masked=masked)
    for item in stamped:
        folded.fold(item)
    return folded.run(info)


class RunFold:
    """Takes records in order, each once; answers the run so far, or what is new in it.

    `waiting`: the calls about which a person is asked now, by id. `hidden`: the contents of todos that are
    masked here, each with what it says in truth.
    """

    def __init__(self, prices: Prices, runtime: Runtime | None = None, *, masked: bool = True) -> None:
        self._masked = masked
        self._runtime = runtime or {}
        self._plan = PlanFold(Settings())
        self._talk = Conversation()
        self._phases = Phases()
        self._costs = Costs(prices)
        self._revisions: list[PlanRevision] = []
        self._verdicts: list[Verdict] = []
        self._asked: list[Asked] = []
        self.waiting: dict[str, int] = {}
        self.hidden: dict[str, str] = {}
        self._tools: tuple[ToolFace, ...] = ()
        self._tools_step = 0
        self._steps: dict[str, list[Any]] = {name: [] for name in Steps.__struct_fields__}
        self._when = When()
        self._node = _NODE["harness"]
        self._started = SessionStarted("", 1)
        self._began = self._time = 0.0
        self._ended = self._first = ""

    @property
    def seq(self) -> int:
        """The number of the last record."""
        return len(self._steps["at"])

    def fold(self, stamped: Stamped) -> None:
        record = self._shown(stamped.record)
        before = self._plan.state
        if isinstance(record, (Assistant, Compacted)):
            self._costs.charge(record, before.plan, self.seq)
        self._plan.fold(record)
        after = self._plan.state
        self._advance(record, stamped.time)
        revised = self._revise(before, after)
        call = self._call(record)
        self._keep(record, call, after)
        self._step(record, call, revised, kind_of(record, before, after))

    def run(self, info: SessionInfo, *, after: int = 0, live: bool = False) -> Run:
        """The run so far, or the piece of it that came after record `after`."""
        seen = self._steps["messages"][after - 1] if after else 0
        return Run(
            seq=self.seq,
            session=self._facts(info, live),
            after=after,
            steps=Steps(**{name: tuple(column[after:]) for name, column in self._steps.items()}),
            messages=tuple(self._talk.entries[seen:]),
            calls=tuple(self._talk.calls_after(seen)),
            verdicts=_since(self._verdicts, after),
            asked=_since(self._asked, after),
            revisions=_since(self._revisions, after),
            phases=self._phases.since(after),
            costs=self._costs.since(after),
            windows=_since(self._talk.windows, after),
            prefixes=_since(self._talk.prefixes, after),
            tools=self._tools if self._tools_step >= after else None,
        )

    # --- what a record adds ---

    def _shown(self, record: Record) -> Record:
        if not self._masked:
            return record
        shown = masked_record(record)
        if shown is not record:
            self.hidden.update(hidden_todos(record))
        return shown

    def _advance(self, record: Record, time: float) -> None:
        when = self._when
        self._began, self._time = (self._began if self.seq else time), time
        when.step, when.at = self.seq, max(0, round((time - self._began) * 1000))
        match record:
            case User(text=text):
                when.turn, when.round, self._ended = when.turn + 1, 0, ""
                self._first = self._first or " ".join(text.split())[:_LONGEST_TITLE]
            case Assistant():
                when.round += 1
            case TurnEnded(reason=reason):
                self._ended = reason
            case _:
                pass

    def _revise(self, before: State, after: State) -> str:
        """The new revision, if there is one, kept; and in words."""
        if after.ledger.revision == before.ledger.revision:
            return ""
        newest = after.ledger.revisions[-1]
        self._revisions.append(
            PlanRevision(
                newest.number,
                self.seq,
                newest.author,
                newest.action,
                self._phases.revise(before.plan, newest.plan, self.seq),
                newest.diff.to_json(),
                newest.plan.done,
            )
        )
        return changes(newest.number, newest.diff)

    def _call(self, record: Record) -> int:
        match record:
            case ToolStarted() | Decided() | ApprovalRequested() | ToolResult():
                return self._talk.call_of(record.call_id)
            case _:
                return NO_CALL

    def _keep(self, record: Record, call: int, plan: State) -> None:
        match record:
            case SessionStarted() | PrefixChanged():
                self._begin(record)
            case User() | Assistant():
                self._talk.add(record, self._when)
            case ToolResult():
                self.waiting.pop(record.call_id, None)
                self._talk.add(record, self._when, recites=plan.distance.messages == 0)
            case Note():
                self._talk.add(record, self._when, recites=plan.distance.messages == 0)
            case Decided(verdict=verdict, by=by, reason=reason, rule=rule, arguments=arguments):
                self.waiting.pop(record.call_id, None)
                self._verdicts.append(Verdict(self.seq, call, verdict, by, reason, rule, arguments))
            case ApprovalRequested(preview=preview, reason=reason):
                self.waiting[record.call_id] = call
                self._asked.append(Asked(self.seq, call, preview, reason))
            case Compacted():
                self._talk.compact(record, self._when)
            case _:
                pass

    def _begin(self, record: SessionStarted | PrefixChanged) -> None:
        self._started = record if isinstance(record, SessionStarted) else self._started
        self._talk.begin(record, self.seq)
        if record.tools is not None:
            self._tools = tool_faces(record.tools, self._runtime)
            self._tools_step = self.seq

    def _step(self, record: Record, call: int, revised: str, kind: str) -> None:
        self._node = self._lit(record, call)
        usage, distance = self._costs.usage, self._plan.state.distance
        values = (
            self._when.at,
            self._node,
            _KIND[kind],
            call,
            self._when.turn,
            self._when.round,
            len(self._talk.entries),
            len(self._revisions),
            distance.messages,
            distance.tokens,
            self._talk.context,
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            None if self._costs.cost is None else round(self._costs.cost, 6),
            title(record, self._talk.call(call), revised),
        )
        for column, value in zip(self._steps.values(), values, strict=True):
            column.append(value)

    def _lit(self, record: Record, call: int) -> int:
        """The node of the graph where the turn is after the record."""
        match record:
            case User() | PlanEdited() | Note(kind="steering"):
                return _NODE["user"]
            case Assistant():
                return _NODE["model"]
            case Decided() | ApprovalRequested():
                return _NODE["approval"]
            case ToolStarted() | ToolResult():
                named = self._talk.call(call)
                return _NODE["subagents" if named and named.name == SUBAGENT_TOOL else "tools"]
            case _:
                return _NODE["harness"]

    def _facts(self, info: SessionInfo, live: bool) -> Facts:
        settings = self._plan.state.settings
        policy = settings.reminder if isinstance(settings.reminder, ReminderPolicy) else None
        texts = {"title": info.title or self._first, "cwd": info.cwd or self._started.cwd}
        if self._masked:
            texts = cast("dict[str, str]", masked_value(texts))
        return Facts(
            id=info.id,
            model=self._talk.prefixes[-1].model if self._talk.prefixes else "",
            dialect=settings.dialect.name,
            created=self._began,
            updated=self._time,
            parent=self._started.parent,
            ended=self._ended,
            live=live,
            max_messages=policy.max_messages if policy else 0,
            max_tokens=policy.max_tokens if policy else 0,
            prices=self._costs.date,
            masked=self._masked,
            onplan=__version__,
            **texts,
        )


def _since(rows: list[Any], step: int) -> tuple[Any, ...]:
    return tuple(rows[bisect_left(rows, step, key=attrgetter("step")) :])
