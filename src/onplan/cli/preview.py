"""What a call would do, as text for the person who must judge it: the command, the path, the change."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from onplan.cli.view.words import as_json, counted
from onplan.errors import OnplanError
from onplan.messages import Call
from onplan.tools.workspace import Workspace

_LINES = 30
_LARGEST = 200_000
"""Bytes of a file that is compared: a preview must be there at once."""


def preview(call: Call, root: Path) -> str:
    """The call in words; raises nothing, whatever the model sent as arguments."""
    if not isinstance(call.arguments, dict):
        return str(call.arguments)
    arguments = cast("Mapping[str, Any]", call.arguments)
    match call.name, arguments:
        case "bash", {"command": str(command)}:
            others = {name: value for name, value in arguments.items() if name != "command"}
            return f"{command}\n{_listed(others)}" if others else command
        case "write_file", {"path": str(path), "content": str(content)}:
            return "\n".join([path, *_written(root, path, content)])
        case "edit_file", {"path": str(path)}:
            return "\n".join([path, *_edits(arguments)])
        case _:
            return _listed(arguments)


def _listed(arguments: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {_value(value)}" for name, value in arguments.items())


def _value(value: object) -> str:
    return value if isinstance(value, str) else as_json(value)


def _written(root: Path, path: str, content: str) -> list[str]:
    after = content.splitlines()
    before = _current(root, path)
    if before is None:
        return [f"new file, {counted(len(after), 'line')}", *_short([f"+{line}" for line in after])]
    if len(before) + len(content) > _LARGEST:
        return [f"replaces the file: {counted(len(after), 'line')}", *_short([f"+{line}" for line in after])]
    changed = list(difflib.unified_diff(before.splitlines(), after, lineterm="", n=1))[2:]
    return ["replaces the file", *_short(changed or ["(no change)"])]


def _current(root: Path, path: str) -> str | None:
    try:
        workspace = Workspace(root)
        data, _ = workspace.read(workspace.resolve(path), limit=_LARGEST)
    except (OnplanError, OSError):
        return None
    return data.decode("utf-8", "replace")


def _edits(arguments: Mapping[str, Any]) -> list[str]:
    several: object = arguments.get("edits")
    edits = cast("list[object]", several) if isinstance(several, list) and several else [arguments]
    lines: list[str] = []
    for edit in edits:
        if not isinstance(edit, dict):
            return _listed(arguments).split("\n")
        values = cast("Mapping[str, Any]", edit)
        lines += [f"-{line}" for line in str(values.get("old", "")).splitlines()]
        lines += [f"+{line}" for line in str(values.get("new", "")).splitlines()]
        if values.get("replace_all"):
            lines.append("(every occurrence)")
    return _short(lines)


def _short(lines: list[str]) -> list[str]:
    if len(lines) <= _LINES:
        return lines
    return [*lines[:_LINES], f"… {len(lines) - _LINES} more lines"]
