"""`--sandbox` and `--sandbox-network` as a script meets them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onplan.cli.main import cli


@pytest.fixture
def job(root: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A run whose one command looks for the network and for the person's home."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ONPLAN_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(root)
    command = "cat ~/.netrc 2>/dev/null || echo no secret; readlink /proc/self/ns/net"
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"calls": [{"name": "bash", "arguments": {"command": command}}]}, "done"]))
    return ["-p", "go", "--auto", "--model", f"script:{script}", "--output-format", "stream-json"]


def onplan(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def answer(result: Result) -> list[str]:
    """What the command put out."""
    events = [json.loads(line) for line in result.stdout.splitlines()]
    [content] = [event["content"] for event in events if "call_id" in event and "content" in event]
    return content.splitlines()


def test_the_network_is_closed_and_one_more_flag_opens_it(works: None, job: list[str]):
    ours = os.readlink("/proc/self/ns/net")
    secret, network, code = answer(onplan(*job, "--sandbox"))
    assert (secret, network == ours, code) == ("no secret", False, "exit code: 0")
    secret, network, code = answer(onplan(*job, "--sandbox", "--sandbox-network"))
    assert (secret, network, code) == ("no secret", ours, "exit code: 0")


def test_settings_turn_it_on(works: None, job: list[str], tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/settings.toml").write_text("sandbox = true\n")
    assert "no secret" in answer(onplan(*job))


def test_an_open_network_without_a_sandbox_is_refused(job: list[str]):
    result = onplan(*job, "--sandbox-network")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "onplan: --sandbox-network opens the sandbox, and there is none: give --sandbox too\n"
    )
