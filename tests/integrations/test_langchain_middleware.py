"""`PlanMiddleware` in LangChain's agent, beside other middleware, as its users put it to work."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelRetryMiddleware,
    TodoListMiddleware,
    hook_config,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langchain_parts import Scripted, bash, broken, call, calls, looks, todos, told, write
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command
from pydantic import BaseModel

from onplan.errors import ModelError, PlanError
from onplan.integrations.langchain import PlanMiddleware, SlimState
from onplan.plan.todo import Rules

CONFIG: Any = {"configurable": {"thread_id": "t"}}
GO: Any = {"messages": [("user", "Go.")]}


def agent_of(
    model: Scripted, *middleware: AgentMiddleware[Any, Any], tools: Any = (bash,), **more: Any
) -> Any:
    more.setdefault("checkpointer", InMemorySaver())
    return create_agent(model, list(tools), middleware=middleware or [PlanMiddleware()], **more)


# --- several writes in one reply --------------------------------------------------------------------


def three_writes() -> Scripted:
    return Scripted(
        calls(
            call("c1", "bash", command="a"),
            write("c2", "[~] A", "[ ] B"),
            call("c3", "read_todos"),
            write("c4", "[x] A", "[x] B"),
            call("c5", "bash", command="b"),
        ),
        AIMessage("Done."),
    )


ANSWERS = {
    "c1": "ran a",
    "c2": "Task list updated:\n[~] A\n[ ] B",
    "c3": "[~] A\n[ ] B",
    "c4": "Task list updated:\n[x] A\n[x] B",
    "c5": "ran b",
}


def answers(messages: list[Any]) -> dict[str, str]:
    return {item.tool_call_id: item.text for item in messages if isinstance(item, ToolMessage)}


def test_writes_of_one_reply_are_applied_in_call_order_and_each_is_answered():
    model = three_writes()
    came_to = agent_of(model).invoke(GO, CONFIG)
    assert came_to["todos"] == todos("[x] A", "[x] B")
    assert answers(came_to["messages"]) == ANSWERS


async def test_async_and_streamed_runs_come_to_the_same():
    came_to = await agent_of(three_writes()).ainvoke(GO, CONFIG)
    assert (came_to["todos"], answers(came_to["messages"])) == (todos("[x] A", "[x] B"), ANSWERS)
    *_, last = agent_of(three_writes()).stream(GO, CONFIG, stream_mode="values")
    assert (last["todos"], answers(last["messages"])) == (todos("[x] A", "[x] B"), ANSWERS)
    async for values in agent_of(three_writes()).astream(GO, CONFIG, stream_mode="values"):
        last = values
    assert (last["todos"], answers(last["messages"])) == (todos("[x] A", "[x] B"), ANSWERS)


def test_the_state_has_plan_answers_first_and_a_request_has_call_order():
    model = three_writes()
    came_to = agent_of(model).invoke(GO, CONFIG)
    assert list(answers(came_to["messages"])) == ["c2", "c3", "c4", "c1", "c5"]
    assert list(answers(model.requests[1])) == ["c1", "c2", "c3", "c4", "c5"]


def test_an_invalid_write_between_valid_ones_changes_nothing():
    model = Scripted(
        calls(write("c1", "[~] A"), write("c2", "[~] A", "[~] B"), write("c3", "[x] A")), AIMessage("Done.")
    )
    came_to = agent_of(model).invoke(GO, CONFIG)
    refused = next(item for item in came_to["messages"] if getattr(item, "tool_call_id", "") == "c2")
    assert refused.status == "error"
    assert refused.text.startswith("Error: Only one todo can be in_progress at a time")
    assert came_to["todos"] == todos("[x] A")


def test_single_writes_leave_the_channel_as_todo_list_middleware_does():
    def replies() -> Scripted:
        return Scripted(
            calls(write("c1", "[~] A", "[ ] B")),
            calls(call("c2", "bash", command="a")),
            calls(write("c3", "[x] A", "[~] B", "[ ] C")),
            calls(write("c4", "[x] A", "[x] B", "[x] C")),
            AIMessage("Done."),
        )

    ours = agent_of(replies()).stream(GO, CONFIG, stream_mode="values")
    theirs = agent_of(replies(), TodoListMiddleware()).stream(GO, CONFIG, stream_mode="values")

    def plans(values: Any) -> list[Any]:
        seen = [value.get("todos") or [] for value in values]
        return [plan for at, plan in enumerate(seen) if at == 0 or plan != seen[at - 1]]

    assert plans(ours) == plans(theirs)


# --- calls that cannot be read ----------------------------------------------------------------------


def test_a_reply_of_nothing_but_unreadable_calls_is_answered_and_tried_again():
    model = Scripted(
        broken("c1", "bash", '{"command": "ls"'), calls(call("c2", "bash", command="ls")), AIMessage("Done.")
    )
    came_to = agent_of(model).invoke(GO, CONFIG)
    first, second = answers(came_to["messages"]).items()
    assert first[0] == "c1"
    assert first[1].startswith("Error: the arguments of bash are not valid JSON: ")
    assert second == ("c2", "ran ls")


def test_unreadable_replies_are_answered_three_times_a_turn_and_then_end_it():
    model = Scripted(*(broken(f"c{n}", "bash", "{") for n in range(1, 6)))
    came_to = agent_of(model).invoke(GO, CONFIG)
    assert list(answers(came_to["messages"])) == ["c1", "c2", "c3", "c4"]
    assert len(model.requests) == 4


def test_a_broken_write_goes_through_the_plan_and_is_repaired_where_nothing_is_lost():
    listed = "[{'content': \"Don't break\", 'status': 'in_progress'}]"
    model = Scripted(
        broken("c1", "write_todos", listed), calls(write("c2", "[x] Don't break")), AIMessage("Done.")
    )
    came_to = agent_of(model).invoke(GO, CONFIG)
    assert "Task list updated:\n[~] Don't break" in answers(came_to["messages"])["c1"]
    assert came_to["todos"] == todos("[x] Don't break")


def test_a_huge_broken_write_is_refused_with_a_short_preview():
    model = Scripted(broken("c1", "write_todos", "{" * 1_000_000), AIMessage("Sorry."))
    said = answers(agent_of(model).invoke(GO, CONFIG)["messages"])["c1"]
    assert said.startswith("Error: ")
    assert len(said) < 1_000


def test_no_arguments_as_an_empty_string_are_no_arguments():
    model = Scripted(broken("c1", "read_todos", ""), AIMessage("Done."))
    came_to = agent_of(model).invoke(GO, CONFIG)
    assert answers(came_to["messages"]) == {"c1": "No task list yet. Call write_todos to create one."}


# --- summaries --------------------------------------------------------------------------------------


class Forgetful(AgentMiddleware[Any, Any]):
    """Puts a useless summary in the place of all but the last messages, from the n-th request on, once."""

    def __init__(self, at: int, keep: int = 1) -> None:
        super().__init__()
        self.at, self.keep, self.asked = at, keep, 0

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        self.asked += 1
        if self.asked != self.at:
            return None
        summary = HumanMessage("They talked.", additional_kwargs={"lc_source": "summarization"})
        kept = state["messages"][-self.keep :]
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *kept]}


def forgetful_run(first: bool) -> tuple[Scripted, Any, PlanMiddleware]:
    plan = PlanMiddleware(max_continuations=0)
    middleware = [Forgetful(4, 2), plan] if first else [plan, Forgetful(4, 2)]
    model = Scripted(
        calls(write("c1", "[~] A", "[ ] B")),
        calls(write("c2", "[x] A", "[~] B", "[ ] C")),
        calls(call("c3", "bash", command="a")),
        calls(call("c4", "bash", command="b")),
        calls(write("c5", "[x] A", "[x] B", "[x] C")),
        AIMessage("Done."),
    )
    return model, agent_of(model, *middleware), plan


RECITED = (
    "<reminder>Earlier messages are no longer shown. The plan stands at revision 2. Open:\n"
    "[~] B\n[ ] C\n"
    'Just finished: "A". Now: "B". Next: "C".</reminder>'
)


@pytest.mark.parametrize("first", [True, False], ids=["summary first", "plan first"])
def test_a_plan_that_a_summary_removed_is_recited_once(first: bool):
    model, agent, plan = forgetful_run(first)
    came_to = agent.invoke(GO, CONFIG)
    assert told(model.requests[3][1:]) == ["human: They talked.", "ai: ", "c3: ran a", f"note: {RECITED}"]
    assert told(model.requests[4][1:-2]) == told(model.requests[3][1:])
    assert sum(item.text == RECITED for item in came_to["messages"]) == 1
    state = plan.state_of(agent.get_state(CONFIG).values)
    assert (state.ledger.revision, state.plan.to_json()) == (3, todos("[x] A", "[x] B", "[x] C"))
    assert state.ledger.at(1).to_json() == todos("[~] A", "[ ] B")


def test_a_summary_of_everything_leaves_the_plan_as_it_was():
    plan = PlanMiddleware(max_continuations=0)
    model = Scripted(calls(write("c1", "[~] A")), AIMessage("So far."), AIMessage("On."), AIMessage("On."))
    agent = agent_of(model, Forgetful(3, 1), plan)
    came_to = [agent.invoke(GO, CONFIG) for _ in range(3)][-1]
    assert came_to["todos"] == todos("[~] A")
    assert plan.state_of(agent.get_state(CONFIG).values).ledger.revision == 1
    assert [line for line in told(model.requests[2][1:]) if "[~] A" in line] == told(model.requests[2][-1:])
    assert [line for line in told(model.requests[3][1:]) if "[~] A" in line] == told(model.requests[2][-1:])


def test_a_finished_plan_is_not_recited_again():
    model = Scripted(calls(write("c1", "[x] A")), AIMessage("Done."), AIMessage("Yes."))
    agent = agent_of(model, Forgetful(3, 1), PlanMiddleware())
    agent.invoke(GO, CONFIG)
    agent.invoke(GO, CONFIG)
    assert told(model.requests[2][1:]) == ["human: They talked.", "human: Go."]


class Short(AgentMiddleware[Any, Any]):
    """Sends only the last messages of each request."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(messages=request.messages[-4:]))


