"""What common commands would print, as far as it can be told without running them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from onplan.shellguard.find import roots_of
from onplan.shellguard.marks import FILE, SOME, STAR, STREAM, UNKNOWN, is_known, shown
from onplan.shellguard.options import options
from onplan.shellguard.verdict import Place

_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|0?([0-7]{1,3})|(n|t|r|\\)|(c).*)", re.DOTALL)
_CONVERSION = re.compile(r"%[-+0-9.]*([a-zA-Z%])")
_SET_UP = frozenset(
    [
        "ssh-agent",
        "brew",
        "direnv",
        "pyenv",
        "rbenv",
        "nodenv",
        "goenv",
        "jenv",
        "fnm",
        "opam",
        "dircolors",
        "starship",
        "zoxide",
        "luarocks",
    ]
)
_ONE_WORD = frozenset(
    [
        "date",
        "nproc",
        "uname",
        "whoami",
        "hostname",
        "arch",
        "id",
        "tty",
        "wc",
        "seq",
        "sha256sum",
        "md5sum",
        "uuidgen",
        "getconf",
    ]
)
_GIT_WORDS = ("rev-parse", "describe", "branch", "symbolic-ref", "merge-base", "rev-list")
_GIT_NAMES = ("ls-files", "diff", "diff-tree", "ls-tree")


_AS_IT_IS = frozenset({"printf", "cat", "tee", "sort", "uniq", "head", "tail"})


def printed(name: str, args: Sequence[str], place: Place) -> str:
    """The text that `name` with `args` would print; marks stand for what is not known."""
    printer = _PRINTERS.get(name)
    if printer is not None:
        text = printer(args, place)
        return text if name in _AS_IT_IS or not text or text == UNKNOWN else f"{text}\n"
    if name in _ONE_WORD:
        return f"{SOME}\n"
    if name in _SET_UP:
        return ""
    return UNKNOWN


def _echo(args: Sequence[str], _: Place) -> str:
    words = list(args)
    escapes = False
    while words and re.fullmatch("-[neE]+", words[0]):
        escapes = "e" in words.pop(0) or escapes
    text = " ".join(words)
    return _escaped(text) if escapes else text


def _printf(args: Sequence[str], _: Place) -> str:
    words = list(args)
    if words[:1] == ["-v"]:
        return ""
    if words[:1] == ["--"]:
        del words[0]
    if not words:
        return ""
    form, values = _escaped(words[0]), words[1:]
    printed: list[str] = []
    while True:
        text, rest = _filled(form, values)
        printed.append(text)
        if not rest or len(rest) == len(values) or len(printed) > 64:
            return "".join(printed) + (UNKNOWN if rest and len(printed) > 64 else "")
        values = rest


def _filled(form: str, values: Sequence[str]) -> tuple[str, list[str]]:
    """`form` with its conversions filled, and the values that are left."""
    left = iter(values)

    def converted(found: re.Match[str]) -> str:
        if found.group(1) == "%":
            return "%"
        value = next(left, "")
        return _escaped(value) if found.group(1) == "b" else value

    return _CONVERSION.sub(converted, form), list(left)


def _escaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    hexadecimal, octal, name, stop = found.groups()
    if hexadecimal or octal:
        code = int(hexadecimal, 16) if hexadecimal else int(octal, 8) & 0xFF
        return chr(code)
    if stop:
        return ""
    return {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}[name]


def _cat(args: Sequence[str], place: Place) -> str:
    found = options(args)
    if found.operands not in ((), ("-",)):
        streams = [word[1:] for word in found.operands if word.startswith(STREAM)]
        return "".join(streams) if len(streams) == len(found.operands) else UNKNOWN
    stdin = place.stdin or ""
    return UNKNOWN if FILE in stdin else stdin


def _ls(args: Sequence[str], place: Place) -> str:
    found = options(args, "IwT")
    if found.has("l", "o", "g", "n", "s", "i"):
        return UNKNOWN
    if not found.operands:
        return STAR
    return "\n".join(found.operands if found.has("d") else [*found.operands, SOME])


def _find(args: Sequence[str], place: Place) -> str:
    return "\n".join(roots_of(args).reached())


def _listing(args: Sequence[str], place: Place) -> str:
    """Names below what was searched: `rg -l`, `grep -l`."""
    found = options(args, "eABCmfgtTdEj", ("include", "exclude", "exclude-dir", "glob", "type"))
    roots = [word for word in found.operands[1:] if is_known(word)]
    return "\n".join([f"{root}/{SOME}" for root in roots] or [SOME])


def _grep(args: Sequence[str], place: Place) -> str:
    """Files that hold something, or those of the names that it reads."""
    if options(args).has("l", "L", "files-with-matches", "files-without-match"):
        return _listing(args, place)
    names = (place.stdin or "").replace(STAR, SOME)
    return names if SOME in names and is_known(names) else UNKNOWN


def _rg(args: Sequence[str], place: Place) -> str:
    return SOME if options(args).has("files") else _grep(args, place)


def _same(args: Sequence[str], place: Place) -> str:
    """`sort`, `head`, `tail` …: some of the lines that they read."""
    named = options(args, "nckt", ("lines", "bytes", "key")).operands
    return UNKNOWN if named or place.stdin is None or FILE in place.stdin else place.stdin


def _git(args: Sequence[str], place: Place) -> str:
    words = [word for word in args if not word.startswith("-")]
    match words[:1]:
        case [command] if command == "rev-parse" and "--show-toplevel" in args:
            return place.workspace
        case [command] if command in _GIT_WORDS:
            return SOME
        case [command] if command == "ls-files" or (command in _GIT_NAMES and "--name-only" in args):
            return SOME
        case _:
            return UNKNOWN


def _mktemp(args: Sequence[str], _: Place) -> str:
    found = options(args, "p", ("suffix",))
    if found.has("p", "tmpdir"):
        return UNKNOWN
    if found.operands and ("/" in found.operands[0] or not is_known(found.operands[0])):
        known = shown(found.operands[0])
        return known if known.startswith("/tmp/") and ".." not in known else UNKNOWN
    return f"/tmp/{SOME}"


def _which(args: Sequence[str], _: Place) -> str:
    names = options(args).operands
    return names[0] if len(names) == 1 else UNKNOWN


def _command(args: Sequence[str], place: Place) -> str:
    return _which(args, place) if args[:1] == ["-v"] or args[:1] == ("-v",) else UNKNOWN


def _pwd(_: Sequence[str], place: Place) -> str:
    return place.cwd


def _kubectl(args: Sequence[str], _: Place) -> str:
    return "" if "completion" in args else UNKNOWN


def _nothing(_: Sequence[str], __: Place) -> str:
    return ""


_PRINTERS: Mapping[str, Callable[[Sequence[str], Place], str]] = {
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "tee": lambda _, place: _cat((), place),
    "ls": _ls,
    "find": _find,
    "fd": lambda _, __: SOME,
    "grep": _grep,
    "egrep": _grep,
    "rg": _rg,
    "sort": _same,
    "uniq": _same,
    "head": _same,
    "tail": _same,
    "git": _git,
    "mktemp": _mktemp,
    "which": _which,
    "command": _command,
    "type": _which,
    "pwd": _pwd,
    "kubectl": _kubectl,
    "helm": _kubectl,
    "gh": _kubectl,
    "true": _nothing,
    "cd": _nothing,
    "mkdir": _nothing,
    "rm": _nothing,
    "touch": _nothing,
    "export": _nothing,
    "set": _nothing,
    "sleep": _nothing,
    "test": _nothing,
    "[": _nothing,
    ":": _nothing,
}
