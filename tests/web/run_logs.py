"""Session logs for tests of the player: generated ones of every kind of record, and long ones."""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import strategies as st

from onplan.events import (
    ApprovalRequested,
    Compacted,
    Decided,
    PlanEdited,
    PrefixChanged,
    Record,
    Resumed,
    SessionEnded,
    SessionStarted,
    ToolStarted,
    TurnEnded,
    decode_record,
    encode_record,
)
from onplan.messages import Assistant, Call, Message, Note, Outcome, Text, ToolResult, Usage, User
from onplan.plan.changes import Read, Refused, Unchanged, Written
from onplan.plan.settings import Settings
from onplan.plan.stored import outcome_to_json
from onplan.plan.todo import STATUSES, Fault, Plan, Todo
from onplan.planning import PlanFold
from onplan.session import Stamped, compacted, missing_results

TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "read_file",
        "description": "Read a file.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
    {
        "name": "read_todos",
        "description": "Show the plan.",
        "input_schema": {"type": "object", "properties": {}},
    },
)
BEGAN = 1_795_000_000.0
STARTED = SessionStarted(
    "a1b2c3d4", 1, "/work", "claude-sonnet-5-5", "Be brief.", TOOLS, Settings().to_json()
)

_texts = st.sampled_from(["", "ok", "déjà vu ✓", "a\nb\nc", "<b>x</b>", "x" * 700])
_contents = st.sampled_from(["Read the spec", "Write tests", "Fix the bug", "Fix bug 2", "文書を書く"])
_plans = st.lists(
    st.builds(Todo, _contents, st.sampled_from(STATUSES)), max_size=4, unique_by=lambda t: t.content
)
_usage = st.builds(
    Usage, st.integers(0, 9_000), st.integers(0, 900), st.integers(0, 9_000), st.integers(0, 90)
)
_models = st.sampled_from(["claude-sonnet-5-5", "claude-sonnet-5-5", "of-no-price"])
_verdicts: st.SearchStrategy[Literal["allow", "deny"]] = st.sampled_from(["allow", "allow", "deny"])
_outcomes: st.SearchStrategy[Outcome] = st.sampled_from(["ok", "ok", "error", "denied", "interrupted"])


