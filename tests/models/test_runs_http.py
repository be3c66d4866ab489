"""Whole runs over real HTTP: plan, tools, answer; and what sixty rounds send (I2, I3)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from far_side import Server, serving
from test_conformance_http import SPEECHES, model_for

from onplan.coding import coding_agent
from onplan.messages import Assistant, Call, Note, Text, Thinking, ToolResult, Usage
from onplan.models.wire_responses import signature_of
from onplan.plan.settings import Settings
from onplan.stores.memory import MemoryStore
from onplan.testing.models import DOT, Answer

EACH = Usage(input=100, output=10, cache_read=50, cache_write=5, thinking=3)
"""What every reply of these servers says it used."""


@pytest.fixture(params=SPEECHES)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def server(kind: str) -> Iterator[Server]:
    with serving(SPEECHES[kind]) as running:
        yield running


def _todos(*statuses: str) -> Call:
    todos = [{"content": f"step {n}", "status": status} for n, status in enumerate(statuses)]
    return Call("plan", "write_todos", {"todos": todos})


def _reply(*parts: Text | Call | Thinking) -> Assistant:
    stop = "tool_calls" if any(isinstance(part, Call) for part in parts) else "end"
    return Assistant(parts, stop, EACH)


async def test_a_run_plans_works_and_answers(kind: str, server: Server, tmp_path: Path) -> None:
    server.will(
        _reply(Thinking("First a plan.", signature_of("rs", "gA", [])), _todos("in_progress", "pending")),
        _reply(
            Text("Writing."),
            Call("w", "write_file", {"path": "a.txt", "content": "café\n"}),
            Call("r", "read_file", {"path": "a.txt"}),
        ),
        _reply(Call("x", "bash", '{"command": '), _todos("completed", "in_progress")),
        _reply(_todos("completed", "completed")),
        _reply(Text("Both steps are done.")),
    )
    agent = await coding_agent(tmp_path, model=model_for(kind, server), store=MemoryStore(), auto=True)
    async with agent:
        result = await agent.run("Do two steps.")
    await agent.model.aclose()  # type: ignore[attr-defined]
    assert (result.text, result.reason, result.error) == ("Both steps are done.", "done", "")
    assert (tmp_path / "a.txt").read_text() == "café\n"
    assert [todo.status for todo in result.plan.todos] == ["completed", "completed"]
    assert result.usage == EACH + EACH + EACH + EACH + EACH


PAGE = b"%PDF-1.4\n<</Type/Page>>\n%%EOF\n"
LOOKS = (Call("a", "read_file", {"path": "dot.gif"}), Call("b", "read_file", {"path": "dot.pdf"}))


async def test_an_image_and_a_pdf_of_the_project_reach_a_model_that_takes_them(
    kind: str, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "dot.gif").write_bytes(base64.b64decode(DOT))
    (tmp_path / "dot.pdf").write_bytes(PAGE)
    server.will(_reply(*LOOKS), _reply(Text("A dot, and an empty page.")))
    store = MemoryStore()
    agent = await coding_agent(tmp_path, model=model_for(kind, server), store=store, auto=True)
    async with agent:
        result = await agent.run("What is there?")
        told = [m.content for m in agent.messages if isinstance(m, ToolResult)]
    await agent.model.aclose()  # type: ignore[attr-defined]
    assert (result.text, result.error) == ("A dot, and an empty page.", "")
    assert told[0] == "image file (GIF, 1x1, 43 bytes)"
    last = server.requests[-1]
    data = [DOT.encode(), base64.b64encode(PAGE)]
    takes_none = kind == "strict chat"
    assert [one in last for one in data] == [not takes_none] * 2
    assert (b"(not shown: this model takes no images)" in last) is takes_none
    # A session that goes on elsewhere, from its log, sends the same bytes.
    server.will(_reply(Text("Still a dot.")))
    again = await coding_agent(
        tmp_path, model=model_for(kind, server), store=store, auto=True, resume=agent.session_id
    )
    async with again:
        assert (await again.run("And now?")).text == "Still a dot."
    await again.model.aclose()  # type: ignore[attr-defined]
    before, after = (_split(_without_markers(raw.decode()))[1] for raw in (last, server.requests[-1]))
    assert after.startswith(f"{before},")


# --- sixty rounds -----------------------------------------------------------------------------------


def _worker(rounds: int) -> Callable[[Any], Answer]:
    """A model that works for so many rounds: many calls at once, broken ones, empty and cut replies."""
    asked = 0

    def reply(body: Any) -> Answer:
        nonlocal asked
        asked += 1
        n = asked
        if n > rounds:
            return _reply(Text("Done."))
        if n % 20 == 1:
            return _reply(_todos("in_progress", *["pending"] * (n // 20 + 1)))
        if n % 17 == 0:
            return Assistant((), "end", EACH)
        if n % 13 == 0:
            return Assistant((Text("Cut off he"),), "length", EACH)
        if n % 11 == 0:
            return _reply(Call("bad", "bash", '{"command": "ls'), Call("", "nothing", {}))
        if n % 7 == 0:
            return _reply(*(Call(f"g{k}", "glob", {"pattern": f"*{n}{k}"}) for k in range(30)))
        if n % 5 == 0:
            paths = ("dot.gif", "dot.pdf", "none.gif")
            looks = (Call("", "read_file", {"path": path, "limit": n}) for path in paths)
            return _reply(*looks, Call("", "glob", {"pattern": f"*{n}"}))
        signature = signature_of(f"rs_{n}", "gA", [])
        return _reply(Thinking("hm", signature), Call("call_0", "glob", {"pattern": f"*.{n}"}))

    return reply


async def _sixty_rounds(kind: str, server: Server, tmp_path: Path) -> list[str]:
    server.reply = _worker(60)
    (tmp_path / "dot.gif").write_bytes(base64.b64decode(DOT))
    (tmp_path / "dot.pdf").write_bytes(PAGE)
    agent = await coding_agent(
        tmp_path, model=model_for(kind, server), store=MemoryStore(), auto=True, planning=Settings()
    )
    async with agent:
        result = await agent.run("Work for long.")
        assert (result.reason, result.error) in (("open_todos", ""), ("done", ""))
        assert any(isinstance(m, Note) and m.kind.startswith("remind") for m in agent.messages)
    await agent.model.aclose()  # type: ignore[attr-defined]
    assert len(server.requests) > 60
    return [raw.decode() for raw in server.requests]


def _split(raw: str) -> tuple[str, str, str]:
    """A request before its messages, its messages without the closing bracket, and after them."""
    key = '"input":' if '"input":[' in raw else '"messages":'
    begin = raw.index(key) + len(key)
    _, end = json.JSONDecoder().raw_decode(raw, begin)
    return raw[:begin], raw[begin : end - 1], raw[end:]


def _without_markers(raw: str) -> str:
    return raw.replace(',"cache_control":{"type":"ephemeral"}', "")


async def test_each_request_is_the_one_before_it_and_a_tail_byte_for_byte(
    kind: str, server: Server, tmp_path: Path
) -> None:
    requests = await _sixty_rounds(kind, server, tmp_path)
    parts = [_split(_without_markers(raw)) for raw in requests]
    assert len({(before, after) for before, _, after in parts}) == 1
    for (_, shorter, _), (_, longer, _) in pairwise(parts):
        assert longer.startswith(f"{shorter},")


@pytest.mark.parametrize("kind", ["anthropic"], indirect=True)
async def test_each_request_reads_all_that_the_one_before_it_wrote(
    kind: str, server: Server, tmp_path: Path
) -> None:
    requests = await _sixty_rounds(kind, server, tmp_path)
    cache: set[str] = set()
    written = ""
    for raw in requests:
        prefixes = list(_prefixes(json.loads(raw)))
        marked = [n for n, (_, mark) in enumerate(prefixes) if mark]
        # The provider looks back over at most twenty blocks from each breakpoint.
        found = [prefixes[n][0] for mark in marked for n in range(max(0, mark - 19), mark + 1)]
        read = max((text for text in found if text in cache), key=len, default="")
        assert read == written
        cache |= {prefixes[n][0] for n in marked}
        written = prefixes[marked[-1]][0]
        assert marked[-1] == len(prefixes) - 1


def _prefixes(body: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Every beginning of a request that ends with a block, and whether a breakpoint is there."""
    told = json.dumps(body.get("tools", []))
    blocks: Sequence[tuple[str, dict[str, Any]]] = [("system", block) for block in body["system"]]
    blocks = [*blocks, *((m["role"], block) for m in body["messages"] for block in m["content"])]
    for role, block in blocks:
        marked = block.pop("cache_control", None) is not None
        told += f"{role} {json.dumps(block)}"
        yield told, marked
