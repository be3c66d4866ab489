"""The way into the workspace: nothing leaves the root, writes are whole, what was read is remembered."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onplan.errors import ConfigError, ToolError
from onplan.tools.workspace import Workspace, fingerprint


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace `ws` beside a directory `ws-evil` whose name begins alike."""
    root, evil = tmp_path / "ws", tmp_path / "ws-evil"
    (root / "a").mkdir(parents=True)
    evil.mkdir()
    (evil / "s").write_text("secret")
    (root / "link").symlink_to(evil)
    (root / "l.txt").symlink_to(evil / "s")
    (root / "dangling").symlink_to(evil / "new")
    (root / "loop").symlink_to("loop")
    (root / "inner").symlink_to("a")
    (tmp_path / "wslink").symlink_to(root)
    return root


ESCAPES = (
    "../ws-evil/s",
    "a/../../ws-evil/s",
    "newdir/../../ws-evil/n",
    "link/s",
    "link/new",
    "l.txt",
    "dangling",
    "..",
    "/",
    "/etc/passwd",
    "loop/../link/s",
    "loop/../../ws-evil/s",
    "inner/../../ws-evil/s",
    "nul\0byte",
    "lone\ud800surrogate",
    "long/" * 2_000,
)


@pytest.mark.parametrize("path", ESCAPES)
def test_every_way_out_of_the_root_is_refused_with_one_text(root: Path, path: str):
    with pytest.raises(ToolError) as refused:
        Workspace(root).resolve(path)
    assert str(refused.value).endswith(" is not a path inside the workspace; use one relative to its root")
    assert len(str(refused.value)) < 300


def test_the_absolute_path_of_a_sibling_is_refused(root: Path):
    with pytest.raises(ToolError, match="not a path inside the workspace"):
        Workspace(root).resolve(f"{root}-evil/s")


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("a", "a"),
        ("", "."),
        (".", "."),
        ("a/../a/x", "a/x"),
        ("..foo", "..foo"),
        ("a..b", "a..b"),
        ("%2e%2e/x", "%2e%2e/x"),
        ("inner/x", "a/x"),
        ("~", "~"),
        ("~/x", "~/x"),
        ("~nobody/x", "~nobody/x"),
        ("not/there/yet", "not/there/yet"),
    ],
)
def test_a_path_inside_resolves_to_its_real_place(root: Path, path: str, real: str):
    assert Workspace(root).resolve(path) == root / real


def test_a_tilde_expands_only_when_it_leads_inside(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(root / "a"))
    assert Workspace(root).resolve("~/x") == root / "a" / "x"


def test_a_root_reached_through_a_link_takes_both_spellings(root: Path):
    link = root.parent / "wslink"
    workspace = Workspace(link)
    assert [workspace.resolve(path) for path in (f"{link}/a/x", f"{root}/a/x", "a/x")] == [root / "a/x"] * 3
    assert workspace.show(workspace.resolve(f"{link}/a/x")) == "a/x"


def test_relative_paths_start_at_the_working_directory_and_are_shown_so(root: Path):
    workspace = Workspace(root, cwd=root / "a")
    assert workspace.resolve("x") == root / "a/x"
    assert workspace.show(root / "a/x") == "x"
    assert workspace.resolve(workspace.show(root / "y")) == root / "y"


def test_a_root_that_is_no_directory_and_a_foreign_working_directory_are_refused(root: Path):
    with pytest.raises(ConfigError, match="is not a directory"):
        Workspace(root / "missing")
    with pytest.raises(ConfigError, match="is outside the workspace"):
        Workspace(root, cwd=root.parent)


