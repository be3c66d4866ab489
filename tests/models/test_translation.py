"""The translations: legal for each provider, and every request extends the one before it (I2, I3)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from histories import TOOLS, History, histories
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from onplan.compaction import boundaries, words_of_person
from onplan.events import Compacted
from onplan.messages import Assistant, Call, Media, Message, Note, Outcome, Text, Thinking, ToolResult, User
from onplan.models.names import IMAGES, NOTHING
from onplan.models.wire import (
    MAX_MEDIA,
    MAX_MEDIA_DATA,
    Fold,
    Translation,
    Wire,
    arguments_object,
    legal_text,
    translate,
)
from onplan.models.wire_anthropic import AnthropicFold, anthropic_prefix, with_breakpoints
from onplan.models.wire_chat import COMPATIBLE, OPENAI, STRICT, ChatFold, chat_request
from onplan.models.wire_responses import ResponsesFold, responses_request, signature_of
from onplan.session import compacted
from onplan.testing.rules import (
    Json,
    anthropic_faults,
    chat_faults,
    faults_of,
    responses_faults,
    strict_chat_faults,
)

SYSTEM = "You are a coding agent."


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    fold: Callable[[], Fold]
    body: Callable[[Sequence[Wire]], Json]
    rules: Callable[[Json], Iterator[str]]


def _anthropic_body(messages: Sequence[Wire]) -> Json:
    prefix = anthropic_prefix(SYSTEM, TOOLS)
    return {"model": "m", "max_tokens": 9, **prefix, "messages": with_breakpoints(messages)}


def _chat_body(messages: Sequence[Wire]) -> Json:
    return {"model": "m", **chat_request(SYSTEM, TOOLS, messages)}


def _responses_body(items: Sequence[Wire]) -> Json:
    return {"model": "m", **responses_request(SYSTEM, TOOLS, items)}


FORMATS = [
    Format("anthropic", AnthropicFold, _anthropic_body, anthropic_faults),
    Format("openai", lambda: ChatFold(OPENAI), _chat_body, chat_faults),
    Format("compatible", lambda: ChatFold(COMPATIBLE), _chat_body, chat_faults),
    Format("strict", lambda: ChatFold(STRICT), _chat_body, strict_chat_faults),
    Format("blind", lambda: ChatFold(OPENAI, NOTHING), _chat_body, chat_faults),
    Format("images only", lambda: AnthropicFold(IMAGES), _anthropic_body, anthropic_faults),
    Format("responses", ResponsesFold, _responses_body, responses_faults),
]
every_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)


# --- for any legal conversation ---------------------------------------------------------------------


@given(history=histories())
@settings(max_examples=150, deadline=None)
def test_any_legal_conversation_becomes_a_request_that_the_provider_takes(history: History) -> None:
    for form in FORMATS:
        for length in history.requests:
            body = form.body(translate(form.fold(), history.messages[:length]))
            assert (form.name, faults_of(form.rules, body)) == (form.name, [])


@given(history=histories())
@settings(max_examples=150, deadline=None)
def test_each_request_extends_the_one_before_it(history: History) -> None:
    for form in FORMATS:
        sent = [translate(form.fold(), history.messages[:length]) for length in history.requests]
        for (shorter, longer), begin in zip(pairwise(sent), history.requests, strict=False):
            if isinstance(history.messages[begin], Assistant):
                assert longer[: len(shorter)] == shorter, form.name
                continue
            # A request that got no answer at all: its last message may go on where it stopped.
            assert longer[: len(shorter) - 1] == shorter[:-1], form.name
            assert _goes_on(shorter[-1], longer[len(shorter) - 1]), form.name


@given(history=histories(), kept=st.booleans(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_conversation_whose_older_rounds_were_cut_away_is_taken_too(
    history: History, kept: bool, data: st.DataObject
) -> None:
    """As a compaction leaves it: a summary, the newest request before the cut or not, whole rounds."""
    cut = data.draw(st.sampled_from(history.requests))
    asked = [message for message in history.messages[:cut] if isinstance(message, User)]
    summary = Note("What was done so far: …", "compacted", "message")
    shortened = (summary, *(asked[-1:] if kept else ()), *history.messages[cut:])
    for form in FORMATS:
        for length in [length - cut for length in history.requests if length >= cut]:
            view = shortened[: len(shortened) - (len(history.messages) - cut) + length]
            body = form.body(translate(form.fold(), view))
            assert (form.name, faults_of(form.rules, body)) == (form.name, [])


@given(history=histories(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_what_a_compaction_leaves_is_taken_and_so_is_its_own_request(
    history: History, data: st.DataObject
) -> None:
    """For every cut: the summary, the person's newest words, shortened results, the plan; and once more."""
    view: Sequence[Message] = history.messages
    for _ in range(2):
        cut = data.draw(st.sampled_from(boundaries(view)))
        results = sorted({message.call_id for message in view if isinstance(message, ToolResult)})
        short = data.draw(st.lists(st.sampled_from(results), unique=True)) if results else []
        summary = Note("<summary>What was done: …</summary>", "summary", "message")
        asked = (*view[:cut], Note("<notice>Sum up.</notice>", "compaction", "message"))
        record = Compacted(
            "limit",
            len(view) - cut,
            (*words_of_person(view, cut), summary) if cut else (),
            (Note("<plan>open</plan>", "plan"),),
            dict.fromkeys(short, "…"),
        )
        view = compacted(view, record)
        for form in FORMATS:
            for sent in (asked, view):
                body = form.body(translate(form.fold(), sent))
                assert (form.name, faults_of(form.rules, body)) == (form.name, [])


