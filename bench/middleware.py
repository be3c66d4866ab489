"""What LangChain's agent stores and needs for a round: with no planner, TodoListMiddleware, PlanMiddleware.

`python bench/middleware.py`. SQLite checkpoints; about two kilobytes of messages in a round, a plan write in
every fourth.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != Path(__file__).parent]

from langchain.agents import create_agent  # noqa: E402 # a benchmark beside this file has a library's name
from langchain.agents.middleware import TodoListMiddleware  # noqa: E402 # the same
from langchain_core.language_models import GenericFakeChatModel  # noqa: E402 # the same
from langchain_core.messages import AIMessage, messages_to_dict  # noqa: E402 # the same
from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: E402 # the same

from onplan.integrations.langchain import PlanMiddleware, SlimState  # noqa: E402 # the same

ROUNDS = (100, 200, 400)
AGENTS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "no planning": ([], {}),
    "TodoListMiddleware": ([TodoListMiddleware()], {}),
    "PlanMiddleware": ([PlanMiddleware()], {}),
    "no planning, SlimState": ([], {"state_schema": SlimState}),
    "TodoListMiddleware, SlimState": ([TodoListMiddleware()], {"state_schema": SlimState}),
    "PlanMiddleware, SlimState": ([PlanMiddleware()], {"state_schema": SlimState}),
}


@dataclass(frozen=True)
class Measured:
    stored: float
    """Megabytes on disk."""
    messages: float
    """Megabytes of the messages as JSON."""
    round: float
    """Milliseconds of CPU for a round."""


class Script(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Script:
        return self


def look(at: str) -> str:
    """Look at something."""
    return f"{at} " * 160


def replies(rounds: int, *, planning: bool) -> Iterator[AIMessage]:
    for number in range(rounds):
        if planning and number % 4 == 0:
            yield _called(number, "write_todos", todos=_todos(number))
        else:
            yield _called(number, "look", at=f"place {number}")
    if planning:
        yield _called(rounds, "write_todos", todos=[])
    yield AIMessage("Done.")


def _called(number: int, name: str, **arguments: Any) -> AIMessage:
    return AIMessage(
        "I look. " * 20,
        tool_calls=[{"name": name, "args": arguments, "id": f"c{number}", "type": "tool_call"}],
    )


def _todos(number: int) -> list[dict[str, str]]:
    current = {"content": f"Work on part {number}", "status": "in_progress"}
    return [
        current,
        *({"content": f"Do part {number + n} after that", "status": "pending"} for n in range(1, 8)),
    ]


def measure(name: str, rounds: int) -> Measured:
    middleware, settings = AGENTS[name]
    model = Script(messages=replies(rounds, planning=bool(middleware)))
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "log"
        with SqliteSaver.from_conn_string(str(path)) as saver:
            agent = create_agent(model, [look], middleware=middleware, checkpointer=saver, **settings)
            began = time.process_time()
            came_to = agent.invoke(
                {"messages": [("user", "Go.")]},
                {"configurable": {"thread_id": "1"}, "recursion_limit": 10_000},
            )
            spent = time.process_time() - began
        size = len(json.dumps(messages_to_dict(came_to["messages"]), default=str))
        return Measured(path.stat().st_size / 1e6, size / 1e6, spent / rounds * 1_000)


def main() -> None:
    print(f"{'stored in MB (ms of CPU a round)':32}" + "".join(f"{rounds:>15} rounds" for rounds in ROUNDS))
    for name in AGENTS:
        found = [measure(name, rounds) for rounds in ROUNDS]
        cells = "".join(f"{one.stored:>14.1f} ({one.round:>4.1f})" for one in found)
        growth = found[-1].stored / found[-2].stored
        share = found[-1].stored / found[-1].messages
        print(f"{name:32}{cells}   x{growth:.1f} for twice the rounds; {share:.1f} times the messages")


if __name__ == "__main__":
    main()
