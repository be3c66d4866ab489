"""The parts of the prompt by themselves: pasted text, history, files, commands, the stream above it."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from onplan.cli.repl.above import Above
from onplan.cli.repl.commands import commands, is_command
from onplan.cli.repl.completer import PromptCompleter, mentioned
from onplan.cli.repl.drawing import wraps_on_resize
from onplan.cli.repl.files import Files, files_of, ranked
from onplan.cli.repl.history import ProjectHistory, history_file
from onplan.cli.repl.pastes import Pastes
from onplan.cli.view.screen import Screen

# --- pasted text ------------------------------------------------------------------------------------


@given(st.lists(st.text(), max_size=4), st.text())
def test_what_was_pasted_is_sent_whole_in_its_place(pasted: list[str], typed: str):
    pastes = Pastes()
    shown = [pastes.folded(text) for text in pasted]
    assert pastes.unfolded(typed.join(shown)) == typed.join(pasted)


@given(st.integers(6, 5_000))
def test_a_long_text_takes_one_short_row(lines: int):
    mark = Pastes().folded("x\n" * (lines - 1))
    assert (len(mark) < 40, "\n" in mark) == (True, False)


def test_a_mark_goes_as_one_piece_and_an_unknown_one_is_ordinary_text():
    pastes = Pastes()
    mark = pastes.folded("line\n" * 10)
    assert pastes.mark_before(f"see {mark}") == len(mark)
    assert pastes.mark_before(f"{mark} and more") == 0
    assert pastes.mark_before("[pasted text 9: 3 lines]") == 0
    assert pastes.unfolded("[pasted text 9: 3 lines]") == "[pasted text 9: 3 lines]"


# --- history ----------------------------------------------------------------------------------------


def typed(history: ProjectHistory, lines: Iterable[str]) -> None:
    for line in lines:
        history.append_string(line)


def test_history_is_there_again_newest_first_without_repeats_and_secrets_behind_a_blank(tmp_path: Path):
    file = history_file(tmp_path, tmp_path / "project")
    typed(ProjectHistory(file), ["one", "two", "two", " secret", "three\nlines", "x" * 20_000])
    assert list(ProjectHistory(file).load_history_strings()) == ["three\nlines", "two", "one"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert history_file(tmp_path, tmp_path / "other") != file


def test_a_damaged_history_loses_its_damaged_lines_only(tmp_path: Path):
    file = tmp_path / "lines.jsonl"
    typed(ProjectHistory(file), ["one"])
    with file.open("ab") as stream:
        stream.write(b'\xff\xfe not json\n{"a": 1}\n[]\n')
    typed(ProjectHistory(file), ["two"])
    assert list(ProjectHistory(file).load_history_strings()) == ["two", "one"]


def test_a_history_that_cannot_be_kept_costs_nothing_else(tmp_path: Path):
    (tmp_path / "history").write_text("a file where a directory should be")
    history = ProjectHistory(tmp_path / "history" / "lines.jsonl")
    typed(history, ["one"])
    assert history.get_strings() == ["one"]
    assert list(history.load_history_strings()) == []


def test_a_history_does_not_grow_for_ever(tmp_path: Path):
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(f'"{n}"\n' for n in range(2_500)))
    assert len(list(ProjectHistory(file).load_history_strings())) == 1_000
    assert len(file.read_text().splitlines()) == 1_000
    assert next(iter(ProjectHistory(file).load_history_strings())) == "2499"


# --- files ------------------------------------------------------------------------------------------


def test_files_are_ranked_by_where_they_match_and_changed_ones_come_first():
    files = Files(
        ("docs/server.md", "src/server.py", "server.toml", "src/serializer.py", "observer.py", "readme"),
        {"src/server.py": "changed"},
    )
    assert ranked(files, "server", 9) == ["src/server.py", "server.toml", "docs/server.md", "observer.py"]
    assert ranked(files, "srcsrvpy", 10) == ["src/server.py"]
    assert ranked(files, "nothing like it", 10) == []
    assert ranked(files, "", 2) == ["src/server.py", "readme"]


async def test_files_of_a_repository_are_those_that_git_knows(tmp_path: Path):
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "sub").mkdir()
    for name in ("kept", "sub/edited", "ignored", "sub/fresh file"):
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text("ignored\n")
    git("add", "kept", "sub/edited", ".gitignore")
    git("commit", "-qm", "x")
    (tmp_path / "sub" / "edited").write_text("y")
    found = await files_of(tmp_path)
    assert sorted(found.paths) == [".gitignore", "kept", "sub/edited", "sub/fresh file"]
    assert found.changed == {"sub/edited": "changed", "sub/fresh file": "new"}
    below = await files_of(tmp_path / "sub")
    assert (sorted(below.paths), below.changed) == (
        ["edited", "fresh file"],
        {"edited": "changed", "fresh file": "new"},
    )


async def test_a_repository_cannot_run_a_command_because_files_are_listed(tmp_path: Path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "kept").write_text("x")
    program = tmp_path / "monitor.sh"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    program.chmod(0o755)
    subprocess.run(
        ["git", "-C", str(tmp_path), "config", "core.fsmonitor", str(program)],
        check=True,
        capture_output=True,
    )
    found = await files_of(tmp_path)
    assert "kept" in found.paths
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("look at @src/a", "src/a"),
        ("@", ""),
        ("a@b.org", None),
        ("@done now", None),
        ("line\n@x", "x"),
        ("", None),
    ],
)
def test_a_file_is_named_by_an_at_sign_at_the_beginning_of_a_word(before: str, found: str | None):
    assert mentioned(before) == found


async def test_the_list_of_files_is_looked_up_again_after_a_while(tmp_path: Path):
    now = [0.0]

    async def offers(_: str) -> list[tuple[str, str]]:
        return []

    completer = PromptCompleter(lambda: tmp_path, offers, clock=lambda: now[0])

    async def listed() -> list[str]:
        asked = completer.get_completions_async(Document("@"), CompleteEvent())
        return [completion.text async for completion in asked]

    assert await listed() == []
    (tmp_path / "fresh").write_text("x")
    assert await listed() == []
    now[0] = 60.0
    assert await listed() == ["fresh"]


# --- commands ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("/help", True),
        ("/plan edit", True),
        ("/usr/bin/env", False),
        ("/", False),
        ("/etc is full", True),
        ("a", False),
    ],
)
def test_a_command_is_told_from_a_path(line: str, is_one: bool):
    assert is_command(line) is is_one


def test_every_command_is_documented():
    documented = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert [one.name for one in commands() if f"`{one.name}" not in documented] == []


# --- what goes above the prompt ---------------------------------------------------------------------


def test_only_whole_lines_go_above_the_prompt_and_nothing_is_lost():
    shown: list[str] = []
    stream = io.StringIO()
    above = Above(stream)
    screen = Screen(cast("TextIO", above))
    screen.line("before")
    above.hand_over(shown.append)
    screen.begin("begun")
    assert shown == []
    screen.line("whole")
    assert shown == ["begun\n", "whole\n"]
    screen.begin("open")
    above.take_back()
    screen.end(" and closed")
    assert stream.getvalue() == "before\nopen and closed\n"


@pytest.mark.parametrize(
    ("environ", "wraps"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "tmux-256color", "TMUX": "x"}, True),
        ({"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(380)"}, False),
        ({"TERM": "screen", "STY": "1.pts"}, False),
        ({"TERM": "linux"}, False),
    ],
)
def test_terminals_that_cut_lines_on_resize_are_known(environ: dict[str, str], wraps: bool):
    assert wraps_on_resize(environ) is wraps
