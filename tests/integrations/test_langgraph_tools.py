"""Tools of one's own on the graph: all that LangGraph's own tool node runs, in a state of any class."""

from __future__ import annotations

import operator
import threading
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, interrupt
from langgraph_parts import ASK, AUTO, RUNNERS, Graph, call, kinds, look, reply, results, todos, write
from pydantic import BaseModel
from pydantic.v1 import BaseModel as OldModel

from onplan.integrations.graph_model import ChatModel
from onplan.integrations.langgraph import build_graph, needs_state, plan_state, two_views
from onplan.messages import Call
from onplan.models.scripted import ScriptedModel

CallId = Annotated[str, InjectedToolCallId]


def answer_to(
    offered: Any, way: str = "invoke", *, sent: dict[str, Any] | None = None, **options: Any
) -> str:
    """What one call of the tool comes to, beside another call."""
    calls = [Call("c1", offered.name, sent or {}), call("look", "c2")]
    graph = Graph([calls, "ok"], [offered, look], **options)
    return dict(results(RUNNERS[way](graph.app, {"messages": [("user", "go")]}, AUTO)["messages"]))["c1"]


# --- what the runtime fills -------------------------------------------------------------------------


@pytest.mark.parametrize("way", RUNNERS)
def test_every_annotation_of_langgraph_is_filled(way: str) -> None:
    @tool
    def all_of_them(
        text: str,
        state: Annotated[dict, InjectedState],
        steps: Annotated[list, InjectedState("todos")],
        store: Annotated[BaseStore, InjectedStore()],
        call_id: CallId,
        config: RunnableConfig,
        runtime: ToolRuntime,
    ) -> str:
        """Ask for everything."""
        store.put(("seen",), "text", {"text": text})
        runtime.stream_writer({"at": 1})
        return f"{text} {sorted(state)} {steps} {call_id} {config.get('configurable', {})['thread_id']}"

    store = InMemoryStore()
    told = answer_to(all_of_them, way, sent={"text": "hi", "call_id": "forged"}, store=store)
    assert told == "hi ['messages', 'todos'] [] c1 t"
    assert [item.value for item in store.search(("seen",))] == [{"text": "hi"}]
    schema, filled = two_views(all_of_them)
    assert (list(schema["properties"]), sorted(filled)) == (
        ["text"],
        ["call_id", "config", "runtime", "state", "steps", "store"],
    )


def test_the_runtime_tells_what_langgraphs_own_node_tells() -> None:
    @tool
    def ask(runtime: ToolRuntime) -> str:
        """Ask."""
        names = [one.name for one in runtime.tools]
        return f"{runtime.tool_call_id} {names} {runtime.execution_info is not None} {sorted(runtime.state)}"

    assert answer_to(ask) == "c1 ['ask', 'look'] True ['messages', 'todos']"


def test_a_mark_inside_of_a_union_counts_too() -> None:
    @tool
    def maybe(state: Annotated[dict, InjectedState] | None = None) -> str:
        """Ask."""
        return str(sorted(state or ()))

    assert answer_to(maybe) == "['messages', 'todos']"


def test_a_parameter_that_only_code_may_fill_cannot_be_forged_by_the_model() -> None:
    @tool
    def pay(amount: int, account: Annotated[str, InjectedToolArg] = "own") -> str:
        """Pay."""
        return f"{amount} from {account}"

    assert answer_to(pay, sent={"amount": 3, "account": "somebody else's"}) == "3 from own"
    assert two_views(pay)[1] == ("account",)


def test_a_field_that_the_state_does_not_have_keeps_its_default_or_is_named() -> None:
    @tool
    def easy(budget: Annotated[int, InjectedState("budget")] = 7) -> str:
        """Ask."""
        return str(budget)

    @tool
    def strict(budget: Annotated[int, InjectedState("budget")]) -> str:
        """Ask."""
        return str(budget)

    @tool
    def shop(store: Annotated[BaseStore, InjectedStore()]) -> str:
        """Ask."""
        return "there is one"

    assert needs_state(easy)
    assert answer_to(easy) == "7"
    assert answer_to(strict) == "Error: strict asks for 'budget' of the state, which is not there"
    assert answer_to(shop) == "Error: shop asks for a store, and the graph was built without one"


