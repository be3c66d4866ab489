"""What is shown: safe whatever it is made of, inside the width, whole where there is no terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from command_line import Person, call, onplan, plain, todos
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from onplan.cli.view.activity import Activity
from onplan.cli.view.calls import call_line, outcome_line
from onplan.cli.view.plan import plan_panel
from onplan.cli.view.screen import Line, Screen, Span
from onplan.cli.view.sessions import age, session_lines
from onplan.cli.view.timeline import Point, distance_lines
from onplan.events import Event, PlanChanged, TextDelta, ToolStarted, Warned
from onplan.messages import Assistant, Call, Note, Text, ToolResult
from onplan.plan.ledger import compare
from onplan.plan.text import cells
from onplan.plan.todo import Plan, Todo
from onplan.protocols import SessionInfo

HOSTILE = (
    "ok\x1b]52;c;cm0gLXJmIC8=\x07",
    "a\x1b[2J\x1b[1;1Hb",
    "x\rPASS",
    "\x9b31mred",
    "\x1b]unterminated",
    "\x1bPq...\x1b\\",
    "abc\u202etxt.exe",
    "a\bb",
)
WIDE = (
    "修复登录错误并添加测试用例然后更新文档与发布说明",
    "🧪🧪🧪 run",
    "👨‍👩‍👧‍👦 family",
    "e\u0301" * 30,
    "a" * 5000,
    "tab\there",
)


def screen_of(stream: io.StringIO, width: int | None) -> Screen:
    return Screen(stream, measure=None if width is None else lambda: width)


def drawn(lines: Iterable[Line], width: int | None) -> list[str]:
    stream = io.StringIO()
    screen_of(stream, width).lines(lines)
    return stream.getvalue().split("\n")[:-1]


def unsafe(text: str) -> set[str]:
    """The characters that no terminal must get from us: controls, C1, DEL, bidi."""
    return {
        char
        for char in text
        if (ord(char) < 32 and char not in "\n\t")
        or 127 <= ord(char) < 160
        or char in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    }


def views(text: str) -> list[Line]:
    """Every view, with `text` wherever text from outside can be."""
    plan = Plan((Todo(text, "in_progress"), Todo("b " + text)))
    said = Call("1", text, {"command": text})
    return [
        *plan_panel(plan, 3, compare(Plan((Todo("gone " + text),)), plan)),
        call_line(said),
        call_line(Call("1", "bash", text)),
        call_line(Call("1", "bash", {text: text})),
        outcome_line(ToolResult("1", text, text)),
        outcome_line(ToolResult("1", text, f"Error: {text}\n{text}", "error")),
        *session_lines([SessionInfo("abc", text, title=text, ended=text)], now=0, width=40),
    ]


# --- widths -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 9, 20, 40, 80])
@pytest.mark.parametrize("text", WIDE)
def test_no_line_is_wider_than_the_terminal(text: str, width: int):
    for line in drawn(views(text), width):
        assert cells(line) <= width
        # wcwidth joins no emoji before its own tables do; ours may only be narrower than it for those
        if "\u200d" not in line:
            assert wcswidth(line) <= width


@pytest.mark.parametrize("text", WIDE)
def test_a_pipe_gets_every_line_whole(text: str):
    shown = "\n".join(drawn(list(plan_panel(Plan((Todo(text),)), 1)), None))
    assert text.replace("\t", " ") in shown


def test_a_cut_line_ends_with_one_ellipsis_on_a_cluster():
    assert drawn([(Span("修复登录错误"),)], 10) == ["修复登录…"]
    assert drawn([("abcd", "efgh", "ijkl")], 6) == ["abcde…"]
    assert drawn([("abcd", "ef")], 6) == ["abcdef"]


@given(st.lists(st.text(max_size=12), max_size=5), st.integers(1, 30))
def test_any_spans_fit_any_width_and_are_safe(texts: list[str], width: int):
    (line,) = drawn([tuple(texts)], width)
    assert cells(line) <= width
    assert unsafe(line) == set()


@given(st.lists(st.text(max_size=30), max_size=5), st.integers(10, 40))
def test_a_sentence_is_wrapped_inside_the_width_and_loses_no_word(texts: list[str], width: int):
    whole, wrapped = io.StringIO(), io.StringIO()
    Screen(whole).say(*texts)
    screen_of(wrapped, width).say(*texts)
    rows = wrapped.getvalue().split("\n")
    assert max(map(cells, rows)) <= width
    assert "".join(wrapped.getvalue().split()) == "".join(whole.getvalue().split())


def test_a_sentence_breaks_between_words():
    stream = io.StringIO()
    screen_of(stream, 12).say(Span("go on:", "dim"), " onplan resume 1234", indent=2)
    assert stream.getvalue().split("\n") == ["go on:", "  onplan", "  resume", "  1234", ""]


# --- safety -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_no_view_lets_a_control_character_through(text: str):
    shown = "\n".join(drawn(views(text), None))
    assert unsafe(shown) == set()


@pytest.mark.parametrize("text", HOSTILE)
def test_no_event_lets_a_control_character_through(text: str):
    stream = io.StringIO()
    activity = Activity(screen_of(stream, 60), final=True)
    said = Call("1", text, {"path": text})
    events: list[Event] = [
        TextDelta(text + "\n" + text),
        Assistant((Text(text + "\n" + text), said)),
        ToolStarted("1"),
        PlanChanged(1, ({"content": text, "status": "pending"},), {"added": [text], "dropped": [text]}),
        ToolResult("1", text, text),
        Note(text, text),
        Warned(text),
        Assistant((Text(text),)),
    ]
    for event in events:
        activity.show(event)
    assert unsafe(stream.getvalue()) == set()


@pytest.mark.parametrize("text", HOSTILE)
def test_json_carries_every_character_without_sending_it(text: str):
    stream = io.StringIO()
    Screen(stream).json({"text": text + "\U000e0041"})
    assert unsafe(stream.getvalue()) == set()
    assert json.loads(stream.getvalue()) == {"text": text + "\U000e0041"}


@given(st.text())
def test_json_is_the_same_value_for_a_parser(text: str):
    stream = io.StringIO()
    Screen(stream).json([text])
    assert json.loads(stream.getvalue()) == [text]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_person_who_judges_sees_every_character_and_gets_none(text: str):
    stream = io.StringIO()
    screen_of(stream, 40).judged(text + "\n[y] do it")
    assert unsafe(stream.getvalue()) == set()
    assert all(line.startswith("  │ ") for line in stream.getvalue().splitlines())
    shown = [char if char.isprintable() else char.encode("unicode_escape").decode() for char in text]
    assert stream.getvalue().splitlines()[0] == "  │ " + "".join(shown)


@pytest.mark.parametrize("width", [5, 12, 40])
@pytest.mark.parametrize("text", [*WIDE, "one\n" + "y  yes, once " * 9])
def test_what_a_person_judges_has_a_bar_in_front_of_every_row_and_is_whole(text: str, width: int):
    stream = io.StringIO()
    screen_of(stream, width).judged(text)
    rows = stream.getvalue().split("\n")[:-1]
    assert max(map(cells, rows)) <= max(width, 6)
    assert {row[:4] for row in rows} <= {"  │ ", "  ┆ "}
    whole = "".join("\n" * (row[2] == "│") + row[4:] for row in rows)[1:]
    assert whole == "".join(char if char in "\n" or char.isprintable() else repr(char)[1:-1] for char in text)


def test_hostile_words_reach_no_command(work: Path, script: Callable[..., str]):
    entries: list[Any] = [todos(f"[~] {text}" if n == 0 else f"[ ] {text}") for n, text in enumerate(HOSTILE)]
    reading = [call("read_file", path=text) for text in HOSTILE]
    model = script(*entries, *reading, HOSTILE[1] + " end", HOSTILE[1] + " end")
    runs = [onplan("-p", "go " + HOSTILE[0], "--auto", "--model", model)]
    commands = (
        *("sessions", "sessions --json", "show", "show --json", "show --audit"),
        *("plan show", "plan diff 0", "plan stats", "plan undo", "plan show --session \x1b[2J"),
        *("\x1b]0;title\x07", "-p x --model script:\x1b[2J"),
    )
    runs += [onplan(*command.split(" ")) for command in commands]
    for ran in runs:
        assert unsafe(ran.output) == set()


# --- lines ------------------------------------------------------------------------------------------


def test_the_panel_marks_what_a_revision_did():
    before = Plan((Todo("a", "in_progress"), Todo("b"), Todo("c"), Todo("old", "completed")))
    after = Plan((Todo("a", "completed"), Todo("b", "in_progress"), Todo("new")))
    assert drawn(list(plan_panel(after, 2, compare(before, after))), 80) == [
        "plan r2 · 1/3 done",
        " x [x] a",
        " > [~] b",
        " + [ ] new",
        " - dropped: c",
        " - cleared: old",
    ]


def test_the_distance_is_a_row_of_blocks_with_writes_and_reminders_below():
    points = [
        Point(3, False, wrote=True),
        Point(0, True),
        Point(4, True),
        Point(8, True, reminded=True),
        Point(2, True, wrote=True, reminded=True),
    ]
    assert drawn(list(distance_lines(points, width=80)), 80) == [
        "distance of the plan  at most 8 messages; w write, r reminder",
        "  ·▁▄█▂",
        "  w  r*",
    ]


def test_a_long_session_takes_several_rows_of_blocks():
    _, *lines = drawn(list(distance_lines([Point(n, True) for n in range(100)], width=80)), 80)
    assert [len(line) - 2 for line in lines] == [64, 0, 36, 0]


def test_a_call_and_its_outcome_share_a_line_unless_something_came_between():
    stream = io.StringIO()
    activity = Activity(Screen(stream), final=False)
    activity.show(Assistant((Call("1", "bash", {"command": "a"}), Call("2", "bash", {"command": "b"}))))
    activity.show(ToolStarted("1"))
    activity.show(ToolResult("1", "bash", "done"))
    activity.show(ToolStarted("2"))
    activity.show(Warned("careful"))
    activity.show(ToolResult("2", "bash", "Error: no\nmore", "error"))
    assert stream.getvalue().splitlines() == [
        "· bash a → done",
        "· bash b",
        "warning: careful",
        "· bash b → error: no (+1 lines)",
    ]


@pytest.mark.parametrize("width", [10, 20, 40])
def test_a_call_and_its_outcome_fit_the_terminal_together(width: int):
    stream = io.StringIO()
    activity = Activity(screen_of(stream, width), final=False)
    for n, command in enumerate(("ls", "echo some more words", "x" * 100)):
        activity.show(Assistant((Call(str(n), "bash", {"command": command}),)))
        activity.show(ToolStarted(str(n)))
        activity.show(ToolResult(str(n), "bash", "an answer of a few words"))
    assert max(map(cells, stream.getvalue().splitlines())) <= width


def test_what_was_said_before_the_model_was_asked_to_go_on_is_not_lost():
    stream = io.StringIO()
    activity = Activity(Screen(stream), final=False)
    activity.show(Assistant((Text("Enough."),)))
    activity.show(Note("Go on.", "continue"))
    activity.show(Assistant((Text("The end."),)))
    assert stream.getvalue().splitlines() == ["Enough.", "◦ asked to go on: todos are open"]


def test_a_reply_is_shown_line_by_line_as_it_streams_and_not_twice():
    stream = io.StringIO()
    activity = Activity(Screen(stream), final=True)
    for piece in ("one\ntw", "o\nthr"):
        activity.show(TextDelta(piece))
    assert stream.getvalue() == "one\ntwo\n"
    activity.show(TextDelta("ee"))
    activity.show(Assistant((Text("one\ntwo\nthree"),)))
    assert stream.getvalue() == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "now"),
        (59, "now"),
        (60, "1m"),
        (3600, "1h"),
        (86_400, "1d"),
        (13 * 86_400, "13d"),
        (14 * 86_400, "2w"),
    ],
)
def test_ages_are_short(seconds: int, told: str):
    assert age(seconds) == told


# --- colours ----------------------------------------------------------------------------------------


def test_on_a_terminal_lines_fit_and_no_color_is_obeyed(
    work: Path, script: Callable[..., str], person: Callable[..., Person]
):
    onplan("-p", "go", "--auto", "--model", script(todos("[~] " + WIDE[0]), "x", "y"))
    for arguments in (["show"], ["sessions"], ["tools"]):
        someone = person(*arguments, columns=40, colour=True)
        assert someone.leaves() == 0
        assert "\x1b[" in someone.seen
        assert max(cells(line) for line in plain(someone.seen).splitlines()) <= 40
    coloured, bare = person("show", colour=True), person("show", "--no-color", colour=True)
    assert (coloured.leaves(), bare.leaves()) == (0, 0)
    assert plain(coloured.seen) == bare.seen
    assert "\x1b" not in bare.seen


def test_a_pipe_gets_no_escapes(work: Path, script: Callable[..., str]):
    onplan("-p", "go", "--auto", "--model", script(todos("[x] a"), "Done."))
    for arguments in (["show"], ["sessions"], ["plan", "show"], ["tools"]):
        assert "\x1b" not in onplan(*arguments).output
