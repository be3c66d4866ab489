"""Writes corpus.json: hand-written lines, and equal spellings drawn from a small grammar with a fixed seed.

`python tests/guard/make_corpus.py`. The lines are data: nothing here hands one to a shell.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from corpus_lines import ASKED, DENIED, MORE, PASSED

CORPUS = Path(__file__).with_name("corpus.json")
CWD, HOME = "/home/u/proj", "/home/u"
SEED, SPELLINGS = 20, 400

PROGRAMS = [
    "rm",
    "/bin/rm",
    "/usr/bin/rm",
    "\\rm",
    "'rm'",
    '"rm"',
    "r'm'",
    'r""m',
    "r\\m",
    "$'rm'",
    "$'\\x72m'",
]
FLAGS = [
    "-rf",
    "-fr",
    "-Rf",
    "-r -f",
    "-f -r",
    "-rvf",
    "-r",
    "-R",
    "--recursive --force",
    "--force --recursive",
    "--recursive",
    "-f --recursive",
    "--recurs -f",
    "-rf --",
    "-r --one-file-system",
    "-rf --no-preserve-root",
]
ROOTS = [
    "/",
    "//",
    "/.",
    "/./",
    "/*",
    "'/'",
    '"/"',
    "\\/",
    "/tmp/..",
    "/etc/../",
    "$'/'",
    "~",
    "~/",
    "~/*",
    "~/.*",
    "~u",
    "$HOME",
    '"$HOME"',
    "${HOME}",
    "${HOME}/",
    '"${HOME}"/*',
    "~/../u",
    "$HOME/.",
    "/home/u",
    "/home/*",
    "/etc",
    '"/etc"',
    "/etc/*",
    "/e?c",
    "/usr",
    "/usr/bin",
    "/bin",
    "/lib",
    "/var",
    "/boot",
    "/opt",
    "/root",
    "/srv",
    "..",
    "../",
    "../..",
    "$PWD/..",
    "./..",
    "build/../..",
    "/{etc,usr}",
    "/[eu]*",
    "$(echo /)",
    "`echo /`",
    "${X:-/}",
]
WRAPPERS = [
    "sudo",
    "sudo -n",
    "sudo -u root",
    "sudo -E --",
    "doas",
    "env",
    "env -i",
    "env A=1",
    "env -u B",
    "nohup",
    "nice",
    "nice -n 5",
    "ionice -c3",
    "time",
    "time -p",
    "timeout 5",
    "timeout -k 1 5s",
    "stdbuf -oL",
    "command",
    "exec",
    "setsid",
    "busybox",
    "xargs -0",
    "A=1",
    "A=1 B='x y'",
]
CONTEXTS = [
    "{}",
    "{}",
    "ls; {}",
    "true && {}",
    "false || {}",
    "ls | {}",
    "{} | cat",
    "sleep 1 & {}",
    "{} &",
    "({})",
    "{{ {}; }}",
    "if true; then {}; fi",
    "for i in 1 2; do {}; done",
    "while true; do {}; done",
    "case x in *) {};; esac",
    "! {}",
    "echo $({})",
    "echo `{}`",
    'echo "$({})"',
    "cat <({})",
    "f() {{ {}; }}; f",
    "X=$({})",
    "{} > /dev/null 2>&1",
    "2>/dev/null {}",
    "ls\n{}",
    "cd . && {} && ls",
    "{} # clean",
    "git status; {}; git log",
]
DISKS = [
    "dd if=/dev/zero of=/dev/sda",
    "dd of=/dev/nvme0n1 if=x",
    "mkfs.ext4 /dev/sda1",
    "mkfs -t xfs /dev/vdb",
    "wipefs -a /dev/sda",
    "shred /dev/sdb",
    "cat x > /dev/sda",
    "shutdown -h now",
    "reboot",
    "poweroff",
    "init 0",
    "systemctl reboot",
]


def main() -> None:
    """Write the corpus."""
    CORPUS.write_text(text(), encoding="utf-8")


def text() -> str:
    """The corpus as it is stored."""
    groups = {
        "cwd": CWD,
        "home": HOME,
        "bypasses": bypasses(),
        "spellings": spellings(),
        "harmless": harmless(),
    }
    return json.dumps(groups, indent=1) + "\n"


def bypasses() -> list[dict[str, str]]:
    lines = [("deny", line) for line in DENIED.split("\n")] + [("ask", line) for line in ASKED.split("\n")]
    return entries(lines + [one for one in MORE if one[0] != "pass"])


def harmless() -> list[dict[str, str]]:
    return entries(
        [("pass", line) for line in PASSED.split("\n")] + [one for one in MORE if one[0] == "pass"]
    )


def spellings() -> list[dict[str, str]]:
    """Commands that all mean the same loss, spelled and placed differently."""
    draw = random.Random(SEED)
    lines: dict[str, None] = {}
    while len(lines) < SPELLINGS:
        lines[spelling(draw)] = None
    return entries([("deny", line) for line in lines])


def spelling(draw: random.Random) -> str:
    """One such command."""
    blank = draw.choice([" ", " ", "  ", "\t", " \\\n"])
    if draw.random() < 0.15:
        command = draw.choice(DISKS)
    else:
        words = [draw.choice(PROGRAMS), draw.choice(FLAGS), draw.choice(ROOTS)]
        if words[1][-2:] != "--" and draw.random() < 0.2:
            words[1:] = [words[2], words[1]]
        command = blank.join(words)
    wrappers = draw.choices(WRAPPERS, k=draw.choice([0, 0, 1, 1, 2, 3]))
    assigned = [word for word in wrappers if word.startswith("A=")][:1]
    command = " ".join([*assigned, *(word for word in wrappers if not word.startswith("A=")), command])
    context = draw.choice(CONTEXTS)
    if "`" in context and ("`" in command or "\\" in command):
        context = "{}"
    return context.format(command)


def entries(lines: list[tuple[str, str]]) -> list[dict[str, str]]:
    """`lines` as they are stored, each once."""
    unique = {line: decision for decision, line in lines if line}
    return [{"decision": decision, "line": line} for line, decision in unique.items()]


if __name__ == "__main__":
    main()
