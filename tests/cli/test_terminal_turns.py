"""The drawn prompt through whole turns: work, questions, words meanwhile, interrupts, sessions."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from command_line import call, onplan, running_commands, todos, wait_for
from drawn import CTRL_C, CTRL_D, ENTER, ESC, PATIENCE, Drawn

from onplan._version import __version__

Script = Callable[..., str]
Sit = Callable[..., Drawn]


def records() -> list[dict[str, Any]]:
    told = json.loads(onplan("show", "latest", "--json").stdout)
    return [item["record"] for item in told["records"]]


def outcomes() -> list[str]:
    return [item.get("outcome", "ok") for item in records() if item["type"] == "tool_result"]


def said() -> list[str]:
    return [item["text"] for item in records() if item["type"] == "user"]


def test_a_whole_job_with_a_plan_an_approval_and_a_refusal(work: Path, drawn: Sit, script: Script):
    (work / "main.py").write_text('print("hi")\n')
    model = script(
        todos("[~] Look", "[ ] Change it"),
        call("edit_file", path="main.py", old="hi", new="hello"),
        call("bash", command="touch made"),
        todos("[x] Look", "[x] Change it"),
        "All **done**.",
    )
    someone = drawn("--model", model)
    someone.sees_prompt()
    someone.types(f"do it{ENTER}")
    someone.sees("run write_todos?")
    someone.types("a")
    someone.sees("run edit_file?")
    someone.sees('+print("hello")')
    someone.types("y")
    someone.sees("run bash?")
    someone.types("n")
    someone.sees("Why not, or what instead?")
    someone.types(f"not now{ENTER}")
    someone.sees("All done.")
    someone.sees_prompt()
    assert (work / "main.py").read_text() == 'print("hello")\n'
    assert not (work / "made").exists()
    assert outcomes() == ["ok", "ok", "denied", "ok"]
    denied = next(item for item in records() if item.get("outcome") == "denied")
    assert denied["content"].endswith("they said: not now")
    assert "2/2 done" in someone.status
    someone.types(CTRL_D)
    assert someone.leaves() == 0
    assert any(row.startswith("Go on later:") for row in someone.rows)


def test_words_typed_while_it_works_are_shown_and_go_along_with_the_next_round(
    work: Path, drawn: Sit, script: Script
):
    slow = call("bash", command="echo began >began; until test -e go_on; do sleep 0.05; done")
    someone = drawn("--model", script(slow, "I see."), "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    wait_for(work / "began")
    someone.types(f"use tabs{ENTER}")
    someone.sees("next: use tabs")
    (work / "go_on").touch()
    someone.sees("I see.")
    someone.sees_prompt()
    assert "next: use tabs" not in someone.text
    assert "› use tabs" in someone.all_rows
    notes = [item["text"] for item in records() if item["type"] == "note"]
    assert [text for text in notes if "use tabs" in text] == ["use tabs"]
    assert said() == ["go"]


def test_esc_interrupts_and_sends_what_was_typed(work: Path, drawn: Sit, script: Script):
    model = script(call("bash", command="echo began >began; sleep 61.5"), "As you like.")
    someone = drawn("--model", model, "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    wait_for(work / "began")
    someone.types("rather this")
    someone.sees("› rather this")
    someone.types(ESC)
    someone.sees("As you like.")
    someone.sees_prompt()
    assert running_commands("sleep 61.5") == []
    assert (outcomes(), said()) == (["interrupted"], ["go", "rather this"])


def test_ctrl_c_interrupts_and_what_was_typed_stays_in_the_input(work: Path, drawn: Sit, script: Script):
    model = script(call("bash", command="echo began >began; sleep 61.25"), "Go on.")
    someone = drawn("--model", model, "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    wait_for(work / "began")
    someone.types(f"queued{ENTER}")
    someone.sees("next: queued")
    someone.types("half")
    someone.sees("› half")
    someone.types(CTRL_C)
    someone.sees("interrupted; what was done until then is saved")
    someone.waits(lambda: someone.input == "  half", "the text is not in the input")
    assert "› queued" in someone.rows
    assert running_commands("sleep 61.25") == []
    assert (outcomes(), said()) == (["interrupted"], ["go"])


def test_words_that_no_round_took_along_become_the_next_message(work: Path, drawn: Sit, script: Script):
    slow = call("bash", command="echo began >began; until test -e go_on; do sleep 0.05; done")
    someone = drawn("--model", script(slow, "The answer."), "--auto", "--max-rounds", "1")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    wait_for(work / "began")
    someone.types(f"and then?{ENTER}")
    someone.sees("next: and then?")
    (work / "go_on").touch()
    someone.sees("The answer.")
    someone.sees_prompt()
    assert "› and then?" in someone.rows
    assert said() == ["go", "and then?"]


def test_a_model_that_cannot_be_opened_is_one_line_and_the_terminal_as_it_was(work: Path, drawn: Sit):
    someone = drawn("--model", "script:nowhere.json")
    assert someone.leaves() == 1
    assert "nowhere.json" in someone.rows[0]
    assert someone.rows[0].startswith("onplan: ")
    assert "internal" not in someone.text


def test_a_key_typed_on_when_a_question_comes_up_is_no_answer_and_is_not_lost(
    work: Path, drawn: Sit, script: Script
):
    slow = call("bash", command="echo began >began; until test -e go_on; do sleep 0.05; done")
    model = script(slow, call("write_file", path="a.txt", content="x"), "Done.")
    someone = drawn("--model", model)
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("run bash?")
    someone.types("y")
    wait_for(work / "began")
    someone.types("sa")
    someone.sees("› sa")
    (work / "go_on").touch()
    someone.sees("run write_file?")
    someone.types("y")
    someone.settles()
    assert not (work / "a.txt").exists()
    someone.settles()
    someone.settles()
    someone.types("y")
    someone.sees("Done.")
    someone.waits(lambda: someone.input == "› say", "what was typed is lost")
    assert (work / "a.txt").exists()


def test_ctrl_c_at_a_question_cancels_the_turn(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script(call("bash", command="touch made"), "Go on."))
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("run bash?")
    someone.types(CTRL_C)
    someone.sees_prompt()
    assert (outcomes(), (work / "made").exists()) == (["not_executed"], False)
    someone.types(f"y{ENTER}")
    someone.sees("Go on.")


def test_ctrl_c_at_the_idle_prompt_clears_the_input_and_a_second_one_leaves(work: Path, drawn: Sit):
    someone = drawn("--model", "demo")
    someone.sees_prompt()
    someone.types("half a line")
    someone.sees("› half a line")
    someone.types(CTRL_C)
    someone.sees("Ctrl-C again leaves; so does Ctrl-D")
    someone.waits(lambda: someone.input == "›", "the input is not empty")
    someone.types(CTRL_C)
    assert someone.leaves() == 130
    assert "Traceback" not in someone.text


def test_sigint_from_outside_interrupts_and_sigterm_leaves_with_the_terminal_as_it_was(
    work: Path, drawn: Sit, script: Script
):
    model = script(call("bash", command="echo began >began; sleep 60.75"), "Go on.")
    someone = drawn("--model", model, "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    wait_for(work / "began")
    someone.signals(signal.SIGINT)
    someone.sees("interrupted; what was done until then is saved")
    someone.sees_prompt()
    someone.signals(signal.SIGTERM)
    assert someone.leaves() == 143
    assert someone.raw.count(b"\x1b[?2004h") == someone.raw.count(b"\x1b[?2004l")
    assert [item["type"] for item in records()][-2:] == ["turn_ended", "session_ended"]


def test_auto_is_in_the_status_line_and_is_not_kept_with_the_session(work: Path, drawn: Sit, script: Script):
    model = script(call("bash", command="touch made"), "Done.", "Hm.")
    someone = drawn("--model", model)
    someone.sees_prompt()
    someone.types(f"/auto{ENTER}")
    someone.sees("auto-approve ON: calls run without asking")
    someone.sees_prompt()
    assert someone.status.startswith("AUTO · ")
    someone.types(f"go{ENTER}")
    someone.sees("Done.")
    assert (work / "made").exists()
    someone.types(CTRL_D)
    assert someone.leaves() == 0
    again = drawn("resume", "latest", "--model", model)
    again.sees_prompt()
    assert "AUTO" not in again.status


def test_a_shell_line_runs_on_the_terminal_and_the_model_hears_nothing(work: Path, drawn: Sit):
    someone = drawn("--model", "demo")
    someone.sees_prompt()
    someone.types(f"!echo from-$((40+2)); pwd; exit 3{ENTER}")
    someone.sees("from-42")
    someone.sees("exit code 3")
    someone.sees_prompt()
    assert work.name in someone.text
    someone.types(CTRL_D)
    assert someone.leaves() == 0
    assert json.loads(onplan("sessions", "--json").stdout) == []


@pytest.mark.parametrize("way", ["/new", "/clear"])
def test_a_new_session_keeps_the_one_before(work: Path, drawn: Sit, script: Script, way: str):
    someone = drawn("--model", script("First.", "Second."))
    someone.sees_prompt()
    someone.types(f"one{ENTER}")
    someone.sees("First.")
    someone.sees_prompt()
    before = json.loads(onplan("sessions", "--json").stdout)[0]["id"]
    someone.types(f"{way}{ENTER}")
    someone.waits(lambda: before not in someone.status and someone.input == "›", "no new session")
    assert (("First." in "\n".join(someone.rows)), way) in ((True, "/new"), (False, "/clear"))
    someone.types(f"/resume {before}{ENTER}")
    someone.waits(lambda: before in someone.status and someone.input == "›", "not resumed")
    someone.types(CTRL_D)
    assert someone.leaves() == 0
    assert [row["id"] for row in json.loads(onplan("sessions", "--json").stdout)] == [before]


def test_messages_that_come_at_once_are_sent_one_after_the_other(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script("First.", "Second.", "Third."))
    someone.sees_prompt()
    someone.types(f"one{ENTER}two{ENTER}three{ENTER}")
    someone.sees("Third.")
    someone.sees_prompt()
    assert said() == ["one", "two", "three"]


@pytest.mark.parametrize("other", ["nothing", "held"])
def test_a_session_that_cannot_be_opened_is_told_and_the_one_before_goes_on(
    work: Path, drawn: Sit, script: Script, other: str
):
    if other == "held":
        onplan("-p", "the other job", "--model", script("Done."))
        other = json.loads(onplan("sessions", "--json").stdout)[0]["id"]
        holder = drawn("resume", other, "--model", "demo")
        holder.sees_prompt()
    someone = drawn("--model", script("First.", "Second."))
    someone.sees_prompt()
    someone.types(f"one{ENTER}")
    someone.sees("First.")
    someone.sees_prompt()
    session = someone.status.rpartition(" ")[2]
    someone.types(f"/resume {other}{ENTER}")
    someone.sees("nothing" if other == "nothing" else "is open in another process")
    someone.waits(lambda: session in someone.status and someone.input == "›", "not the one before")
    someone.types(f"two{ENTER}")
    someone.waits(lambda: "› two" in someone.rows, "not sent")
    someone.sees_prompt()
    assert said() == ["one", "two"]


# --- what is shown ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "way_on"),
    [
        ("", "No model is set (/model says how); ask the demo for a README · /help for more"),
        ("sk-x", "By the key that is set, at most $5.00 a turn; /model names another · /help"),
    ],
)
def test_a_first_start_is_three_lines_of_eighty_columns(work: Path, drawn: Sit, key: str, way_on: str):
    (work / "AGENTS.md").write_text("Be brief.")
    subprocess.run(["git", "init", "-q", "-b", "main", "."], check=True)
    project = work / "the-directory-of-a-project"
    project.mkdir()
    (project / "CLAUDE.md").write_text("Use tabs.")
    someone = drawn("--cwd", str(project), ANTHROPIC_API_KEY=key)
    someone.sees_prompt()
    title, *others = [row for row in someone.rows if row]
    assert title.startswith(f"onplan {__version__} · ")
    assert title.endswith("/the-directory-of-a-project")
    assert others == [
        "instructions: ../AGENTS.md, CLAUDE.md · not committed: 2 new (on main)",
        way_on,
        "›",
        someone.status,
    ]


def test_what_runs_is_shown_with_its_last_lines_and_folded_when_it_is_done(
    work: Path, drawn: Sit, script: Script
):
    command = "for n in $(seq 20); do echo row $n; done; until test -e go_on; do sleep 0.05; done"
    doing = {"content": "Count", "status": "in_progress", "activeForm": "Counting rows"}
    model = script(call("TodoWrite", todos=[doing]), call("bash", command=command), "Counted.", "Yes.")
    someone = drawn("--model", model, "--auto", "--dialect", "TodoWrite")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("│ row 20")
    someone.sees("Counting rows · ")
    assert "row 5" not in someone.text
    (work / "go_on").touch()
    someone.sees("Counted.")
    someone.sees_prompt()
    assert "│ row 20" not in someone.text
    assert "Counting rows" not in someone.text


def test_the_status_line_says_model_todos_distance_tokens_and_session(work: Path, drawn: Sit, script: Script):
    plan = {**todos("[~] one", "[ ] two"), "usage": {"input": 1_200, "output": 40}}
    someone = drawn("--model", script(plan, call("glob", pattern="*"), "Hm.", "Hm."), "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("write to go on")
    someone.sees_prompt()
    told = someone.status.split(" · ")
    session = json.loads(onplan("sessions", "--json").stdout)[0]["id"]
    assert told[:3] == ["AUTO", "scripted", "2 open"]
    assert re.fullmatch(r"plan \d+ messages? ago", told[3])
    assert told[-2:] == ["1.2k tokens", session]


def test_a_finished_plan_leaves_the_status_line_with_the_next_message(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script(todos("[x] one"), "Done.", "Hm.", todos("[x] two"), "Again."), "--auto")
    someone.sees_prompt()
    for message, answer, told in (
        ("go", "Done.", "1/1 done"),
        ("and", "Hm.", ""),
        ("so", "Again.", "1/1 done"),
    ):
        someone.types(f"{message}{ENTER}")
        someone.sees(answer)
        someone.sees_prompt()
        assert ("1/1 done" if "1/1 done" in someone.status else "") == told


# --- the player answers -----------------------------------------------------------------------------


class Player:
    """`onplan play`, and what its page sends."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "onplan", "play"], stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()
        address = urlsplit(self._process.stdout.readline().strip())
        self._api = f"http://{address.netloc}/api"
        self._token = {"authorization": f"Bearer {address.fragment.removeprefix('token=')}"}

    def answers(self, verdict: str, reason: str = "") -> None:
        """Answer what is asked, as its buttons do."""
        call_id = [item["call_id"] for item in records() if item["type"] == "asked"][-1]
        sent = {"call_id": call_id, "verdict": verdict, "reason": reason}
        httpx.post(f"{self._api}/approve", json=sent, headers=self._token).raise_for_status()

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=PATIENCE)


