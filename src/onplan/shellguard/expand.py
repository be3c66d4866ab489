"""Words of the tree as the fields that a shell would make of them; runs nothing and judges nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from onplan.shellguard.marks import (
    CLASS,
    CLOSE,
    COMMA,
    OPEN,
    QUEST,
    QUOTE,
    SOME,
    SPLIT,
    STAR,
    STREAM,
    TILDE,
    UNKNOWN,
    active,
    fields,
)
from onplan.shellguard.state import Shell, Value
from onplan.shellguard.syntax import Source

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_VARIANTS = 64
MAX_TEXT = 400_000

_UNQUOTED = {"*": STAR, "?": QUEST, "[": CLASS, "{": OPEN, ",": COMMA, "}": CLOSE, "~": TILDE}
_WORD = re.compile(r"\\(\n|.?)|[*?\[{,}~]", re.DOTALL)
_STRING = re.compile(r"\\(\n|[$`\"\\])")
_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.DOTALL
)
_ANSI_NAMES = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_NAME = r"[A-Za-z_]\w*|\d+|[@*#?$!-]"
_SIMPLE = re.compile(rf"({_NAME})(?:\[([^\]]*)\])?")
_DEFAULT = re.compile(rf"({_NAME})(?:\[[^\]]*\])?(:?[-=+?])")
_SLASH = re.compile(rf"({_NAME})%%?/")
_SUBSTITUTIONS = ("command_substitution", "process_substitution")
_BLANKS = re.compile(r"[ \t\n]+")
_TILDE = re.compile(rf"(?:[A-Za-z_]\w*=)?{TILDE}([^/]*)")

Substitute = Callable[["Node"], str]
"""What a command or process substitution would print; called once for each."""


class TooMuch(Exception):
    """The line asks for more work than a verdict is worth."""


@dataclass(frozen=True, slots=True)
class Expander:
    """Expands the words of one source in one shell."""

    source: Source
    shell: Shell
    substitute: Substitute
    splitting: bool = True

    def word(self, nodes: Sequence[Node]) -> list[tuple[str, ...]]:
        """Each list of fields that the word made of `nodes`, one directly after the other, may become."""
        variants = self._all(_without_locale(nodes, self.source), quoted=False, depth=0)
        return list(dict.fromkeys(tuple(map(self.home, fields(text))) for text in variants))

    def text(self, node: Node | None) -> list[str]:
        """Each text that `node` may be where nothing is split: a value, a redirection's target."""
        if node is None:
            return [""]
        whole = replace(self, splitting=False)
        return [self.home(" ".join(fields(text))) for text in whole._all([node], quoted=False, depth=0)]

    def value(self, node: Node | None) -> list[Value]:
        """Each value that an assignment of `node` may give."""
        if node is not None and node.type == "array":
            elements: list[str] = []
            for child in node.named_children:
                elements.extend(field for variant in self.word([child]) for field in variant)
            return [tuple(elements)]
        return [(text,) for text in self.text(node)]

    def heredoc(self, node: Node) -> str:
        """The lines of a here-document whose delimiter is not quoted."""
        return self._inside(node, node.start_byte, node.end_byte, 0)[0]

    def visit(self, node: Node) -> None:
        """Run the substitutions below `node`, whatever it is."""
        if node.type in _SUBSTITUTIONS:
            self.substitute(node)
        else:
            self._visit(node, 0)

    def home(self, field: str) -> str:
        """`field` with a leading `~` resolved, and every other `~` plain."""
        if TILDE not in field:
            return field
        found = _TILDE.match(field)
        if found is None:
            return field.replace(TILDE, "~")
        rest = field[found.end() :].replace(TILDE, "~")
        before = found.group()[: found.group().index(TILDE)]
        return before + self._home_of(found.group(1)) + rest

    def _home_of(self, user: str) -> str:
        match user:
            case "":
                values = self.shell.values("HOME")
            case "+":
                values = self.shell.values("PWD")
            case "-":
                values = self.shell.values("OLDPWD")
            case "root":
                return "/root"
            case _:
                return f"/home/{user}" if re.fullmatch(r"[\w.-]+", user) else f"~{user}"
        return values[0][0] if len(values) == 1 and values[0] else UNKNOWN

    def _all(self, nodes: Iterable[Node], *, quoted: bool, depth: int) -> list[str]:
        variants = [""]
        for node in nodes:
            variants = _product(variants, self._one(node, quoted=quoted, depth=depth + 1))
        return variants

    def _one(self, node: Node, *, quoted: bool, depth: int) -> list[str]:
        if depth > 60:
            raise TooMuch
        text = self.source.of(node)
        blank = text[: len(text) - len(text.lstrip())] if quoted and node.type != "string_content" else ""
        match node.type:
            case "raw_string":
                return [QUOTE + text[text.find("'") + 1 : -1]]
            case "ansi_c_string":
                return [QUOTE + _ansi(text[text.find("'") + 1 : -1])]
            case "string" | "translated_string":
                return self._string(node, depth)
            case "simple_expansion":
                found = self._values(text.strip()[1:], quoted=quoted)
            case "expansion":
                found = self._expansion(node, quoted=quoted, depth=depth)
            case "command_substitution":
                found = [self._split(self.substitute(node).replace("\0", "").rstrip("\n"), quoted=quoted)]
            case "process_substitution":
                found = [STREAM + self.substitute(node)]
            case "arithmetic_expansion":
                self._visit(node, depth)
                inner = text.strip()[3:-2].strip()
                found = [inner if inner.isdigit() else SOME]
            case "concatenation":
                return self._all(node.children, quoted=quoted, depth=depth)
            case "brace_expression":
                return [text.strip().replace("{", OPEN).replace("}", CLOSE)]
            case "string_content":
                return [_STRING.sub(r"\1", text)]
            case _ if node.named_child_count:
                self._visit(node, depth)
                found = [UNKNOWN]
            case _:
                found = [text if quoted else _WORD.sub(_unquoted, text)]
        return [blank + one for one in found] if blank else found

    def _string(self, node: Node, depth: int) -> list[str]:
        opening = 1 if self.source.starts_with(node, '"') else 2
        inside = self._inside(node, node.start_byte + opening, node.end_byte - 1, depth)
        return [QUOTE + text for text in inside]

    def _inside(self, node: Node, start: int, end: int, depth: int) -> list[str]:
        """The text between two bytes of `node`, as between double quotes."""
        variants = [""]
        for child in node.children:
            if child.start_byte < start or child.end_byte > end or not child.is_named:
                continue
            gap = _STRING.sub(r"\1", self.source.slice(start, child.start_byte))
            variants = _product(variants, [gap + text for text in self._one_quoted(child, depth)])
            start = child.end_byte
        gap = _STRING.sub(r"\1", self.source.slice(start, end))
        return [text + gap for text in variants]

    def _one_quoted(self, child: Node, depth: int) -> list[str]:
        if child.type in ("string_content", "heredoc_content"):
            return [_STRING.sub(r"\1", self.source.of(child))]
        return self._one(child, quoted=True, depth=depth + 1)

    def _values(self, name: str, *, quoted: bool) -> list[str]:
        return [self._joined(name, value, quoted=quoted) for value in self.shell.values(name)]

    def _joined(self, name: str, value: Value, *, quoted: bool) -> str:
        if name in ("@", "*"):
            return self._elements(value, name, quoted=quoted)
        return self._split(value[0] if value else "", quoted=quoted)

    def _elements(self, value: Value, index: str, *, quoted: bool) -> str:
        if quoted and index == "*":
            return " ".join(value)
        return SPLIT.join((QUOTE if quoted else "") + self._split(one, quoted=quoted) for one in value)

    def _split(self, text: str, *, quoted: bool) -> str:
        """`text` as an expansion's result: split and made active unless it stands in quotes."""
        if quoted or not text or not self.splitting:
            return text
        separators = {value[0] if value else "" for value in self.shell.values("IFS")}
        if separators == {" \t\n"}:
            return active(_BLANKS.sub(SPLIT, text))
        for separator in separators:
            if UNKNOWN in separator:
                return UNKNOWN
            if separator:
                text = re.sub(f"[{re.escape(separator)}]+", SPLIT, text)
        return active(text)

    def _expansion(self, node: Node, *, quoted: bool, depth: int) -> list[str]:
        inner = self.source.of(node).strip()[2:-1]
        if found := _SIMPLE.fullmatch(inner):
            self._visit(node, depth)
            return self._element(found.group(1), found.group(2), quoted=quoted)
        if found := _DEFAULT.match(inner):
            return self._default(node, found.group(1), found.group(2), quoted=quoted, depth=depth)
        self._visit(node, depth)
        if inner.startswith("#"):
            return [SOME]
        if found := _SLASH.fullmatch(inner):
            return [text.rstrip("/") for text in self._values(found.group(1), quoted=quoted)]
        return [UNKNOWN]

    def _element(self, name: str, index: str | None, *, quoted: bool) -> list[str]:
        if index is None:
            return self._values(name, quoted=quoted)
        if index in ("@", "*"):
            return [self._elements(value, index, quoted=quoted) for value in self.shell.values(name)]
        if not index.isdigit():
            return [UNKNOWN]
        values = self.shell.values(name)
        place = int(index[:4])
        return [
            self._split("".join(value[place : place + 1]) if UNKNOWN not in value else UNKNOWN, quoted=quoted)
            for value in values
        ]

    def _default(self, node: Node, name: str, operator: str, *, quoted: bool, depth: int) -> list[str]:
        """`${name:-word}` and its kind: the value, the word, or both where the value is not known."""
        operators = [child for child in node.children if self.source.of(child) == operator]
        children = node.children[node.children.index(operators[0]) + 1 : -1] if operators else []
        word = self._all(children, quoted=quoted, depth=depth)
        values = self._values(name, quoted=quoted)
        match operator[-1]:
            case "?":
                return values
            case "+":
                return [*word, ""] if UNKNOWN in "".join(values) else (word if any(values) else [""])
            case _:
                unknown = any(UNKNOWN in value for value in values)
                chosen = [value for value in values if value]
                result = [*chosen, *word] if unknown or len(chosen) < len(values) else chosen
                if operator[-1] == "=":
                    self.shell.assign(name, [(text.replace(QUOTE, ""),) for text in result])
                return result

    def _visit(self, node: Node, depth: int) -> None:
        if depth > 60:
            raise TooMuch
        for child in node.children:
            if child.type in _SUBSTITUTIONS:
                self.substitute(child)
            elif child.child_count:
                self._visit(child, depth + 1)


