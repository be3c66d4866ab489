"""What shell commands may see and write, enforced by the system; knows no shell and no settings."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from onplan.errors import ConfigError
from onplan.tools.bubblewrap import BASE, NAMESPACES, PROGRAM_FOLDERS, program
from onplan.tools.detection import Available as Available
from onplan.tools.detection import Unavailable as Unavailable
from onplan.tools.detection import detect as detect
from onplan.tools.mounts import TEMPORARY, Layout, real, shows
from onplan.tools.seatbelt import SEATBELT, profile

_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|BEARER|JWT|WEBHOOK|AUTH(?!OR)"
    r"|(?:^|_)(?:PASS|PAT|DSN|PSK)(?:_|$)|^\w+_PWD$",
    re.IGNORECASE,
)
_AGENT_NAME = re.compile(
    r"^(?:DBUS_.*|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_RUNTIME_DIR|SSH_.*|GPG_.*|.*_ASKPASS|DOCKER_.*"
    r"|CONTAINER_HOST|KUBECONFIG|TMUX|STY|VSCODE_.*|WSL_INTEROP"
    r"|GIT_CONFIG_(?:COUNT|PARAMETERS|VALUE_\d+))$",
    re.IGNORECASE,
)
_LOGIN_IN_ADDRESS = re.compile(r"://[^/\s@:]*:[^/\s@]+@")
_TEMPORARY_NAMES = ("TMPDIR", "TEMP", "TMP")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a command may see and do. `docs/sandbox.md` is the promise that this keeps.

    `root`, the workspace, and `extra_writable` can be written; the rest of the file system is read-only,
    `home` is empty but for programs. `hidden` and `read_only`: further paths, also inside the workspace.
    `temporary`: a folder of the session's own that is /tmp inside; without one /tmp is new for each
    command. `lingering`: what a command leaves in the background goes on after it, as without a sandbox;
    else it ends with the command, and with this process, however that ends.

    Raises `ConfigError`, here and in `wrap`, for a layout that would not protect: a writable folder that
    holds the home, a protected name in the workspace that is a link.
    """

    root: Path
    home: Path
    network: bool = False
    extra_writable: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    temporary: Path | None = None
    lingering: bool = False
    platform: str = sys.platform

    def __post_init__(self) -> None:
        home = real(self.home)
        if home == Path("/"):
            raise ConfigError("the sandbox cannot hide a home directory that is /: set HOME to another")
        for path in (self.root, *self.extra_writable):
            if not path.exists():
                raise ConfigError(f"the sandbox cannot make {path} writable: it does not exist")
            if home.is_relative_to(real(path)):
                raise ConfigError(
                    f"the sandbox cannot protect the home directory {home}, which is inside the writable "
                    f"{path}: work in a project folder"
                )
        _check_owner(self.root)
        if not shows(self._layout().mounts(), self.root):
            raise ConfigError(f"the sandbox cannot hide its own workspace {self.root}: name other paths")

    def wrap(self, argv: Sequence[str], *, cwd: Path, writable: Sequence[Path] = ()) -> list[str]:
        """The command line that runs `argv` inside, in `cwd`, or in the root where `shows(cwd)` is false.

        `writable`: files of this one command, such as where it leaves its last directory. Start it with
        what `environment` answers: the sandbox's own first process can be read from inside. Nothing is
        changed on disk here; see `placeholders`.
        """
        if self.platform == "darwin":
            return [SEATBELT, "-p", profile(self._layout(), writable, network=self.network), *argv]
        mounts = self._layout().mounts(writable)
        where = cwd if shows(mounts, cwd) else self.root
        return [
            *_beginning(),
            *(() if self.network else ("--unshare-net",)),
            *(() if self.lingering else ("--die-with-parent",)),
            *BASE,
            *(option for mount in mounts for option in mount.options()),
            "--chdir",
            str(real(where)),
            "--",
            *argv,
        ]

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` without what is secret by name or value, or leads to an agent or a desktop.

        `HOME` is the home that the sandbox knows. Temporary folders that `env` names become the one inside.
        """
        kept = {name: value for name, value in env.items() if not _is_secret(name, value)}
        inside = self.temporary if self.platform == "darwin" else None
        moved = {name: str(inside or TEMPORARY) for name in _TEMPORARY_NAMES if name in kept}
        return {**kept, **moved, "HOME": str(self.home)}

    def shows(self, path: Path) -> bool:
        """Whether `path` is the same inside as outside, so that a command can start there."""
        return self.platform == "darwin" or shows(self._layout().mounts(), path)

    def is_its_own(self, command: str) -> bool:
        """Whether a process with this command line is one of those that keep a sandbox up."""
        return self.platform != "darwin" and command.startswith(" ".join(_beginning()))

    def placeholders(self) -> tuple[Path, ...]:
        """Folders that do not exist and will be left, empty, so that nobody can make them.

        Ask before the first command; remove those that are still empty after the last one.
        """
        if self.platform == "darwin":
            return ()
        return tuple(mount.path for mount in self._layout().mounts() if mount.access == "sealed")

    def notice(self) -> str:
        """What a model must know of it, for the system text."""
        lasting = "" if self.temporary else ", and /tmp is new for each command"
        places = ", ".join(str(path) for path in (self.root, *self.extra_writable))
        return (
            f"Shell commands run in a sandbox. They can write in {places} and /tmp only{lasting}. "
            "The home directory is empty there apart from programs. "
            + ("" if self.network else "There is no network: do not retry what needs it, say so instead. ")
            + "The settings of git and its hooks, .onplan and .claude are read-only, and a new repository "
            "cannot be made in the project's root. "
            + ("" if self.lingering else "What a command leaves in the background ends with it. ")
            + "Each command has its own processes"
            + ("" if self.network else " and its own localhost: start, use and stop a server in one command")
            + "."
        )

    def _layout(self) -> Layout:
        return Layout(
            root=self.root,
            home=self.home,
            extra_writable=self.extra_writable,
            read_only=self.read_only,
            hidden=self.hidden,
            temporary=self.temporary,
        )


def _beginning() -> tuple[str, ...]:
    return (str(program() or PROGRAM_FOLDERS[0] / "bwrap"), *NAMESPACES)


def _check_owner(root: Path) -> None:
    # Without its capabilities root is a user like any other.
    found = root.stat()
    shared = found.st_mode & 0o002 or (
        found.st_mode & 0o020 and found.st_gid in (os.getegid(), *os.getgroups())
    )
    if os.geteuid() == 0 and found.st_uid != 0 and not shared:
        raise ConfigError(
            f"the sandbox takes root's rights away and {root} belongs to user {found.st_uid}: "
            "run onplan as that user"
        )


def _is_secret(name: str, value: str) -> bool:
    found = _SECRET_NAME.search(name) or _AGENT_NAME.match(name) or _LOGIN_IN_ADDRESS.search(value)
    return found is not None