def test_a_plan_that_is_cut_from_the_request_goes_along_with_it():
    looking = [calls(call(f"c{n}", "look", at=str(n))) for n in range(2, 9)]
    model = Scripted(calls(write("c1", "[~] A")), *looking, calls(write("c9", "[x] A")), AIMessage("Done."))
    agent_of(model, Short(), PlanMiddleware(), tools=[looks()]).invoke(GO, CONFIG)
    for request in model.requests[1:9]:
        assert any("[~] A" in message.text for message in request), told(request)


# --- a person's changes -----------------------------------------------------------------------------


def test_a_persons_change_is_a_revision_and_told_once():
    plan = PlanMiddleware(max_continuations=0)
    model = Scripted(
        calls(write("c1", "[~] A", "[ ] B")), AIMessage("So far."), AIMessage("Seen."), AIMessage("Yes.")
    )
    agent = agent_of(model, plan)
    agent.invoke(GO, CONFIG)
    agent.update_state(CONFIG, {"todos": todos("[~] A", "[ ] C")})
    assert plan.state_of(agent.get_state(CONFIG).values).ledger.revisions[-1].author == "user"
    agent.invoke(GO, CONFIG)
    agent.invoke(GO, CONFIG)
    notes = [line for line in told(model.requests[3]) if line.startswith("note")]
    assert notes == [
        'note: <reminder>The person changed the plan.\nRemoved, do not add again: "B".\nAdded: "C".\n'
        'It is now:\n[~] A\n[ ] C\nNow: "A". Next: "C".</reminder>'
    ]
    assert plan.state_of(agent.get_state(CONFIG).values).ledger.revision == 2


