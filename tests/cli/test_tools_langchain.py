"""The lens on tools of one's own: `onplan tools module:name`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import onplan

SOURCE = '''
from typing import Annotated

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import (
    BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, Tool, tool
)
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.base import BaseStore
from pydantic import BaseModel
from pydantic.v1 import BaseModel as OldModel

from onplan.toolset import Ctx, tool as onplan_tool


@tool
def read_file(path: str, offset: int = 1) -> str:
    """Read a file."""
    raise AssertionError("the lens runs no tool")


@tool
def read_todos(state: Annotated[dict, InjectedState]) -> str:
    """Read the list again."""
    return ""


@tool
def search(query: str, runtime: ToolRuntime, call: Annotated[str, InjectedToolCallId]) -> str:
    """Search."""
    return ""


def count(words: str) -> str:
    """Count words."""
    return ""


@onplan_tool()
async def ours(text: str, ctx: Ctx) -> str:
    """Ours."""
    return ""


def undocumented(words: str) -> str:
    return ""


@tool
def everything(
    text: str,
    steps: Annotated[list, InjectedState("todos")],
    store: Annotated[BaseStore, InjectedStore()],
    config: RunnableConfig,
    secret: Annotated[int, InjectedToolArg] = 3,
) -> str:
    """Ask for everything."""
    return ""


class Arguments(BaseModel):
    text: str
    state: Annotated[dict, InjectedState]


class OldArguments(OldModel):
    text: str


class New(BaseTool):
    name: str = "new"
    description: str = "New."
    args_schema: type = Arguments

    def _run(self, text, state, run_manager=None):
        return ""


class Old(BaseTool):
    name: str = "old"
    description: str = "Old."
    args_schema: type = OldArguments

    def _run(self, text):
        return ""


class Needy(New):
    key: str


@tool
def leaking(text: str, state: Annotated[dict, InjectedState] | None = None) -> str:
    """Leak."""
    return ""


@tool
def unspeakable(text: BaseStore) -> str:
    """Ask for an object."""
    return ""


json_schema = StructuredTool(
    name="json_schema",
    description="By JSON.",
    args_schema={"type": "object", "properties": {"text": {"type": "string"}}},
    func=print,
)
single = Tool(name="single", description="One text.", func=print)


class Kit:
    inner = read_file
    old = Old()


number = 3
'''


@pytest.fixture(autouse=True)
def my_tools(work: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module `lens_tools` in the current directory."""
    (work / "lens_tools.py").write_text(SOURCE)
    (work / "lens_broken.py").write_text("raise RuntimeError('no key is set')")
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in ("lens_tools", "lens_broken"):
        sys.modules.pop(name, None)


def seen(name: str, *flags: str) -> dict[str, object]:
    (told,) = json.loads(onplan("tools", f"lens_tools:{name}", "--json", *flags).stdout)
    return told


def test_a_tool_without_injection_has_one_face():
    told = seen("read_file")
    assert told["runtime"] == []
    assert told["input_schema"] == {
        "properties": {"path": {"type": "string"}, "offset": {"default": 1, "type": "integer"}},
        "required": ["path"],
        "type": "object",
    }


def test_the_model_does_not_see_what_the_runtime_fills():
    told = seen("search")
    assert told["input_schema"] == {
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
        "type": "object",
    }
    assert told["runtime"] == [
        {"name": "runtime", "type": "ToolRuntime", "required": True, "runtime": True},
        {"name": "call", "type": "str", "required": True, "runtime": True},
    ]


def faces(name: str) -> tuple[list[str], dict[str, str]]:
    """What the model sees, and what the runtime fills with its types."""
    told: Any = seen(name)
    return list(told["input_schema"]["properties"]), {one["name"]: one["type"] for one in told["runtime"]}


def test_every_kind_of_langchain_tool_has_its_two_faces():
    assert faces("everything") == (
        ["text"],
        {"steps": "list", "store": "BaseStore", "config": "RunnableConfig", "secret": "int"},
    )
    assert faces("New") == (["text"], {"state": "dict", "run_manager": "any"})
    assert faces("Kit.old") == faces("Old") == (["text"], {})
    assert faces("json_schema") == (["text"], {})
    assert faces("single")[0] == ["__arg1"]


def test_what_both_the_model_and_the_runtime_would_fill_is_told():
    assert faces("leaking") == (["text", "state"], {"state": "dict | None"})
    assert "  leaks: the model sees state as well\n" in onplan("tools", "lens_tools:leaking").stdout


def test_without_the_annotation_the_state_would_leak():
    assert onplan("tools", "lens_tools:read_todos", "--without-injection").stdout == (
        "read_todos  Read the list again.\n"
        "  the model sees 0 parameters (33 characters of schema)\n"
        "  the runtime fills 1\n"
        "    state: dict\n"
        "  would leak without the annotation: state (+53 characters)\n"
        "{\n"
        '  "properties": {\n'
        '    "state": {\n'
        '      "description": "a dict"\n'
        "    }\n"
        "  },\n"
        '  "type": "object",\n'
        '  "required": [\n'
        '    "state"\n'
        "  ]\n"
        "}\n"
    )


def test_a_function_an_onplan_tool_and_an_attribute_are_shown_too():
    assert list(seen("count")["input_schema"]["properties"]) == ["words"]  # pyright: ignore[reportIndexIssue] # JSON
    assert [param["name"] for param in seen("ours")["runtime"]] == ["ctx"]  # pyright: ignore[reportGeneralTypeIssues] # JSON
    assert seen("Kit.inner")["name"] == "read_file"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("lens_tools:number", "lens_tools:number: not a tool: 3"),
        ("lens_tools:nothing", "lens_tools:nothing: lens_tools has no 'nothing'"),
        ("lens_tools:", "lens_tools:: lens_tools has no ''"),
        (
            "lens_no:x",
            "lens_no:x: importing lens_no failed: ModuleNotFoundError: No module named 'lens_no'",
        ),
        ("lens_tools:Needy", "lens_tools:Needy: Needy is a class: give an instance of it"),
        (
            "lens_tools:unspeakable",
            "lens_tools:unspeakable: tool unspeakable: its parameters have no JSON schema: Failed to "
            "generate JSON schema for 'unspeakable': Cannot generate a JsonSchema for "
            "core_schema.IsInstanceSchema (<class 'langgraph.store.base.BaseStore'>)",
        ),
        ("lens_broken:x", "lens_broken:x: importing lens_broken failed: RuntimeError: no key is set"),
    ],
)
def test_what_is_no_tool_is_told_in_one_line(target: str, told: str):
    result = onplan("tools", target)
    assert (result.exit_code, result.stderr, result.stdout) == (1, f"onplan: {told}\n", "")


def test_a_function_without_words_for_the_model_is_refused():
    result = onplan("tools", "lens_tools:undocumented")
    assert result.exit_code == 1
    assert result.stderr.startswith("onplan: lens_tools:undocumented: tool undocumented: ")
    assert result.stderr.count("\n") == 1
