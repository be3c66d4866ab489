"""The player's run: what the page gets at a step is what the log says there, whole or piece by piece."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_logs import BEGAN, STARTED, TOOLS, logs, long_log, stamped

from onplan.events import ApprovalRequested, Compacted, Decided, PlanEdited, ToolStarted, TurnEnded
from onplan.messages import Assistant, Call, Media, Message, Note, Text, ToolResult, Usage, User, model_text
from onplan.models.prices import load_prices
from onplan.plan.changes import Written
from onplan.plan.stored import outcome_to_json
from onplan.plan.todo import Plan
from onplan.planning import plan_of
from onplan.protocols import SessionInfo
from onplan.session import Stamped, compacted
from onplan.spending import spending_of
from onplan.web.folding import RunFold, run_of
from onplan.web.run import KINDS, NODES, Entry, Phase, Run, RuntimeParam, Steps

INFO = SessionInfo("a1b2c3d4", "/work", title="A job")
PRICES = load_prices()


def run(log: list[Stamped], **more: Any) -> Run:
    return run_of(INFO, log, prices=PRICES, **more)


def joined(whole: Run, piece: Run) -> Run:
    """A run with the piece that came after it, as the page puts them together."""
    columns = {
        name: getattr(whole.steps, name) + getattr(piece.steps, name) for name in Steps.__struct_fields__
    }
    phases = {item.index: item for item in (*whole.phases, *piece.phases)}
    costs = {item.index: item for item in (*whole.costs, *piece.costs)}
    appended = ("messages", "calls", "verdicts", "asked", "revisions", "windows", "prefixes")
    return msgspec.structs.replace(
        whole,
        seq=piece.seq,
        session=piece.session,
        steps=Steps(**columns),
        phases=tuple(phases[n] for n in sorted(phases)),
        costs=tuple(costs[n] for n in sorted(costs)),
        tools=whole.tools if piece.tools is None else piece.tools,
        **{name: getattr(whole, name) + getattr(piece, name) for name in appended},
    )


def window_texts(whole: Run, step: int) -> list[str]:
    """The texts of the context window at a step, by the rule that docs/player.md gives."""
    window = [item for item in whole.windows if item.step <= step][-1]
    numbers = [n for first, end in window.base for n in range(first, end)]
    numbers += range(window.since, whole.steps.messages[step])
    return [window.shortened.get(str(n), _text(whole, whole.messages[n])) for n in numbers]


def _text(whole: Run, entry: Entry) -> str:
    calls = [whole.calls[part.call] for part in entry.parts if part.kind == "call"]
    sent = [f"{call.name} {msgspec.json.encode(call.arguments).decode()}" for call in calls]
    return "\n".join([*(part.text for part in entry.parts if part.kind != "call"), *sent])


# --- properties -------------------------------------------------------------------------------------


@given(logs())
@settings(deadline=None, max_examples=40)
def test_a_run_and_the_pieces_after_it_are_the_whole_run_at_every_prefix(log: list[Stamped]):
    fold = RunFold(PRICES)
    grown = fold.run(INFO)
    for number, item in enumerate(log, 1):
        before = grown
        fold.fold(item)
        grown = joined(before, fold.run(INFO, after=number - 1)) if number > 1 else fold.run(INFO)
        assert grown == run(log[:number])
    for after in range(1, len(log)):
        assert joined(run(log[:after]), fold.run(INFO, after=after)) == grown


@given(logs())
@settings(deadline=None, max_examples=50)
def test_plan_and_distance_of_a_step_are_those_of_the_log_up_to_there(log: list[Stamped]):
    whole = run(log)
    for step in range(len(log)):
        state = plan_of([item.record for item in log[: step + 1]])
        count = whole.steps.revisions[step]
        shown = whole.revisions[count - 1] if count else None
        assert (shown.number if shown else 0) == state.ledger.revision
        todos = [(todo.content, todo.status) for todo in shown.todos] if shown else []
        assert todos == [(todo.content, todo.status) for todo in state.plan]
        distance = (whole.steps.distance[step], whole.steps.distance_tokens[step])
        assert distance == (state.distance.messages, state.distance.tokens)


@given(logs())
@settings(deadline=None, max_examples=50)
def test_the_context_window_of_a_step_is_what_the_model_would_see(log: list[Stamped]):
    whole = run(log)
    view: list[Message] = []
    for step, record in enumerate(item.record for item in log):
        match record:
            case Compacted():
                view = compacted(view, record)
            case User() | Assistant() | ToolResult() | Note():
                view.append(record)
            case _:
                pass
        assert window_texts(whole, step) == [model_text(message) for message in view]


@given(logs())
@settings(deadline=None, max_examples=50)
def test_costs_are_those_of_the_spending_of_the_session(log: list[Stamped]):
    whole = run(log)
    spending = spending_of([item.record for item in log], PRICES)
    expected = {name: (spent.usage, spent.requests, spent.cost) for name, spent in spending.todos.items()}
    if spending.unplanned.requests:
        unplanned = spending.unplanned
        expected[""] = (unplanned.usage, unplanned.requests, unplanned.cost)
    assert {cost.content: (cost.usage, cost.requests, cost.cost) for cost in whole.costs} == expected
    total, shown = spending.total.cost, whole.steps.cost[-1]
    assert shown == (None if total is None else pytest.approx(total, abs=1e-6))


@given(logs())
@settings(deadline=None, max_examples=50)
def test_columns_are_of_one_length_and_every_number_leads_somewhere(log: list[Stamped]):
    whole = run(log)
    assert {len(getattr(whole.steps, name)) for name in Steps.__struct_fields__} == {len(log)}
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Run) == whole
    assert all(number < len(NODES) for number in whole.steps.node)
    assert all(number < len(KINDS) for number in whole.steps.kind)
    assert all(-1 <= number < len(whole.calls) for number in whole.steps.call)
    for number, call in enumerate(whole.calls):
        parts = whole.messages[call.message].parts
        assert number in [part.call for part in parts if part.kind == "call"]
    for phase in whole.phases:
        assert phase.end is None or phase.start < phase.end
        assert (phase.end is None) == (phase.outcome == "open")


# --- what a step shows ------------------------------------------------------------------------------


def plan_result(call_id: str, number: int, *todos: str) -> ToolResult:
    marks = {" ": "pending", "~": "in_progress", "x": "completed"}
    plan = Plan.of([{"content": todo[4:], "status": marks[todo[1]]} for todo in todos])
    return ToolResult(call_id, "write_todos", "ok", details={"plan": outcome_to_json(Written(number, plan))})


def replied(*calls: Call, usage: Usage | None = None) -> Assistant:
    stop = "tool_calls" if calls else "end"
    return Assistant((Text("Well."), *calls), stop, usage or Usage(), "claude-sonnet-5-5")


JOB = [
    STARTED,
    User("Do it."),
    replied(Call("w1", "write_todos", {}), usage=Usage(100, 20)),
    Decided("w1", "allow", "auto"),
    ToolStarted("w1"),
    plan_result("w1", 1, "[~] look", "[ ] write"),
    replied(Call("r1", "read_file", {"path": "a.py"}), usage=Usage(150, 10)),
    ApprovalRequested("r1", "read a.py"),
    Decided("r1", "allow", "person"),
    ToolStarted("r1"),
    ToolResult("r1", "read_file", "line\n" * 3),
    Note("Look at the plan.", "reminder", details={"plan": {"kind": "stale"}}),
    replied(Call("w2", "write_todos", {}), usage=Usage(180, 20)),
    plan_result("w2", 2, "[x] look", "[~] write"),
    PlanEdited(3, ({"content": "write it", "status": "in_progress"},)),
    replied(usage=Usage(220, 5)),
    TurnEnded("done", 3, 4),
]


def test_the_graph_is_lit_and_key_steps_are_told_where_things_happen():
    steps = run(stamped(JOB)).steps
    told = [(NODES[n], KINDS[k]) for n, k in zip(steps.node, steps.kind, strict=True)]
    assert told == [
        ("harness", ""),
        ("user", "user"),
        ("model", ""),
        ("approval", ""),
        ("tools", ""),
        ("tools", "plan"),
        ("model", ""),
        ("approval", "approval"),
        ("approval", "approval"),
        ("tools", ""),
        ("tools", ""),
        ("harness", "reminder"),
        ("model", ""),
        ("tools", "write"),
        ("user", "edit"),
        ("model", ""),
        ("harness", "end"),
    ]


def test_the_distance_climbs_with_each_message_and_falls_to_zero_with_a_write():
    assert run(stamped(JOB)).steps.distance == (0, 1, 2, 2, 2, 0, 1, 1, 1, 1, 2, 3, 4, 0, 0, 1, 1)


def test_a_step_is_told_in_words():
    assert run(stamped(JOB)).steps.title == (
        "The session begins",
        "You: Do it.",
        "The model calls write_todos",
        "write_todos allowed by auto",
        "write_todos runs",
        "write_todos: plan r1: 2 added, 1 started",
        "The model calls read_file a.py",
        "Asked: may read_file run?",
        "read_file allowed by person",
        "read_file runs a.py",
        "read_file: line (+2 lines)",
        "Reminder: stale",
        "The model calls write_todos",
        "write_todos: plan r2: 1 finished, 1 started",
        "Plan edited by you: plan r3: 1 cleared, 1 renamed",
        "The model answers: Well.",
        "The turn ends: done",
    )


def test_a_todo_keeps_its_key_and_has_a_phase_while_it_is_in_progress():
    whole = run(stamped(JOB))
    assert [[todo.key for todo in revision.todos] for revision in whole.revisions] == [[0, 1], [0, 1], [1]]
    assert whole.phases == (
        Phase(0, 0, "look", 5, 13, "completed"),
        Phase(1, 1, "write", 13),
    )


def test_the_context_is_the_providers_count_and_estimates_since():
    whole = run(stamped(JOB))
    prefix = whole.prefixes[0].tokens
    assert whole.steps.context[:3] == (prefix, prefix + 2, 120)
    assert whole.steps.context[5:7] == (120 + 1, 160)


def test_a_question_waits_until_it_is_decided():
    fold = RunFold(PRICES)
    seen: list[list[str]] = []
    for item in stamped(JOB[6:9]):
        fold.fold(item)
        seen.append(list(fold.waiting))
    assert seen == [[], ["r1"], []]


def test_a_result_is_linked_with_its_own_call_when_ids_come_twice():
    calls = [Call("call_0", "read_file", {"path": name}) for name in ("a.py", "b.py")]
    log = [
        STARTED,
        *(item for call in calls for item in (replied(call), ToolResult("call_0", "read_file", "x"))),
    ]
    whole = run(stamped(log))
    assert [entry.call for entry in whole.messages if entry.role == "tool"] == [0, 1]
    assert [call.arguments["path"] for call in whole.calls] == ["a.py", "b.py"]


def test_after_a_compaction_the_window_holds_its_head_the_kept_and_its_tail():
    compaction = Compacted(
        "limit",
        2,
        (Note("Before: much.", "summary"),),
        (Note("Plan.", "plan", details={"plan": {"shows": 1}}),),
        {"r1": "(shortened)"},
        900,
        100,
    )
    log = stamped([*JOB[:11], compaction, User("Go on.")])
    whole = run(log)
    assert window_texts(whole, 12) == [
        "Before: much.",
        'Well.\nread_file {"path":"a.py"}',
        "(shortened)",
        "Plan.",
        "Go on.",
    ]
    assert [entry.made for entry in whole.messages[5:]] == [True, True, False]
    assert whole.messages[6].recites
    assert whole.steps.title[11] == "Context compacted: 900 to 100 tokens"
    assert whole.steps.context[11] == 100


def test_what_was_shortened_stays_so_in_later_compactions():
    first = Compacted("limit", 2, shortened={"r1": "(shortened)"})
    whole = run(stamped([*JOB[:11], first, User("On."), Compacted("limit", 3)]))
    assert window_texts(whole, 13) == ['Well.\nread_file {"path":"a.py"}', "(shortened)", "On."]


def test_what_the_person_says_meanwhile_is_theirs():
    steps = run(stamped([*JOB[:6], Note("Look at b too.", "steering", "message")])).steps
    told = (NODES[steps.node[-1]], KINDS[steps.kind[-1]], steps.title[-1])
    assert told == ("user", "user", "You, meanwhile: Look at b too.")


def test_images_come_without_their_data():
    media = (Media("image/png", "A" * 4_000, "shot.png"),)
    whole = run(
        stamped([STARTED, replied(Call("c", "read_file", {})), ToolResult("c", "read_file", "", media=media)])
    )
    (medium,) = whole.messages[1].media
    assert (medium.name, medium.size) == ("shot.png", 3_000)
    assert b"AAAA" not in msgspec.json.encode(whole)


def test_the_lens_shows_what_would_leak_without_the_injection():
    runtime = {"read_file": (RuntimeParam("workspace", "Workspace"),)}
    tools = run(stamped([STARTED]), runtime=runtime).tools
    assert tools is not None
    read_file, read_todos = tools
    assert read_file.leaked == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "workspace": {"description": "a Workspace"}},
        "required": ["path", "workspace"],
    }
    assert read_file.leaked_size > read_file.seen_size
    assert (read_todos.input_schema, read_todos.leaked) == (TOOLS[1]["input_schema"],) * 2


def test_a_session_without_a_title_yet_has_what_was_said_first():
    log = stamped([STARTED, User("Mend\nthe  parser."), User("Now.")])
    assert run_of(SessionInfo("a"), log, prices=PRICES).session.title == "Mend the parser."
    assert run(log).session.title == "A job"


def test_a_log_without_records_is_an_empty_run():
    whole = run([])
    assert (whole.seq, whole.steps, whole.messages, whole.session.title) == (0, Steps(), (), "A job")


def test_times_are_milliseconds_since_the_beginning():
    whole = run(stamped(JOB[:3]))
    assert whole.steps.at == (0, 250, 500)
    assert (whole.session.created, whole.session.updated) == (BEGAN, BEGAN + 0.5)


# --- keys -------------------------------------------------------------------------------------------

KEY = "sk-ant-api03-" + "a1B2" * 12


@pytest.mark.parametrize(
    "record",
    [
        User(f"my key:\n{KEY}"),
        replied(Call("c", "bash", {"command": f"echo\n{KEY}", KEY: [{"deep": KEY}]})),
        replied(Call("c", "bash", f'{{"broken": "{KEY}')),
        ToolResult("c", "bash", f"line\n{KEY}\n", details={"diff": f"+{KEY}", "other": [KEY]}),
        PlanEdited(1, ({"content": f"use {KEY}", "status": "pending"},)),
        Note(KEY, "notice"),
        ApprovalRequested("c", KEY, KEY),
        Decided("c", "deny", "rule", KEY, KEY, {"command": KEY}),
        Compacted("limit", 0, (Note(KEY, "summary"),), (Note(KEY, "plan"),), {"c": KEY}, error=KEY),
        TurnEnded("model_error", error=KEY),
    ],
    ids=lambda record: type(record).__name__,
)
def test_no_key_is_in_a_run_wherever_it_was_said(record: Any):
    log = stamped([msgspec.structs.replace(STARTED, system=KEY, cwd=f"/{KEY}"), record])
    info = msgspec.structs.replace(INFO, title=KEY)
    body = msgspec.json.encode(run_of(info, log, prices=PRICES))
    assert KEY.encode() not in body
    assert b"[masked]" in body
    assert KEY.encode() in msgspec.json.encode(run_of(info, log, prices=PRICES, masked=False))


@given(st.text(max_size=3), st.text(st.characters(exclude_categories=["L", "N"]), max_size=2))
@settings(deadline=None, max_examples=50)
def test_no_key_is_in_a_run_whatever_stands_in_front_of_it(before: str, between: str):
    spaced = f"{before}{between} {KEY} {before}\n{KEY}\x1b{KEY}{between}"
    told = [User(spaced), replied(Call("c", "bash", {"command": spaced})), ToolResult("c", "bash", spaced)]
    assert KEY.encode() not in msgspec.json.encode(run(stamped([STARTED, *told])))


def test_a_value_under_the_name_of_a_secret_is_masked():
    call = Call("c", "web_fetch", {"api_key": "q8w7e6r5t4y3u2i1o0", "path": "src/a.py"})
    assert run(stamped([STARTED, replied(call)])).calls[0].arguments == {
        "api_key": "[masked]",
        "path": "src/a.py",
    }


def test_what_the_runtime_fills_names_no_tool_twice():
    from onplan.cli.runs import runtime

    assert runtime()["read_todos"] == (RuntimeParam("state", "State"),)
    assert RuntimeParam("workspace", "Workspace") in runtime()["read_file"]


# --- scale ------------------------------------------------------------------------------------------


def test_a_session_of_twenty_thousand_messages_is_folded_well_before_a_reader_gives_up():
    log = long_log(10_000)
    start = time.process_time()
    whole = run(log)
    took = time.process_time() - start
    assert len(whole.messages) == 20_002
    assert took < 20, took


def test_beyond_its_texts_a_run_of_two_thousand_messages_takes_less_than_two_megabytes():
    text = "line of output\n" * 12
    log = long_log(1_000, text)
    whole = run(log)
    texts = sum(len(msgspec.json.encode(part.text)) for entry in whole.messages for part in entry.parts)
    assert len(whole.messages) == 2_002
    assert len(msgspec.json.encode(whole)) - texts < 2_000_000
