"""Counts in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 call`, `2 calls`, `1,680 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
