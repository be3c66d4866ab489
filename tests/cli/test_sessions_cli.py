"""Sessions from the command line: list, search, deletion, forks, completion; what a run begins with."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from command_line import PATIENCE, Person, call, onplan, process, todos

from onplan.agent import Agent
from onplan.cli.surroundings import init_message, keep_cost
from onplan.events import Event
from onplan.messages import Assistant, Text, Usage
from onplan.models.prices import load_prices
from onplan.models.scripted import ScriptedModel
from onplan.protocols import Holder
from onplan.stores.sqlite import SqliteStore

Script = Callable[..., str]
REPOSITORY = Path(__file__).parents[2]
ELSEWHERE = Holder(host="elsewhere", pid=4711, start=1.0)


def run(*arguments: str, **more: Any) -> str:
    """Run what has to work; what it put out."""
    ran = onplan(*arguments, **more)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def listed(*arguments: str) -> list[dict[str, Any]]:
    return json.loads(run("sessions", "--json", *arguments))


@pytest.fixture
def session(work: Path, script: Script) -> str:
    """A session with three revisions of the plan and a call between them; its id."""
    model = script(
        todos("[~] look", "[ ] write"),
        call("bash", command="echo 'A Needle in the output'"),
        todos("[x] look", "[~] write"),
        todos("[x] look", "[x] write"),
        "All done.",
    )
    run("-p", "Do the job", "--auto", "--model", model)
    return listed()[0]["id"]


# --- the list ---------------------------------------------------------------------------------------


def test_the_list_tells_the_cost_where_it_is_known(home: Path):
    async def sessions_of(*models: str) -> None:
        store = SqliteStore.open(home / "sessions.sqlite3")
        for name in models:
            reply = Assistant((Text("Hi."),), usage=Usage(1_000_000, 100_000), model=name)
            agent = await Agent.start(model=ScriptedModel([reply]), store=store)
            await agent.run("hello")
            await keep_cost(store, agent)
            await agent.close()
        await store.close()

    asyncio.run(sessions_of("claude-sonnet-4-5", "a-model-of-nobody"))
    price = load_prices().of_messages(
        [Assistant((), usage=Usage(1_000_000, 100_000), model="claude-sonnet-4-5")]
    )
    assert price is not None
    assert sorted(line.get("cost") or 0 for line in listed()) == [0, price]
    costs = sorted(line.split()[3] for line in run("sessions").splitlines()[1:])
    assert costs == [f"${price:.2f}", "-"]


# --- search -----------------------------------------------------------------------------------------


def test_search_finds_what_was_said_by_anybody_and_where(session: str, work: Path, script: Script):
    run("-p", "another matter", "--model", script("Nothing here."))
    lines = run("sessions", "--search", "needle IN the").splitlines()
    assert lines[0].split() == [session, "Do", "the", "job", "now", str(work)]
    assert [line.split()[:2] for line in lines[1:]] == [["7", "assistant"], ["10", "bash"]]
    (found,) = listed("--search", "a  needle\nin")
    assert (found["id"], [place["record"] for place in found["places"]]) == (session, [7, 10])
    shown = run("show", session)
    assert any(line.startswith("10") and "Needle" in line for line in shown.splitlines())


@pytest.mark.parametrize("text", ["Grüße", "GRÜSSE", 'say "hi"', "one\\two", "naïve"])
def test_search_knows_case_quotes_and_other_letters(work: Path, script: Script, text: str):
    run("-p", 'grüße und say "hi", one\\two, NAÏVE', "--model", script("Ja."))
    assert len(listed("--search", text)) == 1


def test_search_knows_titles_and_directories_and_says_when_there_is_nothing(session: str, work: Path):
    assert [found["places"] for found in listed("--search", str(work))] == [[]]
    assert run("sessions", "--search", "no such words") == "nothing was said of 'no such words'\n"
    assert onplan("sessions", "--search", " ").exit_code == 2


def test_search_finds_what_a_person_wrote_into_the_plan(session: str):
    run("plan", "edit", "--file", "-", input="- [ ] oil the hinges\n")
    assert (
        run("sessions", "--search", "OIL the").splitlines()[1].split(maxsplit=1)[1] == "plan  oil the hinges"
    )


def test_search_passes_over_what_cannot_be_read(session: str, home: Path):
    async def damage() -> None:
        store = SqliteStore.open(home / "sessions.sqlite3")
        info = await store.find(session)
        await store.append(session, info.records + 1, [b"needle \xff", b'{"type":"needle"}'], time=1.0)
        await store.close()

    asyncio.run(damage())
    assert len(listed("--search", "needle")) == 1


# --- deletion ---------------------------------------------------------------------------------------


def test_deletion_asks_and_takes_a_no(session: str, person: Callable[..., Person]):
    for answer in ("n\n", "\n", "\x04"):
        someone = person("sessions", "delete", session[:5])
        shown = someone.sees("y/N> ")
        assert session in shown
        assert "Do the job" in shown
        someone.types(answer)
        assert someone.leaves() == 0
        assert "nothing was deleted" in someone.seen
    assert [info["id"] for info in listed()] == [session]


def test_deletion_on_a_yes_is_for_good(session: str, person: Callable[..., Person]):
    someone = person("sessions", "delete", session)
    someone.sees("Delete it for good? y/N> ")
    someone.types("y\n")
    assert someone.leaves() == 0
    assert f"deleted {session}" in someone.seen
    assert listed() == []


def test_without_a_person_deletion_needs_a_yes_on_the_command_line(session: str):
    refused = onplan("sessions", "delete", session)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "nobody is here to be asked: --yes deletes without a question" in refused.stderr
    assert run("sessions", "delete", session, "latest", "--yes") == f"deleted {session}\n"
    assert onplan("sessions", "delete", session, "--yes").exit_code == 1


def test_nothing_is_deleted_when_one_of_the_names_is_none(session: str):
    assert onplan("sessions", "delete", session, "zz", "--yes").exit_code == 1
    assert len(listed()) == 1


def test_a_session_that_is_open_elsewhere_is_not_deleted(session: str, home: Path):
    async def hold() -> None:
        store = SqliteStore.open(home / "sessions.sqlite3")
        await store.claim(session, ELSEWHERE)
        await store.close()

    asyncio.run(hold())
    refused = onplan("sessions", "delete", session, "--yes")
    assert (refused.exit_code, refused.stderr) == (
        1,
        f"onplan: session {session} is open in another process (pid 4711 on elsewhere): close it first\n",
    )
    assert len(listed()) == 1


def test_options_of_the_list_do_not_go_with_a_deletion(session: str):
    assert onplan("sessions", "--all", "delete", session, "--yes").exit_code == 2
    assert len(listed()) == 1


# --- forks ------------------------------------------------------------------------------------------


def test_a_fork_takes_the_plan_along_and_says_how_to_go_on(session: str, home: Path):
    lines = run("fork", session[:4]).splitlines()
    made = lines[0].split()[1]
    assert lines == [
        f"session {made}  forked from {session}, 21 records",
        "plan r3 · 2/2 done",
        "   [x] look",
        "   [x] write",
        f"Go on with it: ONPLAN_HOME={home} onplan resume {made}",
    ]
    newest, oldest = listed()
    assert (newest["id"], newest["title"], newest["done"], newest["total"]) == (made, "Do the job", 2, 2)
    assert oldest["id"] == session
    assert f"began as a fork of {session}" in run("show", made)


@pytest.mark.parametrize(
    ("at", "records", "plan"),
    [
        ("r1", 6, ["plan r1 · 0/2 done", "   [~] look", "   [ ] write"]),
        ("R2", 14, ["plan r2 · 1/2 done", "   [x] look", "   [~] write"]),
        ("14", 14, ["plan r2 · 1/2 done", "   [x] look", "   [~] write"]),
        ("3", 4, []),
        ("2", 2, []),
    ],
)
def test_a_fork_begins_at_any_record_or_revision(session: str, at: str, records: int, plan: list[str]):
    lines = run("fork", session, "--at", at).splitlines()
    assert lines[0].endswith(f", {records} records")
    assert lines[1:-1] == plan
    assert (listed()[0]["done"], listed()[0]["total"]) == ((0, 0) if not plan else (int(plan[0][10]), 2))


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("r9", "has no revision 9 of the plan: it has r1 to r3"),
        ("r0", "has no revision 0 of the plan: it has r1 to r3"),
        ("99", "has no record 99: it has 1 to 21"),
        ("0", "has no record 0: it has 1 to 21"),
        ("x", "'x' is no point of a session: give a record's number, or r3 for a revision"),
        ("-1", "'-1' is no point of a session: give a record's number, or r3 for a revision"),
    ],
)
def test_a_point_that_is_none_is_an_error_in_one_line(session: str, at: str, told: str):
    ran = onplan("fork", session, f"--at={at}")
    assert (ran.exit_code, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert told in ran.stderr
    assert len(listed()) == 1


def test_a_fork_goes_its_own_way(session: str, script: Script):
    run("fork", session, "--at", "r1")
    other = script(todos("[~] look", "[ ] sing"), "La.", "La.")
    assert onplan("resume", "-p", "otherwise", "--auto", "--model", other).exit_code == 4
    assert run("plan", "show").splitlines()[1:] == ["   [~] look", "   [ ] sing"]
    assert run("plan", "show", "--session", session).splitlines()[0] == "plan r3 · 2/2 done"


def test_a_session_that_goes_on_has_the_rules_that_were_saved_and_no_auto_mode(
    work: Path, home: Path, script: Script
):
    touches = [call("bash", command="touch saved"), call("bash", command="ls"), "Tried."]
    assert onplan("-p", "x", "--auto", "--model", script("Hi.")).exit_code == 0
    home.joinpath("settings.toml").write_text('[permissions]\nallow = ["bash(touch saved)"]\n')
    ran = onplan("resume", "-p", "go on", "--model", script(*touches))
    assert (ran.exit_code, (work / "saved").exists()) == (3, True)
    assert [line.split()[:3] for line in run("show", "--audit").splitlines()] == [
        ["allow", "bash", "touch"],
        ["deny", "bash", "ls"],
    ]


# --- completion -------------------------------------------------------------------------------------


def completions(line: str) -> list[str]:
    """What zsh would be offered: `value` or `value:help`, at the end of `line`."""
    words = line.split(" ")
    ran = process(
        env={
            **os.environ,
            "_ONPLAN_COMPLETE": "zsh_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    fields = ran.stdout.decode().splitlines()
    return [
        f"{value}:{told}" if told != "_" else value
        for value, told in zip(fields[1::3], fields[2::3], strict=True)
    ]


def test_commands_options_sessions_revisions_and_tools_complete(session: str):
    assert {
        "fork:Begin a new session from any point of another.",
        "plan:Show, compare, undo, redo or edit a session's plan.",
    } <= set(completions("onplan "))
    assert completions("onplan resume ") == ["latest:the newest", f"{session}:Do the job"]
    assert completions(f"onplan show {session[:3]}") == [f"{session}:Do the job"]
    assert completions("onplan sessions delete l") == ["latest:the newest"]
    assert completions("onplan plan at ") == ["3:x1", "2:>1 x1", "1:+2 >1"]
    assert completions(f"onplan plan diff --session {session} 1 2") == ["2:>1 x1"]
    assert completions(f"onplan fork {session} --at r") == ["r3:x1", "r2:>1 x1", "r1:+2 >1"]
    assert completions("onplan tools read_") == ["read_todos", "read_file"]
    assert completions("onplan --plan re") == ["require"]


def test_completion_makes_no_store_and_says_nothing_of_a_broken_one(home: Path, work: Path):
    assert completions("onplan resume ") == []
    assert not home.exists()
    home.mkdir()
    (home / "sessions.sqlite3").mkdir()
    assert completions("onplan resume ") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_script(session: str, work: Path):
    script = run("completion", "bash")
    (work / "bin").mkdir()
    command = work / "bin" / "onplan"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m onplan "$@"\n')
    command.chmod(0o755)
    words = f"COMP_WORDS=(onplan resume {session[:2]}); COMP_CWORD=2"
    asks = f'{words}; _onplan_completion onplan; echo "${{COMPREPLY[@]}}"'
    ran = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\n{asks}"],
        env={**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert (ran.stdout, ran.stderr) == (f"{session}\n", "")


@pytest.mark.parametrize(
    ("shell", "word"), [("bash", "complete -o"), ("zsh", "#compdef onplan"), ("fish", "--command onplan")]
)
def test_each_shell_gets_its_script(shell: str, word: str):
    assert word in run("completion", shell)
    assert onplan("completion", "csh").exit_code == 2


# --- what a run begins with -------------------------------------------------------------------------


def test_a_run_says_which_instructions_it_reads_and_what_is_not_committed(
    work: Path, script: Script, home: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    subprocess.run(["git", "init", "-q", "-b", "main", "."], check=True)
    home.mkdir()
    (home / "AGENTS.md").write_text("Be brief.")
    (work / "AGENTS.md").write_text("Use tabs.")
    ran = onplan("-p", "x", "--model", script("Hi."))
    assert ran.stderr.splitlines()[:2] == [
        f"instructions: {home}/AGENTS.md, AGENTS.md",
        "git: 1 new file not committed (on main); onplan commits nothing on its own",
    ]
    ran = onplan("-p", "x", "--model", script("Hi."), "--output-format", "stream-json")
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert events[0]["system"].index("Be brief.") < events[0]["system"].index("Use tabs.")
    assert [event["kind"] for event in events if event["type"] == "note"] == ["git"]


def test_the_demo_model_writes_an_agents_file_when_init_asks_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    project = shutil.copytree(REPOSITORY / "examples" / "project", tmp_path / "project")
    monkeypatch.chdir(project)
    run("-p", init_message(project), "--model", "demo", "--auto")
    written = (project / "AGENTS.md").read_text()
    assert written.startswith("# tidemark\n")
    assert "- `src/tidemark/lines.py`: Reads log lines" in written
    assert "python -m pytest" in written
    assert run("plan", "show").splitlines()[0] == "plan r5 · 4/4 done"
    assert init_message(project).startswith("Improve the AGENTS.md of this project")
    again = run("-p", init_message(project), "--model", "demo", "--auto")
    assert "This project has an AGENTS.md already" in again
    assert (project / "AGENTS.md").read_text() == written


def test_a_run_that_goes_on_tells_the_plan_it_has(session: str, script: Script):
    ran = onplan("resume", "-p", "more", "--model", script("Fine."), "--output-format", "stream-json")
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [event["type"] for event in events[:4]] == ["session", "resumed", "plan", "user"]
    assert events[2] == {
        "type": "plan",
        "revision": 3,
        "todos": [{"content": "look", "status": "completed"}, {"content": "write", "status": "completed"}],
        "distance": {"messages": 1, "tokens": 3},
    }


def test_the_docs_name_every_field_of_every_event():
    page = (REPOSITORY / "docs" / "headless.md").read_text(encoding="utf-8")
    rows = [
        line
        for line in page.partition("\n## `--output-format stream-json`")[2].splitlines()
        if line.startswith("| `")
    ]
    missing: list[str] = []
    for kind in get_args(Event):
        tag = kind.__struct_config__.tag
        (row, *_) = [line for line in rows if f"`{tag}`" in line.split("|")[1]] or [""]
        told = set(re.findall(r"`(\w+)`", row))
        missing += [f"{tag}.{field.name}" for field in msgspec.structs.fields(kind) if field.name not in told]
    assert missing == []
