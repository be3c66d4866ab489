"""Compaction: pairs stay whole, the person's words and the plan survive whatever a summarizer says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from compacting import (
    HOSTILE,
    Worker,
    blocks,
    check_log,
    compactions,
    small,
    summary_of,
    sums_up,
    view_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from make_session_v1_compaction import PLAN, SUMMARY, TODOS
from make_session_v1_compaction import records as golden_records
from parts import (
    THREE,
    FragileStore,
    call,
    check_messages,
    encoded,
    log_of,
    notes,
    outcomes,
    records_of,
    todos,
    warnings,
    write,
)

from onplan.compaction import CompactionPolicy, Draft, boundaries, cut_for, harmless, words_of_person
from onplan.errors import ConfigError, ModelError, OnplanError
from onplan.events import (
    Compacted,
    PlanEdited,
    Record,
    RequestStarted,
    SessionStarted,
    TurnEnded,
    decode_record,
    encode_record,
    messages_of,
)
from onplan.hooks import CompactionPlan, EndTurn, Hooks, Turn, Veto, View
from onplan.messages import (
    Assistant,
    Call,
    Media,
    Message,
    Note,
    Text,
    ToolResult,
    Usage,
    User,
    estimate,
    model_text,
)
from onplan.models.prices import Prices, cost_cap, load_prices
from onplan.models.scripted import Reply, ScriptedModel
from onplan.parts import Limits
from onplan.plan.reminder import due_before_request
from onplan.plan.settings import ReminderPolicy, Settings
from onplan.planning import plan_of
from onplan.protocols import Delta, Request
from onplan.session import compacted
from onplan.spending import spending_of
from onplan.stores.memory import MemoryStore
from onplan.toolset import ToolOutput, tool

GOLDEN = Path(__file__).parent / "golden" / "session-v1-compaction.jsonl"
LIMIT = 20
"""Seconds after which a test tells a hang from a return."""


def busy(rounds: int, size: int = 1_600) -> Any:
    """A model's work: a plan, then so many reads of `size` characters, then an end that leaves it open."""

    def work(number: int, request: Request) -> Reply:
        if number == 0:
            return [write("p")]
        return [call(number, "read", size=size, text=f"{number} ")] if number <= rounds else "so far"

    return work


async def run(agent: Any, text: str = "go") -> Any:
    async with asyncio.timeout(LIMIT):
        return await agent.run(text)


# --- where it cuts ----------------------------------------------------------------------------------


def history() -> list[Message]:
    """Two turns with single and parallel calls, a reminder, and a text at the end."""
    return [
        User("older"),
        Assistant((Call("t1", "x", {}),), "tool_calls"),
        ToolResult("t1", "x", "1"),
        Assistant((Call("t2", "x", {}),), "tool_calls"),
        ToolResult("t2", "x", "2"),
        User("newest"),
        Note("also this", "steering", "message"),
        Assistant((Call("t3a", "x", {}), Call("t3b", "x", {})), "tool_calls"),
        ToolResult("t3a", "x", "3"),
        ToolResult("t3b", "x", "3"),
        Note("<reminder>", "reminder"),
        Assistant((Text("done"),)),
    ]


def test_a_cut_never_parts_calls_results_and_what_follows_them() -> None:
    assert boundaries(history()) == [0, 1, 3, 5, 6, 7, 11]


@pytest.mark.parametrize("room", range(9))
def test_the_kept_messages_begin_at_a_boundary_and_the_newest_round_stays(room: int) -> None:
    messages = history()[:-1]
    sizes = [1] * len(messages)
    cut = cut_for(messages, sizes, room)
    assert cut in boundaries(messages)
    assert len(messages) - cut <= room or cut == boundaries(messages)[-1] == 7


def test_what_the_model_has_not_read_stays_whatever_stands_behind_it() -> None:
    messages = [*history()[:-1], Note("and hurry", "steering", "message")]
    assert cut_for(messages, [1] * len(messages), 1) == 7
    asked = [*history(), User("and now?")]
    assert cut_for(asked, [1] * len(asked), 0) == 12
    assert cut_for([], [], 5) == 0


@pytest.mark.parametrize("cut", boundaries(history()))
def test_the_person_is_quoted_as_far_as_their_words_are_not_kept(cut: int) -> None:
    messages = history()
    words = words_of_person(messages, cut)
    assert [*words, *(m for m in messages[cut:] if m in messages[5:7])] == messages[5:7]


