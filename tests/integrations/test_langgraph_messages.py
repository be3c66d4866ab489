"""onplan's messages as LangChain's and back, and the two faces of tools."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import InjectedStore, ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph_parts import AUTO, Graph, call, look, results, write

from onplan.errors import PlanError, ToolDefinitionError
from onplan.integrations.lcmessages import call_of, from_langchain, to_langchain
from onplan.integrations.lctools import as_tool, from_onplan, needs_state, plan_tools, two_views
from onplan.messages import Assistant, Call, Media, Note, Text, Thinking, ToolResult, Usage, User
from onplan.plan.dialect import DIALECTS, tool_schemas
from onplan.plan.settings import settings
from onplan.toolset import Injected
from onplan.toolset import tool as onplan_tool

# --- messages ---------------------------------------------------------------------------------------

TEXTS = st.text(alphabet="ab \n<é", min_size=1, max_size=12)
DETAILS = st.one_of(st.none(), st.dictionaries(TEXTS, st.integers(), min_size=1, max_size=2))
CALLS = st.builds(
    Call, st.uuids().map(str), TEXTS, st.one_of(st.dictionaries(TEXTS, st.integers(), max_size=2), TEXTS)
)
SAID = st.lists(st.builds(Text, TEXTS), max_size=1)
THOUGHT = st.lists(st.builds(Thinking, TEXTS, st.sampled_from(["", "signed"])), max_size=2)
USAGE = st.builds(Usage, *[st.integers(0, 99)] * 5)
MEDIA = st.builds(Media, st.sampled_from(["image/png", "application/pdf"]), st.just("aGk="), TEXTS)
STOPS: Any = st.sampled_from(["end", "tool_calls", "length", "refusal", "paused", "interrupted"])
OUTCOMES: Any = st.sampled_from(["ok", "error", "denied", "interrupted", "not_executed"])
PLACES: Any = st.sampled_from(["beside", "message"])
MESSAGES = st.one_of(
    st.builds(User, TEXTS),
    st.builds(
        Note, TEXTS, st.sampled_from(["reminder", "hook"]), st.sampled_from(["beside", "message"]), DETAILS
    ),
    st.builds(
        ToolResult,
        TEXTS,
        TEXTS,
        TEXTS,
        OUTCOMES,
        DETAILS,
        st.booleans(),
        st.lists(MEDIA, max_size=2).map(tuple),
    ),
    st.builds(
        lambda thought, said, calls, stop, usage, model: Assistant(
            (*thought, *said, *calls), stop, usage, model
        ),
        THOUGHT,
        SAID,
        st.lists(CALLS, max_size=3),
        STOPS,
        USAGE,
        st.sampled_from(["", "m"]),
    ),
)


@given(MESSAGES)
def test_a_message_comes_back_as_it_was(message: Any) -> None:
    assert from_langchain(to_langchain(message)) == message


def test_messages_of_others_are_read_for_what_they_say() -> None:
    reply = AIMessage(
        [
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        ],
        tool_calls=[{"name": "look", "args": {"text": "x"}, "id": "c1"}],
        response_metadata={"finish_reason": "tool_calls", "model_name": "m"},
        usage_metadata={
            "input_tokens": 10,
            "output_tokens": 3,
            "total_tokens": 13,
            "input_token_details": {"cache_read": 4},
        },
    )
    assert from_langchain(reply) == Assistant(
        (Text("Let me see."), Call("c1", "look", {"text": "x"})),
        "tool_calls",
        Usage(input=6, output=3, cache_read=4),
        "m",
    )
    assert from_langchain(HumanMessage([{"type": "text", "text": "hi"}])) == User("hi")
    failed = ToolMessage("no", tool_call_id="c1", name="look", status="error", artifact=[1])
    assert from_langchain(failed) == ToolResult("c1", "look", "no", "error")
    assert from_langchain(SystemMessage("be")) is None
    assert from_langchain(RemoveMessage(id="1")) is None


def test_a_result_changed_something_unless_its_tool_only_reads() -> None:
    message = ToolMessage("yes", tool_call_id="c1", name="look")
    changed = [from_langchain(message), from_langchain(message, {"look"})]
    assert changed == [
        ToolResult("c1", "look", "yes", changed=True),
        ToolResult("c1", "look", "yes", changed=False),
    ]


def test_an_invalid_call_keeps_the_text_that_could_not_be_read() -> None:
    sent: Any = {"type": "invalid_tool_call", "name": None, "args": '{"a', "id": None, "error": "?"}
    assert call_of(sent) == Call("", "", '{"a')


# --- tools ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DIALECTS)
def test_the_model_sees_the_schemas_of_the_dialect_and_the_active_rules(name: str) -> None:
    spoken = settings(name)
    offered = [convert_to_openai_tool(one)["function"] for one in plan_tools(spoken)]
    assert [
        {"name": one["name"], "description": one["description"], "input_schema": one["parameters"]}
        for one in offered
    ] == list(tool_schemas(spoken.dialect, spoken.rules))


def test_everything_that_the_runtime_fills_is_hidden_from_the_model() -> None:
    @tool
    def everything(
        text: str,
        runtime: ToolRuntime,
        store: Annotated[Any, InjectedStore()],
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> str:
        """Ask for everything."""
        assert runtime.state["todos"][0]["content"] == "a"
        runtime.state["todos"].clear()
        runtime.state["messages"][0].content = "forged"
        return f"{text} {tool_call_id} {runtime.tool_call_id} {type(store).__name__}"

    schema, filled = two_views(everything)
    assert (list(schema["properties"]), set(filled)) == (["text"], {"runtime", "store", "tool_call_id"})
    assert not needs_state(everything)
    graph = Graph(
        [[write("~ a", id="c1"), call("everything", "c2", text="hi")], "ok"],
        [everything],
        max_continuations=0,
        store=InMemoryStore(),
    )
    ended = graph.say("go")
    assert dict(results(ended["messages"]))["c2"] == "hi c2 c2 InMemoryStore"
    assert (ended["todos"][0]["content"], ended["messages"][0].content) == ("a", "go")


async def test_an_onplan_tool_runs_with_its_providers_awaited_and_not() -> None:
    @onplan_tool()
    async def count(item: str, *, stock: Injected[dict[str, int]]) -> str:
        """Count."""
        return f"{item}: {stock[item]}"

    with pytest.raises(ToolDefinitionError, match="tool count: nothing provides stock"):
        from_onplan(count)
    ready = from_onplan(count, {"stock": lambda _: {"pears": 3}})
    assert two_views(ready) == (count.input_schema, ("tool_call_id",))
    sent: Any = {"name": "count", "args": {"item": "pears"}, "id": "c1", "type": "tool_call"}
    assert ((await ready.ainvoke(sent)).content, ready.invoke(sent).content) == ("pears: 3", "pears: 3")


def test_what_cannot_be_offered_is_named_when_the_graph_is_built() -> None:
    def undocumented(text: str) -> str:
        return text

    with pytest.raises(ToolDefinitionError, match="tool undocumented: "):
        as_tool(undocumented)
    with pytest.raises(ToolDefinitionError, match="not a tool: 7"):
        Graph([], [7])
    with pytest.raises(ToolDefinitionError, match="two tools are named look"):
        Graph([], [look, look])
    with pytest.raises(PlanError, match="unknown dialect 'klingon'"):
        Graph([], dialect="klingon")


# --- importing --------------------------------------------------------------------------------------

WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import onplan.integrations
try:
    import onplan.integrations.{module}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("absent", "module", "told"),
    [
        (
            ("langgraph",),
            "langgraph",
            "onplan.integrations.langgraph needs LangGraph (No module named 'langgraph'): "
            'pip install "onplan[langgraph]"',
        ),
        (
            ("langgraph", "langchain_core", "langchain", "pydantic"),
            "langgraph",
            "onplan.integrations.langgraph needs LangGraph (No module named 'langchain_core'): "
            'pip install "onplan[langgraph]"',
        ),
        (("langchain",), "langgraph", ""),
        (
            ("langchain",),
            "langchain",
            "onplan.integrations.langchain needs LangChain (No module named 'langchain'): "
            'pip install "onplan[langchain]"',
        ),
        (
            ("langgraph",),
            "langchain",
            "onplan.integrations.langchain needs LangChain (No module named 'langgraph'): "
            'pip install "onplan[langchain]"',
        ),
    ],
)
def test_what_is_missing_and_the_way_out_are_named_in_one_line(
    absent: tuple[str, ...], module: str, told: str
) -> None:
    code = WITHOUT.format(absent=absent, module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (told and f"{told}\n")


def test_a_run_is_configured_by_the_caller_alone() -> None:
    graph = Graph(["ok"])
    assert "recursion_limit" not in (graph.app.config or {})
    assert graph.say("hi", {**AUTO, "recursion_limit": 2})["messages"][-1].content == "ok"
