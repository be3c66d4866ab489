"""The formats in which a session is handed to others: to be read, or to be loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from onplan.events import Record
from onplan.protocols import SessionInfo
from onplan.secrets import masked_value
from onplan.session import Stamped
from onplan.web.masked import masked_record
from onplan.web.requests import anthropic_body, openai_body

JsonFormat: TypeAlias = Literal["json", "anthropic", "openai"]


def exported(
    info: SessionInfo, stamped: Sequence[Stamped], to: JsonFormat, *, masked: bool = True
) -> dict[str, Any]:
    """All records, or the body of a request, as a value that JSON can hold. `masked`: what looks like a key
    is taken out."""
    records = [masked_record(item.record) if masked else item.record for item in stamped]
    match to:
        case "json":
            return _log(info, stamped, records, masked=masked)
        case "anthropic":
            return anthropic_body(records)
        case "openai":
            return openai_body(records)


def _log(
    info: SessionInfo, stamped: Sequence[Stamped], records: Sequence[Record], *, masked: bool
) -> dict[str, Any]:
    facts = msgspec.structs.asdict(info)
    rows = [
        {"seq": seq, "time": item.time, "record": record}
        for seq, (item, record) in enumerate(zip(stamped, records, strict=True), 1)
    ]
    return {"session": masked_value(facts) if masked else facts, "records": rows}