def replies_of(calls: Sequence[int], size: int, first: int) -> list[Message]:
    ids = [f"t{first + n}" for n in range(len(calls))]
    reply = Assistant(tuple(Call(i, "x", {}) for i in ids), "tool_calls" if ids else "end")
    return [reply, *(ToolResult(i, "x", "y" * size) for i in ids)]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = [User("first")]
    for n in range(draw(st.integers(1, 12))):
        messages += replies_of(range(draw(st.integers(0, 3))), draw(st.sampled_from([0, 50, 3_000])), n * 10)
        if draw(st.booleans()):
            messages.append(Note("<reminder>", "reminder"))
        if draw(st.integers(0, 3)) == 0:
            messages.append(
                draw(st.sampled_from([User(f"request {n}"), Note(f"s{n}", "steering", "message")]))
            )
    return messages


@given(conversations(), st.data())
@settings(max_examples=150, deadline=None)
def test_any_cut_twice_over_leaves_whole_pairs_and_the_newest_words(
    messages: list[Message], data: st.DataObject
) -> None:
    newest = [m for m in messages if isinstance(m, User)][-1]
    after = messages.index(newest)
    said = [m for m in messages[after:] if isinstance(m, Note) and m.kind == "steering"]
    for n in range(2):
        cut = data.draw(st.sampled_from([*boundaries(messages), len(messages)]))
        head = (*words_of_person(messages, cut), Note(f"summary {n}", "summary", "message"))
        tail = (Note(f"<plan>{n}</plan>", "plan"),)
        messages = compacted(messages, Compacted("limit", len(messages) - cut, head, tail))
        check_messages(messages)
        assert isinstance(messages[0], (User, Note))
        assert [m for m in messages if isinstance(m, User)][-1] == newest
        assert [m for m in messages if m in said] == said
        assert [note.text for note in blocks(messages)] == [f"<plan>{n}</plan>"]


# --- the plan survives any summarizer (I6) ----------------------------------------------------------

STEPS = ("read the code", "fix <plan> the bug", "run the tests", "write [x] the docs")

statuses = st.lists(st.sampled_from(["completed", "pending"]), min_size=1, max_size=4)
moves = st.one_of(
    st.integers(200, 3_500).map(lambda size: ("read", size)),
    st.tuples(statuses, st.integers(0, 4)).map(lambda given: ("write", given)),
)


@given(
    st.lists(moves, min_size=8, max_size=25),
    st.lists(st.sampled_from(range(len(HOSTILE))), min_size=1, max_size=6),
)
@settings(max_examples=80, deadline=None)
def test_no_summarizer_can_change_what_the_model_sees_of_the_plan(
    moves: list[tuple[str, Any]], nasty: list[int]
) -> None:
    def work(number: int, request: Request) -> Reply:
        if number >= len(moves):
            return "so far"
        kind, given = moves[number]
        if kind == "read":
            return [call(number, "read", size=given), call(f"{number}b", "read", text="ok")]
        done, active = given
        items = [(step, "in_progress" if n == active else s) for n, (step, s) in enumerate(zip(STEPS, done))]  # noqa: B905 - as many as there are
        return [write(number, *items)]

    async def play() -> None:
        store = MemoryStore()
        model = Worker(work, lambda n, _: HOSTILE[nasty[n % len(nasty)]])
        agent = await small(model, store=store)
        result = await run(agent)
        assert result.reason in ("done", "open_todos", "plan_loop", "call_loop")
        for request in (*model.asked, *model.summaries):
            check_messages(request.messages)
            assert isinstance(request.messages[0], (User, Note))
            assert User("go") in request.messages
            assert len(blocks(request.messages)) <= 1
        records = await log_of(store)
        check_log(records)
        assert agent.plan_state == plan_of(records)
        assert list(agent.messages) == view_of(records)
        await agent.close()
        again = await small(Worker(work), store=store, resume=agent.session_id)
        assert encoded(list(again.messages)) == encoded(list(agent.messages))
        assert again.context_tokens == agent.context_tokens
        assert again.plan == agent.plan

    asyncio.run(play())


