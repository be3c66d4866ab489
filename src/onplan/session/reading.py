"""The records of a log from the rows of a store."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from onplan.errors import StoreError
from onplan.events import Record, decode_record
from onplan.protocols import Row


class Stamped(msgspec.Struct, frozen=True):
    """A record with the time at which it was logged, in Unix seconds."""

    record: Record
    time: float


def read(rows: Sequence[Row]) -> list[Stamped]:
    """The records of a log. Raises `StoreError` naming the first row that is no record."""
    stamped: list[Stamped] = []
    for row in rows:
        try:
            stamped.append(Stamped(decode_record(row.body), row.time))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StoreError(
                f"record {row.seq} of the session cannot be read: {error}; "
                f"onplan fork ID --at {row.seq - 1} goes on in front of it"
            ) from None
    return stamped
