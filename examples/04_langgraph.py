"""The plan on a LangGraph graph in 20 lines: approval by call id, a rejection, auto mode; scripted model."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from onplan.integrations.langgraph import ChatModel, build_graph
from onplan.messages import Call
from onplan.testing import ScriptedModel


def search(query: str) -> str:
    """Search the handbook."""
    return f"Two pages about {query}."


def plan(id, status):
    return Call(id, "write_todos", {"todos": [{"content": "Find the pages", "status": status}]})


first = [plan("c1", "in_progress"), Call("c2", "search", {"query": "holidays"})]
model = ChatModel(ScriptedModel([first, [plan("c3", "completed")], "It is in the index."]))
graph = build_graph(model, [search], checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "1"}}
print(graph.invoke({"messages": "What does the handbook say about holidays?"}, config)["__interrupt__"])
graph.invoke(Command(resume={"c1": True, "c2": {"approved": False, "reason": "use the index"}}), config)
config["configurable"]["auto_approve"] = True  # as /auto does: a setting of the run, not of the state
state = graph.invoke(Command(resume=True), config)
for message in state["messages"]:
    message.pretty_print()
