"""The two faces of a tool: what the model sees of it, and what only the runtime fills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from onplan.toolset import Param, Tool, leaked_schema
from onplan.web.run import RuntimeParam, ToolFace

Runtime = Mapping[str, tuple[RuntimeParam, ...]]
"""What the runtime fills of each tool, by the tool's name."""


def runtime_of(tools: Iterable[Tool]) -> Runtime:
    """What the runtime fills of these tools."""
    return {
        tool.name: tuple(RuntimeParam(param.name, param.type) for param in tool.params if param.runtime)
        for tool in tools
    }


def tool_faces(schemas: Iterable[Mapping[str, Any]], runtime: Runtime) -> tuple[ToolFace, ...]:
    """The faces of the tools that a session offers. `schemas`: as its log has them."""
    return tuple(_face(schema, runtime.get(str(schema.get("name", "")), ())) for schema in schemas)


def _face(offered: Mapping[str, Any], runtime: tuple[RuntimeParam, ...]) -> ToolFace:
    schema = cast("dict[str, Any]", offered.get("input_schema") or {})
    filled = [Param(param.name, param.type, required=True, runtime=True) for param in runtime]
    leaked = leaked_schema(schema, filled) if filled else schema
    return ToolFace(
        str(offered.get("name", "")),
        str(offered.get("description", "")),
        schema,
        leaked,
        _size(schema),
        _size(leaked),
        runtime,
    )


def _size(schema: Mapping[str, Any]) -> int:
    return len(msgspec.json.encode(schema).decode())
