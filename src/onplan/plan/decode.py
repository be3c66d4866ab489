"""The one door for untrusted input: what a model sent, to todos or to every fault of it. Never evaluates.

Repaired is what loses nothing (and it is said in one line); refused is whatever needs a guess.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from onplan.plan.dialect import Dialect
from onplan.plan.text import clean
from onplan.plan.todo import STATUSES, Fault, Rules, Status, Todo

MAX_STRING = 256 * 1024
"""Characters of a string that is parsed at all: far above any legal plan, far below what stalls a parser."""
_MAX_LITERAL = 64 * 1024
_PREVIEW = 60

_SYNONYMS = ("content", "text", "step", "title", "description", "task")
_ALIASES: Mapping[str, Status] = MappingProxyType(
    {
        "done": "completed",
        "complete": "completed",
        "todo": "pending",
        "open": "pending",
        "not_started": "pending",
        "doing": "in_progress",
        "active": "in_progress",
    }
)
_CHECKBOX = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?\[(?P<mark>[ xX~>-])\]\s+(?P<content>\S.*)")
_CHECKBOX_STATUS: Mapping[str, Status] = MappingProxyType(
    {
        " ": "pending",
        "x": "completed",
        "X": "completed",
        "~": "in_progress",
        ">": "in_progress",
        "-": "in_progress",
    }
)
_COUNT_LINE = re.compile(r"\s*\(\d+/\d+ completed\)\s*")
_ID_PREFIX = re.compile(r"#(?P<id>[^\s:]+): (?P<content>\S.*)")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Todos that obey the rules, and what had to be repaired to read them (one phrase each)."""

    todos: tuple[Todo, ...]
    repaired: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Every fault of a write, in the order in which the seeds look for them."""

    faults: tuple[Fault, ...]


def decode(arguments: object, dialect: Dialect, rules: Rules = Rules()) -> Decoded | Refusal:
    """The todos in `arguments` (an object, a string as the model sent it, or a bare list). Never raises."""
    repaired: list[str] = []
    found = _find_list(arguments, dialect, repaired)
    if isinstance(found, Fault):
        return Refusal((found,))
    if rules.max_items is not None and len(found) > rules.max_items:
        return Refusal((Fault("too_many", value=str(len(found))),))
    faults: list[Fault] = []
    todos: list[tuple[int, Todo]] = []
    for index, item in enumerate(found):
        todo = _as_it_should_be(item, dialect) or _decode_item(item, index, dialect, repaired, faults)
        if todo is not None:
            todos.append((index, todo))
    faults += rules.faults(todos, sent=len(found))
    if faults:
        return Refusal(tuple(sorted(faults, key=_as_the_seeds_look)))
    return Decoded(tuple(todo for _, todo in todos), tuple(dict.fromkeys(repaired)))


def translated(arguments: object, spoken: Dialect, dialect: Dialect) -> object:
    """Arguments that were written in the dialect `spoken`, in the shape of `dialect`; as they are where they
    make no list."""
    match decode(arguments, spoken, Rules(None, None, None)):
        case Decoded(todos=todos):
            return {dialect.list_key: [_item(todo, dialect) for todo in todos]}
        case Refusal():
            return arguments


def _item(todo: Todo, dialect: Dialect) -> dict[str, str]:
    item = {dialect.content_key: todo.content, "status": str(todo.status)}
    if dialect.id_key and todo.id:
        item[dialect.id_key] = todo.id
    if dialect.active_key and todo.active_form:
        item[dialect.active_key] = todo.active_form
    return item


def heard(arguments: object, dialect: Dialect) -> object:
    """What of `arguments` the dialect looks at: equal for writes that differ in nothing that counts."""
    found = _find_list(arguments, dialect, [])
    if isinstance(found, Fault):
        return arguments
    known = {*_SYNONYMS, dialect.content_key, dialect.id_key, dialect.active_key, "status"}
    return [
        {name: value for name, value in cast("dict[object, object]", item).items() if name in known}
        if isinstance(item, dict)
        else item
        for item in found
    ]


def _as_the_seeds_look(fault: Fault) -> tuple[bool, int, bool]:
    """Item by item, its content before its status, the number in progress last."""
    return fault.kind == "many_in_progress", fault.index or 0, fault.kind in ("bad_status", "no_status")


# --- the list ---------------------------------------------------------------------------------------


def _find_list(arguments: object, dialect: Dialect, repaired: list[str]) -> list[Any] | Fault:
    if isinstance(arguments, str):
        if not arguments.strip():
            return Fault("no_list", value="no arguments")
        parsed = parse_string(arguments, dialect)
        if isinstance(parsed, Fault):
            return parsed
        arguments = parsed
    if isinstance(arguments, list):
        repaired.append(f"the list came without its {dialect.list_key!r} key")
        return cast("list[Any]", arguments)
    if arguments is None:
        return Fault("no_list", value="null")
    if not isinstance(arguments, dict):
        return Fault("no_list", value=_shown(arguments))
    sent = cast("dict[str, Any]", arguments)
    if dialect.list_key not in sent:
        keys = ", ".join(_shown(key) for key in list(sent)[:5])
        return Fault("no_list", value=f"keys {keys}" if keys else "{}")
    return _unwrap(sent[dialect.list_key], dialect, repaired)


def _unwrap(value: object, dialect: Dialect, repaired: list[str]) -> list[Any] | Fault:
    for _ in range(3):  # a string of an object of a list is the deepest that was ever seen
        if isinstance(value, list):
            return cast("list[Any]", value)
        if value is None:
            return Fault("null_list")
        if isinstance(value, str):
            value = parse_string(value, dialect)
            if isinstance(value, Fault):
                return value
            repaired.append(f"{dialect.list_key} came as a string")
        elif isinstance(value, dict):
            inner = cast("dict[str, Any]", value)
            if dialect.list_key in inner:
                value = inner[dialect.list_key]
                repaired.append(f"{dialect.list_key} came wrapped in itself")
            elif any(key in inner for key in _SYNONYMS):
                repaired.append(f"{dialect.list_key} came as one object")
                return [inner]
            else:
                return Fault("not_a_list", value=_shown(inner))
        else:
            return Fault("not_a_list", value=_shown(value))
    return cast("list[Any]", value) if isinstance(value, list) else Fault("not_a_list", value=_shown(value))


def parse_string(text: str, dialect: Dialect) -> object | Fault:
    """A list or object out of JSON, a Python literal or a Markdown checklist; else why there is none."""
    if not text.strip():
        return Fault("unreadable", value="an empty string")
    if len(text) > MAX_STRING:
        size = f"{len(text):,} characters, limit {MAX_STRING:,}"
        return Fault("unreadable", value=f"{_shown(text[:_PREVIEW])}… ({size})")
    import json  # what models send is rarely a string: starting does not pay for it

    try:
        parsed: object = json.loads(text)
        why = ""
    except json.JSONDecodeError as error:
        parsed, why = _parse_literal(text), f"{error.msg} at character {error.pos}"
    except (RecursionError, ValueError) as error:
        parsed, why = None, str(error) or "nested too deeply"
    if isinstance(parsed, (list, dict)):
        return cast("object", parsed)
    checklist = parse_checklist(text, content_key=dialect.content_key, id_key=dialect.id_key)
    if checklist is not None:
        return checklist
    return Fault("unreadable", value=f"{_shown(text)}{f' ({why})' if why else ''}")


def _parse_literal(text: str) -> object:
    if len(text) > _MAX_LITERAL:
        return None
    import ast  # rarely needed, and not light

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in the model's text is not our warning
            return ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def parse_checklist(
    text: str, *, content_key: str = "content", id_key: str = ""
) -> list[dict[str, str]] | None:
    """The items of a Markdown checklist, or `None` unless every line is one (a count line may follow).

    It reads what `render_plan` writes: with an `id_key` also the ids, as in `[ ] #1: text`.
    """
    items: list[dict[str, str]] = []
    for line in text.splitlines():
        if not line.strip() or (items and _COUNT_LINE.fullmatch(line)):
            continue
        box = _CHECKBOX.fullmatch(line)
        if box is None:
            return None
        content, status = box["content"].strip(), _CHECKBOX_STATUS[box["mark"]]
        named = _ID_PREFIX.fullmatch(content) if id_key else None
        if named is None:
            items.append({content_key: content, "status": status})
        else:
            items.append({id_key: named["id"], content_key: named["content"], "status": status})
    return items or None


# --- one item ---------------------------------------------------------------------------------------


def _decode_item(
    item: object, index: int, dialect: Dialect, repaired: list[str], faults: list[Fault]
) -> Todo | None:
    """The todo in `item`, for the rules to judge; what is wrong with it goes to `faults`."""
    sent = _object_in(item) if isinstance(item, str) else item
    if not isinstance(sent, dict):
        faults.append(Fault("not_an_object", index, _shown(item)))
        return None
    if isinstance(item, str):
        repaired.append("items came as strings of objects")
    sent = cast("dict[str, Any]", sent)
    item_id = _id_of(sent, index, dialect)
    content = _content_of(sent, index, dialect, item_id, repaired)
    status = _status_of(sent, index, dialect, item_id, repaired)
    faults += [part for part in (content, status) if isinstance(part, Fault)]
    if isinstance(content, Fault):
        return None
    if isinstance(status, Fault):
        status = "pending"  # never taken, but its content is judged all the same
    active = sent.get(dialect.active_key) if dialect.active_key else None
    return Todo(content, status, item_id, _cut(active, 200) if isinstance(active, str) else "")


def _as_it_should_be(item: object, dialect: Dialect) -> Todo | None:
    """The todo in an item that needs no repair and has no extras, which nearly every one is."""
    if not isinstance(item, dict) or dialect.id_key or dialect.active_key:
        return None
    sent = cast("dict[object, object]", item)
    content, status = sent.get(dialect.content_key), sent.get("status")
    if not isinstance(content, str) or status not in STATUSES:
        return None
    return Todo(clean(content), status)


def _object_in(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{") or len(text) > MAX_STRING:
        return None
    import json

    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = _parse_literal(text)
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None


def _id_of(item: dict[str, Any], index: int, dialect: Dialect) -> str:
    if not dialect.id_key:
        return ""
    sent = item.get(dialect.id_key)
    if isinstance(sent, int) and not isinstance(sent, bool):
        sent = _as_text(sent)
    position = str(index + 1)  # as the third seed does
    return (_cut(sent, 40) or position) if isinstance(sent, str) else position


def _content_of(
    item: dict[str, Any], index: int, dialect: Dialect, item_id: str, repaired: list[str]
) -> str | Fault:
    key = dialect.content_key
    if key not in item:
        found = [name for name in _SYNONYMS if name in item]
        if len(found) > 1:
            return Fault("two_names", index, ", ".join(found), item_id)
        if not found:
            return Fault("no_content", index, id=item_id)
        repaired.append(f"{key} came as {found[0]!r}")
        key = found[0]
    content: object = item[key]
    if content is None:
        return Fault("no_content", index, "null", item_id)
    if not isinstance(content, str):
        return Fault("bad_content", index, _shown(content), item_id)
    return clean(content)


def _status_of(
    item: dict[str, Any], index: int, dialect: Dialect, item_id: str, repaired: list[str]
) -> Status | Fault:
    if "status" not in item:
        if dialect.missing_status is not None:
            return dialect.missing_status
        return Fault("no_status", index, id=item_id)
    sent: object = item["status"]
    if not isinstance(sent, str):
        return Fault("bad_status", index, _shown(sent), item_id)
    status = normal_status(sent)
    if status is None:
        return Fault("bad_status", index, _shown(sent.lower()), item_id)
    if status != sent:
        repaired.append(f"status {_shown(sent)!r} was read as {status}")
    return status


def normal_status(sent: str) -> Status | None:
    """A status in any of its spellings, or one of the fixed aliases; `None` for every other word."""
    if sent in STATUSES:
        return sent
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", sent.strip(" \t\r\n"))
    snake = re.sub(r"[\s_-]+", "_", snake, flags=re.ASCII).lower()
    for status in STATUSES:
        if snake == status:
            return status
    return _ALIASES.get(snake)


def _cut(text: str, limit: int) -> str:
    return clean(clean(text)[:limit])  # a cut may leave blanks at the end


def _as_text(value: object) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):  # too many digits, nested too deeply
        return type(value).__name__


def _shown(value: object) -> str:
    """A short, one-line preview of what was sent, in JSON's words where there are any."""
    if isinstance(value, str):
        text = value
    else:
        import json

        try:
            text = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            text = type(value).__name__
    text = " ".join(text.split())
    return text if len(text) <= _PREVIEW else f"{text[: _PREVIEW - 1]}…"


