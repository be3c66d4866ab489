"""The plan on a LangGraph graph: approval by call id, checkpoints, a rewrite; a scripted model stands in."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from onplan.integrations.graph_model import ChatModel
from onplan.integrations.langgraph import build_graph, plan_state
from onplan.messages import Call
from onplan.testing import ScriptedModel


def search(query: str) -> str:
    """Search the handbook."""
    return f"Two pages about {query}."


def plan(id, *statuses):
    steps = zip(("Find the pages", "Write the summary"), statuses, strict=True)
    return Call(id, "write_todos", {"todos": [{"content": text, "status": status} for text, status in steps]})


SCRIPT = [
    [plan("c1", "in_progress", "pending"), Call("c2", "search", {"query": "holidays"})],
    [plan("c3", "completed", "completed")],
    "Holidays are on two pages.",
]
graph = build_graph(ChatModel(ScriptedModel(SCRIPT)), [search], checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "1"}}
state = graph.invoke({"messages": [("user", "What does the handbook say about holidays?")]}, config)
print("asked:", [call["name"] for call in state["__interrupt__"][0].value["calls"]])
graph.invoke(Command(resume={"c1": True, "c2": {"approved": False, "reason": "use the index"}}), config)

config["configurable"]["auto_approve"] = True  # as /auto does: a setting of the run, not of the state
state = graph.invoke(Command(resume=True), config)
for message in state["messages"]:
    print(f"{message.type:6}", message.text or [call["name"] for call in message.tool_calls])
print(state["todos"], "revision", plan_state(state["messages"]).ledger.revision)
