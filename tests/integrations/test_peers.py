"""The page about planning tools of others says what they do as installed."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from peer_hosts import behaviour, inapplicable

from onplan.testing.scenarios import AnswerData, PlanSeen, Scenario, load_scenarios

ROOT = Path(__file__).parents[2]
SCENARIOS = {scenario.name: scenario for scenario in load_scenarios()}


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_peers", ROOT / "bench" / "peers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_writes(bench: ModuleType):
    page = bench.PAGE.read_text()
    installed = [f"{peer.name} ({peer.release})" for peer in bench.peers()]
    if not all(told in page for told in installed):
        pytest.skip(f"the page was written for other releases than {'; '.join(installed)}")
    assert stable(bench.written(page, bench.report())) == stable(page)


def stable(page: str) -> list[str]:
    """The page without the numbers of scenarios that do not apply: they grow with every new one."""
    lines = [line for line in page.splitlines() if not line.startswith("Does not apply to ")]
    return [re.sub(r" \d+ \|$", "", line) for line in lines]


def test_every_difference_has_its_words(bench: ModuleType):
    for peer in bench.peers():
        found = bench.cells(peer, list(SCENARIOS.values()))
        assert {name for name, cell in found.items() if cell != bench.AS_STATED} == set(
            bench._WORDS[peer.name]
        )


def test_what_is_asked_of_others_has_no_words_and_no_revisions():
    plain = behaviour(SCENARIOS["two_writes_in_one_reply"]).expect
    assert plain.answers["c1"] == AnswerData(outcome="ok")
    assert plain.plans is not None
    assert plain.plans[0] == PlanSeen(todos=("[x] A", "[~] B"))
    assert (plain.revision, plain.stats, plain.reminders, plain.told) == (None, {}, None, ())


def applying(*tools: str) -> list[Scenario]:
    return [scenario for scenario in SCENARIOS.values() if inapplicable(scenario, tools) is None]


def test_no_scenario_is_held_against_a_tool_that_lacks_its_feature():
    for scenario in applying("write_todos"):
        assert (scenario.needs, scenario.settings.dialect) == ((), "write_todos")
        calls = {call.name for turn in scenario.turns for reply in turn.replies for call in reply.calls}
        assert "read_todos" not in calls
    assert len(applying("write_todos", "read_todos")) > len(applying("write_todos")) > 10
