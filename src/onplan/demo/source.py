"""What a Python file offers: its summary, its public functions and classes. Parsed, never imported or run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

_SUMMARY_WIDTH = 200
_UNENDED_WIDTH = 80
_SIGNATURE_WIDTH = 64
_ERRORS = ("Error", "Exception", "Warning", "SystemExit")


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class. `error`: an exception or a warning. `doc` is its docstring, dedented."""

    name: str
    kind: Literal["function", "class", "error"]
    signature: str
    doc: str

    @property
    def summary(self) -> str:
        return first_sentence(self.doc)


@dataclass(frozen=True, slots=True)
class Source:
    """One module. `exported` is its `__all__`, or `None`; `imported` maps names that it takes from its own
    package to the module they come from, as written (`.core`, `pkg.core`). `whole`: nothing was cut."""

    doc: str = ""
    definitions: tuple[Definition, ...] = ()
    exported: tuple[str, ...] | None = None
    imported: tuple[tuple[str, str], ...] = ()
    libraries: frozenset[str] = frozenset()
    runs: bool = False
    whole: bool = True

    @property
    def summary(self) -> str:
        return first_sentence(self.doc)

    @property
    def public(self) -> tuple[Definition, ...]:
        """What it defines for others: `__all__` where there is one, else what has no underscore."""
        if self.exported is not None:
            return tuple(item for item in self.definitions if item.name in self.exported)
        return tuple(item for item in self.definitions if not item.name.startswith("_"))

    def find(self, name: str) -> Definition | None:
        return next((item for item in self.definitions if item.name == name), None)


def read_source(text: str, *, whole: bool = True) -> Source:
    """Parse a module, as far as it can be parsed: a file that was cut gives what comes before the cut."""
    tree = parse(text) or _parse_beginning(text)
    if tree is None:
        return replace(_by_pattern(text), whole=whole)
    nodes = list(_top_level(tree.body))
    return Source(
        doc=ast.get_docstring(tree) or "",
        definitions=_definitions(nodes),
        exported=_exported(nodes),
        imported=tuple(_imported(nodes)),
        libraries=frozenset(_libraries(nodes)),
        runs=_runs(tree),
        whole=whole,
    )


def parse(text: str) -> ast.Module | None:
    """The syntax tree, or `None`. Silent: what Python would warn of is the project's own affair."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parse_beginning(text: str) -> ast.Module | None:
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if re.match(r"(?:async def|def|class|@)\b|@", line)]
    for start in reversed(starts[-6:]):
        tree = parse("\n".join(lines[:start]))
        if tree is not None:
            return tree
    return None


def _by_pattern(text: str) -> Source:
    """For what is no Python of this version."""
    doc = re.match(r'(?:\s*#[^\n]*\n|\s)*[rRuU]?("""|\'\'\')(.*?)\1', text, re.S)
    found = re.findall(r"^(def|class)\s+([A-Za-z]\w*)", text, re.M)
    return Source(
        doc=doc[2].strip() if doc else "",
        definitions=tuple(
            Definition(name, "class" if word == "class" else "function", name, "") for word, name in found
        ),
    )


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of the module, those behind `if` and `try` too."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _top_level(node.body)
            yield from _top_level(node.orelse)
        if isinstance(node, ast.Try):
            for handler in node.handlers:
                yield from _top_level(handler.body)


def _definitions(nodes: list[ast.stmt]) -> tuple[Definition, ...]:
    found: dict[str, Definition] = {}
    for node in nodes:
        match node:
            case ast.ClassDef(name=name):
                found.setdefault(name, _class(node, found))
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not _is_overload(node):
                doc = ast.get_docstring(node) or ""
                found.setdefault(
                    node.name, Definition(node.name, "function", _signature(node, node.name), doc)
                )
            case _:
                pass
    return tuple(found.values())


