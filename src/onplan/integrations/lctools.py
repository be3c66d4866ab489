"""The two faces of a LangChain tool, what the model sees and what the runtime fills; and the plan's tools."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar, cast, get_args, get_type_hints

from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException
from langchain_core.tools import tool as langchain_tool
from langchain_core.tools.base import get_all_basemodel_annotations
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from pydantic import BaseModel, Field, WithJsonSchema, create_model

from onplan.errors import PlanError, ToolDefinitionError, ToolError
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


@dataclass(frozen=True, slots=True)
class Injections:
    """The parameters of a tool that the runtime fills. `state`: the field of the state that each wants,
    empty for the whole of it."""

    state: Mapping[str, str]
    store: tuple[str, ...] = ()
    runtime: tuple[str, ...] = ()
    call_id: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.state, *self.store, *self.runtime, *self.call_id)


def two_views(tool: BaseTool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The JSON schema of the parameters that the model sees, and the names of those that the runtime fills.

    Source: the first seed's lens. A parameter in neither is optional and left alone by both.
    """
    seen = cast("dict[str, Any]", convert_to_openai_tool(tool)["function"]["parameters"])
    return seen, injections(tool).names


def needs_state(tool: BaseTool) -> bool:
    """Whether the tool asks for the graph's state. A plain parameter named `state` does not: the model sees
    that one and fills it."""
    return bool(injections(tool).state)


def injections(tool: BaseTool) -> Injections:
    """What the runtime has to fill in when it calls the tool."""
    state: dict[str, str] = {}
    found: dict[type, list[str]] = {InjectedStore: [], ToolRuntime: [], InjectedToolCallId: []}
    for name, hint in _annotations(tool).items():
        wanted = _mark(hint, InjectedState)
        if wanted is not None:
            state[name] = getattr(wanted, "field", None) or ""
        for kind, names in found.items():
            if _mark(hint, kind) is not None:
                names.append(name)
    stores, runtimes, ids = (tuple(names) for names in found.values())
    return Injections(state, stores, runtimes, ids)


def filled(
    tool: BaseTool, sent: Mapping[str, Any], state: Mapping[str, Any], runtime: ToolRuntime[Any, Any]
) -> dict[str, Any]:
    """The arguments of one call: the model's, and what only the runtime may say, whatever the model sent.

    `state` and what is in it are copied, so that a tool which changes them changes nothing (the first seed
    hands out the state itself and warns of it).
    """
    wanted = injections(tool)
    arguments = {name: value for name, value in sent.items() if name not in wanted.names}
    for name, part in wanted.state.items():
        arguments[name] = copy.deepcopy(state.get(part)) if part else copy.deepcopy(dict(state))
    for name in wanted.runtime:
        arguments[name] = replace(runtime, state=copy.deepcopy(dict(state)))
    return arguments | dict.fromkeys(wanted.store, runtime.store)


def as_tool(offered: BaseTool | Tool | Callable[..., Any]) -> BaseTool:
    """A LangChain tool out of one, out of an onplan tool, or out of a function with a docstring.

    Raises `ToolDefinitionError` for anything that cannot be offered.
    """
    match offered:
        case BaseTool():
            return offered
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

    thread = threading.Thread(target=run)
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


# --- annotations ------------------------------------------------------------------------------------


def _annotations(tool: BaseTool) -> dict[str, Any]:
    """The hints of all parameters, from the schema and from the function."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool._run
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        hints = {}
    hints.pop("return", None)
    if isinstance(tool.args_schema, dict):
        return hints
    return {**hints, **get_all_basemodel_annotations(tool.get_input_schema())}


def _mark(hint: Any, kind: type) -> object | None:
    """The mark of that kind in a hint, as a class or as a value; `None` if there is none."""
    candidates = (hint, *getattr(hint, "__metadata__", ()), *get_args(hint))
    for candidate in candidates:
        plain = getattr(candidate, "__origin__", candidate)  # ToolRuntime may be parametrised
        if isinstance(candidate, kind) or (isinstance(plain, type) and issubclass(plain, kind)):
            return candidate
    return None
