"""Sessions: an append-only log with one writer; messages, repair and request prefix are folds over it.

Knows no plan, model or tool. Forks are in `onplan.session.forking`, which most processes never need.
"""

from onplan.session.conversation import compacted, is_plan_block
from onplan.session.inbox_request import InboxRequest, leave_request
from onplan.session.log import Clock, Fold, Session, new_id
from onplan.session.reading import Stamped, read
from onplan.session.repair import missing_results

__all__ = [
    "Clock",
    "Fold",
    "InboxRequest",
    "Session",
    "Stamped",
    "compacted",
    "is_plan_block",
    "leave_request",
    "missing_results",
    "new_id",
    "read",
]
