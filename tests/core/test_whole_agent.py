"""What always holds, over the whole coding agent: real tools, SQLite, compaction, steering, edits, forks.

A story is drawn and played: what the model does, what the person and other processes do meanwhile, what
fails. Each rule is then read off the requests as they were sent and off the log as another process finds it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from compacting import HOSTILE, blocks, check_log, sums_up, view_of
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import check_messages, encoded, notes, records_of, results, todos

from onplan.agent import Agent
from onplan.coding import coding_agent
from onplan.compaction import CompactionPolicy
from onplan.errors import ModelError, OnplanError, StoreError
from onplan.events import (
    Compacted,
    PlanEdited,
    PrefixChanged,
    Record,
    ToolStarted,
    TurnEnded,
    decode_record,
)
from onplan.messages import Assistant, Call, Message, Note, Text, ToolResult, User, estimate, model_text
from onplan.models.scripted import Reply, ScriptedModel
from onplan.parts import Limits
from onplan.plan.settings import ReminderPolicy, Settings
from onplan.plan.todo import Plan
from onplan.planning import plan_of
from onplan.protocols import Delta, Fact, Request
from onplan.session import InboxRequest, leave_request
from onplan.session.forking import fork
from onplan.stores.sqlite import SqliteStore

LIMIT = 60
"""Seconds after which a test tells a hang from a return."""

FAR = ReminderPolicy(max_messages=7, max_tokens=1_200)
SMALL = CompactionPolicy(limit=3_600)
"""System text and tools alone take 1,450 of these."""

STEPS = ("survey the house", "lay the floor", "paint the door", "hang the bell")


# --- a story ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    """What the model answers to one request, and what somebody else does before it answers."""

    calls: tuple[tuple[str, int], ...]
    deed: str = ""


@dataclass(frozen=True)
class Story:
    """`failing`: appends to the log, counted from the start of a process, that the disk has no room for.
    `dies`: the append at which the first process is killed, 0 for none, `before` it is committed or behind.
    """

    turns: tuple[tuple[Round, ...], ...]
    between: tuple[str, ...]
    summaries: tuple[int, ...]
    failing: frozenset[int] = frozenset()
    dies: int = 0
    before: bool = False


WORK = ["plan", "plan", "plan", "read", "read", "read", "read", "write", "look", "shell"]
kinds = st.sampled_from([*WORK, "bad plan", "missing", "malformed", "see plan"])
MEANWHILE = ["", "edit", "undo", "say", "steer", "mine", "too long"]
deeds = st.sampled_from([*MEANWHILE, *MEANWHILE, *MEANWHILE, "interrupt", "broken", "nothing"])


def batch_or_end(end: str) -> st.SearchStrategy[tuple[tuple[str, int], ...]]:
    return st.just(()) if end else batches


batches = st.lists(st.tuples(kinds, st.integers(0, 80)), min_size=1, max_size=3).map(tuple)
rounds = st.builds(Round, st.sampled_from([*[""] * 11, "end"]).flatmap(batch_or_end), deeds)
stories = st.builds(
    Story,
    turns=st.lists(st.lists(rounds, min_size=5, max_size=12).map(tuple), min_size=2, max_size=3).map(tuple),
    between=st.lists(
        st.sampled_from(["go on", "compact", "resume", "fork", "edit"]), min_size=4, max_size=4
    ).map(tuple),
    summaries=st.lists(st.integers(0, len(HOSTILE) - 1), min_size=1, max_size=3).map(tuple),
)
failing = st.frozensets(st.integers(2, 40), max_size=4)
STEADY = tuple(Round((("plan", n), ("read", n)) if n % 3 == 0 else (("read", n),)) for n in range(14))


def plan_for(number: int) -> list[dict[str, str]]:
    """A legal plan, another one for each of 81 numbers."""
    names = ("completed", "pending", "in_progress")
    statuses = [names[number // place % 3] for place in (1, 3, 9, 27)]
    first = next((n for n, status in enumerate(statuses) if status == "in_progress"), 0)
    legal = ["pending" if s == "in_progress" and n > first else s for n, s in enumerate(statuses)]
    return todos(*zip(STEPS, legal, strict=True))


def sent(kind: str, number: int) -> Call:
    match kind:
        case "plan":
            return Call("", "write_todos", {"todos": plan_for(number)})
        case "bad plan":
            return Call("", "write_todos", {"todos": todos(("x", "later"))})
        case "see plan":
            return Call("", "read_todos", {})
        case "read":
            name = ("small", "middle", "large", "huge")[number % 4]
            return Call("", "read_file", {"path": name, "offset": 1 + number % 7})
        case "write":
            return Call("", "write_file", {"path": f"made-{number}", "content": f"{number}\n" * 9})
        case "look":
            return Call("", "grep", {"pattern": "the end", "path": "."})
        case "shell":
            return Call("", "bash", {"command": f"seq 1 {number}"})
        case "malformed":
            return Call("", "write_file", '{"path": ')
        case _:
            return Call("", "no_such_tool", {"n": number})


# --- the world it is played in ----------------------------------------------------------------------


class Killed(BaseException):
    """The process is gone."""


class Disk(SqliteStore):
    """A log that has no room at some appends, and at one of them the process that writes it is killed."""

    failing: frozenset[int] = frozenset()
    dies = 0
    before = False
    appends = 0
    dead = False

    async def append(
        self, session: str, seq: int, bodies: Sequence[bytes], *, time: float, served: Sequence[int] = ()
    ) -> None:
        self.appends += 1
        self._live()
        if self.appends in self.failing:
            raise StoreError("the disk is full")
        if self.appends == self.dies and self.before:
            self.dead = True
            self._live()
        await super().append(session, seq, bodies, time=time, served=served)
        self.dead = self.appends == self.dies
        self._live()

    async def describe(self, session: str, facts: Mapping[str, Fact]) -> None:
        self._live()
        await super().describe(session, facts)

    def _live(self) -> None:
        if self.dead:
            raise Killed


@dataclass
class Sent:
    """A request as it was sent, how many records the log held then, and in which session."""

    session: str
    records: int
    system: str
    tools: bytes
    messages: list[bytes]


@dataclass
class World:
    """The model, and everybody else."""

    path: Path
    story: Story
    name: str = "scripted"
    agent: Agent | None = None
    store: Disk | None = None
    left: list[Round] = field(default_factory=list[Round])
    sent: list[Sent] = field(default_factory=list[Sent])
    summaries: int = 0
    edits: list[str] = field(default_factory=list[str])
    said: list[str] = field(default_factory=list[str])
    steered: list[str] = field(default_factory=list[str])
    broken: list[Exception] = field(default_factory=list[Exception])
    """What a request broke. It is raised at the end: what a model raises only ends the turn."""

    # --- the model ---

    async def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        try:
            self.look(request)
        except Exception as error:  # noqa: BLE001 - raised at the end of the story
            self.broken.append(error)
        if sums_up(request):
            nasty = self.story.summaries
            reply = HOSTILE[nasty[self.summaries % len(nasty)]]
            self.summaries += 1
        else:
            round = self.left.pop(0) if self.left else Round(())
            reply = await self.answer(round)
        async for item in ScriptedModel([reply]).stream(request):
            yield item

    def look(self, request: Request) -> None:
        agent = self.agent
        assert agent is not None
        check_messages(request.messages)
        if sums_up(request):
            return
        check_distance(request.messages, agent.plan)
        assert len(blocks(request.messages)) <= 1
        bodies = self.log()
        check_words(request.messages, [decode_record(body) for body in bodies])
        self.sent.append(
            Sent(
                agent.session_id,
                len(bodies),
                request.system,
                encoded(request.tools),
                [encoded(message) for message in request.messages],
            )
        )
        # I4: another process finds every write that this request tells of.
        kept = {body for body in bodies if b'"type":"written"' in body}
        for message in request.messages:
            match message:
                case ToolResult(details={"plan": {"type": "written"}}) if not was_shortened(message):
                    assert encoded(message) in kept
                case _:
                    pass

    def log(self) -> list[bytes]:
        """The session's log, as another process reads it."""
        assert self.agent is not None
        with contextlib.closing(sqlite3.connect(self.path / "log.sqlite3")) as db:
            rows = db.execute(
                "SELECT body FROM records, sessions WHERE sessions.id = ? AND records.id >> 32 = key"
                " ORDER BY records.id",
                (self.agent.session_id,),
            )
            return [body for (body,) in rows]

    async def answer(self, round: Round) -> Reply:
        await self.do(round.deed)
        match round.deed:
            case "too long":
                return ModelError("the conversation is too long", too_long=True)
            case "broken":
                return ModelError("overloaded", retryable=True)
            case "nothing":
                return ""
            case _:
                calls = tuple(sent(kind, number) for kind, number in round.calls)
                return (Text("Now this."), *calls) if calls else "That is it."

    # --- the others ---

    async def do(self, deed: str) -> None:
        agent = self.agent
        assert agent is not None
        match deed:
            case "edit":
                self.edits.append(f"mine {len(self.edits)}")
                await self.leave(InboxRequest("edit", ({"content": self.edits[-1]}, *plan_for(5))))
            case "undo":
                await self.leave(InboxRequest("undo"))
            case "say":
                self.said.append(f"said {len(self.said)}")
                await self.leave(InboxRequest("say", text=self.said[-1]))
            case "steer":
                self.steered.append(f"steered {len(self.steered)}")
                agent.steer(self.steered[-1])
            case "mine":
                with contextlib.suppress(OnplanError):
                    await agent.edit_plan(plan_for(agent.plan_state.ledger.revision))
            case "interrupt":
                agent.interrupt()
                await asyncio.sleep(0)
            case _:
                pass

    async def leave(self, request: InboxRequest) -> None:
        assert self.agent is not None
        with other(self.path) as store:
            await leave_request(store, self.agent.session_id, request)

    async def open(self, resume: str = "") -> None:
        self.store = store = Disk.open(self.path / "log.sqlite3", moment=0.0)
        store.failing = self.story.failing
        if not resume:
            store.dies, store.before = self.story.dies, self.story.before
        self.agent = await coding_agent(
            self.path / "work",
            model=self,
            store=store,
            auto=True,
            planning=Settings(reminder=FAR),
            compaction=SMALL,
            limits=Limits(rounds=30),
            resume=resume,
        )

    async def shut(self) -> None:
        assert self.agent is not None
        assert self.store is not None
        if not self.store.dead:
            with contextlib.suppress(Killed):
                await self.agent.close()
        await self.store.close()

    async def reopen(self, session: str) -> None:
        await self.shut()
        await self.open(session)


