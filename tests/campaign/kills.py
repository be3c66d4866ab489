"""The kill campaign: a real child process is killed at a random point, then its session is looked at.

While it works its conversation is made shorter again and again, and a person edits its plan through the
inbox; afterwards its session is also forked at a random point.
`python tests/campaign/kills.py --kills 300` prints the figures of docs/reliability.md.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from onplan.coding import coding_agent
from onplan.errors import PlanError
from onplan.events import Compacted, PlanEdited, Record, ToolStarted
from onplan.messages import Assistant, Call, Message, Note, ToolResult
from onplan.models.scripted import ScriptedModel
from onplan.plan.state import State
from onplan.planning import plan_of
from onplan.session import InboxRequest, fork, leave_request, read
from onplan.stores.sqlite import SqliteStore

CHILD = Path(__file__).with_name("child.py")
_START = 30.0


@dataclass
class Figures:
    """What a campaign found. `faults` must be empty."""

    kills: int = 0
    writes_told: int = 0
    records: int = 0
    interrupted: int = 0
    not_executed: int = 0
    in_tool: int = 0
    resumed: int = 0
    compactions: int = 0
    edits_left: int = 0
    edits_made: int = 0
    forks: int = 0
    faults: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Told:
    """What the child had told its model when it died."""

    session: str
    revision: int
    step: str


def campaign(kills: int, seed: int, folder: Path) -> Figures:
    """Kill `kills` runs; every third goes on with the session of the run before it."""
    chance = random.Random(seed)
    figures = Figures()
    session = ""
    for number in range(kills):
        told = run_and_kill(folder, session if number % 3 else "", chance.uniform(0.0, 0.35), edit=number)
        figures.kills += 1
        figures.edits_left += 1
        found = asyncio.run(inspect(folder, told, figures, edit=number))
        found += asyncio.run(forked(folder, told.session, chance, figures))
        figures.faults += [f"kill {number}: {fault}" for fault in found]
        session = told.session
    return figures


def mine(number: int) -> str:
    """What the person adds to the plan in a run."""
    return f"mine {number}"


def run_and_kill(folder: Path, session: str, delay: float, *, edit: int) -> Told:
    """Start a child, wait until its first request, leave an edit of its plan, then `delay` seconds later
    SIGKILL it."""
    with _child(folder, session) as child:
        lines: list[str] = []
        ready = threading.Event()
        assert child.stdout is not None
        stdout = child.stdout

        def listen() -> None:
            for line in stdout:
                lines.append(line)
                ready.set()

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        if not ready.wait(_START):
            raise RuntimeError("the child said nothing")
        asyncio.run(_leave_edit(folder, _told(lines).session, edit))
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        listener.join(_START)
    return _told(lines)


async def _leave_edit(folder: Path, session: str, number: int) -> None:
    store = SqliteStore.open(folder / "sessions.sqlite3")
    todo = {"content": mine(number), "status": "pending"}
    await leave_request(store, session, InboxRequest("edit", (todo,)))
    await store.close()


@contextmanager
def _child(folder: Path, session: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(CHILD), str(folder), *([session] if session else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def _told(lines: list[str]) -> Told:
    session, revision, step = "", 0, ""
    for line in lines:
        match line.split():
            case ["session", name]:
                session = name
            case ["told", number, name] if line.endswith("\n"):
                revision, step = int(number), name
            case _:
                pass
    return Told(session, revision, step)


async def inspect(folder: Path, told: Told, figures: Figures, *, edit: int) -> list[str]:
    """Resume the session and say what is wrong with it; nothing, one hopes."""
    store = SqliteStore.open(folder / "sessions.sqlite3")
    faults = list(store.warnings)
    before = [stamped.record for stamped in read(await store.load(told.session))]
    model = ScriptedModel(["I stop here."] * 2)
    agent = await coding_agent(folder / "workspace", model=model, store=store, auto=True, resume=told.session)
    figures.resumed += 1
    after = [stamped.record for stamped in read(await store.load(told.session))]
    state = agent.plan_state
    if state.ledger.revision < told.revision:
        faults.append(f"revision {told.revision} was told to the model, the log has {state.ledger.revision}")
    elif told.revision and state.ledger.at(told.revision).todos[0].content != f"step {told.step}":
        faults.append(f"revision {told.revision} is not the plan that was told")
    faults += _pairing(after)
    faults += _view(agent.messages, state)
    faults += _kinds(before, after, figures)
    figures.compactions += sum(isinstance(record, Compacted) for record in before)
    result = await agent.run("stop")
    # Taken by the child, and then in its log, or by the one who resumed.
    log = [stamped.record for stamped in read(await store.load(told.session))]
    edits = [record for record in log if isinstance(record, PlanEdited)]
    if not any(record.todos[0]["content"] == mine(edit) for record in edits):
        faults.append("an edit that was left in the inbox is not in the log")
    figures.edits_made += len(edits)
    if result.reason != "open_todos" and agent.plan.open:
        faults.append(f"the session did not go on: {result.reason} {result.error}")
    figures.writes_told += told.revision
    figures.records += len(before)
    await agent.close()
    again = await coding_agent(
        folder / "workspace", model=ScriptedModel([]), store=store, auto=True, resume=told.session
    )
    if again.plan_state.ledger.revision != agent.plan_state.ledger.revision:
        faults.append("a second resume gave another revision")
    await again.close()
    await store.close()
    return faults


async def forked(folder: Path, session: str, chance: random.Random, figures: Figures) -> list[str]:
    """Fork the session at a random record and say what is wrong with the fork."""
    store = SqliteStore.open(folder / "sessions.sqlite3")
    rows = await store.load(session)
    at = chance.randint(1, len(rows))
    expected = plan_of([stamped.record for stamped in read(rows[:at])])
    made = await fork(store, session, at)
    agent = await coding_agent(
        folder / "workspace", model=ScriptedModel(["I stop here."] * 2), store=store, auto=True, resume=made
    )
    figures.forks += 1
    faults = list(_view(agent.messages, agent.plan_state))
    if agent.plan_state.ledger.revisions != expected.ledger.revisions:
        faults.append(f"a fork at record {at} has another plan, or another history of it")
    result = await agent.run("stop")
    if result.reason not in ("open_todos", "done"):
        faults.append(f"a fork at record {at} did not go on: {result.reason} {result.error}")
    await agent.close()
    if await store.load(session) != rows:
        faults.append("a fork changed the session that it was made of")
    await store.close()
    return faults


def _view(messages: Sequence[Message], state: State) -> Iterator[str]:
    """What the model sees: pairs are whole, and there is at most one block of the plan, as it was when the
    conversation was made shorter (I1, I6)."""
    yield from _pairing(messages)
    blocks = [message for message in messages if isinstance(message, Note) and message.kind == "plan"]
    if len(blocks) > 1:
        yield f"{len(blocks)} blocks of the plan in one request"
    for block in blocks:
        revision = int((block.details or {})["plan"]["shows"])
        try:
            plan = state.ledger.at(revision)
        except PlanError:
            continue  # older than the ledger keeps
        missing = [todo.content for todo in plan.open if todo.content not in block.text]
        if missing:
            yield f"the block of the plan does not hold {missing}"


def _pairing(records: Sequence[Record]) -> Iterator[str]:
    """Each reply's calls have exactly one result each, in call order, before anything else is said."""
    waiting: list[Call] = []
    for record in records:
        match record:
            case Assistant():
                if waiting:
                    yield f"{len(waiting)} calls without result"
                waiting = list(record.calls)
            case ToolResult(call_id=call_id):
                if not waiting or waiting[0].id != call_id:
                    yield f"a result for {call_id} that nobody waits for"
                else:
                    waiting.pop(0)
            case _:
                pass
    if waiting:
        yield f"{len(waiting)} calls without result at the end"