def test_a_parameter_named_runtime_needs_no_annotation_and_one_with_another_is_the_models() -> None:
    @tool
    def bare(runtime) -> str:  # pyright: ignore # the point of it
        """Ask."""
        return type(runtime).__name__

    @tool
    def film(runtime: int) -> str:
        """How long it is."""
        return f"{runtime} minutes"

    assert (answer_to(bare), answer_to(film, sent={"runtime": 90})) == ("ToolRuntime", "90 minutes")


def test_what_cannot_be_copied_is_handed_out_as_it_is_and_the_rest_as_a_copy() -> None:
    class Mine(MessagesState):
        todos: list[Any]
        lock: Any

    @tool
    def spoil(state: Annotated[dict, InjectedState]) -> str:
        """Spoil."""
        state["todos"].clear()
        return type(state["lock"]).__name__

    graph = Graph(
        [[write("~ a", id="c1"), call("spoil", "c2")], "ok"],
        [spoil],
        state_schema=Mine,
        approve=False,
        saver=False,
        max_continuations=0,
    )
    given: Any = {"messages": [("user", "go")], "lock": threading.Lock()}
    ended = graph.app.invoke(given)
    assert (dict(results(ended["messages"]))["c2"], ended["todos"]) == ("lock", todos("~ a"))


# --- kinds of tools ---------------------------------------------------------------------------------


class Arguments(BaseModel):
    text: str
    state: Annotated[dict, InjectedState]


class OldArguments(OldModel):
    text: str


class WithSchema(BaseTool):
    name: str = "with_schema"
    description: str = "Answer."
    args_schema: Any = Arguments

    def _run(self, text: str, state: dict) -> str:
        return f"{text} {sorted(state)}"

    async def _arun(self, text: str, state: dict) -> str:
        return f"{text} {sorted(state)}"


class WithOldSchema(BaseTool):
    name: str = "with_old_schema"
    description: str = "Answer."
    args_schema: Any = OldArguments

    def _run(self, text: str) -> str:
        return text


class WithoutSchema(BaseTool):
    name: str = "without_schema"
    description: str = "Answer."

    def _run(self, text: str, state: Annotated[dict, InjectedState]) -> str:
        return f"{text} {sorted(state)}"


def _from_json_schema() -> BaseTool:
    """As those of an MCP server are: a JSON schema, and a coroutine alone."""

    async def run(**sent: Any) -> tuple[str, Any]:
        return sent["text"], {"kept": True}

    asks = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return StructuredTool(
        name="from_json_schema",
        description="Answer.",
        args_schema=asks,
        coroutine=run,
        response_format="content_and_artifact",
    )


@tool
async def awaited(text: str) -> str:
    """Answer."""
    return text


