"""What a path means for loss: the root, a system directory, a home, the workspace; looks at no file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from itertools import islice

from onplan.shellguard.marks import CLASS, FILE, QUEST, SOME, STAR, STREAM, TILDE, UNKNOWN, is_pattern, shown
from onplan.shellguard.verdict import Place

Parts = tuple[str, ...]
"""The components of an absolute path; () is the root. They may hold marks."""


class Kind(Enum):
    """What removing a path with all that is below it would take away, the worst first."""

    PROTECTED = auto()
    """The root, a system directory, a home, a directory that holds the workspace, or all that is in one."""
    UNRESOLVED = auto()
    WORKSPACE = auto()
    """The whole workspace, or all that is in it."""
    HISTORY = auto()
    """A repository's own records."""
    OUTSIDE = auto()
    INSIDE = auto()
    """Part of the workspace, of a directory for temporary files, or of a cache."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A path's kind, with a name for a person."""

    kind: Kind
    name: str


_TOP = frozenset(
    [
        "bin",
        "boot",
        "dev",
        "etc",
        "home",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "media",
        "mnt",
        "opt",
        "proc",
        "root",
        "run",
        "sbin",
        "srv",
        "sys",
        "usr",
        "var",
        "nix",
        "snap",
        "System",
        "Library",
        "Users",
        "Applications",
        "Volumes",
        "private",
        "cores",
    ]
)
_BELOW = frozenset(
    tuple(path.split("/"))
    for path in [
        "usr/bin",
        "usr/sbin",
        "usr/lib",
        "usr/lib32",
        "usr/lib64",
        "usr/libexec",
        "usr/share",
        "usr/local",
        "usr/include",
        "var/lib",
        "var/log",
        "private/etc",
        "private/var",
        "System/Library",
    ]
)
_SYSTEM = frozenset({(), *((name,) for name in _TOP), *_BELOW})
_HOMES = frozenset({"home", "Users"})
_TEMPORARY = (("tmp",), ("var", "tmp"), ("dev", "shm"), ("private", "tmp"))
_WRITTEN_BY_ROOT = frozenset(
    [
        "bin",
        "boot",
        "dev",
        "etc",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "proc",
        "sbin",
        "sys",
        "usr",
        "nix",
        "System",
        "Library",
    ]
)

_START_UP = frozenset(
    [
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".bash_aliases",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        ".kshrc",
        ".cshrc",
        ".tcshrc",
        ".xinitrc",
        ".xprofile",
        ".xsession",
        ".pam_environment",
        ".inputrc",
        ".netrc",
        ".pgpass",
    ]
)
_PRIVATE = frozenset({".ssh", ".gnupg", ".aws", ".kube", ".password-store"})
_BELOW_HOME = tuple(
    tuple(path.split("/"))
    for path in [
        ".gitconfig",
        ".config/git",
        ".config/fish",
        ".config/autostart",
        ".config/systemd",
        ".config/environment.d",
        ".docker",
        ".local/bin",
        "bin",
        "Library/LaunchAgents",
        ".npmrc",
        ".pypirc",
        ".cargo/config.toml",
        ".cargo/credentials.toml",
    ]
)

_DISK = re.compile(
    r"(?:sd|hd|vd|xvd)[a-z*?].*|(?:nvme|mmcblk|dm-|md|sr|nbd|zd|ram|zram|loop|fd|st)\d.*|r?disk\d.*"
    r"|(?:disk|mapper|block|zvol|vg[\w-]*|md)/.+|cdrom|(?:sd|hd|vd|xvd|nvme|mmcblk|disk)"
)
_QUIET_DEVICE = re.compile(
    r"null|zero|full|tty|stdin|stdout|stderr|random|urandom|ptmx|fd/\d+|fd|pts/\d+|shm/.*|ttys?\d*|console"
)
_EVERYTHING = re.compile(f"[.]*(?:[.{STAR}{QUEST}]|{CLASS}[^/\\]]*\\])*")


def absolute(text: str, place: Place) -> Parts | None:
    """The components of `text` seen from `place`, `.` and `..` taken out; None if it is not resolved."""
    if UNKNOWN in text or FILE in text:
        return None
    if not text.startswith("/"):
        if UNKNOWN in place.cwd:
            return None
        text = f"{place.cwd}/{text}"
    return components(text)


def components(text: str) -> Parts:
    """The components of an absolute path, `.` and `..` taken out."""
    parts: list[str] = []
    for part in text.replace(TILDE, "~").split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)


def meaning(text: str, place: Place) -> Meaning:
    """What `text`, an operand of a command that removes, stands for."""
    name = shown(text)
    if text.startswith(STREAM):
        return Meaning(Kind.INSIDE, name)
    parts = absolute(text, place)
    if parts is None:
        return Meaning(Kind.UNRESOLVED, name)
    workspace, home = components(place.workspace), components(place.home)
    whole = _without_everything(parts)
    if any(_is_protected(known, workspace, home) for known in {parts, *_trimmed(parts, whole)}):
        return Meaning(Kind.PROTECTED, name)
    return Meaning(_harmless_kind(parts, whole, workspace, home), name)


