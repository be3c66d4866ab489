"""The line below the prompt and the line of the one who works: what they say, and what gives way first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from onplan.agent import Agent
from onplan.cli.view.screen import Span, Spans
from onplan.cli.view.status import (
    FRAMES,
    Meter,
    Status,
    elapsed,
    short_number,
    status_of,
    status_spans,
    working_spans,
)
from onplan.messages import Assistant, Call, Text, Usage, User
from onplan.models.prices import load_prices
from onplan.models.scripted import ScriptedModel
from onplan.plan.text import cells

STATUS = Status(
    model="anthropic:claude-opus-4-5",
    session="3f2a1c9e",
    tokens=48_210,
    cost=1.234,
    auto=True,
    open=3,
    total=7,
    distance=12,
)


def text(spans: Spans) -> str:
    return "".join(span if isinstance(span, str) else span.text for span in spans)


def test_the_status_line_leaves_out_what_matters_least():
    assert {
        width: text(status_spans(STATUS, width)) for width in (120, 80, 60, 40, 20, 12, 4, 1)
    } == snapshot(
        {
            120: "AUTO · claude-opus-4-5 · 3 open · plan 12 messages ago · 48.2k tokens · $1.23 · 3f2a1c9e",
            80: "AUTO · claude-opus-4-5 · 3 open · plan 12 messages ago · 48.2k tokens · $1.23",
            60: "AUTO · claude-opus-4-5 · 3 open · 48.2k tokens · $1.23",
            40: "AUTO · claude-opus-4-5 · 3 open · $1.23",
            20: "AUTO · 3 open",
            12: "AUTO",
            4: "AUTO",
            1: "…",
        }
    )


def test_auto_is_marked_and_a_finished_plan_is_green():
    assert status_spans(replace(STATUS, open=0, tokens=0), 80) == snapshot(
        (
            Span(text="AUTO", style="yellow"),
            Span(text=" · ", style="dim"),
            Span(text="claude-opus-4-5", style="dim"),
            Span(text=" · ", style="dim"),
            Span(text="7/7 done", style="green"),
            Span(text=" · ", style="dim"),
            Span(text="3f2a1c9e", style="dim"),
        )
    )


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (Status("demo", "abc"), "demo · abc"),
        (Status("demo", "abc", tokens=999, cost=None), "demo · 999 tokens · abc"),
        (Status("demo", "abc", tokens=10, cost=0.0123), "demo · 10 tokens · $0.0123 · abc"),
        (Status("demo", "abc", open=1, total=1, distance=1), "demo · 1 open · plan 1 message ago · abc"),
        (Status("demo", "abc", total=2, distance=9), "demo · 2/2 done · abc"),
        (Status("x" * 60, "abc"), f"{'x' * 23}… · abc"),
        (Status("a\x1b[2Jb", "abc"), "ab · abc"),
    ],
)
def test_the_status_line_tells_what_there_is(status: Status, told: str):
    assert text(status_spans(status, 200)) == told


@given(
    st.builds(
        Status,
        model=st.text(max_size=40),
        session=st.text(max_size=12),
        tokens=st.integers(0, 10**9),
        cost=st.none() | st.floats(0, 1e4),
        auto=st.booleans(),
        open=st.integers(0, 20),
        total=st.integers(0, 20),
        distance=st.integers(0, 10**4),
    ),
    st.integers(1, 130),
)
def test_the_status_line_fits_any_width(status: Status, width: int):
    assert cells(text(status_spans(status, width))) <= width
    if status.auto and width >= 4:
        assert text(status_spans(status, width)).startswith("AUTO")


@given(st.text(), st.floats(0, 1e6), st.integers(12, 120))
def test_the_line_of_the_one_who_works_fits_and_keeps_the_time(doing: str, seconds: float, width: int):
    line = text(working_spans(doing, seconds, width))
    assert cells(line) <= width
    assert f" · {elapsed(seconds)}" in line


def test_the_picture_turns_and_comes_back():
    pictures = [text(working_spans("x", 0.121 * n))[0] for n in range(11)]
    assert "".join(pictures) == FRAMES + FRAMES[0]


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.9, "0s"), (59.9, "59s"), (60, "1m00s"), (3599, "59m59s"), (3660, "1h01m")]
)
def test_durations_are_short(seconds: float, told: str):
    assert elapsed(seconds) == told


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "0"), (999, "999"), (1000, "1k"), (12_440, "12.4k"), (999_949, "999.9k"), (999_950, "1M")],
)
def test_numbers_are_short(number: int, told: str):
    assert short_number(number) == told


def test_the_meter_counts_replies_and_knows_when_it_knows_no_price():
    priced = Assistant((Text("a"),), usage=Usage(1_000_000, 0), model="claude-opus-4-5")
    meter = Meter(load_prices(), [User("x"), priced])
    meter.hear(priced)
    assert (meter.tokens, meter.cost) == (2_000_000, load_prices().of_messages([priced, priced]))
    meter.hear(Assistant((Text("a"),), usage=Usage(1, 1), model="somebody:else"))
    assert (meter.tokens, meter.cost) == (2_000_002, None)


async def test_the_status_of_an_agent_follows_its_plan():
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]
    model = ScriptedModel([Call("1", "write_todos", {"todos": todos}), "done", "done"])
    agent = await Agent.start(model=model)
    meter = Meter(load_prices(), agent.messages)
    agent.listen(meter.hear)
    assert status_of(agent, meter, auto=False) == Status(model.name, agent.session_id, cost=0.0)
    await agent.run("go")
    status = status_of(agent, meter, auto=True)
    assert (status.open, status.total, status.auto, status.model) == (1, 2, True, model.name)
    assert status.distance == agent.plan_state.distance.messages
    await agent.close()
