"""Which scenarios apply to a host, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping

from onplan.errors import OnplanError
from onplan.testing.scenarios import Host, Scenario, check, load_scenarios

SCENARIOS = load_scenarios()

NEEDS: dict[str, str] = {
    "compaction": "a graph's messages are its own channel, and middleware of theirs makes them shorter",
    "hooks": "hooks are those of onplan's own loop; a graph has nodes, an agent has middleware",
    "limits": "LangGraph has its recursion limit, LangChain its limit middleware",
    "parallel": "the two frameworks settle what runs side by side, and onplan's mark is not theirs",
    "store": "a checkpointer that fails ends the run with its own error",
}
"""Needs that no LangGraph host meets."""

_STUMBLES = "what is done about a stumbling model is the agent's, not the plan's"
_NOTICE = "the result of a lost call says that it was interrupted; there is no notice beside it"
_RUNNING = "a running thread takes no changes from outside"
_NOBODY = "an interrupt waits for its answer: that nobody is there is not one"

SHARED: dict[str, str] = {
    "a_crash_after_the_message_keeps_it": "LangGraph goes on with a thread as if nothing had happened",
    "a_crash_before_any_start_executed_nothing": "nobody notes down that a call began",
    "a_crash_in_a_call_is_interrupted": _NOTICE,
    "resuming_twice_adds_nothing": _NOTICE,
    "an_accepted_write_survives_a_crash": "plan calls are answered in one update",
    "an_interrupt_leaves_no_call_without_result": "for the thread a cancelled run has crashed",
    "an_interrupt_while_waiting_for_the_model": "a cancelled run leaves no trace, no notice either",
    "an_interrupted_reply_keeps_its_text": "a reply that did not come to its end is in no update",
    "a_cut_stream_keeps_its_text": "a reply that did not come to its end is in no update",
    "an_interrupt_at_the_question_runs_nothing": "a question that is left open can be answered later",
    "a_paused_reply_is_asked_to_go_on": "a paused reply has no calls, and that ends the run",
    "a_reply_cut_by_its_length_goes_on": _STUMBLES,
    "an_empty_reply_is_asked_again": _STUMBLES,
    "stumbles_count_in_a_row": _STUMBLES,
    "the_same_call_five_times_ends_the_turn": "calls of other tools are counted by nobody here",
    "a_write_keeps_an_edit_that_it_could_not_know": _RUNNING,
    "an_edit_that_does_not_fit_refuses_the_write": _RUNNING,
    "an_edit_during_a_turn_reaches_the_next_request": _RUNNING,
    "undo_and_redo_are_revisions": "of several changes to the channel between two runs the last one is seen",
    "a_missing_person_counts_before_open_todos": _NOBODY,
    "a_person_who_left_denies_like_nobody": _NOBODY,
    "nobody_to_ask_denies_and_goes_on": _NOBODY,
    "a_tool_is_allowed_for_the_session": "the program that answers interrupts remembers what it likes",
}
"""Scenarios that neither the graph nor the middleware can play, or play otherwise."""


def playable(exceptions: Mapping[str, str]) -> list[Scenario]:
    """The scenarios that apply to a host with these exceptions."""
    return [item for item in SCENARIOS if item.name not in exceptions and not NEEDS.keys() & set(item.needs)]


def excepted(exceptions: Mapping[str, str]) -> list[Scenario]:
    return [item for item in SCENARIOS if item.name in exceptions]


async def differences(host: Host, scenario: Scenario) -> list[str]:
    """Where the host does otherwise than the scenario says; also that it cannot play it at all."""
    try:
        return check(scenario, await host.play(scenario))
    except OnplanError as error:
        return [str(error)]
