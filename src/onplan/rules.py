"""A person's rules for tool calls: read from text, matched and combined; knows no files, hooks or shells."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from onplan.errors import ConfigError

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Source: TypeAlias = Literal["user", "project", "session", "flag"]

PLAN_TOOLS = ("write_todos", "todo_write", "todo", "TodoWrite", "update_plan")
_SEARCHING = ("glob", "grep")
_READING = ("read_file", *_SEARCHING)

CLAUDE_TOOLS: Mapping[str, tuple[str, ...]] = {
    "Bash": ("bash",),
    "Edit": ("edit_file", "write_file"),
    "MultiEdit": ("edit_file",),
    "Write": ("write_file",),
    "Read": _READING,
    "Glob": ("glob",),
    "Grep": ("grep",),
    "LS": ("glob",),
    "WebFetch": ("web_fetch",),
    "WebSearch": ("web_search",),
    "TodoWrite": PLAN_TOOLS,
    "TodoRead": ("read_todos",),
    "Task": ("task",),
    "Agent": ("task",),
    "AskUserQuestion": ("ask_user",),
}
"""The tools that a rule in Claude Code's words means. Its `Edit` and `Read` speak for every tool that
edits or reads files."""

PATH_TOOLS = ("read_file", "write_file", "edit_file", "glob", "grep")
_SHAPE = re.compile(r"\s*([A-Za-z_*][\w.*-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
STRICTNESS: Mapping[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}


class Rule(msgspec.Struct, frozen=True):
    """What to do with calls of `tool` that `pattern` matches; an empty pattern matches every call.

    `tool` may hold `*`, and `mcp__server` stands for all tools of that server.
    """

    verdict: Verdict
    tool: str
    pattern: str = ""
    source: Source = "user"

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool

    @property
    def told(self) -> str:
        """The rule for people and the audit: `deny bash(git push:*) (user)`."""
        return f"{self.verdict} {self} ({self.source})"


class Place(msgspec.Struct, frozen=True):
    """Where patterns of paths start: the workspace, and the person's home (both real paths)."""

    root: Path
    home: Path


class Ruling(msgspec.Struct, frozen=True):
    """What the rules come to for one call, and the rule that decided."""

    verdict: Verdict
    rule: Rule


def parse_rules(text: str, verdict: Verdict, source: Source = "user") -> tuple[Rule, ...]:
    """The rules that one entry of a settings file means; several where a name of Claude Code covers several.

    Raises `ConfigError`, one line, for text that is no rule and for patterns that nothing could match.
    """
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise ConfigError(f"{text[:80]!r} is no rule: write a tool, or tool(pattern), as in bash(git diff:*)")
    name, pattern = shape[1], (shape[2] or "").strip()
    if name == "Bash":
        pattern = _claude_words(pattern)
    pattern = "" if pattern in ("*", "**", ":*") else pattern
    rules = tuple(Rule(verdict, tool, pattern, source) for tool in CLAUDE_TOOLS.get(name, (name,)))
    for rule in rules:
        _check(rule)
    return rules


def _claude_words(pattern: str) -> str:
    """`npm *` there means the word, then anything or nothing; that is `npm:*` here."""
    return f"{pattern[:-2]}:*" if pattern.endswith(" *") and pattern.count("*") == 1 else pattern


def _check(rule: Rule) -> None:
    if not rule.pattern:
        return
    if "\0" in rule.pattern or "\n" in rule.pattern:
        raise ConfigError(f"{str(rule)[:80]!r}: a pattern is one line of text")
    if rule.tool in PATH_TOOLS and rule.pattern.startswith("!"):
        raise ConfigError(f"{str(rule)[:80]!r}: a pattern cannot begin with `!`; write an own rule instead")
    if rule.tool == "web_fetch" and not rule.pattern.startswith("domain:"):
        raise ConfigError(f"{str(rule)[:80]!r}: the pattern of web_fetch is domain:NAME")
    if rule.tool not in ("bash", "web_fetch", "task", *PATH_TOOLS):
        raise ConfigError(f"{str(rule)[:80]!r}: {rule.tool} takes no pattern, only bash and file tools do")


# --- matching ---------------------------------------------------------------------------------------