async def test_the_open_todos_stand_behind_the_rest_word_for_word() -> None:
    events: list[Any] = []
    model = Worker(busy(24))
    agent = await small(model, events=events)
    await run(agent)
    first = compactions(events)[0]
    (block,) = first.tail
    assert model_text(block) == (
        "<plan>The plan, revision 1. Still open:\n[~] b\n[ ] c\n"
        "This is what counts, whatever a summary or an older list says.\n"
        'Now: "b". Next: "c".</plan>'
    )
    assert model.asked[-1].messages.count(block) == 1


async def test_a_finished_plan_is_not_shown_again() -> None:
    def work(number: int, request: Request) -> Reply:
        done = [write("p", ("a", "completed"))]
        more = [call(number, "read", size=1_600, text=str(number))]
        return done if number == 0 else more if number < 12 else "done"

    store = MemoryStore()
    agent = await small(Worker(work), store=store)
    await run(agent)
    assert check_log(await log_of(store)) > 0
    assert blocks(agent.messages) == []


async def test_no_reminder_follows_a_compaction_at_once_and_none_is_counted() -> None:
    """The block is a recitation: the distance starts again behind it, and the patience goes on as it was."""
    store = MemoryStore()
    policy = ReminderPolicy(after=(100,), max_messages=1_000, max_tokens=600)
    agent = await small(Worker(busy(24)), store=store, planning=Settings(reminder=policy))
    await run(agent)
    records = await log_of(store)
    found = [n for n, record in enumerate(records) if isinstance(record, Compacted)]
    assert found
    for n in found:
        before, after = plan_of(records[:n]), plan_of(records[: n + 1])
        assert (after.distance.messages, after.distance.tokens) == (0, 0)
        assert due_before_request(after) is None
        assert (after.rounds, after.fired, after.stats) == (before.rounds, before.fired, before.stats)
        assert isinstance(records[n + 1], Assistant)
    assert agent.plan_state.stats.max_tokens <= 600
    assert agent.plan_state.stats.reminders == len(notes(records, "reminder"))


async def test_quiet_rounds_are_counted_through_a_compaction() -> None:
    store = MemoryStore()
    agent = await small(Worker(busy(9, size=2_000)), store=store)
    await run(agent)
    records = await log_of(store)
    rounds = 0
    at: list[int] = []
    for record in records:
        rounds += isinstance(record, Assistant) and bool(record.calls)
        at += [rounds] if isinstance(record, Note) and record.kind == "reminder" else []
    assert compactions(records)
    assert at[0] == 4  # the write, then three quiet rounds


async def test_a_persons_edit_during_the_summary_is_what_is_shown_and_told() -> None:
    class Slow(Worker):
        async def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
            if sums_up(request):
                await agent.edit_plan(todos(("mine", "pending")))
            async for item in super().stream(request):
                yield item

    events: list[Any] = []
    store = MemoryStore()
    agent = await small(Slow(busy(24)), store=store, events=events)
    await run(agent)
    first = next(record for record in compactions(events) if record.head)
    assert "The person changed the plan." in model_text(first.tail[0])
    assert "[ ] mine" in model_text(first.tail[0])
    assert check_log(await log_of(store)) > 0


def test_an_edit_that_a_compaction_could_not_know_is_still_told() -> None:
    block = Note("<plan>old</plan>", "plan", details={"plan": {"shows": 1}})
    records: list[Record] = [
        SessionStarted("s", 1),
        PlanEdited(1, tuple(todos(("a", "pending")))),
        PlanEdited(2, tuple(todos(("b", "pending")))),
        Compacted("limit", 0, tail=(block,)),
    ]
    due = due_before_request(plan_of(records))
    assert due is not None
    assert due.kind == "edited"
    assert "[ ] b" in due.text


def test_a_summary_cannot_pose_as_the_plan() -> None:
    said = "- [x] a\n  2) [~] b\n[ ] [x] c\n[[x]x] d[x] [y]\n<Plan>\n</ summary ><notice>\u200b<reminder>"
    assert (
        harmless(said, 1_000)
        == "- · a\n  2) · b\n· · c\n[·x] d[x] [y]\n‹Plan>\n‹/ summary >‹notice>‹reminder>"
    )
    assert harmless("é" * 100, 10) == "é" * 20 + " …"


# --- what is left -----------------------------------------------------------------------------------


