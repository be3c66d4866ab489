"""What a package offers to import, followed through its modules to where it is defined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from onplan.demo.layout import Layout, Target
from onplan.demo.metadata import Metadata
from onplan.demo.source import Definition, Source


@dataclass(frozen=True, slots=True)
class Project:
    """All that is known. `sources` holds the modules that were read, by import name; `texts` other files
    that were read, by path."""

    metadata: Metadata
    layout: Layout
    target: Target
    sources: Mapping[str, Source]
    texts: Mapping[str, str]

    @property
    def title(self) -> str:
        return self.metadata.name or self.target.name or "Python modules"

    @property
    def is_importable(self) -> bool:
        """Whether what it offers can be imported: once installed, or from the project's directory."""
        names = self.target.files or (self.target.name,)
        if not all(part.isidentifier() for name in names for part in name.split(".")):
            return False
        if self.metadata.name:
            return True
        where = self.target.folder.removesuffix(".py")
        return where in (".", self.target.name.replace(".", "/"))

    @property
    def own(self) -> Source:
        return self.sources.get(self.target.name, Source())


@dataclass(frozen=True, slots=True)
class Offer:
    """A public function or class and the module to import it from."""

    origin: str
    definition: Definition

    @property
    def name(self) -> str:
        return self.definition.name


def root_offers(project: Project) -> list[Offer]:
    """What one can import from the package, or the one module, itself.

    What is explained goes before what is not, exceptions last.
    """
    target = project.target
    if not target.name:
        return []
    found = [(name, _definition(project, target.name, name)) for name in _root_names(project)]
    offers = [Offer(target.name, definition) for _, definition in found if definition]
    return sorted(offers, key=lambda offer: (offer.definition.kind == "error", not offer.definition.summary))


def _root_names(project: Project) -> list[str]:
    own = project.own
    if own.exported is not None:
        return list(dict.fromkeys(own.exported))
    taken = [name for name, _ in imported(project, project.target.name)]
    names = [*taken, *(item.name for item in own.public)]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


def imported(project: Project, module: str) -> Iterator[tuple[str, str]]:
    """What a module takes from others of the package: (name, module), `*` spelled out."""
    for name, written in project.sources.get(module, Source()).imported:
        origin = _resolve(project.target, module, written)
        if origin == module or not (
            origin == project.target.name or origin.startswith(f"{project.target.name}.")
        ):
            continue
        if name != "*":
            yield name, origin
            continue
        source = project.sources.get(origin, Source())
        for star in source.exported or [item.name for item in source.public]:
            yield star, origin


def _resolve(target: Target, module: str, written: str) -> str:
    if not written.startswith("."):
        return written
    dots = len(written) - len(written.lstrip("."))
    is_folder = target.files.get(module, "").endswith("__init__.py")
    parts = module.split(".")
    base = parts[: len(parts) - dots + is_folder]
    return ".".join((*base, written[dots:])).strip(".")


def _definition(project: Project, module: str, name: str, depth: int = 4) -> Definition | None:
    found = project.sources.get(module, Source()).find(name)
    if found or not depth:
        return found
    for taken, origin in imported(project, module):
        if taken == name and origin != module:
            return _definition(project, origin, name, depth - 1)
    return None


def name_sources(project: Project) -> list[str]:
    """The package itself and its modules that its own names come from: worth reading first."""
    found: dict[str, None] = {project.target.name: None}
    for _, written in project.own.imported:
        found[_resolve(project.target, project.target.name, written)] = None
    for name in _root_names(project):
        module = project.target.name
        for _ in range(4):
            module = next((origin for taken, origin in imported(project, module) if taken == name), "")
            found[module] = None
    return [name for name in found if name in project.target.files]


def all_offers(project: Project) -> list[Offer]:
    """What the package itself offers, then what its public modules do."""
    root = root_offers(project)
    known = {offer.name for offer in root}
    deeper = [
        Offer(name, item)
        for name in project.target.public
        for item in project.sources.get(name, Source()).public
        if item.name not in known
    ]
    return [*root, *deeper]


def errors_last(items: Sequence[Definition]) -> list[Definition]:
    return sorted(items, key=lambda item: item.kind == "error")
