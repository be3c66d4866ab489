"""A person's rules against the commands of a line; knows nothing of what commands do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from onplan.shellguard.git import subcommand
from onplan.shellguard.marks import plain, shown
from onplan.shellguard.options import options
from onplan.shellguard.paths import is_directory_of_programs
from onplan.shellguard.verdict import Rule, Span

_LONG = {"recursive": "r", "force": "f", "interactive": "i", "delete": "d", "all": "a", "message": "m"}
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class Entry:
    """One command of a line, as rules see it.

    `clear`: a wrapper that does nothing of its own. `outer`: the entry of the wrapper that runs this one.
    """

    words: tuple[str, ...]
    raw: str
    span: Span
    clear: bool = False
    outer: int | None = None

    @cached_property
    def text(self) -> str:
        """The words with one blank between them."""
        return " ".join(map(shown, self.words))

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The spellings that an allow rule may match: a program elsewhere is not the one that it names."""
        found = [_BLANKS.sub(" ", self.raw).strip()] if self.outer is None else []
        directory, slash, name = plain(self.words[0]).rpartition("/")
        found.append(self.text)
        if slash and is_directory_of_programs(directory):
            found.append(" ".join((name, *map(shown, self.words[1:]))))
        return tuple(found)

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """The spellings that a deny or ask rule may match."""
        words = self.normal
        found = [*self.written, " ".join(words)]
        if words[0] == "git":
            found.append(" ".join(("git", *subcommand(words[1:])[1])))
        return tuple(found)

    @cached_property
    def normal(self) -> tuple[str, ...]:
        """The words, the program without its directory."""
        return (shown(self.words[0]).rpartition("/")[2], *map(shown, self.words[1:]))


def forbids(rule: Rule, entry: Entry) -> bool:
    """Whether a deny or ask rule speaks of `entry`, in any order and spelling of the flags."""
    return any(matches(rule.pattern, text) for text in entry.spellings) or _means(rule.pattern, entry)


def covered(index: int, entries: Sequence[Entry], rules: Sequence[Rule]) -> bool:
    """Whether an allow rule speaks of the entry at `index`, of a wrapper before it, or of what it wraps."""
    entry = entries[index]
    if _allows(entry, rules):
        return True
    if entry.clear and any(other.outer == index for other in entries[index + 1 :]):
        return True
    return entry.outer is not None and _allows(entries[entry.outer], rules)


def touched(entries: Sequence[Entry], rules: Sequence[Rule]) -> bool:
    """Whether an allow rule speaks of any entry."""
    return any(_allows(entry, rules) for entry in entries)


def matches(pattern: str, text: str) -> bool:
    """Whether `text` is what `pattern` describes: `*` is any text, `words:*` and `words *` may end there."""
    pattern = pattern.strip()
    if pattern.endswith(":*"):
        words = pattern[:-2].rstrip()
        return text == words or text.startswith(f"{words} ")
    if pattern.endswith(" *") and text == pattern[:-2].rstrip():
        return True
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    if not text.startswith(first):
        return False
    position = len(first)
    for piece in rest[:-1]:
        position = text.find(piece, position)
        if position < 0:
            return False
        position += len(piece)
    return text.endswith(rest[-1]) and len(text) - len(rest[-1]) >= position


def _allows(entry: Entry, rules: Sequence[Rule]) -> bool:
    return any(matches(rule.pattern, text) for rule in rules for text in entry.written)


def _means(pattern: str, entry: Entry) -> bool:
    """Whether `entry` has the program, the flags and the first operands of a pattern that has flags."""
    wanted = pattern.replace(":*", " *").split()
    if len(wanted) < 2 or not any(word.startswith("-") and len(word) > 1 for word in wanted[1:]):
        return False
    words = entry.normal
    if words[0] == "git":
        words = ("git", *subcommand(words[1:])[1])
    if not words or not matches(wanted[0], words[0]):
        return False
    flags, operands = _flags_and_operands(wanted[1:])
    has, named = _flags_and_operands(words[1:])
    if not flags <= has:
        return False
    while operands and operands[-1] == "*":
        operands = operands[:-1]
    return len(operands) <= len(named) and all(map(matches, operands, named))


def _flags_and_operands(words: Sequence[str]) -> tuple[set[str], tuple[str, ...]]:
    found = options([word.rstrip("*") if word.startswith("-") else word for word in words])
    flags = {f"-{_LONG[flag[2:]]}" if flag[2:] in _LONG else flag for flag in found.flags}
    return flags, found.operands
