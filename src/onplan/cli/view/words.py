"""Counts and values in words."""

from __future__ import annotations

import json


def counted(number: int, noun: str) -> str:
    """`1 call`, `2 calls`, `1,680 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def as_json(value: object) -> str:
    """A value that a model sent, as text to be shown. Never raises; a lone surrogate stays."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return f"({type(value).__name__} that cannot be shown)"


def dollars(cost: float) -> str:
    """Cents where that says something, else the digits that do."""
    return f"${cost:.2f}" if cost >= 0.1 else f"${cost:.4f}"
