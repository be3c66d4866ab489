"""Whatever a model writes in however many calls, the middleware comes to what the engine comes to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_parts import Scripted, bash, call, calls, write
from langgraph.checkpoint.memory import InMemorySaver

from onplan import PlanMemory
from onplan.integrations.langchain import PlanMiddleware, SlimState

CONFIG: Any = {"configurable": {"thread_id": "t"}}
GO: Any = {"messages": [("user", "Go.")]}

ITEMS = st.builds(lambda mark, text: f"[{mark}] {text}", st.sampled_from(" ~x"), st.sampled_from("ABCDE"))
WRITES = st.lists(ITEMS, max_size=4)
BATCHES = st.lists(st.lists(WRITES | st.none(), min_size=1, max_size=4), min_size=1, max_size=5)
"""Rounds of calls: a write, or a call of another tool."""


def script(batches: list[list[list[str] | None]]) -> tuple[Scripted, list[tuple[str, Any]]]:
    """The model, and its plan calls in order."""
    made: list[AIMessage] = []
    writes: list[tuple[str, Any]] = []
    for at, batch in enumerate(batches):
        sent = [
            call(f"c{at}-{n}", "bash", command="x") if items is None else write(f"c{at}-{n}", *items)
            for n, items in enumerate(batch)
        ]
        writes += [(one["id"], one["args"]) for one in sent if one["name"] == "write_todos"]
        made.append(calls(*sent))
    return Scripted(*made, AIMessage("Done.")), writes


@given(BATCHES, st.booleans())
@settings(max_examples=40, deadline=None)
def test_batches_come_to_what_the_calls_come_to_one_by_one(batches: list[Any], slim: bool):
    model, writes = script(batches)
    plan = PlanMiddleware(max_continuations=0, reminder=None)
    more: dict[str, Any] = {"state_schema": SlimState} if slim else {}
    agent = create_agent(model, [bash], middleware=[plan], checkpointer=InMemorySaver(), **more)
    came_to = agent.invoke(GO, CONFIG)

    memory = PlanMemory(reminder=None)
    expected = {call_id: memory.call("write_todos", sent) for call_id, sent in writes}
    found = {item.tool_call_id: item for item in came_to["messages"] if isinstance(item, ToolMessage)}
    answered = [call_id for call_id in expected if call_id in found]
    state = plan.state_of(agent.get_state(CONFIG).values)
    if len(answered) == len(expected) and not model.replies:  # nothing repeated itself until the run ended
        assert came_to["todos"] == memory.plan.to_json()
        assert state.ledger.revision == memory.revision
        assert state.ledger.past == memory.ledger.past
    for call_id in answered:
        told = expected[call_id]
        if "the third time" not in told.text + found[call_id].text and "this is the same" not in told.text:
            assert (found[call_id].text, found[call_id].status == "error") == (told.text, told.is_error)


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("first", [True, False], ids=["summary first", "plan first"])
def test_langchains_own_summaries_lose_nothing_of_the_plan(first: bool, sync: bool):
    summarizer = Scripted(*(AIMessage("They talked about the weather.") for _ in range(30)))
    summary = SummarizationMiddleware(summarizer, trigger=("messages", 8), keep=("messages", 3))
    plan = PlanMiddleware(max_continuations=0)
    work = [calls(call(f"c{n}", "bash", command=str(n))) for n in range(2, 20)]
    model = Scripted(
        calls(write("c1", "[~] Map the coast", "[ ] Name the capes")), *work, AIMessage("So far.")
    )
    middleware: list[Any] = [summary, plan] if first else [plan, summary]
    agent = create_agent(model, [bash], middleware=middleware, checkpointer=InMemorySaver())
    came_to = agent.invoke(GO, CONFIG) if sync else asyncio.run(agent.ainvoke(GO, CONFIG))
    assert len(summarizer.requests) > 2
    assert plan.state_of(came_to | agent.get_state(CONFIG).values).ledger.revision == 1
    for request in model.requests[1:]:
        shown = [item for item in request if "[~] Map the coast\n[ ] Name the capes" in item.text]
        assert 1 <= len(shown) <= 2, [item.text for item in request]
    for one, later in zip(model.requests[1:], model.requests[2:], strict=False):
        kept = [item.id for item in one if item.id in {other.id for other in later}]
        assert kept == [item.id for item in later if item.id in kept]
