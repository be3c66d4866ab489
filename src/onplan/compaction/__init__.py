"""Compaction: a conversation near the model's limit gets shorter, old results first, then the oldest rounds.

Knows no plan: what stands behind a shortened conversation is handed in. A compaction is a record, and what
the model sees a fold over the log (`onplan.session.compacted`), which keeps everything.
"""

from onplan.compaction.draft import Draft, boundaries, cut_for, words_of_person
from onplan.compaction.summary import harmless
from onplan.compaction.watch import Compaction, CompactionPolicy, Objection

__all__ = [
    "Compaction",
    "CompactionPolicy",
    "Draft",
    "Objection",
    "boundaries",
    "cut_for",
    "harmless",
    "words_of_person",
]
