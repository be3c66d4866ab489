"""The standard streams as every command needs them, help too; knows nothing of what is shown."""

from __future__ import annotations

from typing import TextIO


def utf8(stream: TextIO) -> None:
    """Make a standard stream speak UTF-8 whatever the locale says; what cannot be encoded is replaced."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="replace")
