"""Programs that only run another one: their own words skipped, the other's left; judges nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onplan.shellguard.marks import UNKNOWN, is_known, plain
from onplan.shellguard.verdict import Argv, Code, Finding, Outcome, Place

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
MAX_ITEMS = 64


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a wrapper's own words look.

    `values`: flags that take a value; `flags`: those that take none; `none`: those with which it runs no
    command; `positionals`: words of its own before the command; `asks`: why a person decides.
    """

    values: str = ""
    flags: str = ""
    none: str = ""
    positionals: int = 0
    assignments: bool = False
    joined: bool = False
    """Whether it hands its words to a shell as one line."""
    clear: bool = False
    """Whether a rule that allows the command behind it is enough."""
    asks: str = ""


_INSIDE_ANOTHER_ROOT = "it runs in another root or namespace, where paths mean something else"

WRAPPERS: Mapping[str, Wrapper] = {
    "sudo": Wrapper(
        "-C -D -g -h -p -R -r -T -t -U -u --user --group --prompt --chdir --chroot --host --role --type "
        "--close-from --command-timeout --other-user",
        "-A -b -E -H -i -k -n -P -S -s -B -N --login --shell --preserve-env --non-interactive --stdin "
        "--set-home --background --askpass --bell",
        "-l -v -K -V -e --list --validate --remove-timestamp --version --edit --help",
        assignments=True,
    ),
    "doas": Wrapper("-C -u", "-L -n -s"),
    "pkexec": Wrapper("--user -u", "--disable-internal-agent --keep-cwd"),
    "env": Wrapper(
        "-u -C --unset --chdir",
        "-i -0 -v --ignore-environment --null --debug - --default-signal --ignore-signal --block-signal",
        "--help --version",
        assignments=True,
        clear=True,
    ),
    "nohup": Wrapper(clear=True),
    "setsid": Wrapper("", "-c -f -w --ctty --fork --wait", clear=True),
    "nice": Wrapper("-n --adjustment", "", clear=True),
    "ionice": Wrapper("-c -n --class --classdata", "-t --ignore", "-p -P -u", clear=True),
    "chrt": Wrapper("-T -P -D", "-b -f -i -o -r -a -v -R", "-p -m", positionals=1),
    "taskset": Wrapper("", "-a -c", "-p", positionals=1),
    "time": Wrapper("-f -o --format --output", "-a -p -v -q --append --portability --verbose", clear=True),
    "timeout": Wrapper(
        "-k -s --kill-after --signal",
        "-v -f -p --preserve-status --foreground --verbose",
        positionals=1,
        clear=True,
    ),
    "gtimeout": Wrapper(
        "-k -s --kill-after --signal", "-v --preserve-status --foreground", positionals=1, clear=True
    ),
    "stdbuf": Wrapper("-i -o -e --input --output --error", clear=True),
    "unbuffer": Wrapper("", "-p", clear=True),
    "command": Wrapper("", "-p", "-v -V", clear=True),
    "builtin": Wrapper(clear=True),
    "exec": Wrapper("-a", "-c -l", clear=True),
    "coproc": Wrapper(clear=True),
    "caffeinate": Wrapper("-t -w", "-d -i -m -s -u", clear=True),
    "strace": Wrapper(
        "-a -b -e -I -o -O -p -P -s -S -u -E -X", "-c -C -d -f -F -i -k -n -q -r -t -T -v -w -x -y -z -Z"
    ),
    "ltrace": Wrapper("-a -A -D -e -l -n -o -p -s -u -x", "-b -c -C -f -h -i -L -r -S -t -T"),
    "valgrind": Wrapper("", "-q -v -d"),
    "xvfb-run": Wrapper("-e -f -n -p -s -w", "-a -l"),
    "dbus-run-session": Wrapper("--config-file", "--"),
    "systemd-inhibit": Wrapper("--what --who --why --mode"),
    "systemd-run": Wrapper(
        "-p -u -t --unit --property --slice --uid --gid -E", "-P -q -G --user --scope --pty --wait"
    ),
    "runuser": Wrapper("-u -g -G --user --group", "-l -m -p"),
    "setpriv": Wrapper("--reuid --regid --groups", "--clear-groups"),
    "capsh": Wrapper("", ""),
    "busybox": Wrapper("", "", "--list --list-full --install --help"),
    "toybox": Wrapper(),
    "watch": Wrapper("-n --interval", "-b -c -d -e -g -t -x -w -p -q", joined=True),
    "chroot": Wrapper("--userspec --groups", "--skip-chdir", positionals=1, asks=_INSIDE_ANOTHER_ROOT),
    "unshare": Wrapper(
        "-S -G -R -w -l --root --wd --setuid --setgid --propagation --map-user --map-group",
        "-m -u -i -n -p -U -C -T -f -r -c --fork --mount --pid --net --user --map-root-user --mount-proc",
        asks=_INSIDE_ANOTHER_ROOT,
    ),
    "nsenter": Wrapper(
        "-t --target -S -G --setuid --setgid",
        "-a -m -u -i -n -p -U -C -T -r -w -F --all --mount --pid --net",
        asks=_INSIDE_ANOTHER_ROOT,
    ),
    "bwrap": Wrapper("", "", asks=_INSIDE_ANOTHER_ROOT),
    "ssh": Wrapper(
        "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
        "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y",
        positionals=1,
        joined=True,
        asks="it runs on another machine, where nothing here is known",
    ),
}