class Writing:
    """A log under way: what is drawn next fits to what is there."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.view: list[Message] = []
        self.plan = PlanFold(Settings())
        self.calls = 0
        self.last_reply = 0
        self.put(STARTED)

    def put(self, record: Record) -> None:
        """As a session does: no message gets between calls and their results."""
        if isinstance(record, (User, Assistant, Note, Compacted, TurnEnded, SessionEnded)):
            for missing in missing_results(self.records[self.last_reply :]):
                self._put(missing)
        self._put(record)

    def _put(self, record: Record) -> None:
        if isinstance(record, Assistant):
            self.last_reply = len(self.records)
        self.records.append(record)
        self.plan.fold(record)
        match record:
            case User() | Assistant() | ToolResult() | Note():
                self.view.append(record)
            case Compacted():
                self.view = compacted(self.view, record)
            case _:
                pass

    def fresh(self, name: str, arguments: Any) -> Call:
        self.calls += 1
        return Call(f"call_{self.calls % 7}", name, arguments)  # some servers use ids again


@st.composite
def logs(draw: st.DrawFn) -> list[Stamped]:
    """A session with turns, plan writes of every outcome, edits, reminders, questions and compactions."""
    log = Writing()
    for _ in range(draw(st.integers(0, 8))):
        draw(st.sampled_from(_STEPS))(draw, log)
    return stamped(log.records)


def stamped(records: list[Record]) -> list[Stamped]:
    """What a log keeps of these records, one for each quarter of a second."""
    kept = [decode_record(encode_record(record)) for record in records]
    return [Stamped(record, BEGAN + number / 4) for number, record in enumerate(kept)]


def _user(draw: st.DrawFn, log: Writing) -> None:
    log.put(User(draw(_texts)))


def _round(draw: st.DrawFn, log: Writing) -> None:
    names = draw(st.lists(st.sampled_from(["read_file", "write_todos", "read_todos", "task"]), max_size=3))
    calls = [log.fresh(name, {"path": "a.py"} if name == "read_file" else {}) for name in names]
    parts = (Text(draw(_texts)), *calls)
    log.put(Assistant(parts, "tool_calls" if calls else "end", draw(_usage), draw(_models)))
    for call in calls:
        if draw(st.booleans()):
            log.put(ApprovalRequested(call.id, "what it does", draw(_texts)))
        verdict = draw(_verdicts)
        log.put(Decided(call.id, verdict, draw(st.sampled_from(["person", "auto"]))))
        if verdict == "allow":
            log.put(ToolStarted(call.id))
    for call in calls[: draw(st.integers(0, 3))]:
        log.put(_result(draw, log, call))


def _result(draw: st.DrawFn, log: Writing, call: Call) -> ToolResult:
    if call.name not in ("write_todos", "read_todos"):
        return ToolResult(call.id, call.name, draw(_texts), draw(_outcomes), changed=draw(st.booleans()))
    written = Written(log.plan.state.ledger.revision + 1, Plan(tuple(draw(_plans))))
    write = st.sampled_from([written, written, Unchanged(), Refused((Fault("too_long"),), "k")])
    outcome = Read() if call.name == "read_todos" else draw(write)
    failed = isinstance(outcome, Refused)
    details = {"plan": outcome_to_json(outcome)}
    return ToolResult(call.id, call.name, draw(_texts), "error" if failed else "ok", details)


def _note(draw: st.DrawFn, log: Writing) -> None:
    if draw(st.booleans()):
        log.put(Note(draw(_texts), "steering", "message"))
    plan = draw(st.sampled_from([None, {"kind": "stale"}, {"kind": "distance", "recites": True}]))
    log.put(Note(draw(_texts), "reminder" if plan else "notice", details={"plan": plan} if plan else None))


def _edit(draw: st.DrawFn, log: Writing) -> None:
    todos = tuple(Plan(tuple(draw(_plans))).to_json())
    log.put(PlanEdited(log.plan.state.ledger.revision + 1, todos, "edit"))


def _compaction(draw: st.DrawFn, log: Writing) -> None:
    log.put(Note("", "notice"))
    kept = draw(st.integers(0, len(log.view)))
    while kept and isinstance(log.view[-kept], ToolResult):  # whose call would be gone
        kept -= 1
    results = [m.call_id for m in log.view[len(log.view) - kept :] if isinstance(m, ToolResult)]
    shortened = {
        call_id: draw(st.sampled_from(["", "(shortened)"])) for call_id in results if draw(st.booleans())
    }
    head = (Note("What came before: much.", "summary"),)
    tail = (Note("The plan: …", "plan", details={"plan": {"shows": 1}}),) if draw(st.booleans()) else ()
    model = draw(st.sampled_from(["", "claude-sonnet-5-5"]))  # without one nothing was summed up
    usage = draw(_usage) if model else Usage()
    log.put(
        Compacted(
            "limit", kept, head, tail, shortened, 900, draw(st.sampled_from([0, 100])), "", model, usage
        )
    )


def _other(draw: st.DrawFn, log: Writing) -> None:
    log.put(
        draw(
            st.sampled_from(
                [
                    TurnEnded("done", 1, 2),
                    TurnEnded("model_error", 1, 2, error="no answer"),
                    PrefixChanged("another model", model="of-no-price"),
                    PrefixChanged("fewer tools", tools=TOOLS[:1]),
                    Resumed(()),
                    SessionEnded(),
                ]
            )
        )
    )


_STEPS = (_user, _round, _round, _round, _note, _edit, _compaction, _other)


def long_log(rounds: int, text: str = "line of output\n" * 12) -> list[Stamped]:
    """A session of many rounds, with a write of the plan every tenth."""
    log = Writing()
    log.put(User("Do all of it."))
    for number in range(rounds):
        if number % 10 == 0:
            done = number // 10 % 8
            plan = Plan(
                tuple(
                    Todo(f"Step {n}", "completed" if n < done else "in_progress" if n == done else "pending")
                    for n in range(8)
                )
            )
            call = log.fresh("write_todos", {"todos": plan.to_json()})
            details = {"plan": outcome_to_json(Written(log.plan.state.ledger.revision + 1, plan))}
            result = ToolResult(call.id, "write_todos", "Task list updated:", details=details)
        else:
            call = log.fresh("read_file", {"path": f"src/module_{number}.py"})
            result = ToolResult(call.id, "read_file", text)
        usage = Usage(2_000 + number, 60)
        log.put(Assistant((Text(f"Round {number}."), call), "tool_calls", usage, "claude-sonnet-5-5"))
        log.put(Decided(call.id, "allow", "auto"))
        log.put(ToolStarted(call.id))
        log.put(result)
    log.put(Assistant((Text("Done."),), "end", Usage(3_000, 10), "claude-sonnet-5-5"))
    log.put(TurnEnded("done", rounds, rounds + 1))
    return stamped(log.records)
