"""The prompt where the terminal is not drawn on: its lines, the questions, Ctrl-C, the end of input."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Person, call, onplan, plain, running_commands, todos, wait_for

Script = Callable[..., str]
Sit = Callable[..., Person]

PROMPT = "onplan> "


def records() -> list[dict[str, Any]]:
    told = json.loads(onplan("show", "latest", "--json").stdout)
    return [item["record"] for item in told["records"]]


def outcomes() -> list[str]:
    return [item.get("outcome", "ok") for item in records() if item["type"] == "tool_result"]


# --- lines ------------------------------------------------------------------------------------------


def test_without_a_model_the_demo_model_answers_and_says_so(work: Path, person: Sit):
    someone = person()
    shown = someone.sees(PROMPT)
    assert "No model is set (/model says how); ask the demo for a README · /help" in " ".join(shown.split())
    someone.types("/quit\n")
    assert someone.leaves() == 0


@pytest.mark.parametrize("word", ["/quit", "q", "exit"])
def test_a_session_in_which_nothing_was_said_is_not_kept(work: Path, person: Sit, word: str):
    someone = person()
    someone.sees(PROMPT)
    someone.types(f"{word}\n")
    assert someone.leaves() == 0
    assert json.loads(onplan("sessions", "--json").stdout) == []


def test_a_turn_shows_calls_and_plan_and_ctrl_d_leaves_with_the_way_back(
    work: Path, person: Sit, script: Script
):
    model = script(todos("[~] look"), todos("[x] look"), "All done.", "More.")
    someone = person("--model", model, "--auto")
    someone.sees(PROMPT)
    someone.types("go\n")
    assert plain(someone.sees(PROMPT)).splitlines() == [
        "go",
        "· write_todos (1 item) → r1 +1 >1",
        "plan r1 · 0/1 done",
        " + [~] look",
        "· write_todos (1 item) → r2 x1",
        "plan r2 · 1/1 done",
        " x [x] look",
        "",
        "All done.",
        PROMPT,
    ]
    someone.types("\x04")
    assert someone.leaves() == 0
    session = json.loads(onplan("sessions", "--json").stdout)[0]["id"]
    assert plain(someone.seen).splitlines()[-1].endswith(f" onplan resume {session}")
    again = person("resume", session, "--model", model)
    assert "plan r2 · 1/1 done" in again.sees(PROMPT)


def test_the_plan_is_shown_undone_and_redone_by_lines_of_their_own(work: Path, person: Sit, script: Script):
    someone = person("--model", script(todos("[x] look"), "Done."), "--auto")
    someone.sees(PROMPT)
    for line in ("/plan", "go", "/plan", "/undo", "/undo", "/redo", "/nothing", "/help"):
        someone.types(f"{line}\n")
        someone.sees(PROMPT)
    shown = plain(someone.seen).split(PROMPT)[1:]
    assert shown[0] == "/plan\nno plan yet\n"
    assert shown[2] == "/plan\nplan r1 · 1/1 done\n   [x] look\n"
    assert shown[3] == "/undo\nplan r2 by you · 0/0 done\n - cleared: look\n   (empty)\n"
    assert shown[4] == "/undo\nnothing to undo: the plan has no earlier revision\n"
    assert shown[5] == "/redo\nplan r3 by you · 1/1 done\n + [x] look\n"
    assert shown[6] == "/nothing\n/nothing is no command; /help lists them\n"
    assert [line.split()[0] for line in shown[7].splitlines() if line.startswith("  /")] == [
        *("/help", "/plan", "/todos", "/undo", "/redo", "/auto", "/allow", "/cost", "/model", "/dialect"),
        *("/compact", "/new", "/clear", "/resume", "/fork", "/export", "/init", "/doctor", "/quit"),
    ]


def test_auto_is_switched_by_a_line_and_says_what_it_means(work: Path, person: Sit, script: Script):
    someone = person("--model", script(call("bash", command="touch made"), "Done."))
    someone.sees(PROMPT)
    someone.types("/auto\n")
    assert "auto-approve ON: calls run without asking" in someone.sees(PROMPT)
    someone.types("go\n")
    someone.sees(PROMPT)
    assert (work / "made").exists()
    someone.types("/auto\n")
    assert "auto-approve OFF: calls are asked about again" in someone.sees(PROMPT)


def test_a_failing_model_is_one_line_and_the_prompt_comes_back(work: Path, person: Sit, script: Script):
    someone = person("--model", script({"error": "overloaded"}, "Hi."))
    someone.sees(PROMPT)
    someone.types("go\n")
    assert someone.sees(PROMPT) == f"go\nonplan: overloaded\n{PROMPT}"


# --- questions --------------------------------------------------------------------------------------


def test_y_runs_a_call_once_and_a_allows_the_tool(work: Path, person: Sit, script: Script):
    calls = [call("bash", command=f"echo {n} >>log") for n in range(4)]
    someone = person("--model", script(*calls, "Done."))
    someone.sees(PROMPT)
    someone.types("go\n")
    someone.sees("y/a/p/r/e/n> ")
    someone.types("y\n")
    someone.sees("y/a/r/e/n> ")
    someone.types("what?\n")
    someone.sees("y/a/r/e/n> ")
    someone.types("a\n")
    someone.sees("Done.")
    assert (work / "log").read_text() == "0\n1\n2\n3\n"


def test_n_gives_the_model_the_reason(work: Path, person: Sit, script: Script):
    someone = person("--model", script(call("bash", command="touch made"), "I see."))
    someone.sees(PROMPT)
    someone.types("go\n")
    someone.sees("n> ")
    someone.types("n, use write_file instead\n")
    someone.sees(PROMPT)
    denied = next(item for item in records() if item["type"] == "tool_result")
    assert denied["outcome"] == "denied"
    assert denied["content"].endswith("they said: use write_file instead")
    assert not (work / "made").exists()


def test_p_allows_what_reads_or_plans_and_still_asks_about_a_call_that_writes(
    work: Path, person: Sit, script: Script
):
    model = script(call("bash", command="touch made"), todos("[x] a"), call("glob", pattern="*"), "Done.")
    someone = person("--model", model)
    someone.sees(PROMPT)
    someone.types("go\n")
    shown = someone.sees("y/a/p/r/e/n> ")
    for name in ("write_todos", "read_todos", "read_file", "glob", "grep", "ask_user"):
        assert name in shown
    someone.types("p\n")
    someone.sees("y/a/r/e/n> ")
    someone.types("n\n")
    someone.sees("Done.")
    someone.sees(PROMPT)
    assert outcomes() == ["denied", "ok", "ok"]


def test_the_question_shows_the_whole_command_with_unseen_characters_visible(
    work: Path, person: Sit, script: Script
):
    command = "echo \x1b[1A\x1b[2K harmless\u202e " + "x" * 300
    someone = person("--model", script(call("bash", command=command), "Done."))
    someone.sees(PROMPT)
    someone.types("go\n")
    shown = someone.sees("n> ")
    whole = shown.replace("\n  ┆ ", "")  # a row that goes on with a line has a bar of its own
    assert "  │ echo \\x1b[1A\\x1b[2K harmless\\u202e " + "x" * 300 in whole
    assert not {char for char in shown if ord(char) < 32 or 127 <= ord(char) < 160} - {"\n"}


def test_the_question_shows_what_would_change_in_a_file(work: Path, person: Sit, script: Script):
    (work / "a.txt").write_text("one\ntwo\n")
    model = script(
        call("write_file", path="a.txt", content="one\n2\n"),
        call("edit_file", path="a.txt", old="two", new="2"),
        call("write_file", path="new.txt", content="hello\n"),
        "Done.",
    )
    someone = person("--model", model)
    someone.sees(PROMPT)
    someone.types("go\n")
    assert (
        "  │ a.txt\n  │ replaces the file\n  │ @@ -1,2 +1,2 @@\n  │  one\n  │ -two\n  │ +2\n"
        in someone.sees("n> ")
    )
    someone.types("n\n")
    assert "  │ a.txt\n  │ @@ -1,2 +1,2 @@\n  │  one\n  │ -two\n  │ +2\n" in someone.sees("n> ")
    someone.types("n\n")
    assert "  │ new.txt\n  │ new file, 1 line\n  │ +hello\n" in someone.sees("n> ")
    someone.types("n\n")
    someone.sees(PROMPT)


def test_the_end_of_input_at_the_question_denies(work: Path, person: Sit, script: Script):
    someone = person("-p", "go", "--model", script(call("bash", command="touch made"), "I could not."))
    someone.sees("n> ")
    someone.types("\x04")
    assert someone.leaves() == 3
    assert not (work / "made").exists()


def test_what_was_typed_before_a_question_is_no_answer_to_it(work: Path, person: Sit, script: Script):
    slow = call("bash", command="echo began >began; until test -e go_on; do sleep 0.05; done")
    someone = person("--model", script(slow, call("bash", command="touch made"), "Done."))
    someone.sees(PROMPT)
    someone.types("go\n")
    someone.sees("n> ")
    someone.types("y\n")
    wait_for(work / "began")
    someone.types("y\n")
    someone.sees("y\n")
    (work / "go_on").touch()
    someone.sees("n> ")
    someone.types("n\n")
    someone.sees(PROMPT)
    assert outcomes() == ["ok", "denied"]


def test_a_question_of_the_model_is_put_to_the_person_and_a_number_picks(
    work: Path, person: Sit, script: Script
):
    model = script(call("ask_user", question="Which\x1b[2J one?", choices=["red", "blue"]), "Fine.")
    someone = person("--model", model, "--auto")
    someone.sees(PROMPT)
    someone.types("go\n")
    shown = someone.sees("answer> ")
    assert "The model asks:\n  │ Which\\x1b[2J one?\n  1. red\n  2. blue\n" in shown
    someone.types("2\n")
    someone.sees(PROMPT)
    assert [item["content"] for item in records() if item["type"] == "tool_result"] == ["blue"]


# --- Ctrl-C and the end -----------------------------------------------------------------------------


def test_ctrl_c_in_a_running_command_cancels_the_turn_and_the_prompt_comes_back(
    work: Path, person: Sit, script: Script
):
    model = script(call("bash", command="echo began >began; sleep 62.5"), "Go on.")
    someone = person("--model", model, "--auto")
    someone.sees(PROMPT)
    someone.types("go\n")
    wait_for(work / "began")
    someone.types("\x03\x03")
    assert "interrupted; what was done until then is saved" in someone.sees(PROMPT)
    assert running_commands("sleep 62.5") == []
    assert outcomes() == ["interrupted"]
    someone.types("continue\n")
    someone.sees("Go on.")
    someone.sees(PROMPT)
    someone.types("/quit\n")
    assert someone.leaves() == 0


def test_ctrl_c_at_the_question_cancels_the_turn(work: Path, person: Sit, script: Script):
    someone = person("--model", script(call("bash", command="touch made"), "Go on."))
    someone.sees(PROMPT)
    someone.types("go\n")
    someone.sees("n> ")
    someone.types("\x03")
    assert "interrupted" in someone.sees(PROMPT)
    assert (outcomes(), (work / "made").exists()) == (["not_executed"], False)
    someone.types("y\n")
    someone.sees("Go on.")


def test_ctrl_c_at_the_idle_prompt_clears_the_line_and_a_second_one_leaves(work: Path, person: Sit):
    someone = person()
    someone.sees(PROMPT)
    someone.types("half a line")
    someone.sees("half a line")
    someone.types("\x03")
    assert "Ctrl-C again leaves; so does Ctrl-D" in someone.sees(PROMPT)
    someone.types("\x03")
    assert someone.leaves() == 130
    assert "Traceback" not in someone.seen


def test_sigterm_leaves_with_everything_saved(work: Path, person: Sit, script: Script):
    someone = person("--model", script("Hi."))
    someone.sees(PROMPT)
    someone.types("go\n")
    someone.sees("Hi.")
    someone.sees(PROMPT)
    someone.process.send_signal(signal.SIGTERM)
    assert someone.leaves() == 143
    assert [item["type"] for item in records()][-2:] == ["turn_ended", "session_ended"]


def test_a_session_that_is_open_elsewhere_is_refused_and_its_plan_changed_through_it(
    work: Path, person: Sit, script: Script
):
    someone = person("--model", script(todos("[~] look"), "Hm.", "Hm.", "I see."), "--auto")
    someone.sees(PROMPT)
    someone.types("go\n")
    someone.sees(PROMPT)
    refused = onplan("resume", "latest", "-p", "x", "--model", "demo")
    assert refused.exit_code == 1
    assert "is open in another process" in refused.stderr
    left = onplan("plan", "undo")
    assert left.exit_code == 0
    assert "The undo was left there: it is made before the next request to the model." in left.stdout
    someone.types("and?\n")
    assert "plan r2 by you · 0/0 done" in someone.sees(PROMPT)
