"""Fixtures that several suites share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where `ONPLAN_MUST_RUN` names what is installed (`chromium postgresql`), a test that skips for want of
    it fails."""
    report = yield
    wanted = os.environ.get("ONPLAN_MUST_RUN", "").split()
    if report.skipped and any(name in str(report.longrepr).casefold() for name in wanted):
        report.outcome = "failed"
        report.longrepr = f"must run here and was skipped: {report.longrepr}"
    return report
