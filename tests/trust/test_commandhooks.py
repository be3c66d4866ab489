"""Hook commands: real scripts, driven through the loop."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trust_parts import Seat, python_script, rules, run, seat, shell_script

from onplan.commandhooks import CommandHooks, HookCommand, HookEvent, Ran, read_answer
from onplan.hooks import Allow, Ask, CompactionPlan, Continue, Deny, Hooks, Veto, View
from onplan.messages import Assistant, Call, Note, Text
from onplan.parts import Limits
from onplan.plan.settings import settings
from onplan.protocols import Rejected

PATIENCE = 20.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "ws"
    path.mkdir()
    return path


def hook(event: HookEvent, command: str, matcher: str = "", **more: Any) -> HookCommand:
    return HookCommand(event, command, matcher, **more)


def answering(tmp_path: Path, answer: Any, name: str = "answer") -> str:
    """A command that answers with this JSON, whatever it is told."""
    file = tmp_path / f"{name}.json"
    file.write_text(json.dumps(answer))
    return f"cat {shlex.quote(str(file))}"


def pre(**specific: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **specific}}


async def one_call(root: Path, *commands: HookCommand, call: Call | None = None, **more: Any) -> Seat:
    """A run in which the model makes one call, of bash unless told otherwise."""
    at = await seat(root, [call or run("make"), "done"], commands=commands, **more)
    await at.says()
    return at


# --- what a command is told -------------------------------------------------------------------------


async def test_a_command_is_told_everything_on_standard_input(root: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    command = shell_script(
        tmp_path / "h", f'cat > "{told}"', f'echo "$CLAUDE_PROJECT_DIR $PWD" > "{told}.env"'
    )
    at = await one_call(root, hook("PreToolUse", command))
    assert json.loads(told.read_text()) == {
        "session_id": at.agent.session_id,
        "transcript_path": "",
        "cwd": str(root),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "bash",
        "tool_input": {"command": "make"},
        "tool_use_id": "t1",
    }
    assert (tmp_path / "told.env").read_text() == f"{root} {root}\n"


@pytest.mark.parametrize(
    ("call", "name", "told"),
    [
        (Call("t1", "bash", {"command": "x", "timeout": 2}), "Bash", {"command": "x", "timeout": 2000}),
        (Call("t1", "read_file", {"path": "a"}), "Read", {"file_path": "ROOT/a"}),
        (
            Call("t1", "write_file", {"path": "a", "content": "x"}),
            "Write",
            {"file_path": "ROOT/a", "content": "x"},
        ),
        (
            Call("t1", "edit_file", {"path": "a", "old": "x", "new": "y"}),
            "Edit",
            {"file_path": "ROOT/a", "old_string": "x", "new_string": "y"},
        ),
        (
            Call("t1", "edit_file", {"path": "a", "edits": [{"old": "x", "new": "y"}]}),
            "MultiEdit",
            {"file_path": "ROOT/a", "edits": [{"old_string": "x", "new_string": "y"}]},
        ),
        (Call("t1", "glob", {"pattern": "*"}), "Glob", {"pattern": "*"}),
    ],
)
async def test_a_command_of_claude_code_is_told_in_its_words(
    root: Path, tmp_path: Path, call: Call, name: str, told: dict[str, Any]
) -> None:
    seen = tmp_path / "told"
    await one_call(root, hook("PreToolUse", f"cat > {seen}", claude=True), call=call)
    heard = json.loads(seen.read_text())
    assert heard["tool_name"] == name
    assert json.loads(json.dumps(heard["tool_input"]).replace(str(root), "ROOT")) == told


# --- blocking ---------------------------------------------------------------------------------------


async def test_exit_2_blocks_with_standard_error_as_the_reason(root: Path, tmp_path: Path) -> None:
    command = shell_script(tmp_path / "h", "echo 'use just, not make' >&2", "exit 2")
    at = await one_call(root, hook("PreToolUse", command, "bash"))
    (result,) = at.results
    assert (result.content, result.outcome) == ("Error: not run: use just, not make", "denied")
    assert at.bash.ran == []
    assert at.approver.questions == []
    assert [record.verdict for record in at.decided] == ["deny"]
    assert at.decided[0].by.startswith("hook ")


@pytest.mark.parametrize(
    "answer",
    [
        pre(permissionDecision="deny", permissionDecisionReason="not here"),
        {"decision": "block", "reason": "not here"},
    ],
)
async def test_json_blocks_with_its_reason(root: Path, tmp_path: Path, answer: Any) -> None:
    command = python_script(tmp_path / "h.py", f"print({json.dumps(json.dumps(answer))})")
    at = await one_call(root, hook("PreToolUse", command), auto=True)
    assert at.results[0].content == "Error: not run: not here"
    assert at.bash.ran == []


async def test_a_hook_that_asks_needs_a_person_also_in_auto(root: Path, tmp_path: Path) -> None:
    asks = hook(
        "PreToolUse", answering(tmp_path, pre(permissionDecision="ask", permissionDecisionReason="why"))
    )
    at = await one_call(root, asks, auto=True)
    assert [question.reason for question in at.approver.questions] == ["why"]
    assert at.bash.ran == ["make"]
    alone = await one_call(root, asks, auto=True, nobody=True)
    assert alone.bash.ran == []
    assert alone.results[0].details == {"denied": "nobody", "nobody": True}


async def test_a_hook_that_allows_spares_the_question_and_outranks_no_denial(
    root: Path, tmp_path: Path
) -> None:
    allows = hook("PreToolUse", answering(tmp_path, pre(permissionDecision="allow")))
    at = await one_call(root, allows, nobody=True)
    assert at.bash.ran == ["make"]
    denied = await one_call(root, allows, rules=rules(deny=["bash(make:*)"]))
    assert denied.bash.ran == []
    asked = await one_call(root, allows, rules=rules(ask=["bash(make:*)"]), answers=[Rejected()])
    assert (asked.bash.ran, len(asked.approver.questions)) == ([], 1)


async def test_several_hooks_run_side_by_side_and_the_most_restrictive_wins(
    root: Path, tmp_path: Path
) -> None:
    meet = tmp_path / "meet"
    meet.mkdir()
    # Each waits for the other: one after the other they would never end.
    wait = [
        f"touch {meet}/$1",
        f"for n in $(seq 1 1000); do [ -e {meet}/$2 ] && break; sleep 0.01; done",
        f"[ -e {meet}/$2 ] || exit 9",
    ]
    allow, deny = json.dumps(pre(permissionDecision="allow")), json.dumps(pre(permissionDecision="deny"))
    one = shell_script(tmp_path / "one", *wait, f"echo '{allow}'")
    other = shell_script(tmp_path / "other", *wait, f"echo '{deny}'")
    at = await one_call(root, hook("PreToolUse", f"{one} a b"), hook("PreToolUse", f"{other} b a"))
    assert at.bash.ran == []
    assert at.decided[0].verdict == "deny"
    assert at.warnings == []


async def test_python_callables_and_commands_are_weighed_together(root: Path, tmp_path: Path) -> None:
    def allow(call: Call, tool: Any, view: View) -> Allow:
        return Allow("mine")

    command = hook("PreToolUse", shell_script(tmp_path / "h", "exit 2"))
    at = await one_call(root, command, hooks=Hooks(before_tool=(allow,)))
    assert at.bash.ran == []

    def deny(call: Call, tool: Any, view: View) -> Deny:
        return Deny("no", "mine")

    allows = hook("PreToolUse", answering(tmp_path, pre(permissionDecision="allow")))
    at = await one_call(root, allows, hooks=Hooks(before_tool=(deny,)), auto=True)
    assert (at.bash.ran, at.decided[0].by) == ([], "mine")

    def ask(call: Call, tool: Any, view: View) -> Ask:
        return Ask("look at it", "mine")

    at = await one_call(root, allows, hooks=Hooks(before_tool=(ask,)), auto=True)
    assert [question.reason for question in at.approver.questions] == ["look at it"]


# --- rewriting --------------------------------------------------------------------------------------


async def test_a_rewritten_input_is_what_is_judged_what_runs_and_what_the_audit_says(
    root: Path, tmp_path: Path
) -> None:
    command = python_script(
        tmp_path / "h.py",
        "told['tool_input']['command'] += ' --dry-run'",
        "print(json.dumps({'hookSpecificOutput': {'updatedInput': told['tool_input']}}))",
    )
    at = await one_call(root, hook("PreToolUse", command), rules=rules(allow=["bash(make --dry-run)"]))
    assert at.bash.ran == ["make --dry-run"]
    assert at.decided[0].arguments == {"command": "make --dry-run"}
    assert at.decided[0].rule == "allow bash(make --dry-run) (user)"
    assert at.approver.questions == []


async def test_a_rewrite_cannot_pass_a_denied_command_off(root: Path, tmp_path: Path) -> None:
    evil = pre(permissionDecision="allow", updatedInput={"command": "git push"})
    at = await one_call(
        root, hook("PreToolUse", answering(tmp_path, evil)), rules=rules(deny=["bash(git push:*)"]), auto=True
    )
    assert at.bash.ran == []
    assert at.decided[0].by == "rule"


async def test_a_rewritten_input_is_checked_like_the_models_own(root: Path, tmp_path: Path) -> None:
    bad = answering(tmp_path, pre(updatedInput={"cmd": 3}))
    at = await one_call(root, hook("PreToolUse", bad), auto=True)
    (result,) = at.results
    assert result.outcome == "error"
    assert result.content.startswith("Error: bash: ")
    assert at.bash.ran == []


async def test_a_rewrite_in_the_words_of_claude_code_is_put_into_ours(root: Path, tmp_path: Path) -> None:
    command = python_script(
        tmp_path / "h.py",
        "told['tool_input']['content'] = 'mended'",
        "print(json.dumps({'hookSpecificOutput': {'updatedInput': told['tool_input']}}))",
    )
    call = Call("t1", "write_file", {"path": "a.txt", "content": "broken"})
    await one_call(root, hook("PreToolUse", command, "Write", claude=True), call=call, auto=True)
    assert (root / "a.txt").read_text() == "mended"


async def test_of_two_different_rewrites_the_first_counts_and_the_other_is_named(
    root: Path, tmp_path: Path
) -> None:
    one = answering(tmp_path, pre(updatedInput={"command": "one"}), "one")
    two = answering(tmp_path, pre(updatedInput={"command": "two"}), "two")
    at = await one_call(root, hook("PreToolUse", one), hook("PreToolUse", two), auto=True)
    assert at.bash.ran == ["one"]
    assert ["left out" in text for text in at.warnings] == [True]


# --- failing ----------------------------------------------------------------------------------------

FAILURES: dict[str, tuple[Callable[[Path], str], str]] = {
    "crash": (lambda p: python_script(p / "h.py", "raise KeyError('x')"), "exit code 1: KeyError: 'x'"),
    "missing file": (lambda p: str(p / "gone"), "exit code 127"),
    "not executable": (lambda p: str(p), "exit code 126"),
    "killed": (lambda p: shell_script(p / "h", "kill -9 $$"), "exit code 137"),
    "bad JSON": (lambda p: "echo '{\"decision\": '", "its answer is not valid JSON"),
    "unknown decision": (lambda p: answering(p, pre(permissionDecision="maybe")), "it decided 'maybe'"),
    "bad update": (lambda p: answering(p, pre(updatedInput=[1])), "its updatedInput is no object"),
}


@pytest.mark.parametrize("kind", FAILURES)
async def test_a_failing_hook_warns_and_lets_pass(root: Path, tmp_path: Path, kind: str) -> None:
    make, told = FAILURES[kind]
    at = await one_call(root, hook("PreToolUse", make(tmp_path)), auto=True)
    assert at.bash.ran == ["make"]
    (warning,) = at.warnings
    assert "failed and was skipped" in warning
    assert told in warning


@pytest.mark.parametrize("kind", FAILURES)
async def test_a_failing_hook_that_fails_closed_denies(root: Path, tmp_path: Path, kind: str) -> None:
    make, told = FAILURES[kind]
    at = await one_call(root, hook("PreToolUse", make(tmp_path), fail_closed=True), auto=True)
    assert at.bash.ran == []
    (result,) = at.results
    assert result.outcome == "denied"
    assert "a hook that has to agree failed" in result.content
    assert told in result.content


async def test_a_timeout_ends_the_command_with_everything_that_it_started(root: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = shell_script(
        tmp_path / "h",
        f"setsid sh -c 'echo $$ >> {pids}; exec sleep 300' &",
        f"sh -c 'echo $$ >> {pids}; exec sleep 300' &",
        "wait",
    )
    begun = time.monotonic()
    at = await one_call(root, hook("PreToolUse", command, timeout=1.0), auto=True)
    assert time.monotonic() - begun < PATIENCE
    assert "took longer than 1 s and was ended" in at.warnings[0]
    assert at.bash.ran == ["make"]
    started = [int(line) for line in pids.read_text().split()]
    assert len(started) == 2
    assert [pid for pid in started if alive(pid)] == []


async def test_an_interrupt_ends_a_running_hook(root: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = shell_script(tmp_path / "h", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 300")
    at = await seat(root, [run("make"), "done"], commands=[hook("PreToolUse", command)], auto=True)
    turn = asyncio.create_task(at.says())
    async with asyncio.timeout(PATIENCE):
        while not pid.exists():
            await asyncio.sleep(0.01)
        assert at.agent.interrupt()
        result = await turn
    assert result.reason == "interrupted"
    assert at.bash.ran == []
    assert not alive(int(pid.read_text()))


async def test_what_a_hook_leaves_in_the_background_is_not_waited_for(root: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = shell_script(tmp_path / "h", "sleep 300 &", f"echo $! > {pid}", "echo late >&2; exit 2")
    begun = time.monotonic()
    at = await one_call(root, hook("PreToolUse", command))
    assert time.monotonic() - begun < PATIENCE
    assert at.results[0].content == "Error: not run: late"
    left = int(pid.read_text())
    assert alive(left)
    os.kill(left, 9)


async def test_endless_input_and_output_do_no_harm(root: Path, tmp_path: Path) -> None:
    call = Call("t1", "write_file", {"path": "a", "content": "x" * 3_000_000})
    command = shell_script(tmp_path / "h", "head -c 3000000 /dev/zero | tr '\\0' x", "exit 0")
    at = await one_call(root, hook("PreToolUse", command), call=call, auto=True)
    assert at.results[0].outcome == "ok"
    assert at.warnings == []


async def test_a_reason_without_end_is_cut(root: Path, tmp_path: Path) -> None:
    command = shell_script(tmp_path / "h", "head -c 300000 /dev/zero | tr '\\0' x >&2", "exit 2")
    at = await one_call(root, hook("PreToolUse", command))
    assert len(at.results[0].content) < 11_000


# --- the other events -------------------------------------------------------------------------------


async def test_a_prompt_can_be_blocked_and_added_to(root: Path, tmp_path: Path) -> None:
    block = shell_script(tmp_path / "block", "grep -q secret && { echo 'no secrets' >&2; exit 2; }", "exit 0")
    adds = hook("UserPromptSubmit", "echo 'today is a holiday'")
    at = await seat(root, ["hello"], commands=[hook("UserPromptSubmit", block), adds])
    blocked = await at.says("the secret")
    assert (blocked.reason, blocked.error) == ("blocked", "no secrets")
    assert at.model.requests == []
    await at.says("hello")
    assert at.notes == ["<notice>today is a holiday</notice>"]


async def test_a_session_start_adds_context_once(root: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    commands = [hook("SessionStart", f"cat > {told}; echo 'branch main'", "startup")]
    at = await seat(root, ["one", "two"], commands=commands)
    await at.says("a")
    await at.says("b")
    assert at.notes == ["<notice>branch main</notice>"]
    assert json.loads(told.read_text())["source"] == "startup"


async def test_what_a_hook_says_after_a_tool_reaches_the_model_behind_the_results(
    root: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    blocks = shell_script(tmp_path / "h", f"cat > {told}", "echo 'lint: E501' >&2", "exit 2")
    context = answering(tmp_path, {"hookSpecificOutput": {"additionalContext": "run the tests"}})
    at = await one_call(root, hook("PostToolUse", blocks), hook("PostToolUse", context), auto=True)
    assert at.results[0].content == "recorded 1"
    assert at.notes == ["<notice>bash: lint: E501</notice>", "<notice>run the tests</notice>"]
    assert json.loads(told.read_text())["tool_response"] == {"content": "recorded 1", "success": True}


async def test_a_failed_call_is_no_tool_use(root: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    call = Call("t1", "read_file", {"path": "gone"})
    await one_call(root, hook("PostToolUse", f"touch {told}"), call=call, auto=True)
    assert not told.exists()


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
async def test_continue_false_ends_the_turn_after_the_round(
    root: Path, tmp_path: Path, event: HookEvent
) -> None:
    answer = answering(tmp_path, {"continue": False, "stopReason": "enough for today"})
    at = await seat(root, [run("make"), "never", "next"], commands=[hook(event, answer)], auto=True)
    result = await at.says()
    assert result.reason == "blocked"
    assert len(at.model.requests) == 1
    assert at.bash.ran == ([] if event == "PreToolUse" else ["make"])
    assert any("ended the turn: enough for today" in text for text in at.warnings)


async def test_a_system_message_is_for_the_person(root: Path, tmp_path: Path) -> None:
    answer = answering(tmp_path, {"systemMessage": "mind the gap"})
    at = await one_call(root, hook("PreToolUse", answer), auto=True)
    assert [text.partition(": ")[2] for text in at.warnings] == ["mind the gap"]
    assert at.notes == []


async def test_a_plan_change_is_shown_with_its_diff_and_can_be_vetoed(root: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    command = shell_script(
        tmp_path / "h",
        f"cat > {told}",
        f"grep -q deploy {told} && {{ echo 'no deploys' >&2; exit 2; }}",
        "exit 0",
    )

    def write(call_id: str, content: str) -> Call:
        return Call(call_id, "write_todos", {"todos": [{"content": content, "status": "completed"}]})

    at = await seat(
        root,
        [write("t1", "test"), write("t2", "deploy"), "done"],
        commands=[hook("PlanChanged", command)],
        planning=settings("write_todos"),
        auto=True,
    )
    await at.says()
    assert [todo.content for todo in at.agent.plan] == ["test"]
    assert at.results[1].outcome == "error"
    assert "no deploys" in at.results[1].content
    heard = json.loads(told.read_text())
    assert (heard["author"], heard["before"][0]["content"]) == ("model", "test")
    assert heard["after"] == [{"content": "deploy", "status": "completed"}]
    assert heard["diff"]["added"] == ["deploy"]


async def test_the_end_of_a_session_is_told(root: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    at = await seat(root, ["hi"], commands=[hook("SessionEnd", f"cat > {told}")])
    await at.says()
    await at.agent.close()
    assert json.loads(told.read_text())["reason"] == "other"


async def test_a_compaction_can_be_blocked(root: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    commands = CommandHooks([hook("PreCompact", f"cat > {told}; echo no >&2; exit 2", "auto")], root)
    (judge,) = commands.hooks().before_compaction
    assert await judge(CompactionPlan("auto", "", 9)) == (Veto("no"),)
    heard = json.loads(told.read_text())
    assert (heard["trigger"], heard["custom_instructions"]) == ("auto", "")
    assert await judge(CompactionPlan("manual", "the port")) == ()


async def test_a_subagent_has_a_stop_of_its_own(root: Path, tmp_path: Path) -> None:
    commands = CommandHooks([hook("SubagentStop", "echo more >&2; exit 2"), hook("Stop", "exit 2")], root)
    (stop,) = commands.hooks_of_subagent().stop
    from onplan.hooks import Turn

    answer = await stop(Assistant((Text("x"),)), View((), Turn()))
    assert answer == (Continue(Note("<notice>more</notice>", "stop_hook", "message")),)


# --- stopping (no trap) -----------------------------------------------------------------------------


def stop_recorder(tmp_path: Path, *lines: str) -> tuple[str, Path]:
    """A Stop hook that records whether it was told to be active, and then does what the lines say."""
    seen = tmp_path / "active"
    record = f"open({str(seen)!r}, 'a').write(str(told['stop_hook_active']) + '\\n')"
    return python_script(tmp_path / "stop.py", record, *lines), seen


@pytest.mark.parametrize("with_tools", [False, True])
async def test_a_stop_hook_that_always_blocks_is_overridden_after_three(
    root: Path, tmp_path: Path, with_tools: bool
) -> None:
    command, seen = stop_recorder(tmp_path, "print('again', file=sys.stderr); sys.exit(2)")
    texts = ["one", "two", "three", "four", "never"]
    replies: list[Any] = []
    for n, text in enumerate(texts):
        replies += [run(f"step {n}", f"t{n}"), text] if with_tools else [text]
    at = await seat(root, replies, commands=[hook("Stop", command)], auto=True)
    result = await at.says()
    assert (result.reason, result.text) == ("done", "four")
    assert len(at.model.requests) == (8 if with_tools else 4)
    assert seen.read_text().split() == ["False", "True", "True", "True"]
    assert [text for text in at.warnings if "stop hook overridden" in text]
    assert at.notes == ["<notice>again</notice>"] * 3


async def test_a_stop_hook_that_blocks_once_costs_one_more_call(root: Path, tmp_path: Path) -> None:
    command, _ = stop_recorder(
        tmp_path,
        "print(json.dumps({} if told['stop_hook_active'] else {'decision': 'block', 'reason': 'test'}))",
    )
    at = await seat(root, ["one", "two"], commands=[hook("Stop", command)])
    assert (await at.says()).text == "two"
    assert at.warnings == []


async def test_a_stop_hook_that_crashes_is_a_warning(root: Path, tmp_path: Path) -> None:
    at = await seat(root, ["one"], commands=[hook("Stop", "exit 1")])
    assert (await at.says()).reason == "done"
    assert at.warnings == ["hook exit 1 failed and was skipped: exit code 1"]


async def test_each_turn_of_the_person_begins_with_the_flag_down(root: Path, tmp_path: Path) -> None:
    command, seen = stop_recorder(tmp_path, "sys.exit(0)")
    at = await seat(root, ["one", "two"], commands=[hook("Stop", command)])
    await at.says("a")
    await at.says("b")
    assert seen.read_text().split() == ["False", "False"]


async def test_the_stop_gate_and_stop_hooks_share_one_budget(root: Path, tmp_path: Path) -> None:
    command, _ = stop_recorder(tmp_path, "sys.exit(2)")
    write = Call("t1", "write_todos", {"todos": [{"content": "a", "status": "pending"}]})
    at = await seat(
        root,
        [write, *(f"text {n}" for n in range(9))],
        commands=[hook("Stop", command)],
        planning=settings("write_todos"),
        limits=Limits(continuations=3),
        auto=True,
    )
    result = await at.says()
    assert result.reason == "open_todos"
    assert len(at.model.requests) == 1 + 1 + 3


async def test_an_interrupt_ends_a_loop_of_stop_hooks(root: Path, tmp_path: Path) -> None:
    command, seen = stop_recorder(tmp_path, "time.sleep(300)")
    at = await seat(root, ["one"], commands=[hook("Stop", command)])
    turn = asyncio.create_task(at.says())
    async with asyncio.timeout(PATIENCE):
        while not seen.exists():
            await asyncio.sleep(0.01)
        at.agent.interrupt()
        assert (await turn).reason == "interrupted"


async def test_a_stop_hook_that_fails_closed_keeps_the_turn_going(root: Path) -> None:
    at = await seat(
        root, ["one", "two", "three", "four"], commands=[hook("Stop", "exit 1", fail_closed=True)]
    )
    assert (await at.says()).text == "four"
    assert at.notes == ["<notice>a hook that has to agree failed: exit 1: exit code 1</notice>"] * 3


async def test_an_end_of_the_turn_is_forgotten_with_the_turn(root: Path, tmp_path: Path) -> None:
    from onplan.hooks import Turn

    answer = answering(tmp_path, {"continue": False})
    hooks = CommandHooks([hook("PreToolUse", answer)], root).hooks()
    view = View((), Turn())
    await hooks.before_tool[0](run("make"), None, view)  # pyright: ignore[reportArgumentType]
    hooks.user_prompt[0]("next", view)
    assert hooks.after_round[0](view) is None


async def test_what_has_nothing_to_block_is_shown_to_the_person(root: Path) -> None:
    at = await seat(root, ["one"], commands=[hook("SessionStart", "echo stale >&2; exit 2")])
    assert (await at.says()).reason == "done"
    assert at.warnings == ["hook echo stale >&2; exit 2: stale"]


# --- matching and reading ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matcher", "fits"),
    [
        ("", {"bash", "edit_file", "write_file", "mcp__github__get"}),
        ("*", {"bash", "edit_file", "write_file", "mcp__github__get"}),
        ("bash", {"bash"}),
        ("Bash", {"bash"}),
        ("Ba", set[str]()),
        ("Edit|Write", {"edit_file", "write_file"}),
        ("Edit", {"edit_file"}),
        ("Edit, Write", {"edit_file", "write_file"}),
        ("^Ed", {"edit_file"}),
        ("mcp__.*", {"mcp__github__get"}),
        ("mcp__github", set[str]()),
        ("(", {"bash", "edit_file", "write_file", "mcp__github__get"}),
    ],
)
async def test_a_matcher_is_nothing_names_or_a_regular_expression(
    root: Path, matcher: str, fits: set[str]
) -> None:
    commands = CommandHooks([hook("PreToolUse", "true", matcher)], root)
    heard = {
        name
        for name in ("bash", "edit_file", "write_file", "mcp__github__get")
        if await commands.ask("PreToolUse", {}, call=Call("t1", name, {}))
    }
    assert heard == fits


def test_the_same_command_runs_once_however_many_files_name_it(root: Path) -> None:
    commands = CommandHooks(
        [hook("Stop", "a"), hook("Stop", "a", fail_closed=True), hook("Stop", "b")], root
    ).commands
    assert commands == (hook("Stop", "a", fail_closed=True), hook("Stop", "b"))


@pytest.mark.parametrize("output", ["", "done", "[1]", "null", '"x"'])
def test_output_that_is_no_object_says_nothing_before_a_tool(output: str) -> None:
    asked = hook("PreToolUse", "x")
    said = read_answer(asked, Ran(0, output, ""))
    assert (said.block, said.permission, said.context, said.failure) == (None, None, "", "")


def test_without_commands_there_are_no_hooks(root: Path) -> None:
    assert CommandHooks([], root).hooks() == Hooks()


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"
