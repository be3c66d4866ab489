"""An agent with two tools of its own and a hook; a scripted model stands in for a real one."""

import asyncio

from onplan import Agent, Deny, Hooks, Injected, tool
from onplan.messages import Call
from onplan.testing import ScriptedModel


@tool(read_only=True)
async def count(item: str, *, stock: Injected[dict[str, int]]) -> str:
    """Count what is in stock."""
    return f"{item}: {stock.get(item, 0)}"


@tool()
async def order(item: str, amount: int) -> str:
    """Order more of an item."""
    return f"ordered {amount} {item}"


def not_too_many(call, tool, view):
    if call.name == "order" and call.arguments["amount"] > 100:
        return Deny("orders above 100 need a signature; order less")
    return None


def plan(*statuses):
    steps = zip(("Count pears", "Order pears"), statuses, strict=True)
    return Call("", "write_todos", {"todos": [{"content": text, "status": status} for text, status in steps]})


SCRIPT = [
    [plan("in_progress", "pending")],
    [Call("", "count", {"item": "pears"}), Call("", "order", {"item": "pears", "amount": 500})],
    [Call("", "order", {"item": "pears", "amount": 50}), plan("completed", "completed")],
    "Fifty pears are on their way.",
]


async def main():
    stock, hooks = {"stock": lambda _: {"apples": 3}}, Hooks(before_tool=(not_too_many,))
    model = ScriptedModel(SCRIPT)
    async with await Agent.start(model=model, tools=[count, order], inject=stock, hooks=hooks) as agent:
        result = await agent.run("Are we out of pears? Order some.")
        print(result.text, f"({result.reason}, {result.plan.done}/{len(result.plan)} todos done)")


asyncio.run(main())