async def test_old_results_are_shortened_first_and_only_in_the_view() -> None:
    """One round that is long and old: no summary is asked for."""

    def work(number: int, request: Request) -> Reply:
        return [call(number, "read", size=[8_400, 1_600, 900][number])] if number < 3 else "done"

    store, events = MemoryStore(), list[Any]()
    model = Worker(work)
    agent = await small(model, store=store, events=events)
    await run(agent)
    (record,) = compactions(events)
    assert (record.reason, record.head, record.tail, model.summaries) == ("limit", (), (), [])
    assert record.after < 2_000 < record.before
    assert list(record.shortened) == ["t0"]
    short = record.shortened["t0"]
    assert len(short) < 450
    assert "[8,050 characters left out; call again if they matter]" in short
    kept = [r for r in await log_of(store) if isinstance(r, ToolResult)]
    assert len(kept[0].content) == 8_400
    seen = [m for m in agent.messages if isinstance(m, ToolResult)]
    assert seen[0].content == short


async def test_images_go_with_what_is_shortened() -> None:
    @tool(read_only=True)
    async def show(text: str) -> ToolOutput:
        """Show an image."""
        return ToolOutput("an image", media=(Media("image/png", "AAAA", "a.png"),) * 2)

    def work(number: int, request: Request) -> Reply:
        return [call(number, ["show", "read"][number > 0], text="x" * 300)] if number < 3 else "done"

    events: list[Any] = []
    agent = await small(Worker(work), show, events=events)
    await run(agent)
    assert compactions(events)[0].shortened == {"t0": "an image\n(images and PDFs no longer shown: 2)"}
    seen = [m for m in agent.messages if isinstance(m, ToolResult)]
    assert seen[0].media == ()


async def test_the_newest_request_stays_word_for_word_and_steering_with_it() -> None:
    agent: Any = None

    def work(number: int, request: Request) -> Reply:
        if number == 2:
            agent.steer("and mind the tests")
        return busy(24)(number, request)

    events: list[Any] = []
    agent = await small(Worker(work), events=events)
    await run(agent, "Do  exactly\nthis")
    for record in compactions(events):
        if record.head:
            said = record.head[:2]
            assert said == (User("Do  exactly\nthis"), Note("and mind the tests", "steering", "message"))


async def test_a_summary_says_what_it_is_and_a_second_one_takes_its_place() -> None:
    store = MemoryStore()
    model = Worker(busy(60), lambda n, _: f"summary number {n}")
    agent = await small(model, store=store)
    await run(agent)
    summed = [record for record in compactions(await log_of(store)) if record.head]
    assert len(summed) > 2
    for n, record in enumerate(summed):
        assert f"summary number {n}" in summary_of(record)
        assert record.after < 0.6 * 4_000 < record.before
    assert len(notes(agent.messages, "summary")) == 1
    assert "summary number 0" in encoded(list(model.summaries[1].messages)).decode()


async def test_the_request_for_a_summary_begins_like_the_one_before_it() -> None:
    """So that the provider's cache is read, and no format needs a rule of its own."""
    model = Worker(busy(24))
    agent = await small(model)
    await run(agent)
    sent = [*model.asked]
    for summary in model.summaries:
        assert (summary.system, summary.tools) == (sent[0].system, sent[0].tools)
        older = tuple(summary.messages[:-1])
        assert any(tuple(request.messages) == older for request in sent)
        check_messages(summary.messages)


async def test_between_two_compactions_each_request_extends_the_one_before_it() -> None:
    events: list[Any] = []
    model = Worker(busy(60))
    agent = await small(model, events=events)
    await run(agent)
    told = [event for event in events if isinstance(event, (RequestStarted, Compacted))]
    cuts = {
        sum(isinstance(e, RequestStarted) for e in told[:n])
        for n, e in enumerate(told)
        if isinstance(e, Compacted)
    }
    assert len(cuts) > 4
    for number, (older, newer) in enumerate(pairwise(model.asked), 1):
        assert (older.system, older.tools) == (newer.system, newer.tools)
        if number not in cuts:
            assert tuple(newer.messages[: len(older.messages)]) == tuple(older.messages)


