"""What starting costs: CPU seconds of whole processes beyond a bare `python -c pass`, median of several.

The prompt is measured in a pseudo-terminal, until it is on the screen. Other agents and frameworks that are
installed stand below, at the least that they can be asked for.
"""

from __future__ import annotations

import importlib.util
import os
import pty
import resource
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

AGENT = """
import asyncio, os
from onplan.coding import coding_agent
from onplan.models.scripted import ScriptedModel
from onplan.stores.sqlite import SqliteStore
folder = os.environ["ONPLAN_HOME"]
async def main():
    store = SqliteStore.open(folder + "/log.sqlite3")
    agent = await coding_agent(folder, model=ScriptedModel([]), store=store)
    await agent.close()
    await store.close()
asyncio.run(main())
"""
MEMORY = "from onplan import PlanMemory; PlanMemory().call('write_todos', {'todos': []})"

CASES = {
    "import onplan": ([sys.executable, "-c", "import onplan"], 0.05),
    "PlanMemory": ([sys.executable, "-c", MEMORY], 0.10),
    "onplan --version": ([sys.executable, "-m", "onplan", "--version"], 0.05),
    "onplan --help": ([sys.executable, "-m", "onplan", "--help"], 0.10),
    "onplan sessions": ([sys.executable, "-m", "onplan", "sessions"], 0.25),
    "agent built": ([sys.executable, "-c", AGENT], 0.10),
}
PROMPT = ([sys.executable, "-m", "onplan", "--model", "demo"], 0.25)
RUNS = 9
PATIENCE = 30.0

# Programs by their command, and libraries by what an agent of theirs needs.
PEER_COMMANDS = (
    *("aider", "claude", "codex", "gemini", "goose", "gptme", "interpreter", "kimi", "llm", "mini"),
    *("opencode", "openhands", "plandex", "qwen"),
)
PEER_IMPORTS = {
    "langchain": "from langchain.agents import create_agent",
    "langgraph": "from langgraph.graph import StateGraph",
    "agents": "from agents import Agent, Runner",
    "pydantic_ai": "from pydantic_ai import Agent",
    "deepagents": "from deepagents import create_deep_agent",
    "smolagents": "from smolagents import CodeAgent",
    "strands": "from strands import Agent",
    "agno": "from agno.agent import Agent",
}
PEER_RUNS = 3


def cpu_seconds(command: list[str], home: str) -> float:
    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    # compiled modules are kept, as they are wherever onplan is installed
    environment = {**os.environ, "ONPLAN_HOME": home, "PYTHONDONTWRITEBYTECODE": ""}
    quiet = subprocess.DEVNULL
    subprocess.run(command, check=True, stdout=quiet, stdin=quiet, env=environment)
    return spent() - before


def cpu_seconds_to_prompt(command: list[str], home: str, mark: bytes = "›".encode()) -> float:
    """CPU seconds of a program until it has drawn its prompt."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(home)
        environment = {
            **os.environ,
            "ONPLAN_HOME": home,
            "TERM": "xterm-256color",
            "PYTHONDONTWRITEBYTECODE": "",
        }
        os.execve(command[0], command, environment)
    seen = b""
    until = time.monotonic() + PATIENCE
    while mark not in seen and time.monotonic() < until:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 65_536)
            except OSError:
                break
    os.kill(pid, signal.SIGKILL)
    _, _, used = os.wait4(pid, 0)
    os.close(terminal)
    if mark not in seen:
        raise SystemExit(f"no prompt came: {seen[-500:]!r}")
    return used.ru_utime + used.ru_stime


def peers() -> dict[str, list[str]]:
    """What of them is installed, by what is run."""
    commands = {
        f"{name} --version": [found, "--version"] for name in PEER_COMMANDS if (found := shutil.which(name))
    }
    libraries = {
        f"import {name}": [sys.executable, "-c", line]
        for name, line in PEER_IMPORTS.items()
        if importlib.util.find_spec(name)
    }
    return {**commands, **libraries}


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        bare_command = [sys.executable, "-c", "pass"]
        bare = statistics.median(cpu_seconds(bare_command, home) for _ in range(RUNS))
        print(f"python -c pass      {bare:6.3f} s of CPU, median of {RUNS}")
        print(f"{'':18}  beyond it   budget   times bare")
        for name, (command, budget) in CASES.items():
            cpu_seconds(command, home)
            spent = statistics.median(cpu_seconds(command, home) for _ in range(RUNS))
            print(f"{name:18}  {spent - bare:9.3f}  {budget:7.2f}   {spent / bare:9.1f}")
        command, budget = PROMPT
        cpu_seconds_to_prompt(command, home)
        spent = statistics.median(cpu_seconds_to_prompt(command, home) for _ in range(RUNS))
        print(f"{'prompt visible':18}  {spent - bare:9.3f}  {budget:7.2f}   {spent / bare:9.1f}")
        for name, command in peers().items():
            try:
                cpu_seconds(command, home)
            except subprocess.CalledProcessError:
                continue
            spent = statistics.median(cpu_seconds(command, home) for _ in range(PEER_RUNS))
            print(f"{name:28}  {spent - bare:9.3f}            {spent / bare:9.1f}")


if __name__ == "__main__":
    main()
