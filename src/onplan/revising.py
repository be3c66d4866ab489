"""Changes a session's plan from outside: at once where nobody holds the session, else through its inbox."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from onplan.errors import PlanError, SessionBusy
from onplan.planning import Planning
from onplan.protocols import Holder, SessionStore
from onplan.session import InboxRequest, Session, leave_request, read

Done: TypeAlias = Literal["made", "left", "unchanged"]
"""`left`: who holds the session makes the change before its next request. `unchanged`: that is the plan."""

_OF_THE_PLAN = ("edit", "undo", "redo")


class Revised(msgspec.Struct, frozen=True, omit_defaults=True):
    """`held`: by whom the session is held, in words, where the change was `left`. `refused`: why changes that
    were left for a holder who died could not be made, one line each."""

    done: Done
    held: str = ""
    refused: tuple[str, ...] = ()


async def revise(store: SessionStore, session: str, request: InboxRequest, holder: Holder) -> Revised:
    """Make an edit, an undo or a redo of the plan. `holder`: who writes where nobody else does.

    Raises `PlanError` for what cannot be done, before the session is touched, and `StoreError`.
    """
    planning = Planning()
    for stamped in read(await store.load(session)):
        planning.fold(stamped.record)
    if await planning.requested(request) is None:
        return Revised("unchanged")
    try:
        return await _alone(store, session, request, holder)
    except SessionBusy as busy:
        await leave_request(store, session, request)
        return Revised("left", str(busy).partition(";")[0])


async def _alone(store: SessionStore, session: str, request: InboxRequest, holder: Holder) -> Revised:
    planning = Planning()
    opened = await Session.resume(store, holder, session, folds=(planning.fold,))
    try:
        refused = await _earlier(opened, planning)
        record = await planning.requested(request)
        if record is not None:
            await opened.append(record)
        await opened.describe(done=planning.plan.done, total=len(planning.plan))
        return Revised("made" if record else "unchanged", refused=refused)
    finally:
        await opened.close()


async def _earlier(opened: Session, planning: Planning) -> tuple[str, ...]:
    """What was left for a holder who died goes first; what is not about the plan stays there."""
    refused: list[str] = []
    for number, request in await opened.requests():
        if request.action not in _OF_THE_PLAN:
            continue
        record = None
        try:
            record = await planning.requested(request)
        except PlanError as error:
            refused.append(str(error))
        await opened.append(*([record] if record else []), served=(number,))
    return tuple(refused)
