"""One job without a prompt: formats, exit codes, stdin, signals."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from command_line import PATIENCE, call, onplan, process, running_commands, todos, wait_for

from onplan.events import Event
from onplan.testing.models import DOT

Script = Callable[..., str]
PLANNED = (todos("[~] look", "[ ] write"), todos("[x] look", "[x] write"), "All done.")


# --- formats ----------------------------------------------------------------------------------------


def test_text_puts_the_final_reply_on_stdout_and_the_progress_on_stderr(work: Path, script: Script):
    ran = onplan("-p", "go", "--auto", "--model", script(*PLANNED))
    assert (ran.exit_code, ran.stdout) == (0, "All done.\n")
    *shown, planning = ran.stderr.splitlines()
    assert shown == [
        "· write_todos (2 items) → r1 +2 >1",
        "plan r1 · 0/2 done",
        " + [~] look",
        " + [ ] write",
        "· write_todos (2 items) → r2 x2",
        "plan r2 · 2/2 done",
        " x [x] look",
        " x [x] write",
    ]
    assert re.fullmatch(
        r"planning: 2 writes, 0 reminders, about [\d,]+ tokens \(\d+% of the conversation\); "
        r"--plan off turns it off",
        planning,
    )


def test_json_is_one_object_with_the_whole_result(work: Path, script: Script):
    ran = onplan("-p", "go", "--auto", "--model", script(*PLANNED), "--output-format", "json")
    result = json.loads(ran.stdout)
    session, figures, planning = result.pop("session"), result.pop("figures"), result.pop("planning")
    spending = result.pop("spending")
    assert result == {
        "type": "result",
        "text": "All done.",
        "reason": "done",
        "exit_code": 0,
        "plan": [
            {"content": "look", "status": "completed"},
            {"content": "write", "status": "completed"},
        ],
        "revision": 2,
        "usage": {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "thinking": 0},
        "cost": None,
        "rounds": 2,
        "requests": 3,
        "denied_for_want_of_a_person": 0,
        "error": "",
    }
    assert onplan("show", session).exit_code == 0
    assert (figures["requests"], figures["writes"], figures["late_batches"]) == (3, 2, 1)
    assert [(todo["content"], todo["requests"]) for todo in spending["todos"]] == [("look", 1)]
    assert (spending["requests"], spending["unplanned"]["requests"]) == (3, 2)
    assert (planning["mode"], planning["writes"], planning["reminders"]) == ("suggest", 2, 0)
    parts = (
        planning["fixed_tokens"]
        + planning["call_tokens"]
        + planning["answer_tokens"]
        + planning["reminder_tokens"]
    )
    assert planning["tokens"] == parts
    assert planning["share"] == round(parts / planning["conversation_tokens"], 4)
    assert ran.stderr == ""


def test_stream_json_tells_every_event_on_a_line_and_the_result_last(work: Path, script: Script):
    ran = onplan("-p", "go", "--auto", "--model", script(*PLANNED), "--output-format", "stream-json")
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    kinds = [event["type"] for event in events if event["type"] != "text_delta"]
    write = ["request", "assistant", "decided", "started", "plan_changed", "tool_result"]
    assert kinds == [
        "session",
        "user",
        *write,
        *write,
        "request",
        "assistant",
        "turn_ended",
        "session_ended",
        "result",
    ]
    assert [event["distance"]["messages"] for event in events if event["type"] == "request"] == [1, 0, 0]
    assert [(event["revision"], event["diff"]) for event in events if event["type"] == "plan_changed"] == [
        (1, {"added": ["look", "write"], "started": ["look"]}),
        (2, {"finished": ["look", "write"]}),
    ]
    assert (events[-1]["reason"], events[-1]["exit_code"], "call_id" in events[-1]) == ("done", 0, False)


def test_an_image_is_told_by_its_size_and_its_bytes_are_in_the_log_only(work: Path, script: Script):
    (work / "dot.gif").write_bytes(base64.b64decode(DOT))
    model = script(call("read_file", path="dot.gif"), "A dot.")
    streamed = onplan("-p", "go", "--auto", "--model", model, "--output-format", "stream-json")
    events = [json.loads(line) for line in streamed.stdout.splitlines()]
    told = [event for event in events if event["type"] == "tool_result"]
    assert [event["media"] for event in told] == [
        [{"media_type": "image/gif", "bytes": 43, "name": "dot.gif"}]
    ]
    assert told[0]["content"] == "image file (GIF, 1x1, 43 bytes)"
    line = "· read_file dot.gif → image file (GIF, 1x1, 43 bytes) + image/gif, 43 bytes"
    shown = onplan("show")
    assert line in shown.stdout
    others = [
        onplan("show", "--audit"),
        onplan("-p", "go", "--auto", "--model", model),
        onplan("-p", "go", "--auto", "--model", model, "--output-format", "json"),
    ]
    assert line in others[1].stderr
    assert not any(DOT in ran.output + ran.stderr for ran in (streamed, shown, *others))
    assert DOT in onplan("show", "--json").stdout


def test_a_resumed_stream_begins_with_the_session_and_says_that_it_was_resumed(work: Path, script: Script):
    model = script("Hello.")
    onplan("-p", "one", "--model", model)
    ran = onplan("resume", "-p", "two", "--model", model, "--output-format", "stream-json")
    kinds = [json.loads(line)["type"] for line in ran.stdout.splitlines()]
    assert kinds[:3] == ["session", "resumed", "user"]


def test_the_docs_name_every_event_type():
    page = (Path(__file__).parents[2] / "docs" / "headless.md").read_text(encoding="utf-8")
    tags = {kind.__struct_config__.tag for kind in get_args(Event)}
    assert {tag for tag in tags if f"`{tag}`" not in page} == set()


def test_planning_off_offers_no_plan_tool_and_says_so(work: Path, script: Script):
    ran = onplan("-p", "go", "--plan", "off", "--model", script("Hi."), "--output-format", "json")
    planning = json.loads(ran.stdout)["planning"]
    assert (planning["mode"], planning["fixed_tokens"], planning["tokens"]) == ("off", 0, 0)
    assert onplan("-p", "go", "--plan", "off", "--model", script("Hi.")).stderr == "planning: off\n"


# --- the prompt -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "stdin", "heard"),
    [
        (["-p", "review"], "the diff\n", "review\n\nthe diff"),
        (["-p", "review"], "", "review"),
        (["-p", "-"], "the job\n", "the job"),
        ([], "the job\n", "the job"),
    ],
)
def test_the_prompt_is_what_was_given_and_what_was_piped_in(
    work: Path, script: Script, arguments: list[str], stdin: str, heard: str
):
    ran = onplan(*arguments, "--model", script("Hi."), "--output-format", "stream-json", input=stdin)
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [event["text"] for event in events if event["type"] == "user"] == [heard]


@pytest.mark.parametrize("arguments", [[], ["-p", ""], ["-p", "-"], ["-p", " "]])
def test_nothing_to_do_is_a_usage_error(work: Path, arguments: list[str]):
    ran = onplan(*arguments)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr == 'onplan: nothing to do: give a job with -p "…" or on stdin (onplan --help)\n'


def test_closed_stdin_is_no_prompt_and_no_traceback(work: Path):
    command = f'"{sys.executable}" -m onplan <&-'
    ran = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 2
    assert b"nothing to do" in ran.stderr


# --- exit codes -------------------------------------------------------------------------------------


def test_a_call_without_a_person_to_ask_is_denied_and_the_run_goes_on(work: Path, script: Script):
    model = script(call("bash", command="touch x"), "I could not.")
    ran = onplan("-p", "go", "--model", model)
    assert (ran.exit_code, ran.stdout) == (3, "I could not.\n")
    assert "1 call denied: nobody was there to ask; --auto lets calls run" in ran.stderr
    assert not (work / "x").exists()


@pytest.mark.parametrize(
    ("entries", "options", "code", "told"),
    [
        (["Hi."], [], 0, ""),
        ([{"error": "overloaded"}], [], 1, "onplan: overloaded"),
        ([todos("[~] a"), "Enough.", "Enough."], [], 4, "stopped with 1 of 1 todos open"),
        ([call("bash", command="true")] * 2, ["--max-rounds", "1"], 5, "the cap on rounds was reached"),
        ([todos("[~] a")] * 6, [], 5, "the same plan over and over"),
        ([{"text": "No.", "stop": "refusal"}], [], 1, "the model declined"),
    ],
)
def test_the_exit_code_says_how_it_ended(
    work: Path, script: Script, entries: list[Any], options: list[str], code: int, told: str
):
    ran = onplan("-p", "go", "--auto", "--model", script(*entries), *options)
    assert ran.exit_code == code
    assert told in ran.stderr
    assert "Traceback" not in ran.output


# --- signals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_the_turn_with_everything_saved(
    work: Path, script: Script, number: signal.Signals, code: int
):
    model = script(todos("[~] wait"), call("bash", command="echo began >began; sleep 61.5"))
    running = subprocess.Popen(
        [sys.executable, "-m", "onplan", "-p", "go", "--auto", "--model", model, "--output-format", "json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        wait_for(work / "began")
        running.send_signal(number)
        out, err = running.communicate(timeout=PATIENCE)
    finally:
        running.kill()
    result = json.loads(out)
    assert (running.returncode, result["reason"], result["exit_code"]) == (code, "interrupted", code)
    assert b"Traceback" not in err
    told = json.loads(onplan("show", "latest", "--json").stdout)
    records = [item["record"] for item in told["records"]]
    outcomes = [record.get("outcome", "ok") for record in records if record["type"] == "tool_result"]
    assert outcomes == ["ok", "interrupted"]
    assert [record["type"] for record in records][-2:] == ["turn_ended", "session_ended"]
    assert not running_commands("sleep 61.5")


# --- the outside ------------------------------------------------------------------------------------


def test_output_is_utf8_whatever_the_locale(work: Path, script: Script):
    told = "naïve 修复 ✓"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = process("-p", told, "--model", script(told), env=environment)
    assert (ran.returncode, ran.stdout.decode()) == (0, told + "\n")
    assert onplan("sessions").stdout.splitlines()[1].split("  ")[-2].strip().startswith(told)


def test_a_reader_that_went_away_is_no_error(work: Path, script: Script):
    command = f'"{sys.executable}" -m onplan tools --json; echo "rc $?" >&2'
    ran = subprocess.run(
        ["/bin/bash", "-c", f"({command}) | true"], capture_output=True, timeout=PATIENCE, check=False
    )
    assert ran.stderr == b"rc 0\n"


def test_a_full_disk_under_the_output_is_an_error_in_one_line(work: Path):
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "onplan", "tools"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
    assert (ran.returncode, ran.stderr.count(b"\n")) == (1, 1)
    assert ran.stderr.startswith(b"onplan: input or output failed: No space left")