def test_a_write_that_could_not_know_of_a_change_keeps_it():
    plan = PlanMiddleware(max_continuations=0)
    model = Scripted(
        calls(write("c1", "[~] A", "[ ] B")), calls(write("c2", "[x] A", "[~] B")), AIMessage("So far.")
    )
    asked = HumanInTheLoopMiddleware({"write_todos": {"allowed_decisions": ["approve", "reject"]}})
    agent = agent_of(model, plan, asked)
    agent.invoke(GO, CONFIG)
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
    agent.update_state(CONFIG, {"todos": todos("[~] A", "[ ] B", "[ ] C")}, as_node="model")
    agent.invoke(None, CONFIG)
    came_to = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
    assert came_to["todos"] == todos("[x] A", "[~] B", "[ ] C")
    assert "The person had changed the plan meanwhile" in answers(came_to["messages"])["c2"]


def test_todos_that_are_no_plan_are_refused_with_what_they_are():
    agent = agent_of(Scripted(AIMessage("Hello."), AIMessage("Hello.")))
    agent.invoke(GO, CONFIG)
    agent.update_state(CONFIG, {"todos": [{"content": "A", "status": "later"}]})
    with pytest.raises(PlanError, match="not a todo"):
        agent.invoke(GO, CONFIG)


def test_a_thread_of_todo_list_middleware_goes_on():
    saver, plan = InMemorySaver(), PlanMiddleware(max_continuations=0)
    before = Scripted(calls(write("c1", "[~] A", "[ ] B")), AIMessage("So far."))
    agent_of(before, TodoListMiddleware(), checkpointer=saver).invoke(GO, CONFIG)
    model = Scripted(calls(call("c2", "read_todos")), AIMessage("So far."))
    agent = agent_of(model, plan, checkpointer=saver)
    came_to = agent.invoke(GO, CONFIG)
    assert came_to["todos"] == todos("[~] A", "[ ] B")
    assert "The plan stands at revision 1. Open:\n[~] A\n[ ] B" in model.requests[0][-1].text
    state = plan.state_of(agent.get_state(CONFIG).values)
    assert [(item.number, item.author) for item in state.ledger.revisions] == [(1, "model")]


