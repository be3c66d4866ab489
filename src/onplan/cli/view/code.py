"""Code in colours: the tokens of a language in the few styles that a screen has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from onplan.cli.view.screen import Span, Style
from onplan.plan.text import printable
from onplan.secrets import mask_secrets

if TYPE_CHECKING:
    from rich.syntax import ANSISyntaxTheme
    from rich.text import Text

_MOST = 30_000
_LONGEST = 2_000
"""Characters of a code, and of a line of it, beyond which it has no colours: it must be there at once."""

# No colour of its own for what is most of a text, and none that is pale on light or on dark.
_STYLES: Mapping[str, Style] = {
    "Comment": "dim",
    "Keyword": "magenta",
    "Keyword.Constant": "cyan",
    "Operator.Word": "magenta",
    "Name.Builtin.Pseudo": "cyan",
    "Name.Class": "bold",
    "Name.Decorator": "magenta",
    "Name.Function": "bold",
    "Name.Tag": "magenta",
    "Name.Variable": "cyan",
    "Number": "cyan",
    "String": "green",
    "String.Affix": "magenta",
    "String.Escape": "cyan",
    "String.Interpol": "cyan",
    "Generic.Heading": "bold",
    "Generic.Prompt": "bold",
    "Generic.Inserted": "green",
    "Generic.Deleted": "red",
}


class Highlighter:
    """Knows the languages that Pygments does. What it reads with is loaded with the first code."""

    def language_of(self, path: str, code: str) -> str:
        """The language of a file by its name; empty if none is known."""
        from rich.syntax import Syntax

        with contextlib.suppress(Exception):
            found = Syntax.guess_lexer(path, code)
            return "" if found in ("default", "text") else found
        return ""

    def lines(self, code: str, language: str) -> list[Sequence[Span]] | None:
        """Each line of `code` in its spans. Never raises, and changes no character.

        `None` where it has no colours: in a language that is not known, too long, or with characters or keys
        that are not to be seen.
        """
        if len(code) > _MOST or any(len(line) > _LONGEST for line in code.split("\n")):
            return None
        if not language or language.casefold() not in self._languages:
            return None
        if printable(code) != code or mask_secrets(code) != code:
            return None  # what a screen takes out, or masks, must not be in two spans
        with contextlib.suppress(Exception):  # a language that fails costs its colours
            text = self._highlighted(code, language)
            if text.plain == code:
                return _by_line(text)
        return None

    def _highlighted(self, code: str, language: str) -> Text:
        from rich.syntax import Syntax

        text = Syntax("", language, theme=self._theme).highlight(code)
        added = len(text.plain) - len(code)  # the end of the last line
        if added > 0:
            text.right_crop(added)
        return text

    @cached_property
    def _languages(self) -> frozenset[str]:
        from pygments.lexers import get_all_lexers

        # Those that come along: others would be looked for in all that is installed.
        return frozenset(name for _, names, _, _ in get_all_lexers(plugins=False) for name in names)

    @cached_property
    def _theme(self) -> ANSISyntaxTheme:
        from pygments.token import string_to_tokentype
        from rich.style import Style as RichStyle
        from rich.syntax import ANSISyntaxTheme

        return ANSISyntaxTheme(
            {string_to_tokentype(token): RichStyle.parse(style) for token, style in _STYLES.items()}
        )


def _by_line(text: Text) -> list[Sequence[Span]]:
    lines: list[list[Span]] = [[]]
    for span in _spans(text):
        first, *others = span.text.split("\n")
        lines[-1].append(Span(first, span.style))
        lines.extend([Span(other, span.style)] for other in others)
    return [[span for span in line if span.text] for line in lines]


def _spans(text: Text) -> Iterator[Span]:
    """The whole of a text whose styles do not overlap."""
    at = 0
    for start, end, style in text.spans:
        yield Span(text.plain[at:start])
        yield Span(text.plain[start:end], cast("Style", str(style)))
        at = end
    yield Span(text.plain[at:])
