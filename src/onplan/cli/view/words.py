"""Counts and values in words."""

from __future__ import annotations

import json
from pathlib import Path

from onplan.plan.text import counted as counted


def short_path(path: Path) -> str:
    """With `~` for the person's home."""
    home = Path.home()
    if path == home:
        return "~"
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def as_json(value: object) -> str:
    """A value that a model sent, as text to be shown. Never raises; a lone surrogate stays."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return f"({type(value).__name__} that cannot be shown)"


def dollars(cost: float) -> str:
    """Cents where that says something, else the digits that do."""
    return f"${cost:.2f}" if cost >= 0.1 else f"${cost:.4f}"