def words(nodes: Iterable[Node], source: Source) -> list[list[Node]]:
    """`nodes` grouped into words: those that touch are one, whatever the grammar says."""
    groups: list[list[Node]] = []
    end = -1
    for node in nodes:
        text = source.of(node)
        touches = node.start_byte == end and not text[:1].isspace()
        if touches and groups:
            groups[-1].append(node)
        else:
            groups.append([node])
        end = node.end_byte
    return groups


def _without_locale(nodes: Sequence[Node], source: Source) -> Sequence[Node]:
    """`nodes` without the `$` of `$"…"`, which the grammar takes for a word of its own."""
    if len(nodes) < 2:
        return nodes
    followed = {id(node) for node, after in pairwise(nodes) if after.type == "string"}
    return [node for node in nodes if not (id(node) in followed and source.of(node) == "$")]


def _product(first: list[str], second: list[str]) -> list[str]:
    if len(first) == len(second) == 1:
        return [first[0] + second[0]] if len(first[0]) + len(second[0]) < MAX_TEXT else [UNKNOWN]
    if len(first) * len(second) > MAX_VARIANTS:
        return [UNKNOWN]
    return [one + other for one in first for other in second]


def _unquoted(found: re.Match[str]) -> str:
    text = found.group()
    if text[0] == "\\":
        escaped = found.group(1)
        return "" if escaped == "\n" else QUOTE + escaped
    return _UNQUOTED[text]


def _ansi(text: str) -> str:
    return _ANSI.sub(_ansi_character, text)


def _ansi_character(found: re.Match[str]) -> str:
    hexadecimal, octal, short, long, control, other = found.groups()
    if hexadecimal or short or long:
        code = int(hexadecimal or short or long, 16)
        return chr(code) if 0 < code < 0xD800 or 0xE000 <= code < 0x110000 else UNKNOWN
    if octal:
        return chr(int(octal, 8) & 0xFF or 0xFFFD)
    if control:
        return chr(ord(control) & 0x1F)
    return _ANSI_NAMES.get(other, other if other in "\\'\"?" else f"\\{other}")