def _class(node: ast.ClassDef, known: Mapping[str, Definition]) -> Definition:
    doc = ast.get_docstring(node) or ""
    for base in (ast.unparse(base) for base in node.bases):
        if base.endswith(_ERRORS) or (base in known and known[base].kind == "error"):
            return Definition(node.name, "error", node.name, doc)
    makers = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    signature = _signature(makers[-1], node.name, skip=1) if makers else node.name
    return Definition(node.name, "class", signature, doc)


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(mark).rpartition(".")[2] == "overload" for mark in node.decorator_list)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, skip: int = 0) -> str:
    """The call without annotations; where that is long, only what must be given."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in (*every, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
            argument.arg = re.sub(r"^__(?=[a-z])", "", argument.arg)
    needed = [*arguments.posonlyargs, *arguments.args]
    needed = needed[skip : len(needed) - len(arguments.defaults)]
    whole = ast.unparse(arguments)
    # `self` is the first of the text too, with its comma and perhaps a slash.
    whole = re.sub(r"^\w+(, /)?(, |$)", "", whole) if skip else whole
    if len(name) + len(whole) <= _SIGNATURE_WIDTH and "\n" not in whole and "`" not in whole:
        return f"{name}({whole})"
    return f"{name}({''.join(f'{argument.arg}, ' for argument in needed[:4])}…)"


def _exported(nodes: list[ast.stmt]) -> tuple[str, ...] | None:
    names: tuple[str, ...] | None = None
    for node in nodes:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            ):
                names = _strings(value)
            case ast.AugAssign(target=ast.Name(id="__all__"), value=value):
                more = _strings(value)
                names = None if names is None or more is None else (*names, *more)
            case _:
                pass
    return names


def _strings(node: ast.expr) -> tuple[str, ...] | None:
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            found = [item.value for item in items if isinstance(item, ast.Constant)]
            texts = tuple(item for item in found if isinstance(item, str))
            return texts if len(texts) == len(items) else None
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _strings(left), _strings(right)
            return None if first is None or second is None else (*first, *second)
        case _:
            return None


def _imported(nodes: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if not isinstance(node, ast.ImportFrom):
            continue
        origin = "." * node.level + (node.module or "")
        for alias in node.names:
            # `from .core import first as second` offers `second`, which has no definition to quote.
            if alias.asname in (None, alias.name):
                yield alias.name, origin


def _libraries(nodes: list[ast.stmt]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str() as module, level=0):
                yield module.partition(".")[0]
            case _:
                pass


def _runs(tree: ast.Module) -> bool:
    """Whether it does something of its own as a script; running its own tests does not count."""
    blocks = [node for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)]
    return any("doctest" not in (text := ast.unparse(node)) and "unittest" not in text for node in blocks)


# --- docstrings -------------------------------------------------------------------------------------


def first_sentence(doc: str) -> str:
    """The first sentence of a docstring as Markdown text in one line; nothing where there is none."""
    for paragraph in re.split(r"\n\s*\n", doc):
        text = _prose(paragraph)
        if text:
            return _shorten(_first(text))
    return ""


def _prose(paragraph: str) -> str:
    lines: list[str] = []
    for line in (raw.strip() for raw in paragraph.strip().splitlines()):
        if re.match(r">>>|\.\. |[:@]\w+|-{3,}|={3,}|~{3,}|\*{3,}|\|", line):
            if re.fullmatch(r"[-=~*]{3,}", line) and len(lines) == 1:
                # An underlined title says less than the paragraph that follows it.
                lines.clear()
                continue
            break
        if re.fullmatch(r"[-=~#*+^]{2,}", line) or not line:
            continue
        lines.append(line)
    text = re.sub(r"^[\w./]+\.py\s*[-–—:]+\s*", "", " ".join(lines))
    if re.match(r"(©|copyright|licen[sc]ed?\b|\(c\)|author:|usage:|args:|returns:)", text, re.I):
        return ""
    return _markdown(text)


def _markdown(text: str) -> str:
    """reST marks as Markdown ones, and what Markdown would take for markup made harmless."""
    text = re.sub(
        r":[\w:+-]+:`(?:[^`<]*<)?[~!]?([^`>]+)>?`", lambda role: f"`{role[1].split('.')[-1]}`", text
    )
    text = re.sub(r"`([^`<]+?)\s*<[^`>]+>`__?", r"\1", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    text = re.sub(r"`([^`]+)`__?(?!\w)", r"\1", text)
    text = re.sub(r"\[(`[^`]+`)\]\[[^\]]*\]", r"\1", text)
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece[:1] == "`" else _escape(piece) for piece in pieces).strip(" :")


def _escape(text: str) -> str:
    text = re.sub(r"(?<![\w*])\*(?=\w[\w*]*\b(?!\*))", r"\\*", text)
    return re.sub(r"<(?=[A-Za-z/!])", r"\\<", text)


def _first(text: str) -> str:
    abbreviations = r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!\bvs)(?<!\bcf)(?<!\b[A-Z])"
    ended = re.match(rf".*?(?:{abbreviations}[.!?](?=\s+[^\sa-z]|$)|[。！？])", text)
    if ended or len(text) < _UNENDED_WIDTH:
        return (ended[0] if ended else text).strip()
    return text.strip() + "…"


def _shorten(text: str) -> str:
    if len(text) <= _SUMMARY_WIDTH:
        return text
    head = text[:_SUMMARY_WIDTH].rpartition(" ")[0] or text[:_SUMMARY_WIDTH]
    # A code span that the cut left open would swallow what follows.
    return (head.rpartition("`")[0] if head.count("`") % 2 else head).rstrip(" ,;:") + "…"
