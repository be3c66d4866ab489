"""The guard on strings: the corpus whole, the tables that were promised, and what a verdict says.

No line here is ever handed to a shell.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from make_corpus import CORPUS, text

from onplan.shellguard import Decision, Verdict, judge
from tables import DENIED_ALWAYS

CWD, HOME = "/home/u/proj", "/home/u"
FAULT = "the guard could not read the line"


def decision(line: str, cwd: str = CWD, home: str = HOME) -> Decision:
    return judge(line, cwd=cwd, home=home).decision


def corpus() -> dict[str, Any]:
    return json.loads(CORPUS.read_text(encoding="utf-8"))


ASK_TABLE = ['rm -rf "$A/$B/$C"', "find / -delete", "chroot /x rm -rf y"]
PASS_TABLE = ["rm -rf ./build", "rm -rf /tmp/proj-x", "rm -r node_modules", "rmdir x", "rm -f a.txt"]


@pytest.mark.parametrize("line", DENIED_ALWAYS)
def test_equal_spellings_of_a_loss_are_denied(line: str) -> None:
    assert decision(line) == "deny"


@pytest.mark.parametrize("line", ASK_TABLE)
def test_what_cannot_be_resolved_is_asked(line: str) -> None:
    assert decision(line) == "ask"


@pytest.mark.parametrize("line", PASS_TABLE)
def test_ordinary_removal_passes(line: str) -> None:
    assert decision(line) == "pass"


def test_one_denied_line_of_many_denies_all() -> None:
    line = "cd proj && git add .\nrm -rf ~ 2>/dev/null\ngit status"
    verdict = judge(line, cwd=CWD, home=HOME)
    assert (verdict.decision, verdict.by, line[slice(*verdict.span)]) == ("deny", "guard", "rm -rf ~")


@pytest.mark.parametrize("group", ["bypasses", "spellings", "harmless"])
def test_every_line_of_the_corpus_has_its_verdict(group: str) -> None:
    entries = corpus()[group]
    wrong = [
        (entry, verdict.decision, verdict.reason)
        for entry in entries
        if (verdict := judge(entry["line"], cwd=CWD, home=HOME)).decision != entry["decision"]
        or FAULT in verdict.reason
    ]
    assert wrong == []
    assert len(entries) >= 200


def test_the_corpus_is_what_its_script_writes() -> None:
    assert CORPUS.read_text(encoding="utf-8") == text()


def test_a_verdict_names_reason_place_and_commands() -> None:
    line = "make && sudo rm -rf '/' && echo é"
    verdict = judge(line, cwd=CWD, home=HOME)
    assert verdict.reason == (
        "`rm` would remove `/` and all that is in it, for good; "
        "name the files inside the workspace that should go."
    )
    assert line[slice(*verdict.span)] == "sudo rm -rf '/'"
    assert [command.text for command in verdict.commands] == ["make", "sudo rm -rf /", "rm -rf /", "echo é"]
    assert [command.raw for command in verdict.commands][:2] == ["make", "sudo rm -rf '/'"]


def test_spans_count_characters_and_not_bytes() -> None:
    line = "echo 'é→😀'; rm -rf /"
    verdict = judge(line, cwd=CWD, home=HOME)
    assert line[slice(*verdict.span)] == "rm -rf /"


@pytest.mark.parametrize(
    "line", ["{\U000f2c9a", "{1\U0010ffff", "<<\U0001f600\nx\n\U0001f600", "$\u00e9", "echo {é..ü}"]
)
def test_characters_beyond_the_tables_of_the_parser_never_reach_it(line: str) -> None:
    assert FAULT not in judge(line, cwd=CWD, home=HOME).reason


def test_a_name_ends_where_a_character_begins_that_is_not_ascii() -> None:
    assert decision("X=/; rm -rf $X/etcé") == "ask"
    assert decision("X=/etc/; rm -rf $Xé/..") == "deny"


def test_a_finding_in_nested_text_points_at_the_command_that_runs_it() -> None:
    line = "ls; bash -c 'true; rm -rf /'"
    verdict = judge(line, cwd=CWD, home=HOME)
    assert line[slice(*verdict.span)] == "bash -c 'true; rm -rf /'"


def test_a_pass_says_nothing() -> None:
    verdict = judge("", cwd=CWD, home=HOME)
    assert verdict == Verdict("pass")


@pytest.mark.parametrize(
    ("cwd", "line", "expected"),
    [
        ("/", "rm -rf build", "pass"),
        ("/", "rm -rf *", "deny"),
        ("/root/app", "rm -rf ..", "deny"),
        ("/root/app", "rm -rf ../other", "ask"),
        ("/usr/src/app", "rm -rf node_modules", "pass"),
        ("/usr/src/app", "rm -rf ../../lib", "deny"),
        ("/opt/app", "rm -rf /opt/app", "ask"),
        ("/opt/app", "rm -rf /opt", "deny"),
        ("/tmp/x/y", "rm -rf ..", "deny"),
        ("/tmp/x/y", "rm -rf z", "pass"),
        ("/root", "rm -rf *", "deny"),
        ("/home/other", "rm -rf build", "pass"),
        ("/Users/a/code", "rm -rf /Users/a", "deny"),
        ("/srv/a/b/c", "cd ../.. && rm -rf *", "deny"),
        ("/srv/a/b/c", "cd ../.. && rm -rf x", "ask"),
    ],
)
def test_what_a_path_means_depends_on_where_the_line_runs(cwd: str, line: str, expected: Decision) -> None:
    assert decision(line, cwd, "/root") == expected


def test_a_home_inside_the_line_is_the_home_that_was_given() -> None:
    assert decision("rm -rf /data/people/ann", "/work", "/data/people/ann") == "deny"
    assert decision("rm -rf ~/x", "/work", "/data/people/ann") == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "(" * 5000 + "ls" + ")" * 5000,
        "echo " + "$(" * 5000 + "ls" + ")" * 5000,
        "true && " * 20_000 + "ls",
        "echo " + "{a,b}" * 5000,
        "echo " + "{" * 50_000,
        "echo " + "{a," * 20_000,
        "echo " + "${a:-" * 5000 + "x" + "}" * 5000,
        "f(){ g;g;g; };g(){ h;h;h; };h(){ i;i;i; };i(){ j;j;j; };j(){ k;k;k; };k(){ ls;ls;ls; };" * 2
        + "f;" * 200,
        "for a in 1 2 3 4 5 6 7 8; do " * 12 + "ls;" + "done;" * 12,
        "while a; do " * 30 + "ls;" + "done;" * 30,
        "foo " + "rm " * 40_000,
        "rm -rf /x" + "*a" * 20_000,
        "python3 -c '" + "while x: fork " * 8000 + "'",
        "cat <<E 2>&1 | head\nx\nE\n" * 4000,
        "x" * 300_000,
        "bash -c " + "\\" * 9999 + "'ls'",
        "sudo " * 5000 + "rm -rf /",
        "A=$A$A; " * 3000,
        "if a; then X=$X{}; fi; ".format("b" * 10) * 500 + "rm $X $X $X",
    ],
    ids=lambda line: str(line)[:24],
)
def test_any_amount_of_nesting_or_expansion_comes_back(line: str) -> None:
    assert FAULT not in judge(line, cwd=CWD, home=HOME).reason


def test_the_parser_is_loaded_by_the_first_line_and_not_by_the_import() -> None:
    code = (
        "import sys; from onplan.shellguard import judge; before = 'tree_sitter' in sys.modules; "
        "judge('ls', cwd='/w', home='/h'); print(before, 'tree_sitter' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
