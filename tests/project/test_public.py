"""The public face: its names, what importing it costs, and the contracts between its layers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

import onplan

ROOT = Path(__file__).resolve().parents[2]


def test_the_public_names_are_these_and_resolve():
    assert sorted(onplan.__all__) == snapshot(
        [
            "Agent",
            "Allow",
            "Answer",
            "Ask",
            "Continue",
            "Ctx",
            "DIALECTS",
            "Deny",
            "Dialect",
            "Hooks",
            "Injected",
            "Limits",
            "OnplanError",
            "Plan",
            "PlanError",
            "PlanMemory",
            "Reminder",
            "ReminderPolicy",
            "Result",
            "Rewrite",
            "Rules",
            "Todo",
            "ToolError",
            "ToolOutput",
            "Veto",
            "__version__",
            "coding_agent",
            "run_sync",
            "settings",
            "tool",
        ]
    )
    for name in onplan.__all__:
        assert getattr(onplan, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = onplan.nothing  # type: ignore[attr-defined]


def test_the_plan_engine_loads_without_anything_but_the_standard_library():
    code = (
        "import sys; from onplan import PlanMemory; PlanMemory().call('write_todos', {'todos': []});"
        "import importlib.metadata as m;"
        "ours = {'msgspec', 'click', 'rich', 'wcwidth', 'platformdirs', 'pathspec', 'asyncio'};"
        "print(sorted(ours & {name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_import_contracts_hold():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([str(lint), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Contracts: 3 kept, 0 broken." in done.stdout


def test_the_loop_knows_no_plan_no_permission_and_no_vendor():
    code = (
        "import sys; import onplan.loop;"
        "print(sorted(name for name in sys.modules if name.startswith('onplan.')"
        " and name.split('.')[1] in ('plan', 'planning', 'permissions', 'models', 'tools', 'stores')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
