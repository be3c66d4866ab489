"""The seams of the harness: what a model, an approver and a store promise. Contracts, no code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from onplan.messages import Assistant, Call, Message

# --- the model --------------------------------------------------------------------------------------


class Request(msgspec.Struct, frozen=True):
    """What goes to a model. `messages` is a view of the conversation: read it, never change or keep it."""

    system: str
    tools: tuple[dict[str, Any], ...]
    messages: Sequence[Message]


class Delta(msgspec.Struct, frozen=True):
    """A piece of a reply on its way."""

    kind: Literal["text", "thinking"]
    text: str


class Model(Protocol):
    """Answers requests.

    `stream` yields deltas as they arrive and, last, exactly one whole `Assistant`, also when nothing
    could be streamed. It raises `ModelError` when there is no answer; after some deltas that is a cut
    stream, and the loop keeps their text as interrupted. Broken arguments of a call are passed on as
    the string that came. When the consumer is cancelled the request is aborted. An empty reply is an
    `Assistant` without parts, not an error.
    """

    @property
    def name(self) -> str: ...

    def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]: ...


# --- approval ---------------------------------------------------------------------------------------


class Approved(msgspec.Struct, frozen=True):
    """`scope`: this call; this tool for the session; or the named tools for the session.

    `arguments`: the call as the person changed it; `None` as it came. `rule`: a rule, `bash(git diff:*)` for
    example, that they saved and that allows such calls from now on.
    """

    scope: Literal["once", "tool", "tools"] = "once"
    tools: frozenset[str] = frozenset()
    arguments: dict[str, Any] | None = None
    rule: str = ""


class Rejected(msgspec.Struct, frozen=True):
    """`reason` goes to the model. `nobody`: there was no one to ask."""

    reason: str = ""
    nobody: bool = False


Approval: TypeAlias = Approved | Rejected


class Question(msgspec.Struct, frozen=True):
    """What a person is asked before a call runs. `first`: of this session; `quiet_tools`: reading and
    planning tools that the first question offers to allow by name. `reason`: what a guard, a hook or a rule
    has against the call; such a question is never answered by what was allowed before."""

    call: Call
    first: bool
    quiet_tools: tuple[str, ...]
    preview: str = ""
    reason: str = ""


ANSWERED_ELSEWHERE = "answered elsewhere"


class Approver(Protocol):
    """Asks a person. Never raises for a closed or missing terminal: that is `Rejected(nobody=True)`.

    It may be cancelled at any time and then puts the question away: because the turn ends, or, with the
    message `ANSWERED_ELSEWHERE`, because the person answered in another place.
    """

    async def approve(self, question: Question) -> Approval: ...


class Asker(Protocol):
    """Puts a question of the model to the person. `None`: nobody is there, or they did not answer."""

    async def ask(self, question: str, choices: Sequence[str]) -> str | None: ...


# --- the session store ------------------------------------------------------------------------------


class Holder(msgspec.Struct, frozen=True):
    """The process that writes to a session: host, process id, and the process's own start time, which
    tells a process from a later one that got the same id."""

    host: str
    pid: int
    start: float


Fact: TypeAlias = str | int | float | None


class SessionInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the list of sessions. Times are Unix seconds; `records` counts the log's rows; `cost` is in
    dollars, `None` where it is not known."""

    id: str
    cwd: str = ""
    created: float = 0.0
    updated: float = 0.0
    records: int = 0
    title: str = ""
    done: int = 0
    total: int = 0
    ended: str = ""
    cost: float | None = None


class Row(msgspec.Struct, frozen=True):
    """One record of a log. `seq` counts from 1 without gaps; `body` is JSON."""

    seq: int
    time: float
    body: bytes


class InboxRow(msgspec.Struct, frozen=True):
    """A request that lies in a session's inbox. `id` tells it from the others that lie there."""

    id: int
    body: bytes


class SessionStore(Protocol):
    """Keeps append-only logs.

    `append` stores all rows or none and returns only when they are durable to the store's promise
    (SQLite: committed, so they survive the death of the process). `seq` is the number of the first
    new row; if the log does not end at `seq - 1` somebody else has written and `SessionBusy` is
    raised with nothing stored. A session that does not exist raises `SessionNotFound`. Any other
    failure to read or write raises `StoreError` with one clear line. Bodies come back byte for byte.
    `served`: requests that leave the session's inbox in the same step, all or none with the rows, so that
    what others asked for is either in the inbox or done; ids that are not there do not matter.
    `in_place`: no method ever waits (awaits something unfinished), so a cancellation cannot fall into one.
    """

    @property
    def in_place(self) -> bool: ...

    async def create(self, session: str, *, cwd: str, time: float) -> None:
        """Make an empty log. Raises `StoreError` if the id is taken."""
        ...

    async def append(
        self, session: str, seq: int, bodies: Sequence[bytes], *, time: float, served: Sequence[int] = ()
    ) -> None: ...

    async def load(self, session: str, *, after: int = 0) -> list[Row]:
        """The rows with `seq > after`, in order."""
        ...

    async def describe(self, session: str, facts: Mapping[str, Fact]) -> None:
        """Set facts of the session's line: `title`, `done`, `total`, `ended`, `cost`; others raise
        `ValueError`."""
        ...

    async def sessions(self, *, cwd: str | None = None, limit: int = 1000) -> list[SessionInfo]:
        """The newest first (by `updated`, then by id)."""
        ...

    async def find(self, prefix: str) -> SessionInfo:
        """The one session whose id is, or begins with, `prefix`; `latest` is the newest.

        Raises `SessionNotFound` for none, and for several, naming them.
        """
        ...

    async def delete(self, session: str) -> None: ...

    async def claim(self, session: str, holder: Holder) -> Holder | None:
        """Become the session's one writer. Answers `None` when it worked, else who holds it.

        A holder on the same host whose process is gone, or has another start time, does not count.
        """
        ...

    async def release(self, session: str, holder: Holder) -> None:
        """Stop being the writer. A no-op for anybody else."""
        ...

    async def put_request(self, session: str, body: bytes) -> None:
        """Leave a request in the session's inbox for its holder."""
        ...

    async def requests(self, session: str) -> list[InboxRow]:
        """What lies in the inbox, oldest first. It stays there until `append` serves it."""
        ...

    async def close(self) -> None:
        """Flush and let go. The store is not used afterwards."""
        ...
