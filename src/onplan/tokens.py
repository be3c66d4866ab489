"""How many tokens a text is where no provider counted them."""

from __future__ import annotations


def estimate_tokens(text: str) -> int:
    """UTF-8 bytes / 4, rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // 4)