NAMES = st.sampled_from(
    ["a", "..", ".", "", "link", "loop", "inner", "dangling", "l.txt", "~", "x", "ws-evil"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(path=st.text() | st.lists(NAMES, max_size=8).map("/".join))
def test_no_string_resolves_to_a_place_outside_the_root(root: Path, path: str):
    workspace = Workspace(root)
    try:
        real = workspace.resolve(path)
    except ToolError:
        return
    assert real == root or root in real.parents
    assert Path(os.path.realpath(real)) == real
    if not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in path):
        assert workspace.resolve(workspace.show(real)) == real


@pytest.mark.parametrize("name", ["link", "dangling"])
def test_a_link_put_in_the_way_after_resolving_leads_to_an_error_and_never_outside(root: Path, name: str):
    workspace, evil = Workspace(root), root.parent / "ws-evil"
    (root / name).rename(root / "aside")
    real = workspace.resolve(f"{name}/f" if name == "link" else name)
    (root / "aside").rename(root / name)
    with pytest.raises((ToolError, OSError)):
        workspace.write(real, b"x")
    with pytest.raises((ToolError, OSError)):
        workspace.read(real, limit=10)
    assert os.listdir(evil) == ["s"]


def test_a_write_makes_directories_and_leaves_no_other_file(root: Path):
    workspace = Workspace(root)
    workspace.write(root / "new/deep/f", b"1")
    workspace.write(root / "new/deep/f", b"2")
    assert (root / "new/deep/f").read_bytes() == b"2"
    assert os.listdir(root / "new/deep") == ["f"]


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o4755])
def test_a_write_keeps_the_mode_bits(root: Path, mode: int):
    (root / "f").write_text("1")
    (root / "f").chmod(mode)
    Workspace(root).write(root / "f", b"2")
    assert stat.S_IMODE((root / "f").stat().st_mode) == mode


def test_a_new_file_gets_the_mode_that_the_umask_leaves(root: Path):
    Workspace(root).write(root / "f", b"")
    (root / "plain").touch()
    assert (root / "f").stat().st_mode == (root / "plain").stat().st_mode


def test_a_write_that_fails_leaves_the_old_file_and_no_temporary_one(root: Path):
    (root / "f").write_text("old")
    with pytest.raises(TypeError):
        Workspace(root).write(root / "f", "no bytes")  # pyright: ignore[reportArgumentType] - the fault
    assert (root / "f").read_text() == "old"
    assert sorted(os.listdir(root)) == ["a", "dangling", "f", "inner", "l.txt", "link", "loop"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_write_protected_file_is_not_replaced(root: Path):
    (root / "f").write_text("old")
    (root / "f").chmod(0o444)
    with pytest.raises(ToolError, match="write-protected"):
        Workspace(root).write(root / "f", b"new")


def test_a_reader_sees_the_old_or_the_new_file_and_never_a_mixture(root: Path):
    workspace, target = Workspace(root), root / "f"
    contents = [bytes([letter]) * 200_000 for letter in b"ab"]
    workspace.write(target, contents[0])
    seen: set[bytes] = set()
    writing = threading.Event()

    def write() -> None:
        for turn in range(100):
            workspace.write(target, contents[turn % 2])
        writing.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not writing.is_set():
        seen.add(target.read_bytes())
    writer.join()
    assert seen <= set(contents)


def test_anything_but_a_regular_file_is_refused_without_blocking(root: Path):
    os.mkfifo(root / "pipe")
    workspace = Workspace(root)
    with pytest.raises(ToolError, match="pipe is a FIFO, not a regular file"):
        workspace.read(root / "pipe", limit=1)
    with pytest.raises(ToolError, match="pipe is a FIFO, not a regular file"):
        workspace.write(root / "pipe", b"x")
    with pytest.raises(ToolError, match="loop is a link that leads nowhere"):
        workspace.read(workspace.resolve("loop"), limit=1)
    with pytest.raises(IsADirectoryError):
        workspace.write(root / "a", b"x")


def test_reading_is_bounded_and_tells_the_whole_size(root: Path):
    with (root / "big").open("wb") as file:
        file.truncate(2**31)
    assert Workspace(root).read(root / "big", limit=4) == (b"\0" * 4, 2**31)


def test_what_was_read_is_remembered_by_its_content(root: Path):
    workspace = Workspace(root)
    assert workspace.seen(root / "f") is None
    workspace.remember(root / "f", fingerprint(b"1"))
    assert workspace.seen(root / "f") == fingerprint(b"1") != fingerprint(b"2")


def test_a_shown_path_holds_no_control_characters(root: Path):
    name = os.fsdecode(b"a\x1b[2J\n\xff")
    assert Workspace(root).show(root / name) == "a\ufffd[2J\ufffd\ufffd"
