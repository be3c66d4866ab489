"""The words around a summary: how the model is asked for one, and how its answer is made harmless."""

from __future__ import annotations

import re

from onplan.messages import Assistant, Note
from onplan.plan.text import disarm, is_blank, printable

# Compiled when they are first needed: most sessions never are that long.
_OUR_TAGS = r"(?i)<(?=[\s/]*(?:summary|notice)(?![\w-]))"
_MARK = r"(?<!\w)\[[ xX~>-]\]"


def request_for_summary(tokens: int, focus: str) -> Note:
    """What is put behind the messages that are to be summed up, in at most some `tokens`."""
    asked = f" The person asks to keep in mind above all: {focus.strip()}" if focus.strip() else ""
    text = (
        "<notice>The conversation is getting too long. What is above is about to be replaced by a summary "
        "that you write now, for yourself: you go on with nothing else. Say what the person wants and what "
        "they decided; what was done and found out, with the exact names, paths, commands and values that "
        "are still needed; what failed, and why; what was about to be done. Leave the plan's list out: it is "
        "kept apart and shown to you as it is. Call no tool; answer with the summary alone, in at most "
        f"{tokens // 2} words.{asked}</notice>"
    )
    return Note(text, "compaction", "message")


def fault(reply: Assistant) -> str:
    """Why a reply is no summary; empty if it is one. Calls in it are left out."""
    match reply.stop:
        case "refusal":
            return "the model declined to sum up"
        case "length" | "interrupted" | "paused":
            return "the summary was cut off"
        case _:
            return "the summary was empty" if is_blank(reply.text) else ""


def summary_note(text: str, tokens: int) -> Note:
    """The model's words as the next request holds them."""
    return Note(
        "<summary>The conversation was shortened here. A model wrote this about what came before; it may be "
        f"wrong, so check what matters.\n\n{harmless(text, tokens)}\n</summary>",
        "summary",
        "message",
    )


def harmless(text: str, tokens: int) -> str:
    """A model's words in at most some `tokens`, without tags of the harness and marks of todos: a summary
    cannot pose as the plan."""
    plain = disarm(_cut(printable(text.strip()), 4 * tokens))
    # A dot, and not nothing: what is left must not become a mark again.
    return re.sub(_MARK, "·", re.sub(_OUR_TAGS, "‹", plain))


def _cut(text: str, size: int) -> str:
    whole = text.encode("utf-8", "replace")
    return text if len(whole) <= size else whole[:size].decode("utf-8", "ignore").rstrip() + " …"