def matches(rule: Rule, tool: str, arguments: Mapping[str, Any], place: Place) -> bool:
    """Whether a rule speaks of this call. Patterns of bash are the shell guard's to match: never here."""
    if not _names(rule.tool, tool):
        return False
    if not rule.pattern:
        return True
    if rule.tool in PATH_TOOLS:
        return _matches_path(rule, arguments.get("path", "."), place)
    if rule.tool == "web_fetch":
        return _matches_domain(rule.pattern.removeprefix("domain:"), arguments.get("url"))
    if rule.tool == "task":
        return fnmatchcase(str(arguments.get("agent", "")), rule.pattern)
    return False


def _names(pattern: str, tool: str) -> bool:
    if pattern == tool:
        return True
    if "*" in pattern:
        return fnmatchcase(tool, pattern)
    return pattern.startswith("mcp__") and pattern.count("__") == 1 and tool.startswith(f"{pattern}__")


def _matches_path(rule: Rule, path: object, place: Place) -> bool:
    """A denial or a question needs the path as named or the real one to match, a permission both."""
    if not isinstance(path, str) or "\0" in path:
        return rule.verdict != "allow"
    start = os.path.expanduser(path) if path == "~" or path.startswith("~/") else path
    named = os.path.normpath(place.root / start)
    try:
        real = os.path.realpath(place.root / start)
    except (OSError, ValueError):
        return rule.verdict != "allow"
    # A search is of what lies below its directory: `src/**` speaks of a search in `src`.
    below = ("\ufffd",) if rule.tool in _SEARCHING else ()
    hits = [_hits(rule.pattern, Path(candidate, *below), place) for candidate in (named, real)]
    return all(hits) if rule.verdict == "allow" else any(hits)


def _hits(pattern: str, path: Path, place: Place) -> bool:
    base, rest = _anchored(pattern, place)
    if not path.is_relative_to(base):
        return False
    from pathspec import GitIgnoreSpec

    inner = path.relative_to(base).as_posix()
    return GitIgnoreSpec.from_lines([rest]).match_file(inner)


def _anchored(pattern: str, place: Place) -> tuple[Path, str]:
    """Where a pattern starts and what is left of it: `//abs`, `~/home`, else the workspace."""
    if pattern.startswith("//"):
        return Path("/"), pattern[1:]
    if pattern == "~" or pattern.startswith("~/"):
        return place.home, pattern[1:] or "/**"
    pattern = f"/{pattern[2:]}" if pattern.startswith("./") else pattern
    return place.root, f"\\{pattern}" if pattern.startswith("#") else pattern


def _matches_domain(domain: str, url: object) -> bool:
    if not isinstance(url, str):
        return False
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    return fnmatchcase(host.casefold(), domain.strip().casefold())


# --- combining --------------------------------------------------------------------------------------


def combined(rules: Iterable[Rule]) -> Ruling | None:
    """What rules that all match come to: the most restrictive; `None` for no rule.

    A denial is never overridden. A question is, by a rule with a pattern that the person gave for this
    session or run; what a file says is not overridden by a file.
    """
    matching = tuple(rules)
    asks = [rule for rule in matching if rule.verdict == "ask"]
    allows = [rule for rule in matching if rule.verdict == "allow"]
    left = [rule for rule in matching if rule.verdict != "ask"]
    left += [ask for ask in asks if not any(_overrides(allow, ask) for allow in allows)]
    if not left:
        return None
    decides = max(left, key=lambda rule: STRICTNESS[rule.verdict])
    return Ruling(decides.verdict, decides)


def _overrides(allow: Rule, ask: Rule) -> bool:
    return is_of_the_moment(allow) and not is_of_the_moment(ask) and bool(allow.pattern or not ask.pattern)


def is_of_the_moment(rule: Rule) -> bool:
    """Whether the person gave the rule for this session or run, and not in a file."""
    return rule.source in ("session", "flag")


def ruling(rules: Sequence[Rule], tool: str, arguments: Mapping[str, Any], place: Place) -> Ruling | None:
    """What the rules say of a call; the patterns of bash left out, which the shell guard matches."""
    return combined(rule for rule in rules if matches(rule, tool, arguments, place))


def tightening(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules that can only refuse or ask: all that counts of what nobody has trusted."""
    return tuple(rule for rule in rules if rule.verdict != "allow")