def _goes_on(shorter: Wire, longer: Wire) -> bool:
    begun, content = shorter.get("content"), longer.get("content")
    if begun is None or content is None:
        return shorter == longer
    same_rest = {**shorter, "content": ""} == {**longer, "content": ""}
    return same_rest and content[: len(begun)] == begun


@given(history=histories())
@settings(max_examples=100, deadline=None)
def test_translating_as_the_conversation_grows_gives_the_same_bytes(history: History) -> None:
    for form in FORMATS:
        translation = Translation(form.fold)
        grown = [translation(history.messages[:length]) for length in history.requests]
        anew = [translate(form.fold(), history.messages[:length]) for length in history.requests]
        # Compared at the end: what was handed out must not have changed since.
        assert json.dumps(grown) == json.dumps(anew), form.name


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_conversations_that_take_turns_are_not_mixed_up(form: Format) -> None:
    translation = Translation(form.fold)
    talks = [[User(f"task {n}")] for n in range(6)]
    grown: list[list[Message]] = [list(talk) for talk in talks]
    for _ in range(3):
        for messages in grown:
            assert translation(messages) == translate(form.fold(), messages)
            messages += [Assistant((Text("Well."),)), User("On.")]


def test_a_long_conversation_is_translated_once() -> None:
    added: list[Message] = []

    class Counting(ChatFold):
        def add(self, message: Message) -> None:
            added.append(message)
            super().add(message)

    translation = Translation(Counting)
    messages: list[Message] = [User("go")]
    for n in range(2_000):
        translation(messages)
        call = Call(f"c{n}", "bash", {"command": "ls"})
        messages += [Assistant((call,), "tool_calls"), ToolResult(call.id, "bash", "out")]
    translation(messages)
    assert len(added) == len(messages)


@given(st.text(st.characters()))
def test_text_keeps_all_that_utf8_can_say(text: str) -> None:
    legal = legal_text(text)
    legal.encode()
    if text.isascii():
        assert legal == text


def test_halves_of_a_pair_are_joined_and_lone_ones_replaced() -> None:
    assert legal_text("a\ud83d\ude00b\ud800") == "a😀b\ufffd"


# --- what they look like ----------------------------------------------------------------------------

ROUND: tuple[Message, ...] = (
    User("Fix it."),
    Assistant(
        (
            Thinking("hm", "sig"),
            Thinking("unsigned"),
            Text("Looking."),
            Call("c1", "bash", {"command": "ls"}),
            Call("c2", "bash", '{"command": '),
        ),
        "tool_calls",
    ),
    ToolResult("c1", "bash", "a.py"),
    ToolResult("c2", "bash", "Error: not valid JSON", "error"),
    Note("<reminder>", "reminder"),
)


def test_anthropic_gets_results_first_and_the_reminder_behind_them() -> None:
    assert translate(AnthropicFold(), ROUND) == snapshot(
        [
            {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
                    {
                        "type": "tool_use",
                        "id": "c2",
                        "name": "bash",
                        "input": {"invalid_arguments": '{"command": '},
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "a.py"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": "Error: not valid JSON",
                        "is_error": True,
                    },
                    {"type": "text", "text": "<reminder>"},
                ],
            },
        ]
    )


