"""Own time per round of the whole agent with its durable log, beside bare loops, in one run.

2,000 rounds of one call with a 2 KB result and a 10-item plan write every fourth round. CPU time of
this process, so that a busy machine does not count; memory in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from onplan.agent import Agent
from onplan.messages import Assistant, Call, Text
from onplan.models.scripted import ScriptedModel
from onplan.parts import Limits
from onplan.protocols import Request
from onplan.session import Session
from onplan.stores.holder import this_process
from onplan.stores.sqlite import SqliteStore
from onplan.toolset import Ctx, tool

RESULT = "x" * 2048
STEPS = [f"Step {n}: change the module and run its tests" for n in range(10)]


@tool()
async def work(number: int) -> str:
    """Return two kilobytes."""
    return RESULT


def todos(number: int) -> dict[str, object]:
    done = number // 4 % 10
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * (9 - done)
    return {"todos": [{"content": c, "status": s} for c, s in zip(STEPS, statuses, strict=True)]}


def reply(number: int, rounds: int) -> Assistant:
    if number >= rounds:
        return Assistant((Text("done"),))
    if number % 4 == 0:
        return Assistant((Call(f"c{number}", "write_todos", todos(number)),), "tool_calls")
    return Assistant((Call(f"c{number}", "work", {"number": number}),), "tool_calls")


async def agent_run(path: Path, rounds: int) -> dict[str, float]:
    marks: list[float] = []

    def answer(_: Request) -> Assistant:
        marks.append(time.process_time())
        return reply(len(marks) - 1, rounds)

    store = SqliteStore.open(path)
    agent = await Agent.start(
        model=ScriptedModel(answer, record=False),
        tools=[work],
        store=store,
        limits=Limits(rounds=None, continuations=0),
    )
    result = await agent.run("do it")
    assert result.rounds == rounds, result
    sizes = sum(len(msgspec.json.encode(message)) for message in agent.messages)
    session = agent.session_id
    await agent.close()
    await store.close()
    tenth = max(1, rounds // 10)
    store = SqliteStore.open(path)
    started = time.perf_counter()
    resumed = await Session.resume(store, this_process(), session)
    bare_resume = time.perf_counter() - started
    await resumed.close()
    started = time.perf_counter()
    again = await Agent.start(model=ScriptedModel([]), tools=[work], store=store, resume=session)
    resume = time.perf_counter() - started
    assert again.plan == result.plan
    await again.close()
    await store.close()
    return {
        "ms per round": (marks[rounds] - marks[0]) / rounds * 1e3,
        "first tenth": (marks[tenth] - marks[0]) / tenth * 1e3,
        "last tenth": (marks[rounds] - marks[rounds - tenth]) / tenth * 1e3,
        "messages MB": sizes / 1e6,
        "disk MB": path.stat().st_size / 1e6,
        "resume ms": resume * 1e3,
        "of it the log": bare_resume * 1e3,
    }


async def script_run(rounds: int) -> float:
    """What the script and the tool of the benchmark cost by themselves: ms per round."""
    count = 0

    def answer(_: Request) -> Assistant:
        nonlocal count
        count += 1
        return reply(count - 1, rounds)

    model = ScriptedModel(answer, record=False)
    request = Request("", (), [])
    started = time.process_time()
    for number in range(rounds):
        async for _ in model.stream(request):
            pass
        if number % 4:
            await work.run({"number": number}, Ctx(), {})
    return (time.process_time() - started) / rounds * 1e3


def bare_run(path: Path, rounds: int, sync: Callable[[int], None] | None) -> float:
    """The same messages through a loop that appends JSON lines and does nothing else: ms per round."""
    messages: list[dict[str, object]] = []
    with path.open("w") as file:
        started = time.process_time()
        for number in range(rounds):
            call = todos(number) if number % 4 == 0 else {"number": number}
            for message in ({"role": "assistant", "call": call}, {"role": "tool", "content": RESULT}):
                messages.append(message)
                file.write(json.dumps(message) + "\n")
                file.flush()
                if sync is not None:
                    sync(file.fileno())
        return (time.process_time() - started) / rounds * 1e3


def memory_mb(rounds: int) -> float:
    """Peak memory of a process that runs the agent, less that of one that runs a single round."""
    peaks: list[int] = []
    for count in (1, rounds):
        command = [sys.executable, __file__, "--peak", "--rounds", str(count)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return (peaks[1] - peaks[0]) / 1024


def peak(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(agent_run(Path(folder) / "log.sqlite3", rounds))
    # not ru_maxrss: a child begins with its parent's
    status = Path("/proc/self/status").read_text()
    print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--peak", action="store_true", help="print this process's peak memory only")
    options = parser.parse_args()
    if options.peak:
        peak(options.rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        asyncio.run(agent_run(home / "warm.sqlite3", 100))
        runs = [asyncio.run(agent_run(home / f"log{n}.sqlite3", options.rounds)) for n in range(3)]
        ours = min(runs, key=lambda run: run["ms per round"])
        bare = min(bare_run(home / "bare.jsonl", options.rounds, None) for _ in range(3))
        script = min(asyncio.run(script_run(options.rounds)) for _ in range(3))
        synced = bare_run(home / "synced.jsonl", options.rounds, os.fdatasync)
    print(f"{options.rounds} rounds, best of three, CPU")
    for name, value in ours.items():
        print(f"  {name:<16}{value:10.3f}")
    print(f"  {'memory MB':<16}{memory_mb(options.rounds):10.1f}  (beyond one round; messages included)")
    own = ours["ms per round"] - script
    print(f"  of it the script {script:9.3f} ms, so own {own:.3f} ms  (at most 0.25)")
    print(f"  last tenth / first tenth   {ours['last tenth'] / ours['first tenth']:6.2f}  (at most 1.3)")
    print(f"  disk / messages            {ours['disk MB'] / ours['messages MB']:6.2f}  (at most 1.2)")
    print(
        f"  bare JSON lines            {bare:6.3f} ms; ours is {ours['ms per round'] / bare:.1f} times that"
    )
    print(f"  bare with fdatasync        {synced:6.3f} ms; ours: {ours['ms per round'] / synced:.2f} times")


if __name__ == "__main__":
    main()
