"""What others may ask of a session while somebody holds it."""

from __future__ import annotations

from typing import Any

import msgspec

from onplan.protocols import SessionStore


class InboxRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request that somebody else left for the holder.

    `edit` (with `todos`), `undo`, `redo`: of the plan. `approve`, `deny`: the answer to what is asked about
    `call_id`, `reason` goes to the model. `say`: `text` for the model, at the next round. `base`: the
    revision of the plan that the sender of an edit saw; 0 if they did not say.
    """

    action: str
    todos: tuple[dict[str, Any], ...] = ()
    call_id: str = ""
    reason: str = ""
    text: str = ""
    base: int = 0


async def leave_request(store: SessionStore, session_id: str, request: InboxRequest) -> None:
    await store.put_request(session_id, msgspec.json.encode(request))
