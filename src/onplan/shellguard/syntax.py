"""Shell text as a tree: the one place that knows which parser is used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onplan.shellguard.verdict import Span

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# The parser's own memory and time grow with the text; a person reads neither.
MAX_CHARS = 200_000

_ODD_BREAK = re.compile(r"\r(?=\n|$)")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_LINE_START = re.compile(r"(\n[ \t]*)\\(?=[\w/.-])|((?<!\\)\n[ \t]*)\\(?=\n)")
_JOINED = re.compile(r"(?<=[^\s\\])((?:\\\\)*)\\\n(?=\S)")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Source:
    """A text, and the bytes that stand for it, one for each character.

    The grammar's scanner reads beyond its tables at characters that are not ASCII: it never sees one.
    `origin`: the piece of the outer line that this text came from, if any.
    """

    text: str
    data: bytes
    origin: Span | None = None

    def of(self, node: Node) -> str:
        """The text of `node`."""
        return self.text[node.start_byte : node.end_byte]

    def slice(self, start: int, end: int) -> str:
        """The text between two positions of nodes."""
        return self.text[start:end]

    def starts_with(self, node: Node, text: str) -> bool:
        """Whether the text of `node` begins with `text`."""
        return self.text.startswith(text, node.start_byte)

    def span(self, node: Node) -> Span:
        """Where `node` is, in characters of the outermost line."""
        return self.origin or (node.start_byte, node.end_byte)


def source_of(text: str, origin: Span | None = None) -> Source:
    """`text` ready to be parsed; a carriage return before a line's end is a blank.

    A backslash that begins a line, and quotes only a letter or a break, goes: the grammar would take the
    line for the rest of the one before.
    """
    text = _LINE_START.sub(r"\1\2 ", _ODD_BREAK.sub(" ", text))
    # `%` is a part of words and never of names, as such characters are.
    return Source(text, _BEYOND_ASCII.sub("%", text).encode("ascii"), origin)


def unseen(text: str) -> Span | None:
    """Where the first character is that a person cannot see and a shell may read, if there is one."""
    found = _UNSEEN.search(_ODD_BREAK.sub(" ", text))
    return found.span() if found else None


def joined(text: str) -> str | None:
    """`text` with the words joined that a backslash and a line break divide; None if there are none.

    The grammar takes such a break for a blank, the shell does not.
    """
    result = _JOINED.sub(r"\1", text)
    return None if result == text else result


def parse(source: Source) -> Node | None:
    """The tree of `source`; None if it does not follow the grammar."""
    root = bash_parser().parse(source.data).root_node
    return None if root.has_error else root


def bash_parser() -> Parser:
    """A parser of one's own: it may not be shared between threads. Loads a shared library on first use."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
