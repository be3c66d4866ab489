"""What a project says about itself in pyproject.toml, setup.cfg or setup.py. Nothing is ever run."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from onplan.demo.source import parse


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the files say; empty where they say nothing. `dependencies` is `None` where it is not known.

    `scripts` and `urls` are pairs: command and target, label and address.
    """

    name: str = ""
    description: str = ""
    python: str = ""
    dependencies: tuple[str, ...] | None = None
    scripts: tuple[tuple[str, str], ...] = ()
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    license: str = ""
    urls: tuple[tuple[str, str], ...] = ()


def read_metadata(files: Mapping[str, str]) -> Metadata:
    """Merge the manifests in `files` (name to text); what the newer format says goes first."""
    readers: dict[str, Callable[[str], Metadata]] = {
        "pyproject.toml": _from_pyproject,
        "setup.cfg": _from_setup_cfg,
        "setup.py": _from_setup_py,
    }
    found = [reader(files[name]) for name, reader in readers.items() if files.get(name)]
    merged: dict[str, Any] = {}
    for item in fields(Metadata):
        values = [getattr(metadata, item.name) for metadata in found]
        # No dependencies at all is a fact too; of the rest an empty value says nothing.
        said = [value for value in values if value or (item.name == "dependencies" and value is not None)]
        merged[item.name] = said[0] if said else item.default
    return Metadata(**merged)


def _from_pyproject(text: str) -> Metadata:
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return _by_pattern(text)
    project, poetry = _table(whole.get("project")), _table(_table(whole.get("tool")).get("poetry"))
    flit = _table(_table(_table(whole.get("tool")).get("flit")).get("metadata"))
    groups = tuple(_table(whole.get("dependency-groups")))
    return _from_project(project, groups) if project else _from_poetry(poetry) if poetry else _from_flit(flit)


def _from_project(project: dict[str, Any], groups: tuple[str, ...]) -> Metadata:
    dynamic = _texts(project.get("dynamic"))
    unknown = "dependencies" in dynamic
    return Metadata(
        name=_text(project.get("name")),
        description=_text(project.get("description")),
        python=_text(project.get("requires-python")),
        dependencies=None if unknown else _texts(project.get("dependencies")),
        scripts=_pairs(project.get("scripts")),
        extras=tuple(_table(project.get("optional-dependencies"))),
        groups=groups,
        license=_license(project.get("license"), _texts(project.get("classifiers"))),
        urls=_pairs(project.get("urls")),
    )


def _from_poetry(poetry: dict[str, Any]) -> Metadata:
    needs = _table(poetry.get("dependencies"))
    return Metadata(
        name=_text(poetry.get("name")),
        description=_text(poetry.get("description")),
        python=_text(needs.get("python")),
        dependencies=tuple(name for name in needs if name != "python"),
        scripts=_pairs(poetry.get("scripts")),
        extras=tuple(_table(poetry.get("extras"))),
        license=_license(poetry.get("license"), _texts(poetry.get("classifiers"))),
        urls=tuple(
            (key.title(), url) for key in ("homepage", "documentation") if (url := _text(poetry.get(key)))
        ),
    )


def _from_flit(flit: dict[str, Any]) -> Metadata:
    return Metadata(
        name=_text(flit.get("dist-name")) or _text(flit.get("module")),
        python=_text(flit.get("requires-python")),
        license=_license(flit.get("license"), _texts(flit.get("classifiers"))),
    )


def _by_pattern(text: str) -> Metadata:
    """The two facts that matter most, of a file that is cut or broken."""
    found = dict(re.findall(r'^(name|description)\s*=\s*"([^"\n]*)"', text, re.M))
    return Metadata(name=found.get("name", ""), description=found.get("description", ""))


def _from_setup_cfg(text: str) -> Metadata:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return Metadata()

    def value(section: str, key: str) -> str:
        return parser.get(section, key, fallback="").strip()

    def lines(section: str, key: str) -> tuple[str, ...]:
        return tuple(line.strip() for line in value(section, key).splitlines() if line.strip())

    named = value("metadata", "name")
    needs = lines("options", "install_requires")
    extras = parser.options("options.extras_require") if parser.has_section("options.extras_require") else ()
    return Metadata(
        name="" if named.startswith("attr:") else named,
        description=value("metadata", "description"),
        python=value("options", "python_requires"),
        dependencies=needs if needs and not needs[0].startswith("file:") else None,
        scripts=_entry_points(lines("options.entry_points", "console_scripts")),
        extras=tuple(extras),
        license=_license(value("metadata", "license"), lines("metadata", "classifiers")),
        urls=_entry_points(lines("metadata", "project_urls")),
    )


def _from_setup_py(text: str) -> Metadata:
    tree = parse(text)
    if tree is None:
        return Metadata()
    names = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "setup"]
    if not calls:
        return Metadata()
    given = {word.arg: _literal(word.value, names) for word in calls[0].keywords if word.arg}
    entry_points, needs = _table(given.get("entry_points")), given.get("install_requires")
    return Metadata(
        name=_text(given.get("name")),
        description=_text(given.get("description")),
        python=_text(given.get("python_requires")),
        dependencies=_texts(needs) if isinstance(needs, (list, tuple)) else None,
        scripts=_entry_points(_texts(entry_points.get("console_scripts"))),
        extras=tuple(_table(given.get("extras_require"))),
        license=_license(given.get("license"), _texts(given.get("classifiers"))),
        urls=_pairs(given.get("project_urls")) or _pairs({"Homepage": given.get("url")}),
    )


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _literal(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _license(said: Any, classifiers: tuple[str, ...]) -> str:
    short = _text(_table(said).get("text")) if isinstance(said, dict) else _text(said)
    if short and "\n" not in short and len(short) <= 60 and not short.casefold().startswith("license"):
        return short
    kinds = [line.rpartition("::")[2].strip() for line in classifiers if line.startswith("License ::")]
    return next((kind for kind in kinds if kind != "OSI Approved"), "")


def _entry_points(lines: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    parted = [line.partition("=") for line in lines]
    return tuple((name.strip(), target.strip()) for name, _, target in parted if target.strip())


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple((key, _text(item)) for key, item in _table(value).items() if _text(item))


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(item for item in cast("list[Any]", value) if isinstance(item, str))


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