@pytest.mark.parametrize("way", RUNNERS)
@pytest.mark.parametrize(
    ("offered", "told"),
    [
        (WithSchema(), "hi ['messages', 'todos']"),
        (WithOldSchema(), "hi"),
        (WithoutSchema(), "hi ['messages', 'todos']"),
        (_from_json_schema(), "hi"),
        (awaited, "hi"),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_every_kind_of_tool_runs_however_the_graph_is_run(offered: BaseTool, told: str, way: str) -> None:
    assert answer_to(offered, way, sent={"text": "hi"}) == told
    assert list(two_views(offered)[0]["properties"]) == ["text"]


async def test_an_awaited_tool_may_ask_in_a_graph_that_is_not_awaited() -> None:
    @tool
    async def ask(call_id: CallId) -> str:
        """Ask."""
        return f"they said {interrupt({'call_id': call_id})}"

    graph = Graph([[call("ask", "c1"), call("look", "c2")], "ok"], [ask, look])
    graph.say("go")  # in a thread that runs a loop already
    ended = graph.app.invoke(Command(resume="yes"), AUTO)
    assert dict(results(ended["messages"]))["c1"] == "they said yes"


# --- commands ---------------------------------------------------------------------------------------


class Logged(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    todos: list[Any]
    log: Annotated[list[str], operator.add]
    last: str


@tool
def note(text: str, state: Annotated[dict, InjectedState], call_id: CallId) -> Command[Any]:
    """Note something down."""
    seen = ToolMessage(f"after {state.get('log')} {state.get('last')}", tool_call_id=call_id)
    return Command(update={"log": [text], "last": text, "messages": [seen]})


@pytest.mark.parametrize("way", RUNNERS)
def test_writes_of_several_calls_add_up_where_the_channel_adds_and_replace_elsewhere(way: str) -> None:
    calls = [call("note", f"c{text}", text=text) for text in "123"]
    graph = Graph([calls, "ok"], [note], state_schema=Logged)
    ended = RUNNERS[way](graph.app, {"messages": [("user", "go")], "log": ["0"]}, AUTO)
    assert (ended["log"], ended["last"]) == (["0", "1", "2", "3"], "3")
    assert [text for _, text in results(ended["messages"])] == [
        "after ['0'] None",
        "after ['0', '1'] 1",
        "after ['0', '1', '2'] 2",
    ]


def test_a_write_to_a_channel_that_is_not_there_is_named_and_not_dropped() -> None:
    assert answer_to(note, sent={"text": "x"}) == (
        "Error: note failed: the state has no channel 'log', so what it wrote there would be lost"
    )


def test_an_update_may_have_any_form_that_langgraph_takes_and_none_reaches_the_todos() -> None:
    @tool
    def pairs(call_id: CallId) -> Command[Any]:
        """Answer."""
        return Command(update=[("messages", [{"role": "tool", "content": "hi", "tool_call_id": call_id}])])

    @tool
    def several(call_id: CallId) -> list[Any]:
        """Answer."""
        return [Command(update={}), ToolMessage("hi", tool_call_id=call_id)]

    @tool
    def silent() -> Command[Any]:
        """Answer."""
        return Command()

    @tool
    def forge() -> Command[Any]:
        """Answer."""
        return Command(update=[("todos", todos("x forged"))])

    assert [answer_to(one) for one in (pairs, several, silent)] == ["hi", "hi", "done"]
    assert answer_to(forge) == "Error: forge failed: only the plan's own tools change the todos"


def test_a_command_for_the_graph_around_it_is_passed_on_whole() -> None:
    @tool
    def hand_over(to: str, state: Annotated[dict, InjectedState], call_id: CallId) -> Command[Any]:
        """Hand over."""
        said = ToolMessage("handed over", tool_call_id=call_id)
        update = {"messages": [*state["messages"], said], "active": to}
        return Command(graph=Command.PARENT, goto=to, update=update)

    class Around(MessagesState):
        active: str

    script = [[call("look", "c1"), call("hand_over", "c2", to="other")], "never said"]
    agent = build_graph(ChatModel(ScriptedModel(script)), [hand_over, look])
    builder: Any = StateGraph(Around)
    builder.add_node("agent", agent, destinations=("other",))
    builder.add_node("other", lambda _: {"messages": [AIMessage("Here.")]})
    builder.add_edge(START, "agent")
    builder.add_edge("other", END)
    ended = builder.compile(checkpointer=InMemorySaver()).invoke({"messages": [("user", "go")]}, AUTO)
    assert (kinds(ended["messages"]), ended["active"]) == (["human", "ai", "tool", "tool", "ai"], "other")
    assert results(ended["messages"]) == [("c1", "saw "), ("c2", "handed over")]


def test_several_commands_for_the_graph_around_it_all_count() -> None:
    @tool
    def start(job: str) -> Command[Any]:
        """Start a job."""
        return Command(graph=Command.PARENT, goto=[Send("job", job)])

    class Around(MessagesState):
        done: Annotated[list[str], operator.add]

    agent = build_graph(ChatModel(ScriptedModel([[call("start", job="a"), call("start", job="b")]])), [start])
    builder: Any = StateGraph(Around)
    builder.add_node("agent", agent, destinations=("job",))
    builder.add_node("job", lambda job: {"done": [job]})
    builder.add_edge(START, "agent")
    ended = builder.compile(checkpointer=InMemorySaver()).invoke({"messages": [("user", "go")]}, AUTO)
    assert sorted(ended["done"]) == ["a", "b"]


# --- messages that are taken out --------------------------------------------------------------------

SHOWN = (
    "<reminder>Earlier messages are no longer shown. The plan stands at revision 1. Open:\n"
    '[~] a\n[ ] b\nNow: "a". Next: "b".</reminder>'
)


def test_a_plan_outlives_its_messages_and_is_recited_once() -> None:
    graph = Graph(
        [[write("~ a", "  b")], "Later.", "Yes?", [call("read_todos", "r")], "ok"], max_continuations=0
    )
    before = graph.say("go")["messages"]
    graph.app.update_state(AUTO, {"messages": [RemoveMessage(id=str(one.id)) for one in before[:-1]]})
    ended = graph.say("and?")
    assert kinds(ended["messages"]) == ["ai", "human", "reminder", "ai"]
    assert graph.requests[-1][-1] == SHOWN
    state = plan_state(ended["messages"])
    assert (state.ledger.revision, state.ledger.revisions[-1].author) == (1, "model")
    ended = graph.say("again")
    assert kinds(ended["messages"])[4:] == ["human", "ai", "tool", "ai"]
    assert (dict(results(ended["messages"]))["r"], ended["todos"]) == ("[~] a\n[ ] b", todos("~ a", "  b"))


def test_a_thread_that_was_emptied_goes_on_with_its_plan() -> None:
    graph = Graph([[write("~ a", "  b")], "Later.", "Yes?"], max_continuations=0)
    graph.say("go")
    graph.app.update_state(AUTO, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})
    assert graph.app.get_state(AUTO).next == ()
    ended = graph.say("and?")
    assert (graph.requests[-1], ended["todos"]) == (["and?", SHOWN], todos("~ a", "  b"))


def test_a_finished_plan_is_not_recited_when_its_messages_are_gone() -> None:
    graph = Graph([[write("x a")], "Done.", "Yes?"])
    graph.say("go")
    graph.app.update_state(AUTO, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})
    ended = graph.say("and?")
    assert (graph.requests[-1], ended["todos"]) == (["and?"], todos("x a"))


def test_a_tool_may_put_a_summary_in_the_place_of_the_conversation() -> None:
    @tool
    def sum_up() -> Command[Any]:
        """Forget the details."""
        return Command(update={"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("So far.")]})

    graph = Graph(
        [[write("~ a", "  b")], [call("sum_up")], [write("x a", "~ b")], "ok"], [sum_up], max_continuations=0
    )
    ended = graph.say("go")
    assert graph.requests[2] == ["So far.", SHOWN]
    assert ended["todos"] == todos("x a", "~ b")
    assert plan_state(ended["messages"]).ledger.revision == 2


# --- states -----------------------------------------------------------------------------------------


class Model(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    todos: list[Any] = []
    visits: int = 0


@dataclass
class Data:
    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
    todos: list[Any] = field(default_factory=list)
    visits: int = 0


@pytest.mark.parametrize("schema", [Model, Data])
@pytest.mark.parametrize("way", RUNNERS)
def test_a_state_may_be_a_class_and_tools_get_one_of_it(schema: type[Any], way: str) -> None:
    @tool
    def visit(
        state: Annotated[Any, InjectedState], runtime: ToolRuntime[Any, Any], call_id: CallId
    ) -> Command[Any]:
        """Come by."""
        state.todos.clear()
        said = ToolMessage(f"{type(state).__name__} {type(runtime.state).__name__}", tool_call_id=call_id)
        return Command(update={"visits": state.visits + 1, "messages": [said]})

    script = [
        [write("~ a", id="c1"), call("visit", "c2"), call("visit", "c3")],
        [call("read_todos", "c4")],
        "ok",
    ]
    graph = Graph(script, [visit], state_schema=schema, max_continuations=0)
    RUNNERS[way](graph.app, {"messages": [("user", "go")]}, ASK)
    RUNNERS[way](graph.app, Command(resume=True), ASK)
    ended = RUNNERS[way](graph.app, Command(resume=True), ASK)
    name = schema.__name__
    said = dict(results(ended["messages"]))
    assert (said["c2"], said["c4"]) == (f"{name} {name}", "[~] a")
    assert (ended["visits"], ended["todos"]) == (2, todos("~ a"))


def test_a_reply_from_outside_is_answered_by_the_node_alone() -> None:
    sent = [HumanMessage("go"), reply({"name": "look", "args": {"text": "x"}, "id": "c1"})]
    ended = Graph(["ok"], approve=False).app.invoke({"messages": sent}, ASK)
    assert results(ended["messages"]) == [("c1", "saw x")]
