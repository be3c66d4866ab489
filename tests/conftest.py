"""Fixtures that several suites share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in, the current one."""
    path = tmp_path / "work"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Writes a script file; answers what to give to `--model`."""

    def write(*entries: Any) -> str:
        path = tmp_path / "script.json"
        path.write_text(json.dumps(entries))
        return f"script:{path}"

    return write
