"""Markdown of a reply as lines: whole, or block by block while it is still being written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from onplan.cli.view.screen import Line, Prose, Span, Style
from onplan.plan.text import cells, one_line, pad

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    from onplan.cli.view.code import Highlighter

_RULE = 24
_TAB = 4
_CODE_INDENT = "    "
_MOST_PENDING = 1_500
"""Characters of an unfinished block that are looked at to show its end."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`\n]*)")
_SHORT = 300
"""Characters of an unfinished block that is looked at anew with each line."""

_LANGUAGE = re.compile(r"[\w+#.-]+")
_STYLES: dict[str, Style] = {"strong": "bold", "em": "italic", "s": "dim"}


Mask: TypeAlias = Callable[[str], str]


def _as_it_is(text: str) -> str:
    return text


class Markdown:
    """Renders CommonMark with tables and strikethrough. HTML is text, so are link definitions: what the
    model wrote is to be seen, but for the language of a code block.

    The parser is loaded with the first text that needs it. `highlighter`: code has the colours of its
    language; without one, and in any that it does not know, it has one colour. `mask`: what may be shown of
    a text of several lines.
    """

    def __init__(
        self, width: int | None, highlighter: Highlighter | None = None, *, mask: Mask = _as_it_is
    ) -> None:
        self.width = width
        self._highlighter = highlighter
        self._mask = mask

    def lines(self, text: str) -> list[Line]:
        """The whole text; a blank line between blocks."""
        return list(_apart(self.block(node) for node in self.blocks(text)))

    def blocks(self, text: str) -> Sequence[SyntaxTreeNode]:
        from markdown_it.tree import SyntaxTreeNode

        return SyntaxTreeNode(self._parser.parse(text.expandtabs(_TAB))).children

    def block(self, node: SyntaxTreeNode) -> list[Line]:
        return list(self._block(node, "", ""))

    def items(self, items: Sequence[SyntaxTreeNode], number: int | None) -> list[Line]:
        """Items of a list at the outermost level, counted from `number`; `None`: they have bullets."""
        return list(self._items(items, number, "", ""))

    @cached_property
    def _parser(self) -> MarkdownIt:
        from markdown_it import MarkdownIt

        return (
            MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("reference")
        )

    def _block(self, node: SyntaxTreeNode, first: str, rest: str) -> Iterator[Line]:
        """`first` and `rest`: what stands in front of the first line, and of the others."""
        match node.type:
            case "heading":
                yield from _flowing(_inline(node, "bold"), first, rest)
            case "fence" | "code_block":
                yield from self._code(node, first, rest)
            case "bullet_list" | "ordered_list":
                yield from self._items(node.children, first_number(node), first, rest)
            case "blockquote":
                lines = _apart(self._block(child, f"{rest}▎ ", f"{rest}▎ ") for child in node.children)
                yield from lines
            case "hr":
                yield (Span(first), Span("─" * min(_RULE, self.width or _RULE), "dim"))
            case "table":
                yield from self._table(node, rest)
            case _:
                yield from _flowing(self._text(node), first, rest)

    def _text(self, node: SyntaxTreeNode) -> Iterator[Span | None]:
        """Of a paragraph; where a key goes over its lines, as it was written, without the key."""
        source = node.children[0].content if node.children else ""
        shown = self._mask(source) if "\n" in source else source
        if shown.count("\n") == source.count("\n"):
            yield from _inline(node)
            return
        for number, line in enumerate(shown.split("\n")):
            yield from ([None] if number else [])
            yield Span(line)

    def _items(
        self, items: Sequence[SyntaxTreeNode], number: int | None, first: str, rest: str
    ) -> Iterator[Line]:
        for count, item in enumerate(items):
            mark = "• " if number is None else f"{number + count}. "
            front, indent = first + mark, rest + " " * len(mark)
            for child in item.children:
                yield from self._block(child, front, indent)
                front = indent
            if not item.children:
                yield (front.rstrip(),)
            first = rest

    def _code(self, node: SyntaxTreeNode, first: str, rest: str) -> Iterator[Line]:
        info = node.info.strip()
        if info and (not node.content.strip() or not _LANGUAGE.fullmatch(info)):
            yield Prose((first, _CODE_INDENT, Span(node.info, "dim")), len(rest) + len(_CODE_INDENT))
            first = rest
        if first.strip():
            yield (first.rstrip(),)
        for spans in self._coloured(self._mask(node.content.rstrip("\n")), info):
            if not any(span.text.strip() for span in spans):
                yield (rest.rstrip(),)
                continue
            yield Prose((rest, _CODE_INDENT, *spans), len(rest) + len(_CODE_INDENT))

    def _coloured(self, code: str, language: str) -> Iterable[Sequence[Span]]:
        """The lines of a code in spans."""
        lines = code.split("\n")
        if language.casefold() in ("diff", "patch"):
            return ([Span(line, diff_style(line))] for line in lines)
        found = self._highlighter.lines(code, language) if self._highlighter else None
        return found or ([Span(line, "cyan")] for line in lines)

    def _table(self, node: SyntaxTreeNode, rest: str) -> Iterator[Line]:
        rows = [
            [_plain(cell) for cell in row.children] for section in node.children for row in section.children
        ]
        columns = max(map(len, rows))
        rows = [row + [""] * (columns - len(row)) for row in rows]
        sizes = [max(1, *(cells(row[n]) for row in rows)) for n in range(columns)]
        if self.width is not None and sum(sizes) + 2 * (columns - 1) + len(rest) > self.width:
            yield from _listed(rows, rest)
            return
        head, *body = rows
        yield (rest, Span("  ".join(map(pad, head, sizes)).rstrip(), "bold"))
        yield (rest, Span("  ".join("─" * size for size in sizes), "dim"))
        yield from ((rest, "  ".join(map(pad, row, sizes)).rstrip()) for row in body)


