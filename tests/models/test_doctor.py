"""`onplan doctor`: what it finds, and the cures it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from far_side import ANTHROPIC, CHAT, KEY, Server, serving

from onplan.cli.main import cli
from onplan.errors import ModelError
from onplan.messages import Assistant, Call, Text, Usage
from onplan.models.probe import probe
from onplan.models.scripted import Reply, ScriptedModel
from onplan.testing.models import Refuse

CALL = Assistant((Call("c", "echo", {"text": "ping"}),), "tool_calls", Usage(input=10, cache_write=9_000))
READ = Assistant((Text("done"),), usage=Usage(input=10, cache_read=9_000))


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ONPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "MODEL_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def server(provider: str) -> Iterator[Server]:
    with serving(CHAT if provider == "openai" else ANTHROPIC) as running:
        yield running


def _doctor(provider: str, server: Server) -> tuple[int, str]:
    path = "/v1" if provider == "openai" else ""
    ran = CliRunner().invoke(cli, ["doctor", "--model", f"{provider}:x@{server.url}{path}"])
    return ran.exit_code, ran.output


def test_a_model_that_can_do_it_all_is_well(
    provider: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)
    server.will(CALL, READ)
    code, told = _doctor(provider, server)
    assert (code, "✗" in told, KEY in told) == (0, False, False)
    for found in ("key: ", "answers: ", "calls a tool: echo", "streams: 1 piece", "reads its cache: 9,000"):
        assert found in told


def test_a_wrong_key_is_a_failure_with_its_cure(
    provider: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "wrong-key")
    code, told = _doctor(provider, server)
    assert code == 1
    assert f"set {provider.upper()}_API_KEY to a valid one" in " ".join(told.split())
    assert "wrong-key" not in told


def test_without_a_model_the_ways_to_get_one_are_named() -> None:
    ran = CliRunner().invoke(cli, ["doctor"])
    assert ran.exit_code == 1
    assert "name a local server with --model openai:NAME@http" in " ".join(ran.output.split())


def test_without_a_key_it_says_which_one() -> None:
    ran = CliRunner().invoke(cli, ["doctor", "--model", "gpt-6.1-sol"])
    assert ran.exit_code == 1
    assert "export OPENAI_API_KEY=…" in ran.output


@pytest.mark.parametrize(
    ("replies", "states"),
    [
        pytest.param([CALL, READ], ["ok", "ok", "ok", "ok", "ok"], id="all is well"),
        pytest.param(
            ["ping", "done"], ["ok", "failed", "ok", "ok", "unknown"], id="words, no call, no counts"
        ),
        pytest.param(
            [Call("c", "echo", '{"text'), "done"], ["ok", "failed", "ok", "ok", "unknown"], id="a broken call"
        ),
        pytest.param(
            [CALL, Assistant((), usage=Usage(1))], ["ok", "ok", "ok", "unknown", "failed"], id="no cache"
        ),
        pytest.param([CALL, ModelError("no")], ["ok", "ok", "failed"], id="the result is refused"),
        pytest.param([ModelError("no")], ["failed"], id="no answer"),
    ],
)
async def test_each_ability_is_told_by_itself(replies: list[Reply], states: list[str]) -> None:
    found: list[Any] = [finding async for finding in probe(ScriptedModel(replies))]
    assert [finding.state for finding in found] == states
    assert all(finding.told for finding in found)


def test_overload_is_told_in_one_line(provider: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)
    server.will(Refuse(403, "permission_error", "not for you"))
    code, told = _doctor(provider, server)
    assert code == 1
    assert "does not let this key use x: not for you" in " ".join(told.split())
