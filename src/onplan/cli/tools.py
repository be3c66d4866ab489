"""`onplan tools`: the two faces of each tool, what the model sees and what the runtime fills."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from onplan.cli.completion import tool_names
from onplan.cli.options import RunFlags, common_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onplan.cli.view.screen import Line
    from onplan.toolset import Tool


@click.command(
    "tools",
    short_help="Show what the model sees of each tool, and what the runtime fills.",
    epilog="\b\nExample:\n  onplan tools\n  onplan tools bash --without-injection\n"
    "  onplan tools mytools:search --without-injection",
)
@click.argument("name", required=False, metavar="[NAME|MODULE:NAME]", shell_complete=tool_names)
@click.option(
    "--without-injection",
    is_flag=True,
    help="What would leak into the model's schema if the annotation were taken away.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
@common_options
def command(flags: RunFlags, name: str | None, without_injection: bool, as_json: bool) -> None:
    """Show the tools of the coding agent. Each has two faces: the schema that the model sees, and the
    parameters that only the runtime fills. With NAME: that tool, with its whole schema. With MODULE:NAME:
    a tool of your own, LangChain's or onplan's; the module is imported, and no tool is run."""
    from onplan.cli.view.screen import screen_on

    screen = screen_on(sys.stdout, colour=flags.colour)
    tools = _chosen(name)
    if as_json:
        screen.json([_as_json(tool, without_injection) for tool in tools])
        return
    for tool in tools:
        screen.lines(_faces(tool, without_injection))
        if name:
            screen.text(_pretty(_leaked(tool) if without_injection else tool.input_schema))
    if not name:
        screen.say(_total(tools))


def _chosen(name: str | None) -> list[Tool]:
    from onplan.coding import coding_tools
    from onplan.plan.dialect import DIALECTS
    from onplan.plan.settings import settings
    from onplan.planning import Planning

    if name is not None and ":" in name:
        from onplan.cli.lens import imported_tool

        return [imported_tool(name)]
    tools = [*Planning().tools(), *coding_tools()]
    if name is None:
        return tools
    found = [tool for tool in tools if tool.name == name]
    if name in DIALECTS:  # the plan tool of any dialect
        found = list(Planning(settings(name)).tools()[:1])
    if not found:
        known = ", ".join(tool.name for tool in tools)
        raise click.UsageError(f"no tool is named {name[:60]!r}; tools: {known}")
    return found


def _leaked(tool: Tool) -> dict[str, Any]:
    from onplan.toolset import leaked_schema

    return leaked_schema(tool.input_schema, (param for param in tool.params if param.runtime))


def _faces(tool: Tool, without_injection: bool) -> Iterator[Line]:
    from onplan.cli.view.screen import Span
    from onplan.cli.view.words import counted

    seen = _seen(tool)
    filled = {param.name: param.type for param in tool.params if param.runtime}
    summary = tool.description.splitlines()[0] if tool.description else ""
    yield (Span(tool.name, "bold"), f"  {summary}")
    size = _size(tool.input_schema)
    yield (f"  the model sees {counted(len(seen), 'parameter')} ({counted(size, 'character')} of schema)",)
    yield from ((Span(f"    {name}", "green"), f": {told}") for name, told in seen.items())
    yield (f"  the runtime fills {len(filled)}",)
    yield from ((Span(f"    {name}", "cyan"), f": {told}") for name, told in filled.items())
    if leaking := [name for name in filled if name in seen]:
        yield (Span(f"  leaks: the model sees {', '.join(leaking)} as well", "yellow"),)
    if without_injection and filled:
        more = _size(_leaked(tool)) - size
        names = ", ".join(filled)
        yield (Span(f"  would leak without the annotation: {names} (+{more} characters)", "yellow"),)
    elif without_injection:
        yield (Span("  nothing would leak", "dim"),)


def _seen(tool: Tool) -> dict[str, str]:
    required = tool.input_schema.get("required", [])
    properties: dict[str, Any] = tool.input_schema.get("properties", {})
    return {
        name: _type(schema) + ("" if name in required else ", optional")
        for name, schema in properties.items()
    }


def _type(schema: dict[str, Any]) -> str:
    kinds = [schema, *schema.get("anyOf", [])]
    return " or ".join(str(kind["type"]) for kind in kinds if "type" in kind) or "any"


def _total(tools: list[Tool]) -> str:
    seen = sum(len(_seen(tool)) for tool in tools)
    filled = sum(param.runtime for tool in tools for param in tool.params)
    return f"{len(tools)} tools: the model sees {seen} parameters; {filled} more are filled by the runtime"


def _as_json(tool: Tool, without_injection: bool) -> dict[str, Any]:
    from msgspec import to_builtins

    faces = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "runtime": [to_builtins(param) for param in tool.params if param.runtime],
        "read_only": tool.read_only,
        "parallel": tool.parallel,
    }
    return {**faces, "leaked_schema": _leaked(tool)} if without_injection else faces


def _size(schema: dict[str, Any]) -> int:
    import msgspec

    return len(msgspec.json.encode(schema).decode())


def _pretty(schema: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode()
