"""Every scenario that applies to it on LangChain's agent with `PlanMiddleware`, sync and async."""

from __future__ import annotations

import pytest
from applying import NEEDS, SHARED, differences, excepted, playable
from hosts import Middleware, ThreadHost

from onplan.testing.scenarios import Scenario, check

EXCEPTIONS = SHARED | {
    "a_denial_carries_the_reason": "a rejection is told in HumanInTheLoopMiddleware's way",
    "a_rejected_call_leaves_the_others_to_run": "a rejection is told in HumanInTheLoopMiddleware's way",
    "a_reminder_follows_all_results": "a reminder is stored with the reply to it, so not without one",
    "an_unknown_tool_is_answered_with_the_names": "LangGraph's tool node has its own words for that",
    "planning_off_offers_nothing": "LangGraph's tool node has its own words for an unknown tool",
}


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("scenario", playable(EXCEPTIONS), ids=lambda scenario: scenario.name)
async def test_the_middleware_behaves_as_the_scenario_says(scenario: Scenario, sync: bool) -> None:
    assert check(scenario, await ThreadHost(Middleware(), sync=sync).play(scenario)) == []


@pytest.mark.parametrize("scenario", excepted(EXCEPTIONS), ids=lambda scenario: scenario.name)
async def test_no_exception_outlives_its_reason(scenario: Scenario) -> None:
    assert await differences(ThreadHost(Middleware(), sync=True), scenario)


def test_exceptions_name_scenarios_and_argue_in_one_line() -> None:
    assert set(EXCEPTIONS) == {scenario.name for scenario in excepted(EXCEPTIONS)}
    assert all(reason and "\n" not in reason for reason in (*EXCEPTIONS.values(), *NEEDS.values()))
