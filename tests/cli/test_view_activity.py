"""A run on a terminal as it happens: what is written once, what is drawn besides, what can be unfolded."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from inline_snapshot import snapshot

from onplan.cli.view.activity import Activity
from onplan.cli.view.screen import Line, Screen
from onplan.events import (
    ApprovalRequested,
    Decided,
    Event,
    PlanChanged,
    RequestStarted,
    Resumed,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    Warned,
)
from onplan.messages import Assistant, Call, Details, Note, Text, ToolResult, User
from onplan.plan.ledger import compare
from onplan.plan.text import cells
from onplan.plan.todo import Plan, Status, Todo

PLAN = (
    "Read the code",
    "Write the tests for 修复登录错误 and what else there is",
    "Run them",
    "Update the docs",
)
MARKS: dict[str, Status] = {" ": "pending", "~": "in_progress", "x": "completed"}


def plan_of(marks: str) -> Plan:
    return Plan(tuple(Todo(content, MARKS[mark]) for content, mark in zip(PLAN, marks, strict=True)))


class Watcher:
    """Somebody who sees a run: `text` is what was written, `live` what is drawn below it now."""

    def __init__(self, width: int | None, *, colour: bool = False, live: bool = True, **more: Any) -> None:
        self._stream = io.StringIO()
        measure = None if width is None else lambda: width
        self.screen = Screen(self._stream, measure=measure, colour=colour)
        self.now = 0.0
        self.activity = Activity(self.screen, final=True, live=live, clock=lambda: self.now, **more)
        self._plan = Plan()
        self._calls = 0

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    @property
    def live(self) -> str:
        return self.drawn(self.activity.live())

    def drawn(self, lines: list[Line]) -> str:
        return "\n".join(self.screen.rows(lines))

    def sees(self, *events: Event) -> None:
        for event in events:
            self.activity.show(event)

    def begins(self) -> None:
        self.sees(User("go"), RequestStarted(1, 1))

    def sees_text(self, text: str) -> None:
        self.sees(*(TextDelta(text[at : at + 7]) for at in range(0, len(text), 7)), Assistant((Text(text),)))

    def sees_start(self, name: str, **arguments: Any) -> str:
        self._calls += 1
        call = Call(str(self._calls), name, arguments)
        self.sees(Assistant((call,)), ToolStarted(call.id))
        return call.id

    def sees_call(self, name: str, content: str, details: Details | None = None, **arguments: Any) -> None:
        call_id = self.sees_start(name, **arguments)
        self.sees(ToolResult(call_id, name, content, details=details))

    def sees_plan(self, marks: str, revision: int) -> None:
        plan = plan_of(marks)
        call_id = self.sees_start("write_todos", todos=plan.to_json())
        diff = compare(self._plan, plan).to_json()
        self.sees(
            PlanChanged(revision, tuple(plan.to_json()), diff), ToolResult(call_id, "write_todos", "ok")
        )
        self._plan = plan


def a_run(watcher: Watcher) -> None:
    """A job from its first word to its last."""
    watcher.begins()
    watcher.sees_text("I will look at the **project** first.\n\n1. read `a.py`\n2. write tests\n")
    watcher.sees_plan("~   ", 1)
    output = "".join(f"test_{n} passed\n" for n in range(9))
    watcher.sees_call("bash", f"{output}exit code: 0", {"exit_code": 0}, command="make test\nmake lint")
    watcher.sees_call("bash", "no such file\nexit code: 2", {"exit_code": 2}, command="cat b")
    diff = ["@@ -1,3 +1,3 @@", " def f():", "-\treturn 1", "+\treturn 2", " "]
    watcher.sees_call("edit_file", "edited src/a.py (+1 -1)", {"diff": diff}, path="src/a.py")
    watcher.sees_plan("x~  ", 2)
    watcher.sees(Note("[~] Write the tests", "reminder"), Note("use pytest, please", "steering", "message"))
    watcher.sees(Warned("a hook failed and was skipped"))
    watcher.sees_plan("xxxx", 3)
    watcher.sees_text("All done:\n\n| file | tests |\n|--|--|\n| a.py | 3 |\n")
    watcher.sees(TurnEnded("done"))


def seen_at(width: int | None, **more: Any) -> str:
    watcher = Watcher(width, **more)
    a_run(watcher)
    return watcher.text


def test_a_run_at_forty_cells():
    assert seen_at(40) == snapshot("""\

I will look at the project first.

1. read a.py
2. write tests
· write_todos (4 items) → r1 +4 >1
plan r1 · 0/4 done
 + [~] Read the code
 + [ ] Write the tests for 修复登录错误…
 + [ ] Run them
 + [ ] Update the docs
