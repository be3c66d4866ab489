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
    "04_langgraph.py": "Error: not run: use the index",
    "05_langchain.py": "<reminder>You stopped with 1 todo open:",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_prints_what_it_claims(example: Path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert CLAIMS[example.name] in done.stdout


@pytest.mark.parametrize(("name", "lines"), [("04_langgraph.py", 20), ("05_langchain.py", 10)])
def test_an_example_is_as_short_as_it_says(name: str, lines: int):
    _, _, code = (EXAMPLES[0].parent / name).read_text().split('"""', 2)
    assert sum(bool(line.strip()) for line in code.splitlines()) == lines
