"""Rules that are offered for a call: each of them allows it, and no more of its kind than can be seen."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from onplan.errors import ConfigError
from onplan.messages import Call
from onplan.rules import PATH_TOOLS, Place, matches, parse_rules

_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")
_PROGRAM = re.compile(r"[A-Za-z0-9][\w.+-]*")
_RUNS_ANYTHING = frozenset(
    (
        *("sh", "bash", "zsh", "dash", "fish", "ksh", "env", "sudo", "doas", "su", "exec", "eval", "command"),
        *("xargs", "parallel", "nohup", "time", "timeout", "nice", "watch", "npx", "uvx", "make", "find"),
        *("python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "lua", "awk", "gawk", "sed"),
        *("ssh", "scp", "rsync", "docker", "podman", "kubectl", "curl", "wget", "nc", "tee"),
        *("rm", "rmdir", "mv", "cp", "dd", "ln", "install", "chmod", "chown", "kill"),
    )
)
"""Programs of which no family of calls is offered: what they do is in their arguments, or stays done."""

_OFFERED = 3


def suggested_rules(call: Call, root: Path) -> tuple[str, ...]:
    """Rules that would allow this call, the narrowest family first, then the call itself, then the tool.

    Each was tried on the call. For a line of bash of several commands there may be none.
    """
    sent = call.arguments
    arguments = cast("Mapping[str, Any]", sent) if isinstance(sent, dict) else {}
    place = Place(Path(os.path.realpath(root)), Path(os.path.realpath(Path.home())))
    found: list[str] = []
    for candidate in _candidates(call.name, arguments):
        if candidate not in found and _allows(candidate, call.name, arguments, place):
            found.append(candidate)
    return tuple(found[:_OFFERED])


def _candidates(name: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    match name, arguments:
        case "bash", {"command": str(command)}:
            yield from (f"bash({pattern})" for pattern in _line_patterns(command))
        case _, {"path": str(path)} if name in PATH_TOOLS:
            yield from (f"{name}({pattern})" for pattern in _path_patterns(path))
            yield name
        case "web_fetch", {"url": str(url)}:
            yield from (f"web_fetch(domain:{host})" for host in (_host(url),) if host)
        case _:
            yield name


def _line_patterns(command: str) -> Iterator[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        return
    if words and _PROGRAM.fullmatch(words[0]) and words[0] not in _RUNS_ANYTHING:
        if len(words) > 1 and _SUBCOMMAND.fullmatch(words[1]):
            yield f"{words[0]} {words[1]}:*"
        else:
            yield f"{words[0]}:*"
    if command.strip() and "*" not in command:  # in a rule it stands for any text
        yield command.strip()


def _path_patterns(path: str) -> Iterator[str]:
    if re.search(r"[\\*?\[\]!#]", path) or path.startswith(("/", "~", "..")):
        return
    plain = os.path.normpath(path)
    folder = os.path.dirname(plain)
    if folder:
        yield f"./{folder}/**"
    yield f"./{plain}"


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _allows(text: str, name: str, arguments: Mapping[str, Any], place: Place) -> bool:
    try:
        rules = parse_rules(text, "allow", "session")
    except ConfigError:
        return False
    if name == "bash" and rules[0].pattern:
        from onplan.shellguard import Rule as LineRule
        from onplan.shellguard import judge

        line = str(arguments.get("command", ""))
        own = (LineRule("allow", rules[0].pattern),)
        return judge(line, cwd=str(place.root), home=str(place.home), rules=own).allowed
    return any(matches(rule, name, arguments, place) for rule in rules)
