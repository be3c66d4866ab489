"""`onplan play` and `onplan export` as a person meets them."""

from __future__ import annotations

import asyncio
import importlib.abc
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result
from run_logs import STARTED

from onplan.cli.main import cli
from onplan.events import Record, encode_record
from onplan.messages import Assistant, Call, Text, ToolResult, User
from onplan.stores.sqlite import SqliteStore

PATIENCE = 30.0
KEY = "sk-ant-api03-" + "a1B2" * 12
JOB: list[Record] = [
    STARTED,
    User("Do it."),
    Assistant((Call("c", "bash", {"command": "cat .env"}),), "tool_calls"),
    ToolResult("c", "bash", f"key:\n{KEY}\n\x1b[31mred\x1b[0m \u202eevil"),
    Assistant((Text("Done."),)),
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of one's own with one session in it."""
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("ONPLAN_HOME", str(path))
    monkeypatch.delenv("ONPLAN_SHOW_SECRETS", raising=False)
    asyncio.run(_fill(path / "sessions.sqlite3"))
    return path


async def _fill(path: Path) -> None:
    store = SqliteStore.open(path)
    await store.create(STARTED.id, cwd=STARTED.cwd, time=1.0)
    await store.append(STARTED.id, 1, [encode_record(record) for record in JOB], time=2.0)
    await store.close()


def onplan(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


# --- files ------------------------------------------------------------------------------------------


def test_the_player_is_written_as_one_file(work: Path):
    ran = onplan("play", "--html", "run.html")
    assert ran.exit_code == 0
    assert ran.stdout.startswith("wrote run.html (")
    page = (work / "run.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "key:\\nsk-ant-api03-[masked]" in page
    assert KEY not in page
    assert onplan("export", "--format", "html").stdout == page


def test_a_transcript_goes_to_stdout_without_what_a_terminal_obeys(work: Path):
    text = onplan("export").stdout
    assert "## Turn 1" in text
    assert "red evil" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("form", ["md", "html", "json", "anthropic", "openai"])
def test_every_format_is_written_to_a_file_with_keys_masked_unless_shown(
    form: str, work: Path, monkeypatch: pytest.MonkeyPatch
):
    ran = onplan("export", STARTED.id[:4], "--format", form, "-o", "out")
    assert (ran.exit_code, ran.stdout) == (0, "wrote out\n")
    assert KEY not in (work / "out").read_text(encoding="utf-8")
    monkeypatch.setenv("ONPLAN_SHOW_SECRETS", "1")
    onplan("export", "--format", form, "-o", "out")
    assert KEY in (work / "out").read_text(encoding="utf-8")


def test_records_and_requests_are_json_that_loads(work: Path):
    log = json.loads(onplan("export", "--format", "json").stdout)
    assert [row["seq"] for row in log["records"]] == [1, 2, 3, 4, 5]
    assert log["session"]["id"] == STARTED.id
    for form in ("anthropic", "openai"):
        assert json.loads(onplan("export", "--format", form).stdout)["messages"][-1]["role"] == "assistant"


def test_what_goes_wrong_is_one_line(work: Path):
    for arguments, code, line in (
        (["export", "nope"], 1, "nope"),
        (["play", "--html", "no/such/directory.html"], 1, "no/such/directory.html"),
        (["export", "-o", "no/such/file"], 1, "no/such/file"),
        (["play", "--html", "x.html", "--port", "80"], 2, "--port"),
        (["export", "--format", "pdf"], 2, "pdf"),
    ):
        ran = onplan(*arguments)
        assert (ran.exit_code, ran.stderr.count("\n")) == (code, 1), ran.stderr
        assert line in ran.stderr


# --- serving ----------------------------------------------------------------------------------------


class Player:
    """`onplan play` as a process; `address` has the token."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "onplan", "play", *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.said = self._process.stdout.readline()
        self.address = self._process.stdout.readline().strip()

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """The exit code, and what was on stderr."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        _, errors = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, errors


@pytest.fixture
def player() -> Iterator[Player]:
    started = Player()
    yield started
    started.end(signal.SIGKILL)


def test_the_session_is_served_at_the_address_that_is_printed_until_ctrl_c(player: Player):
    page, _, token = player.address.partition("#token=")
    assert player.said == f"session {STARTED.id}; Ctrl-C ends it\n"
    with httpx.Client(base_url=page, trust_env=False, timeout=PATIENCE) as browser:
        assert browser.get("/").text.startswith("<!doctype html>")
        assert browser.get("/api/run").status_code == 401
        told = browser.get("/api/run", headers={"authorization": f"Bearer {token}"})
        assert len(told.json()["messages"]) == 4
        assert KEY not in told.text
        with browser.stream("GET", f"/api/events?token={token}") as events:
            assert next(events.iter_lines()) == "retry: 1000"
            assert player.end() == (0, "")


def test_two_players_have_two_tokens(player: Player):
    other = Player()
    try:
        assert other.address.partition("#")[2] != player.address.partition("#")[2]
    finally:
        other.end()


class Without(importlib.abc.MetaPathFinder):
    """An installation that lacks some packages."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_without_the_extra_the_files_are_written_and_serving_says_what_is_missing(
    work: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in [name for name in sys.modules if name.partition(".")[0] in ("starlette", "uvicorn")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "onplan.web.server", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Without("starlette", "uvicorn"), *sys.meta_path])
    assert onplan("play", "--html", "run.html").exit_code == 0
    assert onplan("export").exit_code == 0
    ran = onplan("play")
    assert (ran.exit_code, ran.stderr.count("\n")) == (1, 1)
    assert 'pip install "onplan[web]"' in ran.stderr
    assert "onplan play --html run.html" in ran.stderr