@pytest.fixture
def play() -> Iterator[Callable[[], Player]]:
    """Opens the player on the newest session."""
    opened: list[Player] = []

    def start() -> Player:
        opened.append(Player())
        return opened[-1]

    yield start
    for player in opened:
        player.close()


def test_a_question_that_is_answered_in_the_player_goes_away_and_it_is_told(
    work: Path, drawn: Sit, script: Script, play: Callable[[], Player]
):
    model = script(call("bash", command="touch made"), call("bash", command="touch other"), "Done.")
    someone = drawn("--model", model)
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("/n ›")
    player = play()
    player.answers("approve")
    someone.sees("  answered in the player")
    someone.sees("touch other")
    player.answers("deny", "one is enough")
    someone.sees("Done.")
    someone.sees_prompt()
    assert [path.name for path in work.iterdir()] == ["made"]
    assert [row for row in someone.rows if row][3:-2] == [
        "onplan asks: run bash?",
        "  │ touch made",
        "  answered in the player",
        "· bash touch made → (no output)",
        "onplan asks: run bash?",
        "  │ touch other",
        "  answered in the player",
        "· bash touch other → denied: not run: the person refused it; they said: one is …",
        "Done.",
    ]


def test_what_somebody_types_on_at_a_question_is_no_answer(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script(call("bash", command="touch made"), "Done."))
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("/n ›")
    someone.types("I say")
    someone.settles()
    assert not (work / "made").exists()
    time.sleep(1.0)  # as long as nobody may have typed
    someone.types("Y")
    someone.sees("Done.")
    assert (work / "made").exists()
    assert "  y  yes, once" in someone.all_rows
