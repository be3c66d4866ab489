"""A real agent run that goes on until it is killed: `python child.py STORE [SESSION]`.

Before each request it tells its parent, one line each on standard output, what the model has been told so
far: `session ID`, `sent COUNT DIGEST` for the messages of the request, and `told REVISION STEP` for the
newest accepted plan write in it.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from onplan.coding import coding_agent
from onplan.compaction import CompactionPolicy
from onplan.messages import Call, Message, Note, ToolResult
from onplan.models.scripted import Reply, ScriptedModel
from onplan.parts import Limits
from onplan.protocols import Request
from onplan.stores.sqlite import SqliteStore


def todos(step: int) -> dict[str, object]:
    """A plan that names its own step, so that what is stored can be told from what was said."""
    return {
        "todos": [
            {"content": f"step {step}", "status": "in_progress"},
            {"content": f"after {step}", "status": "pending"},
        ]
    }


def digest(messages: Sequence[Message]) -> str:
    return hashlib.blake2b(msgspec.json.encode(list(messages)), digest_size=16).hexdigest()


def tell(*words: object) -> None:
    print(*words, flush=True)


LIMIT = 3_500
"""Tokens at which the conversation is made shorter: again and again in every run."""


class Script:
    """Plan writes and work in turn, in batches of one to three calls, for ever; a summary when asked."""

    def __init__(self, first: int) -> None:
        self._step = first

    def __call__(self, request: Request) -> Reply:
        last = request.messages[-1]
        if isinstance(last, Note) and last.kind == "compaction":
            return "Much was done; all of it is finished."  # a lie: the plan has to say otherwise
        tell("sent", len(request.messages), digest(request.messages))
        for message in reversed(request.messages):
            kept = (message.details or {}).get("plan") if isinstance(message, ToolResult) else None
            if isinstance(kept, dict) and kept.get("type") == "written":
                tell("told", kept["revision"], kept["todos"][0]["content"].removeprefix("step "))
                break
        self._step += 1
        step = self._step
        line = f"echo begin {step} >> journal; echo end {step} >> journal; seq 1 300"
        work = [
            Call("", "bash", {"command": line}),
            Call("", "write_file", {"path": f"file-{step}.txt", "content": f"{step}\n" * 50}),
        ]
        return [Call("", "write_todos", todos(step)), *work[: step % 3]]


async def main(path: Path, session: str) -> None:
    store = SqliteStore.open(path / "sessions.sqlite3")
    workspace = path / "workspace"
    workspace.mkdir(exist_ok=True)
    agent = await coding_agent(
        workspace,
        model=ScriptedModel(Script(0)),
        store=store,
        auto=True,
        resume=session,
        limits=Limits(rounds=None),
        compaction=CompactionPolicy(limit=LIMIT),
    )
    tell("session", agent.session_id)
    await agent.run("work until you are stopped")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
