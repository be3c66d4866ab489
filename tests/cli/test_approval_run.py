"""Questions in the real program, in whole lines: a rule that is saved, a call that is changed, `/allow`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Person, call, onplan, plain

Script = Callable[..., str]
Sit = Callable[..., Person]

PROMPT = "onplan> "


def test_a_saved_rule_holds_in_this_run_and_in_the_next_and_is_removed_by_its_number(
    work: Path, home: Path, person: Sit, script: Script
):
    echo = call("bash", command="echo one")
    model = script(echo, call("bash", command="echo two"), "Done.")
    someone = person("--model", model)
    someone.sees(PROMPT)
    someone.types("go\n")
    someone.sees("onplan asks: run bash?")
    someone.sees("n> ")
    someone.types("r\n")
    assert "1  bash(echo one:*)" in plain(someone.sees("b> "))
    someone.types("1\n")
    someone.sees("u/b> ")
    someone.types("u\n")
    assert '+allow = ["bash(echo one:*)"]' in plain(someone.sees("y/b> "))
    someone.types("y\n")
    someone.sees("saved in")
    someone.sees("onplan asks: run bash?")
    someone.sees("n> ")
    someone.types("n\n")
    someone.sees(PROMPT)
    assert (home / "settings.toml").read_text() == '[permissions]\nallow = ["bash(echo one:*)"]\n'
    someone.types("/quit\n")
    assert someone.leaves() == 0

    again = person("--model", script(echo, "Done."))
    again.sees(PROMPT)
    again.types("go\n")
    assert "onplan asks" not in again.sees(PROMPT)
    again.types("/allow remove 1\n")
    again.sees("y/b> ")
    again.types("y\n")
    again.sees("removed: allow bash(echo one:*)")
    again.sees(PROMPT)
    assert (home / "settings.toml").read_text() == "[permissions]\nallow = []\n"


def test_a_changed_call_runs_as_it_was_made_and_the_audit_says_so(
    work: Path, person: Sit, script: Script, monkeypatch: pytest.MonkeyPatch
):
    editor = work / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i s/one/two/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    someone = person("--model", script(call("bash", command="echo one > out.txt"), "Done."))
    someone.sees(PROMPT)
    someone.types("go\n")
    someone.sees("n> ")
    someone.types("e\n")
    shown = plain(someone.sees(PROMPT))
    assert "· bash echo two > out.txt → " in shown
    assert "told that you changed the call" in shown
    assert (work / "out.txt").read_text() == "two\n"
    someone.types("/quit\n")
    assert someone.leaves() == 0
    audit = onplan("show", "--audit").stdout
    assert "bash echo two > out.txt (changed by you)  by person: they changed the call" in audit


def test_an_editor_that_cannot_be_started_leaves_the_question(
    work: Path, person: Sit, script: Script, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("EDITOR", str(work / "none"))
    someone = person("--model", script(call("bash", command="echo one"), "Done."))
    someone.sees(PROMPT)
    someone.types("go\n")
    someone.sees("n> ")
    someone.types("e\n")
    shown = " ".join(plain(someone.sees("n> ")).split())
    assert "cannot be started (No such file or directory): set EDITOR" in shown
    assert "The call is as it was. Still: run bash?" in shown
    someone.types("n\n")
    someone.sees(PROMPT)
