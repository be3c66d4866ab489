"""What the prompt asks of the one who owns it, as values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from onplan.cli.view.screen import Line, Spans

Offer: TypeAlias = tuple[str, str]
"""What may be typed, and what it means."""


async def no_offers(_: str) -> Sequence[Offer]:
    return ()


@dataclass(frozen=True, slots=True)
class Handlers:
    """What the prompt asks of the one who owns it. All are quick and raise nothing.

    `live`: what is in progress; `status`: the last line, for a width. `words`: Enter while no
    message is waited for. `interrupt`: Ctrl-C. `escape`: Esc. `offers`: what may follow a command. `unfold`,
    `plan`: Ctrl-O, Ctrl-T.
    """

    live: Callable[[], Iterable[Line]] = lambda: ()
    status: Callable[[int], Spans] = lambda _: ()
    words: Callable[[str], object] = lambda _: None
    interrupt: Callable[[], object] = lambda: None
    escape: Callable[[], object] = lambda: None
    offers: Callable[[str], Awaitable[Sequence[Offer]]] = no_offers
    unfold: Callable[[], object] = lambda: None
    plan: Callable[[], object] = lambda: None