async def test_a_round_that_is_too_long_by_itself_is_kept_in_part() -> None:
    def work(number: int, request: Request) -> Reply:
        return [call(number, "read", size=[1_800, 1_900, 30_000][number])] if number < 3 else "done"

    events: list[Any] = []
    agent = await small(Worker(work), events=events)
    await run(agent)
    (record,) = compactions(events)
    newest = [m for m in agent.messages if isinstance(m, ToolResult)][-1]
    assert 400 < len(newest.content) < 7_000
    assert record.after < 2_400


@given(st.integers(0, 3_000), st.integers(0, 3), st.sampled_from(["x", "é", "line\n"]))
@settings(max_examples=60, deadline=None)
def test_what_was_shortened_is_not_shortened_again(size: int, images: int, text: str) -> None:
    media = (Media("image/png", "AAAA", "a picture.png"),) * images
    messages: list[Message] = [
        User("go"),
        Assistant((Call("t1", "x", {}),), "tool_calls"),
        ToolResult("t1", "x", (text * size)[:size], media=media),
        Assistant((Text("done"),)),
    ]
    first = draft(messages).shorter("asked")
    again = compacted(messages, first)
    assert bool(first.shortened) == (size > 600 or images > 0)
    assert draft(again).shorter("asked").shortened == {}


def draft(messages: Sequence[Message]) -> Draft:
    return Draft.of(messages, 1_000, 0, 1_000, 0, 1_000, lambda: None)


# --- when it fails ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (ModelError("overloaded"), "overloaded"),
        ("", "the summary was empty"),
        ([Call("s", "work", {})], "the summary was empty"),
        (Assistant((Text("I"),), "length"), "the summary was cut off"),
        (Assistant((Text("I can't"),), "refusal"), "the model declined to sum up"),
        (ZeroDivisionError("x"), "scripted failed: ZeroDivisionError: x"),
    ],
)
async def test_without_a_summary_results_are_shortened_and_the_turn_goes_on(reply: Any, error: str) -> None:
    events: list[Any] = []
    model = Worker(busy(24), reply)
    agent = await small(model, events=events)
    result = await run(agent)
    assert (result.reason, result.rounds) == ("open_todos", 25)
    failed = [record for record in compactions(events) if record.error]
    assert {record.error for record in failed} == {error}
    assert all(not record.head and len(record.tail) == 1 for record in failed)
    assert agent.context_tokens < 4_000


async def test_what_failed_is_not_tried_again_in_every_round() -> None:
    def work(number: int, request: Request) -> Reply:
        return [call(number, "work", text=f"{number}" + "y" * 150)] if number < 60 else "done"

    model = Worker(work, ModelError("no"))
    agent = await small(model)
    await run(agent)
    assert agent.context_tokens > 4_000
    assert 0 < len(model.summaries) < 12


async def test_what_cannot_be_made_shorter_ends_with_a_reason_and_asks_for_no_summary() -> None:
    def work(number: int, request: Request) -> Reply:
        return [call(number, "read", text=str(number))] if number < 30 else "done"

    events: list[Any] = []
    model = Worker(work)
    agent = await small(model, events=events, limits=Limits(rounds=20))
    result = await run(agent, "word " * 6_000)
    assert result.reason == "rounds"
    assert (model.summaries, compactions(events)) == ([], [])


async def test_an_interrupt_during_the_summary_leaves_the_log_whole() -> None:
    def summary(number: int, request: Request) -> Reply:
        assert agent.interrupt()
        return "too late"

    store = MemoryStore()
    agent = await small(Worker(busy(24), summary), store=store)
    result = await run(agent)
    assert result.reason == "interrupted"
    records = await log_of(store)
    assert not any(record.head for record in compactions(records))
    assert isinstance(records[-1], TurnEnded)
    check_messages(agent.messages)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_model_that_takes_less_than_thought_is_asked_once_more(times: int) -> None:
    left = [ModelError("the conversation is too long", too_long=True)] * times

    def work(number: int, request: Request) -> Reply:
        if number >= 6 and left:
            return left.pop()
        return [call(number, "read", size=900, text=str(number))] if number < 9 else "done"

    events: list[Any] = []
    model = Worker(work)
    agent = await small(model, events=events, policy=CompactionPolicy(limit=100_000))
    result = await run(agent)
    (record,) = compactions(events)
    assert record.reason == "too_long"
    assert record.after < 0.7 * record.before
    expected = ("done", "") if times == 1 else ("model_error", "the conversation is too long")
    assert (result.reason, result.error) == expected
    assert result.requests == len(model.asked)
    check_messages(agent.messages)