def first_number(node: SyntaxTreeNode) -> int | None:
    """Of an ordered list; `None` for any other block."""
    return int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None


def _listed(rows: Sequence[Sequence[str]], rest: str) -> Iterator[Line]:
    """A table that has no room: each cell behind the name of its column."""
    head, *body = rows
    if not body:
        yield Prose((rest, Span(", ".join(head), "bold")), len(rest) + 2)
    for number, row in enumerate(body):
        if number:
            yield ("",)
        for name, cell in zip(head, row, strict=True):
            yield Prose((rest, Span(f"{name}: " if name else "", "bold"), cell), len(rest) + 2)


def diff_style(line: str) -> Style:
    """The colour of a line of a diff."""
    if line.startswith("@@"):
        return "cyan"
    return {"+": "green", "-": "red"}.get(line[:1], "plain")  # type: ignore[return-value] - values are styles


def _flowing(parts: Iterator[Span | None], first: str, rest: str) -> Iterator[Line]:
    """Text that flows; `None` among its parts is a break that the writer wanted."""
    spans: list[Span] = []
    for part in parts:
        if part is None:
            yield Prose((Span(first), *spans), len(rest))
            spans, first = [], rest
        else:
            spans.append(part)
    yield Prose((Span(first), *spans), len(rest))


def _inline(node: SyntaxTreeNode, style: Style = "plain") -> Iterator[Span | None]:
    for child in node.children:
        match child.type:
            case "text":
                yield Span(child.content, style)
            case "code_inline":
                yield Span(child.content, "cyan")
            case "softbreak" | "hardbreak":
                yield None  # models break lines where they mean it
            case "link":
                yield from _link(child, style)
            case "image":
                yield Span(f"{child.content or 'image'} ({child.attrs.get('src', '')})", style)
            case kind if child.children:
                yield from _inline(child, _STYLES.get(kind, style))
            case _:
                yield Span(child.content, style)


def _link(node: SyntaxTreeNode, style: Style) -> Iterator[Span | None]:
    """The text, and where it leads if that is something else: a link must not hide its target."""
    parts = list(_inline(node, style))
    yield from parts
    target = str(node.attrs.get("href", ""))
    if target != "".join(part.text for part in parts if part):
        yield Span(f" ({target})", "dim")


def _plain(node: SyntaxTreeNode) -> str:
    return one_line("".join(part.text if part else " " for part in _inline(node))).strip()


def _apart(blocks: Iterator[list[Line]] | Iterator[Iterator[Line]]) -> Iterator[Line]:
    """The lines of blocks with a blank one between them."""
    for number, block in enumerate(blocks):
        if number:
            yield ("",)
        yield from block


