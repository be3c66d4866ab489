"""Tokens and dollars of a session, by todo; and a job over a real server from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from far_side import ANTHROPIC, CHAT, KEY, Server, serving
from hypothesis import given
from hypothesis import strategies as st

from onplan.cli.main import cli
from onplan.events import PlanEdited, Record
from onplan.messages import Assistant, Call, Text, Usage, User
from onplan.models.prices import load_prices
from onplan.spending import Spent, spending_of
from onplan.testing.models import Refuse

PRICED, UNPRICED = "anthropic:claude-sonnet-5-5", "openai:x@http://127.0.0.1:1/v1"
_usage = st.builds(Usage, *[st.integers(0, 10**6)] * 5)
_replies = st.builds(
    lambda usage, model: Assistant((Text("a"),), usage=usage, model=model),
    _usage,
    st.sampled_from([PRICED, UNPRICED]),
)


def _edited(revision: int, *todos: tuple[str, str]) -> PlanEdited:
    return PlanEdited(revision, tuple({"content": content, "status": status} for content, status in todos))


_plans = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["pending", "completed"])),
    max_size=3,
    unique_by=lambda t: t[0],
).flatmap(
    lambda todos: st.integers(0, len(todos)).map(
        lambda n: [(c, "in_progress" if k == n else s) for k, (c, s) in enumerate(todos)]
    )
)


@given(st.lists(st.one_of(_replies, st.just(User("go")), _plans), max_size=12))
def test_todos_and_unplanned_add_up_to_the_whole(items: list[Any]) -> None:
    records: list[Record] = [
        _edited(n + 1, *item) if isinstance(item, list) else item for n, item in enumerate(items)
    ]
    replies = [record for record in records if isinstance(record, Assistant)]
    total = spending_of(records, load_prices()).total
    assert total.usage == sum((reply.usage for reply in replies), Usage())
    assert total.requests == len(replies)
    assert total.cost == pytest.approx(load_prices().of_messages(replies))


def test_a_reply_is_charged_to_the_todo_that_was_in_progress_before_it() -> None:
    reply = Assistant((Text("a"),), usage=Usage(output=1_000_000), model=PRICED)
    records: list[Record] = [
        User("go"),
        reply,
        _edited(1, ("look", "in_progress"), ("fix", "pending")),
        reply,
        reply,
        _edited(2, ("look", "completed"), ("fix", "in_progress")),
        User("on"),
        reply,
        _edited(3, ("look", "completed"), ("fix", "completed")),
        reply,
    ]
    spending = spending_of(records, load_prices())
    one, two = Spent(reply.usage, 10.0, 1), Spent(reply.usage + reply.usage, 20.0, 2)
    assert spending.todos == {"look": two, "fix": one}
    assert (spending.unplanned, spending.turn) == (two, two)


# --- from the command line --------------------------------------------------------------------------


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def server(provider: str) -> Iterator[Server]:
    with serving(CHAT if provider == "openai" else ANTHROPIC) as running:
        yield running


@pytest.fixture
def model(provider: str, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setenv("ONPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("MODEL_ID", raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return f"openai:x@{server.url}/v1" if provider == "openai" else f"anthropic:x@{server.url}"


def _plan(*statuses: str) -> Assistant:
    todos = [{"content": f"step {n}", "status": status} for n, status in enumerate(statuses)]
    return Assistant((Call("p", "write_todos", {"todos": todos}),), "tool_calls", Usage(100, 10))


def _run(model: str, *more: str) -> Any:
    return CliRunner().invoke(cli, ["-p", "Do it.", "--model", model, "--auto", *more])


def test_a_job_over_a_real_server_tells_its_usage_by_todo(server: Server, model: str) -> None:
    write = Call("w", "write_file", {"path": "a.txt", "content": "done\n"})
    server.will(
        _plan("in_progress", "pending"),
        Assistant((write,), "tool_calls", Usage(200, 20)),
        _plan("completed", "in_progress"),
        _plan("completed", "completed"),
        Assistant((Text("Done."),), usage=Usage(300, 30)),
    )
    ran = _run(model, "--output-format", "json")
    assert ran.exit_code == 0, ran.output
    result = json.loads(ran.stdout)
    assert (result["text"], result["reason"], result["exit_code"]) == ("Done.", "done", 0)
    assert [todo["status"] for todo in result["plan"]] == ["completed", "completed"]
    assert Path("a.txt").read_text() == "done\n"
    counted = {
        todo["content"]: (todo["requests"], todo["usage"]["input"]) for todo in result["spending"]["todos"]
    }
    assert counted == {"step 0": (2, 300), "step 1": (1, 100)}
    assert result["spending"]["unplanned"]["usage"]["input"] == 400
    assert (result["usage"]["input"], result["usage"]["output"]) == (800, 80)
    assert (result["cost"], result["spending"]["cost"]) == (None, None)


def test_a_refusal_of_the_server_is_one_line_and_exit_code_1(server: Server, model: str) -> None:
    server.will(Refuse(400, "invalid_request_error", "prompt is too long"))
    ran = _run(model)
    assert ran.exit_code == 1
    assert "the conversation is too long for x" in ran.stderr
    assert "Traceback" not in ran.output
    assert KEY not in ran.output


def test_a_cap_on_cost_without_a_price_is_said_not_to_count(server: Server, model: str) -> None:
    server.will(Assistant((Text("Hi."),)))
    ran = _run(model, "--max-cost", "1")
    assert (ran.exit_code, ran.stdout) == (0, "Hi.\n")
    assert "is not known, so --max-cost cannot end a turn" in " ".join(ran.stderr.split())


def test_a_session_goes_on_with_its_own_model(server: Server, model: str) -> None:
    server.will(Assistant((Text("First."),)), Assistant((Text("Second."),)))
    assert _run(model).stdout == "First.\n"
    again = CliRunner().invoke(cli, ["resume", "latest", "-p", "On."])
    assert again.stdout == "Second.\n"


@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
def test_a_key_alone_takes_the_default_and_says_its_cap(
    server: Server, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    costly = Call("g", "glob", {"pattern": "*"})
    server.will(
        Assistant((costly,), "tool_calls", Usage(output=400_000)),
        Assistant((costly,), "tool_calls", Usage(output=100_000)),
        Assistant((Text("Not reached."),)),
    )
    ran = CliRunner().invoke(cli, ["-p", "Do it.", "--auto"])
    told = " ".join(ran.stderr.split())
    assert "anthropic:claude-sonnet-5-5 answers, by the key that is set, at most $5.00 a turn" in told
    assert ran.exit_code == 5
    assert "the cap on cost was reached (--max-cost)" in told
    assert "$5.00" in told
    assert len(server.requests) == 2
