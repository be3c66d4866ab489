"""What starting costs: CPU seconds of whole processes beyond a bare `python -c pass`, median of several."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile

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
RUNS = 9


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


if __name__ == "__main__":
    main()
