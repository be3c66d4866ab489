"""The coding agent with a sandbox: what commands can do, who is asked, what model and person are told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from onplan.coding import coding_agent
from onplan.errors import ConfigError
from onplan.events import Event, Warned
from onplan.messages import Call, ToolResult
from onplan.models.scripted import ScriptedModel
from onplan.permissions import Permissions
from onplan.settingsfile import FileSettings
from onplan.stores.memory import MemoryStore
from onplan.tools.sandbox import Sandbox

INSIDE = FileSettings(auto="sandboxed")


def commands(*lines: str) -> ScriptedModel:
    calls = [Call(str(number), "bash", {"command": line}) for number, line in enumerate(lines)]
    return ScriptedModel([calls, "done"])


async def answers(root: Path, model: ScriptedModel, **parts: Any) -> list[tuple[str, str]]:
    """The outcome and the last line of each call's result."""
    async with await coding_agent(root, model=model, store=MemoryStore(), **parts) as agent:
        await agent.run("go")
        results = [message for message in agent.messages if isinstance(message, ToolResult)]
    return [(result.outcome, result.content.splitlines()[-1]) for result in results]


async def test_commands_run_inside_and_share_a_tmp(works: None, root: Path, home: Path):
    model = commands("touch here ~/gone; echo 1 > /tmp/note", "cat /tmp/note ~/gone")
    found = await answers(root, model, auto=True, sandbox=Sandbox(root, home))
    assert found == [("ok", "exit code: 0"), ("ok", "exit code: 1")]
    assert [path.name for path in root.iterdir()] == ["here"]
    assert not (home / "gone").exists()


async def test_the_standard_sandbox_takes_the_home_of_the_person(
    works: None, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(home))
    for parts in ({"sandbox": True}, {"settings": FileSettings(sandbox=True)}):
        found = await answers(root, commands("cat ~/.netrc", "cat ~/.gitconfig"), auto=True, **parts)
        assert found == [("ok", "exit code: 1"), ("ok", "exit code: 0")]


async def test_the_model_is_told_of_the_sandbox_and_only_then(works: None, root: Path, home: Path):
    sandbox = Sandbox(root, home, network=True)
    async with await coding_agent(root, model=commands(), store=MemoryStore(), sandbox=sandbox) as agent:
        assert "Shell commands run in a sandbox." in agent.system
        assert "/tmp is new for each command" not in agent.system
    async with await coding_agent(root, model=commands(), store=MemoryStore()) as agent:
        assert "sandbox" not in agent.system


async def test_commands_inside_are_not_asked_about_where_the_person_chose_so(
    works: None, root: Path, home: Path
):
    model = commands("eval 'touch here'")
    assert await answers(root, model, settings=INSIDE, sandbox=Sandbox(root, home)) == [
        ("ok", "exit code: 0")
    ]


async def test_without_a_sandbox_that_choice_does_not_count(root: Path):
    for parts in ({"settings": INSIDE}, {"permissions": Permissions(root=root, sandboxed=True)}):
        [(outcome, _)] = await answers(root, commands("touch here"), **parts)
        assert outcome == "denied"
    assert list(root.iterdir()) == []


async def test_no_agent_starts_without_the_sandbox_that_was_asked_for(root: Path, home: Path):
    sandbox = Sandbox(root, home, platform="win32")
    with pytest.raises(ConfigError, match="no sandbox can be made here: there is no sandbox for win32; "):
        await coding_agent(root, model=commands(), store=MemoryStore(), sandbox=sandbox)


@pytest.mark.parametrize("confined", [False, True])
async def test_what_ran_on_in_the_background_is_ended_and_named_at_the_end(
    request: pytest.FixtureRequest, root: Path, home: Path, confined: bool
):
    if confined:
        request.getfixturevalue("works")
    seconds = f"1{os.getpid()}"
    events: list[Event] = []
    agent = await coding_agent(
        root,
        model=commands(f"sleep {seconds} &"),
        store=MemoryStore(),
        auto=True,
        sandbox=Sandbox(root, home, lingering=True) if confined else False,
        listeners=[events.append],
    )
    await agent.run("go")
    [pid] = [
        pid
        for event in events
        if isinstance(event, ToolResult)
        for pid in (event.details or {})["background"]
    ]
    await agent.close()
    assert events[-1] == Warned(f"ended 1 process left in the background: {pid} sleep {seconds}")


async def test_a_session_that_left_nothing_ends_without_a_word(root: Path):
    events: list[Event] = []
    agent = await coding_agent(
        root, model=commands("echo"), store=MemoryStore(), auto=True, listeners=[events.append]
    )
    await agent.run("go")
    await agent.close()
    assert [event for event in events if isinstance(event, Warned)] == []
