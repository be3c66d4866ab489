"""What shell commands may see and write, enforced by the system; knows no shell and no settings."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from onplan.errors import ConfigError

# Never looked up on PATH: a command could put its own `bwrap` into a folder of the workspace that is on it.
_PROGRAM_FOLDERS = (
    Path("/usr/bin"),
    Path("/usr/local/bin"),
    Path("/bin"),
    Path("/run/current-system/sw/bin"),
    Path("/nix/var/nix/profiles/default/bin"),
)
_SEATBELT = "/usr/bin/sandbox-exec"
_TEMPORARY = Path("/tmp")

_NAMESPACES = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    # Started by root, bubblewrap would keep every capability; with them a mount can be undone.
    "--cap-drop",
    "ALL",
    "--new-session",
)
# Started by root, a command owns the files in /proc/sys: without capabilities, but also without need of them.
_BASE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc")

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

_TOOLS = (
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

_Access = Literal["hidden", "read", "write", "sealed"]
"""`hidden`: an empty folder that lasts for one command. `sealed`: an empty folder that takes no writes."""


@dataclass(frozen=True, slots=True)
class Available:
    """A sandbox works here; `program` makes it."""

    program: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No sandbox here. Two sentences for a person, without their full stops."""

    reason: str
    cure: str


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
        home = _real(self.home)
        if home == Path("/"):
            raise ConfigError("the sandbox cannot hide a home directory that is /: set HOME to another")
        for path in (self.root, *self.extra_writable):
            if not path.exists():
                raise ConfigError(f"the sandbox cannot make {path} writable: it does not exist")
            if home.is_relative_to(_real(path)):
                raise ConfigError(
                    f"the sandbox cannot protect the home directory {home}, which is inside the writable "
                    f"{path}: work in a project folder"
                )
        _check_owner(self.root)
        self._mounts()

    def wrap(self, argv: Sequence[str], *, cwd: Path, writable: Sequence[Path] = ()) -> list[str]:
        """The command line that runs `argv` inside, in `cwd`, or in the root where `shows(cwd)` is false.

        `writable`: files of this one command, such as where it leaves its last directory. Start it with
        what `environment` answers: the sandbox's own first process can be read from inside. Nothing is
        changed on disk here; see `placeholders`.
        """
        if self.platform == "darwin":
            return [_SEATBELT, "-p", _profile(self, writable), *argv]
        mounts = self._mounts(writable)
        where = cwd if _shows(mounts, cwd) else self.root
        return [
            str(_program() or _PROGRAM_FOLDERS[0] / "bwrap"),
            *_NAMESPACES,
            *(() if self.network else ("--unshare-net",)),
            *(() if self.lingering else ("--die-with-parent",)),
            *_BASE,
            *(option for mount in mounts for option in mount.options()),
            "--chdir",
            str(_real(where)),
            "--",
            *argv,
        ]

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` without what is secret by name or value, or leads to an agent or a desktop.

        `HOME` is the home that the sandbox knows. Temporary folders that `env` names become the one inside.
        """
        kept = {name: value for name, value in env.items() if not _is_secret(name, value)}
        inside = self.temporary if self.platform == "darwin" else None
        moved = {name: str(inside or _TEMPORARY) for name in _TEMPORARY_NAMES if name in kept}
        return {**kept, **moved, "HOME": str(self.home)}

    def shows(self, path: Path) -> bool:
        """Whether `path` is the same inside as outside, so that a command can start there."""
        return self.platform == "darwin" or _shows(self._mounts(), path)

    def placeholders(self) -> tuple[Path, ...]:
        """Folders that do not exist and will be left, empty, so that nobody can make them.

        Ask before the first command; remove those that are still empty after the last one.
        """
        if self.platform == "darwin":
            return ()
        return tuple(mount.path for mount in self._mounts() if mount.access == "sealed")

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

    def _mounts(self, writable: Sequence[Path] = ()) -> list[_Mount]:
        """Outer paths before what is in them: the most exact path decides."""
        home = _real(self.home)
        hidden = {_real(Path(path)) for path in _HIDDEN} | {home}
        mounts = [_Mount(path, "hidden") for path in sorted(hidden) if path.is_dir()]
        mounts += [_Mount(_real(_TEMPORARY), "write", self.temporary)] if self.temporary else []
        shown = [*map(Path, _SHOWN), *(home / name for name in _TOOLS)]
        mounts += [_Mount(path, "read") for path in shown if path.exists()]
        mounts += [_Mount(_real(path), "write") for path in (self.root, *self.extra_writable, *writable)]
        mounts += _protected(_real(self.root))
        for path in self.extra_writable:
            mounts += [mount for mount in _protected(_real(path)) if mount.path.exists()]
        mounts += [_Mount(_real(path), "read") for path in self.read_only if path.exists()]
        mounts += [_Mount(_real(path), "hidden") for path in self.hidden if path.exists()]
        return sorted(mounts, key=lambda mount: len(mount.path.parts))


def detect(
    *,
    platform: str = sys.platform,
    folders: Sequence[Path] = _PROGRAM_FOLDERS,
    settings: Path = Path("/proc/sys"),
) -> Available | Unavailable:
    """Whether a sandbox works here, by making one once. Takes some milliseconds, 10 seconds at most.

    `folders` is where bubblewrap may be, `settings` where the kernel tells why it refuses.
    """
    if platform == "darwin":
        return _tried([_SEATBELT, "-p", "(version 1)(allow default)", "/usr/bin/true"], settings)
    if platform != "linux":
        return Unavailable(
            f"there is no sandbox for {platform}", "run without --sandbox, or run onplan in a container"
        )
    program = _program(folders)
    if program is None:
        return Unavailable(
            "bubblewrap is not installed",
            "install it: apt-get install bubblewrap (the name is the same for dnf, pacman, zypper, apk)",
        )
    return _tried([str(program), *_NAMESPACES, "--unshare-net", *_BASE, "--", "/bin/sh", "-c", ":"], settings)


# --- trying -----------------------------------------------------------------------------------------


def _program(folders: Sequence[Path] = _PROGRAM_FOLDERS) -> Path | None:
    return next((folder / "bwrap" for folder in folders if (folder / "bwrap").exists()), None)


def _tried(argv: list[str], settings: Path) -> Available | Unavailable:
    import subprocess

    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Unavailable(
            f"{argv[0]} could not be run: {error}", "install it anew, or run without --sandbox"
        )
    if done.returncode == 0:
        return Available(argv[0])
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return Unavailable(f"{argv[0]} cannot make a sandbox: {lines[-1][:200]}", _cure(lines[-1], settings))


def _cure(line: str, settings: Path) -> str:
    """By what each distribution's kernel says of itself; in a container none of them is set."""
    if _setting(settings / "kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "allow bubblewrap user namespaces in AppArmor (a profile for it with `userns,`), or for "
            "everybody: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if _setting(settings / "kernel/unprivileged_userns_clone") == "0":
        return "allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1"
    if _setting(settings / "user/max_user_namespaces") == "0":
        return "allow user namespaces: sysctl -w user.max_user_namespaces=15000"
    if "mount proc" in line:
        return "a container hides parts of /proc: start it with --security-opt systempaths=unconfined"
    return (
        "allow user namespaces; in a container that is --security-opt seccomp=unconfined, or let the "
        "container be the sandbox and run without --sandbox"
    )


def _setting(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


# --- what is where ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Mount:
    path: Path
    access: _Access
    source: Path | None = None

    def options(self) -> tuple[str, ...]:
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


def _shows(mounts: Sequence[_Mount], path: Path) -> bool:
    real = _real(path)
    over = [mount for mount in mounts if real.is_relative_to(mount.path)]
    if over:
        return over[-1].access in ("read", "write") and over[-1].source is None
    return not real.is_relative_to("/dev") and not real.is_relative_to("/proc")


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


def _protected(root: Path) -> Iterator[_Mount]:
    """What in a writable folder makes a program outside run code without being asked to."""
    for name in _SETTINGS:
        yield from _closed(_unlinked(root / name))
    if (root / "HEAD").is_file() and (root / "objects").is_dir():
        yield from _protected_in_repository(root)
        return
    git = _unlinked(root / ".git")
    if (git / "config").is_file() and not any((git / name).is_symlink() for name in ("config", "hooks")):
        # Onto itself: what is mounted cannot be moved away to make room for another one.
        yield _Mount(git, "write")
        yield from _protected_in_repository(git)
    else:
        yield from _closed(git)


def _protected_in_repository(git: Path) -> Iterator[_Mount]:
    yield from _closed(git / "hooks")
    for name in ("config", "config.worktree", "modules", "worktrees"):
        if (git / name).exists():
            yield _Mount(git / name, "read")


def _closed(path: Path) -> Iterator[_Mount]:
    if path.exists():
        yield _Mount(path, "read")
    elif os.access(path.parent, os.W_OK):
        yield _Mount(path, "sealed")


def _unlinked(path: Path) -> Path:
    # A link can be taken away by whoever may write beside it, and nothing can be mounted on it.
    if path.is_symlink():
        raise ConfigError(
            f"the sandbox cannot protect {path} because it is a link: put the real folder in its place"
        )
    return path


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_secret(name: str, value: str) -> bool:
    found = _SECRET_NAME.search(name) or _AGENT_NAME.match(name) or _LOGIN_IN_ADDRESS.search(value)
    return found is not None


# --- macOS ------------------------------------------------------------------------------------------


def _profile(sandbox: Sandbox, writable: Sequence[Path]) -> str:
    """A profile for `sandbox-exec`, whose last rule that fits decides. Written from its documentation and
    never run: `docs/sandbox.md` says so."""
    home, root = _real(sandbox.home), _real(sandbox.root)
    places = [root, *map(_real, sandbox.extra_writable)]
    temporary = _real(sandbox.temporary or _TEMPORARY)
    tools = [home / name for name in _TOOLS]
    rules = [
        "(version 1)",
        "(allow default)",
        '(deny appleevent-send job-creation (with message "onplan"))',
        '(deny mach-lookup (global-name "com.apple.SecurityServer" "com.apple.securityd.xpc"'
        ' "com.apple.pasteboard.1" "com.apple.coreservices.launchservicesd"))',
        "(deny signal)",
        "(allow signal (target same-sandbox))",
        "(deny file-write*)",
        '(allow file-write* (regex #"^/dev/(null|zero|tty|fd/[0-9]+)$"))',
        f"(deny file-read-data {_subpaths([home])})",
        f"(allow file-read-data {_subpaths([*tools, *places, temporary])})",
        f"(allow file-write* {_subpaths([*places, temporary, *map(_real, writable)])})",
    ]
    guarded = [mount for place in places for mount in _protected(place) if mount.access != "write"]
    closed = [*(mount.path for mount in guarded), *map(_real, sandbox.read_only)]
    rules.append(f"(deny file-write* {_subpaths(closed)})")
    rules.append(f"(deny file-write-create file-write-unlink (literal {_quoted(root / '.git')}))")
    if sandbox.hidden:
        rules.append(f"(deny file-read-data file-write* {_subpaths(map(_real, sandbox.hidden))})")
    if not sandbox.network:
        rules.append("(deny network*)")
    return "\n".join(rules)


def _subpaths(paths: Iterable[Path]) -> str:
    return " ".join(f"(subpath {_quoted(path)})" for path in paths)


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
