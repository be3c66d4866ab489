"""Tools: one signature gives two faces, the schema that the model sees and what the runtime fills in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Any, TypeAlias, TypeGuard, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from onplan.errors import ToolDefinitionError, ToolError
from onplan.messages import Call, Details, Media

T = TypeVar("T")


class Inject:
    """Marks a parameter that the runtime fills and the model never sees."""


Injected = Annotated[T, Inject()]
"""`workspace: Injected[Workspace]`: filled by the runtime from the toolset's provider of that name."""


def _discard(_: str) -> None: ...


class Ctx(msgspec.Struct, frozen=True):
    """What the runtime tells a tool about the call it is running.

    `progress(text)` shows live output to the person; it is not sent to the model.
    """

    call_id: str = ""
    progress: Callable[[str], None] = _discard


Provider: TypeAlias = Callable[[Ctx], object]
"""Makes the value of one injected parameter, anew for each call: state that it hands out is a copy."""


class ToolOutput(msgspec.Struct, frozen=True):
    """What a tool answers: `content` for the model, `details` for code and people. `media`: images and PDFs
    that go to the model along with `content`, except with an error."""

    content: str
    details: Details | None = None
    is_error: bool = False
    media: tuple[Media, ...] = ()


class Param(msgspec.Struct, frozen=True):
    """One parameter of a tool, for people: `runtime` ones are not in the model's schema."""

    name: str
    type: str
    required: bool
    runtime: bool


def leaked_schema(schema: Mapping[str, Any], filled: Iterable[Param]) -> dict[str, Any]:
    """The schema that the model would see if these parameters, the runtime's, were ordinary ones."""
    filled = tuple(filled)
    leaked = {param.name: {"description": f"a {param.type}"} for param in filled}
    required = [param.name for param in filled if param.required]
    return {
        **schema,
        "properties": {**schema.get("properties", {}), **leaked},
        "required": [*schema.get("required", []), *required],
    }


Runner: TypeAlias = Callable[[Any, Ctx, Mapping[str, Provider]], Awaitable[ToolOutput]]