def _harmless_kind(parts: Parts, whole: Parts, workspace: Parts, home: Parts) -> Kind:
    if any(_matches(known, workspace) for known in (parts, whole)):
        return Kind.WORKSPACE
    if any(part in (".git", ".hg", ".svn") for part in parts[-2:]):
        return Kind.HISTORY
    if parts[: len(workspace)] == workspace:
        return Kind.INSIDE
    for temporary in _TEMPORARY:
        if parts[: len(temporary)] == temporary:
            return Kind.OUTSIDE if len(whole) <= len(temporary) else Kind.INSIDE
    if parts[:2] == ("var", "folders") and len(whole) > 4:
        return Kind.INSIDE
    if parts[: len(home) + 1] == (*home, ".cache") and len(whole) > len(home) + 1:
        return Kind.INSIDE
    return Kind.OUTSIDE


def disk(text: str, place: Place) -> bool:
    """Whether `text` names a disk or a part of one."""
    device = _device(text, place)
    return device is not None and _DISK.fullmatch(device) is not None


def sensitive(text: str, place: Place) -> str | None:
    """What `text` is, if writing to it would change more than the workspace's own files; else None."""
    parts = absolute(text, place)
    if parts is None:
        known = text.rpartition(UNKNOWN)[2]
        if not known.startswith("/"):
            return None
        return _sensitive_below(components(known))
    if parts[:1] == ("dev",):
        device = _device(text, place) or ""
        return None if _QUIET_DEVICE.fullmatch(device) else "a device"
    workspace, home = components(place.workspace), components(place.home)
    inside = parts[: len(workspace)] == workspace
    special = _sensitive_below(parts[len(workspace) :] if inside else parts)
    if special:
        return special
    if parts[: len(home)] == home and any(
        parts[len(home) : len(home) + len(path)] == path for path in _BELOW_HOME
    ):
        return None if inside and workspace != home else "a person's settings"
    if inside:
        return None
    if parts[:1] and parts[0] in _WRITTEN_BY_ROOT:
        return "a system file"
    if parts[:3] in (("var", "spool", "cron"), ("var", "lib", "cron")):
        return "a schedule"
    return None


def shuts_down(text: str, place: Place) -> bool:
    """Whether a write to `text` can stop the machine at once."""
    parts = absolute(text, place)
    return parts is not None and parts == ("proc", "sysrq-trigger")


def is_directory_of_programs(text: str) -> bool:
    """Whether `text` is a directory in which programs are what their names say."""
    return text in ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin")


def _sensitive_below(parts: Parts) -> str | None:
    for before, part in zip(("", *parts), parts, strict=False):
        if before == ".git" and part in ("hooks", "config"):
            return "a git hook" if part == "hooks" else "git's settings"
    if any(part in _PRIVATE for part in parts):
        return "a directory of keys"
    if parts and parts[-1] in _START_UP:
        return "a shell start-up file"
    return None


def _device(text: str, place: Place) -> str | None:
    parts = absolute(text, place)
    if parts is None or parts[:1] != ("dev",):
        return None
    return shown("/".join(parts[1:]))


def _is_protected(parts: Parts, workspace: Parts, home: Parts) -> bool:
    if not any(is_pattern(part) for part in parts):
        return (
            parts in _SYSTEM
            or parts == home
            or (len(parts) == 2 and parts[0] in _HOMES and parts != workspace and SOME not in parts[1])
            or (len(parts) < len(workspace) and workspace[: len(parts)] == parts)
        )
    candidates = [*_SYSTEM, home, *(workspace[:length] for length in range(len(workspace)))]
    if any(_matches(parts, candidate) for candidate in candidates):
        return True
    return len(parts) == 2 and parts[0] in _HOMES and not _matches(parts, workspace)


def _matches(parts: Parts, known: Parts) -> bool:
    return len(parts) == len(known) and all(map(_part_matches, parts, known))


def _part_matches(part: str, known: str) -> bool:
    if not is_pattern(part):
        return part == known
    return _pattern(part).fullmatch(known) is not None


@lru_cache(maxsize=256)
def _pattern(part: str) -> re.Pattern[str]:
    """The names that a component with `*`, `?` and classes may match; a class counts as any character."""
    text = re.sub(f"{CLASS}[^/\\]]*\\]", QUEST, part)
    text = re.sub(f"{STAR}+", STAR, text)
    # Stars beyond the second only cost time: what they hold apart is left out, which matches more.
    stars = text.split(STAR)
    if len(stars) > 4:
        text = f"{stars[0]}{STAR}{stars[-1]}"
    return re.compile(
        "".join(".*" if c == STAR else "." if c in (QUEST, SOME) else re.escape(c) for c in text)
    )


def _without_everything(parts: Parts) -> Parts:
    """`parts` without the components at the end that match all, or all but a few, names."""
    end = len(parts)
    while end and is_pattern(parts[end - 1]) and _EVERYTHING.fullmatch(parts[end - 1]):
        end -= 1
    return parts[:end]


def _trimmed(parts: Parts, whole: Parts) -> set[Parts]:
    return {parts[:length] for length in islice(range(len(whole), len(parts)), 8)}
