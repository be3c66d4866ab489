"""Trust of directories: asked once, remembered, taken back, by real path."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onplan.errors import ConfigError, StoreError
from onplan.trust import Trust, brought_by, load_trust, remember


def test_an_answer_is_remembered_covers_the_subfolders_and_can_be_taken_back(tmp_path: Path) -> None:
    data, project = tmp_path / "data", tmp_path / "project"
    (project / "deep").mkdir(parents=True)
    assert load_trust(data).said(project) is None
    remember(data, project, True)
    trust = load_trust(data)
    assert (trust.covers(project), trust.covers(project / "deep"), trust.covers(tmp_path)) == (
        True,
        True,
        False,
    )
    remember(data, project, False)
    assert load_trust(data).said(project / "deep") is False


def test_the_nearest_answer_counts(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "vendor" / "x").mkdir(parents=True)
    remember(tmp_path, project, True)
    remember(tmp_path, project / "vendor", False)
    trust = load_trust(tmp_path)
    assert trust.covers(project)
    assert not trust.covers(project / "vendor" / "x")


def test_trust_is_of_the_real_directory_not_of_a_name(tmp_path: Path) -> None:
    trusted, evil = tmp_path / "trusted", tmp_path / "evil"
    trusted.mkdir()
    evil.mkdir()
    remember(tmp_path, trusted, True)
    (trusted / "inside").symlink_to(evil)
    (tmp_path / "link").symlink_to(trusted)
    trust = load_trust(tmp_path)
    assert not trust.covers(trusted / "inside")
    assert trust.covers(tmp_path / "link")
    assert not trust.covers(tmp_path / "trusted-evil")


def test_home_and_root_cover_only_themselves(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "downloads").mkdir(parents=True)
    trust = Trust({str(home): True, "/": True}, home)
    assert trust.covers(home)
    assert trust.said(home / "downloads") is None
    assert trust.said(tmp_path) is None


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"directories": []}', '{"directories": {"/": 1}}', "[" * 5000]
)
def test_a_damaged_file_trusts_nothing_and_says_so(tmp_path: Path, content: str) -> None:
    (tmp_path / "trust.json").write_text(content)
    trust = load_trust(tmp_path)
    assert not trust.covers(tmp_path)
    assert bool(trust.warning) is (content != '{"directories": {"/": 1}}')


def test_the_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    remember(tmp_path / "data", tmp_path, True)
    assert stat.S_IMODE((tmp_path / "data" / "trust.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_what_is_not_there_cannot_be_trusted_but_can_be_taken_back(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a directory"):
        remember(tmp_path, tmp_path / "gone", True)
    remember(tmp_path, tmp_path / "gone", False)
    assert load_trust(tmp_path).said(tmp_path / "gone") is False


def test_a_data_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(StoreError, match=r"trust\.json cannot be written"):
        remember(tmp_path / "data", tmp_path, True)


def _remember_many(data: Path, names: list[str]) -> None:
    for name in names:
        remember(data, data / name, False)


def test_two_processes_lose_no_answer(tmp_path: Path) -> None:
    names = [[f"{who}{n}" for n in range(20)] for who in "ab"]
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_remember_many, args=(tmp_path, mine)) for mine in names]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert set(load_trust(tmp_path).directories) == {str(tmp_path / name) for mine in names for name in mine}


@given(st.dictionaries(st.sampled_from(["/a", "/a/b", "/a/b/c", "/d"]), st.booleans()))
def test_only_a_yes_at_or_above_a_directory_trusts_it(said: dict[str, bool]) -> None:
    trust = Trust(said, Path("/nobody"))
    for path in ("/a", "/a/b", "/a/b/c", "/d", "/d/e"):
        chain = [str(place) for place in (Path(path), *Path(path).parents)]
        nearest = next((said[place] for place in chain if place in said), None)
        assert trust.said(Path(path)) == nearest


def test_what_a_directory_brings_is_named(tmp_path: Path) -> None:
    assert brought_by(tmp_path) == ()
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text("{}")
    (tmp_path / ".mcp.json").symlink_to("nowhere")
    (tmp_path / ".env").write_text("MODEL_ID=x")
    assert brought_by(tmp_path) == (".claude/settings.json", ".mcp.json")
