"""The first seed's system as a LangGraph graph: plan tools, approval and reminders around a chat model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

try:
    from langchain_core.runnables import Runnable, RunnableLambda
    from langchain_core.tools import BaseTool
    from langgraph.channels import DeltaChannel as _  # noqa: F401 - to name a LangGraph that is too old
    from langgraph.graph import START, StateGraph
    from langgraph.graph.state import CompiledStateGraph
except ImportError as error:
    raise ImportError(
        f'onplan.integrations.langgraph needs LangGraph ({error}): pip install "onplan[langgraph]"'
    ) from None

from onplan.errors import ToolDefinitionError
from onplan.integrations.graph_kit import Kit
from onplan.integrations.graph_model import ChatModel
from onplan.integrations.graph_nodes import Ways, answers, approval_node, chat_nodes
from onplan.integrations.graph_state import (
    PlanState,
    Todo,
    channels_of,
    messages_of,
    plan_state,
    require_channels,
    working_schema,
)
from onplan.integrations.graph_tools import tools_nodes
from onplan.integrations.graph_turn import end_reason
from onplan.integrations.lctools import as_tool, needs_state, plan_tools, two_views
from onplan.plan.dialect import Dialect
from onplan.plan.settings import Planning, Reminders, Settings, settings
from onplan.plan.todo import Rules
from onplan.planning import prompt_text
from onplan.toolset import Tool

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.store.base import BaseStore

__all__ = [
    "ChatModel",
    "PlanState",
    "Todo",
    "add_plan_nodes",
    "answers",
    "build_graph",
    "end_reason",
    "needs_state",
    "plan_state",
    "plan_tools",
    "read_todos",
    "require_channels",
    "two_views",
    "write_todos",
]

write_todos, read_todos = plan_tools()


def build_graph(
    model: Runnable[Any, Any],
    tools: Sequence[BaseTool | Tool | Callable[..., Any]] = (),
    *,
    approve: bool = True,
    dialect: str | Dialect = "write_todos",
    preset: Literal["tutorial"] | None = None,
    rules: Rules | None = None,
    reminder: Reminders | Literal["default"] = "default",
    planning: Planning = "suggest",
    max_continuations: int = 1,
    system: str = "",
    state_schema: type[Any] = PlanState,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    store: BaseStore | None = None,
    name: str = "onplan",
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A graph of the first seed's nodes, `chat`, `human_approval` and `tools`, compiled.

    `model` is a chat model, or any runnable from messages to a reply that knows its tools already. `tools`
    are LangChain tools, onplan tools, or functions with docstrings. With `approve` a person is asked before
    the calls of a reply run, which needs a checkpointer, unless `config["configurable"]["auto_approve"]`
    says otherwise. Settings of the plan are those of `PlanMemory`.

    Raises `ConfigError` for a state without the channels that the nodes write to, `PlanError` for settings
    that there are none of, `ToolDefinitionError` for tools that cannot be offered.
    """
    given = settings(
        dialect,
        preset=preset,
        rules=rules,
        reminder=reminder,
        planning=planning,
        max_continuations=max_continuations,
    )
    builder: Any = StateGraph(state_schema)
    offered = add_plan_nodes(builder, tools, given, approve=approve)
    told = "\n\n".join(part for part in (system, _planning_text(given)) if part)
    chat, achat = chat_nodes(_bound(model, offered), told)
    add: Any = builder.add_node  # its overloads know no runnable with a schema of its own
    add("chat", RunnableLambda(chat, achat), input_schema=messages_of(state_schema))
    graph = builder.compile(checkpointer=checkpointer, store=store, name=name)
    graph.stream_channels = list(channels_of(state_schema))  # what the nodes keep for themselves is not shown
    return graph


def add_plan_nodes(
    builder: StateGraph[Any, Any, Any, Any],
    tools: Sequence[BaseTool | Tool | Callable[..., Any]] = (),
    given: Settings = Settings(),
    *,
    approve: bool = True,
) -> list[BaseTool]:
    """Add `human_approval`, `tools` and all edges to a graph of one's own that has, or gets, a node `chat`.

    `chat` is to read the messages and to answer with one reply. Returns the tools that its model is to be
    bound to, the plan's first. Raises as `build_graph` does.
    """
    require_channels(builder.state_schema)
    offered = [as_tool(tool) for tool in tools]
    schema = builder.state_schema
    kit = Kit(given, {tool.name: tool for tool in offered}, approve, schema, builder.channels)
    clash = next((name for name in kit.plan_names if name in kit.tools), None)
    if clash or len(kit.tools) < len(offered):
        raise ToolDefinitionError(f"two tools are named {clash or _first_double(offered)}")
    ways, working = Ways(kit), working_schema(schema)
    add: Any = builder.add_node  # its overloads know no runnable with a schema of its own
    add("human_approval", approval_node(kit), input_schema=working)
    add("tools", RunnableLambda(*tools_nodes(kit)), input_schema=working)
    builder.add_conditional_edges(START, _reading(working, ways.from_start))
    builder.add_conditional_edges("chat", _reading(working, ways.from_chat))
    builder.add_conditional_edges("tools", _reading(working, ways.from_tools))
    builder.add_edge("human_approval", "tools")
    return [*(plan_tools(given) if kit.plan_names else ()), *offered]


def _reading(schema: type[Any], way: Callable[..., Any]) -> Callable[..., Any]:
    """The way, reading this schema, as LangGraph takes it from the annotations: a dict, whatever class
    declares the state."""

    @wraps(way)
    def path(*given: Any, **named: Any) -> Any:
        return way(*given, **named)

    path.__annotations__ = {**way.__annotations__, "state": schema}
    return path


def _first_double(tools: Sequence[BaseTool]) -> str:
    names = [tool.name for tool in tools]
    return next(name for name in names if names.count(name) > 1)


def _planning_text(given: Settings) -> str:
    return "" if given.planning == "off" else prompt_text(given.dialect)


def _bound(model: Runnable[Any, Any], tools: Sequence[BaseTool]) -> Runnable[Any, Any]:
    """The model with its tools. One that cannot bind any knows them already, or is a test's."""
    bind: Any = getattr(model, "bind_tools", None)
    if bind is None or not tools:
        return model
    try:
        return bind(tools)
    except NotImplementedError:
        return model
