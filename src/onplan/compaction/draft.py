"""What a compaction of a conversation would come to: where it is cut, what stays, what stands in for results.

Pure, and asks no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from onplan.events import Compacted
from onplan.messages import Assistant, Message, Note, ToolResult, User, estimate
from onplan.session import compacted

Reason: TypeAlias = Literal["limit", "too_long", "asked"]

_STAND_IN = 400
"""Characters that are left of an old result."""
_LEAST = 0.1
"""Share of the conversation that has to be gained: one that gains less would come again soon."""
_SUMMARY = (300, 4_000)
"""The least and the most tokens of a summary; in between a quarter of what it stands for."""


class Draft(msgspec.Struct, frozen=True):
    """What a compaction of `messages` could come to.

    `sizes`: estimates, one for each message; a provider counts `scale` times as much. `cut`: the messages
    from there on stay, in at most `most_kept` estimated tokens. `limit`: what the shares are taken of, which
    for a conversation that the person wants shorter, or that the model refused, is its own length.
    """

    messages: Sequence[Message]
    sizes: Sequence[int]
    fixed: int
    before: int
    scale: float
    limit: int
    cut: int
    most_kept: int
    block: Callable[[], Note | None]

    @classmethod
    def of(
        cls,
        messages: Sequence[Message],
        tokens: int,
        fixed: int,
        limit: int,
        room: int,
        most_kept: int,
        block: Callable[[], Note | None],
    ) -> Draft:
        sizes = [estimate(message) for message in messages]
        scale = tokens / max(1, fixed + sum(sizes)) or 1.0
        cut = cut_for(messages, sizes, int(room / scale))
        return cls(messages, sizes, fixed, tokens, scale, limit, cut, int(most_kept / scale), block)

    @property
    def summary_size(self) -> int:
        """Tokens that a summary may have."""
        least, most = _SUMMARY
        return min(most, max(least, sum(self.sizes[: self.cut]) // 4))

    @property
    def is_worth_a_summary(self) -> bool:
        gone = sum(self.sizes[: self.cut]) - sum(map(estimate, words_of_person(self.messages, self.cut)))
        return self.scale * (gone - self.summary_size) >= _LEAST * self.limit

    def gains(self, record: Compacted) -> bool:
        """Whether it is worth beginning the provider's cache anew."""
        return record.before - record.after > _LEAST * self.limit

    def shorter(self, reason: Reason) -> Compacted:
        """Every message stays; results are shortened, all old ones and what is too long in the newest."""
        stand_ins = _stand_ins(self.messages[: self.cut], _STAND_IN)
        return self._counted(Compacted(reason, len(self.messages), shortened=stand_ins | self._fitted()))

    def summarised(self, reason: Reason, summary: Note) -> Compacted:
        """The messages before the cut give way to the summary."""
        words = words_of_person(self.messages, self.cut)
        kept = len(self.messages) - self.cut
        return self._counted(Compacted(reason, kept, (*words, summary), shortened=self._fitted()))

    def _fitted(self) -> dict[str, str]:
        """What stands in for results of the kept messages where these would fill the room again at once."""
        kept = self.messages[self.cut :]
        if sum(self.sizes[self.cut :]) <= self.most_kept:
            return {}
        results = sum(isinstance(message, ToolResult) for message in kept)
        return _stand_ins(kept, max(_STAND_IN, 4 * self.most_kept // max(1, results)))

    def _counted(self, record: Compacted) -> Compacted:
        """With what stands behind it, and the tokens before and after."""
        block = self.block()
        record = replace(record, tail=(block,) if block else (), before=self.before)
        view = compacted(self.messages, record)
        return replace(record, after=round(self.scale * (self.fixed + sum(map(estimate, view)))))

    def readable(self, share: float) -> Sequence[Message]:
        """The messages that are to be summed up, with shortened results, or without the oldest, where they
        would not fit into `share` of the limit themselves."""
        room = int(share * self.limit / self.scale) - self.fixed - self.summary_size
        older = self.messages[: self.cut]
        if sum(self.sizes[: self.cut]) <= room:
            return older
        kept = len(older)
        older = compacted(older, Compacted("limit", kept, shortened=_stand_ins(older, _STAND_IN)))
        start = cut_for(older, [estimate(message) for message in older], room)
        note = Note("<notice>What was before is left out here.</notice>", "compaction", "message")
        return (note, *older[start:]) if start else older


# --- where a conversation may be cut ----------------------------------------------------------------


def boundaries(messages: Sequence[Message]) -> list[int]:
    """The places where a conversation may be cut: no call is parted from its results, and what comes behind
    begins with a reply, or with words that stand alone."""
    found = [0]
    waiting = 0
    for position, message in enumerate(messages):
        if position and waiting <= 0 and not _follows(message):
            found.append(position)
        match message:
            case Assistant():
                waiting = len(message.calls)
            case ToolResult():
                waiting -= 1
            case _:
                pass
    return found


def _follows(message: Message) -> bool:
    return isinstance(message, ToolResult) or (isinstance(message, Note) and message.placement == "beside")


def cut_for(messages: Sequence[Message], sizes: Sequence[int], room: int) -> int:
    """The first boundary behind which there are at most `room` tokens, but not behind the beginning of the
    newest round, or of the request that is to be answered: these stay whatever they take."""
    places = [n for n in boundaries(messages) if n < len(messages)]
    newest = max((n for n in places if isinstance(messages[n], (Assistant, User))), default=0)
    left, start = sum(sizes), 0
    for place in places:
        left, start = left - sum(sizes[start:place]), place
        if left <= room or place == newest:
            return place
    return newest


def words_of_person(messages: Sequence[Message], cut: int) -> tuple[Message, ...]:
    """What the person asked for last, and what they said while that was worked on, as far as it stands before
    the cut: word for word."""
    asked = max((n for n, message in enumerate(messages) if isinstance(message, User)), default=len(messages))
    return tuple(message for message in messages[asked:cut] if _is_of_person(message))


def _is_of_person(message: Message) -> bool:
    return isinstance(message, User) or (isinstance(message, Note) and message.kind == "steering")


# --- results ----------------------------------------------------------------------------------------


def _stand_ins(messages: Sequence[Message], room: int) -> dict[str, str]:
    results = [message for message in messages if isinstance(message, ToolResult)]
    return {result.call_id: short for result in results if (short := _stand_in(result, room)) is not None}


def _stand_in(result: ToolResult, room: int) -> str | None:
    """A result's beginning and end in some `room` characters, and what is left out; `None` if it is short."""
    text = result.content
    gone = f"\n(images and PDFs no longer shown: {len(result.media)})" if result.media else ""
    if len(text) + len(gone) > room * 3 // 2:  # so much more that what stands in is never shortened again
        head, tail = room * 5 // 8, room * 2 // 8
        left_out = len(text) - head - tail
        text = f"{text[:head]}\n[{left_out:,} characters left out; call again if they matter]\n{text[-tail:]}"
    return text + gone if gone or text != result.content else None
