"""Changing frozen values cheaply: the folds do it for every message of a session."""

from __future__ import annotations

from typing import Any, TypeVar, cast

T = TypeVar("T")

_new = object.__new__
_set = object.__setattr__


def with_changes(value: T, **changes: Any) -> T:
    """A copy of a frozen dataclass with slots, with some fields changed.

    As `dataclasses.replace`, at half its cost, for values that check nothing when they are made. Raises
    `TypeError` for a name that is no field.
    """
    kind = type(value)
    copy = _new(kind)
    names = cast("tuple[str, ...]", kind.__slots__)  # type: ignore[attr-defined]
    for name in names:
        _set(copy, name, changes.pop(name) if name in changes else getattr(value, name))
    if changes:
        raise TypeError(f"{kind.__name__} has no field {', '.join(changes)}")
    return copy
