"""What the shell's own commands change in the shell: its directory, its variables; judges nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from onplan.shellguard.marks import UNKNOWN, plain
from onplan.shellguard.options import options
from onplan.shellguard.printed import printed
from onplan.shellguard.state import Shell
from onplan.shellguard.verdict import Place

CODE_VARIABLES = frozenset(
    [
        "PROMPT_COMMAND",
        "PAGER",
        "MANPAGER",
        "GIT_PAGER",
        "EDITOR",
        "VISUAL",
        "GIT_EDITOR",
        "GIT_SEQUENCE_EDITOR",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "BROWSER",
        "LESSOPEN",
    ]
)
"""Variables whose value other programs run."""

_DECIDES = re.compile(
    r"PATH|IFS|ENV|BASH_ENV|SHELL|LD_\w+|DYLD_\w+|GIT_\w+|PYTHON\w*|NODE_\w+|PERL5?\w+|RUBY\w+|\w*PAGER|EDITOR"
)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_ENDS = frozenset({"exit", "return", "break", "continue", "logout"})
_IN_SHELL = frozenset({"command", "builtin", "exec", "time"})


def decides_programs(name: str) -> bool:
    """Whether variable `name` decides which programs or code others run."""
    return _DECIDES.fullmatch(name) is not None


def stays_in_shell(name: str) -> bool:
    """Whether what wrapper `name` runs changes the shell itself."""
    return name in _IN_SHELL


def change(name: str, args: Sequence[str], shell: Shell, place: Place) -> None:
    """Change `shell` as its own command `name` with `args` would; other names change nothing."""
    match name:
        case "cd" | "chdir":
            _cd(args, shell)
        case "pushd":
            _pushd(args, shell)
        case "popd":
            _popd(shell)
        case "read" | "mapfile" | "readarray" | "getopts" | "let" | "wait":
            _read(name, args, shell, place)
        case "printf" if args[:1] == ("-v",) and len(args) > 2:
            shell.assign(args[1], [(printed("printf", args[2:], place),)])
        case "set" if args:
            _set(args, shell)
        case "shift" if shell.positional is not None:
            count = int(args[0][:4]) if args and args[0].isdigit() else 1
            shell.positional = shell.positional[count:]
        case "export" | "declare" | "typeset" | "local" | "readonly":
            _declare(args, shell)
        case "alias":
            _alias(args, shell)
        case "unalias":
            shell.aliases = {
                key: value for key, value in shell.aliases.items() if key not in args and "-a" not in args
            }
        case _ if name in _ENDS:
            shell.left = True
        case _:
            pass


def _cd(args: Sequence[str], shell: Shell) -> None:
    words = [word for word in args if not re.fullmatch(r"-[LPe@]+|--", word)]
    if not words:
        shell.go([value[0] if value else "" for value in shell.values("HOME")])
    elif words[0] == "-":
        shell.cwds, shell.previous = shell.previous, shell.cwds
    else:
        shell.go(words[:1])


def _pushd(args: Sequence[str], shell: Shell) -> None:
    words = [word for word in args if word not in ("-n", "--")]
    shell.stack = (*shell.stack[-32:], shell.cwds)
    if not words or re.fullmatch(r"[-+]\d+", words[0]):
        shell.cwds = (UNKNOWN,)
    else:
        shell.go(words[:1])


def _popd(shell: Shell) -> None:
    if shell.stack:
        shell.cwds, shell.stack = shell.stack[-1], shell.stack[:-1]
    else:
        shell.cwds = (UNKNOWN,)


def _read(name: str, args: Sequence[str], shell: Shell, place: Place) -> None:
    found = options(args, "adinNptu" if name == "read" else "")
    names = [*found.operands, *([value] if (value := found.value("a")) else [])]
    if name == "let":
        names = [match.group() for word in args if (match := _NAME.match(word))]
    known = (
        place.stdin
        if name == "read" and place.stdin and len(names) == 1 and not found.value("d")
        else UNKNOWN
    )
    lines = [line.strip() for line in known.split("\n") if line.strip()][:32]
    for one in names or ["REPLY"]:
        if _NAME.fullmatch(one):
            shell.assign(one, [(line,) for line in lines] or [("",)])


def _set(args: Sequence[str], shell: Shell) -> None:
    if "--" in args:
        shell.positional = tuple(args[list(args).index("--") + 1 :])
    elif not args[0].startswith(("-", "+")):
        shell.positional = tuple(args)


def _declare(args: Sequence[str], shell: Shell) -> None:
    for word in args:
        if found := _ASSIGNED.fullmatch(word):
            name, more, value = found.groups()
            shell.assign(name, [(UNKNOWN if more else value,)])


def _alias(args: Sequence[str], shell: Shell) -> None:
    for word in args:
        name, equals, text = word.partition("=")
        if equals:
            shell.aliases[plain(name)] = plain(text)
