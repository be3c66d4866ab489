"""Trust, hooks, settings and masking as a person meets them on the command line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from onplan.cli.main import cli

PATIENCE = 30.0
KEY = "ghp_" + "Ab3dEf6hIj9lMn2pQr5tAb3dEf6hIj9lMn2p"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, and Claude Code's, of one's own for every test."""
    path = tmp_path / "home"
    monkeypatch.setenv("ONPLAN_HOME", str(path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MODEL_ID", "COLUMNS", "ONPLAN_SHOW_SECRETS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    path.mkdir()
    return path


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def onplan(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def settings(root: Path, text: str) -> None:
    (root / ".onplan").mkdir(exist_ok=True)
    (root / ".onplan" / "settings.toml").write_text(text)


# --- trust ------------------------------------------------------------------------------------------


def test_trust_is_given_listed_and_taken_back(work: Path) -> None:
    assert onplan("trust", "--list").stdout == "nothing was said of any directory\n"
    settings(work, "")
    assert onplan("trust").stdout == (
        f"trusted: {work}\nIt brings .onplan/settings.toml; they count from the next start on.\n"
    )
    assert onplan("trust", "--list").stdout == f"trusted      {work}\n"
    assert onplan("trust", str(work), "--revoke").stdout == f"not trusted: {work}\n"
    assert onplan("trust", "--list").stdout == f"not trusted  {work}\n"


def test_a_directory_that_is_not_there_cannot_be_trusted(work: Path) -> None:
    result = onplan("trust", "gone")
    assert result.exit_code == 1
    assert "is not a directory" in result.stderr
    assert onplan("trust", "--list", "--revoke").exit_code == 2


def test_settings_of_a_directory_allow_only_once_it_is_trusted(
    work: Path, script: Callable[..., str]
) -> None:
    settings(work, '[permissions]\nallow = ["glob"]\n')
    model = script(call("glob", pattern="*"), "done")
    result = onplan("-p", "go", "--model", model)
    assert result.exit_code == 3
    assert "do not count: this directory is not trusted (onplan trust)" in result.stderr
    onplan("trust")
    result = onplan("-p", "go", "--model", model)
    assert (result.exit_code, "trusted" in result.stderr) == (0, False)
    assert "allow  glob *  by rule: allow glob (project)" in onplan("show", "--audit").stdout


def test_a_directory_can_forbid_without_trust(work: Path, script: Callable[..., str]) -> None:
    settings(work, '[permissions]\ndeny = ["glob"]\n')
    result = onplan("-p", "go", "--auto", "--model", script(call("glob", pattern="*"), "done"))
    assert result.exit_code == 0
    assert "deny   glob *  by rule" in onplan("show", "--audit").stdout


def test_a_hook_of_a_directory_runs_only_once_it_is_trusted(
    work: Path, tmp_path: Path, script: Callable[..., str]
) -> None:
    mark = tmp_path / "ran"
    settings(work, f'[[hooks.PreToolUse]]\ncommand = "touch {mark}"\n')
    model = script(call("glob", pattern="*"), "done")
    onplan("-p", "go", "--auto", "--model", model)
    assert not mark.exists()
    onplan("trust")
    onplan("-p", "go", "--auto", "--model", model)
    assert mark.exists()


def test_a_broken_file_is_named_and_the_run_goes_on(
    work: Path, home: Path, script: Callable[..., str]
) -> None:
    (home / "settings.toml").write_text("[permissions]\nallow = \n")
    result = onplan("-p", "go", "--auto", "--model", script("done"))
    assert result.exit_code == 0
    assert "settings.toml is left out: " in result.stderr
    assert "(at line 2, column 9)" in result.stderr


# --- the question -----------------------------------------------------------------------------------


class Person:
    """Somebody at a pseudo-terminal, who reads and types."""

    def __init__(self, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "onplan", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = ""

    def sees(self, text: str) -> None:
        import select

        until = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < until, f"{text!r} did not come: {self.seen}"
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self._master, 65_536).decode()
                except OSError:
                    break
        assert text in self.seen

    def types(self, text: str) -> None:
        self.seen = ""
        os.write(self._master, text.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self._master)


@pytest.fixture
def person() -> Iterator[Callable[..., Person]]:
    seated: list[Person] = []

    def sit(*arguments: str) -> Person:
        seated.append(Person(*arguments))
        return seated[-1]

    yield sit
    for someone in seated:
        someone.close()


@pytest.mark.parametrize(("answer", "said"), [("y", "trusted      "), ("n", "not trusted  ")])
def test_the_prompt_asks_once_whether_a_directory_is_trusted(
    work: Path, person: Callable[..., Person], answer: str, said: str
) -> None:
    settings(work, '[permissions]\nallow = ["glob"]\n')
    someone = person()
    someone.sees("Trust this directory? y/n> ")
    assert ".onplan/settings.toml" in someone.seen
    someone.types("what\n")
    someone.sees("Please answer y or n.")
    someone.sees("Trust this directory? y/n> ")
    someone.types(f"{answer}\n")
    someone.sees("onplan> ")
    someone.types("/quit\n")
    assert someone.process.wait(PATIENCE) == 0
    assert onplan("trust", "--list").stdout == f"{said}{work}\n"
    again = person()
    again.sees("onplan> ")
    assert "Trust this" not in again.seen


def test_a_directory_that_brings_nothing_is_not_asked_about(
    work: Path, person: Callable[..., Person]
) -> None:
    (work / ".env").write_text("MODEL_ID=demo\n")
    someone = person()
    someone.sees("onplan> ")
    assert "Trust this" not in someone.seen


# --- hooks ------------------------------------------------------------------------------------------


def test_hooks_are_listed_with_what_does_not_count(work: Path, home: Path) -> None:
    assert onplan("hooks", "list").stdout == "no hooks count here\n"
    (home / "settings.toml").write_text(
        '[[hooks.PreToolUse]]\nmatcher = "bash"\ncommand = "check"\nfail_closed = true\n'
    )
    settings(work, '[[hooks.Stop]]\ncommand = "x"\n')
    assert onplan("hooks", "list").stdout.splitlines() == [
        "PreToolUse        bash          check  (60 s, user, fails closed)",
        ".onplan/settings.toml: its hooks do not count: this directory is not trusted (onplan trust)",
    ]


def test_hooks_of_an_event_can_be_tried(work: Path, home: Path) -> None:
    (home / "settings.toml").write_text(
        '[[hooks.PreToolUse]]\nmatcher = "bash"\n'
        'command = "grep -q make && { echo no make >&2; exit 2; }; exit 0"\n'
        '[[hooks.UserPromptSubmit]]\ncommand = "exit 7"\n'
    )
    tried = onplan("hooks", "test", "PreToolUse", "--input", '{"command": "make"}')
    assert tried.stdout.splitlines()[1:] == ["  blocks: no make"]
    tried = onplan("hooks", "test", "PreToolUse", "--input", '{"command": "ls"}')
    assert tried.stdout.splitlines()[1:] == ["  says: nothing: it has no objection"]
    assert onplan("hooks", "test", "UserPromptSubmit").stdout.splitlines() == [
        "exit 7",
        "  failed: exit code 7",
    ]
    assert onplan("hooks", "test", "Stop").stdout == "no hook of Stop fits\n"
    assert onplan("hooks", "test", "Nothing").exit_code == 2
    assert onplan("hooks", "test", "Stop", "--input", "[").exit_code == 2


# --- masking ----------------------------------------------------------------------------------------


def test_a_key_is_masked_where_it_is_shown_and_kept_in_the_log(
    work: Path, home: Path, script: Callable[..., str]
) -> None:
    (work / "notes.txt").write_text(f"token {KEY}\n")
    model = script(call("read_file", path="notes.txt"), f"It says {KEY}.")
    result = onplan("-p", "go", "--auto", "--model", model)
    assert result.stdout == "It says ghp_[masked].\n"
    for arguments in (["show"], ["show", "--json"]):
        assert KEY not in onplan(*arguments).stdout
    stream = onplan("-p", "go", "--auto", "--model", model, "--output-format", "stream-json")
    assert KEY not in stream.stdout
    assert all(isinstance(json.loads(line), dict) for line in stream.stdout.splitlines())
    assert any(KEY.encode() in file.read_bytes() for file in home.iterdir() if file.is_file())


def test_masking_can_be_switched_off_in_ones_own_settings(
    work: Path, home: Path, script: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = script(f"It says {KEY}.")
    monkeypatch.setenv("ONPLAN_SHOW_SECRETS", "1")
    assert KEY in onplan("-p", "go", "--model", model).stdout
    monkeypatch.delenv("ONPLAN_SHOW_SECRETS")
    (home / "settings.toml").write_text("mask_secrets = false\n")
    assert KEY in onplan("-p", "go", "--model", model).stdout
    assert KEY in onplan("show").stdout


# --- the sandbox ------------------------------------------------------------------------------------


def test_a_sandbox_that_is_wanted_and_not_to_be_had_stops_the_run(
    work: Path, script: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from onplan.tools import confinement
    from onplan.tools.sandbox import Unavailable

    def none(**_: object) -> Unavailable:
        return Unavailable("bubblewrap is not installed", "install it")

    monkeypatch.setattr(confinement, "detect", none)
    result = onplan("-p", "go", "--sandbox", "--model", script("done"))
    assert result.exit_code == 1
    assert result.stderr == "onplan: no sandbox can be made here: bubblewrap is not installed; install it\n"
    settings(work, "sandbox = true\n")
    assert onplan("-p", "go", "--model", script("done")).exit_code == 1