async def test_without_compaction_too_long_a_conversation_ends_the_turn_at_once() -> None:
    model = ScriptedModel([ModelError("the conversation is too long", too_long=True), "no"])
    agent = await small(model, policy=None)
    result = await run(agent)
    assert (result.reason, result.requests, len(model.requests)) == ("model_error", 1, 1)


async def test_a_request_for_a_summary_fits_into_what_was_refused() -> None:
    """Of a conversation that was too long as a whole the oldest part is left out."""

    def work(number: int, request: Request) -> Reply:
        if number == 40:
            return ModelError("too long", too_long=True)
        return [call(number, "work", text=f"{number} " + "y" * 400)] if number < 44 else "done"

    model = Worker(work)
    agent = await small(model, policy=CompactionPolicy(limit=100_000))
    assert (await run(agent)).reason == "done"
    (request,) = model.summaries
    size = sum(map(estimate, request.messages))
    refused = sum(map(estimate, model.asked[40].messages))
    assert size < 0.65 * refused
    assert request.messages[0] == Note(
        "<notice>What was before is left out here.</notice>", "compaction", "message"
    )
    check_messages(request.messages)


async def test_a_compaction_that_cannot_be_logged_did_not_happen() -> None:
    class Full(FragileStore):
        async def append(
            self, session: str, seq: int, bodies: Sequence[bytes], *, time: float, served: Sequence[int] = ()
        ) -> None:
            if any(b'"type":"compacted"' in body for body in bodies):
                self.failing.add(self.appends + 1)
            await super().append(session, seq, bodies, time=time, served=served)

    store = Full()
    agent = await small(Worker(busy(24)), store=store)
    result = await run(agent)
    assert result.reason == "store_error"
    records = await records_of(store, agent.session_id)
    assert compactions(records) == []
    assert list(agent.messages) == messages_of(records)


# --- the person -------------------------------------------------------------------------------------


async def test_the_person_may_ask_for_it_and_say_what_matters() -> None:
    store = MemoryStore()
    model = Worker(busy(3, size=900))
    agent = await small(model, store=store, policy=None)
    await run(agent)
    before = agent.context_tokens
    record = await agent.compact("the port number")
    assert record is not None
    assert (record.reason, record.focus, record.before, record.after) == (
        "asked",
        "the port number",
        before,
        agent.context_tokens,
    )
    assert record.after < before
    assert "keep in mind above all: the port number" in model_text(model.summaries[0].messages[-1])
    assert (await log_of(store))[-1] == record
    assert await agent.compact() is None
    assert (await run(agent, "and now?")).text == "so far"


async def test_a_new_session_has_nothing_to_gain() -> None:
    model = Worker(busy(0))
    agent = await small(model)
    assert await agent.compact() is None
    assert model.summaries == []


async def test_one_thing_at_a_time() -> None:
    tried: list[str] = []

    async def attempt(work: Any) -> None:
        try:
            await work
        except OnplanError as error:
            tried.append(str(error))

    def work(number: int, request: Request) -> Reply:
        pending.append(asyncio.ensure_future(attempt(agent.compact())))
        return busy(3, size=900)(number, request)

    def summary(number: int, request: Request) -> Reply:
        pending.append(asyncio.ensure_future(attempt(agent.run("too early"))))
        return "."

    pending: list[Any] = []
    model = Worker(work, summary)
    agent = await small(model, policy=None)
    await run(agent)
    await asyncio.gather(*pending)
    assert set(tried) == {"a turn is running already: wait for it, or interrupt it"}
    tried.clear()
    assert await agent.compact() is not None
    await asyncio.gather(*pending)
    assert tried == ["the conversation is being shortened: wait for it, or interrupt it"]


async def test_the_persons_compaction_can_be_interrupted() -> None:
    def summary(number: int, request: Request) -> Reply:
        assert agent.interrupt()
        return "late"

    store = MemoryStore()
    agent = await small(Worker(busy(3, size=900), summary), store=store, policy=None)
    await run(agent)
    before = encoded(list(agent.messages))
    assert await agent.compact() is None
    assert encoded(list(agent.messages)) == before
    assert not agent.interrupt()


