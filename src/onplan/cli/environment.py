"""The environment of a run: the process's own, and a `.env` in the directory as far as that is trusted."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from onplan.trust import Trust

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL")
"""What a `.env` may say besides `MODEL_ID`. Nothing else of it is read."""

_LONGEST = 65_536


@dataclass(frozen=True, slots=True)
class Environment:
    """`notes`: what of a `.env` does not count, one line each."""

    variables: Mapping[str, str]
    notes: tuple[str, ...] = ()


def environment(directory: Path, trust: Trust, environ: Mapping[str, str] | None = None) -> Environment:
    """What is set for the process wins. Of an untrusted directory `MODEL_ID` alone counts, and only without
    an address: another could be sent a key that the person has set."""
    own = os.environ if environ is None else environ
    said = {name: value for name, value in _read(directory / ".env") if name in (*KEYS, "MODEL_ID")}
    trusted = trust.covers(directory)
    counts = said if trusted else {n: v for n, v in said.items() if n == "MODEL_ID" and "@" not in v}
    left = [name for name in said if name not in counts and not own.get(name)]
    notes = (
        [f"{', '.join(left)} in .env: does not count until you trust this directory (onplan trust)"]
        if left
        else []
    )
    return Environment(
        {**counts, **{name: value for name, value in own.items() if value or name not in counts}},
        tuple(notes),
    )


def _read(file: Path) -> Iterator[tuple[str, str]]:
    """The assignments of a `.env`. A file that cannot be read, or is none, says nothing."""
    try:
        if not file.is_file() or file.stat().st_size > _LONGEST:
            return
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not line.lstrip().startswith("#"):
            yield name.strip(), _value(value.strip())


def _value(text: str) -> str:
    """Without quotes, and without a comment behind it."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return text
    return " ".join(words)
