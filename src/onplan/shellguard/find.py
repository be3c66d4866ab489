"""What a `find` command reaches, removes and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onplan.shellguard.marks import SOME, STAR, active, is_known
from onplan.shellguard.verdict import Argv

_BY_NAME = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-lname"})
_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_BEFORE = frozenset({"-H", "-L", "-P", "-O0", "-O1", "-O2", "-O3", "-E", "-X", "-d", "-s", "-x"})


@dataclass(frozen=True, slots=True)
class Find:
    """A `find` command taken apart. `names`: the last components that it looks for, if it looks for any."""

    roots: tuple[str, ...]
    names: tuple[str, ...]
    below: bool
    """Whether the roots themselves are left out."""
    deletes: bool
    runs: tuple[tuple[str, ...], ...]
    writes: tuple[str, ...]

    def reached(self) -> list[str]:
        """The paths that it finds."""
        if self.names:
            return [f"{root}/{SOME}/{name}" for root in self.roots for name in self.names]
        paths = [f"{root}/{STAR}" for root in self.roots]
        return paths if self.below else [*self.roots, *paths]

    def commands(self) -> list[Argv]:
        """The commands that it runs, once for each path that it finds."""
        return [
            Argv(tuple(word.replace("{}", path) for word in words))
            for words in self.runs
            for path in self.reached()
        ]


def roots_of(args: Sequence[str]) -> Find:
    """`args` of `find` read from left to right."""
    rest = list(args)
    while rest and (rest[0] in _BEFORE or rest[0] == "-D"):
        del rest[: 2 if rest[0] == "-D" else 1]
    start = next((i for i, word in enumerate(rest) if word[:1] in ("-", "(", "!")), len(rest))
    roots, tests = rest[:start] or ["."], rest[start:]
    negated = any(word in ("!", "-not", "-o", "-or", ",") for word in tests)
    names: list[str] = []
    runs: list[tuple[str, ...]] = []
    writes: list[str] = []
    below = False
    index = 0
    while index < len(tests):
        word, value = tests[index], "".join(tests[index + 1 : index + 2])
        index += 1
        if word in _BY_NAME:
            names.append(_name(word, value))
            index += 1
        elif word == "-mindepth" or (word == "-type" and value in ("f", "l")):
            below = below or value != "0"
            index += 1
        elif word in _WRITES:
            writes.append(value)
            index += 1
        elif word in _RUNS:
            end = next((i for i in range(index, len(tests)) if _ends(tests, i)), len(tests))
            runs.append(tuple(tests[index:end]))
            index = end + 1
    only = [] if negated and not _is_choice(tests) else names
    # Nothing is lost with an empty file or directory.
    deletes = "-delete" in tests and ("-empty" not in tests or negated)
    return Find(tuple(roots), tuple(only), below, deletes, tuple(runs), tuple(writes))


def _is_choice(tests: Sequence[str]) -> bool:
    """Whether each side of every `-o` names what it looks for, and nothing is negated."""
    if any(word in ("!", "-not", ",") for word in tests):
        return False
    sides: list[list[str]] = [[]]
    for word in tests:
        if word in ("-o", "-or"):
            sides.append([])
        sides[-1].append(word)
    return all(any(word in _BY_NAME for word in side) for side in sides)


def _name(test: str, value: str) -> str:
    if "regex" in test:
        return SOME
    name = active(value.rstrip("/").rpartition("/")[2])
    return name if is_known(name) and name else STAR


def _ends(tests: Sequence[str], index: int) -> bool:
    return tests[index] == ";" or (tests[index] == "+" and tests[index - 1].endswith("{}"))
