"""The player's server: who may ask, what is told, how a run is followed, what reaches the session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from run_logs import STARTED, long_log

from onplan.agent import Agent
from onplan.coding import coding_agent
from onplan.errors import StoreError
from onplan.events import ApprovalRequested, Decided, PlanEdited, Record, encode_record
from onplan.messages import Assistant, Call, ToolResult, User
from onplan.models.prices import load_prices
from onplan.models.scripted import Reply, ScriptedModel
from onplan.plan.changes import Written
from onplan.plan.stored import outcome_to_json
from onplan.plan.todo import Plan
from onplan.planning import plan_of
from onplan.protocols import Approval, Holder, Question
from onplan.session import InboxRequest, Stamped, leave_request, read
from onplan.stores.memory import MemoryStore
from onplan.web.folding import run_of
from onplan.web.following import Following
from onplan.web.html import names
from onplan.web.run import Run
from onplan.web.server import POLICY, app, listen, serve

TOKEN = "f00d" * 8
PORT = 4711
HERE = f"http://127.0.0.1:{PORT}"
ELSEWHERE = Holder("another-host", 1, 0.0)
KEY = "sk-ant-api03-" + "a1B2" * 12


def plan_written(number: int, *contents: str) -> list[Record]:
    plan = Plan.of([{"content": text, "status": "pending"} for text in contents])
    call = Call(f"w{number}", "write_todos", {"todos": plan.to_json()})
    details = {"plan": outcome_to_json(Written(number, plan))}
    return [
        Assistant((call,), "tool_calls"),
        ToolResult(call.id, call.name, "Task list updated:", details=details),
    ]


async def stored(*records: Record, store: MemoryStore | None = None) -> MemoryStore:
    """A store with one session of these records, which nobody holds."""
    kept = store or MemoryStore()
    await kept.create(STARTED.id, cwd=STARTED.cwd, time=1.0)
    await kept.append(STARTED.id, 1, [encode_record(record) for record in (STARTED, *records)], time=2.0)
    return kept


async def log_of(store: MemoryStore) -> list[Stamped]:
    return read(await store.load((await store.find("latest")).id))


@asynccontextmanager
async def client(
    store: MemoryStore, *, token: str = TOKEN, looks: int = 1, session: str = STARTED.id
) -> AsyncIterator[httpx.AsyncClient]:
    """A browser in front of the server; events end after as many looks at the log."""
    left = [looks]

    def ending() -> bool:
        left[0] -= 1
        return left[0] < 0

    following = Following(store, session, prices=load_prices())
    served = app(following, token=TOKEN, port=PORT, holder=ELSEWHERE, every=0.0, ending=ending)
    headers = {"authorization": f"Bearer {token}"} if token else {}
    transport = httpx.ASGITransport(served, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=HERE, headers=headers) as opened:
        yield opened


def events(text: str) -> list[tuple[str, dict[str, Any], str]]:
    """Name, value and id of each server-sent event."""
    found: list[tuple[str, dict[str, Any], str]] = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in fields:
            found.append((fields["event"], json.loads(fields["data"]), fields.get("id", "")))
    return found


# --- who may ask ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/api/run", "/api/seq", "/api/events", "/api/plan", "/api/approve", "/api/else"]
)
@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1]])
async def test_nothing_of_a_session_is_told_without_the_token(path: str, token: str):
    async with client(await stored(User("secret")), token=token) as browser:
        answer = await (browser.post if path in ("/api/plan", "/api/approve") else browser.get)(path)
    assert (answer.status_code, "secret" in answer.text) == (401, False)
    assert "token" in answer.json()["error"]


async def test_the_token_may_stand_in_the_address_where_no_header_can_be_sent():
    async with client(await stored(), token="") as browser:
        assert (await browser.get(f"/api/run?token={TOKEN}")).status_code == 200
        assert (await browser.get("/api/run?token=wrong")).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:4712", ""])
async def test_a_page_that_reaches_us_under_another_name_is_refused(host: str):
    async with client(await stored()) as browser:
        for path in ("/", "/api/run"):
            assert (await browser.get(path, headers={"host": host})).status_code == 421


async def test_a_request_from_another_page_is_refused_and_from_our_own_taken():
    async with client(await stored()) as browser:
        foreign = await browser.get("/api/run", headers={"origin": "http://127.0.0.1:9"})
        own = await browser.get("/api/run", headers={"origin": HERE})
    assert (foreign.status_code, own.status_code) == (403, 200)


async def test_every_answer_has_the_policy_that_lets_the_page_reach_nobody_else():
    async with client(await stored()) as browser:
        for path in ("/", "/api/run", "/nothing.js", *(f"/{name}" for name in names())):
            answer = await browser.get(path)
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY


@pytest.mark.parametrize(
    "path", ["/run.py", "/..%2frun.py", "/%2e%2e/run.py", "/index.html", "/page/main.js"]
)
async def test_only_the_files_of_the_page_are_served(path: str):
    async with client(await stored()) as browser:
        assert (await browser.get(path)).status_code == 404


# --- what is told -----------------------------------------------------------------------------------


async def test_the_run_is_the_whole_session_up_to_now():
    store = await stored(User("Do it."), *plan_written(1, "look", "write"))
    async with client(store) as browser:
        told = msgspec.json.decode((await browser.get("/api/run")).content, type=Run)
    expected = run_of(await store.find("latest"), await log_of(store), prices=load_prices())
    assert told == msgspec.structs.replace(
        expected, session=msgspec.structs.replace(expected.session, live=True)
    )


async def test_events_go_on_after_the_last_one_that_was_heard():
    store = await stored(User("a"), User("b"))
    async with client(store) as browser:
        asked = await browser.get("/api/events?after=2")
    async with client(store) as browser:
        again = await browser.get("/api/events?after=0", headers={"last-event-id": "2"})
    assert asked.headers["content-type"].startswith("text/event-stream")
    ((name, piece, number),) = events(asked.text)
    assert (name, piece["after"], piece["seq"], number) == ("run", 2, 3, "3")
    assert [entry["parts"][0]["text"] for entry in piece["messages"]] == ["b"]
    assert events(again.text) == events(asked.text)


@pytest.mark.parametrize("after", ["0", "99", "-1", "x"])
async def test_who_heard_of_no_record_that_is_known_gets_the_whole_run(after: str):
    async with client(await stored(User("a"))) as browser:
        ((_, piece, _),) = events((await browser.get(f"/api/events?after={after}")).text)
    assert (piece["after"], piece["seq"], len(piece["messages"])) == (0, 2, 1)


async def test_where_nothing_is_new_nothing_is_said():
    async with client(await stored(User("a")), looks=5) as browser:
        assert events((await browser.get("/api/events?after=2")).text) == []


class Flickering(MemoryStore):
    """A store that cannot be read at the loads in `failing`, counted from 1."""

    def __init__(self, *failing: int) -> None:
        super().__init__()
        self.failing = failing
        self.loads = 0

    async def load(self, session: str, *, after: int = 0):
        self.loads += 1
        if self.loads in self.failing:
            raise StoreError("the disk is away")
        return await super().load(session, after=after)


async def test_what_another_viewer_has_read_meanwhile_is_not_lost():
    store = await stored(User("a"))
    following = Following(store, STARTED.id, prices=load_prices())
    pieces = following.pieces(0, every=0.0, ending=lambda: False)
    first = await anext(pieces)
    await store.append(STARTED.id, 3, [encode_record(User("b"))], time=3.0)
    await following.read()
    second = await anext(pieces)
    assert isinstance(first, Run)
    assert isinstance(second, Run)
    assert [(piece.after, piece.seq) for piece in (first, second)] == [(0, 2), (2, 3)]
    await pieces.aclose()


async def test_a_log_that_cannot_be_read_is_told_once_and_looked_for_again():
    store = await stored(User("a"), store=Flickering(1, 2))
    async with client(store, looks=4) as browser:
        told = events((await browser.get("/api/events?after=0")).text)
    assert [(name, value.get("error", value.get("seq"))) for name, value, _ in told] == [
        ("trouble", "the disk is away"),
        ("run", 2),
    ]


async def test_that_a_log_can_be_read_again_is_told_where_nothing_is_new():
    store = await stored(User("a"), store=Flickering(1))
    async with client(store, looks=3) as browser:
        told = events((await browser.get("/api/events?after=2")).text)
    assert [value for _, value, _ in told] == [{"error": "the disk is away"}, {"error": ""}]


class Broken(MemoryStore):
    """A store with a mistake in it."""

    async def load(self, session: str, *, after: int = 0):
        raise ZeroDivisionError("oh")


async def test_a_mistake_of_ours_is_one_line_too():
    async with client(await stored(store=Broken())) as browser:
        answer = await browser.get("/api/run")
    assert (answer.status_code, answer.json()) == (500, {"error": "internal error: ZeroDivisionError: oh"})
    assert answer.headers["content-security-policy"] == POLICY


async def test_a_session_that_is_gone_is_one_line():
    store = await stored()
    async with client(store, session="gone") as browser:
        answer = await browser.get("/api/run")
    assert (answer.status_code, "gone" in answer.json()["error"]) == (404, True)


# --- the plan ---------------------------------------------------------------------------------------


async def test_an_edit_is_made_at_once_where_nobody_holds_the_session():
    store = await stored(User("x"), *plan_written(1, "look", "write"))
    todos = [{"content": "look", "status": "completed"}]
    async with client(store) as browser:
        answer = await browser.post("/api/plan", json={"action": "edit", "todos": todos, "base": 1})
        assert answer.json() == {"done": "made"}
        again = await browser.post("/api/plan", json={"action": "edit", "todos": todos})
        assert again.json() == {"done": "unchanged"}
        told = (await browser.get("/api/run")).json()
    assert [(r["author"], [t["content"] for t in r["todos"]]) for r in told["revisions"]] == [
        ("model", ["look", "write"]),
        ("user", ["look"]),
    ]
    assert await store.claim(STARTED.id, Holder("third", 1, 0.0)) is None


async def test_what_was_left_for_a_holder_who_died_goes_before_the_change():
    store = await stored(User("x"), *plan_written(1, "look"))
    todos = ({"content": "left", "status": "pending"},)
    await leave_request(store, STARTED.id, InboxRequest("edit", todos))
    await leave_request(store, STARTED.id, InboxRequest("edit", ({"content": "", "status": "pending"},)))
    async with client(store) as browser:
        answer = await browser.post("/api/plan", json={"action": "undo"})
    assert answer.json() == {"done": "made", "refused": ["todo 0 has no content"]}
    edits = [item.record for item in await log_of(store) if isinstance(item.record, PlanEdited)]
    assert [(edit.action, [todo["content"] for todo in edit.todos]) for edit in edits] == [
        ("edit", ["left"]),
        ("undo", ["look"]),
    ]


async def test_undo_and_redo_are_changes_too_and_what_cannot_be_is_one_line():
    store = await stored(User("x"), *plan_written(1, "look"))
    async with client(store) as browser:
        none = await browser.post("/api/plan", json={"action": "redo"})
        done = [
            (await browser.post("/api/plan", json={"action": action})).json() for action in ("undo", "redo")
        ]
    assert (none.status_code, none.json()["error"][:15]) == (400, "nothing to redo")
    assert done == [{"done": "made"}] * 2
    edits = [item.record for item in await log_of(store) if isinstance(item.record, PlanEdited)]
    assert [(edit.action, len(edit.todos)) for edit in edits] == [("undo", 0), ("redo", 1)]


async def test_a_plan_that_breaks_the_rules_changes_nothing_and_says_why():
    store = await stored(User("x"), *plan_written(1, "look"))
    todos = [{"content": text, "status": "in_progress"} for text in ("a", "b")]
    before = await log_of(store)
    async with client(store) as browser:
        answer = await browser.post("/api/plan", json={"action": "edit", "todos": todos})
    assert answer.status_code == 400
    assert "in progress" in answer.json()["error"]
    assert await log_of(store) == before


async def test_an_edit_of_an_older_revision_keeps_what_came_after_it():
    store = await stored(User("x"), *plan_written(1, "look"), *plan_written(2, "look", "write"))
    todos = [{"content": "look", "status": "pending"}, {"content": "mine", "status": "pending"}]
    async with client(store) as browser:
        await browser.post("/api/plan", json={"action": "edit", "todos": todos, "base": 1})
    plan = plan_of([item.record for item in await log_of(store)]).plan
    assert {todo.content for todo in plan} == {"look", "write", "mine"}


async def test_a_todo_that_was_masked_for_the_viewer_comes_back_as_it_was():
    store = await stored(User("x"), *plan_written(1, f"use {KEY}", "write"))
    async with client(store) as browser:
        shown = (await browser.get("/api/run")).json()["revisions"][0]["todos"]
        assert KEY not in json.dumps(shown)
        todos = [{"content": shown[0]["content"], "status": "completed"}]
        await browser.post("/api/plan", json={"action": "edit", "todos": todos})
    (todo,) = plan_of([item.record for item in await log_of(store)]).plan
    assert (todo.content, todo.status) == (f"use {KEY}", "completed")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b'{"action": "edit"', "application/json", 400),
        (b'{"action": "delete"}', "application/json", 400),
        (b'{"action": "undo", "more": 1}', "application/json", 400),
        (b'{"action": "edit", "todos": [1]}', "application/json", 400),
        (b'{"action": "edit", "todos": [{"content": 1}]}', "application/json", 400),
        (b"\xff", "application/json", 400),
        (b'{"action": "undo"}', "text/plain", 415),
        (b"action=undo", "application/x-www-form-urlencoded", 415),
        (b" " * 1_000_001, "application/json", 413),
    ],
)
async def test_what_is_no_request_is_refused_with_one_line(body: bytes, kind: str, status: int):
    store = await stored(User("x"), *plan_written(1, "look"))
    before = await log_of(store)
    async with client(store) as browser:
        answer = await browser.post("/api/plan", content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert "\n" not in answer.json()["error"]
    assert await log_of(store) == before


# --- a session that runs ----------------------------------------------------------------------------


class Silent:
    """A person who does not answer at the terminal."""

    async def approve(self, question: Question) -> Approval:
        await asyncio.Event().wait()
        raise AssertionError


@asynccontextmanager
async def running(work: Path, store: MemoryStore, *replies: Reply) -> AsyncIterator[Agent]:
    agent = await coding_agent(work, model=ScriptedModel(replies), store=store, approver=Silent())
    try:
        yield agent
    finally:
        await agent.close()


async def eventually(test: Callable[[], Any]) -> None:
    """Returns when `test` answers something true; a hang is a failure."""
    async with asyncio.timeout(20):
        while not await test():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("verdict", "outcome", "said"), [("approve", "ok", "hi"), ("deny", "denied", "not today")]
)
async def test_the_person_answers_a_question_from_the_page(work: Path, verdict: str, outcome: str, said: str):
    store = MemoryStore()
    call = Call("b1", "bash", {"command": "echo hi"})
    async with (
        running(work, store, call, "Done.") as agent,
        client(store, session=agent.session_id) as browser,
    ):
        job = asyncio.create_task(agent.run("Do it."))

        async def asked() -> bool:
            return bool((await browser.get("/api/run")).json()["asked"])

        await eventually(asked)
        answer = {"call_id": "b1", "verdict": verdict, "reason": "not today"}
        assert (await browser.post("/api/approve", json=answer)).json() == {"done": "left"}
        async with asyncio.timeout(20):
            await job
        late = await browser.post("/api/approve", json=answer)
    assert late.status_code == 409
    records = [item.record for item in await log_of(store)]
    (result,) = [record for record in records if isinstance(record, ToolResult)]
    (decided,) = [record for record in records if isinstance(record, Decided)]
    assert (result.outcome, said in result.content, decided.by) == (outcome, True, "person")


async def test_an_answer_that_nobody_is_there_to_take_is_refused():
    call = Call("b1", "bash", {"command": "echo hi"})
    store = await stored(User("Do it."), Assistant((call,), "tool_calls"), ApprovalRequested("b1", "echo hi"))
    async with client(store) as browser:
        answer = await browser.post("/api/approve", json={"call_id": "b1", "verdict": "approve"})
    assert (answer.status_code, "nobody has this session open" in answer.json()["error"]) == (409, True)
    assert await store.requests(STARTED.id) == []
    assert await store.claim(STARTED.id, ELSEWHERE) is None


async def test_an_edit_of_a_session_that_is_held_is_left_for_its_holder(work: Path):
    store = MemoryStore()
    async with running(work, store, "Done.", "Done.") as agent:
        await agent.edit_plan([{"content": "look", "status": "pending"}])
        async with client(store, session=agent.session_id) as browser:
            todos = [{"content": "mine", "status": "pending"}]
            answer = await browser.post("/api/plan", json={"action": "edit", "todos": todos, "base": 1})
            assert answer.json()["done"] == "left"
            assert [todo.content for todo in agent.plan] == ["look"]
            async with asyncio.timeout(20):
                await agent.run("Go on.")
    edits = [item.record for item in await log_of(store) if isinstance(item.record, PlanEdited)]
    assert [[todo["content"] for todo in edit.todos] for edit in edits][:2] == [["look"], ["mine"]]


# --- over a socket ----------------------------------------------------------------------------------


@asynccontextmanager
async def served(store: MemoryStore) -> AsyncIterator[str]:
    with listen(0) as listening:
        following = Following(store, STARTED.id, prices=load_prices())
        task = asyncio.create_task(serve(following, TOKEN, listening))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_run_is_followed_and_goes_on_where_it_was_after_a_lost_connection():
    store = await stored()
    log = long_log(5)[1:]
    heard: list[dict[str, Any]] = []
    async with served(store) as address, httpx.AsyncClient(timeout=20, trust_env=False) as browser:
        for number, item in enumerate(log):
            await store.append(STARTED.id, number + 2, [encode_record(item.record)], time=item.time)
            last = str(heard[-1]["seq"]) if heard else "0"
            asked = browser.stream(
                "GET", f"{address}/api/events?token={TOKEN}", headers={"last-event-id": last}
            )
            async with asked as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        heard.append(json.loads(line[6:]))
                        break
    assert [piece["seq"] for piece in heard] == list(range(2, len(log) + 2))
    assert [piece["after"] for piece in heard] == [0, *range(2, len(log) + 1)]
    whole = run_of(await store.find("latest"), await log_of(store), prices=load_prices())
    messages = json.loads(msgspec.json.encode(whole.messages))
    assert [entry for piece in heard for entry in piece["messages"]] == messages


async def test_a_port_that_is_taken_is_one_line():
    with listen(0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Exception, match=f"port {port} cannot be used .*--port"):
            listen(port)