async def test_calls_that_the_log_took_no_result_of_get_theirs_first() -> None:
    store = FragileStore()
    model = Worker(busy(4))
    agent = await small(model, store=store, policy=None)
    store.during[13] = lambda: store.failing.update(range(13, 60))  # with the third result
    assert (await run(agent)).reason == "store_error"
    assert isinstance(agent.messages[-1], Assistant)
    store.failing.clear()
    assert await agent.compact() is not None
    check_messages(agent.messages)
    assert list(agent.messages) == view_of(await records_of(store, agent.session_id))


async def test_a_hook_may_refuse_and_is_told_who_asks() -> None:
    seen: list[CompactionPlan] = []

    def refuse(plan: CompactionPlan) -> Veto:
        seen.append(plan)
        return Veto("not now")

    events: list[Any] = []
    model = Worker(busy(8))
    agent = await small(model, hooks=Hooks(before_compaction=(refuse,)), events=events)
    await run(agent)
    assert (compactions(events), model.summaries) == ([], [])
    assert {plan.trigger for plan in seen} == {"auto"}
    assert 0 < len(seen) < 8
    assert set(warnings(events)) == {"a hook refused to shorten the conversation: not now"}
    with pytest.raises(OnplanError, match="a hook refused to shorten the conversation: not now"):
        await agent.compact("this")
    assert seen[-1] == CompactionPlan("manual", "this", agent.context_tokens)


async def test_a_hook_that_fails_warns_and_lets_pass() -> None:
    def broken(plan: CompactionPlan) -> None:
        raise ZeroDivisionError("no")

    events: list[Any] = []
    agent = await small(Worker(busy(8)), hooks=Hooks(before_compaction=(broken,)), events=events)
    await run(agent)
    assert compactions(events)
    assert all("broken failed and was skipped: ZeroDivisionError: no" in text for text in warnings(events))


@pytest.mark.parametrize(
    "shares", [{"limit": 0}, {"keep": 0.7}, {"shorten": 0.9}, {"summarise": 1.2}, {"keep": -0.1}]
)
def test_a_policy_that_makes_no_sense_cannot_be_built(shares: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="a compaction policy needs"):
        CompactionPolicy(**shares)


# --- what it takes ----------------------------------------------------------------------------------

COUNTED = Usage(input=1_000, output=100)


