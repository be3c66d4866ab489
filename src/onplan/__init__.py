"""onplan: a terminal coding agent that stays on plan, and the planning memory inside it as a library.

Names are imported when they are first used, so `import onplan` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onplan._version import __version__

if TYPE_CHECKING:
    from onplan.agent import Agent as Agent
    from onplan.agent import Result as Result
    from onplan.agent import run_sync as run_sync
    from onplan.coding import coding_agent as coding_agent
    from onplan.errors import OnplanError as OnplanError
    from onplan.errors import PlanError as PlanError
    from onplan.errors import ToolError as ToolError
    from onplan.hooks import Allow as Allow
    from onplan.hooks import Ask as Ask
    from onplan.hooks import Continue as Continue
    from onplan.hooks import Deny as Deny
    from onplan.hooks import Hooks as Hooks
    from onplan.hooks import Rewrite as Rewrite
    from onplan.hooks import Veto as Veto
    from onplan.parts import Limits as Limits
    from onplan.plan.answer import Answer as Answer
    from onplan.plan.dialect import DIALECTS as DIALECTS
    from onplan.plan.dialect import Dialect as Dialect
    from onplan.plan.memory import PlanMemory as PlanMemory
    from onplan.plan.reminder import Reminder as Reminder
    from onplan.plan.settings import ReminderPolicy as ReminderPolicy
    from onplan.plan.settings import settings as settings
    from onplan.plan.todo import Plan as Plan
    from onplan.plan.todo import Rules as Rules
    from onplan.plan.todo import Todo as Todo
    from onplan.toolset import Ctx as Ctx
    from onplan.toolset import Injected as Injected
    from onplan.toolset import ToolOutput as ToolOutput
    from onplan.toolset import tool as tool

_HOMES = {
    "Agent": "agent",
    "Result": "agent",
    "run_sync": "agent",
    "coding_agent": "coding",
    "OnplanError": "errors",
    "PlanError": "errors",
    "ToolError": "errors",
    "Allow": "hooks",
    "Ask": "hooks",
    "Continue": "hooks",
    "Deny": "hooks",
    "Hooks": "hooks",
    "Rewrite": "hooks",
    "Veto": "hooks",
    "Limits": "parts",
    "Answer": "plan.answer",
    "DIALECTS": "plan.dialect",
    "Dialect": "plan.dialect",
    "PlanMemory": "plan.memory",
    "Reminder": "plan.reminder",
    "ReminderPolicy": "plan.settings",
    "settings": "plan.settings",
    "Plan": "plan.todo",
    "Rules": "plan.todo",
    "Todo": "plan.todo",
    "Ctx": "toolset",
    "Injected": "toolset",
    "ToolOutput": "toolset",
    "tool": "toolset",
}

__all__ = ["__version__", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll] - a test pins the names


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'onplan' has no attribute {name!r}")
    return getattr(import_module(f"onplan.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