def test_chat_gets_tool_messages_and_then_the_reminder() -> None:
    assert translate(ChatFold(), ROUND) == snapshot(
        [
            {"role": "user", "content": "Fix it."},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "bash", "arguments": '{"command":"ls"}'},
                    },
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "bash", "arguments": '{"invalid_arguments":"{\\"command\\": "}'},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
            {"role": "tool", "tool_call_id": "c2", "content": "Error: not valid JSON"},
            {"role": "user", "content": "<reminder>"},
        ]
    )


def test_where_no_user_may_follow_a_tool_the_reminder_joins_the_last_result() -> None:
    assert translate(ChatFold(STRICT), ROUND)[-2:] == snapshot(
        [
            {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
            {
                "role": "tool",
                "tool_call_id": "c2",
                "content": """\
Error: not valid JSON

<reminder>\
""",
            },
        ]
    )


def test_responses_get_items() -> None:
    signed = signature_of("rs_1", "gAAA", ["because"])
    reply = Assistant((Thinking("because", signed), *ROUND[1].parts[2:]), "tool_calls")  # type: ignore[union-attr]
    assert translate(ResponsesFold(), (ROUND[0], reply, *ROUND[2:])) == snapshot(
        [
            {"role": "user", "content": "Fix it."},
            {
                "type": "reasoning",
                "id": "rs_1",
                "encrypted_content": "gAAA",
                "summary": [{"type": "summary_text", "text": "because"}],
            },
            {"role": "assistant", "content": "Looking."},
            {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command":"ls"}'},
            {
                "type": "function_call",
                "call_id": "c2",
                "name": "bash",
                "arguments": '{"invalid_arguments":"{\\"command\\": "}',
            },
            {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
            {"type": "function_call_output", "call_id": "c2", "output": "Error: not valid JSON"},
            {"role": "user", "content": "<reminder>"},
        ]
    )


def test_an_empty_reply_is_said_to_be_one() -> None:
    messages = (User("Hi."), Assistant(()), Note("Go on.", "empty", "message"))
    assert translate(AnthropicFold(), messages) == snapshot(
        [
            {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
            {"role": "assistant", "content": [{"type": "text", "text": "(no reply)"}]},
            {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
        ]
    )
    assert translate(ChatFold(COMPATIBLE), messages) == snapshot(
        [
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": "(no reply)"},
            {"role": "user", "content": "Go on."},
        ]
    )


def test_thinking_goes_back_only_to_those_who_signed_it() -> None:
    theirs = Thinking("", signature_of("rs_1", "gAAA", []))
    ours = Thinking("hm", "sig")
    messages = (User("Hi."), Assistant((theirs, ours, Text("Hello."))))
    anthropic, responses = translate(AnthropicFold(), messages), translate(ResponsesFold(), messages)
    assert [block["type"] for block in anthropic[1]["content"]] == ["thinking", "text"]
    assert [item.get("type", item.get("role")) for item in responses] == ["user", "reasoning", "assistant"]


@pytest.mark.parametrize(
    ("sent", "echoed"),
    [
        ("", {}),
        (None, {}),
        ('{"a": 1}', {"a": 1}),
        (["ls"], {"invalid_arguments": '["ls"]'}),
        ('{"a": ', {"invalid_arguments": '{"a": '}),
        ("x" * 1_000_000, {"invalid_arguments": "x" * 2_000}),
        ({"n": float("nan")}, {"n": None}),
    ],
)
def test_arguments_go_back_as_an_object(sent: Any, echoed: dict[str, Any]) -> None:
    assert arguments_object(sent) == echoed


def test_a_repeated_id_is_told_apart_and_its_result_follows_it() -> None:
    first, second = Call("call_0", "bash", {}), Call("call_0", "bash", {})
    messages: list[Message] = [User("go")]
    for call in (first, second):
        messages += [Assistant((call,), "tool_calls"), ToolResult("call_0", "bash", "out")]
    wire = translate(ChatFold(), messages)
    assert [m.get("tool_call_id") or m["tool_calls"][0]["id"] for m in wire[1:]] == [
        "call_0",
        "call_0",
        "call_0_2",
        "call_0_2",
    ]


# --- images and PDFs --------------------------------------------------------------------------------

DOT = Media("image/gif", "R0lGODdh", "a dot.gif")
PAGE = Media("application/pdf", "JVBERi0=", "doc/page.pdf")
SHOWN: tuple[Message, ...] = (
    User("Look."),
    Assistant((Call("c1", "read_file", {}), Call("c2", "read_file", {})), "tool_calls"),
    ToolResult("c1", "read_file", "image file", media=(DOT,)),
    ToolResult("c2", "read_file", "PDF file", media=(PAGE,)),
    Note("<reminder>", "reminder"),
)


def test_anthropic_gets_images_and_pdfs_in_their_results() -> None:
    assert translate(AnthropicFold(), SHOWN)[2] == snapshot(
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [
                        {"type": "text", "text": "image file"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODdh"},
                        },
                    ],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [
                        {"type": "text", "text": "PDF file"},
                        {
                            "type": "document",
                            "source": {
                                "type": "base64",
                                "media_type": "application/pdf",
                                "data": "JVBERi0=",
                            },
                            "title": "doc/page.pdf",
                        },
                    ],
                },
                {"type": "text", "text": "<reminder>"},
            ],
        }
    )


def test_responses_get_images_and_pdfs_in_their_outputs() -> None:
    assert translate(ResponsesFold(), SHOWN)[3:] == snapshot(
        [
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [
                    {"type": "input_text", "text": "image file"},
                    {
                        "type": "input_image",
                        "image_url": "data:image/gif;base64,R0lGODdh",
                        "detail": "auto",
                    },
                ],
            },
            {
                "type": "function_call_output",
                "call_id": "c2",
                "output": [
                    {"type": "input_text", "text": "PDF file"},
                    {
                        "type": "input_file",
                        "filename": "doc/page.pdf",
                        "file_data": "data:application/pdf;base64,JVBERi0=",
                    },
                ],
            },
            {"role": "user", "content": "<reminder>"},
        ]
    )


IN_CHAT = [
    {"type": "text", "text": "Shown by read_file: a dot.gif"},
    {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODdh"}},
    {"type": "text", "text": "Shown by read_file: doc/page.pdf"},
    {
        "type": "file",
        "file": {"filename": "doc/page.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
    },
    {"type": "text", "text": "<reminder>"},
]


def test_chat_gets_images_and_pdfs_behind_all_results_and_the_reminder_joins_them() -> None:
    tools = [
        {"role": "tool", "tool_call_id": "c1", "content": "image file"},
        {"role": "tool", "tool_call_id": "c2", "content": "PDF file"},
    ]
    assert translate(ChatFold(), SHOWN)[2:] == [*tools, {"role": "user", "content": IN_CHAT}]
    assert translate(ChatFold(STRICT), SHOWN)[2:] == [
        *tools,
        {"role": "assistant", "content": "(no reply)"},
        {"role": "user", "content": IN_CHAT},
    ]


def _told(fold: Fold, *media: Media, outcome: Outcome = "ok") -> str:
    """The text of the one result."""
    result = ToolResult("c", "look", "text", outcome, media=media)
    messages = (User("Look."), Assistant((Call("c", "look", {}),), "tool_calls"), result)
    return translate(fold, messages)[2]["content"]


def test_a_model_without_eyes_is_told_so() -> None:
    assert _told(ChatFold(OPENAI, NOTHING), DOT, DOT, PAGE) == snapshot("""\
text
(not shown: this model takes no images)
(not shown: this model takes no PDFs)\
""")
    assert _told(ChatFold(OPENAI, IMAGES), DOT, PAGE) == snapshot("""\
text
(not shown: this model takes no PDFs)\
""")


def test_what_no_provider_takes_is_not_sent() -> None:
    other, damaged = Media("image/tiff", "R0lG"), Media("image/gif", "R0l")
    assert _told(ChatFold(), other, damaged, Media("image/gif", "")) == snapshot("""\
text
(not shown: only PNG, JPEG, GIF, WebP and PDF can be)
(not shown: its data is damaged)\
""")
    assert _told(ChatFold(), DOT, outcome="error") == snapshot("""\
text
(not shown: the call did not succeed)\
""")


@pytest.mark.parametrize(
    ("medium", "sent"),
    [(DOT, MAX_MEDIA), (Media("application/pdf", "JVBE" * (MAX_MEDIA_DATA // 12)), 3)],
    ids=["images", "large PDFs"],
)
def test_a_conversation_shows_so_many_and_no_more(medium: Media, sent: int) -> None:
    messages: list[Message] = [User("Look.")]
    for n in range(MAX_MEDIA + 3):
        messages += [Assistant((Call(f"c{n}", "look", {}),), "tool_calls")]
        messages += [ToolResult(f"c{n}", "look", "text", media=(medium,))]
    wire = translate(ResponsesFold(), messages)
    outputs = [item["output"] for item in wire if item.get("type") == "function_call_output"]
    assert [isinstance(output, list) for output in outputs] == [n < sent for n in range(MAX_MEDIA + 3)]
    assert set(outputs[sent:]) == {
        "text\n(not shown: the session holds as many images and PDFs as can be sent; a new one can show more)"
    }


# --- breakpoints ------------------------------------------------------------------------------------


def test_each_request_marks_where_the_one_before_it_ended() -> None:
    messages: list[Message] = [User("go")]
    ends: list[tuple[int, int]] = []
    for n in range(5):
        marked = with_breakpoints(translate(AnthropicFold(), messages))
        marks = [
            (m, b)
            for m, message in enumerate(marked)
            for b, block in enumerate(message["content"])
            if "cache_control" in block
        ]
        end = (len(marked) - 1, len(marked[-1]["content"]) - 1)
        assert marks == [*ends[-1:], end]
        ends.append(end)
        calls = tuple(Call(f"c{n}_{k}", "bash", {}) for k in range(30))
        messages += [Assistant(calls, "tool_calls"), *(ToolResult(c.id, "bash", "out") for c in calls)]


# --- the checkers can refuse ------------------------------------------------------------------------

CALLS = Assistant((Call("c1", "bash", {}), Call("c2", "bash", {})), "tool_calls")
R1, R2 = ToolResult("c1", "bash", "one"), ToolResult("c2", "bash", "two")
BROKEN: dict[str, tuple[Message, ...]] = {
    "no result": (User("go"), CALLS),
    "one result missing": (User("go"), CALLS, R1, User("continue")),
    "results out of order": (User("go"), CALLS, R2, R1),
    "a result twice": (User("go"), CALLS, R1, R2, R2),
    "a result without its call": (User("go"), R1),
    "a reminder before the results": (User("go"), CALLS, Note("plan?", "reminder"), R1, R2),
    "a reminder between the results": (User("go"), CALLS, R1, Note("plan?", "reminder"), R2),
    "the person before the results": (User("go"), CALLS, User("hm"), R1, R2),
    "nothing at all": (),
}


@every_format
@pytest.mark.parametrize("broken", BROKEN)
def test_the_checker_refuses_a_broken_history(form: Format, broken: str) -> None:
    if form.name == "strict" and broken.startswith("a reminder"):
        pytest.skip("there a reminder becomes part of what is before it")
    assert faults_of(form.rules, form.body(translate(form.fold(), BROKEN[broken]))) != []


Spoil = Callable[[dict[str, Any]], Any]
ANTHROPIC_SPOILS: dict[str, Spoil] = {
    "blank text": lambda b: b["messages"][0]["content"].append({"type": "text", "text": " "}),
    "empty content": lambda b: b["messages"][0].update(content=[]),
    "the same role twice": lambda b: b["messages"].insert(0, {"role": "user", "content": "hi"}),
    "reply first": lambda b: b["messages"].insert(0, {"role": "assistant", "content": "hi"}),
    "unsigned thinking": lambda b: b["messages"][1]["content"][0].update(signature=""),
    "thinking at the end": lambda b: b["messages"][1]["content"].append(b["messages"][1]["content"].pop(0)),
    "input that is a string": lambda b: b["messages"][1]["content"][2].update(input="{}"),
    "an id that is not legal": lambda b: b["messages"][1]["content"][2].update(id="a.b"),
    "five breakpoints": lambda b: [
        t.update(cache_control={"type": "ephemeral"}) for t in (*b["tools"], *b["messages"][2]["content"])
    ],
    "a lone surrogate": lambda b: b["messages"][0]["content"][0].update(text="\ud800"),
    "a blank system text": lambda b: b.update(system=" "),
    "a tool twice": lambda b: b["tools"].append(b["tools"][0]),
}


@pytest.mark.parametrize("spoil", ANTHROPIC_SPOILS)
def test_the_anthropic_checker_refuses(spoil: str) -> None:
    body: Any = copy.deepcopy(_anthropic_body(translate(AnthropicFold(), ROUND)))
    assert faults_of(anthropic_faults, body) == []
    ANTHROPIC_SPOILS[spoil](body)
    assert faults_of(anthropic_faults, body) != []


CHAT_SPOILS: dict[str, Spoil] = {
    "blank content": lambda b: b["messages"][1].update(content=""),
    "arguments that are no JSON": lambda b: b["messages"][2]["tool_calls"][0]["function"].update(
        arguments="{"
    ),
    "arguments that are no object": lambda b: b["messages"][2]["tool_calls"][0]["function"].update(
        arguments="[]"
    ),
    "a system message later": lambda b: b["messages"].append({"role": "system", "content": "x"}),
    "an empty list of calls": lambda b: b["messages"][2].update(tool_calls=[]),
}


@pytest.mark.parametrize("spoil", CHAT_SPOILS)
def test_the_chat_checker_refuses(spoil: str) -> None:
    body: Any = copy.deepcopy(_chat_body(translate(ChatFold(), ROUND)))
    assert faults_of(chat_faults, body) == []
    CHAT_SPOILS[spoil](body)
    assert faults_of(chat_faults, body) != []


def test_the_strict_checker_refuses_a_user_after_a_tool() -> None:
    assert faults_of(strict_chat_faults, _chat_body(translate(ChatFold(OPENAI), ROUND))) != []


def _in_anthropic(body: Any, n: int) -> Any:
    return body["messages"][2]["content"][n]


SHOWN_SPOILS: dict[str, tuple[str, Spoil]] = {
    "an image in an error": ("anthropic", lambda b: _in_anthropic(b, 0).update(is_error=True)),
    "an image of another type": (
        "anthropic",
        lambda b: _in_anthropic(b, 0)["content"][1]["source"].update(media_type="image/tiff"),
    ),
    "a PDF as an image": ("anthropic", lambda b: _in_anthropic(b, 1)["content"][1].update(type="image")),
    "data that is no base64": (
        "anthropic",
        lambda b: _in_anthropic(b, 0)["content"][1]["source"].update(data="R0l"),
    ),
    "a blank title": ("anthropic", lambda b: _in_anthropic(b, 1)["content"][1].update(title=" ")),
    "a blank text beside an image": (
        "anthropic",
        lambda b: _in_anthropic(b, 0)["content"][0].update(text=""),
    ),
    "an empty list": ("anthropic", lambda b: _in_anthropic(b, 0).update(content=[])),
    "an image of six megabytes": (
        "anthropic",
        lambda b: _in_anthropic(b, 0)["content"][1]["source"].update(data="R0lG" * 1_500_000),
    ),
    "a hundred and one images": (
        "anthropic",
        lambda b: _in_anthropic(b, 0)["content"].extend([_in_anthropic(b, 0)["content"][1]] * 100),
    ),
    "a request of 40 megabytes": (
        "anthropic",
        lambda b: _in_anthropic(b, 1)["content"][1]["source"].update(data="JVBE" * 10_000_000),
    ),
    "an image in a tool message": (
        "openai",
        lambda b: b["messages"][3].update(content=[b["messages"][5]["content"][1]]),
    ),
    "another type in a data URL": (
        "openai",
        lambda b: b["messages"][5]["content"][1]["image_url"].update(url="data:image/tiff;base64,R0lG"),
    ),
    "no data URL": (
        "openai",
        lambda b: b["messages"][5]["content"][1]["image_url"].update(url="R0lGODdh"),
    ),
    "no content at all": ("openai", lambda b: b["messages"][5].update(content=[])),
    "a file without a name": (
        "openai",
        lambda b: b["messages"][5]["content"][3]["file"].update(filename=""),
    ),
    "an empty output": ("responses", lambda b: b["input"][3].update(output=[])),
    "an unknown part": ("responses", lambda b: b["input"][3]["output"][1].update(type="image")),
    "an output file without a name": (
        "responses",
        lambda b: b["input"][4]["output"][1].update(filename=" "),
    ),
    "a PDF as an output image": (
        "responses",
        lambda b: b["input"][3]["output"][1].update(image_url="data:application/pdf;base64,JVBE"),
    ),
}


@pytest.mark.parametrize("spoil", SHOWN_SPOILS)
def test_the_checker_refuses_of_images_and_pdfs(spoil: str) -> None:
    name, spoiled = SHOWN_SPOILS[spoil]
    form = next(form for form in FORMATS if form.name == name)
    body: Any = copy.deepcopy(form.body(translate(form.fold(), SHOWN)))
    assert faults_of(form.rules, body) == []
    spoiled(body)
    faults = faults_of(form.rules, body)
    assert faults != []
    assert not any(fault.startswith("malformed") for fault in faults)
