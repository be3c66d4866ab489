"""One command to its outcomes: a wrapper's inner command, or what the program itself would do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from onplan.shellguard.effects import CODE_VARIABLES
from onplan.shellguard.interpreters import Judge
from onplan.shellguard.marks import STREAM, is_known, is_pattern, plain, shown
from onplan.shellguard.programs import check
from onplan.shellguard.verdict import Code, Finding, Outcome, Place
from onplan.shellguard.wrappers import unwrapped

_LOADS = re.compile(r"LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|ENV")


def judged(name: str, args: tuple[str, ...], place: Place, passes: Judge) -> Sequence[Outcome]:
    """The outcomes of program `name`, given without its directory."""
    inner = unwrapped(name, args, place)
    return check(name, args, place, passes) if inner is None else inner


def odd_program(word: str) -> str | None:
    """Why it cannot be told which program `word` names; None if it can."""
    if not is_known(word) or word.startswith(STREAM):
        return f"which program `{shown(word)[:80]}` is, is not known before it runs; write its name out"
    if is_pattern(word):
        return f"the program's name `{shown(word)[:80]}` is a pattern; write it out"
    name = plain(word)
    if not name.isascii() or not name.isprintable():
        return f"the program's name `{shown(word)[:80]}` holds characters that may look like others"
    return None


def assigned_outcomes(name: str, value: str) -> Sequence[Outcome]:
    """The outcomes of giving variable `name` a value that other programs read as code."""
    if not value or not is_known(value):
        return ()
    if name in CODE_VARIABLES:
        return (Code(plain(value)),)
    if _LOADS.fullmatch(name):
        return (Finding("ask", f"`{name}` loads code into the programs that follow"),)
    return ()