@contextlib.contextmanager
def other(path: Path) -> Generator[SqliteStore]:
    """The store as another process opens it."""
    store = SqliteStore.open(path / "log.sqlite3", moment=0.0)
    try:
        yield store
    finally:
        with contextlib.suppress(StopIteration):
            store.close().send(None)


# --- playing it -------------------------------------------------------------------------------------

REASONS = {
    "done",
    "open_todos",
    "plan_loop",
    "call_loop",
    "model_error",
    "store_error",
    "interrupted",
    "empty",
}


async def play(path: Path, story: Story) -> World:
    (path / "work").mkdir()
    for n, name in enumerate(("small", "middle", "large", "huge")):
        (path / "work" / name).write_text(f"{name} needle\n" * 8 ** (n + 1) + "the end\n")
    world = World(path, story)
    await survived(world, world.open())
    for turn, then in zip(story.turns, story.between, strict=False):
        await survived(world, one_turn(world, turn))
        await survived(world, between(world, then))
    await world.shut()
    await world.open(session_of(world))
    await check_world(world)
    await world.shut()
    for error in world.broken:
        raise error
    return world


async def survived(world: World, work: Any) -> None:
    """Do `work`; if the process is killed over it, begin a new one that goes on with the session."""
    try:
        await work
    except Killed:
        assert world.store is not None
        await world.store.close()
        with other(world.path) as store:
            found = await store.sessions()
        session = found[0].id if found and found[0].records else ""
        world.story = Story(world.story.turns, world.story.between, world.story.summaries)
        await world.open(session)


