"""Long pasted text as one short mark in the input, and whole again in the message."""

from __future__ import annotations

import re

from onplan.cli.view.words import counted

_LINES = 6
"""Lines from which on a pasted text is folded."""
_CHARACTERS = 1_000

_mark = re.compile(r"\[pasted text (\d+): [\d,]+ (?:line|character)s?\]")


class Pastes:
    """The texts that were pasted since the program began, by the number in their mark."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def folded(self, text: str) -> str:
        """`text` itself if it is short, else a mark that stands for it."""
        lines = text.count("\n") + 1
        if lines < _LINES and len(text) < _CHARACTERS:
            return text
        self._texts.append(text)
        size = counted(lines, "line") if lines > 1 else counted(len(text), "character")
        return f"[pasted text {len(self._texts)}: {size}]"

    def unfolded(self, text: str) -> str:
        """`text` with every whole mark replaced by what it stands for."""
        return _mark.sub(self._text, text)

    def mark_before(self, text: str) -> int:
        """The length of the mark at the end of `text`; 0 where there is none."""
        found = next((one for one in _mark.finditer(text) if one.end() == len(text)), None)
        return len(found[0]) if found and self._text(found) != found[0] else 0

    def _text(self, mark: re.Match[str]) -> str:
        number = int(mark[1])
        return self._texts[number - 1] if 0 < number <= len(self._texts) else mark[0]
