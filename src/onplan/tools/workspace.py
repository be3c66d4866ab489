"""The directory an agent may work in: paths that cannot leave it, writes that are whole, what was read."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from onplan.errors import ConfigError, ToolError

MAX_RESULT = 30_000
"""Characters of one tool answer, its own remarks included."""

_MAX_PATH = 4_096
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Workspace:
    """A root directory, and what of it has been read.

    Relative paths start at `cwd` (default: the root). `root` may be reached through a link. Raises
    `ConfigError` when the root is no directory or `cwd` lies outside of it.
    """

    def __init__(self, root: Path, *, cwd: Path | None = None) -> None:
        self.root = Path(os.path.realpath(root))
        self.cwd = self.root if cwd is None else Path(os.path.realpath(cwd))
        if not self.root.is_dir():
            raise ConfigError(f"the workspace {root} is not a directory")
        if not self.cwd.is_relative_to(self.root):
            raise ConfigError(f"the working directory {cwd} is outside the workspace {root}")
        self._seen: dict[Path, str] = {}

    def resolve(self, path: str) -> Path:
        """The real path that `path` stands for. It need not exist.

        Links are followed and the result compared by components. Every way out of the root, and every
        string that no file system takes, raises the same `ToolError`. `~` is a name like any other
        unless it expands to a place inside the root; nothing is percent-decoded.
        """
        try:
            return self._inside(path)
        except (ValueError, OSError, RecursionError):
            raise ToolError(
                f"{legible(path[:200])} is not a path inside the workspace; use one relative to its root"
            ) from None

    def _inside(self, path: str) -> Path:
        if len(path) > _MAX_PATH or "\0" in path:
            raise ValueError(path)
        if path == "~" or path.startswith("~/"):
            home = os.path.realpath(os.path.expanduser(path))
            if Path(home).is_relative_to(self.root):
                return Path(home)
        real = os.path.realpath(self.cwd / path)
        # A loop of links stops the resolution half-way; what follows the loop may still hold a link.
        if os.path.realpath(real) != real or not Path(real).is_relative_to(self.root):
            raise ValueError(path)
        os.fsencode(real)
        return Path(real)

    def show(self, path: Path) -> str:
        """How a path is written in answers; `resolve` takes it back.

        Relative to `cwd`, with `/`; absolute for a path outside `cwd`. Control characters and bytes
        that are no text are replaced.
        """
        inside = path.is_relative_to(self.cwd)
        return legible((path.relative_to(self.cwd) if inside else path).as_posix())

    def seen(self, path: Path) -> str | None:
        """The fingerprint that a file had when it was last read or written here."""
        return self._seen.get(path)

    def remember(self, path: Path, fingerprint: str) -> None:
        self._seen[path] = fingerprint

    def read(self, path: Path, *, limit: int) -> tuple[bytes, int]:
        """At most `limit` bytes from the start of a resolved path, and the size of the whole file.

        Never blocks: anything but a regular file raises `ToolError`. Other failures are `OSError`.
        """
        with self.open(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(limit)
        return data, max(size, len(data))

    @contextmanager
    def open(self, path: Path) -> Generator[BinaryIO, None, None]:
        """A resolved path for reading, as `read` does it."""
        with self._folder_of(path) as (folder, name):
            if stat.S_ISDIR(self._check_regular(path, folder, name).st_mode):
                raise IsADirectoryError(path)
            # O_NONBLOCK: a FIFO that took the file's place a moment ago must not hang the agent.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(name, flags, dir_fd=folder)
        with open(descriptor, "rb") as file:
            yield file

    def write(self, path: Path, data: bytes) -> None:
        """Put `data` in place of whatever a resolved path held, whole or not at all.

        A new file in the same directory is renamed over the old one, which keeps its mode bits and
        owner; missing directories are made. The way to the file is walked from the root without
        following a link, so a link put there after `resolve` leads to an error and never outside.
        Raises `ToolError` for anything but a regular file; other failures are `OSError`.
        """
        with self._folder_of(path, create=True) as (folder, name):
            before = self._replaceable(path, folder, name)
            temporary = f".onplan-{os.urandom(8).hex()}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, 0o666, dir_fd=folder)
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
                    if before is not None:
                        _keep_owner_and_mode(file.fileno(), before)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    def _replaceable(self, path: Path, folder: int, name: str) -> os.stat_result | None:
        try:
            before = self._check_regular(path, folder, name)
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(before.st_mode):
            raise IsADirectoryError(path)
        # A rename needs no right to the file itself; the person who took it away meant something.
        if not os.access(name, os.W_OK, dir_fd=folder):
            raise ToolError(f"{self.show(path)} is write-protected (mode {stat.S_IMODE(before.st_mode):04o})")
        return before

    def _check_regular(self, path: Path, folder: int, name: str) -> os.stat_result:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
            return found
        raise ToolError(f"{self.show(path)} is {_kind(found.st_mode)}, not a regular file")

    @contextmanager
    def _folder_of(self, path: Path, *, create: bool = False) -> Generator[tuple[int, str], None, None]:
        """A descriptor of the directory that holds `path`, walked from the root, and the name in it."""
        *folders, name = path.relative_to(self.root).parts or (".",)
        descriptor = os.open(self.root, _FOLDER)
        try:
            for folder in folders:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=descriptor)
                inner = os.open(folder, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor, name
        finally:
            os.close(descriptor)


def fingerprint(data: bytes) -> str:
    """What tells one content of a file from another. Of the bytes: times of a file system are too coarse."""
    return hashlib.sha256(data).hexdigest()


def legible(text: str) -> str:
    """`text` on one line: control characters and lone surrogates become U+FFFD.

    Replaced, not left out as for a terminal: two names that differ must not be shown as one.
    """
    return "".join("\ufffd" if _unprintable(ord(char)) else char for char in text)


def _unprintable(point: int) -> bool:
    return point < 0x20 or 0x7F <= point < 0xA0 or 0xD800 <= point < 0xE000


def _kind(mode: int) -> str:
    match stat.S_IFMT(mode):
        case stat.S_IFIFO:
            return "a FIFO"
        case stat.S_IFLNK:
            return "a link that leads nowhere"
        case stat.S_IFSOCK:
            return "a socket"
        case _:
            return "a device"


def _keep_owner_and_mode(descriptor: int, before: os.stat_result) -> None:
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    # After the owner: a change of owner clears the set-id bits.
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