def session_of(world: World) -> str:
    assert world.agent is not None
    return world.agent.session_id


async def one_turn(world: World, turn: tuple[Round, ...]) -> None:
    assert world.agent is not None
    world.left = list(turn)
    result = await world.agent.run(f"Build house {len(world.sent)}")
    assert result.reason in REASONS, result
    assert "\n" not in result.error
    assert "Traceback" not in result.error


async def between(world: World, then: str) -> None:
    agent = world.agent
    assert agent is not None
    match then:
        case "compact":
            with contextlib.suppress(OnplanError):
                await agent.compact("the colours")
        case "resume":
            await world.reopen(agent.session_id)
        case "fork":
            with other(world.path) as store:
                made = await fork(store, agent.session_id)
            before = [encoded(message) for message in agent.messages]
            await world.reopen(made)
            assert [encoded(message) for message in world.agent.messages][: len(before)] == before  # pyright: ignore[reportOptionalMemberAccess] # it was just opened
        case "edit":
            with contextlib.suppress(OnplanError):
                await agent.edit_plan(plan_for(agent.plan_state.ledger.revision * 7))
        case _:
            pass


# --- the rules --------------------------------------------------------------------------------------


def check_words(messages: Sequence[Message], log: Sequence[Record]) -> None:
    """The person's newest request, and what they said since, are in every request, word for word."""
    newest = max(n for n, record in enumerate(log) if isinstance(record, User))
    for record in log[newest:]:
        if isinstance(record, User) or (isinstance(record, Note) and record.kind == "steering"):
            assert record in messages


