"""What the person and others say while an agent works: steering, answers through the inbox, other models."""

from __future__ import annotations

import asyncio

import pytest
from parts import (
    FragileStore,
    Gate,
    call,
    check_messages,
    check_requests,
    log_of,
    notes,
    outcomes,
    start,
    todos,
    warnings,
    write,
)

from onplan.errors import OnplanError, PlanError, StoreError
from onplan.events import ApprovalRequested, Decided, Event, PrefixChanged
from onplan.hooks import Block, Hooks
from onplan.messages import Note, User, model_text
from onplan.models.scripted import ScriptedModel
from onplan.permissions import Permissions
from onplan.plan.settings import settings
from onplan.planning import prompt_text
from onplan.protocols import Approval, Approved, Holder, Question, Rejected
from onplan.session import InboxRequest, leave_request
from onplan.stores.memory import MemoryStore
from onplan.testing.approval import RecordingApprover

# --- steering ---------------------------------------------------------------------------------------


async def test_words_said_in_a_turn_go_along_with_its_next_request() -> None:
    gate = Gate()
    model = ScriptedModel([[call(1, "wait")], "x"])
    agent = await start(model, gate.tool)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    agent.steer("not so fast")
    agent.steer("and use tabs")
    gate.opened.set()
    assert (await turn).reason == "done"
    said = [Note("not so fast", "steering", "message"), Note("and use tabs", "steering", "message")]
    assert notes(agent.messages, "steering") == said
    assert notes(model.requests[1].messages, "steering") == said
    assert agent.unsent() == ()
    check_requests(model.requests)


async def test_words_that_no_request_took_along_are_given_back_once() -> None:
    agent = await start(["x"])
    await agent.run("go")
    agent.steer("too late")
    assert (agent.unsent(), agent.unsent()) == (("too late",), ())


async def test_words_that_the_log_did_not_take_are_not_lost() -> None:
    events = list[Event]()
    store = FragileStore(failing={3})  # the beginning, the message, and then the words
    agent = await start(["x"], store=store, events=events)
    agent.steer("use tabs")
    assert (await agent.run("go")).reason == "done"
    assert warnings(events) == ["what you said has to wait: the disk is full"]
    assert notes(agent.messages, "steering") == []
    assert agent.unsent() == ("use tabs",)


async def test_a_session_that_cannot_go_on_with_another_model_is_let_go() -> None:
    store = FragileStore()
    agent = await start(["x"], store=store)
    await agent.close()
    store.failing.add(store.appends + 2)  # that it was resumed, and then the other model
    with pytest.raises(StoreError, match="the disk is full"):
        await start(ScriptedModel(["y"], name="other"), store=store, resume=agent.session_id)
    assert await store.claim(agent.session_id, Holder("another-host", 1, 0.0)) is None


async def test_a_hook_judges_words_said_in_a_turn_like_any_message() -> None:
    events = list[Event]()

    def judge(text: str, view: object) -> Block | Note | None:
        return Block("no secrets") if "secret" in text else Note("<notice>seen</notice>", "hook")

    model = ScriptedModel([[call(1)], "x"])
    agent = await start(model, hooks=Hooks(user_prompt=(judge,)), events=events)
    agent.steer("the secret is 5")
    agent.steer("be quick")
    await agent.run("go")
    assert [note.text for note in notes(agent.messages, "steering")] == ["be quick"]
    assert warnings(events) == ["a hook did not let your message through: no secrets"]
    check_messages(agent.messages)


async def test_what_another_process_says_reaches_the_model_in_the_turn() -> None:
    store, gate = MemoryStore(), Gate()
    model = ScriptedModel([[call(1, "wait")], "x"])
    agent = await start(model, gate.tool, store=store)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    await leave_request(store, agent.session_id, InboxRequest("say", text="from the player"))
    gate.opened.set()
    await turn
    assert model_text(model.requests[1].messages[-1]) == "from the player"


# --- approval through the inbox ---------------------------------------------------------------------


