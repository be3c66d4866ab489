"""What `play` and `export` share: a session folded for the player, and whether keys are masked in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onplan.cli.logs import SessionLog
    from onplan.web.lens import Runtime
    from onplan.web.run import Run


def masks() -> bool:
    """Whether what looks like a key is masked: unless environment or settings of the person say otherwise."""
    from onplan.settingsfile import places, user_settings

    return not os.environ.get("ONPLAN_SHOW_SECRETS") and user_settings(places()).mask_secrets is not False


def runtime() -> Runtime:
    """What the runtime fills of each tool of the coding agent. A plan tool gets the plan itself."""
    from onplan.coding import coding_tools
    from onplan.plan.dialect import DIALECTS
    from onplan.web.lens import runtime_of
    from onplan.web.run import RuntimeParam

    plan = (RuntimeParam("state", "State"),)
    planning = {name: plan for dialect in DIALECTS.values() for name in dialect.tool_names}
    return {**planning, **runtime_of(coding_tools())}


def folded(log: SessionLog, *, masked: bool) -> Run:
    """The session as the player shows it."""
    from onplan.models.prices import load_prices
    from onplan.web.folding import run_of

    return run_of(log.info, log.stamped, prices=load_prices(), runtime=runtime(), masked=masked)
