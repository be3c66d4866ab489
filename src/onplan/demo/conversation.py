"""What the demo model knows: the task, and what the tools have really answered since it was given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from onplan.messages import Assistant, Call, Message, ToolResult, User
from onplan.protocols import Request

_GO_ON = re.compile(r"\s*(please\s+)?(continue|go on|carry on|resume|keep going|weiter)\b.*", re.I | re.S)
_NOTICE = re.compile(r"\(.*\)")
_READ_NOTICE = re.compile(r"\((?:lines \d+-\d+ of (?P<total>[\d,]+)\b.*|not UTF-8.*|empty file)\)")
_MAX_WINDOWS = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """A call that ran, or was refused, with its result. `late`: after the person's last message."""

    call: Call
    result: ToolResult
    late: bool

    @property
    def ok(self) -> bool:
        return self.result.outcome == "ok"

    def argument(self, key: str) -> Any:
        sent: Any = self.call.arguments
        return cast("dict[str, Any]", sent).get(key) if isinstance(sent, dict) else None


@dataclass(frozen=True, slots=True)
class Work:
    """The state of the task, read from the conversation alone. `task` is empty when nothing was asked for.

    A call that was interrupted or never started is not among the `answers`, so it is made again.
    `reported`: a reply without calls has been given since the person's last message.
    """

    task: str
    answers: tuple[Answer, ...]
    calls_so_far: int
    reported: bool

    def of(self, *tools: str) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if answer.call.name in tools)

    @property
    def denied(self) -> Answer | None:
        return next((item for item in self.answers if item.late and item.result.outcome == "denied"), None)

    def listing(self, pattern: str) -> tuple[str, ...] | None:
        """The paths that a glob found, or `None` if it was not asked yet."""
        for answer in reversed(self.of("glob")):
            if answer.argument("pattern") == pattern:
                return _paths(answer.result.content) if answer.ok else ()
        return None

    def asked_for(self, path: str) -> bool:
        return any(answer.argument("path") == path for answer in self.of("read_file"))

    def file(self, path: str) -> str:
        """The text of a file from its beginning as far as it was read, or nothing."""
        return "\n".join(self._beginning(path).lines)

    def is_whole(self, path: str) -> bool:
        read = self._beginning(path)
        return len(read.lines) >= read.total

    def rest_of(self, path: str) -> list[tuple[int, int]]:
        """The windows, as (offset, limit), that hold the rest of a file that was read once and cut.

        They are smaller than the first, so that the tool does not cut them again.
        """
        read = self._pieces(path)
        if len(read) != 1 or self.is_whole(path):
            return []
        (first,) = read
        step = max(len(first.lines) * 2 // 3, 1)
        starts = range(len(first.lines) + 1, first.total + 1, step)
        return [(start, step) for start in starts[:_MAX_WINDOWS]]

    def _beginning(self, path: str) -> _Piece:
        lines: tuple[str, ...] = ()
        total = 0
        for piece in self._pieces(path):
            # What follows a gap would be taken for the continuation of what goes before it.
            if piece.start <= len(lines) + 1:
                lines = (*lines[: piece.start - 1], *piece.lines)
            total = piece.total
        return _Piece(1, lines, total)

    def _pieces(self, path: str) -> list[_Piece]:
        reads = [answer for answer in self.of("read_file") if answer.argument("path") == path and answer.ok]
        return sorted((_piece(answer) for answer in reads), key=lambda piece: piece.start)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Lines of a file of `total` lines, from line `start` on."""

    start: int
    lines: tuple[str, ...]
    total: int


def _piece(answer: Answer) -> _Piece:
    start = answer.argument("offset") or 1
    lines = answer.result.content.splitlines()
    total = 0
    while lines and (notice := _READ_NOTICE.fullmatch(lines[-1])):
        total = int((notice["total"] or f"{total}").replace(",", ""))
        lines.pop()
    return _Piece(start, tuple(lines), total or start - 1 + len(lines))


def work_of(request: Request, wants: re.Pattern[str]) -> Work:
    """Read the conversation. The task is the last message that matches `wants`, if it still stands.

    It stands when it is the person's last message, or all that came after it asks to go on.
    """
    users = [(at, message.text) for at, message in enumerate(request.messages) if isinstance(message, User)]
    start, task = next(((at, text) for at, text in reversed(users) if wants.search(text)), (0, ""))
    if any(at > start and not _GO_ON.fullmatch(text) for at, text in users):
        task = ""
    last = users[-1][0] if users else 0
    messages = request.messages
    reported = any(isinstance(item, Assistant) and not item.calls for item in messages[last:])
    return Work(task, tuple(_answers(messages, start, last)), _count_calls(messages), reported)


def _answers(messages: Sequence[Message], start: int, last: int) -> Iterator[Answer]:
    calls: dict[str, Call] = {}
    for at, message in enumerate(messages):
        if at < start:
            continue
        match message:
            case Assistant():
                calls.update((call.id, call) for call in message.calls)
            case ToolResult(call_id=call_id, outcome=outcome) if call_id in calls:
                late = at > last
                if outcome in ("ok", "error") or (outcome == "denied" and late):
                    yield Answer(calls[call_id], message, late)
            case _:
                pass


def _count_calls(messages: Sequence[Message]) -> int:
    return sum(len(message.calls) for message in messages if isinstance(message, Assistant))


def _paths(content: str) -> tuple[str, ...]:
    if content.startswith("No files match"):
        return ()
    lines = [line.strip().removeprefix("./") for line in content.splitlines()]
    return tuple(line for line in lines if line and not _NOTICE.fullmatch(line) and not line.endswith("/"))
