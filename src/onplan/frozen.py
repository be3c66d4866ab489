"""Changing frozen values cheaply: the folds and the loop do it for every message of a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")

_new = object.__new__


def with_changes(value: T, **changes: Any) -> T:
    """A copy of a frozen dataclass with slots (two fields or more), with some of them changed; the value
    itself where nothing changes.

    As `dataclasses.replace`, at a third of its cost, for values that check nothing when they are made.
    Raises `TypeError` for a name that is no field.
    """
    kind = type(value)
    values_of, setters = _access(kind)
    copy: T | None = None
    for name, new in changes.items():
        if name not in setters:
            raise TypeError(f"{kind.__name__} has no field {name}")
        if getattr(value, name) is new:
            continue
        if copy is None:
            copy = _new(kind)
            for put, held in zip(setters.values(), values_of(value), strict=True):
                put(copy, held)
        setters[name](copy, new)
    return value if copy is None else copy


@cache
def _access(kind: type) -> tuple[Callable[[Any], tuple[Any, ...]], dict[str, Callable[[Any, Any], None]]]:
    """How to read all fields of a class at once, and how to set each past its freeze."""
    names: tuple[str, ...] = kind.__dict__["__slots__"]
    return attrgetter(*names), {name: kind.__dict__[name].__set__ for name in names}
