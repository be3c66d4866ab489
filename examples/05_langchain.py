"""LangChain's agent with onplan's plan: `PlanMiddleware` stands where `TodoListMiddleware` stood."""

from langchain.agents import create_agent

from onplan.integrations.graph_model import ChatModel
from onplan.integrations.langchain import PlanMiddleware
from onplan.messages import Call
from onplan.testing import ScriptedModel


def plan(*statuses):
    steps = zip(("Read the invoices", "Add them up"), statuses, strict=True)
    return Call("", "write_todos", {"todos": [{"content": text, "status": status} for text, status in steps]})


def total(month: str) -> int:
    """The sum of a month's invoices."""
    return 4711


script = [
    [plan("in_progress", "pending"), Call("", "total", {"month": "May"})],
    "It is 4711.",
    plan(*["completed"] * 2),
]
model = ChatModel(ScriptedModel([*script, "May came to 4711."]))  # or "openai:…", or any other chat model

agent = create_agent(model, [total], middleware=[PlanMiddleware()])
for message in agent.invoke({"messages": [("user", "How much was it in May?")]})["messages"]:
    message.pretty_print()
