"""Shell text as a tree: the one place that knows which parser is used."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from onplan.shellguard.verdict import Span

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# The parser's own memory and time grow with the text; a person reads neither.
MAX_CHARS = 200_000

_ODD_BREAK = re.compile(r"\r(?=\n|$)")
_LINE_START = re.compile(r"(\n[ \t]*)\\(?=[\w/.-])|((?<!\\)\n[ \t]*)\\(?=\n)")
_JOINED = re.compile(r"(?<=[^\s\\])((?:\\\\)*)\\\n(?=\S)")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its bytes. `origin`: the piece of the outer line that this text came from, if any."""

    text: str
    data: bytes
    origin: Span | None = None
    offsets: list[int] = field(default_factory=list[int])

    def of(self, node: Node) -> str:
        """The text of `node`."""
        return self.slice(node.start_byte, node.end_byte)

    def slice(self, start: int, end: int) -> str:
        """The text between two bytes."""
        return self.data[start:end].decode("utf-8", "replace")

    def span(self, node: Node) -> Span:
        """Where `node` is, in characters of the outermost line."""
        if self.origin is not None:
            return self.origin
        if len(self.data) == len(self.text):
            return node.start_byte, node.end_byte
        if not self.offsets:
            self.offsets.extend(accumulate((byte & 0xC0 != 0x80) for byte in self.data))
            self.offsets.insert(0, 0)
        return self.offsets[node.start_byte], self.offsets[node.end_byte]


def source_of(text: str, origin: Span | None = None) -> Source:
    """`text` ready to be parsed; a carriage return before a line's end is a blank.

    A backslash that begins a line, and quotes only a letter or a break, goes: the grammar would take the
    line for the rest of the one before.
    """
    text = _LINE_START.sub(r"\1\2 ", _ODD_BREAK.sub(" ", text))
    return Source(text, text.encode("utf-8", "replace"), origin)


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
