"""The kill campaign: a real child process is killed at a random point, then its session is looked at.

While it works its conversation is made shorter again and again, and a person edits its plan and says
something through the inbox; afterwards its session is also forked at a random point.
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
from dataclasses import dataclass, field, replace
from pathlib import Path

from child import digest

from onplan.coding import coding_agent
from onplan.errors import PlanError
from onplan.events import Compacted, PlanEdited, Record, ToolStarted
from onplan.messages import Assistant, Call, Message, Note, ToolResult
from onplan.models.scripted import ScriptedModel
from onplan.plan.settings import ReminderPolicy
from onplan.plan.state import State
from onplan.planning import plan_of
from onplan.session import InboxRequest, leave_request, read
from onplan.session.conversation import Conversation
from onplan.session.forking import fork
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
    requests: int = 0
    left: int = 0
    served_by_child: int = 0
    forks: int = 0
    faults: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Told:
    """What the child had told its model when it died."""

    session: str
    writes: dict[int, str]
    """The step of each revision that a model was told of."""
    sent: list[tuple[int, str]]
    """How many messages each request held, and their digest."""


def campaign(kills: int, seed: int, folder: Path) -> Figures:
    """Kill `kills` runs; every third goes on with the session of the run before it."""
    chance = random.Random(seed)
    figures = Figures()
    session = ""
    for number in range(kills):
        told = run_and_kill(folder, session if number % 3 else "", chance.uniform(0.0, 0.35), edit=number)
        figures.kills += 1
        found = asyncio.run(inspect(folder, told, figures, edit=number))
        found += asyncio.run(forked(folder, told.session, chance, figures))
        figures.faults += [f"kill {number}: {fault}" for fault in found]
        session = told.session
    return figures


def mine(number: int) -> str:
    """What the person adds to the plan in a run."""
    return f"mine {number}"


def words(number: int) -> str:
    """What the person says in a run."""
    return f"words {number}"


def run_and_kill(folder: Path, session: str, delay: float, *, edit: int) -> Told:
    """Start a child, wait until its first request, leave an edit of its plan and words for its model, then
    `delay` seconds later SIGKILL it."""
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
        asyncio.run(_leave(folder, _told(lines).session, edit))
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        listener.join(_START)
    return _told(lines)


async def _leave(folder: Path, session: str, number: int) -> None:
    store = SqliteStore.open(folder / "sessions.sqlite3")
    todo = {"content": mine(number), "status": "pending"}
    await leave_request(store, session, InboxRequest("edit", (todo,)))
    await leave_request(store, session, InboxRequest("say", text=words(number)))
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
    told = Told("", {}, [])
    for line in lines:
        match line.split():
            case ["session", name]:
                told = replace(told, session=name)
            case ["told", number, *step] if line.endswith("\n"):
                told.writes[int(number)] = " ".join(step)
            case ["sent", count, digest] if line.endswith("\n"):
                told.sent.append((int(count), digest))
            case _:
                pass
    return told


async def inspect(folder: Path, told: Told, figures: Figures, *, edit: int) -> list[str]:
    """Resume the session and say what is wrong with it; nothing, one hopes."""
    store = SqliteStore.open(folder / "sessions.sqlite3")
    faults = list(store.warnings)
    before = [stamped.record for stamped in read(await store.load(told.session))]
    model = ScriptedModel(["I stop here."] * 2)
    agent = await coding_agent(folder / "workspace", model=model, store=store, auto=True, resume=told.session)
    figures.resumed += 1
    after = [stamped.record for stamped in read(await store.load(told.session))]
    faults += _writes(told, before)
    faults += _requests(told, before)
    faults += _pairing(after)
    faults += _view(agent.messages, agent.plan_state)
    faults += _kinds(before, after, figures)
    figures.compactions += sum(isinstance(record, Compacted) for record in before)
    result = await agent.run("stop")
    # Served by the child, and then in its log, or by the one who resumed: once.
    log = [stamped.record for stamped in read(await store.load(told.session))]
    faults += _asked(edit, log)
    figures.left += 2
    figures.served_by_child += 2 - len(list(_asked(edit, before)))
    if result.reason != "open_todos" and agent.plan.open:
        faults.append(f"the session did not go on: {result.reason} {result.error}")
    stats, policy = agent.plan_state.stats, ReminderPolicy()
    if stats.max_messages > policy.max_messages or stats.max_tokens > policy.max_tokens:
        faults.append(f"the plan was {stats.max_messages} messages, {stats.max_tokens} tokens away")
    figures.writes_told += len(told.writes)
    figures.requests += len(told.sent)
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


def _writes(told: Told, log: Sequence[Record]) -> Iterator[str]:
    """An accepted write that the model was told of is in the log, as it was told (I4)."""
    logged: dict[int, str] = {}
    for record in log:
        match record:
            case ToolResult(details={"plan": {"type": "written", "revision": revision, "todos": todos}}):
                logged[revision] = todos[0]["content"].removeprefix("step ")
            case _:
                pass
    for revision, step in told.writes.items():
        if logged.get(revision) != step:
            yield f"revision {revision} was told as {step!r}, the log has {logged.get(revision)!r}"


def _requests(told: Told, log: Sequence[Record]) -> Iterator[str]:
    """Every request was the fold over the log as far as it went then (I2)."""
    wanted, found, conversation = set(told.sent), set[tuple[int, str]](), Conversation()
    counts = {count for count, _ in wanted}
    for record in log:
        conversation.fold(record)
        if len(conversation.messages) in counts:
            found.add((len(conversation.messages), digest(conversation.messages)))
    if missing := wanted - found:
        yield f"{len(missing)} requests were not what the log says"


def _asked(number: int, log: Sequence[Record]) -> Iterator[str]:
    """What was left in the inbox is in the log, once."""
    edits = [record.todos[0]["content"] for record in log if isinstance(record, PlanEdited)]
    said = [record.text for record in log if isinstance(record, Note) and record.kind == "steering"]
    for what, count in (
        (mine(number), edits.count(mine(number))),
        (words(number), said.count(words(number))),
    ):
        if count != 1:
            yield f"{what!r} was left in the inbox and is in the log {count} times"


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
    print(f"requests compared, byte wise  {figures.requests}")
    print(
        f"edits and words left          {figures.left}, of them served by the child {figures.served_by_child}"
    )
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