def check_distance(messages: Sequence[Message], plan: Plan) -> None:
    """I8, measured by reading: how much stands behind the last message that names every open todo."""
    if not plan.open:
        return
    seen = max(n for n, message in enumerate(messages) if recites(message, plan))
    behind = messages[seen + 1 :]
    assert len(behind) <= FAR.max_messages, len(behind)
    assert sum(map(estimate, behind)) <= FAR.max_tokens, sum(map(estimate, behind))


def recites(message: Message, plan: Plan) -> bool:
    match message:
        case Note(kind="reminder" | "continue" | "plan") | ToolResult(name="write_todos" | "read_todos"):
            return all(todo.content in model_text(message) for todo in plan.open)
        case _:
            return False


def was_shortened(result: ToolResult) -> bool:
    return "characters left out; call again if they matter" in result.content


async def check_world(world: World) -> None:
    assert world.agent is not None
    with other(world.path) as store:
        logs = {info.id: await records_of(store, info.id) for info in await store.sessions()}
        waiting = [row.body for info in await store.sessions() for row in await store.requests(info.id)]
    records = logs[world.agent.session_id]
    assert list(world.agent.messages) == view_of(records)
    assert world.agent.plan_state == plan_of(records)
    for log in logs.values():
        check_log(log)
        check_kinds(log)
        check_ends(log)
    check_sent(world, logs)
    check_asked(world, records, waiting)


def check_kinds(records: Sequence[Record]) -> None:
    """I1: one result a call, in order; interrupted is what was started, not executed what was not."""
    check_messages([r for r in records if isinstance(r, (Assistant, ToolResult))])
    started = {record.call_id for record in records if isinstance(record, ToolStarted)}
    for result in results(list(records)):
        assert result.outcome != "interrupted" or result.call_id in started
        assert result.outcome != "not_executed" or result.call_id not in started


