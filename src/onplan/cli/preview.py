"""What a call would do, as text for the person who must judge it: the command, the path, the change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from onplan.cli.view.code import Highlighter
from onplan.cli.view.markdown import diff_style
from onplan.cli.view.screen import Paint, Span
from onplan.cli.view.words import as_json, counted
from onplan.errors import OnplanError
from onplan.messages import Call
from onplan.plan.decode import Decoded, decode
from onplan.plan.dialect import DIALECTS, Dialect
from onplan.plan.todo import Rules, Todo
from onplan.tools.editing import Edit, apply_edits
from onplan.tools.workspace import Workspace

LINES = 30
_NEW = "new file"
_ANY_PLAN = Rules(max_items=None, max_in_progress=None, max_content=None)
_LARGEST = 200_000
"""Bytes of a file that is compared: a preview must be there at once."""


def preview(call: Call, root: Path, lines: int | None = LINES) -> str:
    """The call in words; raises nothing, whatever the model sent as arguments. `lines`: so many of a change
    at most, and how many there are more; `None`: all."""
    if not isinstance(call.arguments, dict):
        return str(call.arguments)
    arguments = cast("Mapping[str, Any]", call.arguments)
    match call.name, arguments:
        case "bash", {"command": str(command)}:
            others = {name: value for name, value in arguments.items() if name != "command"}
            return f"{command}\n{_listed(others)}" if others else command
        case "write_file", {"path": str(path), "content": str(content)}:
            told, change = _written(root, path, content)
            return "\n".join([path, told, *_short(change, lines)])
        case "edit_file", {"path": str(path)}:
            return "\n".join([path, *_short(_edited(root, path, arguments), lines)])
        case name, _ if name in DIALECTS:
            return _planned(DIALECTS[name], arguments)
        case _:
            return _listed(arguments)


def painter(call: Call, highlighter: Highlighter | None) -> Paint:
    """The colours of the preview of a call: a command and a new file have those of their language, the lines
    of a change those of what comes and goes."""

    def paint(lines: Sequence[str]) -> Iterable[Sequence[Span]]:
        match call.name, lines:
            case "bash", _ if highlighter:
                return _in_colours(lines, "bash", highlighter)
            case "write_file", [path, told, *added] if highlighter and told.startswith(_NEW):
                language = highlighter.language_of(path, "")
                return [[Span(path)], [Span(told)], *_added(added, language, highlighter)]
            case (("write_file" | "edit_file"), _):
                return ([Span(line, diff_style(line))] for line in lines)
            case _:
                return ([Span(line)] for line in lines)

    return paint


def _in_colours(lines: Sequence[str], language: str, highlighter: Highlighter) -> Sequence[Sequence[Span]]:
    """Nothing that is judged is pale: what tells nothing to a machine may be there to mislead a person."""
    found = highlighter.lines("\n".join(lines), language) if lines else None
    if found is None:
        return [[Span(line)] for line in lines]
    return [
        [Span(one.text, "plain" if one.style == "dim" else one.style) for one in spans] for spans in found
    ]


def _added(lines: Sequence[str], language: str, highlighter: Highlighter) -> Iterable[Sequence[Span]]:
    """Lines with a + in front, and the one that tells how many more there are."""
    code = _in_colours([line.removeprefix("+") for line in lines], language, highlighter)
    for line, spans in zip(lines, code, strict=True):
        yield [Span(line[: line.startswith("+")], "green"), *spans]


def _planned(dialect: Dialect, arguments: Mapping[str, Any]) -> str:
    """The todos of a plan write, a line each; as it was sent where it would be refused anyway."""
    decoded = decode(dict(arguments), dialect, _ANY_PLAN)
    if not isinstance(decoded, Decoded):
        return _listed(arguments)
    return "\n".join(_todo(todo, dialect) for todo in decoded.todos) or "(clears the plan)"


def _todo(todo: Todo, dialect: Dialect) -> str:
    """With all its characters: they are judged."""
    number = f"#{todo.id}: " if dialect.id_key and todo.id else ""
    return f"{dialect.mark(todo.status)} {number}{todo.content}".replace("\n", "\\n")


def _listed(arguments: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {_value(value)}" for name, value in arguments.items())


def _value(value: object) -> str:
    return value if isinstance(value, str) else as_json(value)


def _written(root: Path, path: str, content: str) -> tuple[str, list[str]]:
    after = content.splitlines()
    before = _current(root, path)
    if before is None:
        return f"{_NEW}, {counted(len(after), 'line')}", [f"+{line}" for line in after]
    if len(before) + len(content) > _LARGEST:
        return f"replaces the file: {counted(len(after), 'line')}", [f"+{line}" for line in after]
    return "replaces the file", _difference(_text(before), content)


def _current(root: Path, path: str) -> bytes | None:
    try:
        workspace = Workspace(root)
        data, _ = workspace.read(workspace.resolve(path), limit=_LARGEST)
    except (OnplanError, OSError):
        return None
    return data


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _difference(before: str, after: str) -> list[str]:
    import difflib

    changed = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return list(changed)[2:] or ["(no change)"]


def _edited(root: Path, path: str, arguments: Mapping[str, Any]) -> list[str]:
    """The difference that the edits would make; where they cannot be made, what they say."""
    edits = _edits(arguments)
    if edits is None:
        return _listed(arguments).split("\n")
    before = _current(root, path)
    if before is None:
        return ["(the file cannot be read)", *_told(edits)]
    if len(before) == _LARGEST:
        return list(_told(edits))
    try:
        after, _ = apply_edits(before, edits, path)
    except OnplanError as error:
        return [f"(this would fail: {str(error).splitlines()[0]})", *_told(edits)]
    return _difference(_text(before), _text(after))


def _edits(arguments: Mapping[str, Any]) -> list[Edit] | None:
    """`None` for what is no edit."""
    several: object = arguments.get("edits")
    given = cast("list[object]", several) if isinstance(several, list) and several else [arguments]
    edits: list[Edit] = []
    for one in given:
        match one:
            case {"old": str(old), "new": str(new)}:
                values = cast("Mapping[str, Any]", one)
                edits.append(Edit(old, new, values.get("replace_all") is True))
            case _:
                return None
    return edits


def _told(edits: Iterable[Edit]) -> Iterable[str]:
    for edit in edits:
        yield from (f"-{line}" for line in edit.old.splitlines())
        yield from (f"+{line}" for line in edit.new.splitlines())
        if edit.replace_all:
            yield "(every occurrence)"


def _short(lines: list[str], limit: int | None) -> list[str]:
    if limit is None or len(lines) <= limit:
        return lines
    return [*lines[:limit], f"… {len(lines) - limit} more lines"]
