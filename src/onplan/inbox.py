"""What others ask of a session while it runs: edits of its plan, answers for the person, words for the model.

The session's one writer takes them: before each request to the model, and while it waits for a person.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from onplan.cancellation import unbroken
from onplan.errors import PlanError, StoreError
from onplan.events import ApprovalRequested, Event, Record, Warned
from onplan.messages import Note
from onplan.protocols import ANSWERED_ELSEWHERE, Approval, Approved, Approver, Question, Rejected
from onplan.session import InboxRequest, Session

_LOOKS_AFTER = 0.25
"""Seconds between two looks at the inbox while a person is asked."""


class Inbox:
    """`revise` answers with the record of a change of the plan, if it is one. A request leaves the inbox in
    the step that logs what came of it: no failure of the store, and no end of the process, comes between."""

    def __init__(
        self,
        session: Session,
        *,
        revise: Callable[[InboxRequest], Awaitable[Record | None]],
        warn: Callable[[Event], None],
    ) -> None:
        self._session = session
        self._revise = revise
        self._warn = warn
        self._answers: dict[str, Approval] = {}

    async def serve(self, heard: Callable[[str], Awaitable[Sequence[Note]]]) -> None:
        """Do what is there, in order, between two requests to the model. `heard` answers with what the log is
        to hold of words for it. What is refused, or has to wait because the store fails, is a warning."""
        try:
            for number, request in await self._session.requests():
                if request.action == "say":
                    await self._session.append(*await heard(request.text), served=(number,))
                else:
                    await self._do(number, request)
        except StoreError as error:
            self._warn(Warned(f"what others asked for has to wait: {error}"))

    async def _do(self, number: int, request: InboxRequest) -> None:
        """Whatever may also be done in the middle of a round."""
        done: Record | None = None
        match request.action:
            case "edit" | "undo" | "redo":
                done = await self._revision(request)
            case "approve":
                self._answers[request.call_id] = Approved()
            case "deny":
                self._answers[request.call_id] = Rejected(request.reason)
            case other:
                self._warn(Warned(f"a request that onplan does not know was left out: {other[:40]!r}"))
        await self._session.append(*([done] if done else []), served=(number,))

    async def _revision(self, request: InboxRequest) -> Record | None:
        try:
            return await self._revise(request)
        except PlanError as error:
            self._warn(Warned(f"a change of the plan from outside was refused: {error}"))
            return None

    async def approval(self, approver: Approver, question: Question) -> Approval:
        """The person's answer, from `approver` or through the inbox, whichever comes first.

        That a person is asked is in the log before they are. When the inbox was faster, `approver` is
        cancelled. Raises what `approver` raises, and `StoreError`.
        """
        call = question.call.id
        self._answers.pop(call, None)
        await self._session.append(ApprovalRequested(call, question.preview, question.reason))
        asked = asyncio.ensure_future(approver.approve(question))
        told: str | None = None
        try:
            while not asked.done():
                await asyncio.wait({asked}, timeout=_LOOKS_AFTER)
                if not asked.done():
                    await self._look()
                if call in self._answers and not asked.done():
                    told = ANSWERED_ELSEWHERE
                    return self._answers.pop(call)
            return asked.result()
        finally:
            await _ended(asked, told)

    async def _look(self) -> None:
        with contextlib.suppress(StoreError):  # the person can still answer here
            for number, request in await self._session.requests():
                if request.action != "say":  # words have to wait for the results of the round
                    await self._do(number, request)


async def _ended(asked: asyncio.Future[Approval], told: str | None) -> None:
    """Let the one who asks put the question away before anything else is shown; `told`: what to say."""
    if not asked.done():
        asked.cancel(told)
        await unbroken(_settled(asked))


async def _settled(asked: asyncio.Future[Approval]) -> None:
    await asyncio.wait({asked})
