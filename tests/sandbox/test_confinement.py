"""A sandbox for a session: what is refused, what is hidden, and what is left on disk afterwards."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from onplan.errors import ConfigError
from onplan.tools.confinement import confinement, session_sandbox
from onplan.tools.sandbox import Sandbox
from onplan.tools.shell import Shell

HANG = 30.0


async def run(sandbox: Sandbox, command: str) -> str:
    shell = Shell(sandbox.root, env={"PATH": "/usr/bin:/bin"}, sandbox=sandbox)
    async with asyncio.timeout(HANG):
        output = await shell.run(command)
        await shell.close()
    return output.content


async def test_what_the_sandbox_had_to_leave_is_removed_at_the_end(
    works: None, sandbox: Sandbox, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    outside = tmp_path / "temporary"
    outside.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(outside))
    with confinement(sandbox) as inside:
        assert await run(inside, "echo note > /tmp/note; mkdir -p /tmp/a/b; touch work") == (
            "(no output)\nexit code: 0"
        )
        assert await run(inside, "cat /tmp/note") == "note\nexit code: 0"
        assert sorted(path.name for path in root.iterdir()) == [".claude", ".git", ".onplan", "work"]
    assert [path.name for path in root.iterdir()] == ["work"]
    assert list(outside.iterdir()) == []


def test_a_folder_that_was_there_or_was_filled_meanwhile_stays(works: None, sandbox: Sandbox, root: Path):
    (root / ".claude").mkdir()
    with confinement(sandbox):
        (root / ".onplan").mkdir()
        (root / ".onplan/settings.toml").touch()
    assert sorted(path.name for path in root.iterdir()) == [".claude", ".onplan"]


def test_a_temporary_folder_that_was_given_stays(works: None, sandbox: Sandbox, tmp_path: Path):
    given = tmp_path / "given"
    given.mkdir()
    with confinement(replace(sandbox, temporary=given)) as inside:
        assert inside.temporary == given
    assert given.is_dir()


def test_a_sandbox_that_cannot_be_made_is_an_error_with_its_cure(sandbox: Sandbox, root: Path):
    with (
        pytest.raises(ConfigError) as caught,
        confinement(replace(sandbox, platform="win32")),
    ):
        (root / "ran").touch()
    assert str(caught.value) == (
        "no sandbox can be made here: there is no sandbox for win32; "
        "run without --sandbox, or run onplan in a container"
    )
    assert list(root.iterdir()) == []


def test_folders_of_our_own_are_hidden_where_they_would_be_seen(home: Path, root: Path):
    inside = root / "data"
    inside.mkdir()
    found = session_sandbox(root, home, private=(inside, home / ".local/share/onplan", Path("/var/lib")))
    assert found == Sandbox(root, home, lingering=True, hidden=(inside, Path("/var/lib")))


def test_the_workspace_itself_cannot_be_hidden(home: Path, root: Path):
    with pytest.raises(ConfigError, match="cannot hide its own workspace"):
        session_sandbox(root, home, private=(root,))