def _kinds(before: list[Record], after: list[Record], figures: Figures) -> Iterator[str]:
    """A call that was started is interrupted, one that was not is not executed."""
    last = max((n for n, record in enumerate(before) if isinstance(record, Assistant)), default=0)
    started = {record.call_id for record in before[last:] if isinstance(record, ToolStarted)}
    repaired = [record for record in after[len(before) :] if isinstance(record, ToolResult)]
    for result in repaired:
        expected = "interrupted" if result.call_id in started else "not_executed"
        if result.outcome != expected:
            yield f"{result.call_id} is {result.outcome}, not {expected}"
        figures.interrupted += result.outcome == "interrupted"
        figures.not_executed += result.outcome == "not_executed"
    figures.in_tool += any(result.outcome == "interrupted" for result in repaired)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = campaign(options.kills, options.seed, Path(folder))
    print(f"kills                         {figures.kills}")
    print(f"sessions that resumed         {figures.resumed}")
    print(f"records in the logs           {figures.records}")
    print(f"accepted writes told          {figures.writes_told}")
    print(f"compactions                   {figures.compactions}")
    print(f"edits left, in the logs       {figures.edits_left}, {figures.edits_made}")
    print(f"forks                         {figures.forks}")
    print(f"killed inside a tool          {figures.in_tool}")
    told = f"{figures.interrupted} interrupted, {figures.not_executed} not executed"
    print(f"results given on resume       {told}")
    print(f"faults                        {len(figures.faults)}")
    for fault in figures.faults:
        print("FAULT", fault)
    sys.exit(bool(figures.faults))


if __name__ == "__main__":
    main()
