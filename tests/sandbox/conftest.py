"""A project, and beside it a home with secrets in it; commands run in a real sandbox."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from onplan.tools.sandbox import Sandbox, Unavailable, detect

Run = Callable[..., subprocess.CompletedProcess[str]]
HANG = 30


@pytest.fixture(scope="session")
def works() -> None:
    """Skips what needs a real sandbox where there is none."""
    found = detect()
    if isinstance(found, Unavailable):
        pytest.skip(f"{found.reason}; {found.cure}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in (
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".netrc",
        ".bash_history",
        ".config/gh/hosts.yml",
        ".config/git/credentials",
        ".cargo/credentials.toml",
        ".local/share/onplan/sessions.sqlite3",
        "other-project/.env",
    ):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a secret of the home")
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    tool = home / ".local/bin/greet"
    tool.parent.mkdir(parents=True, exist_ok=True)
    tool.write_text("#!/bin/sh\necho good day\n")
    tool.chmod(0o755)
    return home


@pytest.fixture
def root(home: Path) -> Path:
    root = home / "project"
    root.mkdir()
    return root


@pytest.fixture
def sandbox(root: Path, home: Path) -> Sandbox:
    return Sandbox(root, home)


@pytest.fixture
def run(works: None, sandbox: Sandbox) -> Run:
    """Run a bash script inside; `wraps` are fields of the sandbox to change."""

    def run(script: str, *, cwd: Path | None = None, **wraps: object) -> subprocess.CompletedProcess[str]:
        inside = replace(sandbox, **wraps)
        env = inside.environment({**os.environ, "PATH": "/usr/bin:/bin", "LC_ALL": "C"})
        argv = inside.wrap(["bash", "-c", script], cwd=cwd or inside.root)
        return subprocess.run(
            argv,
            env=env,
            cwd=inside.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
        )

    return run


@pytest.fixture
def git(root: Path, home: Path) -> Callable[..., str]:
    """Git outside of the sandbox, with the fake home."""

    def git(*args: str, cwd: Path = root) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        done = subprocess.run(["git", *args], cwd=cwd, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    return git
