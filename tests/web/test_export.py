"""Sessions for others: a file that no transcript breaks out of, Markdown, records, requests; never a key."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_logs import STARTED, TOOLS, logs, long_log, stamped

from onplan.errors import OnplanError
from onplan.events import Compacted, Record
from onplan.messages import Assistant, Call, Media, Note, Text, ToolResult, User
from onplan.models.prices import load_prices
from onplan.plan.changes import Written
from onplan.plan.stored import outcome_to_json
from onplan.plan.todo import Plan
from onplan.protocols import SessionInfo
from onplan.session import Stamped
from onplan.testing.rules import anthropic_faults, chat_faults, faults_of
from onplan.web.export import JsonFormat, exported
from onplan.web.folding import run_of
from onplan.web.html import bundle, embedded, names, single_file, source
from onplan.web.markdown import markdown
from onplan.web.run import Run

INFO = SessionInfo("a1b2c3d4", "/work", title="A job")
PRICES = load_prices()
KEY = "sk-ant-api03-" + "a1B2" * 12

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "<!--<script></script>",
    "</SCRIPT >",
    "]]>",
    "<img src=x onerror=alert(1)>",
    "<style>*{display:none}</style>",
    "\u2028\u2029\x00\ud800",
    "```\n<b>out of the fence</b>\n```",
    "![x](http://tracker.example/x.png)",
    "javascript:alert(1)",
)


def run(*records: Record) -> Run:
    return run_of(INFO, stamped([STARTED, *records]), prices=PRICES)


def everywhere(text: str) -> list[Record]:
    """A log in which the text stands wherever a model, a tool or a person may put it."""
    plan = Plan.from_json([{"content": text or "x", "status": "pending"}])
    call = Call("c", text, {text: text})
    written = {"plan": outcome_to_json(Written(1, plan)), "diff": text}
    return [
        User(text),
        Assistant((Text(text), call), "tool_calls", model=text),
        ToolResult("c", "write_todos", text, details=written, media=(Media(text, "AAAA", text),)),
        Note(text, "notice"),
        Assistant((Text(text),)),
    ]


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="run">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


# --- the single file --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_transcript_ends_the_place_where_the_run_stands(text: str):
    whole = run(*everywhere(text))
    page = single_file(whole)
    assert data_of(page) == json.loads(msgspec.json.encode(whole))
    assert page.count("</script") == single_file(run()).count("</script")
    assert len(re.findall("<script", page)) == 2
    assert "<!--" not in embedded(whole)


@given(
    st.lists(
        st.sampled_from(["<", "!", "-", "/", "s", "S", "cript", ">", "\\", '"', "u003c", "é", "\n"])
    ).map("".join)
)
@settings(deadline=None, max_examples=50)
def test_what_is_embedded_is_the_run_and_holds_no_tag(text: str):
    whole = run(User(text))
    body = embedded(whole)
    assert re.search(r"<[!/sS?]", body) is None
    assert msgspec.json.decode(body, type=Run) == whole


def test_the_policy_lets_run_what_came_with_the_package_and_nothing_else():
    page = single_file(run(*everywhere(HOSTILE[0])))
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', page)
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert policy is not None
    assert script is not None
    assert style is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'{_hash(script[1])}'"
    assert rules["style-src"] == f"'{_hash(style[1])}'"
    assert "connect-src" not in rules  # none, by the default


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def test_the_file_needs_no_other_file_and_no_address():
    page = single_file(run(User("hi")))
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page) == []
    assert '<link rel="stylesheet"' not in page
    assert "modulepreload" not in page


def test_all_of_the_page_is_in_the_file():
    page = single_file(run())
    for name in names():
        longest = max(source(name).splitlines(), key=len)
        assert longest.removeprefix("export ") in page


def test_the_modules_are_listed_after_those_that_they_import():
    seen: set[str] = set()
    for name in [name for name in names() if name.endswith(".js")]:
        imported = re.findall(r"^import .*? from '\./([\w-]+\.js)'", source(name), re.MULTILINE | re.DOTALL)
        assert [other for other in imported if other not in seen] == [], name
        seen.add(name)


def test_no_two_modules_declare_the_same_name():
    declared: dict[str, str] = {}
    for name in [name for name in names() if name.endswith(".js")]:
        found = re.findall(
            r"^(?:export )?(?:async )?(?:function\*?|class|const|let) ([\w$]+)", source(name), re.MULTILINE
        )
        clashes = {word: declared[word] for word in found if word in declared}
        assert clashes == {}, name
        declared.update(dict.fromkeys(found, name))


@pytest.mark.parametrize(
    "text",
    [
        "export default function x() {}\n",
        "import x from './x.js';\n",
        "import * as x from './x.js';\n",
        "export { x };\n",
    ],
)
def test_a_module_that_cannot_be_put_into_one_file_is_named(text: str):
    with pytest.raises(OnplanError, match=r"odd\.js"):
        bundle([("odd.js", text)])


def test_modules_become_one_script_in_their_order():
    first = "export const one = 1;\nexport function two() { return '</script>'; }\n"
    second = "import {\n  one,\n  two,\n} from './first.js';\n\none + two();\n"
    assert bundle([("first.js", first), ("second.js", second)]) == (
        "const one = 1;\nfunction two() { return '<\\/script>'; }\n\n\none + two();\n"
    )


def test_beyond_its_texts_the_file_of_two_thousand_messages_is_under_three_megabytes():
    whole = run_of(INFO, long_log(1_000), prices=PRICES)
    texts = sum(len(msgspec.json.encode(part.text)) for entry in whole.messages for part in entry.parts)
    assert len(whole.messages) == 2_002
    assert len(single_file(whole).encode()) - texts < 3_000_000


# --- Markdown ---------------------------------------------------------------------------------------


def test_a_transcript_tells_turns_calls_answers_and_plans():
    plan = Plan.from_json([{"content": "look *here*", "status": "in_progress"}])
    written = {"plan": outcome_to_json(Written(1, plan))}
    log = [
        User("Do it."),
        Assistant((Text("First a plan."), Call("w", "write_todos", {"todos": []})), "tool_calls"),
        ToolResult("w", "write_todos", "Task list updated:", details=written),
        Assistant((Call("b", "bash", {"command": "false"}),), "tool_calls"),
        ToolResult("b", "bash", "exit code 1", "error"),
        Note("Look at the plan.", "reminder"),
        Assistant((Text("Done."),)),
    ]
    _, _, body = markdown(run(*log)).partition("## Turn 1")
    assert (
        body
        == """