def check_ends(records: Sequence[Record]) -> None:
    """I7: what the log tells of the end of a turn is one line."""
    for record in records:
        if isinstance(record, TurnEnded):
            assert "\n" not in record.error


def check_sent(world: World, logs: Mapping[str, list[Record]]) -> None:
    """I2: a request is the fold over the log at that point, so it extends the one before it, also after a
    kill, a resume and a fork, unless the log says that the conversation was made shorter in between."""
    for request in world.sent:
        before = logs[request.session][: request.records]
        assert request.messages == [encoded(message) for message in view_of(before)]
    for older, newer in zip(world.sent, world.sent[1:], strict=False):
        assert (older.system, older.tools) == (newer.system, newer.tools)
        if not shortened_between(older, newer, logs):
            assert newer.messages[: len(older.messages)] == older.messages


def shortened_between(older: Sent, newer: Sent, logs: Mapping[str, list[Record]]) -> bool:
    """A fork has the log of its parent, so the same records stand between."""
    between = logs[newer.session][older.records : newer.records]
    return any(isinstance(record, (Compacted, PrefixChanged)) for record in between)


def check_asked(world: World, records: Sequence[Record], waiting: Sequence[bytes]) -> None:
    """What was asked for through the inbox is done once, or still lies there."""
    made = [r.todos[0]["content"] for r in records if isinstance(r, PlanEdited) and r.action == "edit"]
    for edit in world.edits:
        assert made.count(edit) + sum(f'"{edit}"'.encode() in body for body in waiting) == 1, edit
    told = [note.text for note in notes(list(records), "steering")]
    for words in world.said:
        assert told.count(words) + sum(f'"{words}"'.encode() in body for body in waiting) == 1, words
    assert all(told.count(words) <= 1 for words in world.steered)


def run(story: Story) -> World:
    async def bounded(path: Path) -> World:
        async with asyncio.timeout(LIMIT):
            return await play(path, story)

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(bounded(Path(folder)))


@given(stories)
@settings(max_examples=15, deadline=None)
def test_the_invariants_hold_whatever_the_model_the_person_and_others_do(story: Story) -> None:
    run(story)


@given(stories, failing)
@settings(max_examples=8, deadline=None)
def test_they_hold_on_a_disk_that_is_full_now_and_then(story: Story, full: frozenset[int]) -> None:
    run(Story(story.turns, story.between, story.summaries, full))


@given(stories, st.integers(1, 60), st.booleans())
@settings(max_examples=12, deadline=None)
def test_they_hold_when_the_process_is_killed_anywhere(story: Story, dies: int, before: bool) -> None:
    run(Story(story.turns, story.between, story.summaries, dies=dies, before=before))


@pytest.mark.long
@pytest.mark.timeout(1800)
@given(stories, failing, st.integers(0, 100), st.booleans())
@settings(max_examples=1_500, deadline=None)
def test_they_hold_in_many_stories(story: Story, full: frozenset[int], dies: int, before: bool) -> None:
    run(Story(story.turns, story.between, story.summaries, full, dies, before))


def test_the_stories_come_to_what_they_are_about() -> None:
    """A long turn compacts with summaries and without, recites, takes edits and words, and is forked."""
    deeds = ["", "edit", "", "say", "", "", "undo", "", "mine", "", "", "steer", "", ""]
    turn = tuple(Round(round.calls, deed) for round, deed in zip(STEADY, deeds, strict=True))
    world = run(Story((turn, turn), ("fork", "compact"), (4, 11)))
    assert (world.edits, world.said, world.steered) == (
        ["mine 0", "mine 1"],
        ["said 0", "said 1"],
        ["steered 0", "steered 1"],
    )
    assert world.summaries > 2
    assert len(world.sent) > 25
