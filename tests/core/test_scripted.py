"""The scripted model: what it streams, what it remembers, and how script files are read."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onplan.errors import ConfigError, ModelError
from onplan.messages import Assistant, Call, Message, Text, Thinking, Usage, User
from onplan.models.scripted import Cut, Reply, ScriptedModel, load_script
from onplan.protocols import Delta, Model, Request

DOCUMENT = Path(__file__).parents[2] / "docs" / "script-format.md"
READ = Call("c1", "read_file", {"path": "a"})


def request(*texts: str) -> Request:
    return Request("be brief", (), [User(text) for text in texts])


async def collect(model: Model, asked: Request | None = None) -> list[Delta | Assistant]:
    return [item async for item in model.stream(asked or request("hi"))]


async def collect_into(arrived: list[Delta | Assistant], model: Model) -> None:
    async for item in model.stream(request("hi")):
        arrived.append(item)  # noqa: PERF401 - a comprehension would lose what came before an error


async def whole(model: Model, asked: Request | None = None) -> Assistant:
    last = (await collect(model, asked))[-1]
    assert isinstance(last, Assistant)
    return last


async def test_text_streams_by_words_and_ends_with_the_whole_reply():
    assert await collect(ScriptedModel(["two words"], "tiny")) == [
        Delta("text", "two "),
        Delta("text", "words"),
        Assistant((Text("two words"),), model="tiny"),
    ]


async def test_thinking_streams_as_thinking():
    reply = [Thinking("well then"), Text("yes")]
    deltas = (await collect(ScriptedModel([reply])))[:-1]
    assert deltas == [Delta("thinking", "well "), Delta("thinking", "then"), Delta("text", "yes")]


@given(st.text())
def test_the_deltas_are_the_text(text: str):
    async def streamed() -> str:
        items = await collect(ScriptedModel([text]))
        return "".join(item.text for item in items if isinstance(item, Delta))

    assert asyncio.run(streamed()) == text


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("", Assistant((), model="scripted")),
        (READ, Assistant((READ,), stop="tool_calls", model="scripted")),
        ([Text("a"), READ], Assistant((Text("a"), READ), stop="tool_calls", model="scripted")),
        (Assistant((READ,), model="m"), Assistant((READ,), stop="tool_calls", model="m")),
        (Assistant((READ,), stop="length"), Assistant((READ,), stop="length")),
        (
            Assistant((Text("a"),), usage=Usage(3, 4), model="m"),
            Assistant((Text("a"),), usage=Usage(3, 4), model="m"),
        ),
    ],
)
async def test_a_reply_of_any_kind_becomes_a_whole_message(reply: Reply, expected: Assistant):
    assert await whole(ScriptedModel([reply])) == expected


async def test_an_exception_is_raised():
    with pytest.raises(ModelError, match="overloaded"):
        await collect(ScriptedModel([ModelError("overloaded", retryable=True)]))


async def test_a_cut_stream_gives_its_text_first():
    arrived: list[Delta | Assistant] = []
    with pytest.raises(ModelError, match="the stream was cut"):
        await collect_into(arrived, ScriptedModel([Cut("half a")]))
    assert arrived == [Delta("text", "half "), Delta("text", "a")]


async def test_replies_come_in_order_and_their_end_is_an_error():
    model = ScriptedModel(["one", "two"])
    assert [(await whole(model)).text, (await whole(model)).text] == ["one", "two"]
    with pytest.raises(ModelError, match=r"no more replies \(2 were given\)"):
        await collect(model)


async def test_a_function_answers_from_the_request():
    model = ScriptedModel(lambda asked: f"{len(asked.messages)} messages")
    assert (await whole(model, request("a", "b"))).text == "2 messages"


async def test_requests_are_kept_as_they_were():
    messages: list[Message] = [User("first")]
    model = ScriptedModel(["a"])
    await collect(model, Request("be brief", (), messages))
    messages.append(User("later"))
    assert model.requests == [Request("be brief", (), (User("first"),))]


async def test_nothing_is_kept_where_recording_is_off():
    model = ScriptedModel(lambda _: "a", record=False)
    await collect(model)
    assert model.requests == []


async def test_a_cancelled_consumer_stops_the_stream():
    async def forever() -> None:
        model = ScriptedModel(lambda _: "a", record=False)
        while True:
            await collect(model)

    task = asyncio.create_task(forever())
    await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=30)
    assert done == {task}
    assert task.cancelled()


# --- script files -----------------------------------------------------------------------------------


def script(folder: Path, entries: Any) -> Path:
    path = folder / "script.json"
    path.write_bytes(entries if isinstance(entries, bytes) else msgspec.json.encode(entries))
    return path


async def replies(model: ScriptedModel, count: int) -> list[Assistant]:
    return [await whole(model) for _ in range(count)]


async def test_a_script_file_gives_its_replies(tmp_path: Path):
    entries = [
        "plain",
        {"text": "look", "calls": [{"name": "glob", "arguments": {"pattern": "*"}}, {"name": "read_todos"}]},
        {"calls": [{"name": "read_file", "arguments": '{"path": ', "id": "call_3"}, {"name": "glob"}]},
        {"text": "cut off", "stop": "length", "usage": {"input": 7, "output": 2}},
        {},
    ]
    assert await replies(load_script(script(tmp_path, entries)), 5) == [
        Assistant((Text("plain"),), model="scripted"),
        Assistant(
            (Text("look"), Call("call_1", "glob", {"pattern": "*"}), Call("call_2", "read_todos", {})),
            stop="tool_calls",
            model="scripted",
        ),
        Assistant(
            (Call("call_3", "read_file", '{"path": '), Call("call_4", "glob", {})),
            stop="tool_calls",
            model="scripted",
        ),
        Assistant((Text("cut off"),), stop="length", usage=Usage(7, 2), model="scripted"),
        Assistant((), model="scripted"),
    ]


async def test_errors_and_cut_streams_come_from_a_file_too(tmp_path: Path):
    model = load_script(script(tmp_path, [{"error": "busy"}, {"text": "half", "cut": True}]))
    with pytest.raises(ModelError, match=r"^busy$"):
        await collect(model)
    with pytest.raises(ModelError, match="the stream was cut"):
        await collect(model)


FAULTS: list[tuple[Any, str]] = [
    (b"[", "is not valid JSON"),
    (b"\xff\xfe", "is not valid JSON"),
    (b"[" * 100_000, "is not valid JSON"),
    ({}, "must be a JSON list with at least one reply"),
    ([], "must be a JSON list with at least one reply"),
    (["a", 3], "entry 2: Expected `object`, got `int`"),
    (["a", {"txt": "b"}], "entry 2: Object contains unknown field `txt`"),
    ([{"calls": [{"arguments": {}}]}], "entry 1: Object missing required field `name` - at `$.calls[0]`"),
    ([{"calls": [{"name": ""}]}], "entry 1: a call needs the name of a tool"),
    ([{"calls": [{"name": "a", "arguments": 3}]}], "entry 1: Expected `str | object`, got `int`"),
    ([{"stop": "bored"}], "entry 1: Invalid enum value 'bored'"),
    ([{"usage": {"ouput": 3}}], "entry 1: Object contains unknown field `ouput` - at `$.usage`"),
    ([{"error": "a", "text": "b"}], "entry 1: `error` stands alone"),
    ([{"cut": True, "calls": [{"name": "a"}]}], "entry 1: a `cut` reply has only `text`"),
]


@pytest.mark.parametrize(("entries", "complaint"), FAULTS)
def test_a_fault_is_one_line_that_names_the_entry(tmp_path: Path, entries: Any, complaint: str):
    path = script(tmp_path, entries)
    with pytest.raises(ConfigError) as caught:
        load_script(path)
    line = str(caught.value)
    assert line.startswith(f"the script {path}")
    assert complaint in line
    assert "\n" not in line


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"no\.json cannot be read: No such file or directory"):
        load_script(tmp_path / "no.json")


async def test_the_documented_script_loads(tmp_path: Path):
    example = re.findall(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.S)[0]
    first, second, third = await replies(load_script(script(tmp_path, example.encode())), 3)
    assert first.calls[0].name == "write_todos"
    assert second.calls == (Call("look", "read_file", {"path": "setup.py"}),)
    assert third == Assistant((Text("All done."),), usage=Usage(1200, 40), model="scripted")