# --- crashes, approval, retries ---------------------------------------------------------------------


class Died(BaseException):
    pass


@tool
def explode(command: str) -> str:
    """Ends the process."""
    raise Died


def test_after_a_crash_in_a_tool_a_new_message_goes_on():
    plan = PlanMiddleware(max_continuations=0)
    model = Scripted(
        calls(write("c1", "[~] A"), call("c2", "explode", command="x")),
        AIMessage("I look."),
        AIMessage("Yes."),
    )
    agent = agent_of(model, plan, tools=[explode])
    with pytest.raises(Died):
        agent.invoke(GO, CONFIG)
    came_to = agent.invoke(GO, CONFIG)
    assert came_to["todos"] == todos("[~] A")
    agent.invoke(GO, CONFIG)
    go, reply, planned, lost, again = told(model.requests[1][1:])
    assert [go, reply, planned, again] == [
        "human: Go.",
        "ai: ",
        "c1: Task list updated:\n[~] A",
        "human: Go.",
    ]
    assert lost.startswith("c2: Error: interrupted: ")
    assert "side effects are possible" in lost
    assert told(model.requests[2])[: len(model.requests[1])] == told(model.requests[1])


def test_a_rejected_write_does_not_count_and_ends_no_argument():
    asked = HumanInTheLoopMiddleware({"write_todos": {"allowed_decisions": ["approve", "reject", "edit"]}})
    model = Scripted(calls(write("c1", "[~] A"), call("c2", "bash", command="a")), AIMessage("As you like."))
    agent = agent_of(model, PlanMiddleware(), asked)
    agent.invoke(GO, CONFIG)
    came_to = agent.invoke(Command(resume={"decisions": [{"type": "reject", "message": "No plan."}]}), CONFIG)
    assert came_to["todos"] == []
    assert answers(came_to["messages"])["c2"] == "ran a"
    assert len(model.requests) == 2


