"""The parameters of a LangChain tool that are not the model's: which they are, and filling them."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId
from langchain_core.tools.base import FILTERED_ARGS, get_all_basemodel_annotations
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime

from onplan.errors import ToolError


@dataclass(frozen=True, slots=True)
class Injections:
    """The parameters of a tool that are not the model's to fill. `state`: the field of the state that each
    wants, empty for the whole of it. `others`: what LangChain itself or the tool's own code fills."""

    state: Mapping[str, str]
    store: tuple[str, ...] = ()
    runtime: tuple[str, ...] = ()
    call_id: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.state, *self.store, *self.runtime, *self.call_id, *self.others)


def injections(tool: BaseTool) -> Injections:
    """What is to be filled in beside the model's arguments when the tool is called."""
    state: dict[str, str] = {}
    kinds = (InjectedStore, ToolRuntime, InjectedToolCallId, InjectedToolArg)
    found: dict[type, list[str]] = {kind: [] for kind in kinds}
    parameters = _parameters(tool)
    for name, parameter in parameters.items():
        wanted = _mark(parameter.hint, InjectedState)
        kind = next((kind for kind in kinds if _mark(parameter.hint, kind) is not None), None)
        if wanted is not None:
            state[name] = getattr(wanted, "field", None) or ""
        elif name == "runtime" and parameter.hint is Any:
            found[ToolRuntime].append(name)  # LangGraph's own node goes by the name alone
        elif kind is not None:
            found[kind].append(name)
        elif _is_config(parameter.hint) or name in FILTERED_ARGS:
            found[InjectedToolArg].append(name)
    stores, runtimes, ids, others = (tuple(names) for names in found.values())
    optional = frozenset(name for name, parameter in parameters.items() if parameter.optional)
    return Injections(state, stores, runtimes, ids, others, optional)


def filled(
    tool: BaseTool, sent: Mapping[str, Any], state: Mapping[str, Any], runtime: ToolRuntime[Any, Any]
) -> dict[str, Any]:
    """The arguments of one call: the model's, and what only the runtime may say, whatever the model sent.

    State is handed out as a copy, so that a tool which changes it changes nothing (the first seed hands out
    the state itself and warns of it); the whole of it in the shape that `runtime.state` has. Raises
    `ToolError` where the tool asks for what is not there.
    """
    wanted = injections(tool)
    arguments = {name: value for name, value in sent.items() if name not in wanted.names}
    for name, part in wanted.state.items():
        if not part:
            arguments[name] = copied(runtime.state)
        elif part in state:
            arguments[name] = copied(state[part])
        elif name not in wanted.optional:
            raise ToolError(f"{tool.name} asks for {part!r} of the state, which is not there")
    for name in wanted.runtime:
        arguments[name] = replace(runtime, state=copied(runtime.state))
    for name in wanted.store:
        if runtime.store is not None:
            arguments[name] = runtime.store
        elif name not in wanted.optional:
            raise ToolError(f"{tool.name} asks for a store, and the graph was built without one")
    return arguments


def copied(value: Any) -> Any:
    """A copy down to the last message; of what cannot be copied, a connection say, the thing itself."""
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - classes raise what they like when they are copied
        if isinstance(value, dict):
            parts = cast("dict[Any, Any]", value)
            return {name: copied(part) for name, part in parts.items()}
        return value


def runtime_types(tool: BaseTool) -> dict[str, str]:
    """The parameters that the runtime fills, each with its type in words, without the annotation."""
    found = _parameters(tool)
    return {name: _type_name(found[name].hint) for name in injections(tool).names}


# --- parameters -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Parameter:
    hint: Any
    optional: bool


def _parameters(tool: BaseTool) -> dict[str, _Parameter]:
    """All parameters, as the function has them and, before it, the schema."""
    written = [getattr(tool, "func", None), getattr(tool, "coroutine", None)]
    functions = [function for function in written if function is not None] or [tool._run, tool._arun]
    found: dict[str, _Parameter] = {}
    for function in functions:
        found = {**_of_function(function), **found}
    return {**found, **_of_schema(tool)}


def _of_function(function: Callable[..., Any]) -> dict[str, _Parameter]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError):  # a name that only a type checker imports
        hints = {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        name: _Parameter(hints.get(name, Any), parameter.default is not inspect.Parameter.empty)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in named
    }


def _of_schema(tool: BaseTool) -> dict[str, _Parameter]:
    if isinstance(tool.args_schema, dict):
        return {}
    schema = tool.get_input_schema()
    fields: Mapping[str, Any] = getattr(schema, "model_fields", {})
    return {
        name: _Parameter(hint, name in fields and not fields[name].is_required())
        for name, hint in get_all_basemodel_annotations(schema).items()
    }


def _mark(hint: Any, kind: type) -> object | None:
    """The mark of that kind in a hint, as a class or as a value; `None` if there is none."""
    origin = get_origin(hint)
    plain = hint if origin is None else origin  # ToolRuntime may be parametrised
    if isinstance(hint, kind) or (isinstance(plain, type) and issubclass(plain, kind)):
        return hint
    if origin not in (Annotated, Union, UnionType):
        return None
    marks = (_mark(inner, kind) for inner in get_args(hint))
    return next((mark for mark in marks if mark is not None), None)


def _type_name(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        return _type_name(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(_type_name(inner) for inner in get_args(hint))
    if hint in (Any, type(None)):
        return "any" if hint is Any else "None"
    return getattr(hint, "__name__", str(hint))


def _is_config(hint: Any) -> bool:
    return RunnableConfig in (hint, *get_args(hint))