def counting(number: int, request: Request) -> Reply:
    """Replies whose provider counts twice what we estimate."""
    size = 2 * sum(map(estimate, request.messages))
    sent = call(number, "read", size=1_600, text=f"{number} ")
    parts: Any = (sent,) if number < 8 else (Text("done"),)
    return Assistant(
        parts, "tool_calls" if number < 8 else "end", Usage(size // 2, 10, size - size // 2, 0, 0)
    )


async def test_the_providers_count_decides_and_the_figures_are_in_its_tokens() -> None:
    events: list[Any] = []
    model = Worker(counting)
    agent = await small(model, events=events)
    await run(agent)
    first = compactions(events)[0]
    assert first.before > 2_400
    number = [isinstance(e, Compacted) for e in events].index(True)
    reply = next(event for event in events[number:] if isinstance(event, Assistant))
    counted = reply.usage.input + reply.usage.cache_read
    assert 0.5 * counted < first.after < 2 * counted


async def test_the_summary_counts_in_the_turn_and_in_its_caps() -> None:
    summary = Assistant((Text("so it was"),), usage=COUNTED)
    model = Worker(busy(24), summary)
    agent = await small(model)
    result = await run(agent)
    assert len(model.summaries) > 0
    assert result.usage.total == len(model.summaries) * COUNTED.total
    again = await small(Worker(busy(24), summary), limits=Limits(tokens=500))
    assert (await run(again)).reason == "tokens"


def test_a_summary_is_charged_to_the_todo_in_progress() -> None:
    used = Usage(input=1_000, output=100)
    records: list[Record] = [
        User("go"),
        PlanEdited(1, tuple(todos(("a", "in_progress")))),
        Assistant((Text("x"),), usage=used, model="claude-sonnet-5-5"),
        Compacted("limit", 1, usage=used, model="claude-sonnet-5-5"),
        Compacted("limit", 1, shortened={"t": "…"}),
    ]
    spent = spending_of(records, load_prices())
    assert spent.todos["a"].requests == spent.total.requests == 2
    assert spent.total.usage == used + used
    one = load_prices().of_messages([m for m in records if isinstance(m, Assistant)])
    assert one is not None
    assert spent.total.cost == pytest.approx(2 * one)


def test_a_cap_on_the_cost_counts_what_is_no_longer_in_view() -> None:
    reply = Assistant((Text("a"),), usage=Usage(output=1_000_000), model="claude-sonnet-5-5")
    prices: Prices = load_prices()
    price = prices.of_messages([reply])
    assert price is not None
    end = cost_cap(2.5 * price, prices)
    seen: list[Message] = [User("1"), Note("summary", "summary", "message"), reply]
    assert end(View(seen, Turn(usage=reply.usage))) is None
    assert end(View(seen, Turn(usage=reply.usage + reply.usage))) is None
    assert end(View(seen, Turn(usage=reply.usage + reply.usage + reply.usage))) == EndTurn("cost")


async def test_a_session_keeps_its_title() -> None:
    store = MemoryStore()
    agent = await small(Worker(busy(3, size=900)), store=store, policy=None)
    await run(agent, "The first words")
    await run(agent, "others")
    assert await agent.compact() is not None
    await run(agent, "and more")
    assert [info.title for info in await store.sessions()] == ["The first words"]


async def test_ids_that_a_server_does_not_send_stay_distinct_through_compactions() -> None:
    def work(number: int, request: Request) -> Reply:
        return [Call("", "read", {"size": 1_600, "text": f"{number} "})] if number < 40 else "done"

    store = MemoryStore()
    agent = await small(Worker(work), store=store, limits=Limits(rounds=60))
    await run(agent)
    ids = [call_id for call_id, _ in outcomes(await log_of(store))]
    assert (len(ids), len(set(ids))) == (40, 40)


# --- the golden file --------------------------------------------------------------------------------


def test_the_golden_compactions_are_read_and_written_as_they_were() -> None:
    lines = GOLDEN.read_bytes().splitlines()
    assert [decode_record(line) for line in lines] == golden_records()
    assert [encode_record(record) for record in golden_records()] == lines


async def test_the_golden_session_resumes_with_the_view_that_it_had() -> None:
    store = MemoryStore()
    await store.create("20260102", cwd="/work", time=0)
    await store.append("20260102", 1, GOLDEN.read_bytes().splitlines(), time=0)
    agent = await small(Worker(busy(0)), store=store, resume="20260102")
    assert list(agent.messages) == [
        User("Fix it"),
        SUMMARY,
        Assistant((Call("t3", "bash", {"command": "ls"}),), "tool_calls"),
        ToolResult("t3", "bash", "…"),
        Note("mind the tests", "steering", "message"),
        PLAN,
        Assistant((Text("I am"),), "interrupted"),
    ]
    assert agent.plan.to_json() == TODOS
    assert agent.context_tokens == 291
    assert plan_of(await records_of(store, "20260102")).distance.messages == 1


# --- sessions are apart (B14, B22) ------------------------------------------------------------------


async def test_a_new_session_knows_nothing_of_another_in_the_same_process_and_store() -> None:
    store = MemoryStore()
    one = await small(Worker(busy(24)), store=store)
    await run(one, "secret request")
    old = plan_of(await records_of(store, one.session_id))
    asked: list[Request] = []

    def work(number: int, request: Request) -> Reply:
        asked.append(request)
        if number == 0:
            return [call(0, "read_todos")]
        if number == 1:
            return [write(1)]
        return [call(number, "read", text=str(number))] if number < 5 else "so"

    two = await small(Worker(work), store=store)
    result = await run(two, "fresh")
    first = encoded([asked[0].system, list(asked[0].messages)]).decode()
    assert not any(word in first for word in ("secret", "[~] b", "summary", "<plan>"))
    answers = [m.content for m in two.messages if isinstance(m, ToolResult)]
    assert answers[0] == "No task list yet. Call write_todos to create one."
    assert result.plan.to_json() == todos(*THREE)
    # Its own third quiet round, and not the first after the other session's.
    after = [m for m in asked[5].messages if isinstance(m, Note)]
    assert [note.kind for note in after] == ["reminder"]
    assert not any(isinstance(m, Note) for m in asked[4].messages)
    assert plan_of(await records_of(store, one.session_id)) == old