def test_the_gate_does_not_argue_with_a_rejection():
    asked = HumanInTheLoopMiddleware({"bash": {"allowed_decisions": ["approve", "reject"]}})
    model = Scripted(calls(write("c1", "[~] A"), call("c2", "bash", command="a")), AIMessage("Then not."))
    agent = agent_of(model, PlanMiddleware(), asked)
    agent.invoke(GO, CONFIG)
    came_to = agent.invoke(Command(resume={"decisions": [{"type": "reject"}]}), CONFIG)
    assert told(came_to["messages"])[-1] == "ai: Then not."


def test_a_request_that_is_tried_again_has_one_reminder():
    looking = [calls(call(f"c{n}", "look", at=str(n))) for n in range(2, 5)]
    replies = [
        calls(write("c1", "[~] A")),
        *looking,
        ModelError("busy"),
        calls(write("c5", "[x] A")),
        AIMessage("Done."),
    ]
    model = Scripted(*replies)
    retried = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    came_to = agent_of(model, retried, PlanMiddleware(), tools=[looks()]).invoke(GO, CONFIG)
    assert told(model.requests[4]) == told(model.requests[5])
    assert (
        sum(line.startswith("note: <reminder>Update your todos.") for line in told(came_to["messages"])) == 1
    )


class Straight(AgentMiddleware[Any, Any]):
    """Sends a reply to the tools before any other middleware has seen it."""

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        reply = state["messages"][-1]
        return {"jump_to": "tools"} if getattr(reply, "tool_calls", ()) else None


def test_a_plan_call_that_reaches_the_tool_node_is_answered_there():
    plan = PlanMiddleware(max_continuations=0)
    model = Scripted(calls(write("c1", "[~] A")), calls(write("c2", "[x] A")), AIMessage("Done."))
    agent = agent_of(model, plan, Straight())
    came_to = agent.invoke(GO, CONFIG)
    assert came_to["todos"] == todos("[x] A")
    assert answers(came_to["messages"]) == {
        "c1": "Task list updated:\n[~] A",
        "c2": "Task list updated:\n[x] A",
    }
    assert plan.state_of(agent.get_state(CONFIG).values).stats.writes == 2


class Answer(BaseModel):
    text: str


def test_a_structured_answer_ends_the_turn():
    model = Scripted(calls(write("c1", "[~] A")), calls(call("c2", "Answer", text="42")))
    came_to = agent_of(model, response_format=ToolStrategy(Answer)).invoke(GO, CONFIG)
    assert came_to["structured_response"] == Answer(text="42")


# --- settings, storage, packaging -------------------------------------------------------------------


def test_prompt_and_description_are_the_users_own_where_given():
    model = Scripted(AIMessage("Hello."))
    plan = PlanMiddleware(system_prompt="Plan well.", tool_description="The list.", rules=Rules(max_items=3))
    agent_of(model, plan, system_prompt="You help.").invoke(GO, CONFIG)
    assert model.requests[0][0].text == "You help.\n\nPlan well."
    write_todos, read_todos, *_ = model.offered
    assert write_todos.description == "The list."
    assert write_todos.args_schema["properties"]["todos"]["maxItems"] == 3
    assert read_todos.name == "read_todos"


def test_with_planning_off_the_agent_is_as_without_the_middleware():
    model, plain = Scripted(AIMessage("Hello.")), Scripted(AIMessage("Hello."))
    ours = agent_of(model, PlanMiddleware(planning="off")).invoke(GO, CONFIG)
    agent_of(plain, Forgetful(99)).invoke(GO, CONFIG)
    assert told(model.requests[0]) == told(plain.requests[0])
    assert [one.name for one in model.offered] == ["bash"]
    assert "todos" not in ours


