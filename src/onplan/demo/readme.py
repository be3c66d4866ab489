"""Writes the README of a project from what was found in it. Says nothing that the files do not show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from onplan.demo.examples import find_example, is_namesake
from onplan.demo.layout import RUNNERS
from onplan.demo.metadata import Metadata
from onplan.demo.offers import Offer, Project, all_offers, errors_last, imported, name_sources, root_offers
from onplan.demo.source import Source

_MAX_NAMES = 12
_MAX_MODULES = 12
_CLI_LIBRARIES = frozenset(("argparse", "click", "typer", "docopt"))
_BEGGING = re.compile(r"fund|donat|sponsor|tidelift|chat|discord|twitter", re.I)
_LICENSES = (
    ("MIT License", r"\bMIT License|Permission is hereby granted, free of charge"),
    ("Apache License 2.0", r"Apache License\s+Version 2\.0"),
    ("Mozilla Public License 2.0", r"Mozilla Public License,? (Version )?2\.0"),
    ("GNU Affero General Public License v3", r"GNU AFFERO GENERAL PUBLIC LICENSE\s+Version 3"),
    ("GNU Lesser General Public License v3", r"GNU LESSER GENERAL PUBLIC LICENSE\s+Version 3"),
    ("GNU General Public License v3", r"GNU GENERAL PUBLIC LICENSE\s+Version 3"),
    ("GNU General Public License v2", r"GNU GENERAL PUBLIC LICENSE\s+Version 2"),
    (
        "BSD 3-Clause License",
        r"BSD 3-Clause|Redistribution and use in source.*(Neither the name|endorse or promote)",
    ),
    ("BSD 2-Clause License", r"BSD 2-Clause|Redistribution and use in source"),
    ("ISC License", r"ISC License"),
)


def render_readme(project: Project) -> str:
    sections = (
        head(project),
        _contents(project),
        _installation(project),
        _usage(project),
        _tests(project),
        _links(project),
        _license(project),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def head(project: Project) -> str:
    described = _capital(project.metadata.description.partition("\n")[0])
    return f"# {project.title}\n\n{sentence(described or project.own.summary)}".strip()


def _capital(text: str) -> str:
    """A capital at the beginning, unless the first word has a spelling of its own."""
    word = re.match(r"[a-z]+(?=[\s,-]|$)", text)
    return text[:1].upper() + text[1:] if word else text


def sentence(text: str) -> str:
    text = text.strip()
    if not text or text[-1] in ".!?。！？…:":
        return text
    return text + ("。" if "\u3040" <= text[-1] <= "\u9fff" else ".")


# --- what is in it ----------------------------------------------------------------------------------


def _contents(project: Project) -> str:
    offers = root_offers(project)
    lines = [_offer_line(offer) for offer in offers]
    read = [project.sources.get(name) for name in name_sources(project)]
    counted = all(source is not None and source.whole for source in read)
    blocks = (
        _list(f"`{project.target.name}` offers:", lines, _MAX_NAMES, counted=counted),
        _modules(project, with_names=not offers),
    )
    told = [block for block in blocks if block]
    return "## What is in it\n\n" + "\n\n".join(told) if told else ""


def _modules(project: Project, *, with_names: bool) -> str:
    target = project.target
    if target.name and not target.is_package:
        return ""
    lines = [line for name in target.public if (line := _module_line(project, name, with_names=with_names))]
    return _list(f"Modules in `{target.folder}`:" if target.is_package else "Modules:", lines, _MAX_MODULES)


def _list(intro: str, lines: Sequence[str], most: int, *, counted: bool = True) -> str:
    """A list, or nothing. One line too many is better than a line that says "and 1 more"."""
    if not lines:
        return ""
    shown = lines if len(lines) <= most + 1 else lines[:most]
    more = [f"- and {_more(len(lines) - most, counted)}"] if len(shown) < len(lines) else []
    return "\n".join((intro, "", *shown, *more))


def _more(count: int, counted: bool) -> str:
    """How many more there are, where all of them have been seen."""
    return f"{count} more" if counted else "more"


def _offer_line(offer: Offer) -> str:
    summary = offer.definition.summary
    line = f"- `{offer.definition.signature}`"
    return f"{line}: {sentence(summary)}" if summary else line


def _module_line(project: Project, name: str, *, with_names: bool) -> str:
    """A line about a module, or nothing where it was read and offers nothing."""
    if name not in project.sources:
        return f"- `{name}`"
    source = project.sources[name]
    found = [item.name for item in errors_last(source.public)] or list(source.exported or ())
    names = [f"`{item}`" for item in found or [taken for taken, _ in imported(project, name)]]
    listed = ", ".join(names[:5])
    if listed and (len(names) > 5 or not source.whole):
        listed += f" and {_more(len(names) - 5, source.whole)}"
    if not source.summary:
        return f"- `{name}`: {listed}" if listed else ""
    return f"- `{name}`: {sentence(source.summary)}" + (f" With {listed}." if listed and with_names else "")


# --- installation and use ---------------------------------------------------------------------------


def _installation(project: Project) -> str:
    blocks: list[str] = []
    if project.metadata.name:
        blocks.append("From a copy of this directory:\n\n" + _code("sh", "python -m pip install ."))
    elif "requirements.txt" in project.layout.root:
        blocks.append(_code("sh", "python -m pip install -r requirements.txt"))
    if said := needs(project.metadata):
        blocks.append(said)
    return "## Installation\n\n" + "\n\n".join(blocks) if blocks else ""


def needs(metadata: Metadata) -> str:
    at_least = re.fullmatch(r">=\s*([\d.]+)", metadata.python)
    python = f"Python {at_least[1]} or newer" if at_least else ""
    if metadata.python and not python:
        python = f"Python `{metadata.python}`"
    others = "" if metadata.dependencies is None else _others(metadata.dependencies)
    both = " and ".join(part for part in (python, others) if part)
    return f"It needs {both}." if both else ""


def _others(dependencies: Sequence[str]) -> str:
    named: dict[str, bool] = {}
    for line in dependencies:
        match = re.match(r"[A-Za-z0-9][\w.-]*", line)
        if match:
            named[match[0]] = named.get(match[0], True) and ";" in line
    if not named:
        return "no other package"
    shown = [f"`{name}`" + (" (on some systems)" if partly else "") for name, partly in named.items()]
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more packages" if len(shown) > 8 else "")


def _usage(project: Project) -> str:
    blocks = [block for block in (_commands(project), _in_python(project)) if block]
    return "## Usage\n\n" + "\n\n".join(blocks) if blocks else ""


def _commands(project: Project) -> str:
    lines = [_command_line(project, name, at) for name, at in project.metadata.scripts[:6]]
    if f"{project.target.folder}/__main__.py" in project.layout.python and project.is_importable:
        lines.append(f"python -m {project.target.name}")
    elif not project.target.is_package:
        lines += [
            f"python -m {name}" if project.metadata.name else f"python {shlex.quote(path)}"
            for name, path in list(project.target.files.items())[:6]
            if project.sources.get(name, Source()).runs
        ]
    return "On the command line:\n\n" + _code("sh", "\n".join(lines)) if lines else ""


def _command_line(project: Project, name: str, target: str) -> str:
    source = project.sources.get(target.partition(":")[0].strip(), Source())
    return f"{name} --help" if source.libraries & _CLI_LIBRARIES else name


def _in_python(project: Project) -> str:
    offers = all_offers(project)
    if not offers or not project.is_importable:
        return ""
    example = find_example(offers, project)
    if example:
        return "In Python:\n\n" + _code("pycon", example)
    if project.own.runs and not project.metadata.name:
        return ""
    origin = offers[0].origin
    useful = [offer for offer in offers if offer.origin == origin and offer.definition.kind != "error"]
    # What is explained at most length is most likely what people come for.
    useful.sort(key=lambda offer: (not is_namesake(offer, project), -len(offer.definition.doc)))
    names = ", ".join(offer.name for offer in useful[:3])
    return "In Python:\n\n" + _code("python", f"from {origin} import {names}") if names else ""


# --- tests, links, license --------------------------------------------------------------------------


def _tests(project: Project) -> str:
    tests = project.layout.tests
    if not tests:
        return ""
    command, kind = test_command(project, tests)
    where = project.layout.test_folder
    blocks = ["## Tests"]
    if command:
        blocks.append(f"The tests in `{where}` run with {kind}:" if where else f"The tests run with {kind}:")
        blocks.append(_code("sh", "\n".join((*test_setup(project.metadata), command))))
    else:
        place = f"`{where}`" if where and len(tests) > 1 else ", ".join(f"`{path}`" for path in tests)
        blocks.append(f"The tests are in {place}.")
    return "\n\n".join(block for block in (*blocks, test_runner(project)) if block)


def test_command(project: Project, tests: Sequence[str]) -> tuple[str, str]:
    """How to run the tests, as far as their first file and the settings show it: command and tool."""
    read = "\n".join(text for path, text in project.texts.items() if path in tests)
    settings = "\n".join(text for path, text in project.texts.items() if path not in tests)
    collected = any(re.search(r"(^|/)test_[^/]*$|_test\.py$", path) for path in tests)
    if collected and re.search(r"\bpytest\b|^(async )?def test_", f"{settings}\n{read}", re.M):
        return "python -m pytest", "pytest"
    if "unittest" not in read:
        return "", ""
    where = project.layout.test_folder
    if not where:
        return "python -m unittest", "unittest"
    # Only a package can be imported from above.
    top = "src" if where.startswith("src/") else "."
    above = f" -t {top}" if f"{where}/__init__.py" in project.layout.python else ""
    return f"python -m unittest discover -s {where}{above}", "unittest"


def test_setup(metadata: Metadata) -> tuple[str, ...]:
    if not metadata.name:
        return ()
    wanted = ("test", "tests", "testing", "dev")
    extra = next((name for name in wanted if name in metadata.extras), "")
    group = next((name for name in wanted if name in metadata.groups), "")
    if extra:
        return (f'python -m pip install -e ".[{extra}]"',)
    return ("python -m pip install -e .", *((f"python -m pip install --group {group}",) if group else ()))


def test_runner(project: Project) -> str:
    commands = {
        "tox.ini": "tox",
        "noxfile.py": "nox",
        "Makefile": "make test" if re.search(r"^test\s*:", project.texts.get("Makefile", ""), re.M) else "",
    }
    found = [f"`{commands[name]}`" for name in project.layout.present(RUNNERS) if commands.get(name)]
    return f"{' and '.join(found)} {'work' if len(found) > 1 else 'works'} too." if found else ""


def _links(project: Project) -> str:
    urls = [(label, url) for label, url in project.metadata.urls if url.startswith("http")]
    wanted = {
        url.rstrip("/"): label for label, url in reversed(urls) if not _BEGGING.search(f"{label} {url}")
    }
    lines = [f"- [{_capital(label)}]({url})" for url, label in reversed(wanted.items())]
    changes = project.layout.first("changelog", "changes", "history", "news")
    if "." in changes:
        lines.append(f"- [What has changed]({changes})")
    return "## Links\n\n" + "\n".join(lines) if lines else ""


def _license(project: Project) -> str:
    path = project.layout.first("license", "licence", "copying")
    if not path:
        return ""
    text = project.texts.get(path, "")
    sniffed = next((name for name, pattern in _LICENSES if re.search(pattern, text, re.I | re.S)), "")
    said = project.metadata.license
    name = sniffed or said if said in ("BSD", "BSD License") else said or sniffed
    return f"## License\n\n{sentence(name)} The text is in [{path}]({path}).".replace("\n\n ", "\n\n")


def _code(language: str, body: str) -> str:
    return f"```{language}\n{body}\n```"
