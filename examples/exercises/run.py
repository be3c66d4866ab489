"""The three practice jobs: runs one on a copy, and says from the log whether planning worked and from the
files whether the job was done.

    python examples/exercises/run.py 1 --model anthropic:claude-sonnet-5-5
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MATERIAL = Path(__file__).parent / "material"


@dataclass(frozen=True)
class Exercise:
    task: str
    brings: tuple[str, ...]
    faults: Callable[[Path], Iterator[str]]


# --- was the job done? ------------------------------------------------------------------------------


def _parsed(file: Path) -> ast.Module | str:
    try:
        return ast.parse(file.read_text())
    except (OSError, SyntaxError, ValueError) as error:
        return f"{file.name} cannot be read: {error}"


def refactored(root: Path) -> Iterator[str]:
    tree = _parsed(root / "hello.py")
    if isinstance(tree, str):
        yield tree
        return
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    if not {"greet", "shout"} <= {function.name for function in functions}:
        yield "greet or shout is gone"
    for function in functions:
        arguments = [argument for argument in function.args.args if argument.arg != "self"]
        if function.returns is None or any(argument.annotation is None for argument in arguments):
            yield f"{function.name} has no type hints, or not everywhere"
        if not ast.get_docstring(function):
            yield f"{function.name} has no docstring"
    if not any(isinstance(node, ast.If) and "__main__" in ast.dump(node.test) for node in tree.body):
        yield "there is no main guard"
    if any(isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) for node in tree.body):
        yield "importing it still prints"


def created(root: Path) -> Iterator[str]:
    for name in ("temperature/__init__.py", "temperature/utils.py", "tests/test_utils.py"):
        if isinstance(tree := _parsed(root / name), str):
            yield f"{name}: {tree}"
    utils, tests = _parsed(root / "temperature/utils.py"), _parsed(root / "tests/test_utils.py")
    if isinstance(utils, ast.Module) and not any(isinstance(node, ast.FunctionDef) for node in utils.body):
        yield "utils.py has no function"
    if isinstance(tests, ast.Module) and not any(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test") for node in ast.walk(tests)
    ):
        yield "test_utils.py has no test"


def reviewed(root: Path) -> Iterator[str]:
    for name in ("orders.py", "report.py"):
        tree = _parsed(root / "review" / name)
        if isinstance(tree, str):
            yield tree
            continue
        yield from (f"{name}: {fault}" for fault in _style_faults(tree))


def _style_faults(tree: ast.Module) -> Iterator[str]:
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for alias in names:
                    if (alias.asname or alias.name).partition(".")[0] not in {*used, "annotations"}:
                        yield f"{alias.name} is imported and not used"
            case ast.ExceptHandler(type=None):
                yield "a bare except catches everything"
            case ast.FunctionDef() if any(isinstance(d, (ast.List, ast.Dict)) for d in node.args.defaults):
                yield f"{node.name} has a default that is shared between calls"
            case ast.Compare(ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=None)]):
                yield "None is compared with =="
            case ast.Assign(targets=[ast.Name(id="sum")]):
                yield "the name sum is taken from the built-in"
            case _:
                pass


EXERCISES = {
    1: Exercise(
        "Refactor hello.py: add type hints, docstrings, and a main guard. Plan the steps first.",
        ("hello.py",),
        refactored,
    ),
    2: Exercise(
        "Create a Python package temperature with __init__.py and utils.py (Celsius to Fahrenheit and back), "
        "and tests/test_utils.py. Plan the steps first.",
        (),
        created,
    ),
    3: Exercise(
        "Review the Python files in review/ and fix what is bad style: unused imports, bare excepts, shared "
        "defaults, comparisons with None, names of built-ins. Plan the steps first.",
        ("review",),
        reviewed,
    ),
}


# --- did planning work? -----------------------------------------------------------------------------


def mechanism(events: list[dict[str, Any]]) -> Iterator[tuple[bool, str]]:
    """What the log says, each with whether it is as it should be."""
    changes = [event for event in events if event["type"] == "plan_changed"]
    started = [event["call_id"] for event in events if event["type"] == "started"]
    writes = [event["call_id"] for event in events if event["type"] == "tool_result" and _is_write(event)]
    first = bool(writes) and started[:1] == writes[:1]
    yield first, "the plan came first" if first else "work began before there was a plan"
    steps = len(changes[0]["todos"]) if changes else 0
    yield steps >= 2, f"{steps} step{'' if steps == 1 else 's'} in the first plan"
    moved = sum(len(event["diff"].get("finished", ())) for event in changes)
    yield moved > 0, f"{moved} of them were finished one after the other, in {len(changes)} revisions"
    last = events[-1]
    todos = last.get("plan", [])
    done = sum(todo["status"] == "completed" for todo in todos)
    yield done == len(todos) > 0, f"{done} of {len(todos)} done at the end ({last.get('reason')})"
    reminders = last.get("figures", {}).get("reminders", 0)
    yield True, f"{reminders} reminder{'' if reminders == 1 else 's'} were needed"


def _is_write(event: dict[str, Any]) -> bool:
    return isinstance((event.get("details") or {}).get("plan"), dict)


def run(number: int, model: str, into: Path) -> int:
    exercise = EXERCISES[number]
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    for name in exercise.brings:
        source = MATERIAL / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, into / name)
    command = [sys.executable, "-m", "onplan", "-p", exercise.task, "--auto", "--cwd", str(into)]
    command += ["--output-format", "stream-json", *(["--model", model] if model else [])]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    if not events or events[-1]["type"] != "result":
        print(f"the run did not come to a result (exit code {ran.returncode})")
        return 1
    found = list(mechanism(events))
    faults = list(exercise.faults(into))
    for fine, told in found:
        print(f"{'✓' if fine else '✗'} {told}")
    print(*(f"✗ {fault}" for fault in faults), sep="\n") if faults else print("✓ the job is done")
    print(f"the files are in {into}; the run: onplan show {events[-1]['session'][:8]}")
    return 0 if not faults and all(fine for fine, _ in found) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run a practice job on a copy, and judge it.")
    parser.add_argument("number", type=int, choices=sorted(EXERCISES))
    parser.add_argument("--model", default="", help="as for onplan; default: what is set")
    parser.add_argument("--into", type=Path, default=None, help="where the copy goes")
    chosen = parser.parse_args()
    target = (chosen.into or Path(f"demo-run/exercise-{chosen.number}")).absolute()
    sys.exit(run(chosen.number, chosen.model, target))
