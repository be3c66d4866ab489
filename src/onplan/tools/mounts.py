"""What is where inside a sandbox: hidden, readable, writable, closed; builds no command line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from onplan.errors import ConfigError

TEMPORARY = Path("/tmp")

_HIDDEN = ("/home", "/root", "/tmp", "/var/tmp", "/run", "/var/run")
"""Homes, other programs' temporary files, and the sockets of daemons: one of Docker's is as good as root."""

_SHOWN = (
    "/home/linuxbrew/.linuxbrew",
    "/run/NetworkManager/resolv.conf",
    "/run/current-system",
    "/run/opengl-driver",
    "/run/resolvconf",
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
)

TOOLS = (
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".cargo/git",
    ".cargo/registry",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno/bin",
    ".dotnet",
    ".elan",
    ".fnm",
    ".ghcup",
    ".gitconfig",
    ".gitignore",
    ".gitignore_global",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/uv",
    ".m2/repository",
    ".nix-profile",
    ".npm-global",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman/candidates",
    ".volta",
    "bin",
    "go/bin",
    "go/pkg/mod",
    "miniconda3",
    "miniforge3",
)
"""Below home, read-only where they exist: programs and fetched packages. No folder that also holds logins."""

_SETTINGS = (".onplan", ".claude")

Access = Literal["hidden", "read", "write", "sealed"]
"""`hidden`: an empty folder that lasts for one command. `sealed`: an empty folder that takes no writes."""


@dataclass(frozen=True, slots=True)
class Mount:
    """`source`: what is at `path` inside, where that is not `path` itself."""

    path: Path
    access: Access
    source: Path | None = None

    def options(self) -> tuple[str, ...]:
        """The words for bubblewrap."""
        path = str(self.path)
        match self.access:
            case "hidden" if not self.path.is_dir():
                return ("--ro-bind", "/dev/null", path)
            case "hidden":
                return ("--tmpfs", path)
            case "sealed":
                return ("--tmpfs", path, "--remount-ro", path)
            case "read":
                return ("--ro-bind", path, path)
            case "write":
                return ("--bind", str(self.source or path), path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The paths that a sandbox treats in a way of their own: those fields of `Sandbox`."""

    root: Path
    home: Path
    extra_writable: tuple[Path, ...]
    read_only: tuple[Path, ...]
    hidden: tuple[Path, ...]
    temporary: Path | None

    def mounts(self, writable: Sequence[Path] = ()) -> list[Mount]:
        """Outer paths before what is in them: the most exact path decides. `writable`: further files.

        Raises `ConfigError` for a protected name that is a link.
        """
        home = real(self.home)
        hidden = {real(Path(path)) for path in _HIDDEN} | {home}
        mounts = [Mount(path, "hidden") for path in sorted(hidden) if path.is_dir()]
        mounts += [Mount(real(TEMPORARY), "write", self.temporary)] if self.temporary else []
        shown = [*map(Path, _SHOWN), *(home / name for name in TOOLS)]
        mounts += [Mount(path, "read") for path in shown if path.exists()]
        mounts += [Mount(real(path), "write") for path in (self.root, *self.extra_writable, *writable)]
        mounts += protected(real(self.root))
        for path in self.extra_writable:
            mounts += [mount for mount in protected(real(path)) if mount.path.exists()]
        mounts += [Mount(real(path), "read") for path in self.read_only if path.exists()]
        mounts += [Mount(real(path), "hidden") for path in self.hidden if path.exists()]
        return sorted(mounts, key=lambda mount: len(mount.path.parts))


def shows(mounts: Sequence[Mount], path: Path) -> bool:
    """Whether `path` is the same inside as outside."""
    place = real(path)
    over = [mount for mount in mounts if place.is_relative_to(mount.path)]
    if over:
        return over[-1].access in ("read", "write") and over[-1].source is None
    return not place.is_relative_to("/dev") and not place.is_relative_to("/proc")


def protected(root: Path) -> Iterator[Mount]:
    """What in a writable folder makes a program outside run code without being asked to."""
    for name in _SETTINGS:
        yield from _closed(_unlinked(root / name))
    if (root / "HEAD").is_file() and (root / "objects").is_dir():
        yield from _protected_in_repository(root)
        return
    git = _unlinked(root / ".git")
    if (git / "config").is_file() and not any((git / name).is_symlink() for name in ("config", "hooks")):
        # Onto itself: what is mounted cannot be moved away to make room for another one.
        yield Mount(git, "write")
        yield from _protected_in_repository(git)
    else:
        yield from _closed(git)


def _protected_in_repository(git: Path) -> Iterator[Mount]:
    yield from _closed(git / "hooks")
    for name in ("config", "config.worktree", "modules", "worktrees"):
        if (git / name).exists():
            yield Mount(git / name, "read")


def _closed(path: Path) -> Iterator[Mount]:
    if path.exists():
        yield Mount(path, "read")
    elif os.access(path.parent, os.W_OK):
        yield Mount(path, "sealed")


def _unlinked(path: Path) -> Path:
    # A link can be taken away by whoever may write beside it, and nothing can be mounted on it.
    if path.is_symlink():
        raise ConfigError(
            f"the sandbox cannot protect {path} because it is a link: put the real folder in its place"
        )
    return path


def real(path: Path) -> Path:
    """`path` with every link followed; it need not exist."""
    return Path(os.path.realpath(path))