class MarkdownStream:
    """A reply as it is being written: each block comes out once, when no later text can change it.

    Items of a list come out one by one.
    """

    def __init__(
        self, width: int | None, highlighter: Highlighter | None = None, *, mask: Mask = _as_it_is
    ) -> None:
        self._markdown = Markdown(width, highlighter, mask=mask)
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._look_at = 0  # how long the text is to be before it is looked at again without a blank line
        self._fence = ""  # the marks that close the code block with which the text begins, if it does
        self._shown: tuple[str, int | None, list[Line]] = ("", None, [])
        self._is_begun = False  # something came out
        self._is_cut = False  # the text begins in the middle of a list
        self._number: int | None = None  # of its next item

    @property
    def is_begun(self) -> bool:
        """Whether any text has come."""
        return self._is_begun or bool(self._text.strip())

    def feed(self, text: str, width: int | None) -> list[Line]:
        """More of the text; answers the lines of the blocks that it completed. `width`: of the screen now."""
        self._markdown.width = width
        start = self._text.rfind("\n") + 1
        text = text.replace("\r", "\n")  # the parser counts each as a line
        self._text += text
        if "\n" not in text or not self._may_complete(start):
            return []
        return self._completed()

    def end(self) -> list[Line]:
        """The lines of what is left; the next text begins anew."""
        lines = [line for node in self._markdown.blocks(self._text) for line in self._out(node)]
        self._begin()
        return lines

    def pending(self) -> list[Line]:
        """The lines of what has not come out yet, as they look now; the end of them where it is long."""
        text, width = self._end_of_text(), self._markdown.width
        if self._shown[:2] != (text, width):
            self._shown = (text, width, self._markdown.lines(text) if text.strip() else [])
        return self._shown[2]

    def _end_of_text(self) -> str:
        if len(self._text) <= _MOST_PENDING:
            return self._text
        end = self._text[-_MOST_PENDING:]
        end = end[end.find("\n") + 1 or end.find(" ") + 1 :]
        return "\n".join((self._text.partition("\n")[0], end)) if self._fence else end

    def _may_complete(self, start: int) -> bool:
        """Whether the lines from `start` on can end the block that is open: a blank line, or any others
        where it is short. To look costs by its length, and what is overlooked only comes out later."""
        new = self._text[start : self._text.rfind("\n")].split("\n")
        if self._fence:
            return any(line.strip().startswith(self._fence) for line in new)
        return len(self._text) >= self._look_at or not all(line.strip() for line in new)

    def _completed(self) -> list[Line]:
        """Takes out every block that is closed, because another one or a blank line follows it."""
        whole = self._text[: self._text.rfind("\n") + 1]
        nodes = self._markdown.blocks(whole)
        if not nodes:
            return []
        lines = [line for node in nodes[:-1] for line in self._out(node)]
        kept, more = self._cut(nodes[-1], whole.count("\n"))
        self._text = "\n".join(self._text.split("\n")[kept:])
        self._look_at = len(self._text) * 9 // 8 if len(self._text) > _SHORT else 0
        self._fence = _open_fence(nodes[-1], self._text)
        return lines + more

    def _cut(self, node: SyntaxTreeNode, count: int) -> tuple[int, list[Line]]:
        """Of the last block in `count` lines: the first line that is to be kept, and what comes out."""
        start, end = node.map or (0, count)
        if not node.type.endswith("_list"):
            return (end, self._out(node)) if end < count else (start, [])
        *done, last = node.children
        if not done:
            return start, []
        lines = self._listed(done, node)
        self._is_cut = True
        return (last.map or (start, end))[0], lines

    def _out(self, node: SyntaxTreeNode) -> list[Line]:
        """The lines of a block that is done, a blank one before it where it is not the first."""
        if node.type.endswith("_list"):
            lines = self._listed(node.children, node)
        else:
            lines = [*self._gap(), *self._markdown.block(node)]
        self._is_cut, self._number = False, None
        return lines

    def _listed(self, items: Sequence[SyntaxTreeNode], node: SyntaxTreeNode) -> list[Line]:
        """Items of a list that may have begun before the text."""
        gap = [] if self._is_cut else self._gap()
        number = self._number if self._is_cut else first_number(node)
        self._number = None if number is None else number + len(items)
        return [*gap, *self._markdown.items(items, number)]

    def _gap(self) -> list[Line]:
        gap: list[Line] = [("",)] if self._is_begun else []
        self._is_begun = True
        return gap


def _open_fence(node: SyntaxTreeNode, text: str) -> str:
    """The marks that would close the code block with which `text` begins; empty if it is none."""
    found = _FENCE.match(text) if node.type == "fence" else None
    return found[1] if found else ""
