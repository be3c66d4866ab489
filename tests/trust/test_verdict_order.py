"""The order of verdicts, over every combination; and what the person, the audit and the model are told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_parts import rules, run, seat

from onplan.events import Decided, decode_record, encode_record
from onplan.hooks import Allow, Ask, Deny, Hooks, Turn, View, settled
from onplan.messages import Call, User
from onplan.permissions import NOBODY, Permissions
from onplan.protocols import Approved, Question, Rejected
from onplan.rules import Rule, parse_rules
from onplan.testing.approval import RecordingApprover
from onplan.toolset import Tool, tool


@tool()
async def bash(command: str) -> str:
    """Never called here."""
    raise AssertionError(command)


# What the guard says of each is its own tests' matter; here they stand for its three decisions.
LINES = {"deny": "rm -rf ~", "ask": 'rm -rf "$A/$B/$C"', "pass": "make all"}
ANSWERS = {"yes": Approved(), "no": Rejected(), "nobody": Rejected(nobody=True)}


def expected(
    guard: str, rule: str | None, hook: str | None, auto: bool, session: bool, sandboxed: bool, answer: str
) -> tuple[str, str]:
    """Verdict and who decided, straight from the order in the design."""
    person = {"yes": ("allow", "person"), "no": ("deny", "person"), "nobody": ("deny", "nobody")}[answer]
    ladder = [
        (guard == "deny", ("deny", "guard")),
        (rule == "deny", ("deny", "rule")),
        (hook == "deny", ("deny", "hook")),
        (hook == "ask" or (guard == "ask" and not sandboxed), person),
        (auto, ("allow", "auto")),
        (sandboxed, ("allow", "sandbox")),
        (rule == "ask", person),
        (rule == "allow", ("allow", "rule")),
        (session, ("allow", "session")),
        (hook == "allow", ("allow", "hook")),
        (True, person),
    ]
    return next(verdict for applies, verdict in ladder if applies)


@given(
    guard=st.sampled_from(["deny", "ask", "pass"]),
    rule=st.sampled_from([None, "allow", "ask", "deny"]),
    hook=st.sampled_from([None, "allow", "ask", "deny"]),
    auto=st.booleans(),
    session=st.booleans(),
    sandboxed=st.booleans(),
    answer=st.sampled_from(list(ANSWERS)),
)
def test_the_order_of_verdicts_holds_for_every_combination(
    guard: str,
    rule: Any,
    hook: str | None,
    auto: bool,
    session: bool,
    sandboxed: bool,
    answer: str,
) -> None:
    approver = RecordingApprover([ANSWERS[answer]])
    rights = Permissions(
        approver,
        auto=auto,
        allowed=["bash"] if session else [],
        rules=[Rule(rule, "bash")] if rule else [],
        root=Path("/nowhere/ws"),
        home=Path("/nowhere/home"),
        sandboxed=sandboxed,
    )
    said = {"allow": Allow("hook"), "ask": Ask("why"), "deny": Deny("no")}
    view = View((User("go"),), Turn(), (said[hook],) if hook else ())
    verdict = asyncio.run(rights.before_tool(run(LINES[guard]), bash, view))
    assert isinstance(verdict, (Allow, Deny))
    told = ("allow" if isinstance(verdict, Allow) else "deny", verdict.by)
    assert told == expected(guard, rule, hook, auto, session, sandboxed, answer)
    assert len(approver.questions) == (told[1] in ("person", "nobody"))


@pytest.mark.parametrize("arguments", ['{"command": "rm -rf ~"}', {"command": "rm -rf ~", "timeout": 3}])
def test_the_guard_reads_the_arguments_as_the_tool_will(arguments: Any) -> None:
    rights = Permissions(auto=True, root=Path("/nowhere/ws"), home=Path("/nowhere/home"))
    verdict = asyncio.run(rights.before_tool(Call("t1", "bash", arguments), bash, View((), Turn())))
    assert isinstance(verdict, Deny)
    assert verdict.by == "guard"


@pytest.mark.parametrize(("cwd", "by"), [("/nowhere/ws", "nobody"), ("/nowhere/home", "guard")])
def test_a_line_is_judged_where_the_shell_is(cwd: str, by: str) -> None:
    rights = Permissions(auto=True, root=Path("/nowhere/ws"), home=Path("/nowhere/home"))
    rights.cwd = lambda: Path(cwd)
    verdict = asyncio.run(rights.before_tool(run("rm -rf ./*"), bash, View((), Turn())))
    assert isinstance(verdict, (Allow, Deny))
    assert verdict.by == by


def test_what_cannot_be_judged_is_asked_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Path:
        raise RuntimeError("no directory")

    rights = Permissions(auto=True, root=Path("/nowhere/ws"), home=Path("/nowhere/home"))
    rights.cwd = broken
    verdict = asyncio.run(rights.before_tool(run("make"), bash, View((), Turn())))
    assert isinstance(verdict, Deny)
    assert verdict.nobody
    assert "could not be judged" in verdict.reason


DECISIONS = st.sampled_from([Allow("a"), Ask("b"), Deny("c", "one"), Deny("d", "two")])


@given(st.lists(DECISIONS, max_size=6))
def test_no_permission_jumps_over_an_objection(decided: list[Allow | Ask | Deny]) -> None:
    told = settled(decided)
    if not decided:
        assert told is None
    elif any(isinstance(one, Deny) for one in decided):
        assert told == [one for one in decided if isinstance(one, Deny)][-1]
    else:
        assert isinstance(told, Allow) is isinstance(decided[-1], Allow)


# --- hooks without permissions ----------------------------------------------------------------------


async def test_a_question_that_nobody_takes_up_is_a_denial(tmp_path: Path) -> None:
    from onplan.agent import Agent
    from onplan.models.scripted import ScriptedModel

    def ask(call: Call, tool: Tool, view: View) -> Ask:
        return Ask("look")

    agent = await Agent.start(
        model=ScriptedModel([run("make"), "done"]), tools=(bash,), hooks=Hooks(before_tool=(ask,))
    )
    result = await agent.run("go")
    assert result.nobody == 1
    told = "Error: not run: a person would have to say yes (look), and nothing here asks one"
    assert told in [getattr(message, "content", "") for message in agent.messages]


async def test_each_hook_hears_what_those_before_it_said(tmp_path: Path) -> None:
    heard: list[Any] = []

    def first(call: Call, tool: Tool, view: View) -> tuple[Allow, Ask]:
        return Allow("a"), Ask("b")

    def second(call: Call, tool: Tool, view: View) -> None:
        heard.append(view.decided)

    at = await seat(tmp_path, [run("make"), "x"], hooks=Hooks(before_tool=(first, second)))
    await at.says()
    assert heard == [(Allow("a"), Ask("b"))]


# --- what is told -----------------------------------------------------------------------------------


async def test_the_person_is_shown_why_they_are_asked(tmp_path: Path) -> None:
    at = await seat(tmp_path, [run(LINES["ask"]), "x"], auto=True, answers=[Rejected("too wide")])
    await at.says()
    (question,) = at.approver.questions
    assert question.reason
    assert not question.first
    assert question.quiet_tools == ()
    assert at.results[0].content == "Error: not run: the person refused it; they said: too wide"


async def test_a_refused_call_that_comes_back_unchanged_is_refused_without_asking(tmp_path: Path) -> None:
    replies = [run("make", "t1"), run("make", "t2"), run("make all", "t3"), "x", run("make", "t4"), "y"]
    at = await seat(tmp_path, replies, answers=[Rejected(), Rejected(), Approved()])
    await at.says()
    assert [question.call.id for question in at.approver.questions] == ["t1", "t3"]
    assert [record.by for record in at.decided] == ["person", "person", "person"]
    assert "refused it before; do not try it again unchanged" in at.results[1].content
    await at.says("all right, make it")
    assert at.bash.ran == ["make"]


async def test_the_audit_names_who_decided_and_which_rule(tmp_path: Path) -> None:
    given_rules = rules(
        allow=["bash(git status:*)", "bash(ls:*)", "read_file(src/**)"],
        ask=["bash(npm:*)"],
        deny=["bash(git push:*)"],
    )
    replies = [
        run("ls -l", "t1"),
        run("git push -f", "t2"),
        run("npm test", "t3"),
        run("ls && make", "t4"),
        "x",
    ]
    at = await seat(tmp_path, replies, rules=given_rules)
    await at.says()
    assert [(record.verdict, record.by, record.rule) for record in at.decided] == [
        ("allow", "rule", "allow bash(ls:*) (user)"),
        ("deny", "rule", "deny bash(git push:*) (user)"),
        ("allow", "person", ""),
        ("allow", "person", ""),
    ]
    assert at.decided[2].reason == "asked by rule: your rule asks for it: ask bash(npm:*) (user)"
    assert at.bash.ran == ["ls -l", "npm test", "ls && make"]


def test_a_verdict_of_an_old_log_is_read() -> None:
    old = b'{"type":"decided","call_id":"t1","verdict":"allow","by":"auto"}'
    assert decode_record(old) == Decided("t1", "allow", "auto")
    new = Decided("t1", "deny", "rule", "why", "deny bash (user)", {"command": "x"})
    assert decode_record(encode_record(new)) == new


# --- levels -----------------------------------------------------------------------------------------


async def test_what_is_allowed_for_the_session_outweighs_a_question_of_a_file_and_no_denial(
    tmp_path: Path,
) -> None:
    now = parse_rules("bash(npm test:*)", "allow", "flag")
    asked = (*rules(ask=["bash(npm:*)"]), *now)
    at = await seat(tmp_path, [run("npm test", "t1"), run("npm publish", "t2"), "x"], rules=asked)
    await at.says()
    assert [question.call.id for question in at.approver.questions] == ["t2"]
    denied = (*rules(deny=["bash(npm:*)"]), *now)
    at = await seat(tmp_path, [run("npm test"), "x"], rules=denied)
    await at.says()
    assert at.bash.ran == []


async def test_a_tool_allowed_for_the_session_still_meets_the_guard_and_ask_rules(tmp_path: Path) -> None:
    replies = [run("make", "t1"), run(LINES["ask"], "t2"), run("npm test", "t3"), run("make", "t4"), "x"]
    at = await seat(
        tmp_path, replies, rules=rules(ask=["bash(npm:*)"]), answers=[Approved("tool"), Approved()]
    )
    await at.says()
    assert [question.call.id for question in at.approver.questions] == ["t1", "t2", "t3"]


async def test_no_tool_is_safe_from_the_start(tmp_path: Path) -> None:
    replies = [Call("t1", "glob", {"pattern": "*"}), Call("t2", "read_file", {"path": "x"}), "x"]
    at = await seat(tmp_path, replies, nobody=True)
    await at.says()
    assert [result.content for result in at.results] == [f"Error: not run: {NOBODY}"] * 2


async def test_writing_what_decides_what_runs_later_needs_a_person_also_in_auto(tmp_path: Path) -> None:
    paths = [
        ".git",
        ".git/hooks/pre-commit",
        ".onplan/settings.toml",
        ".claude/settings.json",
        "sub/.git/config",
    ]
    replies = [
        *(Call(f"t{n}", "write_file", {"path": path, "content": "x"}) for n, path in enumerate(paths)),
        Call("t9", "write_file", {"path": "src/git.py", "content": "x"}),
        "done",
    ]
    at = await seat(tmp_path, replies, auto=True, answers=[Rejected()])
    await at.says()
    assert [question.call.arguments["path"] for question in at.approver.questions] == paths
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["git.py"]


def test_a_question_says_nothing_unless_something_objects() -> None:
    approver = RecordingApprover()
    rights = Permissions(approver, root=Path("/nowhere/ws"), home=Path("/nowhere/home"), quiet=["glob"])
    asyncio.run(rights.before_tool(run("make"), bash, View((), Turn())))
    assert approver.questions == [Question(run("make"), first=True, quiet_tools=("glob",))]