class Tool(msgspec.Struct, frozen=True):
    """A tool as the loop knows it.

    `read_only`: it changes nothing. `parallel`: neighbouring calls may run side by side.
    `run` gets the arguments as the model sent them and may raise `ToolError` for its own failure.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Runner
    read_only: bool = False
    parallel: bool = False
    params: tuple[Param, ...] = ()

    @property
    def injected(self) -> tuple[str, ...]:
        return tuple(param.name for param in self.params if param.runtime)


def tool(
    *, name: str = "", read_only: bool = False, parallel: bool = False
) -> Callable[[Callable[..., Awaitable[ToolOutput | str]]], Tool]:
    """Make a tool of an async function: its signature is the schema, its docstring the description.

    The lines of the docstring's `Args:` section describe the parameters. A parameter annotated
    `Injected[...]`, or `Ctx`, is filled by the runtime: the model does not see it, and a value that the
    model sends for it is ignored. Raises `ToolDefinitionError` for a signature that cannot be offered.
    """

    def make(function: Callable[..., Awaitable[ToolOutput | str]]) -> Tool:
        return _tool_of(function, name or function.__name__, read_only=read_only, parallel=parallel)

    return make


def _tool_of(
    function: Callable[..., Awaitable[ToolOutput | str]], name: str, *, read_only: bool, parallel: bool
) -> Tool:
    if not inspect.iscoroutinefunction(function):
        raise ToolDefinitionError(f"tool {name}: it must be an async function (`async def`)")
    summary, documented = _docstring(function)
    hints = _hints(function, name)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    params: list[Param] = []
    contexts: list[str] = []
    injected: list[str] = []
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ToolDefinitionError(f"tool {name}: parameter {key} must be passable by keyword")
        hint = hints.get(key)
        if hint is None:
            raise ToolDefinitionError(f"tool {name}: parameter {key} has no type annotation")
        required = parameter.default is parameter.empty
        runtime = hint is Ctx or _is_injected(hint)
        shown = get_args(hint)[0] if runtime and hint is not Ctx else hint
        params.append(Param(key, _type_name(shown), required, runtime))
        if hint is Ctx:
            contexts.append(key)
        elif runtime:
            injected.append(key)
        else:
            described = _described(hint, documented.get(key, ""))
            fields.append((key, described) if required else (key, described, parameter.default))
    arguments_type, input_schema = _arguments_type(name, fields)

    async def run(sent: Any, ctx: Ctx, providers: Mapping[str, Provider]) -> ToolOutput:
        arguments, unknown = _convert(sent, arguments_type, name)
        unknown.difference_update(arguments_type.__struct_fields__)
        filled = {key: providers[key](ctx) for key in injected} | dict.fromkeys(contexts, ctx)
        values = {key: getattr(arguments, key) for key in arguments_type.__struct_fields__}
        output = await function(**values, **filled)
        output = ToolOutput(output) if isinstance(output, str) else output
        ignored = sorted(unknown - set(filled))
        if not ignored or not _is_output(output):
            return output  # of what is no output, the toolset says so
        known = ", ".join(arguments_type.__struct_fields__) or "none"
        line = f"(ignored: {', '.join(key[:40] for key in ignored[:5])}; parameters of {name}: {known})"
        return replace(output, content=f"{output.content}\n{line}")

    return Tool(
        name=name,
        description=summary,
        input_schema=input_schema,
        run=run,
        read_only=read_only,
        parallel=parallel,
        params=tuple(params),
    )


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ToolDefinitionError(f"tool {name}: its annotations cannot be read: {error}") from None


def _arguments_type(name: str, fields: list[Any]) -> tuple[type[msgspec.Struct], dict[str, Any]]:
    """What the arguments are checked against, and its schema."""
    try:
        arguments_type = msgspec.defstruct(name, fields, kw_only=True)
        return arguments_type, _schema(arguments_type)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolDefinitionError(f"tool {name}: its parameters make no schema: {error}") from None


def _is_injected(hint: Any) -> bool:
    return get_origin(hint) is Annotated and any(isinstance(mark, Inject) for mark in hint.__metadata__)


def _described(hint: Any, description: str) -> Any:
    return Annotated[hint, msgspec.Meta(description=description)] if description else hint


def _type_name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    doc = inspect.getdoc(function) or ""
    summary, _, section = doc.partition("\nArgs:\n")
    documented: dict[str, str] = {}
    key = ""
    for line in section.splitlines():
        start = re.match(r"    (\w+): (.*)", line)
        if start:
            key = start[1]
            documented[key] = start[2].strip()
        elif key and line.startswith("        "):
            documented[key] += " " + line.strip()
        elif line.strip():
            break
    return summary.strip(), documented


def _schema(arguments_type: type[msgspec.Struct]) -> dict[str, Any]:
    whole = msgspec.json.schema(arguments_type)
    definitions = whole.get("$defs", {})

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(item) for item in cast("list[Any]", node)]
        if not isinstance(node, dict):
            return node
        schema = cast("dict[str, Any]", node)
        if "$ref" in schema:
            return inline(definitions[schema["$ref"].rpartition("/")[2]])
        return {key: inline(value) for key, value in schema.items() if key not in ("title", "$defs")}

    return inline(whole)


def parse_arguments(sent: Any, name: str) -> dict[str, Any]:
    """The arguments object of a call, or `ToolError` with the parser's position and a short preview.

    An empty string stands for no arguments. Anything else that is no object is never taken as one:
    a tool that ran with `{}` instead of what was meant could do harm.
    """
    if isinstance(sent, dict):
        return cast("dict[str, Any]", sent)
    if isinstance(sent, str):
        if not sent.strip():
            return {}
        try:
            parsed = msgspec.json.decode(sent)
        except (msgspec.DecodeError, RecursionError) as error:
            preview = sent if len(sent) <= 300 else f"{sent[:200]} … ({len(sent):,} characters)"
            raise ToolError(
                f"the arguments of {name} are not valid JSON: {error}. Received: {preview}"
            ) from None
        if isinstance(parsed, dict):
            return cast("dict[str, Any]", parsed)
        sent = parsed
    kind = "null" if sent is None else type(sent).__name__
    raise ToolError(f"the arguments of {name} must be a JSON object, not {kind}")


def _convert(sent: Any, arguments_type: type[msgspec.Struct], name: str) -> tuple[msgspec.Struct, set[str]]:
    arguments = parse_arguments(sent, name)
    try:
        return msgspec.convert(arguments, arguments_type, strict=False), set(arguments)
    except msgspec.ValidationError as error:
        fields = ", ".join(arguments_type.__struct_fields__) or "none"
        raise ToolError(f"{name}: {_short(error)}. Parameters: {fields}") from None


def _short(error: Exception) -> str:
    """An error may quote what was sent, and that may be a megabyte."""
    text = str(error)
    return text if len(text) <= 300 else f"{text[:200]} … ({len(text):,} characters)"


def _is_output(answer: object) -> TypeGuard[ToolOutput]:
    if not isinstance(answer, ToolOutput):
        return False
    return _is_text(answer.content) and _are_media(answer.media)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_media(media: object) -> bool:
    """What is none could be written to a log, but not be read again."""
    return isinstance(media, tuple) and all(_is_medium(item) for item in cast("tuple[object, ...]", media))


def _is_medium(item: object) -> bool:
    return isinstance(item, Media) and all(map(_is_text, (item.media_type, item.data, item.name)))


class Toolset:
    """The tools of one agent, and the providers that fill their injected parameters. `canonical` turns calls
    under names that are not offered into calls of what is meant.

    Raises `ToolDefinitionError` at once for two tools of one name or a parameter that nothing provides.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        inject: Mapping[str, Provider] | None = None,
        canonical: Callable[[Call], Call] | None = None,
    ) -> None:
        self._canonical = canonical
        self._providers = dict(inject or {})
        self._tools: dict[str, Tool] = {}
        for item in tools:
            if item.name in self._tools:
                raise ToolDefinitionError(f"two tools are named {item.name}")
            missing = [
                param.name
                for param in item.params
                if param.runtime and param.type != "Ctx" and param.name not in self._providers
            ]
            if missing:
                raise ToolDefinitionError(f"tool {item.name}: nothing provides {', '.join(missing)}")
            self._tools[item.name] = item

    def __iter__(self):
        return iter(self._tools.values())

    def find(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def canonical(self, call: Call) -> Call:
        """The call under the name by which hooks and permissions know its tool: a name that is none here may
        be another name for one."""
        if call.name in self._tools or self._canonical is None:
            return call
        return self._canonical(call)

    def schemas(self) -> tuple[dict[str, Any], ...]:
        """What the model sees: name, description and input schema of every tool, in a fixed order."""
        return tuple(
            {"name": item.name, "description": item.description, "input_schema": item.input_schema}
            for item in self
        )

    async def call(self, call: Call, ctx: Ctx) -> ToolOutput:
        """Run one call. Never raises for a tool's own failure: that is an error output.

        Cancellation passes through.
        """
        item = self._tools.get(call.name)
        if item is None:
            known = ", ".join(self._tools) or "none"
            return ToolOutput(f"Error: no tool is named {call.name[:80]!r}. Tools: {known}", is_error=True)
        try:
            output: object = await item.run(call.arguments, ctx, self._providers)
        except ToolError as error:
            return ToolOutput(f"Error: {error}", is_error=True)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool's failure must not end the run (I7)
            return ToolOutput(f"Error: {call.name} failed: {type(error).__name__}: {error}", is_error=True)
        if _is_output(output):
            return output
        wrong = f"it ran, but answered {type(output).__name__} in place of text"
        return ToolOutput(f"Error: {call.name} failed: {wrong}", is_error=True)
