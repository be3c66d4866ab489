"""LangChain's agent with a plan in 10 lines: `PlanMiddleware` stands where `TodoListMiddleware` stood."""

from langchain.agents import create_agent

from onplan.integrations.langchain import ChatModel, PlanMiddleware
from onplan.messages import Call
from onplan.testing import ScriptedModel


def plan(status):
    return Call("", "write_todos", {"todos": [{"content": "Add up the invoices", "status": status}]})


model = ChatModel(ScriptedModel([plan("in_progress"), "It is 4711.", plan("completed"), "Now it is done."]))
agent = create_agent(model, middleware=[PlanMiddleware()])  # model: or "openai:…", any other chat model
for message in agent.invoke({"messages": "How much was it in May?"})["messages"]:
    message.pretty_print()
