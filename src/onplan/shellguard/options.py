"""The words after a program as a set of flags and a list of operands; knows no program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """`flags`: `-r`, `--force`; clusters divided, values taken off. `values`: flags with their values."""

    flags: frozenset[str]
    operands: tuple[str, ...]
    values: tuple[tuple[str, str], ...]

    def has(self, *names: str) -> bool:
        """Whether any of `names` is set: a letter, or a long name that may be shortened as GNU allows."""
        return any(
            f"-{name}" in self.flags
            if len(name) == 1
            else any(len(flag) > 2 and f"--{name}".startswith(flag) for flag in self.flags)
            for name in names
        )

    def value(self, *names: str) -> str | None:
        """The last value given to any of `names`."""
        wanted = {f"-{name}" if len(name) == 1 else f"--{name}" for name in names}
        found = [text for flag, text in self.values if flag in wanted]
        return found[-1] if found else None


def options(args: Sequence[str], letters: str = "", names: Iterable[str] = ()) -> Options:
    """`args` read as GNU programs read them: flags anywhere, `--` ends them.

    `letters` and `names` are the flags that take a value.
    """
    long = {f"--{name}" for name in names}
    flags: set[str] = set()
    operands: list[str] = []
    values: list[tuple[str, str]] = []
    index = 0
    while index < len(args):
        word = args[index]
        index += 1
        if word == "--":
            operands.extend(args[index:])
            break
        if word.startswith("--"):
            flag, equals, text = word.partition("=")
            flags.add(flag)
            if not equals and flag in long and index < len(args):
                text = args[index]
                index += 1
            values.append((flag, text))
            continue
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        for position, letter in enumerate(word[1:], 2):
            flags.add(f"-{letter}")
            if letter not in letters:
                continue
            text = word[position:]
            if not text and index < len(args):
                text = args[index]
                index += 1
            values.append((f"-{letter}", text))
            break
    return Options(frozenset(flags), tuple(operands), tuple(values))
