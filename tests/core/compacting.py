"""A model that works and, when it is asked to, sums up; and an agent whose context is small."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from parts import TOOLS

from onplan.agent import Agent
from onplan.compaction import CompactionPolicy
from onplan.events import Compacted, Event
from onplan.hooks import Hooks
from onplan.messages import Message, Note
from onplan.models.scripted import Reply, ScriptedModel
from onplan.parts import Limits
from onplan.plan.settings import Settings
from onplan.protocols import Request, SessionStore
from onplan.stores.memory import MemoryStore
from onplan.toolset import Tool, tool

SMALL = CompactionPolicy(limit=4_000)


@tool(read_only=True)
async def read(size: int = 0, text: str = "x") -> str:
    """Read so many characters."""
    return (text * size)[:size] if size else text


def sums_up(request: Request) -> bool:
    """Whether a request asks for a summary."""
    last = request.messages[-1]
    return isinstance(last, Note) and last.kind == "compaction"


class Worker(ScriptedModel):
    """`work` answers the n-th ordinary request (from 0), `summary` the n-th one for a summary."""

    def __init__(
        self,
        work: Callable[[int, Request], Reply],
        summary: Reply | Callable[[int, Request], Reply] = "What was done: this and that.",
    ) -> None:
        self.asked: list[Request] = []
        self.summaries: list[Request] = []

        def answer(request: Request) -> Reply:
            kept = Request(request.system, request.tools, tuple(request.messages))
            if not sums_up(request):
                self.asked.append(kept)
                return work(len(self.asked) - 1, kept)
            self.summaries.append(kept)
            return summary(len(self.summaries) - 1, kept) if callable(summary) else summary

        super().__init__(answer, record=False)


async def small(
    model: ScriptedModel,
    *tools: Tool,
    policy: CompactionPolicy | None = SMALL,
    store: SessionStore | None = None,
    planning: Settings | None = None,
    hooks: Hooks | None = None,
    limits: Limits | None = None,
    resume: str = "",
    events: list[Event] | None = None,
    **more: Any,
) -> Agent:
    """An agent that compacts at 4,000 tokens."""
    return await Agent.start(
        model=model,
        store=store or MemoryStore(),
        tools=(*(tools or TOOLS), read),
        planning=planning,
        compaction=policy,
        hooks=hooks,
        limits=limits,
        resume=resume,
        listeners=[] if events is None else [events.append],
        **more,
    )


def compactions(events: Iterable[object]) -> list[Compacted]:
    return [event for event in events if isinstance(event, Compacted)]


def blocks(messages: Iterable[Message]) -> list[Note]:
    return [message for message in messages if isinstance(message, Note) and message.kind == "plan"]


def summary_of(record: Compacted) -> str:
    return "".join(note.text for note in record.head if isinstance(note, Note) and note.kind == "summary")
