"""Whether a sandbox works on this machine, and the cure where it does not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onplan.tools.bubblewrap import BASE, NAMESPACES, PROGRAM_FOLDERS, program
from onplan.tools.seatbelt import SEATBELT


@dataclass(frozen=True, slots=True)
class Available:
    """A sandbox works here; `program` makes it."""

    program: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No sandbox here. Two sentences for a person, without their full stops."""

    reason: str
    cure: str


def detect(
    *,
    platform: str = sys.platform,
    folders: Sequence[Path] = PROGRAM_FOLDERS,
    settings: Path = Path("/proc/sys"),
) -> Available | Unavailable:
    """Whether a sandbox works here, by making one once. Takes some milliseconds, 10 seconds at most.

    `folders` is where bubblewrap may be, `settings` where the kernel tells why it refuses.
    """
    if platform == "darwin":
        return _tried([SEATBELT, "-p", "(version 1)(allow default)", "/usr/bin/true"], settings)
    if platform != "linux":
        return Unavailable(
            f"there is no sandbox for {platform}", "run without --sandbox, or run onplan in a container"
        )
    found = program(folders)
    if found is None:
        return Unavailable(
            "bubblewrap is not installed",
            "install it: apt-get install bubblewrap (the name is the same for dnf, pacman, zypper, apk)",
        )
    return _tried([str(found), *NAMESPACES, "--unshare-net", *BASE, "--", "/bin/sh", "-c", ":"], settings)


# --- trying -----------------------------------------------------------------------------------------


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
