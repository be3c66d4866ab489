"""A LangChain tool named as `module:name`, as a tool whose two faces can be shown."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onplan.errors import ConfigError, OnplanError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.tools import BaseTool

    from onplan.toolset import Ctx, Provider, Tool, ToolOutput


def imported_tool(target: str) -> Tool:
    """The tool that `module:name` names, of LangChain or of onplan; a plain function becomes one.

    The current directory is looked in too, as `python -m` does. Raises `ConfigError` in one line.
    """
    from onplan.toolset import Tool

    found = _imported(target)
    if isinstance(found, Tool):
        return found
    try:
        from onplan.integrations.lctools import as_tool
    except ImportError as error:
        raise ConfigError(
            f'{target}: LangChain is needed ({error}): pip install "onplan[langchain]"'
        ) from None
    try:
        return _seen(as_tool(found))
    except OnplanError as error:
        raise ConfigError(f"{target}: {error}") from None


def _imported(target: str) -> Any:
    module, _, name = target.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - the module is the user's, and may fail in any way
        raise ConfigError(f"{target}: importing {module} failed: {type(error).__name__}: {error}") from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"{target}: {module} has no {name!r}")
        found = getattr(found, part)
    return found


def _seen(tool: BaseTool) -> Tool:
    from onplan.integrations.lcinjections import runtime_types
    from onplan.integrations.lctools import READ_ONLY, two_views
    from onplan.toolset import Param, Tool

    schema, _ = two_views(tool)
    required = schema.get("required", [])
    params = (
        *(Param(name, "", name in required, runtime=False) for name in schema.get("properties", {})),
        *(Param(name, type, required=True, runtime=True) for name, type in runtime_types(tool).items()),
    )
    read_only = bool((tool.metadata or {}).get(READ_ONLY))
    return Tool(tool.name, tool.description, schema, _not_run, read_only, False, params)


async def _not_run(arguments: Any, ctx: Ctx, providers: Mapping[str, Provider]) -> ToolOutput:
    raise ConfigError("the lens shows tools and runs none")
