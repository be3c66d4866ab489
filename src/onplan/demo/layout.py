"""Which files of a project matter: its metadata, its package or modules, its tests. Paths only, no text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py")
RUNNERS = ("tox.ini", "noxfile.py", "Makefile", "pytest.ini")

_SOURCE_ROOTS = ("src", "lib", "source", "python")
_TEST_FOLDERS = frozenset({"test", "tests", "testsuite", "unittests"})
_ASIDE = _TEST_FOLDERS | {
    *("doc", "docs", "example", "examples", "bench", "benchmark", "benchmarks", "script", "scripts"),
    *("build", "dist", "env", "venv", "node_modules", "site-packages", "vendor", "third_party", "ci"),
}
_ASIDE_FILES = frozenset(
    (
        "setup.py",
        "conftest.py",
        "noxfile.py",
        "tasks.py",
        "fabfile.py",
        "versioneer.py",
        "release.py",
        "conf.py",
    )
)
_UNLISTED = frozenset(("__init__", "version", "conftest"))


@dataclass(frozen=True, slots=True)
class Target:
    """The package, or the modules, that a README is about.

    `name` is what one imports; it is empty for several modules that are no package. `files` maps the
    import name of each module to its path, the package's own `__init__.py` under `name`.
    """

    name: str
    folder: str
    files: dict[str, str]
    is_package: bool

    @property
    def own(self) -> str:
        """The path of the package's `__init__.py` or the one module, or nothing."""
        return self.files.get(self.name, "")

    @property
    def public(self) -> dict[str, str]:
        """The modules to list: none of them private, the package itself not among them."""
        return {
            name: path
            for name, path in self.files.items()
            if name != self.name and not name.rpartition(".")[2].startswith("_")
        }


@dataclass(frozen=True, slots=True)
class Layout:
    """`root`: the files at the top. `python`: every Python file."""

    root: tuple[str, ...]
    python: tuple[str, ...]

    def first(self, *stems: str) -> str:
        """The first file at the top whose name begins with one of `stems`, in any case, or nothing."""
        names = [path for path in self.root if not path.endswith(".py")]
        return next((name for stem in stems for name in names if _begins(name, stem)), "")

    def present(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name in self.root)

    @property
    def tests(self) -> tuple[str, ...]:
        found = [path for path in self.python if _is_test(PurePosixPath(path))]
        return tuple(sorted(found, key=lambda path: (not _in_test_folder(path), path.count("/"), path)))

    @property
    def test_folder(self) -> str:
        """The folder that holds the first of the tests, or nothing when they are at the top."""
        folders = PurePosixPath(self.tests[0]).parts[:-1] if self.tests else ()
        until = next((at for at, part in enumerate(folders, 1) if part in _TEST_FOLDERS), len(folders))
        return "/".join(folders[:until])

    def targets(self) -> tuple[Target, ...]:
        """Every package at the top of its source folder, then the modules that are in none."""
        return (*self._packages(), *self._modules())

    def _packages(self) -> list[Target]:
        folders = {str(PurePosixPath(path).parent) for path in self.python if path.endswith("/__init__.py")}
        tops = sorted(folder for folder in folders if str(PurePosixPath(folder).parent) not in folders)
        tops = [folder for folder in tops if not _is_aside(PurePosixPath(folder))]
        return [self._package(folder) for folder in tops or self._folders_without_init()]

    def _folders_without_init(self) -> list[str]:
        paths = [PurePosixPath(path) for path in self.python]
        return sorted(
            {"/".join(path.parts[:2]) for path in paths if path.parts[0] == "src" and len(path.parts) > 2}
        )

    def _package(self, folder: str) -> Target:
        name = ".".join(_below_source_root(PurePosixPath(folder)).parts)
        files: dict[str, str] = {}
        for path in self.python:
            if not path.startswith(f"{folder}/"):
                continue
            inside = PurePosixPath(path).relative_to(folder)
            if str(inside) == "__init__.py":
                files[name] = path
            elif len(inside.parts) == 1 and inside.stem not in _UNLISTED and not _is_test(inside):
                files[f"{name}.{inside.stem}"] = path
            elif len(inside.parts) == 2 and inside.name == "__init__.py" and not _is_aside(inside.parent):
                files[f"{name}.{inside.parent.name}"] = path
        return Target(name, folder, files, is_package=True)

    def _modules(self) -> list[Target]:
        found: dict[str, str] = {}
        for path in self.python:
            inside = _below_source_root(PurePosixPath(path))
            if len(inside.parts) == 1 and inside.name not in _ASIDE_FILES and not _is_test(inside):
                found[inside.stem] = path
        return [Target(name, path, {name: path}, is_package=False) for name, path in found.items()]


def choose(targets: tuple[Target, ...], project: str) -> Target | None:
    """The target that the project is named after, else its largest package, else its modules together."""
    if not targets:
        return None
    named = [target for target in targets if _likeness(target.name, project)]
    packages = [target for target in targets if target.is_package]
    if named or packages:
        best = max(named or packages, key=lambda one: (_likeness(one.name, project), len(one.files)))
        return _shortened(best, project)
    if len(targets) == 1:
        return targets[0]
    files = {target.name: target.own for target in targets if not target.name.startswith("_")}
    return Target("", ".", files, is_package=False) if files else None


def _shortened(target: Target, project: str) -> Target:
    """A folder above a package is part of its name only where the project says so."""
    short = target.name.rpartition(".")[2]
    if not project or short == target.name or _likeness(target.name, project) == 2:
        return target
    files = {short + name.removeprefix(target.name): path for name, path in target.files.items()}
    return Target(short, target.folder, files, target.is_package)


def _likeness(name: str, project: str) -> int:
    mine, theirs = _plain(name), _plain(project)
    if not mine or not theirs:
        return 0
    last = _plain(name.rpartition(".")[2])
    if mine == theirs:
        return 2
    return 1 if last == theirs or (len(last) > 2 and last in theirs) else 0


def _plain(name: str) -> str:
    return re.sub(r"[-_.]", "", name).casefold()


def _begins(name: str, stem: str) -> bool:
    return re.fullmatch(rf"{stem}([-._].*)?", name, re.I) is not None


def _below_source_root(path: PurePosixPath) -> PurePosixPath:
    if len(path.parts) > 1 and path.parts[0] in _SOURCE_ROOTS:
        return path.relative_to(path.parts[0])
    return path


def _is_aside(folder: PurePosixPath) -> bool:
    return any(part in _ASIDE or part.startswith((".", "test_")) for part in folder.parts)


def _is_test(path: PurePosixPath) -> bool:
    if path.name in ("__init__.py", "conftest.py"):
        return False
    named = (
        path.name.startswith("test_")
        or path.name.endswith("_test.py")
        or path.name in ("test.py", "tests.py")
    )
    return named or (_in_test_folder(str(path)) and path.name.startswith("test"))


def _in_test_folder(path: str) -> bool:
    return not _TEST_FOLDERS.isdisjoint(PurePosixPath(path).parts[:-1])
