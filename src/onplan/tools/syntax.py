"""Whether a file still parses, for the kinds that the standard library can read."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

from onplan.tools.lines import BOM

_MAX_CHECKED = 1_000_000


def syntax_warning(shown: str, before: bytes | None, after: bytes) -> list[str]:
    """One line when a file stops parsing; work in progress is legitimate, so it is written all the same."""
    suffix = Path(shown).suffix
    fault = _fault(suffix, after)
    if fault is None or (before is not None and _fault(suffix, before) is not None):
        return []
    verb = "does not parse" if before is None else "no longer parses"
    return [f"warning: {shown} {verb}: {fault}"]


def _fault(suffix: str, data: bytes) -> str | None:
    if len(data) > _MAX_CHECKED:
        return None
    text = data.removeprefix(BOM).decode(errors="replace")
    try:
        match suffix:
            case ".py" | ".pyi":
                return _python_fault(text)
            case ".json":
                return _json_fault(text)
            case ".toml":
                return _toml_fault(text)
            case _:
                return None
    except (RecursionError, MemoryError, ValueError) as error:
        return str(error) or "it is nested too deeply"


def _python_fault(text: str) -> str | None:
    import ast

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        return f"line {error.lineno or 1}: {error.msg} ({version})"
    return None


def _json_fault(text: str) -> str | None:
    import json

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: {error.msg}"
    return None


def _toml_fault(text: str) -> str | None:
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column \d+\)", str(error))
        message = str(error).partition(" (at ")[0]
        return f"line {place[1]}: {message}" if place else message
    return None
