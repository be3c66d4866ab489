"""Rules that the person gives while a run goes on: offered, saved, listed, removed; and calls they change."""

from __future__ import annotations

import asyncio
import io
import re
import stat
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_parts import Recorder, rules, run, seat

from onplan.cli.allow import RuleFiles, allow_command, understood
from onplan.cli.conversation import Choice, Picked
from onplan.cli.rulefile import FileChange, with_rule, without_rule, write
from onplan.cli.suggestions import suggested_rules
from onplan.cli.view.screen import Screen
from onplan.errors import ConfigError
from onplan.events import Decided
from onplan.hooks import Allow, Turn, View
from onplan.messages import Call, Note
from onplan.permissions import Permissions
from onplan.protocols import Approved, Rejected
from onplan.rules import Rule, parse_rules
from onplan.settingsfile import Places, load_settings
from onplan.shellguard import judge

RULE = "bash(git diff:*)"
LINE = f'allow = ["{RULE}"]'


def saved(tmp_path: Path, before: str | None, rule: str = RULE) -> str:
    file = tmp_path / "settings.toml"
    if before is not None:
        file.write_text(before)
    write(with_rule(file, "allow", rule))
    return file.read_text()


# --- the file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, f"[permissions]\n{LINE}\n"),
        ("", f"[permissions]\n{LINE}\n"),
        ("sandbox = true", f"sandbox = true\n\n[permissions]\n{LINE}\n"),
        ("# mine\n[permissions] # rules\ndeny = []\n", f"# mine\n[permissions] # rules\n{LINE}\ndeny = []\n"),
        ("[permissions]\nallow = []\n", f"[permissions]\n{LINE}\n"),
        ("[permissions]\nallow = [ 'a' ] # why\n", f"[permissions]\nallow = [ 'a', \"{RULE}\" ] # why\n"),
        ('[permissions]\nallow = ["a",]\n', f'[permissions]\nallow = ["a","{RULE}"]\n'),
        ('[permissions]\nallow = ["a", ]\n', f'[permissions]\nallow = ["a", "{RULE}"]\n'),
        ("[permissions]\nallow = [\n]\n", f'[permissions]\nallow = [\n  "{RULE}",\n]\n'),
        ("[permissions]\nallow = [\n  # none\n]\n", f'[permissions]\nallow = [\n  # none\n  "{RULE}",\n]\n'),
        (
            '[permissions]\nallow = [\n    "a", # why\n    "b", # and ] why\n]\n',
            f'[permissions]\nallow = [\n    "a", # why\n    "b", # and ] why\n    "{RULE}",\n]\n',
        ),
        (
            '[permissions]\nallow = [\n\t"a",\n\t"b" # last\n]\nask = ["c"]\n',
            f'[permissions]\nallow = [\n\t"a",\n\t"b", # last\n\t"{RULE}"\n]\nask = ["c"]\n',
        ),
        (f"[permissions]\n{LINE}\n", f"[permissions]\n{LINE}\n"),
        (
            "[[hooks.Stop]]\ncommand = 'x'\n\n[permissions]\nask = ['allow = [']\n\n[hooks]\n",
            f"[[hooks.Stop]]\ncommand = 'x'\n\n[permissions]\n{LINE}\nask = ['allow = [']\n\n[hooks]\n",
        ),
    ],
)
def test_a_rule_is_added_and_the_rest_stays_as_it_was_written(tmp_path: Path, before: str | None, after: str):
    if before is not None and before.endswith("[hooks]\n"):
        before, after = before.removesuffix("\n[hooks]\n"), after.removesuffix("\n[hooks]\n")
    assert saved(tmp_path, before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"[permissions]\n{LINE}\n", "[permissions]\nallow = []\n"),
        (f'[permissions]\nallow = ["a", "{RULE}", "b"]\n', '[permissions]\nallow = ["a", "b"]\n'),
        (f'[permissions]\nallow = ["a", "{RULE}"]\n', '[permissions]\nallow = ["a"]\n'),
        (f'[permissions]\nallow = ["{RULE}", "a"]\n', '[permissions]\nallow = ["a"]\n'),
        (
            f'[permissions]\nallow = [\n  "a", # why\n  "{RULE}", # because\n  # more\n  "b"\n]\n',
            '[permissions]\nallow = [\n  "a", # why\n  # more\n  "b"\n]\n',
        ),
        (f"[permissions]\nallow = [\n  '{RULE}'\n]\n", "[permissions]\nallow = [\n]\n"),
    ],
)
def test_a_rule_is_taken_out_and_the_rest_stays_as_it_was_written(tmp_path: Path, before: str, after: str):
    file = tmp_path / "settings.toml"
    file.write_text(before)
    write(without_rule(file, "allow", RULE))
    assert file.read_text() == after


