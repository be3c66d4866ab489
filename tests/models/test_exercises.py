"""The practice jobs are judged rightly, with scripted models that do them well and badly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUN = Path(__file__).resolve().parents[2] / "examples" / "exercises" / "run.py"

HELLO = '''"""Greetings."""


def greet(name: str, excited: bool) -> str:
    """Hello to somebody."""
    return f"Hello, {name}{'!' if excited else '.'}"


def shout(words: list[str]) -> str:
    """Words in capitals."""
    return " ".join(word.upper() for word in words)


if __name__ == "__main__":
    print(greet("world", True))
'''
CODE = "def to_fahrenheit(c: float) -> float:\n    return c * 9 / 5 + 32\n"
TEST = (
    "from temperature.utils import to_fahrenheit\n\n\ndef test_zero():\n    assert to_fahrenheit(0) == 32\n"
)
ORDERS = 'def total(orders):\n    return sum(o["price"] * o["count"] for o in orders if o is not None)\n'
REPORT = "import json\n\n\ndef load(path):\n    with open(path) as file:\n        return json.load(file)\n"
FILES: dict[int, dict[str, str]] = {
    1: {"hello.py": HELLO},
    2: {"temperature/__init__.py": "", "temperature/utils.py": CODE, "tests/test_utils.py": TEST},
    3: {"review/orders.py": ORDERS, "review/report.py": REPORT},
}


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def _plan(*statuses: str) -> dict[str, Any]:
    todos = [{"content": f"step {n}", "status": status} for n, status in enumerate(statuses)]
    return _call("write_todos", todos=todos)


def _judged(number: int, script: list[Any], tmp_path: Path) -> tuple[int, str]:
    (tmp_path / "script.json").write_text(json.dumps(script))
    command = [sys.executable, str(RUN), str(number), "--model", f"script:{tmp_path / 'script.json'}"]
    ran = subprocess.run(
        [*command, "--into", str(tmp_path / "copy")],
        env={**os.environ, "ONPLAN_HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    return ran.returncode, ran.stdout


@pytest.mark.parametrize("number", FILES)
def test_a_job_that_is_planned_and_done_is_well(number: int, tmp_path: Path) -> None:
    reads = [_call("read_file", path=path) for path in FILES[number] if number != 2]
    writes = [_call("write_file", path=path, content=content) for path, content in FILES[number].items()]
    script = [
        _plan("in_progress", "pending"),
        *reads,
        _plan("completed", "in_progress"),
        *writes,
        _plan("completed", "completed"),
        "Done.",
    ]
    code, told = _judged(number, script, tmp_path)
    assert (code, "✗" in told) == (0, False), told
    assert "✓ the plan came first" in told
    assert "✓ the job is done" in told


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (1, "✗ greet has no docstring"),
        (2, "✗ temperature/utils.py: utils.py cannot be read"),
        (3, "✗ report.py: a bare except catches everything"),
    ],
)
def test_a_job_that_is_neither_planned_nor_done_is_told_why(number: int, fault: str, tmp_path: Path) -> None:
    code, told = _judged(number, [_call("bash", command="true"), "Done."], tmp_path)
    assert code == 1
    assert "✗ work began before there was a plan" in told
    assert fault in told
