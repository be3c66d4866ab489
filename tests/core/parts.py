"""Real parts for tests of the loop: an agent in memory, a few tools, a store that can fail, and the rules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from onplan.agent import Agent
from onplan.errors import StoreError, ToolError
from onplan.events import Event, Record, Warned, messages_of
from onplan.hooks import Hooks
from onplan.messages import Assistant, Call, Message, Note, ToolResult, User
from onplan.models.scripted import Reply, ScriptedModel
from onplan.parts import Limits
from onplan.plan.settings import Settings
from onplan.planning import plan_of
from onplan.protocols import Delta, Model, Request, SessionStore
from onplan.session import read
from onplan.stores.holder import this_process
from onplan.stores.memory import MemoryStore
from onplan.toolset import Provider, Tool, tool

THREE = (("a", "completed"), ("b", "in_progress"), ("c", "pending"))


# --- tools ------------------------------------------------------------------------------------------


@tool()
async def work(text: str = "") -> str:
    """Change something."""
    await asyncio.sleep(0)
    return f"worked {text}"


@tool(read_only=True, parallel=True)
async def look(text: str = "") -> str:
    """Look at something."""
    await asyncio.sleep(0)
    return f"saw {text}"


@tool()
async def fail(text: str = "") -> str:
    """Fail in one of several ways."""
    await asyncio.sleep(0)
    match text:
        case "tool":
            raise ToolError("it does not work")
        case "exit":
            raise SystemExit(2)
        case "cancel":
            raise asyncio.CancelledError
        case _:
            raise ZeroDivisionError("boom")


TOOLS = (work, look, fail)


class Gate:
    """A tool that waits until it is opened; `entered` tells that it runs."""

    def __init__(self, name: str = "wait", *, parallel: bool = False, partial: str = "") -> None:
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()

        @tool(name=name, parallel=parallel)
        async def wait() -> str:
            """Wait."""
            self.entered.set()
            try:
                await self.opened.wait()
            except asyncio.CancelledError as cancelled:
                vars(cancelled).update(partial=partial, seconds=1.2)
                raise
            return "waited"

        self.tool = wait


def call(number: int | str, name: str = "work", /, **arguments: Any) -> Call:
    return Call(f"t{number}", name, arguments)


def todos(*items: tuple[str, str]) -> list[dict[str, str]]:
    return [{"content": content, "status": status} for content, status in items]


def write(number: int | str, *items: tuple[str, str]) -> Call:
    """A call that writes the plan; without items the usual three: a done, b in progress, c pending."""
    return call(number, "write_todos", todos=todos(*(items or THREE)))


# --- stores and models ------------------------------------------------------------------------------


class FragileStore(MemoryStore):
    """Suspends around each append, as a store on a network would, and fails at the appends in `failing`
    (counted from 1), before anything is written. `during` holds what is to happen within an append."""

    in_place = False

    def __init__(self, failing: Iterable[int] = ()) -> None:
        super().__init__()
        self.failing = set(failing)
        self.during: dict[int, Callable[[], object]] = {}
        self.appends = 0

    async def append(
        self, session: str, seq: int, bodies: Sequence[bytes], *, time: float, served: Sequence[int] = ()
    ) -> None:
        self.appends += 1
        number = self.appends
        self.during.pop(number, lambda: None)()
        await asyncio.sleep(0)
        if number in self.failing:
            raise StoreError("the disk is full")
        await super().append(session, seq, bodies, time=time, served=served)
        await asyncio.sleep(0)


class StreamModel:
    """A model whose stream is what a function makes of the request; counts streams that were closed."""

    name = "stream"

    def __init__(self, make: Callable[[Request], AsyncIterator[Delta | Assistant]]) -> None:
        self._make = make
        self.closed = 0

    async def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        try:
            async for item in self._make(request):
                yield item
        finally:
            self.closed += 1


def forever(reply: Reply | Callable[[Request], Reply]) -> ScriptedModel:
    """A model that answers every request alike."""
    return ScriptedModel(reply if callable(reply) else lambda _: reply)


# --- agents -----------------------------------------------------------------------------------------


async def start(
    model: Model | Iterable[Reply],
    *tools: Tool,
    store: SessionStore | None = None,
    hooks: Hooks | None = None,
    planning: Settings | None = None,
    limits: Limits | None = None,
    resume: str = "",
    events: list[Event] | None = None,
    inject: dict[str, Provider] | None = None,
) -> Agent:
    """An agent with the given tools, else the usual three; `events` is filled with what it tells."""
    return await Agent.start(
        model=ScriptedModel(model) if isinstance(model, Iterable) else model,
        store=store or MemoryStore(),
        holder=this_process(),
        tools=tools or TOOLS,
        inject=inject,
        instructions="Be good.",
        planning=planning,
        hooks=hooks,
        limits=limits,
        resume=resume,
        listeners=[] if events is None else [events.append],
    )


async def records_of(store: SessionStore, session: str) -> list[Record]:
    return [stamped.record for stamped in read(await store.load(session))]


async def log_of(store: SessionStore) -> list[Record]:
    """The records of the one session in the store."""
    return await records_of(store, (await store.find("latest")).id)


def results(messages: Sequence[Message] | Sequence[Record]) -> list[ToolResult]:
    return [message for message in messages if isinstance(message, ToolResult)]


def outcomes(messages: Sequence[Message] | Sequence[Record]) -> list[tuple[str, str]]:
    return [(result.call_id, result.outcome) for result in results(messages)]


def notes(messages: Sequence[Message] | Sequence[Record], kind: str = "") -> list[Note]:
    return [m for m in messages if isinstance(m, Note) and kind in ("", m.kind)]


def warnings(events: Iterable[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Warned)]


def encoded(value: object) -> bytes:
    return msgspec.json.encode(value)


# --- rules that always hold -------------------------------------------------------------------------


def check_messages(messages: Sequence[Message]) -> None:
    """I1 and I3: behind each reply stand exactly the results of its calls, in call order."""
    waiting: list[str] = []
    for message in messages:
        match message:
            case ToolResult(call_id=call_id):
                assert waiting, f"a result that nothing asked for: {call_id}"
                assert call_id == waiting.pop(0)
            case User() | Note() | Assistant():
                assert not waiting, f"{type(message).__name__} before the results of {waiting}"
                waiting = [c.id for c in message.calls] if isinstance(message, Assistant) else []
    assert not waiting, f"no result for {waiting}"


def check_requests(requests: Sequence[Request]) -> None:
    """I2: system text and tools stay, and each request extends the one before it, byte for byte."""
    for older, newer in pairwise(requests):
        assert (older.system, encoded(older.tools)) == (newer.system, encoded(newer.tools))
        before = [encoded(message) for message in older.messages]
        assert before == [encoded(message) for message in newer.messages[: len(before)]]
    for request in requests:
        check_messages(request.messages)


async def check_fold(agent: Agent, store: SessionStore) -> None:
    """What the agent knows in memory is what the log says: messages and plan state."""
    records = await records_of(store, agent.session_id)
    assert list(agent.messages) == messages_of(records)
    assert agent.plan_state == plan_of(records)