# --- the seeds' own intake --------------------------------------------------------------------------


def decode_as_seed(arguments: object, dialect: Dialect, rules: Rules) -> Decoded | Refusal:
    """What the seeds accept and nothing more, for the tutorial preset. Stops at the first fault, as they do.

    Only the second seed reads strings; the third defaults a missing status; the first checks nothing but
    its types.
    """
    if isinstance(arguments, str):  # how some providers send every call: not the model's doing
        arguments = parse_string(arguments, dialect)
    sent = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    if dialect.list_key not in sent:
        return Refusal((Fault("no_list"),))
    value: object = sent[dialect.list_key]
    if isinstance(value, str) and dialect.name == "todo_write" and not parse_checklist(value):
        value = parse_string(value, dialect)
    if not isinstance(value, list):
        return Refusal((Fault("not_a_list"),))
    items = cast("list[Any]", value)
    if rules.max_items is not None and len(items) > rules.max_items:
        return Refusal((Fault("too_many", value=str(len(items))),))
    todos: list[Todo] = []
    for index, item in enumerate(items):
        todo = _seed_item(item, index, dialect)
        if isinstance(todo, Fault):
            return Refusal((todo,))
        if fault := next(rules.faults([(index, todo)], sent=1), None):
            return Refusal((fault,))
        todos.append(todo)
    faults = tuple(rules.faults(list(enumerate(todos)), sent=len(todos)))
    return Refusal(faults[:1]) if faults else Decoded(tuple(todos))


def _seed_item(item: object, index: int, dialect: Dialect) -> Todo | Fault:
    if not isinstance(item, dict):
        return Fault("no_content", index)
    sent = cast("dict[str, Any]", item)
    item_id = _as_text(sent.get(dialect.id_key, index + 1)) if dialect.id_key else ""
    sent_content = sent.get(dialect.content_key)
    if sent_content is None:
        return Fault("no_content", index, id=item_id)
    content = clean(_as_text(sent_content))
    status = _as_text(sent.get("status", dialect.missing_status or ""))
    status = status if dialect.name == "write_todos" else status.lower()
    for known in STATUSES:
        if status == known:
            return Todo(content, known, item_id)
    if dialect.name != "write_todos" and not content:
        return Fault("no_content", index, id=item_id)  # the seeds look at the content first
    return Fault("bad_status", index, status, item_id)
