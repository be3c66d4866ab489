"""What one program with its words would do that cannot be undone, or that a person should see first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from onplan.shellguard.find import roots_of
from onplan.shellguard.git import git
from onplan.shellguard.interpreters import (
    SHELLS,
    Judge,
    awk,
    evaluated,
    is_interpreter,
    language,
    shell,
    sourced,
)
from onplan.shellguard.marks import UNKNOWN, is_known, plain, shown
from onplan.shellguard.options import options
from onplan.shellguard.paths import Kind, disk, meaning, sensitive, shuts_down
from onplan.shellguard.verdict import Argv, Code, Finding, Outcome, Place

Check = Callable[[tuple[str, ...], Place], "list[Outcome]"]

_DISK_TOOLS = frozenset(
    [
        "blkdiscard",
        "sgdisk",
        "gdisk",
        "cgdisk",
        "parted",
        "sfdisk",
        "fdisk",
        "cfdisk",
        "badblocks",
        "cryptsetup",
        "hdparm",
        "nvme",
        "pvremove",
        "vgremove",
        "lvremove",
        "pvcreate",
        "zpool",
        "zfs",
        "mdadm",
        "diskutil",
        "mkswap",
        "swapoff",
    ]
)
_ERASING = frozenset(
    [
        "luksFormat",
        "luksErase",
        "erase",
        "format",
        "sanitize",
        "eraseDisk",
        "eraseVolume",
        "zeroDisk",
        "secureErase",
        "partitionDisk",
        "destroy",
        "mklabel",
        "mkpart",
        "rm",
        "labelclear",
        "--zap-all",
        "-Z",
        "-z",
        "--zap",
        "-o",
        "--clear",
        "--delete",
        "--zero-superblock",
        "--security-erase",
        "-w",
    ]
)
_WRITES_DISK = frozenset({"blkdiscard", "pvremove", "pvcreate", "vgremove", "lvremove", "mkswap"})
_LOOKING = frozenset(
    {"-l", "--list", "--help", "-h", "--version", "-V", "list", "status", "print", "-p", "--print"}
)
_SHUTDOWN_ARGS = frozenset({"-c", "--help", "--show", "-k", "--version", "-w", "--wtmp-only"})
_SYSTEMCTL = frozenset(["poweroff", "reboot", "halt", "kexec", "soft-reboot", "rescue", "emergency", "exit"])
_SYSTEMCTL_ASKS = frozenset(["suspend", "hibernate", "hybrid-sleep", "isolate", "mask"])
_TO_DATA = frozenset(
    [
        "echo",
        "printf",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "ack",
        "git",
        "man",
        "info",
        "which",
        "type",
        "whereis",
        "whatis",
        "apropos",
        "help",
        "alias",
        "ls",
        "cat",
        "head",
        "tail",
        "wc",
        "file",
        "stat",
        "test",
        "[",
        "sed",
        "awk",
        "gawk",
        "jq",
        "yq",
        "tr",
        "cut",
        "sort",
        "uniq",
        "tee",
        "cowsay",
        "logger",
        "notify-send",
        "say",
        "read",
        "export",
        "export",
        "less",
        "more",
        "bat",
        "true",
        "false",
        ":",
        "basename",
        "dirname",
        "realpath",
        "pytest",
        "make",
        "npm",
        "yarn",
        "pnpm",
        "cargo",
        "go",
        "docker",
        "podman",
        "apt",
        "apt-get",
        "brew",
        "pip",
        "pip3",
        "code",
        "touch",
        "mkdir",
        "history",
        "unset",
        "unalias",
        "compgen",
        "complete",
        "hash",
        "bind",
        "rename",
        "apt-mark",
        "dpkg",
        "rpm",
        "dnf",
        "yum",
        "pacman",
        "apk",
        "conda",
        "uv",
        "poetry",
        "gh",
        "glab",
        "kubectl",
        "helm",
        "expr",
        "seq",
        "diff",
        "cmp",
    ]
)
_DANGEROUS = frozenset({"rm", "dd", "shred", "wipefs", "mkfs", "shutdown", "reboot", "poweroff", "halt"})


def check(name: str, args: tuple[str, ...], place: Place, passes: Judge) -> list[Outcome]:
    """The objections to program `name` (without its directory), and the commands and text it would run."""
    if name in SHELLS:
        return shell(name, args, place)
    if name in ("awk", "gawk", "mawk", "nawk"):
        return awk(args, passes)
    if is_interpreter(name):
        return language(name, args, place, passes)
    if name.startswith("mkfs") or name in ("mke2fs", "newfs", "mkdosfs", "mkntfs"):
        return _format(name, args, place)
    if name in _DISK_TOOLS:
        return _disk_tool(name, args, place)
    found = _CHECKS.get(name)
    if found is not None:
        return found(args, place)
    return (
        []
        if name in _TO_DATA
        else [*_unknown_wrapper(name, args, place, passes), *_output(name, args, place)]
    )


def written(target: str, place: Place, *, what: str = "a redirection") -> list[Outcome]:
    """The objections to writing to the file `target`."""
    if shuts_down(target, place):
        return [_stops_machine(what)]
    if disk(target, place):
        return [_destroys_disk(what, target)]
    kind = sensitive(target, place)
    if kind is None:
        return []
    return [Finding("ask", f"{what} writes to {kind}: {shown(target)}")]


def _remove(args: tuple[str, ...], place: Place) -> list[Outcome]:
    found = options(args)
    if found.has("help", "version"):
        return []
    recursive = found.has("r", "R", "recursive")
    outcomes = [one for path in found.operands for one in _removed("rm", path, place, recursive=recursive)]
    if found.has("no-preserve-root"):
        outcomes.append(Finding("ask", "`rm` is told here not to spare the root"))
    return outcomes


def _removed(name: str, path: str, place: Place, *, recursive: bool) -> list[Outcome]:
    if not path:
        return []
    what = meaning(path, place)
    match what.kind:
        case Kind.INSIDE:
            return written(path, place, what=f"`{name}`") if not recursive or disk(path, place) else []
        case Kind.PROTECTED if recursive:
            return [
                Finding(
                    "deny",
                    f"`{name}` would remove {_named(what.name)} and all that is in it, for good; "
                    "name the files inside the workspace that should go",
                )
            ]
        case Kind.PROTECTED:
            return [Finding("ask", f"`{name}` would remove files of {_named(what.name)}")]
        case Kind.UNRESOLVED:
            return [
                Finding(
                    "ask",
                    f"`{name}` would remove {_named(what.name)}, which is not known before it runs; "
                    "write the path out",
                )
            ]
        case Kind.WORKSPACE:
            return [Finding("ask", f"`{name}` would empty the workspace: {_named(what.name)}")]
        case Kind.HISTORY:
            return [Finding("ask", f"`{name}` would remove a repository's history: {_named(what.name)}")]
        case Kind.OUTSIDE:
            return [
                Finding("ask", f"`{name}` would remove something outside the workspace: {_named(what.name)}")
            ]


def _unlink(args: tuple[str, ...], place: Place) -> list[Outcome]:
    return [
        one for path in options(args).operands for one in _removed("unlink", path, place, recursive=False)
    ]


def _shred(args: tuple[str, ...], place: Place) -> list[Outcome]:
    found = options(args, "ns", ("iterations", "size", "random-source"))
    disks = [path for path in found.operands if disk(path, place)]
    if disks:
        return [_destroys_disk("shred", disks[0])]
    return [Finding("ask", "`shred` destroys what is in a file for good")] if found.operands else []


def _dd(args: tuple[str, ...], place: Place) -> list[Outcome]:
    targets = [word[3:] for word in args if word.startswith("of=")]
    unknown = [word for word in args if not is_known(word) and not word.startswith("if=")]
    outcomes = [one for target in targets for one in written(target, place, what="dd")]
    if unknown and not outcomes:
        return [Finding("ask", "`dd` writes to a place that is not known before it runs")]
    return outcomes


def _format(name: str, args: tuple[str, ...], place: Place) -> list[Outcome]:
    found = options(args, "tLbEOUNIifTJGCdgmM")
    targets = [word for word in args if not word.startswith("-")]
    disks = [path for path in targets if disk(path, place)]
    if disks:
        return [_destroys_disk(name, disks[0])]
    if any(not is_known(word) or word.startswith("/dev/") for word in targets):
        return [Finding("ask", f"`{name}` makes a file system on a device that the guard does not know")]
    return (
        [Finding("ask", f"`{name}` overwrites {_named(shown(found.operands[-1]))}")] if found.operands else []
    )


def _wipefs(args: tuple[str, ...], place: Place) -> list[Outcome]:
    found = options(args, "oOt", ("offset", "output", "types"))
    disks = [path for path in found.operands if disk(path, place)]
    if disks and found.has("a", "all", "o", "offset") and not found.has("n", "no-act"):
        return [_destroys_disk("wipefs", disks[0])]
    return [Finding("ask", "`wipefs` works on the labels of a disk")] if found.operands else []


def _disk_tool(name: str, args: tuple[str, ...], place: Place) -> list[Outcome]:
    disks = [word for word in args if disk(word, place)]
    erases = name in _WRITES_DISK or any(word in _ERASING for word in args)
    if disks and erases and not any(word in ("--help", "-n", "--dry-run") for word in args):
        return [_destroys_disk(name, disks[0])]
    if not args or any(word in _LOOKING for word in args):
        return []
    return [Finding("ask", f"`{name}` changes disks")]


def _shutdown(name: str) -> Check:
    def checked(args: tuple[str, ...], _: Place) -> list[Outcome]:
        return [] if any(word in _SHUTDOWN_ARGS for word in args) else [_stops_machine(f"`{name}`")]

    return checked


def _init(args: tuple[str, ...], _: Place) -> list[Outcome]:
    levels = [word for word in args if not word.startswith("-")]
    if levels[:1] in (["0"], ["6"]):
        return [_stops_machine("`init`")]
    return [Finding("ask", "`init` changes what the machine runs")] if levels else []


def _systemctl(args: tuple[str, ...], _: Place) -> list[Outcome]:
    found = options(args, "tpHMns", ("type", "property", "host", "machine"))
    if any(word in _SYSTEMCTL for word in found.operands[:1]):
        return [_stops_machine("`systemctl`")]
    if any(word in ("poweroff.target", "reboot.target", "halt.target") for word in found.operands):
        return [_stops_machine("`systemctl`")]
    if any(word in _SYSTEMCTL_ASKS or not is_known(word) for word in found.operands[:1]):
        return [Finding("ask", "`systemctl` changes what the machine runs")]
    return []


def _kill(args: tuple[str, ...], _: Place) -> list[Outcome]:
    if any(word in ("-l", "-L") for word in args[:1]):
        return []
    targets = list(args)
    if targets and targets[0] in ("-s", "-n", "--signal"):
        del targets[:2]
    elif len(targets) > 1 and targets[0].startswith("-") and targets[0] != "--":
        del targets[0]
    if any(word in ("-1", "0", "1", "-0") for word in targets):
        return [
            Finding(
                "ask", "`kill` here ends every process it can, or the first one; name the process by its id"
            )
        ]
    return []


def _pkill(args: tuple[str, ...], _: Place) -> list[Outcome]:
    found = options(args, "PGgsutU", ("signal", "parent", "session", "terminal", "euid", "uid", "user"))
    everyone = found.has("u", "U", "user", "euid", "uid", "v", "inverse") and not found.operands
    if everyone or any(word in (".", ".*", "", "^") or not is_known(word) for word in found.operands):
        return [Finding("ask", "this ends many processes at once; name the process by its id")]
    return []


def _mode(name: str) -> Check:
    def checked(args: tuple[str, ...], place: Place) -> list[Outcome]:
        found = options(args, "", ("reference", "from"))
        recursive = found.has("R", "recursive")
        outcomes: list[Outcome] = []
        operands = [word for word in args if not word.startswith("--")][0 if found.has("reference") else 1 :]
        for path in [word for word in operands if not word.startswith("-")] or list(found.operands[1:]):
            what = meaning(path, place)
            if recursive and what.kind in (Kind.PROTECTED, Kind.UNRESOLVED, Kind.OUTSIDE):
                outcomes.append(Finding("ask", f"`{name}` changes {_named(what.name)} with everything in it"))
            else:
                outcomes.extend(written(path, place, what=f"`{name}`"))
        if name == "chmod" and re.fullmatch(
            r"0?[2-7][0-7]{3}|[ugoa]*\+[rwxX]*s[rwxX]*", "".join(found.operands[:1])
        ):
            outcomes.append(Finding("ask", "`chmod` lets a file run as its owner"))
        return outcomes

    return checked


def _move(args: tuple[str, ...], place: Place) -> list[Outcome]:
    found = options(args, "tS", ("target-directory", "suffix"))
    target = found.value("t", "target-directory")
    sources = found.operands if target is not None else found.operands[:-1]
    outcomes: list[Outcome] = []
    for path in sources:
        what = meaning(path, place)
        if what.kind in (Kind.PROTECTED, Kind.WORKSPACE):
            outcomes.append(Finding("ask", f"`mv` takes {_named(what.name)} away"))
        elif (kind := sensitive(path, place)) is not None:
            outcomes.append(Finding("ask", f"`mv` takes {kind} away: {shown(path)}"))
    last = target if target is not None else "".join(found.operands[-1:])
    if last == "/dev/null":
        outcomes.append(Finding("ask", "`mv` to /dev/null loses the file"))
    return [*outcomes, *_placed("`mv`", sources, last, place)]


def _copy(name: str) -> Check:
    def checked(args: tuple[str, ...], place: Place) -> list[Outcome]:
        found = options(args, "tSmog", ("target-directory", "suffix", "mode", "owner", "group"))
        target = found.value("t", "target-directory")
        sources = found.operands if target is not None else found.operands[:-1]
        if name == "ln" and len(found.operands) == 1:
            return []
        last = target if target is not None else "".join(found.operands[-1:])
        return _placed(f"`{name}`", sources, last, place)

    return checked


def _placed(name: str, sources: Sequence[str], target: str, place: Place) -> list[Outcome]:
    """The objections to `sources` being put at `target`, or into it."""
    if not target:
        return []
    names = (
        []
        if target.startswith("/dev/")
        else [source.rstrip("/").rpartition("/")[2] for source in sources[:64]]
    )
    below = [f"{target}/{name}" for name in names]
    return [one for path in (target, *below) for one in written(path, place, what=name)][:1]


def _every_operand(name: str, letters: str = "", names: tuple[str, ...] = ()) -> Check:
    def checked(args: tuple[str, ...], place: Place) -> list[Outcome]:
        found = options(args, letters, names)
        return [one for path in found.operands for one in written(path, place, what=f"`{name}`")]

    return checked


def _sed(args: tuple[str, ...], place: Place) -> list[Outcome]:
    found = options(args, "efl", ("expression", "file", "line-length"))
    scripts = [text for flag, text in found.values if flag in ("-e", "--expression")]
    files = found.operands if scripts or found.has("f", "file") else found.operands[1:]
    scripts = scripts or list(found.operands[:1])
    outcomes: list[Outcome] = []
    for script in scripts:
        if ran := re.match(r"(?:\d+|\$|/[^/]*/)?\s*e\s+(.+)", plain(script)):
            outcomes.append(Code(ran.group(1)))
        if re.match(r"s(.).*\1.*\1[gip0-9]*e[gip0-9]*$", plain(script)):
            outcomes.append(Finding("ask", "`sed` runs here what it has put together"))
    if found.has("i", "in-place"):
        outcomes.extend(one for path in files for one in written(path, place, what="`sed -i`"))
    return outcomes


def _find(args: tuple[str, ...], place: Place) -> list[Outcome]:
    found = roots_of(args)
    outcomes: list[Outcome] = [*found.commands()]
    for path in found.writes:
        outcomes.extend(written(path, place, what="`find`"))
    if found.deletes:
        for path in found.reached():
            outcomes.extend(
                Finding("ask", one.reason) if isinstance(one, Finding) else one
                for one in _removed("find -delete", path, place, recursive=True)
            )
    return outcomes


def _fd(args: tuple[str, ...], _: Place) -> list[Outcome]:
    for flag in ("-x", "--exec", "-X", "--exec-batch"):
        if flag in args:
            words = [word.replace("{}", UNKNOWN) for word in args[args.index(flag) + 1 :] if word != ";"]
            return [Argv(tuple(words))] if words else []
    return []


def _crontab(args: tuple[str, ...], _: Place) -> list[Outcome]:
    return [] if options(args, "u").has("l") else [Finding("ask", "`crontab` replaces or removes a schedule")]


def _at(args: tuple[str, ...], place: Place) -> list[Outcome]:
    if options(args).has("l", "c", "V"):
        return []
    later: list[Outcome] = [Finding("ask", "this runs something later, when nobody is watching")]
    return [*later, Code(plain(place.stdin))] if place.stdin and is_known(place.stdin) else later


def _history(args: tuple[str, ...], _: Place) -> list[Outcome]:
    return (
        [Finding("ask", "`history` removes the record of what was run")]
        if options(args).has("c", "d")
        else []
    )


def _rsync(args: tuple[str, ...], place: Place) -> list[Outcome]:
    found = options(
        args, "efTMB", ("rsh", "filter", "exclude", "include", "backup-dir", "rsync-path", "files-from")
    )
    target = "".join(found.operands[-1:])
    outcomes: list[Outcome] = [Code(text) for flag, text in found.values if flag in ("-e", "--rsh") and text]
    if ":" in target.partition("/")[0] or not target:
        return []
    if any(flag.startswith("--del") for flag in found.flags) and not found.has("n", "dry-run"):
        outcomes.extend(
            Finding("ask", one.reason) if isinstance(one, Finding) else one
            for one in _removed("rsync --delete", target, place, recursive=True)
        )
    outcomes = [one for one in outcomes if not (isinstance(one, Code) and one.text.startswith("ssh"))]
    return [*outcomes, *written(target, place, what="`rsync`")]


def _tar(args: tuple[str, ...], place: Place) -> list[Outcome]:
    found = options(
        args,
        "CfIX",
        ("directory", "file", "to-command", "use-compress-program", "checkpoint-action", "exclude"),
    )
    outcomes: list[Outcome] = [
        Code(text)
        for flag, text in found.values
        if flag in ("--to-command", "--use-compress-program", "-I") and text
    ]
    for flag, text in found.values:
        if flag == "--checkpoint-action" and text.startswith("exec="):
            outcomes.append(Code(text[5:]))
    bundled = args[1:2] if args and "-" not in args[0] and "f" in args[0] else ()
    archives = (found.value("f", "file") or "", *bundled)
    if not found.has("x", "t", "extract", "list") and not (bundled and re.search("[xt]", args[0])):
        outcomes.extend(_destroys_disk("tar", archive) for archive in archives if disk(archive, place))
    directory = found.value("C", "directory")
    extracts = found.has("x", "extract", "get") or (args[:1] and "x" in args[0] and "-" not in args[0])
    if directory and extracts:
        outcomes.extend(_extracted("tar", directory, place))
    return outcomes


def _unzip(args: tuple[str, ...], place: Place) -> list[Outcome]:
    directory = options(args, "dx").value("d")
    return _extracted("unzip", directory, place) if directory else []


def _extracted(name: str, directory: str, place: Place) -> list[Outcome]:
    what = meaning(directory, place)
    if what.kind is Kind.PROTECTED:
        return [Finding("ask", f"`{name}` writes over files of {_named(what.name)}")]
    return written(directory, place, what=f"`{name}`")


def _docker(args: tuple[str, ...], _: Place) -> list[Outcome]:
    words = [word for word in args if not word.startswith("-")]
    volumes = [word for flag, word in options(args, "v", ("volume",)).values if flag in ("-v", "--volume")]
    if (
        any(re.match(r"/:|/(?:etc|root|home|var|usr|boot|dev):", word) for word in volumes)
        or "--privileged" in args
    ):
        return [Finding("ask", "the container is given the machine's own directories or rights")]
    if any(re.search(r"source=/(?:,|$)|src=/(?:,|$)", word) for word in args):
        return [Finding("ask", "the container is given the machine's own directories or rights")]
    if words[:2] in (["system", "prune"], ["volume", "prune"], ["volume", "rm"]):
        return [Finding("ask", "this removes data of containers for good")]
    return []


def _alias(args: tuple[str, ...], _: Place) -> list[Outcome]:
    return [Code(plain(word.partition("=")[2])) for word in args if "=" in word]


def _editor(args: tuple[str, ...], _: Place) -> list[Outcome]:
    """`vim -c '!command'`."""
    texts = [text for flag, text in options(args, "c", ("cmd",)).values if flag in ("-c", "--cmd")]
    texts += [word[1:] for word in args if word.startswith("+")]
    return [Code(text.lstrip(":").lstrip("!")) for text in texts if text.lstrip(":").startswith("!")]


def _make(args: tuple[str, ...], place: Place) -> list[Outcome]:
    reads = "-" in args or "/dev/stdin" in args or "-f-" in args
    if reads and place.stdin is not None:
        return [Finding("ask", "`make` runs whatever is piped into it")]
    return []


def _output(name: str, args: tuple[str, ...], place: Place) -> list[Outcome]:
    """The objections to the file that `-o` or `--output` names."""
    found = options(args, "oO", ("output", "output-document", "out", "output-dir"))
    paths = [
        text for flag, text in found.values if flag in ("-o", "-O", "--output", "--output-document", "--out")
    ]
    return [one for path in paths if path for one in written(path, place, what=f"`{name}`")]


def _unknown_wrapper(name: str, args: tuple[str, ...], place: Place, passes: Judge) -> list[Outcome]:
    """The objection to words that look like a dangerous command, should `name` run other programs."""
    for index, word in enumerate(args[:8]):
        base = word.rpartition("/")[2]
        if base not in _DANGEROUS and not base.startswith("mkfs."):
            continue
        for one in check(base, args[index + 1 : index + 33], place, passes):
            if isinstance(one, Finding):
                return [Finding("ask", f"`{name}` may run what follows it: {one.reason}")]
    return []


def _named(path: str) -> str:
    return f"`{path[:80]}`"


def _destroys_disk(name: str, path: str) -> Finding:
    return Finding("deny", f"{name} would write over the disk {_named(shown(path))}, which cannot be undone")


def _stops_machine(name: str) -> Finding:
    return Finding("deny", f"{name} would stop or restart this machine and everything that runs on it")


_CHECKS: Mapping[str, Check] = {
    "rm": _remove,
    "grm": _remove,
    "unlink": _unlink,
    "shred": _shred,
    "srm": _remove,
    "dd": _dd,
    "wipefs": _wipefs,
    "shutdown": _shutdown("shutdown"),
    "reboot": _shutdown("reboot"),
    "poweroff": _shutdown("poweroff"),
    "halt": _shutdown("halt"),
    "init": _init,
    "telinit": _init,
    "systemctl": _systemctl,
    "loginctl": _systemctl,
    "kill": _kill,
    "pkill": _pkill,
    "killall": _pkill,
    "killall5": lambda _, __: [Finding("ask", "`killall5` ends every process")],
    "chmod": _mode("chmod"),
    "chown": _mode("chown"),
    "chgrp": _mode("chgrp"),
    "setfacl": _mode("setfacl"),
    "mv": _move,
    "cp": _copy("cp"),
    "ln": _copy("ln"),
    "install": _copy("install"),
    "tee": _every_operand("tee"),
    "truncate": _every_operand("truncate", "sr", ("size", "reference")),
    "touch": _every_operand("touch", "drt", ("date", "reference")),
    "sed": _sed,
    "gsed": _sed,
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "git": lambda args, _: git(args),
    "crontab": _crontab,
    "at": _at,
    "batch": _at,
    "history": _history,
    "rsync": _rsync,
    "tar": _tar,
    "bsdtar": _tar,
    "unzip": _unzip,
    "docker": _docker,
    "podman": _docker,
    "eval": lambda args, _: evaluated(args),
    "source": sourced,
    ".": sourced,
    "alias": _alias,
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "ex": _editor,
    "make": _make,
    "gmake": _make,
}