**You**

> Do it.

**Model**, round 1

> First a plan.

calls `write_todos`

**Plan r1** · 0/1 done

- [~] look \\*here\\*

**Model**, round 2

calls `bash`

```json
{
  "command": "false"
}
```

`bash` failed

```
exit code 1
```

**Reminder** (for the model)

```
Look at the plan.
```

**Model**, round 3

> Done.
"""
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_transcript_is_markup_for_who_renders_it(text: str):
    outside = _outside_of_fences(markdown(run(*everywhere(text))))
    assert re.search(r"(?<!\\)<[A-Za-z/!?]", outside) is None
    assert re.search(r"(?<!\\)!\[", outside) is None


def _outside_of_fences(text: str) -> str:
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        found = re.match(r"(`{3,})", line)
        if not fence and found:
            fence = found[1]
        elif fence:
            fence = "" if line.rstrip() == fence else fence
        else:
            kept.append(re.sub(r"`[^`]*`", "", line))
    assert not fence, "a fence is left open"
    return "\n".join(kept)


def test_a_long_answer_is_cut_and_says_so():
    text = markdown(run(ToolResult("c", "bash", "\n".join(f"row {n}" for n in range(100)))))
    assert "row 59\n… 40 more lines\n```" in text
    assert "row 60" not in text


# --- requests ---------------------------------------------------------------------------------------

CALLED = [
    User("Do it."),
    Assistant((Text("I look."), Call("c1", "read_file", {"path": "a.py"})), "tool_calls"),
    ToolResult("c1", "read_file", "x = 1"),
    Note("Look at the plan.", "reminder"),
    Assistant((Text("Done."),)),
]


def body(to: JsonFormat, *records: Record) -> dict[str, Any]:
    return exported(INFO, stamped([STARTED, *records]), to)


def test_a_request_for_anthropic_holds_the_conversation_as_the_api_takes_it():
    told = body("anthropic", *CALLED)
    assert (told["model"], told["system"][0]["text"]) == ("claude-sonnet-5-5", "Be brief.")
    assert told["tools"] == list(TOOLS)
    assert told["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Do it."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a.py"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"},
                {"type": "text", "text": "Look at the plan."},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]


def test_a_request_for_openai_holds_the_conversation_as_chat_completions_take_it():
    told = body("openai", *CALLED)
    assert [tool["function"]["name"] for tool in told["tools"]] == ["read_file", "read_todos"]
    assert told["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Do it."},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"path":"a.py"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
        {"role": "user", "content": "Look at the plan."},
        {"role": "assistant", "content": "Done."},
    ]


def test_a_transcript_says_where_a_fork_comes_from_and_counts_what_was_said():
    forked = msgspec.structs.replace(STARTED, parent="0a0b0c0d")
    summary = Compacted("limit", 1, (User("What came before: much."),), model="m")
    text = markdown(run_of(INFO, stamped([forked, User("Do it."), summary]), prices=PRICES))
    assert "session `a1b2c3d4` · forked from `0a0b0c0d` ·" in text
    assert "1 turn · 1 message\n" in text


@pytest.mark.parametrize("to", ["anthropic", "openai"])
def test_a_request_is_what_the_model_sees_after_a_compaction(to: JsonFormat):
    summary = Compacted("limit", 1, (User("What came before: much."),))
    told = json.dumps(body(to, *CALLED, summary, User("Go on.")))
    assert [text in told for text in ("much.", "Done.", "Go on.", "I look.")] == [True, True, True, False]


@pytest.mark.parametrize("to", ["anthropic", "openai"])
def test_a_call_that_was_cut_off_has_an_answer_in_the_request(to: JsonFormat):
    told = body(to, *CALLED[:2])["messages"]
    assert "c1" in json.dumps(told[-1])
    assert "not executed" in json.dumps(told[-1])


@given(logs())
@settings(deadline=None, max_examples=50)
def test_a_request_of_any_session_is_one_that_the_provider_takes(log: list[Stamped]):
    """Calls cut off, compacted, edited, interrupted: once the person has said something, it can be sent."""
    log = [log[0], Stamped(User("Begin."), 0.0), *log[1:]]
    assert faults_of(anthropic_faults, exported(INFO, log, "anthropic")) == []
    assert faults_of(chat_faults, exported(INFO, log, "openai")) == []


# --- keys -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [KEY, f"line\n{KEY}", f"\t{KEY}\x1b{KEY}"])
def test_no_key_is_in_any_format_unless_it_is_asked_for(text: str):
    log = stamped([msgspec.structs.replace(STARTED, system=text), *everywhere(text)])
    info = msgspec.structs.replace(INFO, title=KEY)

    def formats(*, masked: bool) -> list[str]:
        whole = run_of(info, log, prices=PRICES, masked=masked)
        values = [exported(info, log, to, masked=masked) for to in ("json", "anthropic", "openai")]
        return [
            single_file(whole),
            markdown(whole),
            *(msgspec.json.encode(value).decode() for value in values),
        ]

    assert [KEY in text for text in formats(masked=True)] == [False] * 5
    assert [KEY in text for text in formats(masked=False)] == [True] * 5


def test_an_image_is_exported_whole():
    data = base64.b64encode(bytes(range(256)) * 20).decode()
    log = [*CALLED[:2], ToolResult("c1", "read_file", KEY, media=(Media("image/png", data, "a.png"),))]
    for to in ("json", "anthropic"):
        assert data in msgspec.json.encode(body(to, *log)).decode()


def test_every_file_of_the_page_is_listed_in_it():
    folder = Path(__file__).parents[2] / "src" / "onplan" / "web" / "page"
    assert {path.name for path in folder.iterdir()} == {"index.html", *names()}
