"""What the input is read for, and how that and what was entered look."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from prompt_toolkit.document import Document

from onplan.cli.conversation import Choice, choice_lines
from onplan.cli.view.screen import Line, Prose, Span
from onplan.cli.view.words import counted

MARK = "› "
_ECHOED = 8
"""Lines of a message that are printed behind its first."""

Kind: TypeAlias = Literal["message", "line", "key"]


@dataclass(slots=True)
class Reading:
    """`answer` gets what was entered, an exception, or `None` for nobody. `stood`: the text whose place a
    question took."""

    kind: Kind
    prompt: str
    answer: asyncio.Future[Any]
    choices: Sequence[Choice] = ()
    stood: Document | None = None


def mark_of(reading: Reading | None) -> str:
    """What stands in front of the input: at a question that takes a key, which ones."""
    keys = "/".join(choice.key for choice in reading.choices) if reading else ""
    return f"{keys} {MARK}" if keys else MARK


def question_lines(reading: Reading | None) -> Iterator[Line]:
    """What is asked, and the answers that there are."""
    if reading is None:
        return
    if reading.prompt:
        yield Prose((reading.prompt,), 0)
    yield from choice_lines(reading.choices)


def echoed(text: str) -> Iterator[Line]:
    """A message of the person as it is printed, apart from what is above it; of a long one its beginning."""
    first, *others = text.strip().split("\n")
    yield ()
    yield Prose((Span(f"{MARK}{first}", "bold"),))
    yield from ((Span(f"  {other}", "bold"),) for other in others[:_ECHOED])
    if len(others) > _ECHOED:
        yield (Span(f"  … {counted(len(others) - _ECHOED, 'more line')}", "dim"),)
