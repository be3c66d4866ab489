"""Trying a local model: what is no model is told at once, and a run is judged by what its log says."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from far_side import CHAT, KEY, Server, serving

from onplan.messages import Assistant, Call, Text

RUN = Path(__file__).resolve().parents[2] / "examples" / "local" / "run.py"


@pytest.fixture(scope="module")
def local() -> ModuleType:
    spec = importlib.util.spec_from_file_location("local_run", RUN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(CHAT) as running:
        yield running


def _told(*arguments: str) -> tuple[int, str, str]:
    ran = subprocess.run(
        [sys.executable, str(RUN), *arguments], capture_output=True, text=True, timeout=50, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_without_a_model_it_says_how_to_name_one():
    assert _told("") == (2, "", "local: no model was named: make local MODEL=path/to/model.gguf\n")


def test_what_is_no_gguf_file_is_refused_by_name(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("no model")
    code, out, error = _told(str(tmp_path / "notes.txt"))
    assert (code, out) == (2, "")
    assert error.startswith(f"local: {tmp_path / 'notes.txt'} is no GGUF file")
    code, out, error = _told(str(tmp_path / "gone.gguf"))
    assert (code, out) == (2, "")
    assert error.startswith(f"local: {tmp_path / 'gone.gguf'} cannot be read (No such file or directory)")


def test_a_gguf_file_passes_the_check(tmp_path: Path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF\x03\0\0\0")
    assert _told("--check", str(tmp_path / "model.gguf")) == (0, "", "")


def test_the_persons_keys_and_settings_stay_away_from_the_model(
    local: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "MODEL_ID", "GH_TOKEN"):
        monkeypatch.setenv(name, "secret")
    made = local.environment(tmp_path)
    assert "secret" not in made.values()
    assert (made["ONPLAN_HOME"], made["CLAUDE_CONFIG_DIR"]) == (str(tmp_path), str(tmp_path / "none"))


def _job(local: Any, server: Server, tmp_path: Path, *replies: Assistant) -> Any:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (home / "settings.toml").write_text(local.SETTINGS)
    (work / "note.txt").write_text(local.NOTE)
    server.will(*replies)
    # The server of these tests wants its key.
    environ = {**local.environment(home), "OPENAI_API_KEY": KEY}
    return local.ran("Go.", f"openai:m@{server.url}/v1", work, environ, 3)


def _calls(name: str, **arguments: Any) -> Assistant:
    return Assistant((Call("c1", name, arguments),), "tool_calls")


def _says(text: str) -> Assistant:
    return Assistant((Text(text),))


def test_a_tool_job_is_well_if_the_file_was_read_and_the_answer_comes_from_it(
    local: Any, server: Server, tmp_path: Path
):
    replies = [_calls("read_file", path="note.txt"), _says("It says to buy quinces.")]
    assert list(local.tool_rows(_job(local, server, tmp_path, *replies))) == [
        (True, "tool call", "read_file ok"),
        (True, "answer from its result", "'It says to buy quinces.'"),
        (None, "tool job", "done after 2 requests; refused 0, repaired 0, reminders 0; 0 tokens written"),
    ]


def test_a_call_written_as_text_is_no_call_and_is_shown(local: Any, server: Server, tmp_path: Path):
    job = _job(local, server, tmp_path, _says('{"name": "read_file", "arguments": {}}'))
    assert list(local.tool_rows(job))[:2] == [
        (False, "tool call", """none; it said '{"name": "read_file", "arguments": {}}'"""),
        (False, "answer from its result", """'{"name": "read_file", "arguments": {}}'"""),
    ]


def test_a_command_of_the_unattended_model_is_refused(local: Any, server: Server, tmp_path: Path):
    job = _job(local, server, tmp_path, _calls("bash", command="true"), _says("Done."))
    assert next(iter(local.tool_rows(job))) == (False, "tool call", "bash denied")


def test_a_plan_job_is_well_if_a_plan_was_accepted(local: Any, server: Server, tmp_path: Path):
    todos = [{"content": "Mix flour", "status": "in_progress"}, {"content": "Bake", "status": "Pending"}]
    replies = [_calls("write_todos", todos=todos), _says("Planned."), _says("Planned.")]
    assert list(local.plan_rows(_job(local, server, tmp_path, *replies))) == [
        (True, "plan write", "2 todos"),
        (
            None,
            "plan job",
            "open_todos after 3 requests; refused 0, repaired 1, reminders 0; 0 tokens written",
        ),
    ]
