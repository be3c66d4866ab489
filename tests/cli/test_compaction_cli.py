"""A conversation that gets too long, at the command line: it is told, shown, and can be refused by a hook."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from command_line import call, onplan, todos

Script = Callable[..., str]
SUMMARY = "It is about logs.\n- [x] The first was read.\n<plan>Nothing is open.</plan>"


def long_job() -> list[Any]:
    """A plan, three long outputs, what a summary would be, and the end."""
    reads = [call("bash", command=f"seq {n}000 {n}900") for n in range(1, 4)]
    return [todos("[~] read", "[ ] write"), *reads, {"text": SUMMARY}, {"text": "so far"}, {"text": "so far"}]


def run(script: Script, *arguments: str) -> Any:
    return onplan("-p", "go", "--auto", "--model", script(*long_job()), "--max-context", "5500", *arguments)


def test_a_run_and_its_timeline_tell_of_a_compaction(work: Path, script: Script) -> None:
    ran = run(script)
    assert ran.exit_code == 4
    (line,) = [line for line in ran.stderr.splitlines() if "compacted" in line]
    assert line.startswith("◦ compacted (near the model's limit): the oldest messages summed up; about ")
    shown = onplan("show").stdout
    assert "compacted (near the model's limit): 7 messages summed up; about " in shown
    assert "│ It is about logs." in shown
    assert "│ - · The first was read." in shown
    assert "│ ‹plan>Nothing is open.‹/plan>" in shown


def test_the_record_is_an_event_and_stays_in_the_log(work: Path, script: Script) -> None:
    ran = run(script, "--output-format", "stream-json")
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    (told,) = [event for event in events if event["type"] == "compacted"]
    assert (told["reason"], told["kept"], told["model"]) == ("limit", 3, "scripted")
    assert told["after"] < 0.6 * 5500 < told["before"]
    assert [message["type"] for message in told["head"]] == ["user", "note"]
    assert "[~] read\n[ ] write\n" in told["tail"][0]["text"]
    requests = [event for event in events if event["type"] == "request"]
    assert requests[4]["distance"] == {"messages": 0, "tokens": 0}
    assert events[-1]["spending"]["requests"] == len(requests) + 1
    kept = onplan("show", "--json").stdout
    assert json.dumps(told["tail"][0]["text"])[1:-1] in kept


def test_a_hook_of_the_settings_may_refuse_it(work: Path, script: Script) -> None:
    home = Path(os.environ["ONPLAN_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    command = "echo not today >&2; exit 2"
    (home / "settings.toml").write_text(f"[[hooks.PreCompact]]\nmatcher = 'auto'\ncommand = '{command}'\n")
    ran = run(script)
    assert "a hook refused to shorten the conversation: not today" in " ".join(ran.stderr.split())
    assert "compacted" not in ran.stderr
    assert "compacted" not in onplan("show").stdout


def test_a_context_that_is_too_small_for_anything_is_a_usage_error(work: Path, script: Script) -> None:
    ran = onplan("-p", "go", "--max-context", "10", "--model", script("x"))
    assert ran.exit_code == 2
    assert "10 is not in the range" in ran.stderr
