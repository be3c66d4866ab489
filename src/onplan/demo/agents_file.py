"""Writes the AGENTS.md of a project from what was found in it. Says nothing that the files do not show."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, cast

from onplan.demo.offers import Project
from onplan.demo.readme import head, needs, sentence, test_command, test_runner, test_setup

_CHECKERS = (
    ("ruff", "ruff check ."),
    ("black", "black --check ."),
    ("isort", "isort --check ."),
    ("mypy", "mypy ."),
    ("pyright", "pyright"),
)
"""Tools that a pyproject.toml may have settings for, and how they are run."""

_MOST = 16


def render_agents_file(project: Project) -> str:
    sections = (head(project), _layout(project), _commands(project), _conventions(project))
    return "\n\n".join(section for section in sections if section) + "\n"


def _layout(project: Project) -> str:
    lines = [*_modules(project)]
    if len(lines) > _MOST + 1:
        lines = [*lines[:_MOST], f"- and {len(lines) - _MOST} more modules"]
    tests = project.layout.tests
    if tests:
        where = project.layout.test_folder
        count = f"{len(tests)} file{'' if len(tests) == 1 else 's'}"
        lines.append(f"- `{where}/`: the tests, {count}" if where else f"- `{tests[0]}`: tests")
    return "\n".join(("## Layout", "", *lines)) if lines else ""


def _modules(project: Project) -> Iterator[str]:
    for name, path in project.target.files.items():
        source = project.sources.get(name)
        said = f": {sentence(source.summary)}" if source and source.summary else ""
        yield f"- `{path}`{said}"


def _commands(project: Project) -> str:
    tests, _ = test_command(project, project.layout.tests) if project.layout.tests else ("", "")
    lines = [*test_setup(project.metadata), *([tests] if tests else []), *_checks(project)]
    block = "```sh\n" + "\n".join(lines) + "\n```" if lines else ""
    parts = [part for part in (block, test_runner(project)) if part]
    return "\n\n".join(("## Commands", *parts)) if parts else ""


def _checks(project: Project) -> list[str]:
    configured = _tools(project)
    return [command for name, command in _CHECKERS if name in configured]


def _tools(project: Project) -> Sequence[str]:
    """The names below `[tool]` in pyproject.toml."""
    text = project.texts.get("pyproject.toml", "")
    try:
        found: Any = tomllib.loads(text).get("tool")
    except tomllib.TOMLDecodeError:
        return re.findall(r"^\[tool\.([\w-]+)", text, re.M)
    return [*cast("dict[str, Any]", found)] if isinstance(found, dict) else []


def _conventions(project: Project) -> str:
    lines: list[str] = []
    if said := needs(project.metadata):
        lines.append(f"- {said}")
    if "ruff" in _tools(project) or "black" in _tools(project):
        lines.append("- Formatting and lint rules are in `pyproject.toml`.")
    for name in ("contributing", "changelog", "changes"):
        if path := project.layout.first(name):
            what = "how to contribute" if name == "contributing" else "what has changed: add to it"
            lines.append(f"- `{path}`: {what}.")
    return "\n".join(("## To know", "", *lines)) if lines else ""
