"""What of a `.env` counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from onplan.cli.environment import Environment, environment
from onplan.cli.main import cli
from onplan.trust import Trust

SAID = """\
# a comment
export MODEL_ID=claude-x   # which one
ANTHROPIC_API_KEY="k e y"
OPENAI_BASE_URL='http://127.0.0.1:1/v1'
PATH=/elsewhere
ONPLAN_HOME=/elsewhere
nonsense
#OPENAI_API_KEY=no
"""


def _trust(directory: Path, answer: bool | None) -> Trust:
    return Trust({} if answer is None else {str(directory.resolve()): answer}, Path("/nowhere"))


def test_of_a_trusted_directory_keys_and_addresses_count_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(SAID)
    found = environment(tmp_path, _trust(tmp_path, True), {"PATH": "/bin"})
    assert found == Environment(
        {
            "PATH": "/bin",
            "MODEL_ID": "claude-x",
            "ANTHROPIC_API_KEY": "k e y",
            "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        }
    )


@pytest.mark.parametrize("answer", [None, False])
def test_of_any_other_directory_the_model_alone_counts_and_the_rest_is_told(
    tmp_path: Path, answer: bool | None
) -> None:
    (tmp_path / ".env").write_text(SAID)
    found = environment(tmp_path, _trust(tmp_path, answer), {})
    assert found.variables == {"MODEL_ID": "claude-x"}
    assert found.notes == (
        "ANTHROPIC_API_KEY, OPENAI_BASE_URL in .env: does not count until you trust this directory "
        "(onplan trust)",
    )


def test_an_untrusted_model_with_an_address_does_not_count_for_it_would_get_the_key(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MODEL_ID=openai:x@https://evil.invalid/v1\n")
    assert environment(tmp_path, _trust(tmp_path, None), {}).variables == {}


def test_what_is_set_for_the_process_wins(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MODEL_ID=claude-x\nOPENAI_API_KEY=file\n")
    own = {"MODEL_ID": "gpt-x", "OPENAI_API_KEY": ""}
    found = environment(tmp_path, _trust(tmp_path, True), own)
    assert found.variables == {"MODEL_ID": "gpt-x", "OPENAI_API_KEY": "file"}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00=1", b"'unclosed\nMODEL_ID='x\n", b"=" * 100_000])
def test_a_file_that_makes_no_sense_does_no_harm(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".env").write_bytes(content)
    environment(tmp_path, _trust(tmp_path, True), {})


def test_a_directory_in_its_place_says_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    assert environment(tmp_path, _trust(tmp_path, True), {}) == Environment({})


def test_a_current_directory_that_is_gone_keeps_no_session_from_going_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONPLAN_HOME", str(tmp_path / "home"))
    (tmp_path / "script.json").write_text('["Hello.", "Again."]')
    (tmp_path / "gone").mkdir()
    model = ["--model", f"script:{tmp_path / 'script.json'}"]
    assert CliRunner().invoke(cli, ["-p", "Hi.", "--cwd", str(tmp_path), *model]).stdout == "Hello.\n"
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert CliRunner().invoke(cli, ["resume", "latest", "-p", "On.", *model]).stdout == "Hello.\n"
