"""The demo model: a `Model` without a network that does two jobs, honestly, with the tools it is offered."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

from onplan.messages import Assistant, Call, StopReason, Text
from onplan.protocols import Delta, Request

DEMO_TASK = "Write a README for this project."
"""The job that the demo model is there for."""

_AGENTS = re.compile(r"\bAGENTS\.md\b")


class DemoModel:
    """Writes the README, or the AGENTS.md, of the Python project that its tools show it, with a plan.

    It needs the tools `glob`, `read_file` and `write_file`, and uses whichever plan tools are offered.
    It answers to `task` and to any other message that asks for a README or for AGENTS.md. It holds no state:
    the same conversation gets the same reply, so an interrupted run goes on where it stopped.
    """

    def __init__(self, task: str = DEMO_TASK, name: str = "demo") -> None:
        self._name = name
        self._readme = re.compile(rf"{re.escape(task.strip())}|\bread.?me\b", re.I)

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        # A stream that never suspends could not be cancelled.
        await asyncio.sleep(0)
        reply = self._reply(request)
        for word in re.findall(r"\S+\s*", reply.text):
            yield Delta("text", word)
        yield reply

    def _reply(self, request: Request) -> Assistant:
        # Loaded with the first request: a prompt is there sooner.
        from onplan.demo.conversation import work_of
        from onplan.demo.decide import AGENTS_FILE, README, Do, decide

        do = Do(f'I am the demo model and know one job. Ask me: "{DEMO_TASK}"')
        calls_so_far = 0
        for wants, job in ((_AGENTS, AGENTS_FILE), (self._readme, README)):
            work = work_of(request, wants)
            calls_so_far = work.calls_so_far
            if work.task:
                do = decide(work, request, job)
                break
        calls = [
            Call(f"demo_{number}", tool, arguments)
            for number, (tool, arguments) in enumerate(do.calls, calls_so_far + 1)
        ]
        stop: StopReason = "tool_calls" if calls else "end"
        return Assistant((Text(do.text), *calls), stop=stop, model=self._name)


def demo_model(task: str = DEMO_TASK, *, name: str = "demo") -> DemoModel:
    """The demo model for a task in the caller's words."""
    return DemoModel(task, name)
