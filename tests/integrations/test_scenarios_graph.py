"""Every scenario that applies to it on the first seed's graph, sync and async."""

from __future__ import annotations

import pytest
from applying import SHARED, differences, excepted, playable
from hosts import Graph, ThreadHost

from onplan.testing.scenarios import Scenario, check

PLAYED = (
    "a_paused_reply_is_asked_to_go_on",
    "a_reply_cut_by_its_length_goes_on",
    "an_empty_reply_is_asked_again",
    "stumbles_count_in_a_row",
)
"""Of what the two hosts do otherwise: what the graph does as stated."""

EXCEPTIONS = {name: reason for name, reason in SHARED.items() if name not in PLAYED} | {
    "a_denial_carries_the_reason": "a rejection without a reason is told in the graph's own words",
    "an_accepted_write_survives_the_interrupt": "one update for the whole batch, as in the seed",
}


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("scenario", playable(EXCEPTIONS), ids=lambda scenario: scenario.name)
async def test_the_graph_behaves_as_the_scenario_says(scenario: Scenario, sync: bool) -> None:
    assert check(scenario, await ThreadHost(Graph(), sync=sync).play(scenario)) == []


@pytest.mark.parametrize("scenario", excepted(EXCEPTIONS), ids=lambda scenario: scenario.name)
async def test_no_exception_outlives_its_reason(scenario: Scenario) -> None:
    assert await differences(ThreadHost(Graph(), sync=True), scenario)


def test_exceptions_name_scenarios_and_argue_in_one_line() -> None:
    assert set(EXCEPTIONS) == {scenario.name for scenario in excepted(EXCEPTIONS)}
    assert all(reason and "\n" not in reason for reason in EXCEPTIONS.values())
