"""How bubblewrap is found, and the part of its command line that never changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

# Never looked up on PATH: a command could put its own `bwrap` into a folder of the workspace that is on it.
PROGRAM_FOLDERS = (
    Path("/usr/bin"),
    Path("/usr/local/bin"),
    Path("/bin"),
    Path("/run/current-system/sw/bin"),
    Path("/nix/var/nix/profiles/default/bin"),
)

NAMESPACES = (
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
BASE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc")


def program(folders: Sequence[Path] = PROGRAM_FOLDERS) -> Path | None:
    """Where bubblewrap is; `None` where it is not installed."""
    return next((folder / "bwrap" for folder in folders if (folder / "bwrap").exists()), None)
