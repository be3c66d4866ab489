"""What others ask of a session while it runs: edits of its plan, answers for the person, words for the model.

The session's one writer takes them: before each request to the model, and while it waits for a person.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from onplan.cancellation import unbroken
from onplan.errors import OnplanError, StoreError
from onplan.events import ApprovalRequested, Event, Warned
from onplan.protocols import ANSWERED_ELSEWHERE, Approval, Approved, Approver, Question, Rejected
from onplan.session import InboxRequest, Session

_LOOKS_AFTER = 0.25
"""Seconds between two looks at the inbox while a person is asked."""


class Inbox:
    """`revise` makes the change of the plan that a request asks for; `say` takes words for the model."""

    def __init__(
        self,
        session: Session,
        *,
        revise: Callable[[InboxRequest], Awaitable[None]],
        say: Callable[[str], object],
        warn: Callable[[Event], None],
    ) -> None:
        self._session = session
        self._revise = revise
        self._say = say
        self._warn = warn
        self._answers: dict[str, Approval] = {}

    async def serve(self) -> None:
        """Take what is there and do it; what cannot be done is a warning, and the rest is done."""
        for request in await self._session.take_requests():
            try:
                await self._do(request)
            except OnplanError as error:
                self._warn(Warned(f"a change of the plan from outside was refused: {error}"))

    async def _do(self, request: InboxRequest) -> None:
        match request.action:
            case "edit" | "undo" | "redo":
                await self._revise(request)
            case "approve":
                self._answers[request.call_id] = Approved()
            case "deny":
                self._answers[request.call_id] = Rejected(request.reason)
            case "say":
                self._say(request.text)
            case other:
                self._warn(Warned(f"a request that onplan does not know was left out: {other[:40]!r}"))

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
            await self.serve()


async def _ended(asked: asyncio.Future[Approval], told: str | None) -> None:
    """Let the one who asks put the question away before anything else is shown; `told`: what to say."""
    if not asked.done():
        asked.cancel(told)
        await unbroken(_settled(asked))


async def _settled(asked: asyncio.Future[Approval]) -> None:
    await asyncio.wait({asked})
