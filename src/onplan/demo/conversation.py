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
_CUT = re.compile(r"\((?:.*\bof (?P<total>\d+))?.*\boffset=(?P<next>\d+).*\)")


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
        """The text of a file as far as it was read, or nothing."""
        return "\n".join(_without_notice(piece) for _, piece in sorted(self._pieces(path).items()))

    def rest_of(self, path: str, pieces: int) -> list[int]:
        """The lines where the unread pieces of a file begin, when it was cut; `pieces` in all at most."""
        read = self._pieces(path)
        notice = _CUT.fullmatch(_last_line(read[max(read)])) if read else None
        if notice is None:
            return []
        start, total = int(notice["next"]), int(notice["total"] or notice["next"])
        step = max((start - 1) // len(read), 1)
        tried = {
            answer.argument("offset") for answer in self.of("read_file") if answer.argument("path") == path
        }
        offsets = range(start, total + 1, step)[: pieces - len(read)]
        return [offset for offset in offsets if offset not in tried]

    def _pieces(self, path: str) -> dict[int, str]:
        """What was read of a file, by its first line."""
        return {
            answer.argument("offset") or 1: answer.result.content
            for answer in self.of("read_file")
            if answer.argument("path") == path and answer.ok
        }


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


def _last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2].strip()


def _without_notice(text: str) -> str:
    """The text of a file without the last line that says it goes on."""
    return text.rstrip().rpartition("\n")[0] if _CUT.fullmatch(_last_line(text)) else text