# A tool's subcommand that runs a command, with the flags of its own that take a value.
_RUNNERS: Mapping[tuple[str, str], str] = {
    ("uv", "run"): "--with --python -p --extra --group --project --directory --package --env-file",
    ("poetry", "run"): "",
    ("pipenv", "run"): "",
    ("pdm", "run"): "",
    ("hatch", "run"): "",
    ("rye", "run"): "",
    ("bundle", "exec"): "",
    ("conda", "run"): "-n -p --name --prefix",
    ("mise", "exec"): "",
    ("direnv", "exec"): "",
    ("npm", "exec"): "",
    ("pnpm", "exec"): "",
    ("doppler", "run"): "-p -c",
}
# Flags by which a program is given shell text.
_SHELL_TEXT: Mapping[str, tuple[str, ...]] = {
    "su": ("-c", "--command"),
    "script": ("-c", "--command"),
    "flock": ("-c", "--command"),
    "runuser": ("-c", "--command"),
    "nix-shell": ("--run", "--command"),
    "sg": ("-c",),
    "capsh": ("-c",),
    "entr": ("-s",),
    "tmux": (),
    "screen": (),
}


def is_clear(name: str) -> bool:
    """Whether allowing the command behind wrapper `name` is enough."""
    return name in WRAPPERS and WRAPPERS[name].clear


def unwrapped(name: str, args: Sequence[str], place: Place) -> list[Outcome] | None:
    """What `name` would run; None if it is no wrapper."""
    match name:
        case "xargs":
            return _xargs(args, place)
        case "parallel":
            return _parallel(args, place)
        case "env" if (split := _split_string(args)) is not None:
            return [Code(split)]
        case "coproc":
            return _coproc(args)
        case "capsh" if "--" in args:
            return [Argv(("bash", *args[list(args).index("--") + 1 :]), joined=True)]
        case "flock" if not any(word in ("-c", "--command") for word in args):
            return _wrapped(
                "flock",
                args,
                Wrapper("-w -E --timeout", "-e -n -s -x -o -u -F --nonblock", "", 1, clear=True),
            )
        case _:
            pass
    if name in _SHELL_TEXT:
        return _shell_text(name, args)
    if name in WRAPPERS:
        return _wrapped(name, args, WRAPPERS[name])
    for index, word in enumerate(args[:6]):
        if (name, word) in _RUNNERS:
            return _wrapped(name, args[index + 1 :], Wrapper(_RUNNERS[name, word]), guess=True)
    return None


def _wrapped(name: str, args: Sequence[str], wrapper: Wrapper, *, guess: bool = False) -> list[Outcome]:
    rest, sure = _behind(args, wrapper)
    if not rest:
        return []
    found: list[Outcome] = []
    if wrapper.asks:
        found.append(Finding("ask", f"`{name}`: {wrapper.asks}"))
    if not sure and not guess:
        found.append(Finding("ask", f"`{name}` has an option here that the guard does not know"))
        found.extend(Argv(tuple(rest[index:]), joined=True) for index in range(1, min(len(rest), 8)))
    if wrapper.joined:
        found.append(Code(" ".join(map(plain, rest))))
        return found
    own = args[: len(args) - len(rest)]
    found.append(
        Argv(tuple(rest), joined=True, functions=name in ("time", "coproc"), cwd=_directory(name, own))
    )
    return found


def _directory(name: str, own: Sequence[str]) -> str | None:
    """The directory to which a wrapper's own words send the command."""
    letter = {"env": "-C", "sudo": "-D", "unshare": "-w"}.get(name)
    for word, after in zip(own, [*own[1:], ""], strict=False):
        flag, equals, value = word.partition("=")
        if flag in ("--chdir", "--wd", "--working-directory"):
            return value if equals else after
        if letter and word.startswith(letter):
            return word[2:] or after
    return None


def _behind(args: Sequence[str], wrapper: Wrapper) -> tuple[Sequence[str], bool]:
    """The words of the command behind a wrapper, and whether every word before it was understood."""
    values, flags, none = wrapper.values.split(), wrapper.flags.split(), wrapper.none.split()
    positionals, sure, index, ended = wrapper.positionals, True, 0, False
    while index < len(args):
        word = args[index]
        if not ended and word == "--":
            ended = True
            index += 1
        elif not ended and word.startswith("-") and len(word) > 1:
            if word in none:
                return [], True
            known, takes_next = _flag(word, values, flags)
            sure = sure and known
            index += 2 if takes_next else 1
        elif (word == "-" and "-" in flags) or (wrapper.assignments and _ASSIGNMENT.match(word)):
            index += 1
        elif positionals:
            positionals -= 1
            index += 1
        else:
            return args[index:], sure
    return [], sure