· bash make test ma… → test_8 passed (+…
· bash cat b → exit 2: no such file
· edit_file src/a.py → edited src/a.py …
    @@ -1,3 +1,3 @@
     def f():
    -   return 1
    +   return 2
     \n\
· write_todos (4 items) → r2 >1 x1
plan r2 · 1/4 done
 x [x] Read the code
 > [~] Write the tests for 修复登录错误…
   … 2 as before
◦ reminded of the plan
› use pytest, please
warning: a hook failed and was skipped
· write_todos (4 items) → r3 x3
plan r3 · 4/4 done

All done:

file  tests
────  ─────
a.py  3
""")


def test_a_run_at_eighty_cells():
    assert seen_at(80) == snapshot("""\

I will look at the project first.

1. read a.py
2. write tests
· write_todos (4 items) → r1 +4 >1
plan r1 · 0/4 done
 + [~] Read the code
 + [ ] Write the tests for 修复登录错误 and what else there is
 + [ ] Run them
 + [ ] Update the docs
· bash make test make lint → test_8 passed (+8 lines)
· bash cat b → exit 2: no such file
· edit_file src/a.py → edited src/a.py (+1 -1)
    @@ -1,3 +1,3 @@
     def f():
    -   return 1
    +   return 2
     \n\
· write_todos (4 items) → r2 >1 x1
plan r2 · 1/4 done
 x [x] Read the code
 > [~] Write the tests for 修复登录错误 and what else there is
   … 2 as before
◦ reminded of the plan
› use pytest, please
warning: a hook failed and was skipped
· write_todos (4 items) → r3 x3
plan r3 · 4/4 done

All done:

file  tests
────  ─────
a.py  3
""")


def test_a_run_at_a_hundred_and_twenty_cells_in_colour():
    assert seen_at(120, colour=True) == snapshot("""\

I will look at the \x1b[1mproject\x1b[0m first.

1. read \x1b[36ma.py\x1b[0m
2. write tests
\x1b[2m· \x1b[0m\x1b[1mwrite_todos\x1b[0m (4 items)\x1b[2m → r1 +4 >1\x1b[0m
\x1b[1mplan\x1b[0m\x1b[2m r1 · 0/4 done\x1b[0m
\x1b[32m + \x1b[0m\x1b[36m[~] Read the code\x1b[0m
\x1b[32m + \x1b[0m[ ] Write the tests for 修复登录错误 and what else there is
\x1b[32m + \x1b[0m[ ] Run them
\x1b[32m + \x1b[0m[ ] Update the docs
\x1b[2m· \x1b[0m\x1b[1mbash\x1b[0m make test make lint\x1b[2m → test_8 passed (+8 lines)\x1b[0m
\x1b[2m· \x1b[0m\x1b[1mbash\x1b[0m cat b\x1b[2m → \x1b[0m\x1b[33mexit 2: no such file\x1b[0m
\x1b[2m· \x1b[0m\x1b[1medit_file\x1b[0m src/a.py\x1b[2m → edited src/a.py (+1 -1)\x1b[0m
\x1b[36m    @@ -1,3 +1,3 @@\x1b[0m
     def f():
\x1b[31m    -   return 1\x1b[0m
\x1b[32m    +   return 2\x1b[0m
     \n\
\x1b[2m· \x1b[0m\x1b[1mwrite_todos\x1b[0m (4 items)\x1b[2m → r2 >1 x1\x1b[0m
\x1b[1mplan\x1b[0m\x1b[2m r2 · 1/4 done\x1b[0m
\x1b[32m x \x1b[0m\x1b[2m[x] Read the code\x1b[0m
\x1b[36m > [~] Write the tests for 修复登录错误 and what else there is\x1b[0m
\x1b[2m   … 2 as before\x1b[0m
\x1b[2m◦ reminded of the plan\x1b[0m
\x1b[36m› \x1b[0muse pytest, please
\x1b[33mwarning: a hook failed and was skipped\x1b[0m
\x1b[2m· \x1b[0m\x1b[1mwrite_todos\x1b[0m (4 items)\x1b[2m → r3 x3\x1b[0m
\x1b[1mplan\x1b[0m\x1b[2m r3 · \x1b[0m\x1b[32m4/4 done\x1b[0m

All done:

\x1b[1mfile  tests\x1b[0m
\x1b[2m────  ─────\x1b[0m
a.py  3
""")


def test_a_run_in_a_pipe_is_plain_text_with_the_markdown_as_it_was_written():
    assert seen_at(None, live=False) == snapshot("""\
I will look at the **project** first.
1. read `a.py`
2. write tests
· write_todos (4 items) → r1 +4 >1
plan r1 · 0/4 done
 + [~] Read the code
 + [ ] Write the tests for 修复登录错误 and what else there is
 + [ ] Run them
 + [ ] Update the docs
· bash make test make lint → test_8 passed (+8 lines)
· bash cat b → exit 2: no such file
· edit_file src/a.py → edited src/a.py (+1 -1)
· write_todos (4 items) → r2 >1 x1
plan r2 · 1/4 done
 x [x] Read the code
 > [~] Write the tests for 修复登录错误 and what else there is
   [ ] Run them
   [ ] Update the docs
◦ reminded of the plan
› use pytest, please
warning: a hook failed and was skipped
· write_todos (4 items) → r3 x3
plan r3 · 4/4 done
   [x] Read the code
 x [x] Write the tests for 修复登录错误 and what else there is
 x [x] Run them
 x [x] Update the docs
All done:
| file | tests |
|--|--|
| a.py | 3 |
""")


@pytest.mark.parametrize("width", [1, 9, 10, 20, 40, 79])
def test_every_line_fits(width: int):
    watcher = Watcher(width)
    a_run(watcher)
    watcher.begins()
    watcher.sees_start("bash", command="x" * 200)
    watcher.sees(ToolProgress("8", "修" * 90), TextDelta("修复 " * 90))
    lines = [*watcher.text.split("\n"), *watcher.live.split("\n"), *watcher.drawn(watcher.activity.expand())]
    assert max(map(cells, lines)) <= width


# --- what is drawn besides --------------------------------------------------------------------------


def test_what_is_in_progress_is_drawn_and_written_once_it_is_whole():
    watcher = Watcher(40)
    assert (watcher.live, watcher.activity.is_working) == ("", False)
    watcher.begins()
    watcher.now = 1.3
    assert watcher.live == snapshot("⠋ Waiting for the… · 1s · Esc interrupts")
    watcher.sees(ThinkingDelta("hm"))
    assert watcher.live == snapshot("⠋ Thinking · 1s · Esc interrupts")
    watcher.sees(TextDelta("The first **par"))
    assert (watcher.text, watcher.live) == snapshot(
        (
            "",
            """\
The first **par
⠋ Writing · 1s · Esc interrupts\
""",
        )
    )
    watcher.sees(TextDelta("agraph**\n\nThe second"))
    assert (watcher.text, watcher.live) == snapshot(
        (
            """\

The first paragraph
""",
            """\
The second
⠋ Writing · 1s · Esc interrupts\
""",
        )
    )
    watcher.sees(TurnEnded("interrupted"))
    assert (watcher.text, watcher.live) == snapshot(
        (
            """\

The first paragraph

The second
""",
            "",
        )
    )


def test_a_call_that_runs_shows_the_end_of_its_output_and_how_long_it_runs():
    watcher = Watcher(40)
    watcher.begins()
    call_id = watcher.sees_start("bash", command="make test")
    watcher.sees(*(ToolProgress(call_id, f"test {n}\n\n") for n in range(9)), ToolProgress(call_id, "10 of"))
    watcher.now = 65.0
    assert watcher.live == snapshot("""\
· bash make test  1m05s
  │ test 6
  │ test 7
  │ test 8
  │ 10 of
⠙ Running bash · 1m05s · Esc interrupts\
""")
    watcher.sees(ToolResult(call_id, "bash", "ok\nexit code: 0", details={"exit_code": 0}))
    assert watcher.text == "· bash make test → ok\n"
    assert watcher.live == snapshot("⠙ Waiting for … · 1m05s · Esc interrupts")


def test_calls_side_by_side_are_counted_and_their_output_is_left_out():
    watcher = Watcher(60)
    watcher.begins()
    calls = tuple(Call(str(n), "read_file", {"path": f"{n}.py"}) for n in range(6))
    watcher.sees(Assistant(calls), *(ToolStarted(call.id) for call in calls), ToolProgress("1", "out"))
    assert watcher.live == snapshot("""\
· read_file 2.py
· read_file 3.py
· read_file 4.py
· read_file 5.py
  and 2 more
⠋ Running read_file · 0s · Esc interrupts\
""")
    watcher.sees(ToolResult("3", "read_file", "x"))
    assert watcher.text == "· read_file 3.py → x\n"


def test_the_todo_that_is_worked_on_is_named_in_the_words_of_its_doing():
    watcher = Watcher(60, plan=Plan((Todo("Write tests", "in_progress", active_form="Writing tests"),)))
    watcher.begins()
    assert "Writing tests · 0s · Esc interrupts" in watcher.live
    watcher.sees_plan("~   ", 2)
    assert "Read the code · 0s" in watcher.live
    watcher.sees_plan("xxxx", 3)
    assert "Waiting for the model · 0s" in watcher.live


def test_output_of_a_call_that_has_ended_and_results_without_a_call_do_no_harm():
    watcher = Watcher(60)
    watcher.begins()
    watcher.sees(ToolProgress("9", "late"), ToolResult("9", "bash", "ok"), Resumed(("9",)), TurnEnded("done"))
    assert watcher.text == "· (unknown)  → ok\n1 call had been cut off; they are marked so\n"


# --- what is folded ---------------------------------------------------------------------------------


def test_what_was_folded_is_unfolded_the_last_first_and_then_from_the_beginning():
    watcher = Watcher(60)
    watcher.sees_call("bash", "1\n2\n\t3\nexit code: 0", {"exit_code": 0}, command="a\nb")
    watcher.sees_call("bash", "one line\nexit code: 0", {"exit_code": 0}, command="c")
    diff = ["@@ -1 +1 @@", *(f"+{n}" for n in range(30))]
    watcher.sees_call("write_file", "wrote x", {"diff": diff}, path="x")
    watcher.sees_call("read_file", "short", path="y")
    watcher.sees(Note("Remember\nthis", "reminder"))
    titles = [watcher.drawn(watcher.activity.expand()).split("\n")[0] for _ in range(4)]
    assert titles == ["◦ reminded of the plan", "· write_file x", "· bash a b", ""]
    assert watcher.drawn(watcher.activity.expand()).split("\n") == [
        "◦ reminded of the plan",
        "  Remember",
        "  this",
    ]


def test_what_had_no_room_in_its_line_is_unfolded():
    watcher = Watcher(40)
    command = "touch a-file-with-a-long-name another-file"
    watcher.sees_call("bash", "made both of them, and said so at length", command=command)
    assert watcher.drawn(watcher.activity.expand()) == snapshot("""\
· bash touch a-file-with-a-long-name
  another-file
  made both of them, and said so at
    length\
""")
    longer = f"echo {'x ' * 400}"
    watcher.sees_call("bash", "x\nexit code: 0", {"exit_code": 0}, command=longer)
    assert watcher.drawn(watcher.activity.expand()).count("x") > 400


def test_unfolding_begins_with_what_came_last():
    watcher = Watcher(60)
    watcher.sees_call("bash", "1\n2\n3\nexit code: 1", {"exit_code": 1}, command="a\nb")
    watcher.activity.expand()
    watcher.sees_call("read_file", "x\n\ty", path="z")
    assert watcher.drawn(watcher.activity.expand()) == "· read_file z\n  x\n      y"
    assert watcher.drawn(watcher.activity.expand()) == snapshot("""\
· bash a b
  a
  b
  1
  2
  3
  exit code: 1\
""")


def test_a_long_change_is_folded_behind_its_first_lines():
    watcher = Watcher(60)
    watcher.sees_call("write_file", "wrote x", {"diff": [f"+{n}" for n in range(60)]}, path="x")
    assert watcher.text.split("\n")[-4:] == ["    +14", "    +15", "    … 44 more lines", ""]
    assert len(watcher.activity.expand()) == 61


@pytest.mark.parametrize("details", [None, {}, {"diff": "no list"}, {"exit_code": "0"}, {"diff": [1, None]}])
def test_any_details_can_be_shown(details: Details | None):
    watcher = Watcher(60)
    watcher.sees_call("write_file", "ok", details, path="x")
    assert watcher.text.startswith("· write_file x → ok\n")


# --- the plan ---------------------------------------------------------------------------------------


def changed(before: str, after: str, *, author: Any = "model") -> Callable[[Watcher], None]:
    old, new = plan_of(before), plan_of(after)
    event = PlanChanged(2, tuple(new.to_json()), compare(old, new).to_json(), author)
    return lambda watcher: watcher.sees(event)


def test_a_change_by_the_person_says_so_and_shows_what_it_changed():
    watcher = Watcher(60)
    changed("    ", "x   ", author="user")(watcher)
    assert watcher.text == "plan r2 by you · 1/4 done\n x [x] Read the code\n   … 3 as before\n"


def test_a_plan_in_another_order_is_shown_whole():
    watcher = Watcher(60)
    changed("    ", "    ", author="user")(watcher)
    assert watcher.text.count("[ ]") == 4


def test_a_finished_plan_is_one_line_and_what_was_dropped():
    watcher = Watcher(60)
    done = Plan((Todo("a", "completed"), Todo("b", "completed")))
    before = Plan((Todo("a", "in_progress"), Todo("b"), Todo("c")))
    watcher.sees(PlanChanged(7, tuple(done.to_json()), compare(before, done).to_json(), "user"))
    assert watcher.text == "plan r7 by you · 2/2 done\n - dropped: c\n"


# --- calls that somebody judged or changed ----------------------------------------------------------


def test_a_change_that_the_person_has_judged_is_not_shown_twice():
    watcher = Watcher(60)
    call = Call("1", "edit_file", {"path": "a"})
    diff = {"diff": ["@@ -1 +1 @@", "-a", "+b"]}
    watcher.sees(
        Assistant((call,)), ApprovalRequested("1"), Decided("1", "allow", "person"), ToolStarted("1")
    )
    watcher.sees(ToolResult("1", "edit_file", "Edited a (+1 -1).", details=diff))
    assert watcher.text == "· edit_file a → Edited a (+1 -1).\n"


def test_a_call_that_was_changed_is_shown_as_it_ran():
    watcher = Watcher(60)
    watcher.sees(Assistant((Call("1", "bash", {"command": "git diff"}),)), ApprovalRequested("1"))
    watcher.sees(Decided("1", "allow", "person", arguments={"command": "git status"}), ToolStarted("1"))
    watcher.sees(ToolResult("1", "bash", "clean\nexit code: 0", details={"exit_code": 0}))
    assert watcher.text == "· bash git status → clean\n"


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (30, "· bash x x x x… → exit 1: ok …"),
        (40, "· bash x x x x x x … → exit 1: ok (+2 l…"),
        (60, "· bash x x x x x x x x x x x x x x … → exit 1: ok (+2 lines)"),
    ],
)
def test_a_long_call_leaves_room_for_what_it_came_to(width: int, line: str):
    watcher = Watcher(width)
    watcher.sees_call("bash", "1\n2\nok\nexit code: 1", {"exit_code": 1}, command="x " * 60)
    assert watcher.text == f"{line}\n"


# --- what comes from outside ------------------------------------------------------------------------

HOSTILE = (
    "ok\x1b]52;c;cm0gLXJmIC8=\x07",
    "a\x1b[2J\x1b[1;1Hb",
    "x\rPASS",
    "\x9b31mred",
    "abc\u202etxt.exe",
    "a\bb",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_character_that_was_not_meant_is_drawn_written_or_unfolded(text: str):
    watcher = Watcher(60)
    watcher.begins()
    watcher.sees(TextDelta(f"{text}\n\n```\n{text}\n"), ToolStarted("0"))
    seen = [watcher.live]
    plan = ({"content": text, "status": "in_progress", "active_form": text},)
    call = Call("1", text, {"command": f"{text}\n{text}"})
    watcher.sees(Assistant((Text(text), call)), ToolStarted("1"), ToolProgress("1", f"{text}\n{text}"))
    seen.append(watcher.live)
    watcher.sees(PlanChanged(1, plan, {"added": [text], "dropped": [text], "cleared": [text]}, "user"))
    seen.append(watcher.live)
    watcher.sees(Decided("1", "allow", "person", arguments={"command": text}))
    watcher.sees(ToolResult("1", text, f"{text}\n{text}", details={"diff": [text] * 20}))
    watcher.sees(Note(f"{text}\n{text}", text), Note(text, "steering"), Warned(text), TurnEnded("done"))
    seen += [watcher.drawn(watcher.activity.expand()) for _ in range(2)]
    for shown in (*seen, watcher.text):
        assert not {c for c in shown if (c < " " and c != "\n") or "\x7f" <= c < "\xa0" or c == "\u202e"}


PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow1BAAKCAQEA\n7bq1Zx9\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("text", [f"Here:\n\n```pem\n{PEM}\n```\n\nDone.", f"It is\n{PEM}\nas I said."])
def test_a_key_that_goes_over_several_lines_is_masked_in_a_reply_and_in_what_is_unfolded(text: str):
    watcher = Watcher(100)
    watcher.begins()
    for piece in (text[:40], text[40:]):
        watcher.sees(TextDelta(piece))
    call = Call("t1", "bash", {"command": "cat key"})
    watcher.sees(Assistant((Text(text), call), "tool_calls"), ToolStarted("t1"))
    watcher.sees(ToolResult("t1", "bash", f"{PEM}\nand more\n" * 3))
    shown = watcher.text + watcher.drawn(watcher.activity.expand())
    assert "7bq1Zx9" not in shown
    assert "MIIEow1" not in shown
    assert shown.count("-----BEGIN RSA PRIVATE KEY----- [masked] -----END RSA PRIVATE KEY-----") >= 3
    assert "and more" in shown
