"""What can follow what was typed: commands with their help, their arguments, and files behind an @."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from onplan.cli.repl.commands import commands
from onplan.cli.repl.files import Files, files_of, ranked
from onplan.cli.repl.handlers import Offer
from onplan.plan.text import one_line

_FRESH = 5.0
"""Seconds that a list of files counts."""
_MOST = 40


class PromptCompleter(Completer):
    """`root`: the directory of the files. `arguments`: what may follow a command."""

    def __init__(
        self,
        root: Callable[[], Path],
        arguments: Callable[[str], Awaitable[Sequence[Offer]]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root = root
        self._arguments = arguments
        self._clock = clock
        self._known = Files()
        self._of: Path | None = None
        self._at = 0.0

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """None: all of it is to be had in an event loop only."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        before = document.text_before_cursor
        typed = mentioned(before)
        if typed is None:
            if before.startswith("/"):
                for completion in await self._of_command(before):
                    yield completion
            return
        files = await self._files()
        for path in ranked(files, typed, _MOST):
            told = files.changed.get(path, "")
            yield Completion(path, -len(typed), display=one_line(path), display_meta=told)

    async def _of_command(self, before: str) -> Iterable[Completion]:
        name, blank, rest = before.partition(" ")
        typed = rest.lstrip() if blank else name
        offered = await self._arguments(name) if blank else [(one.name, one.told) for one in commands()]
        return [
            Completion(text, -len(typed), display=one_line(text), display_meta=one_line(told))
            for text, told in offered
            if text.startswith(typed)
        ]

    async def _files(self) -> Files:
        root, now = self._root(), self._clock()
        if self._of != root or now - self._at > _FRESH:
            self._known, self._of, self._at = await files_of(root), root, self._clock()
        return self._known


def mentioned(before: str) -> str | None:
    """What stands behind the @ that the text ends with; `None` if it ends with none."""
    words = before.split()
    if not words or before[-1:].isspace() or not words[-1].startswith("@"):
        return None
    return words[-1][1:]
