"""Reads rows straight from the leaf pages of a SQLite file whose inner pages no longer lead to them.

The layout is that of the "Database File Format" of SQLite, sections 1.5 to 2.1. Rows that were deleted do
not come back: the store has SQLite overwrite them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from onplan.stores.schema import PAGE_SIZE

Value: TypeAlias = int | float | str | bytes | None

_TABLE_LEAF = 13
_MOST_LOCAL = PAGE_SIZE - 35
_LEAST_LOCAL = (PAGE_SIZE - 12) * 32 // 255 - 23
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of an integer by its serial type."""


@dataclass(frozen=True, slots=True)
class LeafRow:
    """`rowid`, then one value per column; the column that stands for the rowid is `None`."""

    rowid: int
    values: tuple[Value, ...]


def leaf_rows(file: bytes) -> Iterator[LeafRow]:
    """Every row of every table that can be decoded, page by page; what cannot be is passed over."""
    for start in range(PAGE_SIZE, len(file) - PAGE_SIZE + 1, PAGE_SIZE):
        if file[start] != _TABLE_LEAF:
            continue
        cells = int.from_bytes(file[start + 3 : start + 5], "big")
        for slot in range(start + 8, min(start + 8 + 2 * cells, start + PAGE_SIZE - 1), 2):
            cell = int.from_bytes(file[slot : slot + 2], "big")
            try:
                yield _row(file, start + cell, start + PAGE_SIZE)
            except (ValueError, IndexError, struct.error):
                continue


def _row(file: bytes, at: int, end: int) -> LeafRow:
    size, at = _varint(file, at)
    rowid, at = _varint(file, at)
    if size > len(file):
        raise ValueError("longer than the file")
    payload = _payload(file, at, size, end)
    header, position = _varint(payload, 0)
    types: list[int] = []
    while position < header:
        kind, position = _varint(payload, position)
        types.append(kind)
    values: list[Value] = []
    for kind in types:
        value, position = _value(payload, position, kind)
        values.append(value)
    if position != size:
        raise ValueError("the row's parts do not fill it")
    return LeafRow(rowid, tuple(values))


def _payload(file: bytes, at: int, size: int, end: int) -> bytes:
    local = size
    if size > _MOST_LOCAL:
        local = _LEAST_LOCAL + (size - _LEAST_LOCAL) % (PAGE_SIZE - 4)
        local = local if local <= _MOST_LOCAL else _LEAST_LOCAL
    if at + local > end:
        raise ValueError("the row leaves its page")
    parts = [file[at : at + local]]
    following = int.from_bytes(file[at + local : at + local + 4], "big")
    while (missing := size - local) > 0:
        start = (following - 1) * PAGE_SIZE
        if start < PAGE_SIZE or start + PAGE_SIZE > len(file):
            raise ValueError("the row goes on outside of the file")
        parts.append(file[start + 4 : start + 4 + min(missing, PAGE_SIZE - 4)])
        local += len(parts[-1])
        following = int.from_bytes(file[start : start + 4], "big")
    return b"".join(parts)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for byte in data[at : at + 8]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | data[at], at + 1


def _value(payload: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind in (0, 8, 9):
        return (None, 0, 1)[(0, 8, 9).index(kind)], at
    size = _INTEGERS.get(kind, 8 if kind == 7 else (kind - 12) // 2)
    raw = payload[at : at + size]
    if size < 0 or len(raw) != size:
        raise ValueError("no such value")
    if kind in _INTEGERS:
        return int.from_bytes(raw, "big", signed=True), at + size
    if kind == 7:
        return struct.unpack(">d", raw)[0], at + size
    return (raw.decode("utf-8", "replace") if kind % 2 else raw), at + size
