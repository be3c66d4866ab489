"""What the person typed in a directory, kept for the next time: a file of JSON lines for each."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History

_KEPT = 1_000
_LONGEST = 10_000
"""Characters of a line that is worth coming back to."""


class ProjectHistory(History):
    """The newest lines of one directory. A line that begins with a blank is not kept.

    A file that cannot be read or written costs the history, never the message.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        """The newest first."""
        lines = _lines(self._file)
        if len(lines) > 2 * _KEPT:
            lines = lines[-_KEPT:]
            _rewrite(self._file, lines)
        return reversed([text for line in lines if (text := _text(line))])

    def append_string(self, string: str) -> None:
        if string.startswith(" ") or len(string) > _LONGEST:
            return
        if self.get_strings()[-1:] != [string]:
            super().append_string(string)

    def store_string(self, string: str) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8") as file:
                file.write(json.dumps(string) + "\n")
        except OSError:
            return


def history_file(home: Path, root: Path) -> Path:
    """Where the lines typed in `root` are kept."""
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return home / "history" / f"{name}.jsonl"


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def _text(line: str) -> str:
    try:
        text = json.loads(line)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""


def _rewrite(file: Path, lines: Iterable[str]) -> None:
    whole = file.with_suffix(f".{os.getpid()}")
    try:
        descriptor = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as written:
            written.writelines(f"{line}\n" for line in lines)
        whole.replace(file)
    except OSError:
        return
