"""Here-documents written as here-strings, for lines on which the grammar gives up; parses nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass

_START = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_][\w.-]*))")
_SUBSTITUTION = re.compile(r"\$\(|`")


@dataclass(frozen=True, slots=True)
class _Start:
    begin: int
    end: int
    delimiter: str
    quoted: bool
    tabs: bool


def lifted(text: str) -> str | None:
    """`text` with each here-document as a here-string; None if there is none or one cannot be written so."""
    pieces: list[str] = []
    position = index = 0
    starts = _starts(text)
    while index < len(starts):
        line_end = text.find("\n", starts[index].begin)
        if line_end < 0:
            return None
        after = line_end + 1
        while index < len(starts) and starts[index].begin < line_end:
            start = starts[index]
            index += 1
            body = _body(text, after, start)
            word = _word(body[0], quoted=start.quoted) if body is not None else None
            if body is None or word is None:
                return None
            pieces.extend((text[position : start.begin], "<<< ", word))
            position, after = start.end, body[1]
        pieces.append(text[position:line_end])
        position = after - 1
    return "".join(pieces) + text[position:] if pieces else None


def _body(text: str, after: int, start: _Start) -> tuple[str, int] | None:
    """The lines up to the delimiter, and where the line after it begins."""
    lines: list[str] = []
    while after < len(text):
        end = _line_end(text, after)
        line = text[after:end].lstrip("\t") if start.tabs else text[after:end]
        after = end + 1
        if line == start.delimiter:
            return "\n".join(lines), min(after, len(text) + 1)
        lines.append(line)
    return None


def _word(body: str, *, quoted: bool) -> str | None:
    if quoted:
        return "'" + body.replace("'", "'\\''") + "'"
    if '"' in body and _SUBSTITUTION.search(body):
        return None
    return '"' + body.replace('"', '\\"') + '"'


def _starts(text: str) -> list[_Start]:
    """Where here-documents begin: outside quotes, comments and the bodies of earlier ones."""
    found: list[_Start] = []
    states: list[str] = ["plain"]
    index = 0
    waiting: list[_Start] = []
    while index < len(text):
        char, state = text[index], states[-1]
        if char == "\\":
            index += 2
        elif state == "double" and char == '"':
            states.pop()
            index += 1
        elif text.startswith("$(", index):
            states.append("plain")
            index += 2
        elif state == "double":
            index += 1
        elif char == "'":
            index = text.find("'", index + 1) + 1 or len(text)
        elif char == '"':
            states.append("double")
            index += 1
        elif char == "(":
            states.append("plain")
            index += 1
        elif char == ")" and len(states) > 1:
            states.pop()
            index += 1
        elif char == "#" and (index == 0 or text[index - 1] in " \t\n;&|("):
            index = _line_end(text, index)
        elif char == "\n" and waiting:
            index = _behind(text, index + 1, waiting)
            waiting = []
        elif text.startswith("<<<", index):
            index += 3
        elif match := _START.match(text, index):
            start = _Start(
                index,
                match.end(),
                _delimiter(match),
                match.group(4) is None or "\\" in match.group(),
                bool(match.group(1)),
            )
            found.append(start)
            waiting.append(start)
            index = match.end()
        else:
            index += 1
    return found


def _delimiter(found: re.Match[str]) -> str:
    return found.group(2) or found.group(3) or found.group(4)


def _behind(text: str, after: int, waiting: list[_Start]) -> int:
    for start in waiting:
        body = _body(text, after, start)
        if body is None:
            return len(text)
        after = body[1]
    return after - 1


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end