TEXTS = st.sampled_from(
    ["a", "bash(x:*)", 'bash(echo "]")', "bash(a, b)", "bash(# no)", "edit_file(ü/**)", "bash('q')", "\\"]
)
COMMENTS = st.sampled_from(["", " # one", ' # "two", ]', "  #"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A settings file with a list of rules, written in one of the ways that people write them."""
    entries = draw(st.lists(TEXTS, max_size=5, unique=True))
    quoted = [
        f"'{entry}'" if "'" not in entry and draw(st.booleans()) else f'"{_escaped(entry)}"'
        for entry in entries
    ]
    if draw(st.booleans()):
        space = draw(st.sampled_from(["", " "]))
        inside = f"{space}{f',{space}'.join(quoted)}{',' if quoted and draw(st.booleans()) else ''}{space}"
    else:
        indent = draw(st.sampled_from(["", "  ", "\t"]))
        lines = [f"{indent}{one},{draw(COMMENTS)}\n" for one in quoted]
        if lines and draw(st.booleans()):
            lines[-1] = f"{indent}{quoted[-1]}{draw(COMMENTS)}\n"
        inside = "\n" + "".join(lines)
    before = draw(st.sampled_from(["", "sandbox = true\n\n", "# [permissions]\n# allow = ['no']\n"]))
    after = draw(st.sampled_from(["", "ask = [\n  'z',\n]\n", '\n[[hooks.Stop]]\ncommand = "x"\n']))
    return f"{before}[permissions]\nallow = [{inside}]{draw(COMMENTS)}\n{after}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@given(documents(), TEXTS)
def test_any_list_gets_the_rule_and_loses_it_again_and_nothing_else_changes(
    tmp_path_factory: pytest.TempPathFactory, document: str, rule: str
):
    file = tmp_path_factory.mktemp("rules") / "settings.toml"
    file.write_text(document)
    table = tomllib.loads(document)
    had = rule in table["permissions"]["allow"]
    added = with_rule(file, "allow", rule)
    wanted = table["permissions"]["allow"] + ([] if had else [rule])
    assert tomllib.loads(added.after) == {**table, "permissions": {**table["permissions"], "allow": wanted}}
    assert re.findall(" #.*", added.after) == re.findall(" #.*", document)
    write(added)
    left = without_rule(file, "allow", rule)
    wanted = [one for one in wanted if one != rule]
    assert tomllib.loads(left.after) == {**table, "permissions": {**table["permissions"], "allow": wanted}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[permissions\n", "is broken"),
        ("permissions = 3\n", "permissions.allow is no list"),
        ("[permissions]\nallow = 'a'\n", "permissions.allow is no list"),
        ("permissions = { deny = [] }\n", "cannot be changed safely: add"),
        ("permissions.allow = ['a']\n", "cannot be changed safely: add"),
        ('[permissions]\nallow = ["a", ["b"]]\n', "cannot be changed safely: add"),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_left_alone(tmp_path: Path, text: str, told: str):
    with pytest.raises(ConfigError, match=told):
        saved(tmp_path, text)
    assert (tmp_path / "settings.toml").read_text() == text


def test_a_file_that_has_changed_meanwhile_is_left_alone(tmp_path: Path):
    file = tmp_path / "settings.toml"
    change = with_rule(file, "allow", RULE)
    file.write_text("sandbox = true\n")
    with pytest.raises(ConfigError, match="has changed meanwhile: nothing was saved"):
        write(change)
    assert file.read_text() == "sandbox = true\n"


def test_mode_and_link_of_a_file_are_kept_and_nothing_is_left_beside_it(tmp_path: Path):
    real, link = tmp_path / "dotfiles.toml", tmp_path / "settings.toml"
    real.write_text("")
    real.chmod(0o600)
    link.symlink_to(real)
    write(with_rule(link, "allow", RULE))
    assert link.is_symlink()
    assert real.read_text() == f"[permissions]\n{LINE}\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert sorted(tmp_path.iterdir()) == [real, link]


def test_a_file_that_cannot_be_written_is_one_line_and_stays_as_it_was(tmp_path: Path):
    (tmp_path / "taken").write_text("no directory")
    change = FileChange(tmp_path / "taken" / "settings.toml", None, "x")
    with pytest.raises(ConfigError, match="cannot be"):
        write(change)
    assert (tmp_path / "taken").read_text() == "no directory"


# --- where ------------------------------------------------------------------------------------------


def files(tmp_path: Path, *, trusted: bool = True) -> RuleFiles:
    (tmp_path / "work").mkdir(exist_ok=True)
    return RuleFiles(tmp_path / "work", Places(tmp_path / "config", tmp_path / "claude"), trusted)


def test_a_permission_goes_into_a_project_only_where_it_would_count(tmp_path: Path):
    assert [place.key for place in files(tmp_path).places()] == ["p", "u"]
    assert [place.key for place in files(tmp_path, trusted=False).places()] == ["u"]
    assert [place.key for place in files(tmp_path, trusted=False).places("deny")] == ["p", "u"]


@pytest.mark.parametrize("linked", [".onplan", ".onplan/settings.toml"])
def test_a_repository_does_not_choose_by_a_link_what_is_written_to(tmp_path: Path, linked: str):
    own = files(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    link = own.root / linked
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "elsewhere")
    assert [place.key for place in own.places()] == ["u"]


# --- what is offered --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "offered"),
    [
        (run("git diff --stat"), ("bash(git diff:*)", "bash(git diff --stat)")),
        (run("pytest -q tests"), ("bash(pytest:*)", "bash(pytest -q tests)")),
        (run("npm test"), ("bash(npm test:*)", "bash(npm test)")),
        (run("python3 build.py"), ("bash(python3 build.py)",)),
        (run("make all"), ("bash(make all)",)),
        (run("git diff && pytest"), ()),
        (run('echo "unfinished'), ()),
        (run("cat *.py"), ("bash(cat:*)",)),
        (run("cat *.py; ls"), ()),
        (run("*"), ()),
        (run(" "), ()),
        (
            Call("1", "edit_file", {"path": "src/a/b.py"}),
            ("edit_file(./src/a/**)", "edit_file(./src/a/b.py)", "edit_file"),
        ),
        (Call("1", "write_file", {"path": "README.md"}), ("write_file(./README.md)", "write_file")),
        (Call("1", "read_file", {"path": "a[1].py"}), ("read_file",)),
        (Call("1", "read_file", {"path": "../x"}), ("read_file",)),
        (
            Call("1", "web_fetch", {"url": "https://docs.python.org/3/"}),
            ("web_fetch(domain:docs.python.org)",),
        ),
        (Call("1", "web_fetch", {"url": "no address"}), ()),
        (Call("1", "mcp__github__get_issue", {"number": 1}), ("mcp__github__get_issue",)),
        (Call("1", "bash", "{broken"), ("bash",)),
        (Call("1", "todo", None), ("todo",)),
    ],
)
def test_rules_are_offered_that_allow_the_call(tmp_path: Path, call: Call, offered: tuple[str, ...]):
    assert suggested_rules(call, tmp_path) == offered


BASH = Recorder().tool()
COMMANDS = st.sampled_from(
    [
        "git diff",
        "git commit -m 'a b'",
        "pytest",
        "ls -la",
        "cargo test --all",
        "echo $HOME",
        "cat a; ls",
        "a=1 b",
    ]
) | st.text(st.sampled_from("abc -_;|&$()'\"<>*:"), max_size=12)


@given(COMMANDS)
def test_what_is_offered_for_a_command_is_a_rule_that_allows_it(
    tmp_path_factory: pytest.TempPathFactory, command: str
):
    root = tmp_path_factory.getbasetemp()
    objected = judge(command, cwd=str(root), home=str(root)).decision != "pass"
    for text in suggested_rules(run(command), root):
        own = Permissions(rules=parse_rules(understood(text, "allow"), "allow", "session"), root=root)
        verdict = asyncio.run(own.before_tool(run(command), BASH, View((), Turn())))
        assert objected or verdict == Allow("rule", rule=f"allow {text} (session)")


# --- /allow -----------------------------------------------------------------------------------------


class Keys:
    """A person who presses these keys and types these lines."""

    def __init__(self, keys: Iterable[str] = "", lines: Iterable[str] = ()) -> None:
        self._out = io.StringIO()
        self.screen = Screen(self._out)
        self._keys, self._lines = iter(keys), iter(lines)

    @property
    def shown(self) -> list[str]:
        return self._out.getvalue().splitlines()

    async def key(self, prompt: str, choices: Sequence[Choice]) -> Picked | None:
        key = next(self._keys, None)
        assert key is None or key in [choice.key for choice in choices]
        return None if key is None else Picked(key)

    async def line(self, prompt: str, text: str = "") -> str | None:
        return next(self._lines, None)

    async def edit(self, text: str, suffix: str) -> str | None:
        raise AssertionError("nothing is edited here")

    def forget(self) -> None: ...


async def allow(arguments: str, rights: Permissions, own: RuleFiles, keys: str = "") -> list[str]:
    person = Keys(keys)
    await allow_command(arguments, rights, person, own)
    return person.shown


async def test_allow_lists_what_holds_and_where_it_is_kept(tmp_path: Path):
    own = files(tmp_path)
    assert await allow("", Permissions(), own) == [
        "Every call is asked about. /allow bash(git diff:*) adds a rule."
    ]
    (own.root / ".onplan").mkdir()
    (own.root / ".onplan" / "settings.toml").write_text("[permissions]\ndeny = ['bash(git push:*)']\n")
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "settings.json").write_text('{"permissions": {"ask": ["Bash(npm *)"]}}')
    settings = load_settings(own.root, own.where, trusted=True)
    rights = Permissions(rules=settings.rules, allowed=["glob"], auto=True)
    rights.add_rules(parse_rules("bash(ls:*)", "allow", "session"))
    assert await allow("", rights, own) == [
        "auto-approve is ON: only what is denied or needs a person stops",
        "this session: glob",
        "rules of this session",
        "  1  allow bash(ls:*)",
        str(own.root / ".onplan" / "settings.toml"),
        "  2  deny  bash(git push:*)",
        "from other settings files",
        "     ask bash(npm:*) (user)",
    ]


async def test_allow_adds_a_rule_to_the_run_and_to_the_file(tmp_path: Path):
    own, rights = files(tmp_path), Permissions()
    await allow(RULE, rights, own, "py")
    assert rights.rules == (Rule("allow", "bash", "git diff:*", "session"),)
    assert (own.root / ".onplan" / "settings.toml").read_text() == f"[permissions]\n{LINE}\n"
    assert load_settings(own.root, own.where, trusted=True).rules == (
        Rule("allow", "bash", "git diff:*", "project"),
    )


async def test_allow_takes_denials_too_and_says_what_is_no_rule(tmp_path: Path):
    own, rights = files(tmp_path, trusted=False), Permissions()
    await allow("deny bash(git push:*)", rights, own, "uy")
    assert rights.rules == (Rule("deny", "bash", "git push:*", "session"),)
    assert "deny = " in (tmp_path / "config" / "settings.toml").read_text()
    assert await allow("bash(", rights, own) == [
        "'bash(' is no rule: write a tool, or tool(pattern), as in bash(git diff:*)"
    ]
    assert (await allow(RULE, rights, own, "b"))[-1] == "No rule was saved."


async def test_allow_removes_by_number_or_by_name_and_shows_the_change(tmp_path: Path):
    own = files(tmp_path)
    saved_in = tmp_path / "config" / "settings.toml"
    saved_in.parent.mkdir()
    saved_in.write_text(f'[permissions]\nallow = ["{RULE}", "read_file"]\n')
    rights = Permissions(rules=load_settings(own.root, own.where, trusted=True).rules)
    shown = await allow("remove 1", rights, own, "y")
    assert shown[1:] == [
        "   [permissions]",
        f'  -allow = ["{RULE}", "read_file"]',
        '  +allow = ["read_file"]',
        f"removed: allow {RULE}",
    ]
    assert await allow("remove 2", rights, own) == ["2 is no rule of the list; /allow shows it"]
    assert (await allow("remove read_file", rights, own, "b"))[-1] == "The rule stays."
    assert [str(rule) for rule in rights.rules] == ["read_file"]
    await allow("remove allow read_file", rights, own, "y")
    assert (rights.rules, tomllib.loads(saved_in.read_text())) == ((), {"permissions": {"allow": []}})


async def test_a_rule_of_the_session_is_removed_without_a_question(tmp_path: Path):
    rights = Permissions(rules=parse_rules(RULE, "allow", "session"))
    assert await allow(f"remove {RULE}", rights, files(tmp_path)) == [f"removed: allow {RULE}"]
    assert rights.rules == ()


# --- in a run ---------------------------------------------------------------------------------------


async def test_a_saved_rule_holds_from_the_next_call_on(tmp_path: Path):
    replies = [run("git diff", "1"), run("git diff --stat", "2"), run("git log", "3"), "done"]
    at = await seat(tmp_path, replies, answers=[Approved(rule=RULE), Rejected()])
    await at.says()
    assert at.bash.ran == ["git diff", "git diff --stat"]
    assert [(one.by, one.rule) for one in at.decided] == [
        ("person", ""),
        ("rule", f"allow {RULE} (session)"),
        ("person", ""),
    ]


async def test_what_an_approver_gives_as_a_rule_and_is_none_changes_nothing(tmp_path: Path):
    at = await seat(
        tmp_path, [run("make", "1"), run("make", "2"), "done"], answers=[Approved(rule="bash(")] * 2
    )
    await at.says()
    assert (len(at.bash.ran), len(at.approver.questions), at.warnings) == (2, 2, [])


async def test_a_call_that_the_person_changed_runs_as_they_made_it_and_the_model_is_told(tmp_path: Path):
    changed = Approved(arguments={"command": "make test"})
    at = await seat(tmp_path, [run("make all", "1"), "done"], answers=[changed])
    await at.says()
    assert at.bash.ran == ["make test"]
    assert at.decided == [
        Decided("1", "allow", "person", "they changed the call", arguments={"command": "make test"})
    ]
    told = "The person changed this call of bash before it was judged and run. It is now: "
    assert [message for message in at.agent.messages if isinstance(message, Note)] == [
        Note(told + '{"command": "make test"}', "changed_call")
    ]


async def test_a_changed_call_is_judged_again(tmp_path: Path):
    """What is never run is not run for the person either; what the guard asks about is asked about."""
    never, asked = {"command": "rm -rf ~"}, {"command": 'rm -rf "$A/$B/$C"'}
    replies = [run("make 1", "1"), run("make 2", "2"), run("make 3", "3"), "done"]
    answers = [
        Approved(arguments=never),
        Approved(arguments=asked),
        Rejected("no"),
        Approved(arguments=asked),
    ]
    at = await seat(tmp_path, replies, answers=[*answers, Approved()])
    await at.says()
    assert at.bash.ran == [asked["command"]]
    assert [(one.verdict, one.by) for one in at.decided] == [
        ("deny", "guard"),
        ("deny", "person"),
        ("allow", "person"),
    ]
    assert [question.call.arguments for question in at.approver.questions if question.reason] == [asked] * 2


async def test_a_call_that_was_handed_back_as_it_came_is_no_changed_call(tmp_path: Path):
    at = await seat(tmp_path, [run("make"), "done"], answers=[Approved(arguments={"command": "make"})])
    await at.says()
    assert (at.bash.ran, at.notes) == (["make"], [])
    assert at.decided == [Decided("t1", "allow", "person")]


@pytest.mark.parametrize("again", [{"command": "make all"}, '{"command":  "make all"}'])
async def test_a_refused_call_is_refused_without_asking_however_its_arguments_are_written(
    tmp_path: Path, again: Any
):
    replies = [run("make all", "1"), Call("2", "bash", again), "done"]
    at = await seat(tmp_path, replies, answers=[Rejected(), Approved()])
    await at.says()
    assert (at.bash.ran, len(at.approver.questions)) == ([], 1)


async def test_a_refused_call_is_asked_about_again_once_the_person_has_spoken(tmp_path: Path):
    """Also in the middle of a turn."""
    replies = [run("make", "1"), run("make", "2"), "done", run("make", "3"), "done"]
    at = await seat(tmp_path, replies, answers=[Rejected(), Approved(), Rejected()])
    at.agent.listen(lambda event: at.agent.steer("go on") if getattr(event, "call_id", "") == "1" else None)
    await at.says()
    assert at.bash.ran == ["make"]
    await at.says("again")
    assert len(at.approver.questions) == 3


async def test_the_question_carries_the_preview(tmp_path: Path):
    at = await seat(
        tmp_path, [run("make"), "done"], rules=rules(), preview=lambda call: f"would run {call.arguments}"
    )
    await at.says()
    assert [one.preview for one in at.approver.questions] == ["would run {'command': 'make'}"]


async def test_a_preview_that_fails_stops_no_question(tmp_path: Path):
    at = await seat(tmp_path, [run("make"), "done"], answers=[Rejected()], preview=lambda _: {}["no"])
    await at.says()
    assert (at.bash.ran, len(at.approver.questions)) == ([], 1)
