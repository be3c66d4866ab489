"""A session of thousands of rounds in a small context: compaction keeps memory, time and plan as they are.

One turn of the whole agent with its durable log: a call with a 1 KB result in each round, a plan write every
seventh, a summarizer that lies about the plan. Ends with an error if a claim does not hold, and prints the
figures.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onplan.agent import Agent
from onplan.compaction import CompactionPolicy
from onplan.events import Compacted, Event, Record
from onplan.messages import Assistant, Call, Message, Note, Text, ToolResult, User, model_text
from onplan.models.scripted import ScriptedModel
from onplan.parts import Limits
from onplan.plan.render import render_open
from onplan.plan.settings import Settings
from onplan.planning import PlanFold
from onplan.protocols import Request
from onplan.session import read
from onplan.stores.sqlite import SqliteStore
from onplan.toolset import tool

CONTEXT = 32_000
REQUEST = "Go through all of it, and change nothing that you were not asked to change."
STEPS = [f"Step {n}: change the module and run its tests" for n in range(10)]


@tool()
async def work(number: int) -> str:
    """Return a kilobyte."""
    return f"{number} " + "x" * 1_000


def todos(number: int) -> list[dict[str, str]]:
    """A plan of which a little more is done each time; then it begins again, and is never finished."""
    done = number // 7 % len(STEPS)
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * (len(STEPS) - 1 - done)
    return [{"content": c, "status": s} for c, s in zip(STEPS, statuses, strict=True)]


@dataclass
class Seen:
    """What is measured while it runs, and asserted at once."""

    rounds: int
    agent: Agent | None = None
    marks: list[float] = field(default_factory=list[float])
    resident: list[int] = field(default_factory=list[int])
    longest: int = 0
    summaries: int = 0
    compactions: int = 0
    summed_up: int = 0

    def answer(self, request: Request) -> Assistant:
        last = request.messages[-1]
        if isinstance(last, Note) and last.kind == "compaction":
            self.summaries += 1
            # A summarizer that lies about the plan.
            return Assistant((Text("<plan>[x] all is done</plan>\n[x] " + "\n[x] ".join(STEPS)),))
        number = len(self.marks)
        self.marks.append(time.process_time())
        self.resident.append(resident_kb())
        self.check(request.messages)
        self.check_plan(number)
        if number >= self.rounds:
            return Assistant((Text("so far"),))
        if number % 7 == 0:
            return Assistant((Call(f"c{number}", "write_todos", {"todos": todos(number)}),), "tool_calls")
        return Assistant((Call(f"c{number}", "work", {"number": number}),), "tool_calls")

    def check(self, messages: Sequence[Message]) -> None:
        agent = self.agent
        assert agent is not None
        self.longest = max(self.longest, len(messages))
        assert agent.context_tokens <= CONTEXT, f"{agent.context_tokens} tokens"
        assert [m.text for m in messages if isinstance(m, User)] == [REQUEST], "the request is not as it was"
        blocks = [m for m in messages if isinstance(m, Note) and m.kind == "plan"]
        assert len(blocks) <= 1, "two plans"
        distance = agent.plan_state.distance
        assert distance.messages <= 30, distance
        assert distance.tokens <= 8_000, distance
        self.check_pairs(messages)

    def check_plan(self, number: int) -> None:
        """It is what was written last, whatever became of the conversation since."""
        assert self.agent is not None
        written = todos((number - 1) // 7 * 7) if number else []
        assert self.agent.plan.to_json() == written, "the plan is not what was written last"

    @staticmethod
    def check_pairs(messages: Sequence[Message]) -> None:
        waiting: list[str] = []
        for message in messages:
            if isinstance(message, ToolResult):
                assert waiting.pop(0) == message.call_id
            elif waiting:
                raise AssertionError(f"no result for {waiting}")
            if isinstance(message, Assistant):
                waiting = [call.id for call in message.calls]

    def listen(self, event: Event) -> None:
        if isinstance(event, Compacted):
            self.compactions += 1
            self.summed_up += bool(event.head)
            self.check_block(event)

    def check_block(self, record: Compacted) -> None:
        agent = self.agent
        assert agent is not None
        shown = "".join(model_text(note) for note in record.tail)
        state = agent.plan_state
        if state.plan.open:
            assert render_open(state.plan, state.dialect) in shown, "the plan that is shown is another one"
            assert f"revision {state.ledger.revision}." in shown
        else:
            assert not shown


def resident_kb() -> int:
    status = Path("/proc/self/statm").read_text()
    return int(status.split()[1]) * 4


async def run(path: Path, rounds: int) -> tuple[Seen, list[Record]]:
    store = SqliteStore.open(path)
    seen = Seen(rounds)
    seen.agent = agent = await Agent.start(
        model=ScriptedModel(seen.answer, record=False),
        tools=[work],
        store=store,
        compaction=CompactionPolicy(limit=CONTEXT),
        limits=Limits(rounds=None, continuations=0),
        listeners=[seen.listen],
    )
    result = await agent.run(REQUEST)
    assert (result.reason, result.rounds) == ("open_todos", rounds), result
    view = list(agent.messages)
    plan, figures = agent.plan, agent.plan_state.stats
    assert figures.max_messages <= 30, figures
    assert figures.max_tokens <= 8_000, figures
    await agent.close()
    records = [stamped.record for stamped in read(await store.load(agent.session_id))]
    started = time.perf_counter()
    again = await Agent.start(model=ScriptedModel([]), tools=[work], store=store, resume=agent.session_id)
    print(f"  {'resume':<34}{(time.perf_counter() - started) * 1e3:10.0f} ms")
    assert list(again.messages) == view, "a resume sends other bytes"
    assert again.plan == plan
    await again.close()
    await store.close()
    return seen, records


def check_plans(records: Sequence[Record]) -> int:
    """Every plan that a compaction showed, against the log folded up to there."""
    folded, checked = PlanFold(Settings()), 0
    for record in records:
        if isinstance(record, Compacted):
            shown = "".join(model_text(note) for note in record.tail)
            state = folded.state
            assert not state.plan.open or render_open(state.plan, state.dialect) in shown
            checked += 1
        folded.fold(record)
    return checked


def tenths(values: Sequence[float]) -> Iterator[float]:
    size = len(values) // 10
    for n in range(10):
        yield statistics.fmean(values[n * size : (n + 1) * size])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5_000)
    options = parser.parse_args()
    print(f"{options.rounds:,} rounds in a context of {CONTEXT:,} tokens")
    with tempfile.TemporaryDirectory() as folder:
        seen, records = asyncio.run(run(Path(folder) / "log.sqlite3", options.rounds))
        disk = (Path(folder) / "log.sqlite3").stat().st_size
    checked = check_plans(records)
    spans = [(after - before) * 1e3 for before, after in zip(seen.marks, seen.marks[1:], strict=False)]
    times = list(tenths(spans))
    # The first tenth fills the interpreter's own caches and SQLite's pages.
    grown = max(seen.resident[len(seen.resident) // 10 :]) - seen.resident[len(seen.resident) // 10]
    rows = {
        "compactions, of them summaries": f"{seen.compactions:,}, {seen.summed_up:,}",
        "plans compared with the log": f"{checked:,}, all the same",
        "CPU per round, first and last tenth": f"{times[0]:.3f} and {times[-1]:.3f} ms",
        "longest round (a compaction)": f"{max(spans):.1f} ms",
        "messages in the longest request": f"{seen.longest:,} of {sum(map(is_message, records)):,}",
        "memory grown after the first tenth": f"{grown / 1024:.1f} MB",
        "log on disk": f"{disk / 1e6:.1f} MB",
    }
    for name, value in rows.items():
        print(f"  {name:<36}{value}")
    assert checked == seen.compactions > 10
    assert seen.summed_up == seen.summaries > 0
    assert times[-1] < 1.3 * times[1], "time per round grows"
    assert grown < 16 * 1024, "memory grows"


def is_message(record: Record) -> bool:
    return isinstance(record, (User, Assistant, ToolResult, Note))


if __name__ == "__main__":
    main()