def _flag(word: str, values: Sequence[str], flags: Sequence[str]) -> tuple[bool, bool]:
    """Whether a flag is known, and whether its value is the next word."""
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        taking = [value for value in values if value.startswith(name)]
        known = bool(taking) or any(flag.startswith(name) for flag in flags) or bool(equals)
        return known, bool(taking) and not equals
    if word[1:].isdigit():
        return True, False
    for position, letter in enumerate(word[1:], 2):
        if f"-{letter}" in values:
            return True, position == len(word)
        if f"-{letter}" not in flags:
            return False, False
    return True, False


def _split_string(args: Sequence[str]) -> str | None:
    """The text that `env -S` runs, with the words after it."""
    for index, word in enumerate(args):
        if word in ("-S", "--split-string"):
            return " ".join(map(plain, args[index + 1 :]))
        for flag in ("--split-string=", "-S", "-vS", "-iS"):
            if word.startswith(flag) and len(word) > len(flag):
                return " ".join(map(plain, [word[len(flag) :], *args[index + 1 :]]))
        if not word.startswith("-") and not _ASSIGNMENT.match(word):
            return None
    return None


def _shell_text(name: str, args: Sequence[str]) -> list[Outcome]:
    names = _SHELL_TEXT[name]
    for index, word in enumerate(args):
        flag, equals, text = word.partition("=")
        if equals and flag in names:
            return [Code(text)]
        if word in names or (name != "entr" and re.fullmatch(r"-[a-zA-Z]*c", word) and names):
            return [Code(args[index + 1])] if index + 1 < len(args) else []
    match name:
        case "su" | "sg":
            return [Finding("ask", f"`{name}` starts a shell as another user")]
        case "runuser":
            return _wrapped(name, args, WRAPPERS[name])
        case "entr":
            return _wrapped(name, args, Wrapper("", "-a -c -d -n -p -r -z"))
        case "tmux" | "screen":
            return [Code(word) for word in args if " " in word]
        case _:
            return []


def _coproc(args: Sequence[str]) -> list[Outcome]:
    rest = list(args)
    if rest[1:2] == ["{"]:
        del rest[0]
    return [Argv(tuple(rest), joined=True, functions=True)] if rest else []


_XARGS = Wrapper(
    "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-lines --max-args --max-procs --max-chars --replace "
    "--process-slot-var",
    "-0 -o -p -r -t -x -e -i -l --null --no-run-if-empty --verbose --interactive --exit --open-tty",
    "--help --version",
)


def _xargs(args: Sequence[str], place: Place) -> list[Outcome]:
    rest, sure = _behind(args, _XARGS)
    words = list(rest) or ["echo"]
    found: list[Outcome] = (
        [] if sure else [Finding("ask", "`xargs` has an option here that the guard does not know")]
    )
    items = _items(place)
    token = _token(args)
    if token is None:
        return [*found, Argv((*words, *items), joined=True)]
    found.extend(Argv(tuple(word.replace(token, item) for word in words), joined=True) for item in items)
    return found or [Argv(tuple(words), joined=True)]


def _token(args: Sequence[str]) -> str | None:
    """What `xargs` replaces in the command, if anything."""
    for index, word in enumerate(args):
        if word == "-I":
            return "".join(args[index + 1 : index + 2]) or None
        if word.startswith("-I"):
            return word[2:]
        if word in ("-i", "--replace"):
            return "{}"
        if word.startswith("--replace="):
            return word.partition("=")[2] or "{}"
        if not word.startswith("-"):
            return None
    return None


def _items(place: Place) -> list[str]:
    """What is read from standard input, item by item."""
    if place.stdin is None:
        return []
    if not is_known(place.stdin):
        return [UNKNOWN]
    items = [item.strip("'\"") for item in place.stdin.replace("\0", "\n").split()]
    return items if len(items) <= MAX_ITEMS else [UNKNOWN]


def _parallel(args: Sequence[str], place: Place) -> list[Outcome]:
    words = list(args)
    at = next((index for index, word in enumerate(words) if word in (":::", ":::+", "::::")), len(words))
    items = [word for word in words[at:] if not word.startswith(":::")] if at < len(words) else _items(place)
    wrapper = Wrapper(
        "-j -n -N -L -I -a -d -S --jobs --colsep --delay --timeout",
        "-0 -k -q -r -t -X -m -u --bar --keep-order",
    )
    rest, sure = _behind(words[:at], wrapper)
    found: list[Outcome] = (
        [] if sure else [Finding("ask", "`parallel` has an option here that the guard does not know")]
    )
    text = " ".join(map(plain, rest))
    if not text:
        return [*found, *(Code(item) for item in items)]
    lines = [text.replace("{}", item) if "{}" in text else f"{text} {item}" for item in items or [""]]
    return [*found, *map(Code, lines)]
