"""`onplan scenarios` shows what the suite checks, and says so where something differs."""

from __future__ import annotations

from command_line import onplan

from onplan.testing.scenarios import load_scenarios


def test_every_scenario_is_played_and_counted() -> None:
    ran = onplan("scenarios")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert ran.stdout == f"{len(load_scenarios())} scenarios, none differing\n"


def test_a_named_scenario_is_shown_as_a_conversation_with_the_distance_of_the_plan() -> None:
    ran = onplan("scenarios", "todo_shows_ids")
    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[1:12] == [
        "  user  plan 1 from the end",
        "    Start.",
        "  model  plan 2 from the end",
        "    → todo (3 items)",
        "  todo → ok  plan 0 from the end",
        "    [x] #a: First",
        "    [>] #b: Second",
        "    [ ] #c: Third",
        "    ",
        "    (1/3 completed)",
        "  model  plan 1 from the end",
    ]
    assert ran.stdout.splitlines()[-1] == "  as it must be"


def test_the_list_names_every_scenario() -> None:
    out = onplan("scenarios", "--list").stdout
    assert all(scenario.name in out for scenario in load_scenarios())


def test_an_unknown_name_is_a_usage_error_with_the_way_out() -> None:
    ran = onplan("scenarios", "nothing_of_the_sort")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "no scenario is named 'nothing_of_the_sort'" in ran.stderr
