"""Two faces of one signature: what the model sees, what the runtime fills, and what goes wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from parts import call, check_fold, encoded, outcomes, results, start, todos, write

from onplan.errors import ToolDefinitionError, ToolError
from onplan.messages import Call
from onplan.models.scripted import ScriptedModel
from onplan.stores.memory import MemoryStore
from onplan.tools.ask import ask_user
from onplan.toolset import Ctx, Injected, Param, Tool, ToolOutput, Toolset, tool


@dataclass
class Place:
    name: str


@tool(read_only=True)
async def find(
    pattern: str,
    kind: Literal["file", "dir"] = "file",
    limit: int = 5,
    *,
    place: Injected[Place],
    spare: Injected[Place | None],
    ctx: Ctx,
) -> str:
    """Find things.

    More about it.

    Args:
        pattern: What to find,
            in words.
        limit: At most so many.
    """
    return f"{pattern} {kind} {limit} in {place.name} {spare} {ctx.call_id}"


def toolset(*tools: Tool) -> Toolset:
    return Toolset(tools or (find,), {"place": lambda _: Place("here"), "spare": lambda _: None})


async def ask(sent: Any, name: str = "find", *tools: Tool) -> ToolOutput:
    return await toolset(*tools).call(Call("t1", name, sent), Ctx("t1"))


# --- two faces --------------------------------------------------------------------------------------


def test_the_model_sees_only_its_own_parameters() -> None:
    assert toolset().schemas() == (
        {
            "name": "find",
            "description": "Find things.\n\nMore about it.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "What to find, in words."},
                    "kind": {"enum": ["dir", "file"], "default": "file"},
                    "limit": {"type": "integer", "description": "At most so many.", "default": 5},
                },
                "required": ["pattern"],
            },
        },
    )


def test_people_see_all_parameters() -> None:
    assert find.params == (
        Param("pattern", "str", True, False),
        Param("kind", "Literal['file', 'dir']", False, False),
        Param("limit", "int", False, False),
        Param("place", "Place", True, True),
        Param("spare", find.params[4].type, True, True),
        Param("ctx", "Ctx", True, True),
    )
    assert find.injected == ("place", "spare", "ctx")


async def test_the_runtime_fills_in_what_the_model_does_not_see() -> None:
    assert await ask({"pattern": "x"}) == ToolOutput("x file 5 in here None t1")


async def test_values_that_the_model_sends_for_runtime_parameters_are_ignored() -> None:
    sent = {"pattern": "x", "place": {"name": "evil"}, "ctx": {"call_id": "evil"}, "spare": 1}
    assert await ask(sent) == ToolOutput("x file 5 in here None t1")


async def test_unknown_parameters_are_named_with_those_there_are() -> None:
    told = await ask({"pattern": "x", "depth": 1, "all": True})
    assert told.content.splitlines() == [
        "x file 5 in here None t1",
        "(ignored: all, depth; parameters of find: pattern, kind, limit)",
    ]
    assert len((await ask({"pattern": "x", **{"k" * 9_000 + str(n): 1 for n in range(99)}})).content) < 500


async def test_progress_goes_to_the_one_who_listens() -> None:
    heard: list[str] = []

    @tool()
    async def speak(ctx: Ctx) -> str:
        """Speak."""
        ctx.progress("half")
        return "done"

    told = await Toolset([speak]).call(Call("t1", "speak", {}), Ctx("t1", heard.append))
    assert (told.content, heard) == ("done", ["half"])


async def test_an_optional_injection_may_be_nothing() -> None:
    told = await Toolset([ask_user], {"asker": lambda _: None}).call(
        Call("t1", "ask_user", {"question": "?"}), Ctx()
    )
    assert told.details == {"unanswered": True}


async def test_a_provider_that_fails_is_an_error_result() -> None:
    def broken(_: Ctx) -> object:
        raise RuntimeError("no place")

    told = await Toolset([find], {"place": broken, "spare": broken}).call(
        Call("t1", "find", {"pattern": "x"}), Ctx()
    )
    assert told == ToolOutput("Error: find failed: RuntimeError: no place", is_error=True)


# --- state ------------------------------------------------------------------------------------------


async def test_state_is_a_copy_that_changes_neither_plan_nor_log() -> None:
    seen: list[dict[str, Any]] = []

    @tool()
    async def vandal(state: Injected[dict[str, Any]]) -> str:
        """Change all that is in reach."""
        seen.append({"todos": [dict(todo) for todo in state["todos"]], "messages": len(state["messages"])})
        for todo in state["todos"]:
            todo["status"] = "completed"
        state["messages"][1].parts[0].arguments["todos"].clear()
        state["messages"][2].details["plan"]["todos"].clear()
        state["messages"].clear()
        return "done"

    store = MemoryStore()
    model = ScriptedModel([[write(1)], [call(2, "vandal")], [call(3, "vandal")], "x", "y"])
    agent = await start(model, vandal, store=store)
    result = await agent.run("go")
    assert result.plan.to_json() == todos(*(("a", "completed"), ("b", "in_progress"), ("c", "pending")))
    assert [item["messages"] for item in seen] == [4, 6]
    assert seen[0]["todos"] == seen[1]["todos"] == result.plan.to_json()
    assert encoded(model.requests[-1].messages[1]).count(b'"content":"c"') == 1
    await check_fold(agent, store)


async def test_a_tool_that_changes_its_arguments_changes_no_history() -> None:
    @tool()
    async def vandal(items: Any) -> str:
        """Empty what it gets."""
        items.clear()
        return "done"

    store = MemoryStore()
    agent = await start([[call(1, "vandal", items=[1, 2])], "x"], vandal, store=store)
    await agent.run("go")
    await check_fold(agent, store)
    assert encoded(agent.messages[1]).count(b"[1,2]") == 1


# --- arguments --------------------------------------------------------------------------------------


@tool(read_only=True)
async def plain(text: str = "none") -> str:
    """Take nothing, if need be."""
    return text


@pytest.mark.parametrize("sent", ["", "  ", "{}", {}, '{"text": "none"}'])
async def test_nothing_is_no_arguments_where_none_are_required(sent: Any) -> None:
    assert await ask(sent, "plain", plain) == ToolOutput("none")


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("", "Object missing required field `pattern`"),
        ({}, "Object missing required field `pattern`"),
        (None, "must be a JSON object, not null"),
        ("null", "must be a JSON object, not null"),
        (["ls"], "must be a JSON object, not list"),
        ('["ls"]', "must be a JSON object, not list"),
        (5, "must be a JSON object, not int"),
        ('{"pattern": "x", "a"', "not valid JSON: Input data was truncated"),
        ('{"pattern": "x"}, {"y": 1]}', "(byte 17)"),
        ({"pattern": 5}, "Expected `str`, got `int` - at `$.pattern`"),
        ({"pattern": "x", "kind": "link"}, "Invalid enum value 'link' - at `$.kind`"),
        ({"pattern": "x", "limit": "many"}, "Expected `int`, got `str` - at `$.limit`"),
    ],
)
async def test_arguments_that_do_not_fit_are_an_error_that_says_why(sent: Any, told: str) -> None:
    output = await ask(sent)
    assert output.is_error
    assert told in output.content
    assert output.content.startswith("Error: ")


@pytest.mark.parametrize(
    "sent",
    [
        "x" * 1_000_000,
        '{"pattern": "' + "x" * 1_000_000,
        {"pattern": "x", "kind": "y" * 1_000_000},
        "[" * 9_000,
    ],
)
async def test_a_megabyte_of_broken_arguments_is_a_short_error(sent: Any) -> None:
    output = await ask(sent)
    assert output.is_error
    assert len(output.content) < 600


async def test_numbers_as_text_are_taken() -> None:
    assert (await ask({"pattern": "x", "limit": "7"})).content == "x file 7 in here None t1"


async def test_the_table_of_malformed_arguments_in_one_reply() -> None:
    log: list[str] = []

    @tool()
    async def bash(command: str) -> str:
        """Run."""
        log.append(command)
        return "ran"

    calls = [
        Call("c1", "read_todos", ""),
        Call("c2", "write_todos", '{"todos": "x", "status": "in_progress"}, {"content": "y"]}'),
        Call("c3", "bash", None),
        Call("c4", "bash", ["ls"]),
        Call("c5", "read_todos", {}),
        Call("c6", "write_todos", '{"todos": [' + "x" * 1_000_000),
    ]
    agent = await start([[write(0)], calls, "good"], bash)
    result = await agent.run("go")
    assert outcomes(agent.messages)[1:] == [
        ("c1", "ok"),
        ("c2", "error"),
        ("c3", "error"),
        ("c4", "error"),
        ("c5", "ok"),
        ("c6", "error"),
    ]
    assert (log, result.revision, result.text) == ([], 1, "good")
    assert all(len(told.content) < 1_000 for told in results(agent.messages))


# --- what a tool answers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ToolError("no such file: x"), "Error: no such file: x"),
        (KeyError("x"), "Error: break_down failed: KeyError: 'x'"),
        (SystemExit(2), "Error: break_down failed: SystemExit: 2"),
        (TimeoutError(), "Error: break_down failed: TimeoutError: "),
    ],
)
async def test_a_failure_of_a_tool_is_an_error_output(error: BaseException, told: str) -> None:
    @tool()
    async def break_down() -> str:
        """Break down."""
        raise error

    assert await ask({}, "break_down", break_down) == ToolOutput(told, is_error=True)


@pytest.mark.parametrize("answer", [None, 5, {"a": 1}, ToolOutput(5)])  # pyright: ignore[reportArgumentType]
@pytest.mark.parametrize("sent", [{}, {"unknown": 1}])
async def test_a_tool_that_answers_no_text_is_an_error_output(answer: Any, sent: Any) -> None:
    @tool()
    async def odd() -> str:
        """Answer oddly."""
        return answer

    told = await ask(sent, "odd", odd)
    assert told.is_error
    assert told.content.startswith("Error: odd failed: it ran, but answered")


# --- definitions ------------------------------------------------------------------------------------


async def _positional(x: str, /) -> str:
    return x


async def _many(*x: str) -> str:
    return ""


async def _open(**x: str) -> str:
    return ""


async def _bare(x) -> str:  # pyright: ignore
    return ""


async def _strange(x: Place | type) -> str:
    return ""


async def _unresolved(x: Nowhere) -> str:  # pyright: ignore # noqa: F821 - this is the fault
    return ""


def _sync(x: str) -> str:
    return x


FAULTY: list[Any] = [_positional, _many, _open, _bare, _strange, _unresolved, _sync]


@pytest.mark.parametrize("function", FAULTY)
def test_a_signature_that_cannot_be_offered_is_a_definition_error(
    function: Callable[..., Awaitable[str]],
) -> None:
    with pytest.raises(ToolDefinitionError, match=r"tool broken: "):
        tool(name="broken")(function)


def test_two_tools_of_one_name_are_a_definition_error() -> None:
    with pytest.raises(ToolDefinitionError, match="two tools are named find"):
        toolset(find, find)


def test_a_parameter_that_nothing_provides_is_a_definition_error() -> None:
    with pytest.raises(ToolDefinitionError, match="tool find: nothing provides place, spare"):
        Toolset([find])
