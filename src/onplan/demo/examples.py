"""Finds an example in the docstrings of a package that runs as it stands. Runs none of them."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence

from onplan.demo.offers import Offer, Project
from onplan.demo.source import parse

_MAX_EXAMPLE_LINES = 10
_PROMPTS = (">>>", "...")


def find_example(offers: Sequence[Offer], project: Project) -> str:
    """The first example of a docstring that runs as it stands once its names are imported."""
    importable = {offer.name: offer.origin for offer in reversed(offers)}
    namesakes_first = sorted(offers, key=lambda offer: not is_namesake(offer, project))
    docs = [project.own.doc, *(offer.definition.doc for offer in namesakes_first)]
    sessions = [session for doc in docs for session in _sessions(doc)]
    for lines in sorted(sessions, key=_shows_little):
        missing = _missing_names(lines)
        if missing is None or not missing <= importable.keys():
            continue
        imports = [f">>> from {importable[name]} import {name}" for name in sorted(missing)]
        if imports or _imports(lines, project.target.name):
            return "\n".join((*imports, *lines))
    return ""


def _sessions(doc: str) -> Iterator[list[str]]:
    """The paragraphs of a docstring that begin with a prompt and show a result."""
    for paragraph in re.split(r"\n\s*\n", doc):
        lines = paragraph.splitlines()
        at = next((at for at, line in enumerate(lines) if line.lstrip().startswith(">>> ")), None)
        if at is None:
            continue
        indent = len(lines[at]) - len(lines[at].lstrip())
        session = [line[indent:].rstrip() for line in lines[at:]]
        shown = any(line and line[:3] not in _PROMPTS for line in session)
        awkward = re.search(r"doctest:|Traceback|;\s|<\w+ ", paragraph)
        if shown and not awkward and len(session) <= _MAX_EXAMPLE_LINES:
            yield session


def _shows_little(session: Sequence[str]) -> bool:
    return not any(
        line and line not in ("True", "False", "None") for line in session if line[:3] not in _PROMPTS
    )


def _statements(lines: Sequence[str]) -> ast.Module | None:
    return parse("\n".join(line[4:] for line in lines if line.startswith((">>> ", "... ", "..."))))


def _missing_names(lines: Sequence[str]) -> set[str] | None:
    """The names that an example uses and does not define itself; `None` if it cannot be read."""
    tree = _statements(lines)
    if tree is None:
        return None
    used: set[str] = set()
    made: set[str] = set(dir(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                made.add(name)
            case ast.alias(name=name, asname=asname):
                made.add(asname or name.partition(".")[0])
            case _:
                pass
    return used - made


def _imports(lines: Sequence[str], package: str) -> bool:
    return any(re.match(rf">>> (import|from) {re.escape(package)}\b", line) for line in lines)


def is_namesake(offer: Offer, project: Project) -> bool:
    return offer.name == project.target.name.rpartition(".")[2]