def test_unknown_settings_are_refused_when_the_agent_is_built():
    with pytest.raises(PlanError, match="unknown dialect 'todos'"):
        PlanMiddleware("todos")


async def test_one_instance_serves_many_threads_at_once():
    plan = PlanMiddleware()

    async def run(number: int) -> Any:
        model = Scripted(
            calls(write("c1", f"[~] {number}")), calls(write("c2", f"[x] {number}")), AIMessage("Done.")
        )
        config: Any = {"configurable": {"thread_id": str(number)}}
        return await agent_of(model, plan).ainvoke(GO, config)

    came_to = await asyncio.gather(*(run(number) for number in range(20)))
    assert [one["todos"] for one in came_to] == [todos(f"[x] {number}") for number in range(20)]


def long_run(rounds: int) -> Scripted:
    def reply(number: int) -> AIMessage:
        if number % 3:
            return calls(call(f"c{number}", "bash", command="x" * 500), text="y" * 200)
        return calls(write(f"c{number}", f"[~] step {number}", *(f"[ ] later {n}" for n in range(6))))

    return Scripted(*map(reply, range(rounds)), calls(write("last")), AIMessage("Done."))


def stored(path: Path, rounds: int) -> int:
    path.unlink(missing_ok=True)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        agent_of(long_run(rounds), checkpointer=saver, state_schema=SlimState).invoke(GO, CONFIG)
    return path.stat().st_size


def test_storage_grows_with_the_rounds_where_messages_are_kept_in_deltas(tmp_path: Path):
    assert stored(tmp_path / "log", 80) / stored(tmp_path / "log", 40) <= 2.3


def test_what_a_checkpoint_holds_of_the_plan_is_bounded():
    plan = PlanMiddleware(max_continuations=0)
    agent = agent_of(long_run(120), plan)
    values = agent.invoke(GO, CONFIG) and agent.get_state(CONFIG).values
    assert [one["number"] for one in values["onplan_ledger"]] == list(range(22, 42))
    assert len(str(values["onplan_counters"])) < 1_500
    state = plan.state_of(values)
    assert state.ledger.revision == 41
    assert state.ledger.undo_target() == state.ledger.at(40)


def test_a_round_stores_only_the_counters_that_it_changed():
    saver = InMemorySaver()
    script = [
        calls(write("c1", "[~] A", "[ ] B")),
        calls(write("c2", "[~] A")),
        calls(call("c3", "bash", command="a")),
    ]
    model = Scripted(*script, AIMessage("So far."))
    agent_of(model, PlanMiddleware(max_continuations=0), checkpointer=saver).invoke(GO, CONFIG)
    written = [
        value["plan"]
        for saved in reversed(list(saver.list(CONFIG)))
        for _, name, value in saved.pending_writes or ()
        if name == "onplan_counters"
    ]
    assert [one["named"] for one in written if one.get("named")] == [["b"]]


async def test_a_thread_goes_on_from_a_stored_checkpoint(tmp_path: Path):
    path = str(tmp_path / "log")
    with SqliteSaver.from_conn_string(path) as saver:
        model = Scripted(calls(write("c1", "[~] A")), AIMessage("So far."))
        agent_of(model, PlanMiddleware(max_continuations=0), checkpointer=saver).invoke(GO, CONFIG)
    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        model = Scripted(calls(call("c2", "read_todos")), AIMessage("So far."))
        agent = agent_of(model, PlanMiddleware(max_continuations=0), checkpointer=saver)
        came_to = await agent.ainvoke(GO, CONFIG)
    assert answers(came_to["messages"])["c2"] == "[~] A"


def test_without_langchain_the_import_says_what_to_install():
    code = "import sys; sys.modules['langchain'] = None; import onplan.integrations.langchain"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: onplan.integrations.langchain needs LangChain"
    )
    assert done.stderr.splitlines()[-1].endswith('pip install "onplan[langchain]"')
