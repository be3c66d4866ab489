"""The numbered examples run, and print what they claim."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("[0-9]*.py"))
CLAIMS = {
    "01_plan_memory.py": "<reminder>Update your todos.",
    "02_own_loop.py": "'text': '<reminder>Update your todos.</reminder>'",
    "03_agent.py": "Fifty pears are on their way. (done, 2/2 todos done)",
    "04_langgraph.py": "tool   Error: not run: use the index",
    "05_langchain.py": "<reminder>You stopped with 2 todos open:",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_prints_what_it_claims(example: Path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert CLAIMS[example.name] in done.stdout