class Absent:
    """An approver whose person does not come; tells that it was asked, and that the question was taken
    back."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.withdrawn = 0

    async def approve(self, question: Question) -> Approval:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        return Rejected(nobody=True)


@pytest.mark.parametrize(
    ("request_", "verdict", "outcome"),
    [
        (InboxRequest("approve", call_id="t1"), "allow", "ok"),
        (InboxRequest("deny", call_id="t1", reason="not today"), "deny", "denied"),
    ],
)
async def test_a_question_is_answered_through_the_inbox(
    request_: InboxRequest, verdict: str, outcome: str
) -> None:
    store, absent = MemoryStore(), Absent()
    rights = Permissions(absent)
    agent = await start([[call(1)], "x"], store=store, hooks=Hooks(before_tool=(rights.before_tool,)))
    rights.answer = agent.approval
    turn = asyncio.create_task(agent.run("go"))
    await absent.asked.wait()
    await leave_request(store, agent.session_id, InboxRequest("deny", call_id="another"))
    await leave_request(store, agent.session_id, request_)
    assert (await asyncio.wait_for(turn, 10)).reason == "done"
    assert absent.withdrawn == 1
    log = [record for record in await log_of(store) if isinstance(record, (ApprovalRequested, Decided))]
    assert isinstance(log[0], ApprovalRequested)
    assert isinstance(log[1], Decided)
    assert (log[0].call_id, log[1].call_id, log[1].verdict, log[1].by) == ("t1", "t1", verdict, "person")
    assert outcomes(agent.messages) == [("t1", outcome)]
    if request_.reason:
        assert "not today" in model_text(agent.messages[-2])


async def test_the_terminal_may_answer_first() -> None:
    store, approver = MemoryStore(), RecordingApprover([Approved()])
    rights = Permissions(approver)
    agent = await start([[call(1)], "x"], store=store, hooks=Hooks(before_tool=(rights.before_tool,)))
    rights.answer = agent.approval
    assert (await agent.run("go")).reason == "done"
    assert [question.call.id for question in approver.questions] == ["t1"]


async def test_an_edit_is_made_while_a_person_is_asked() -> None:
    store, absent = MemoryStore(), Absent()
    rights = Permissions(absent)
    agent = await start([[call(1)], "x", "x"], store=store, hooks=Hooks(before_tool=(rights.before_tool,)))
    rights.answer = agent.approval
    turn = asyncio.create_task(agent.run("go"))
    await absent.asked.wait()
    await leave_request(store, agent.session_id, InboxRequest("edit", ({"content": "mine"},)))
    while not agent.plan.todos:
        await asyncio.sleep(0.01)
    await leave_request(store, agent.session_id, InboxRequest("approve", call_id="t1"))
    await asyncio.wait_for(turn, 10)
    assert agent.plan.to_json() == todos(("mine", "pending"))


async def test_an_interrupted_question_leaves_a_whole_log() -> None:
    absent = Absent()
    rights = Permissions(absent)
    agent = await start([[call(1), call(2)], "x"], hooks=Hooks(before_tool=(rights.before_tool,)))
    rights.answer = agent.approval
    turn = asyncio.create_task(agent.run("go"))
    await absent.asked.wait()
    agent.interrupt()
    assert (await turn).reason == "interrupted"
    assert absent.withdrawn == 1
    check_messages(agent.messages)


# --- an edit of an older plan -----------------------------------------------------------------------


async def test_an_edit_of_an_older_plan_keeps_what_the_model_wrote_since() -> None:
    agent = await start(
        [
            [write(1, ("a", "in_progress"), ("b", "pending"))],
            [write(2, ("a", "completed"), ("b", "in_progress"), ("c", "pending"))],
            "x",
            "x",
        ]
    )
    await agent.run("go")
    theirs = [{"content": "a", "status": "in_progress"}, {"content": "mine", "status": "pending"}]
    await agent.edit_plan(theirs, base=1)
    # b was removed by the person, c was added by the model, a was finished by the model
    assert agent.plan.to_json() == todos(("a", "completed"), ("mine", "pending"), ("c", "pending"))


async def test_an_edit_of_an_older_plan_that_breaks_the_rules_is_refused() -> None:
    agent = await start([[write(1, ("a", "pending"))], [write(2, ("a", "in_progress"))], "x", "x"])
    await agent.run("go")
    before = agent.plan
    with pytest.raises(PlanError, match="only 1 todo may be in progress"):
        await agent.edit_plan(
            [{"content": "a", "status": "pending"}, {"content": "z", "status": "in_progress"}], base=1
        )
    assert agent.plan == before


# --- another model, another dialect -----------------------------------------------------------------


async def test_another_model_goes_on_and_the_log_says_so() -> None:
    store = MemoryStore()
    agent = await start(["x"], store=store)
    await agent.run("go")
    other = ScriptedModel(["y"], name="other")
    await agent.change("the person chose it", model=other)
    assert (await agent.run("again")).text == "y"
    assert PrefixChanged("the person chose it", model="other") in await log_of(store)
    assert [type(message) for message in other.requests[0].messages] == [User, type(agent.messages[1]), User]


async def test_another_dialect_changes_tools_and_text_and_keeps_the_plan() -> None:
    store = MemoryStore()
    model = ScriptedModel(
        [[write(1)], "x", "x", [call(2, "todo_write", todos=todos(("z", "pending")))], "x", "x"]
    )
    agent = await start(model, store=store)
    await agent.run("go")
    await agent.change("the person chose it", planning=settings("todo_write"))
    assert agent.plan.to_json() == todos(("a", "completed"), ("b", "in_progress"), ("c", "pending"))
    await agent.run("again")
    assert agent.plan.to_json() == todos(("z", "pending"))
    last = model.requests[-1]
    assert prompt_text(settings("todo_write").dialect) in last.system
    assert "write_todos" not in last.system
    assert last.tools[0]["name"] == "todo_write"
    await agent.close()
    again = await start([[call(3, "todo_write", todos=[])], "x"], store=store, resume=agent.session_id)
    assert again.plan_state.dialect.name == "todo_write"
    assert again.system == last.system


async def test_nothing_changes_in_the_middle_of_a_turn() -> None:
    gate = Gate()
    agent = await start([[call(1, "wait")], "x"], gate.tool)
    turn = asyncio.create_task(agent.run("go"))
    await gate.entered.wait()
    with pytest.raises(OnplanError, match="a turn is running"):
        await agent.change("now", model=ScriptedModel(["y"]))
    gate.opened.set()
    await turn
