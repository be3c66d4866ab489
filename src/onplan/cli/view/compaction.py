"""A compaction in words: what became shorter, by how much, and what the model wrote about it."""

from __future__ import annotations

from collections.abc import Iterator

from onplan.cli.view.screen import Line, Prose, Span
from onplan.cli.view.words import counted
from onplan.events import Compacted
from onplan.messages import Note

_WHY = {
    "limit": "near the model's limit",
    "too_long": "too long for the model",
    "asked": "asked for by you",
}


def compaction_words(record: Compacted, summed_up: int | None = None) -> str:
    """What happened, on one line. `summed_up`: how many messages gave way to the summary, where known."""
    parts = [f"{_older(summed_up)} summed up"] if _summary(record) else []
    parts += [f"{counted(len(record.shortened), 'result')} shortened"] if record.shortened else []
    done = ", ".join(parts) or "nothing became shorter"
    sizes = f"about {record.before:,} tokens before, {record.after:,} now"
    failed = f"; no summary: {record.error}" if record.error else ""
    return f"compacted ({_WHY[record.reason]}): {done}; {sizes}{failed}"


def compaction_lines(record: Compacted, summed_up: int) -> Iterator[Line]:
    """The same, and the summary below it."""
    style = "yellow" if record.error else "cyan"
    yield Prose((Span(f"  {compaction_words(record, summed_up)}", style),), 4)
    if record.focus:
        yield Prose((Span(f"    to keep in mind: {record.focus}", "dim"),), 6)
    for line in _summary(record).splitlines():
        if line.strip():
            yield Prose((Span(f"    │ {line}", "dim"),), 6)


def _older(summed_up: int | None) -> str:
    return "the oldest messages" if summed_up is None else counted(summed_up, "message")


def _summary(record: Compacted) -> str:
    """The model's own words."""
    for note in record.head:
        if isinstance(note, Note) and note.kind == "summary":
            _, _, text = note.text.removesuffix("\n</summary>").partition("\n\n")
            return text
    return ""
