"""Which directories the person trusts to bring settings: asked once, remembered, taken back; nothing else."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from onplan.errors import ConfigError, StoreError

BROUGHT = (
    ".onplan/settings.toml",
    ".onplan/settings.local.toml",
    ".onplan/agents",
    ".onplan/mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/agents",
    ".mcp.json",
)
"""What a directory can bring that could loosen a rule, run a command or redirect a key. A `.env` is no
reason to ask: only `MODEL_ID` is read from one; whoever reads more of it has to ask `Trust.covers` first."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What the person said of directories, by real path. `None` in an answer: they were never asked."""

    directories: Mapping[str, bool]
    home: Path
    warning: str = ""

    def said(self, directory: Path) -> bool | None:
        """The answer for the nearest directory at or above this one that has one.

        A trusted directory covers its subfolders; the file system's root and the person's home cover
        only themselves, or whatever is downloaded there would be trusted.
        """
        real = real_path(directory)
        for place in (real, *real.parents):
            answer = self.directories.get(str(place))
            if answer is None or (answer and place != real and self._is_too_wide(place)):
                continue
            return answer
        return None

    def covers(self, directory: Path) -> bool:
        """Whether what the directory brings may loosen, run or redirect anything."""
        return self.said(directory) is True

    def _is_too_wide(self, place: Path) -> bool:
        return place == Path(place.anchor) or place == real_path(self.home)


def real_path(directory: Path) -> Path:
    """The directory with every link followed: a link must not borrow the trust of another name."""
    return Path(os.path.realpath(directory))


def brought_by(root: Path) -> tuple[str, ...]:
    """What of `BROUGHT` is there, by its name below `root`."""
    return tuple(name for name in BROUGHT if os.path.lexists(root / name))


def load_trust(data_dir: Path, home: Path | None = None) -> Trust:
    """What was remembered in `data_dir/trust.json`. A file that cannot be read trusts nothing and warns."""
    home = Path.home() if home is None else home
    file = data_dir / "trust.json"
    try:
        return Trust(_directories(file.read_bytes()), home)
    except FileNotFoundError:
        return Trust({}, home)
    except OSError as error:
        return Trust({}, home, f"{file} cannot be read ({error.strerror}): no directory is trusted")
    except (ValueError, RecursionError):
        return Trust({}, home, f"{file} is damaged: no directory is trusted until you trust it again")


def _directories(data: bytes) -> dict[str, bool]:
    import json  # there is seldom a file to read, and more seldom one to write

    found: Any = json.loads(data)
    outer = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if not isinstance(outer.get("directories"), dict):
        raise ValueError("no list of directories")
    listed = cast("dict[str, Any]", outer["directories"])
    return {path: answer for path, answer in listed.items() if isinstance(answer, bool)}


def remember(data_dir: Path, directory: Path, trusted: bool) -> None:
    """Keep the person's answer in place of an earlier one. Raises `ConfigError`, `StoreError`."""
    real = real_path(directory)
    if trusted and not real.is_dir():
        raise ConfigError(f"{directory} is not a directory: only one that is there can be trusted")
    with _changing(data_dir) as directories:
        directories[str(real)] = trusted


@contextlib.contextmanager
def _changing(data_dir: Path) -> Generator[dict[str, bool], None, None]:
    """The remembered answers, written back whole at the end; one process at a time."""
    import fcntl
    import json

    file = data_dir / "trust.json"
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(data_dir / "trust.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            directories = dict(load_trust(data_dir).directories)
            yield directories
            _replace(file, json.dumps({"directories": directories}, indent=1).encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror or error}") from None


def _replace(file: Path, data: bytes) -> None:
    import tempfile

    descriptor, temporary = tempfile.mkstemp(prefix=".trust-", dir=file.parent)  # readable by its owner alone
    try:
        with open(descriptor, "wb") as out:
            out.write(data)
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
