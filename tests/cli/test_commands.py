"""The commands: sessions, show, plan, tools, demo; help, documentation, errors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from command_line import PATIENCE, Person, call, onplan, process, todos

from onplan.cli.main import COMMANDS, cli
from onplan.cli.options import DIALECT_NAMES
from onplan.cli.signals import HANGS_AFTER, Interruption
from onplan.coding import coding_tools
from onplan.config import trained_on
from onplan.plan.dialect import DIALECTS
from onplan.plan.settings import find_dialect

Script = Callable[..., str]
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def session(work: Path, script: Script) -> str:
    """A session with two plan writes and a call between them; its id."""
    model = script(
        todos("[~] look", "[ ] write"),
        call("bash", command="echo hi"),
        todos("[x] look", "[~] write"),
        todos("[x] look", "[x] write"),
        "All done.",
    )
    ran = onplan("-p", "Do the job", "--auto", "--model", model, "--output-format", "json")
    return json.loads(ran.stdout)["session"]


# --- sessions and show ------------------------------------------------------------------------------


def test_sessions_are_listed_with_what_a_person_needs_to_choose(session: str, work: Path):
    heading, line = onplan("sessions").stdout.splitlines()
    assert heading.split() == ["id", "age", "todos", "cost", "ended", "title"]
    assert line.split() == [session, "now", "2/2", "-", "done", "Do", "the", "job", str(work)]
    (told,) = json.loads(onplan("sessions", "--json").stdout)
    assert (told["id"], told["done"], told["total"], told["ended"]) == (session, 2, 2, "done")


def test_the_newest_twenty_are_listed_and_all_of_them_on_request(work: Path, script: Script):
    model = script("Hi.")
    for _ in range(21):
        onplan("-p", "x", "--model", model)
    assert len(json.loads(onplan("sessions", "--json").stdout)) == 20
    assert onplan("sessions").stdout.splitlines()[-1] == "… and older ones: onplan sessions --all"
    assert len(json.loads(onplan("sessions", "--json", "--all").stdout)) == 21


def test_show_is_the_run_as_a_timeline(session: str, work: Path):
    assert onplan("show", session[:4]).stdout.splitlines() == [
        f"session {session}  {work}",
        " 1 model scripted, plan tool write_todos",
        " 2 turn 1  Do the job",
        " 3   round 1",
        " 6     · write_todos (2 items) → r1 +2 >1",
        "          + added: look",
        "          + added: write",
        "          > started: look",
        " 7   round 2",
        "10     · bash echo hi → hi",
        "11   round 3",
        "14     · write_todos (2 items) → r2 >1 x1",
        "          > started: write",
        "          x finished: look",
        "15   round 4",
        "18     · write_todos (2 items) → r3 x1",
        "          x finished: write",
        "19   reply  All done.",
        "20   ended: done · 4 rounds · 5 requests",
        "21 session ended: closed",
        "distance of the plan  at most 2 messages; w write, r reminder",
        "  ·▁▆▁·",
        "  w ww",
        "figures  5 model calls, 4 rounds, 1 call of other tools than the plan's",
        "  plan: 3 writes, 0 refused, 0 unchanged, 0 reads, 0 dropped, 0 by you",
        "  distance at most 2 messages, 11 tokens; 0 reminders",
    ]


def test_the_audit_names_every_verdict(session: str):
    assert onplan("show", "--audit").stdout.splitlines() == [
        "allow  write_todos (2 items)  by auto",
        "allow  bash echo hi  by auto",
        "allow  write_todos (2 items)  by auto",
        "allow  write_todos (2 items)  by auto",
    ]


def test_show_as_json_holds_every_record(session: str):
    told = json.loads(onplan("show", session, "--json").stdout)
    assert told["session"]["id"] == session
    assert [item["seq"] for item in told["records"]] == list(range(1, len(told["records"]) + 1))
    assert told["records"][0]["record"]["type"] == "session"


def test_reading_does_not_change_a_session(session: str):
    before = onplan("show", session, "--json").stdout
    for arguments in (["show"], ["show", "--audit"], ["plan", "show"], ["plan", "stats"], ["sessions"]):
        onplan(*arguments)
    assert onplan("show", session, "--json").stdout == before


# --- plan -------------------------------------------------------------------------------------------


def test_the_plan_and_its_history_can_be_read(session: str):
    assert onplan("plan", "show").stdout.splitlines() == [
        "plan r3 · 2/2 done",
        "   [x] look",
        "   [x] write",
    ]
    assert onplan("plan", "at", "1").stdout.splitlines() == [
        "plan r1 · 0/2 done",
        "   [~] look",
        "   [ ] write",
    ]
    assert onplan("plan", "diff").stdout.splitlines() == ["r2 → r3", " x finished: write"]
    assert onplan("plan", "diff", "1", "2").stdout.splitlines() == [
        "r1 → r2",
        " > started: write",
        " x finished: look",
    ]
    assert json.loads(onplan("plan", "diff", "1", "--json").stdout) == {
        "session": session,
        "from": 1,
        "to": 3,
        "diff": {"finished": ["look", "write"]},
    }
    assert json.loads(onplan("plan", "show", "--json").stdout)["revision"] == 3
    assert json.loads(onplan("plan", "stats", "--json").stdout)["figures"]["writes"] == 3


def test_undo_and_redo_are_revisions_of_their_own(session: str):
    assert onplan("plan", "undo").stdout.splitlines() == [
        "plan r4 by you · 1/2 done",
        "   [x] look",
        " ~ [~] write",
    ]
    assert onplan("plan", "redo").stdout.splitlines()[0] == "plan r5 by you · 2/2 done"
    refused = onplan("plan", "redo")
    assert (refused.exit_code, refused.stderr) == (
        1,
        "onplan: nothing to redo: nothing was undone since the last change\n",
    )
    (told,) = json.loads(onplan("sessions", "--json").stdout)
    assert (told["done"], told["total"]) == (2, 2)


def test_the_plan_is_edited_as_a_checklist(session: str, work: Path):
    (work / "todos.md").write_text("# mine\n- [x] look\n- [~] check\n")
    assert onplan("plan", "edit", "--file", "todos.md").stdout.splitlines() == [
        "plan r4 by you · 1/2 done",
        "   [x] look",
        " + [~] check",
        " - cleared: write",
    ]
    assert onplan("plan", "edit", "--file", "-", input="- [ ] one\n").exit_code == 0
    assert onplan("plan", "show").stdout.splitlines() == ["plan r5 · 0/1 done", "   [ ] one"]
    same = onplan("plan", "edit", "--file", "-", input="- [ ] one\n")
    assert same.stdout == "nothing changed: that is the plan already\n"
    assert onplan("plan", "edit", "--clear").stdout.splitlines()[0] == "plan r6 by you · 0/0 done"


def test_the_editor_gets_the_plan_and_its_changes_count(
    session: str, work: Path, monkeypatch: pytest.MonkeyPatch
):
    editor = work / "editor"
    editor.write_text(f'#!/bin/sh\ncp "$1" {work}/seen\nprintf -- \'- [ ] mine\\n\' >"$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    assert onplan("plan", "edit").stdout.splitlines()[:2] == ["plan r4 by you · 0/1 done", " + [ ] mine"]
    assert (work / "seen").read_text().splitlines()[-2:] == ["- [x] look", "- [x] write"]


@pytest.mark.parametrize(
    ("checklist", "told"),
    [
        ("", "nothing changed: the checklist holds no todos (--clear empties the plan)"),
        ("# only a comment\n", "nothing changed: the checklist holds no todos (--clear empties the plan)"),
        ("- [~] a\n- [~] b\n", "nothing changed: Only one todo can be in_progress at a time"),
        ("just words\n", "nothing changed: todos must be a list"),
    ],
)
def test_a_checklist_that_is_none_changes_nothing(session: str, checklist: str, told: str):
    ran = onplan("plan", "edit", "--file", "-", input=checklist)
    assert ran.exit_code == 1
    assert ran.stderr.startswith(f"onplan: {told}")
    assert json.loads(onplan("plan", "show", "--json").stdout)["revision"] == 3


@pytest.mark.parametrize(
    ("editor", "told"),
    [("false", "the editor false ended with 1"), ("./nothing", "the editor ./nothing cannot be started")],
)
def test_an_editor_that_fails_changes_nothing(
    session: str, monkeypatch: pytest.MonkeyPatch, editor: str, told: str
):
    monkeypatch.setenv("EDITOR", editor)
    ran = onplan("plan", "edit")
    assert ran.exit_code == 1
    assert told in ran.stderr


# --- resume -----------------------------------------------------------------------------------------


def test_resume_goes_on_in_the_directory_of_the_session(
    session: str, work: Path, tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    model = script(call("bash", command="touch here"), "Done.")
    assert onplan("resume", session, "-p", "more", "--auto", "--model", model).exit_code == 0
    assert (work / "here").exists()
    shutil.rmtree(work)
    gone = onplan("resume", session, "-p", "more", "--model", model)
    assert (gone.exit_code, gone.stderr) == (
        1,
        f"onplan: session {session} worked in {work}, which is gone: give --cwd DIR\n",
    )


def test_a_resumed_session_keeps_its_dialect(work: Path, script: Script):
    onplan("-p", "x", "--dialect", "TodoWrite", "--model", script("Hi."))
    plan = call("TodoWrite", todos=[{"content": "a", "status": "completed"}])
    ran = onplan("resume", "-p", "y", "--auto", "--model", script(plan, "Done."), "--output-format", "json")
    assert json.loads(ran.stdout)["revision"] == 1


# --- tools ------------------------------------------------------------------------------------------


def test_tools_show_what_the_model_sees_and_what_the_runtime_fills():
    shown = onplan("tools", "bash").stdout
    assert "the model sees 2 parameters" in shown
    assert "the runtime fills 2\n    shell: Shell\n    ctx: Ctx\n" in shown
    assert '"shell"' not in shown
    leaking = onplan("tools", "bash", "--without-injection").stdout
    assert "would leak without the annotation: shell, ctx" in leaking
    assert '"shell"' in leaking


def test_tools_as_json_are_the_schemas_that_are_sent():
    told = {tool["name"]: tool for tool in json.loads(onplan("tools", "--json").stdout)}
    assert {tool.name: tool.input_schema for tool in coding_tools()}.items() <= {
        name: tool["input_schema"] for name, tool in told.items()
    }.items()
    assert list(told) == ["write_todos", "read_todos", *(tool.name for tool in coding_tools())]


# --- demo -------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(REPOSITORY / "examples" / "project", tmp_path / "project"))


def test_the_demo_writes_a_readme_and_says_that_the_model_was_scripted(project: Path):
    ran = onplan("demo", str(project), "--auto")
    assert ran.exit_code == 0
    readme = (project / "README.md").read_text()
    assert readme in ran.stdout
    assert "Rule for this run: reading and planning tools are allowed; writing too (--auto)." in ran.stdout
    assert "reply 1  I begin with a plan." in ran.stdout
    assert "plan r5 · 4/4 done" in ran.stdout
    assert "The model was scripted." in ran.stdout
    figures = ran.stdout[ran.stdout.rindex("figures") :]
    for figure in ("model calls", "tool calls", "plan writes", "1 file written", "messages", "0 reminders"):
        assert figure in figures


def test_the_demo_asks_before_it_writes(project: Path, person: Callable[..., Person]):
    someone = person("demo", str(project))
    shown = someone.sees("n> ")
    assert "reading and planning tools are allowed; writing asks" in shown
    assert "onplan asks: run write_file?" in shown
    assert "│ README.md" in shown
    assert not (project / "README.md").exists()
    someone.types("y\n")
    assert someone.leaves() == 0
    assert (project / "README.md").exists()


def test_the_demo_without_a_person_does_not_write(project: Path):
    ran = onplan("demo", str(project))
    assert ran.exit_code == 3
    assert "nobody was there to ask; --auto lets calls run" in ran.stdout
    assert not (project / "README.md").exists()


# --- help and documentation -------------------------------------------------------------------------


def every_command(group: click.Group, path: str = "onplan") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from every_command(command, f"{path} {name}")


ALL = [("onplan", cli), *every_command(cli)]


@pytest.mark.parametrize("path", [path for path, _ in ALL])
def test_the_help_of_every_command_has_an_example(path: str):
    ran = onplan(*path.split()[1:], "--help")
    assert ran.exit_code == 0
    assert "Example" in ran.stdout
    assert f"  {path}" in ran.stdout.partition("Example")[2]


def test_every_command_and_every_option_of_a_run_is_documented():
    page = (REPOSITORY / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [path for path, _ in ALL if f"`{path}" not in page and f"\n{path} " not in page] == []
    options = [option for _, command in ALL for param in command.params for option in param.opts]
    assert [option for option in options if option.startswith("--") and f"`{option}" not in page] == []


def test_the_list_of_commands_says_what_their_help_says():
    commands = dict(ALL)
    assert {name: entry.short_help for name, entry in COMMANDS.items()} == {
        name: commands[f"onplan {name}"].short_help for name in COMMANDS
    }


def test_the_dialects_that_are_offered_are_those_there_are():
    assert set(DIALECT_NAMES) == set(DIALECTS)


@pytest.mark.parametrize(
    ("model", "dialect"),
    [
        ("claude-sonnet-4-5", "TodoWrite"),
        ("anthropic:claude-x", "TodoWrite"),
        ("gpt-5", "update_plan"),
        ("openai/o3", "update_plan"),
        ("demo", "write_todos"),
        ("script:gpt.json", "write_todos"),
    ],
)
def test_auto_picks_the_dialect_of_the_model_family(model: str, dialect: str):
    assert trained_on(model) == find_dialect(dialect).name


# --- errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["show", "zz"], 1, "no session has the id 'zz'"),
        (["show"], 1, "no session"),
        (["resume", "zz", "-p", "x"], 1, "no session has the id 'zz'"),
        (["plan", "undo"], 1, "no session"),
        (["-p", "x", "--model", "claude-sonnet"], 1, "needs a key: set ANTHROPIC_API_KEY"),
        (["-p", "x", "--model", "llama"], 1, "the model 'llama' is not known: use --model anthropic:NAME"),
        (["-p", "x"], 1, "no model is set. Set ANTHROPIC_API_KEY or OPENAI_API_KEY"),
        (["-p", "x", "--model", "script:"], 1, "script: needs a file"),
        (["-p", "x", "--model", "script:nothing.json"], 1, "the script nothing.json cannot be read"),
        (["-p", "x", "--cwd", "nothing"], 1, "nothing is not a directory"),
        (["-p", "x", "--preset", "tutorial", "--dialect", "TodoWrite"], 1, "no seed describes TodoWrite"),
        (["demo", "nothing"], 1, "nothing is not a directory"),
        (["plan", "edit", "--file", "nothing"], 1, "no session"),
        (["fix it"], 2, "no command is named 'fix it'"),
        (["--plan", "maybe"], 2, "'maybe' is not one of"),
        (["--auto", "demo", "."], 2, "put the options behind the command: onplan demo"),
        (["--max-rounds", "0", "-p", "x"], 2, "0 is not in the range"),
        (["plan", "at", "x"], 2, "'x' is not a valid integer"),
        (["tools", "nothing"], 2, "no tool is named 'nothing'"),
        (["show", "--audit", "--json"], 2, "give --audit or --json, not both"),
    ],
)
def test_an_error_is_one_line_with_the_way_out(work: Path, arguments: list[str], code: int, told: str):
    ran = onplan(*arguments)
    assert (ran.exit_code, ran.stdout) == (code, "")
    assert ran.stderr.startswith("onplan: ")
    assert told in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_model_id_names_the_model_where_no_flag_does(
    work: Path, script: Script, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MODEL_ID", script("From the environment."))
    assert onplan("-p", "x").stdout == "From the environment.\n"


def test_a_home_that_cannot_be_used_is_an_error_in_one_line(home: Path, work: Path):
    home.write_text("a file")
    for arguments in (["sessions"], ["-p", "x"], ["plan", "show"], ["demo", "."]):
        ran = onplan(*arguments)
        assert (ran.exit_code, ran.stderr.count("\n")) == (1, 1)
        assert "set ONPLAN_HOME to another directory" in ran.stderr


def test_a_traceback_is_shown_with_debug_alone(work: Path):
    shown = process("show", "zz", "--debug")
    assert (shown.returncode, b"Traceback" in shown.stderr) == (1, True)
    assert "Traceback" not in onplan("show", "zz").output


def test_a_current_directory_that_is_gone_is_an_error_in_one_line(work: Path):
    command = f'rmdir "{work}" && exec "{sys.executable}" -m onplan -p x'
    ran = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 1
    assert b"Traceback" not in ran.stderr
    assert b"the current directory is gone" in ran.stderr


# --- Ctrl-C, when cancelling hangs ------------------------------------------------------------------


class Stuck:
    """An agent whose turn does not end."""

    def interrupt(self) -> bool:
        return True


def test_more_ctrl_c_leave_only_once_cancelling_has_hung_for_a_second():
    now, left = [0.0], list[int]()
    interruption = Interruption(clock=lambda: now[0], leave_now=left.append)
    interruption.watch(Stuck())
    for at in (0.0, 0.05, HANGS_AFTER):
        now[0] = at
        interruption.cancel_turn()
    assert left == []
    now[0] = HANGS_AFTER + 0.01
    interruption.cancel_turn()
    assert left == [130]


def test_a_turn_that_ended_starts_the_count_anew():
    now, left = [0.0], list[int]()
    interruption = Interruption(clock=lambda: now[0], leave_now=left.append)
    interruption.watch(Stuck())
    interruption.cancel_turn()
    interruption.turn_ended()
    now[0] = 10.0
    interruption.cancel_turn()
    assert left == []


# --- starting ---------------------------------------------------------------------------------------

_HEAVY = ("anthropic", "openai", "langchain", "langgraph", "pydantic", "rich", "asyncio", "msgspec")


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_asking_for_version_or_help_imports_nothing_heavy(flag: str):
    program = (
        "import sys\nfrom onplan.__main__ import main\n"
        f"code = main([{flag!r}])\nsys.stderr.write('\\n'.join([str(code), *sys.modules]))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=PATIENCE, check=True)
    code, *modules = ran.stderr.decode().splitlines()
    assert code == "0"
    assert {module for module in modules if module.partition(".")[0].startswith(_HEAVY)} == set()
    assert ("click" in modules) == (flag == "--help")


def test_the_version_is_the_same_both_ways():
    fast = process("--version").stdout.decode()
    assert onplan("--version").stdout == fast
