"""The node `tools`: runs what is to run between two requests, in this thread or awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from langchain_core.messages import BaseMessage, ToolCall, ToolMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphInterrupt, is_invalid_resume
from langgraph.func import task
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command, Interrupt
from pydantic import ValidationError

from onplan.errors import ToolError
from onplan.integrations.graph_batch import Job, Ran, between_requests, written
from onplan.integrations.graph_kit import Kit
from onplan.integrations.graph_nodes import is_auto
from onplan.integrations.graph_state import OURS
from onplan.integrations.lcinjections import filled
from onplan.integrations.lcmessages import to_langchain
from onplan.integrations.lctools import finished
from onplan.messages import ToolResult

State: TypeAlias = Mapping[str, Any]
Update: TypeAlias = "list[dict[str, Any] | Command[Any]]"


def tools_nodes(
    kit: Kit,
) -> tuple[Callable[[State, RunnableConfig], Any], Callable[[State, RunnableConfig], Awaitable[Any]]]:
    """The node that does everything between two requests, for `invoke` and for `ainvoke`.

    A call that is not alone in its reply is a task of LangGraph's: its result is kept at once, so that it
    does not run again when another one stops the node with a question.
    """

    @task(name="call_tool")
    def call_once(job: Job) -> dict[str, Any]:
        return {"messages": _invoke(kit, job, get_config())}

    @task(name="call_tool")
    async def acall_once(job: Job) -> dict[str, Any]:
        return {"messages": await _ainvoke(kit, job, get_config())}

    def tools(state: State, config: RunnableConfig) -> Any:
        steps = between_requests(kit, state, auto=is_auto(config))
        asked: list[Interrupt] = []
        ran: Ran | None = None
        while True:
            try:
                job = next(steps) if ran is None else steps.send(ran)
            except StopIteration as done:
                return _returned(done.value, asked)
            try:
                answer = _invoke(kit, job, config) if job.alone else call_once(job).result()["messages"]
                ran = _came_to(kit, job, answer)
            except GraphInterrupt as stop:
                ran = _waits(job, stop, asked)

    async def atools(state: State, config: RunnableConfig) -> Any:
        steps = between_requests(kit, state, auto=is_auto(config))
        asked: list[Interrupt] = []
        ran: Ran | None = None
        while True:
            try:
                job = next(steps) if ran is None else steps.send(ran)
            except StopIteration as done:
                return _returned(done.value, asked)
            try:
                alone = job.alone
                answer = await _ainvoke(kit, job, config) if alone else (await acall_once(job))["messages"]
                ran = _came_to(kit, job, answer)
            except GraphInterrupt as stop:
                ran = _waits(job, stop, asked)

    return tools, atools


def _waits(job: Job, stop: GraphInterrupt, asked: list[Interrupt]) -> Ran:
    """The question of a call is put aside until the others of its reply have run; alone it stops the node."""
    if job.alone:
        raise stop
    asked += stop.args[0]
    return _failed(job, "it waits for an answer")


def _returned(update: Update, asked: Sequence[Interrupt]) -> Any:
    """The update; or, where calls of the batch put questions to a person, all of these at once."""
    if asked:
        raise GraphInterrupt(tuple(asked))
    return update if len(update) > 1 else update[0]


# --- one call ---------------------------------------------------------------------------------------


def _invoke(kit: Kit, job: Job, config: RunnableConfig) -> list[Any]:
    try:
        if _is_only_awaited(job.tool):
            return _listed(finished(job.tool.ainvoke(_tool_call(kit, job, config), config)))
        return _listed(job.tool.invoke(_tool_call(kit, job, config), config))
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001 - a tool's failure must not end the run (I7)
        return _told(job, error)


async def _ainvoke(kit: Kit, job: Job, config: RunnableConfig) -> list[Any]:
    try:
        return _listed(await job.tool.ainvoke(_tool_call(kit, job, config), config))
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001 - a tool's failure must not end the run (I7)
        return _told(job, error)


def _is_only_awaited(tool: BaseTool) -> bool:
    """Whether there is no other way to run the tool than to await it."""
    return getattr(tool, "coroutine", None) is not None and getattr(tool, "func", None) is None


def _told(job: Job, error: Exception) -> list[Any]:
    """A tool's failure as its answer. A resume value of the wrong shape is the caller's failure."""
    if is_invalid_resume(error):
        raise error
    return list(_failed(job, _words(job.tool.name, error)).messages)


def _tool_call(kit: Kit, job: Job, config: RunnableConfig) -> ToolCall:
    runtime: Runtime[Any] = get_runtime()
    given: ToolRuntime[Any, Any] = ToolRuntime(
        state=kit.shaped(job.state),
        context=runtime.context,
        config=config,
        stream_writer=runtime.stream_writer,
        tool_call_id=job.call_id,
        store=runtime.store,
        tools=list(kit.tools.values()),
        execution_info=runtime.execution_info,
        server_info=runtime.server_info,
    )
    arguments = filled(job.tool, job.arguments, job.state, given)
    return ToolCall(name=job.tool.name, args=arguments, id=job.call_id, type="tool_call")


def _words(name: str, error: Exception) -> str:
    """What the model reads of a failure."""
    match error:
        case ToolError() | ToolException():
            return f"Error: {error}"
        case ValidationError():
            faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5]]
            return f"Error: {name}: {'; '.join(faults)}"
        case _:
            return f"Error: {name} failed: {type(error).__name__}: {error}"


def _came_to(kit: Kit, job: Job, answer: Sequence[Any]) -> Ran:
    """What a tool answered, as messages and writes. Exactly one message is the result of this call."""
    messages: list[BaseMessage] = []
    writes: list[tuple[str, Any]] = []
    commands: list[Command[Any]] = []
    for item in answer:
        match item:
            case BaseMessage():
                messages.append(item)
            case Command(graph=str()):
                commands.append(item)  # all of it is another graph's
            case Command():
                for name, value in written(item):
                    if name == "messages":
                        messages += convert_to_messages(_listed(value))
                    else:
                        writes.append((name, value))
                if item.goto:
                    commands.append(Command(goto=item.goto))
            case _:
                return _failed(job, f"Error: {job.tool.name} failed: it answered {type(item).__name__}")
    if any(name in ("todos", *OURS) for name, _ in writes):
        return _failed(job, f"Error: {job.tool.name} failed: only the plan's own tools change the todos")
    if lost := [name for name, _ in writes if name not in kit.channels]:
        told = f"the state has no channel {lost[0]!r}, so what it wrote there would be lost"
        return _failed(job, f"Error: {job.tool.name} failed: {told}")
    own = [one for one in messages if isinstance(one, ToolMessage) and one.tool_call_id == job.call_id]
    if len(own) != 1:
        said = to_langchain(ToolResult(job.call_id, job.tool.name, "done", changed=True))
        messages = [said, *(one for one in messages if one not in own)]
    return Ran(tuple(messages), tuple(writes), tuple(commands))


def _listed(answer: Any) -> list[Any]:
    if answer is None:
        return []
    return cast("list[Any]", answer) if isinstance(answer, list) else [answer]


def _failed(job: Job, text: str) -> Ran:
    return Ran((to_langchain(ToolResult(job.call_id, job.tool.name, text, "error")),))
