"""What the tests of the command line stand on: a home of their own, a directory, a script, a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Person
from drawn import Drawn


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of one's own for every test."""
    path = tmp_path / "home"
    monkeypatch.setenv("ONPLAN_HOME", str(path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL")
    for name in (*keys, "MODEL_ID", "NO_COLOR", "COLUMNS", "VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    return path


@pytest.fixture
def person() -> Iterator[Callable[..., Person]]:
    """Seats people at terminals, and sends them home afterwards."""
    seated: list[Person] = []

    def sit(*arguments: str, **more: Any) -> Person:
        seated.append(Person(*arguments, **more))
        return seated[-1]

    yield sit
    for someone in seated:
        someone.close()


@pytest.fixture
def drawn() -> Iterator[Callable[..., Drawn]]:
    """Seats people at terminals on which the prompt is drawn, and sends them home afterwards."""
    seated: list[Drawn] = []

    def sit(*arguments: str, **more: Any) -> Drawn:
        seated.append(Drawn(*arguments, **more))
        return seated[-1]

    yield sit
    for someone in seated:
        someone.close()
