"""The two faces of a LangChain tool, what the model sees and what the runtime fills; and the plan's tools."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, TypeVar, cast

from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException
from langchain_core.tools import tool as langchain_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import InjectedState
from pydantic import BaseModel, Field, PydanticInvalidForJsonSchema, WithJsonSchema, create_model

from onplan.errors import PlanError, ToolDefinitionError, ToolError
from onplan.integrations.lcinjections import injections
from onplan.plan.changes import PlanCall
from onplan.plan.dialect import tool_schemas
from onplan.plan.render import render_answer, render_plan
from onplan.plan.settings import Settings
from onplan.plan.state import State, apply
from onplan.plan.todo import Plan
from onplan.toolset import Ctx, Provider, Tool

T = TypeVar("T")

READ_ONLY = "read_only"
"""The key of a tool's `metadata` that says it changes nothing."""


def two_views(tool: BaseTool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The JSON schema of the parameters that the model sees, and the names of those that the runtime fills.

    Source: the first seed's lens. Raises `ToolDefinitionError` for parameters that JSON cannot describe.
    """
    try:
        offered = convert_to_openai_tool(tool)
    except PydanticInvalidForJsonSchema as error:
        why = str(error).partition("\n")[0]
        raise ToolDefinitionError(f"tool {tool.name}: its parameters have no JSON schema: {why}") from None
    return cast("dict[str, Any]", offered["function"]["parameters"]), injections(tool).names


def needs_state(tool: BaseTool) -> bool:
    """Whether the tool asks for the graph's state. A plain parameter named `state` does not: the model sees
    that one and fills it."""
    return bool(injections(tool).state)


def as_tool(offered: BaseTool | Tool | Callable[..., Any]) -> BaseTool:
    """A LangChain tool out of one, out of an onplan tool, or out of a function with a docstring.

    Raises `ToolDefinitionError` for anything that cannot be offered.
    """
    match offered:
        case BaseTool():
            return offered
        case type() if issubclass(offered, BaseTool):
            return _made(offered)
        case Tool():
            return from_onplan(offered)
        case _ if callable(offered):
            try:
                return cast("BaseTool", langchain_tool(offered))
            except (ValueError, TypeError) as error:
                name = getattr(offered, "__name__", repr(offered))
                raise ToolDefinitionError(f"tool {name}: {error}") from None
        case _:
            raise ToolDefinitionError(f"not a tool: {offered!r:.80}")


def _made(kind: type[BaseTool]) -> BaseTool:
    try:
        return kind()  # pyright: ignore[reportCallIssue] # whether it needs arguments is to be seen
    except (ValueError, TypeError):
        raise ToolDefinitionError(f"{kind.__name__} is a class: give an instance of it") from None


def from_onplan(tool: Tool, inject: Mapping[str, Provider] | None = None) -> BaseTool:
    """An onplan tool for LangChain. `inject` fills its injected parameters, as in `Toolset`."""
    providers = dict(inject or {})
    missing = [p.name for p in tool.params if p.runtime and p.type != "Ctx" and p.name not in providers]
    if missing:
        raise ToolDefinitionError(f"tool {tool.name}: nothing provides {', '.join(missing)}")

    async def run(tool_call_id: Annotated[str, InjectedToolCallId] = "", **sent: Any) -> tuple[str, Any]:
        try:
            output = await tool.run(sent, Ctx(tool_call_id), providers)
        except ToolError as error:
            raise ToolException(str(error)) from None
        if output.is_error:
            raise ToolException(output.content.removeprefix("Error: "))
        return output.content, output.details

    def run_here(tool_call_id: Annotated[str, InjectedToolCallId] = "", **sent: Any) -> tuple[str, Any]:
        return finished(run(tool_call_id, **sent))

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.input_schema,
        func=run_here,
        coroutine=run,
        response_format="content_and_artifact",
        metadata={READ_ONLY: tool.read_only},
    )


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from code that is not async, whether or not a loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            failure.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,))
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


# --- the plan's tools -------------------------------------------------------------------------------


def plan_tools(settings: Settings = Settings()) -> tuple[BaseTool, ...]:
    """The dialect's tools, with the schemas that the active rules make of them.

    By themselves they only put a plan into words, as the first seed's do: the node that runs them lifts
    the list out of the call. Reading asks for the state, writing does not.
    """
    write, *read = tool_schemas(settings.dialect, settings.rules)
    return (_write_tool(write, settings), *(_read_tool(schema, settings) for schema in read))


def _write_tool(schema: Mapping[str, Any], settings: Settings) -> BaseTool:
    def write(**sent: Any) -> str:
        after, said = apply(State(settings), PlanCall(settings.dialect.name, sent))
        # There is no plan here that an empty list could be the same as.
        return said.text if said.is_error or after.plan else render_answer(after.plan, settings.dialect)

    parameters: dict[str, Any] = {}
    for name, described in schema["input_schema"]["properties"].items():
        required = name in schema["input_schema"]["required"]
        asked = Field() if required else Field(default_factory=str)  # a default would be in the schema
        # Anything is let in: the plan engine judges what a model sent, and repairs what loses nothing.
        parameters[name] = (Annotated[Any, WithJsonSchema(described)], asked)
    return _structured(schema, create_model(str(schema["name"]), **parameters), write)


def _read_tool(schema: Mapping[str, Any], settings: Settings) -> BaseTool:
    def read(state: Annotated[dict[str, Any], InjectedState]) -> str:
        try:
            plan = Plan.from_json(state.get("todos") or [])
        except PlanError as error:
            raise ToolException(str(error)) from None
        return render_plan(plan, settings.dialect)

    asks = create_model(str(schema["name"]), state=(Annotated[dict[str, Any], InjectedState], Field()))
    return _structured(schema, asks, read)


def _structured(schema: Mapping[str, Any], asks: type[BaseModel], run: Callable[..., str]) -> BaseTool:
    return StructuredTool(
        name=str(schema["name"]),
        description=str(schema["description"]),
        args_schema=asks,
        func=run,
        metadata={READ_ONLY: True},  # nothing outside of the plan changes
    )
