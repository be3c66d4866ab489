"""Programs that run text: what text they would run, and whether a person should read it first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from onplan.shellguard.marks import FILE, STREAM, UNKNOWN, is_known, plain, shown
from onplan.shellguard.paths import Kind, meaning
from onplan.shellguard.verdict import Code, Finding, Outcome, Place

SHELLS = frozenset(
    [
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "ksh93",
        "mksh",
        "ash",
        "rbash",
        "fish",
        "yash",
        "tcsh",
        "csh",
        "pwsh",
    ]
)

_LANGUAGE = re.compile(
    r"(python|pypy|perl|ruby|node|nodejs|bun|deno|php|lua|luajit|Rscript|osascript|tclsh|ts-node|tsx)"
    r"[\d.]*(?:-config)?"
)
_CODE_FLAGS = {
    "python": "c", "pypy": "c", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "bun": "ep",
    "php": "rBE", "lua": "e", "luajit": "e", "Rscript": "e", "osascript": "e", "ts-node": "ep", "tsx": "ep",
}  # fmt: skip
_VALUE_FLAGS = {
    "python": "mWX",
    "pypy": "mWX",
    "perl": "IMmF0",
    "ruby": "IrEC",
    "node": "r",
    "nodejs": "r",
    "php": "dcz",
}
_NOT_READING = frozenset(
    {"-m", "-V", "-h", "-v", "--version", "--help", "-i", "--test", "--check", "-l", "--eval"}
)

_RUNS_SHELL = re.compile(
    r"\b(?:system|popen|subprocess|spawn\w*|exec[vlpe]*|execSync|execFile\w*|child_process|getoutput|"
    r"check_output|check_call|Popen|shell_exec|passthru|proc_open|Open3|os\.execute|io\.popen|pty)\b"
    r"|do shell script|%x[\[({|]"
)
_REMOVES = re.compile(
    r"\b(?:rmtree|rm_rf|rm_r|rmSync|rmdirSync|remove_tree|rmdir|removedirs|remove_entry\w*|delete_tree|unlinkSync|"
    r"(?:os|fs|File|FileUtils|Path|path)\b[^\n;]*\.(?:unlink|remove|delete|rm)|unlink|promises\.rm)\b"
)
_HIDDEN = re.compile(
    r"\b(?:b64decode|a85decode|unhexlify|fromhex|rot13|decode64|base64_decode|atob|zlib|marshal)\b"
    r"|\\x[0-9a-f]{2}\\x|['\"]base64['\"]|urlopen|requests\.get|\bgetattr\s*\(\s*(?:os|__import__)"
)
_EVALUATES = re.compile(r"\b(?:exec|eval|compile|Function|instance_eval|loadstring|load)\s*\(?")
_FORKS = re.compile(r"\bfork\b")
_LOOPS = re.compile(r"\b(?:while|loop|until|for)\b")
_LITERAL = re.compile(
    r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"|`([^`]*)`", re.DOTALL
)
_HOME = re.compile(r"expanduser|Path\.home|homedir|ENV\[.HOME.\]|environ|process\.env|Dir\.home|\$ENV\{")
_ROOTED = re.compile(r"[~/]|\.\.(?:/|$)|\*$|\.$")

Judge = Callable[[str], bool]
"""Whether a line of shell text passes."""


def is_interpreter(name: str) -> bool:
    """Whether `name` runs text that it is given or reads."""
    return name in SHELLS or _LANGUAGE.fullmatch(name) is not None or name in ("awk", "gawk", "mawk", "nawk")


def shell(name: str, args: Sequence[str], place: Place) -> list[Outcome]:
    """What shell `name` would run."""
    index = 0
    reads = not args
    while index < len(args):
        word = args[index]
        if not is_known(word):
            return [_unresolved(name)]
        if word in ("--rcfile", "--init-file", "-o", "-O", "+o", "+O"):
            index += 2
            continue
        if word in ("--version", "--help", "-n"):
            return []
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word) or word in ("--command", "-Command"):
            return _given(name, _after_flags(args[index + 1 :]))
        if word in ("-s", "-", "--", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") or re.fullmatch(
            r"-[a-z]*s", word
        ):
            if word == "--" and index + 1 < len(args):
                return _script(name, args[index + 1], place)
            reads = True
            break
        if not word.startswith(("-", "+")):
            return _script(name, word, place)
        index += 1
        reads = index == len(args)
    return _read(name, place) if reads else []


def _after_flags(args: Sequence[str]) -> Sequence[str]:
    """The words after `-c`, behind further flags: `bash -c -e 'text'` runs the text."""
    index = 0
    while index < len(args) and re.fullmatch(r"[-+][a-zA-Z]+|--", args[index]):
        index += 1
    return args[index:]


def _given(name: str, words: Sequence[str]) -> list[Outcome]:
    if not words:
        return []
    zero = words[1] if len(words) > 1 else name
    if not is_known(words[0]):
        return [_unresolved(name), Code(words[0])]
    return [Code(plain(words[0]), tuple(words[2:]), zero)]


def _script(name: str, word: str, place: Place) -> list[Outcome]:
    """A script in a file is not read; a stream is what it prints."""
    if word.startswith(STREAM):
        text = word[1:]
        return [Code(plain(text))] if is_known(text) else [_piped(name)]
    if word in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        return _read(name, place)
    return [] if is_known(word) else [_unresolved(name)]


def _read(name: str, place: Place) -> list[Outcome]:
    match place.stdin:
        case None:
            return []
        case text if is_known(text):
            return [Code(plain(text))]
        case text if UNKNOWN in text:
            return [_piped(name)]
        case _:
            return []


def evaluated(args: Sequence[str]) -> list[Outcome]:
    """What `eval` would run."""
    text = " ".join(args[1:] if args[:1] == ("--",) else args)
    if not is_known(text):
        return [Finding("ask", "`eval` runs text that is not known before it runs"), Code(text, here=True)]
    return [Code(plain(text), here=True)] if text else []


def sourced(args: Sequence[str], place: Place) -> list[Outcome]:
    """What `source` would run; a file is not read."""
    if not args:
        return []
    found = _script("source", args[0], place)
    return [Code(one.text, here=True) if isinstance(one, Code) else one for one in found]


def language(name: str, args: Sequence[str], place: Place, passes: Judge) -> list[Outcome]:
    """What a person should see in the text that an interpreter of another language is given or reads."""
    kind = _kind(name)
    texts, reads = _texts(kind, args)
    if reads and place.stdin is not None and FILE not in place.stdin:
        if not is_known(place.stdin) and place.stdin.strip(UNKNOWN) == "":
            return [_piped(name)]
        texts.append(place.stdin)
    return [found for text in texts for found in _suspect(name, plain(text), place, passes)][:1]


def _kind(name: str) -> str:
    found = _LANGUAGE.fullmatch(name)
    return found.group(1) if found else name


def _texts(kind: str, args: Sequence[str]) -> tuple[list[str], bool]:
    """The texts given as code, and whether the program is read from standard input."""
    letters, values = _CODE_FLAGS.get(kind, ""), _VALUE_FLAGS.get(kind, "")
    if kind in ("deno", "bun") and args[:1] == ("eval",):
        return list(args[1:]), False
    texts: list[str] = []
    index = 0
    while index < len(args):
        word = args[index]
        index += 1
        if word in ("-", "/dev/stdin"):
            return texts, not texts
        if word.startswith(STREAM):
            return [word[1:]], False
        if word in ("--eval", "--print") and index < len(args):
            return [*texts, args[index]], False
        if word.startswith(("--eval=", "--print=")):
            return [*texts, word.partition("=")[2]], False
        if not word.startswith("-") or word.startswith("--"):
            if word.startswith("--") and word not in _NOT_READING:
                continue
            return texts, False
        if word in _NOT_READING and word not in ("-i", "-l", "-v"):
            return texts, False
        text, taken = _letter(word, letters, values, args[index : index + 1])
        texts.extend(text)
        index += taken
        if text and kind in ("python", "pypy"):
            return texts, False
    return texts, not texts


def _letter(word: str, letters: str, values: str, after: Sequence[str]) -> tuple[list[str], int]:
    """The code in a cluster of flags, and how many words after it belong to it."""
    for position, letter in enumerate(word[1:], 2):
        if letter in letters:
            return ([word[position:]], 0) if word[position:] else (list(after), 1)
        if letter in values:
            return [], 0 if word[position:] else 1
    return [], 0


def awk(args: Sequence[str], passes: Judge) -> list[Outcome]:
    """What `awk` would run through `system` or a pipe."""
    program = next((word for word in args if not word.startswith("-")), "")
    if "system" not in program and "|" not in program:
        return []
    for text in _literals(program):
        if re.search("[a-z]", text) and not passes(text):
            return [Finding("ask", f"`awk` would run `{shown(text)[:80]}`")]
    return []


def _suspect(name: str, text: str, place: Place, passes: Judge) -> list[Outcome]:
    if _FORKS.search(text) and _LOOPS.search(text):
        return [Finding("ask", f"the text given to `{name}` starts processes in a loop")]
    if _EVALUATES.search(text) and _HIDDEN.search(text):
        return [Finding("ask", f"the text given to `{name}` runs what it decodes or fetches")]
    literals = _literals(text)
    if _RUNS_SHELL.search(text) or ("`" in text and _kind(name) in ("perl", "ruby", "php")):
        for line in [*literals, " ".join(literals)]:
            if not passes(line):
                return [Finding("ask", f"the text given to `{name}` would run `{shown(line)[:80]}`")]
        if not literals:
            return [
                Finding("ask", f"the text given to `{name}` runs a command that is not known before it runs")
            ]
    if not _REMOVES.search(text):
        return []
    if _HOME.search(text):
        return [
            Finding(
                "ask", f"the text given to `{name}` removes something below a directory that is not known"
            )
        ]
    rooted = [one for one in literals if _ROOTED.match(one)]
    for path in rooted:
        if "\n" not in path and meaning(path.replace("~", place.home, 1), place).kind is not Kind.INSIDE:
            return [
                Finding("ask", f"the text given to `{name}` removes files and names `{shown(path)[:80]}`")
            ]
    if not literals:
        return [
            Finding("ask", f"the text given to `{name}` removes something that is not known before it runs")
        ]
    return []


def _literals(text: str) -> list[str]:
    found = ["".join(one.groups("")) for one in _LITERAL.finditer(text[:20_000])]
    return [one for one in found if one.strip()][:64]


def _piped(name: str) -> Finding:
    return Finding("ask", f"`{name}` runs whatever is piped into it; save it to a file and read it first")


def _unresolved(name: str) -> Finding:
    return Finding("ask", f"`{name}` runs text that is not known before it runs")
