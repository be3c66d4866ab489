"""The coding agent with settings: rules and hooks count, large output is told, the directory is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trust_parts import NO_PLAN, rules, run

from onplan.agent import Agent
from onplan.coding import coding_agent
from onplan.commandhooks import HookCommand
from onplan.events import Decided, Event, Warned
from onplan.messages import Call, ToolResult
from onplan.models.scripted import ScriptedModel
from onplan.permissions import Permissions
from onplan.settingsfile import FileSettings
from onplan.stores.memory import MemoryStore
from onplan.toolset import tool


async def coding(root: Path, replies: list[Any], events: list[Event], **more: Any) -> Agent:
    return await coding_agent(
        root,
        model=ScriptedModel(replies),
        store=MemoryStore(),
        planning=NO_PLAN,
        listeners=(events.append,),
        **more,
    )


async def test_rules_and_hooks_of_settings_count(tmp_path: Path) -> None:
    said = FileSettings(
        rules=rules(allow=["bash(echo:*)"]),
        hooks=(HookCommand("PreToolUse", "grep -q two && { echo 'not two' >&2; exit 2; }; exit 0"),),
    )
    events: list[Event] = []
    async with await coding(
        tmp_path, [run("echo one", "t1"), run("echo two", "t2"), "done"], events, settings=said
    ) as agent:
        await agent.run("go")
    verdicts = [(event.verdict, event.by.split()[0]) for event in events if isinstance(event, Decided)]
    assert verdicts == [("allow", "rule"), ("deny", "hook")]
    results = [event.content for event in events if isinstance(event, ToolResult)]
    assert results == ["one\nexit code: 0", "Error: not run: not two"]


async def test_permissions_know_where_the_shell_is(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    rights = Permissions(auto=True, root=tmp_path)
    async with await coding(tmp_path, [run("cd sub"), "done"], [], permissions=rights) as agent:
        await agent.run("go")
        assert rights.cwd is not None
        assert rights.cwd() == (tmp_path / "sub").resolve()


@tool()
async def talk(size: int) -> str:
    """Say a lot."""
    return "x" * size


async def test_the_person_is_warned_of_very_large_output(tmp_path: Path) -> None:
    events: list[Event] = []
    replies = [Call("t1", "talk", {"size": 150_000}), Call("t2", "talk", {"size": 90_000}), "done"]
    async with await coding(tmp_path, replies, events, auto=True, extra_tools=(talk,)) as agent:
        await agent.run("go")
    assert [event.text for event in events if isinstance(event, Warned)] == [
        "large output: talk put out 150,000 characters; the model saw 150,000"
    ]


async def test_what_was_cut_from_an_output_counts_as_output(tmp_path: Path) -> None:
    events: list[Event] = []
    replies = [run("head -c 150000 /dev/zero | tr '\\0' x"), "done"]
    async with await coding(tmp_path, replies, events, auto=True) as agent:
        await agent.run("go")
    (warning,) = [event.text for event in events if isinstance(event, Warned)]
    assert warning.startswith("large output: bash put out 150,")
