"""The results that calls lack after a crash, a failure of the log, or a cut."""

from __future__ import annotations

from collections.abc import Sequence

from onplan.events import Record, ToolStarted
from onplan.execution import interrupted_result
from onplan.messages import Assistant, Call, ToolResult


def missing_results(records: Sequence[Record], by: str = "when the process ended") -> list[ToolResult]:
    """A result for each call of the last reply that has none, in call order.

    A call that was started may have had effects; one that was not has had none (I1). Repairing twice
    finds nothing the second time.
    """
    unanswered = Unanswered()
    for record in records:
        unanswered.fold(record)
    return unanswered.results(by)


class Unanswered:
    """The calls of the last reply that have no result yet."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._started: set[str] = set()

    def fold(self, record: Record) -> None:
        match record:
            case Assistant():
                self._calls, self._started = {call.id: call for call in record.calls}, set()
            case ToolStarted(call_id=call_id):
                self._started.add(call_id)
            case ToolResult(call_id=call_id):
                self._calls.pop(call_id, None)
            case _:
                pass

    def results(self, by: str) -> list[ToolResult]:
        calls = self._calls.values()
        return [interrupted_result(call, started=call.id in self._started, by=by) for call in calls]
