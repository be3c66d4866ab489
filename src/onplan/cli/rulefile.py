"""A rule put into a settings file of ours, or taken out: the text around it stays as the person wrote it."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from onplan.errors import ConfigError
from onplan.rules import Verdict

_HEADER = re.compile(r"^[ \t]*\[[ \t]*permissions[ \t]*\][ \t]*(?:#.*)?$", re.MULTILINE)
_NEXT = re.compile(r"^[ \t]*\[", re.MULTILINE)
_GAP = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a settings file holds, and what it is to hold. `before`: `None` where there is no file yet."""

    file: Path
    before: str | None
    after: str


def with_rule(file: Path, verdict: Verdict, rule: str) -> FileChange:
    """The file with one rule more, behind those of its kind. Raises `ConfigError`, one line."""
    before = _read(file)
    table = _parsed(file, before or "")
    if rule in _listed(file, table, verdict):
        return FileChange(file, before, before or "")
    wanted = copy.deepcopy(table)
    wanted.setdefault("permissions", {}).setdefault(verdict, []).append(rule)
    return _checked(file, before, _added(before or "", verdict, rule), wanted, f"add {_quoted(rule)} to")


def without_rule(file: Path, verdict: Verdict, rule: str) -> FileChange:
    """The file without this rule. Raises `ConfigError` where it is not in there."""
    before = _read(file)
    wanted = copy.deepcopy(_parsed(file, before or ""))
    listed = _listed(file, wanted, verdict)
    if rule not in listed:
        raise ConfigError(f"{file} holds no rule {verdict} {rule}")
    listed.remove(rule)
    return _checked(
        file, before, _removed(before or "", verdict, rule), wanted, f"take {_quoted(rule)} out of"
    )


def write(change: FileChange) -> None:
    """Put the new text in place of the old one, all or nothing. Raises `ConfigError`, one line.

    A file that has changed meanwhile is left alone. Its mode is kept; a link to it too.
    """
    if _read(change.file) != change.before:
        raise ConfigError(f"{change.file} has changed meanwhile: nothing was saved")
    file = Path(os.path.realpath(change.file))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, change.after.encode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror or error}") from None


def _replace(file: Path, data: bytes) -> None:
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    descriptor, temporary = tempfile.mkstemp(prefix=".settings-", dir=file.parent)
    try:
        with open(descriptor, "wb") as out:
            out.write(data)
            os.fchmod(out.fileno(), mode)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _read(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8: mend it first") from None


def _parsed(file: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{file} is broken ({error or 'it nests too deep'}): mend it first") from None


def _listed(file: Path, table: dict[str, Any], verdict: Verdict) -> list[Any]:
    block: object = table.get("permissions", {})
    listed = cast("dict[str, Any]", block).get(verdict, []) if isinstance(block, dict) else None
    if not isinstance(listed, list):
        raise ConfigError(f"{file}: permissions.{verdict} is no list: mend it first")
    return cast("list[Any]", listed)


def _checked(file: Path, before: str | None, after: str, wanted: dict[str, Any], told: str) -> FileChange:
    """TOML can be written in more ways than are looked for here: what comes out is read again, and where it
    is not exactly what was wanted the person has to do it."""
    with contextlib.suppress(tomllib.TOMLDecodeError):
        if tomllib.loads(after) == wanted:
            return FileChange(file, before, after)
    raise ConfigError(f"{file} is written in a way that cannot be changed safely: {told} it yourself")


# --- the text ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Array:
    """Where the texts of a list are: each from its quote to behind the other one. `close`: its `]`."""

    entries: tuple[tuple[int, int], ...]
    commas: tuple[int, ...]
    start: int
    close: int


def _added(text: str, verdict: Verdict, rule: str) -> str:
    header = _HEADER.search(text)
    if header is None:
        begun = text if not text or text.endswith("\n") else f"{text}\n"
        gap = "\n" if begun.strip() else ""
        return f"{begun}{gap}[permissions]\n{verdict} = [{_quoted(rule)}]\n"
    array = _array(text, header.end(), verdict)
    if array is None:
        return f"{text[: header.end()]}\n{verdict} = [{_quoted(rule)}]{text[header.end() :]}"
    if "\n" not in text[array.start : array.close]:
        comma = ", " if array.entries and len(array.commas) < len(array.entries) else ""
        at = array.entries[-1][1] if comma else array.close
        return f"{text[:at]}{comma}{_quoted(rule)}{text[at:]}"
    return _added_below(text, array, rule)


def _added_below(text: str, array: _Array, rule: str) -> str:
    """In a list of several lines: a line of its own behind the last entry and what is said of it."""
    if not array.entries:
        at = text.rfind("\n", 0, array.close) + 1
        return f"{text[:at]}{_INDENT}{_quoted(rule)},\n{text[at:]}"
    start, end = array.entries[-1]
    line = text.rfind("\n", 0, start) + 1
    indent = re.match(r"[ \t]*", text[line:start])
    trailing = len(array.commas) == len(array.entries)
    behind = array.commas[-1] + 1 if trailing else end
    at = text.find("\n", behind, array.close)
    at = array.close if at < 0 else at
    new = f"\n{indent[0] if indent else ''}{_quoted(rule)}{',' if trailing else ''}"
    return f"{text[:end]}{'' if trailing else ','}{text[end:at]}{new}{text[at:]}"


def _removed(text: str, verdict: Verdict, rule: str) -> str:
    header = _HEADER.search(text)
    array = _array(text, header.end(), verdict) if header else None
    if array is None:
        return text
    for number, (start, end) in enumerate(array.entries):
        if tomllib.loads(f"x = {text[start:end]}")["x"] == rule:
            return _cut(text, array, number)
    return text


def _cut(text: str, array: _Array, number: int) -> str:
    start, end = array.entries[number]
    comma = array.commas[number] + 1 if number < len(array.commas) else end
    line, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", comma)
    alone = not text[line:start].strip() and re.fullmatch(r"[ \t]*(?:#.*)?", text[comma:line_end])
    if alone and line_end >= 0:
        return text[:line] + text[line_end + 1 :]
    if number + 1 < len(array.entries):
        return text[:start] + text[array.entries[number + 1][0] :]
    if number:
        return text[: array.entries[number - 1][1]] + text[comma:]
    return text[:start] + text[comma:]


def _array(text: str, section: int, verdict: Verdict) -> _Array | None:
    """The list of this verdict in the section that begins at `section`; `None` if there is none."""
    following = _NEXT.search(text, section)
    begun = re.compile(rf"^[ \t]*{verdict}[ \t]*=[ \t]*\[", re.MULTILINE).search(
        text, section, following.start() if following else len(text)
    )
    if begun is None:
        return None
    entries, commas = list[tuple[int, int]](), list[int]()
    at = _behind_gap(text, begun.end())
    while at < len(text) and text[at] != "]":
        if text[at] == ",":
            commas.append(at)
            at = _behind_gap(text, at + 1)
        elif found := _STRING.match(text, at):
            entries.append(found.span())
            at = _behind_gap(text, found.end())
        else:
            return None  # no plain text: what comes out of this is refused when it is read again
    return _Array(tuple(entries), tuple(commas), begun.end(), at)


def _behind_gap(text: str, at: int) -> int:
    found = _GAP.match(text, at)
    return found.end() if found else at


def _quoted(rule: str) -> str:
    return json.dumps(rule, ensure_ascii=False)
