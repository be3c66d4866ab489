"""Commands of the drawn prompt that change what runs: model, dialect, session, call; and the end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import call, onplan, todos, wait_for
from drawn import CTRL_C, CTRL_D, ENTER, Drawn

Script = Callable[..., str]
Sit = Callable[..., Drawn]


def records() -> list[dict[str, Any]]:
    told = json.loads(onplan("show", "latest", "--json").stdout)
    return [item["record"] for item in told["records"]]


def sessions() -> list[str]:
    return [row["id"] for row in json.loads(onplan("sessions", "--json").stdout)]


def test_another_model_answers_from_now_on(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script("The first.", "Again the first."))
    someone.sees_prompt()
    someone.types(f"one{ENTER}")
    someone.sees("The first.")
    someone.sees_prompt()
    someone.types(f"/model nonsense{ENTER}")
    someone.sees("'nonsense' is not known")
    someone.types(f"/model demo{ENTER}")
    someone.sees("demo answers from now on")
    someone.types(f"two{ENTER}")
    someone.sees("I am the demo model")
    someone.sees_prompt()
    assert someone.status.startswith("demo · ")
    changes = [item for item in records() if item["type"] == "prefix"]
    assert [(item["reason"], item["model"]) for item in changes] == [("/model demo", "demo")]


def test_another_dialect_from_now_on(work: Path, drawn: Sit, script: Script):
    model = script("Fine.", call("todo_write", todos=[{"content": "one", "status": "completed"}]), "Done.")
    someone = drawn("--model", model, "--auto")
    someone.sees_prompt()
    someone.types(f"/dialect{ENTER}")
    someone.sees("write_todos is the plan tool")
    someone.types(f"/dialect french{ENTER}")
    someone.sees("no dialect is named 'french'")
    someone.types(f"go{ENTER}")
    someone.sees("Fine.")
    someone.types(f"/dialect todo_write{ENTER}")
    someone.sees("the plan tool is todo_write from now on")
    someone.types(f"go{ENTER}")
    someone.sees("Done.")
    someone.sees_prompt()
    assert "1/1 done" in someone.status


def test_a_fork_goes_on_from_there_and_the_other_stays(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script("The first.", "The second."))
    someone.sees_prompt()
    someone.types(f"one{ENTER}")
    someone.sees("The first.")
    someone.sees_prompt()
    before = sessions()[0]
    someone.types(f"/fork{ENTER}")
    someone.sees(f"forked from {before}")
    someone.waits(lambda: before not in someone.status and someone.input == "›", "not forked")
    someone.types(f"two{ENTER}")
    someone.waits(lambda: "› two" in someone.rows, "not sent")
    someone.sees_prompt()
    someone.types(CTRL_D)
    assert someone.leaves() == 0
    assert len(sessions()) == 2
    said = [item["text"] for item in records() if item["type"] == "user"]
    assert said == ["one", "two"]


def test_a_session_of_the_directory_is_chosen_from_a_list(work: Path, drawn: Sit, script: Script):
    onplan("-p", "the earlier job", "--model", script("Done."))
    earlier = sessions()[0]
    someone = drawn("--model", script("Hm.", "Hm."))
    someone.sees_prompt()
    someone.types(f"/resume{ENTER}")
    someone.sees(f"1  {earlier}  the earlier job")
    someone.types("1")
    someone.waits(lambda: earlier in someone.status and someone.input == "›", "not resumed")
    someone.types(f"/resume{ENTER}")
    someone.sees("this directory has no other session")


def test_ctrl_c_gives_up_a_question_of_a_command(work: Path, drawn: Sit, script: Script):
    onplan("-p", "the earlier job", "--model", script("Done."))
    someone = drawn("--model", "demo")
    someone.sees_prompt()
    someone.types(f"/resume{ENTER}")
    someone.sees("none of them")
    someone.types(CTRL_C)
    someone.sees_prompt()
    someone.loses("none of them")
    someone.types(CTRL_D)
    assert someone.leaves() == 0


def test_a_call_is_changed_before_it_runs(
    work: Path, drawn: Sit, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program = tmp_path / "editor.py"
    program.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('wrong', 'right'))\n"
    )
    monkeypatch.setenv("EDITOR", f"python3 {program}")
    someone = drawn("--model", script(call("bash", command="touch wrong"), "Done."))
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("run bash?")
    someone.types("e")
    someone.sees("touch right")
    if "e  change the call" in "\n".join(someone.rows):  # what was changed is shown before it runs
        someone.types("y")
    someone.sees("Done.")
    assert (work / "right").exists()
    assert not (work / "wrong").exists()


def test_init_has_an_agents_md_written(work: Path, drawn: Sit):
    (work / "main.py").write_text("print('hi')\n")
    someone = drawn("--model", "demo", "--auto")
    someone.sees_prompt()
    someone.types(f"/init{ENTER}")
    someone.waits(lambda: (work / "AGENTS.md").exists(), "no AGENTS.md")
    someone.sees_prompt()


def test_a_command_that_has_to_wait_says_so_and_others_answer_while_a_turn_runs(
    work: Path, drawn: Sit, script: Script
):
    slow = call("bash", command="echo began >began; until test -e go_on; do sleep 0.05; done")
    someone = drawn("--model", script(todos("[~] wait"), slow, "Done.", "Done."), "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    wait_for(work / "began")
    someone.types(f"/new{ENTER}")
    someone.sees("/new has to wait until the turn is over")
    someone.types(f"/todos{ENTER}")
    someone.sees("  [~] wait")
    someone.types(f"!ls{ENTER}")
    someone.sees("!ls has to wait until the turn is over")
    (work / "go_on").touch()
    someone.sees("Done.")
    assert len(sessions()) == 1


def test_quit_while_a_turn_runs_ends_it_and_leaves(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script(call("bash", command="echo began >began; sleep 60.5")), "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    wait_for(work / "began")
    someone.types(f"/quit{ENTER}")
    assert someone.leaves() == 0
    assert [item["type"] for item in records()][-2:] == ["turn_ended", "session_ended"]


def test_a_terminal_that_goes_away_leaves_everything_saved(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script(call("bash", command="echo began >began; sleep 60.25")), "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    wait_for(work / "began")
    someone.hangs_up()
    until = time.monotonic() + 20
    while someone.process.isalive() and time.monotonic() < until:
        time.sleep(0.05)
    assert [item["type"] for item in records()][-2:] == ["turn_ended", "session_ended"]


def test_no_vendors_library_is_loaded_before_the_prompt():
    names = "import onplan.cli.repl.loop, onplan.cli.repl.prompt, onplan.coding, onplan.stores.sqlite"
    told = "print([n for n in ('anthropic', 'openai', 'httpx', 'rich', 'pydantic') if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {names}; {told}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "command", [["--version"], ["--help"], ["sessions"], ["-p", "hi", "--model", "demo"]]
)
def test_what_draws_no_prompt_loads_none_of_it(work: Path, command: list[str]):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "onplan", *command],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "onplan" in loaded
    assert not loaded & {"prompt_toolkit", "rich", "anthropic", "openai"}


# --- a terminal that wraps --------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_terminal_that_wraps_on_resize_shows_each_line_once(work: Path, script: Script, tmp_path: Path):
    slow = call("bash", command="echo began >began; until test -e go_on; do sleep 0.05; done")
    model = script(todos("[~] wait for it"), slow, "Done.", "Done.")
    tmux = ["tmux", "-S", str(tmp_path / "socket"), "-f", "/dev/null"]

    def shown() -> str:
        return subprocess.run(
            [*tmux, "capture-pane", "-p", "-S", "-200"], capture_output=True, text=True, check=True
        ).stdout

    def waits(text: str) -> None:
        until = time.monotonic() + 20
        while text not in shown():
            assert time.monotonic() < until, f"{text!r} did not come: {shown()}"
            time.sleep(0.1)

    size = ["-x", "110", "-y", "30"]
    program = [sys.executable, "-m", "onplan", "--model", model, "--auto"]
    environ = {name: value for name, value in os.environ.items() if name not in ("XTERM_VERSION", "STY")}
    subprocess.run([*tmux, "new-session", "-d", *size, *program], check=True, env=environ)
    try:
        waits("›")
        subprocess.run([*tmux, "send-keys", "go", "Enter"], check=True)
        wait_for(work / "began")
        subprocess.run([*tmux, "send-keys", "some words"], check=True)
        waits("› some words")
        for columns in ("50", "40", "100"):
            subprocess.run([*tmux, "resize-window", "-x", columns, "-y", "30"], check=True)
            time.sleep(0.6)
        waits("› some words")
        rows = shown().splitlines()
        assert sum("Esc interrupts" in row for row in rows) == 1
        assert sum("› some words" in row for row in rows) == 1
        assert sum(row.startswith("AUTO · ") for row in rows) == 1
        assert sum("plan r1 · 0/1 done" in row for row in rows) == 1
    finally:
        (work / "go_on").touch()
        subprocess.run([*tmux, "kill-server"], check=False)
