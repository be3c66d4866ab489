"""A plan as a Markdown checklist and back, through a person's editor or a file."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from onplan.errors import ConfigError, PlanError
from onplan.plan.decode import Decoded, decode
from onplan.plan.dialect import WRITE_TODOS, fault_words
from onplan.plan.ledger import match
from onplan.plan.render import render_todo
from onplan.plan.state import State
from onplan.plan.todo import Plan

HEADER = """\
# The plan, one todo a line: [ ] open, [~] in progress, [x] completed.
# Lines with # are left out. Save and close to change the plan; without todos nothing changes.

"""
_MOST = 1_000_000


def to_checklist(plan: Plan) -> str:
    """One line for each todo: `- [ ] text`."""
    return "".join(f"- {render_todo(todo, WRITE_TODOS)}\n" for todo in plan)


def from_checklist(text: str, state: State) -> Plan:
    """The plan of a checklist; todos that are still there keep their ids. Raises `PlanError`."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise PlanError("nothing changed: the checklist holds no todos (--clear empties the plan)")
    decoded = decode({"todos": "\n".join(lines)}, WRITE_TODOS, state.settings.rules)
    if not isinstance(decoded, Decoded):
        words = fault_words(decoded.faults[0], WRITE_TODOS, state.settings.rules)
        raise PlanError(f"nothing changed: {words}; write each todo as `- [ ] text`")
    return _with_ids(state.plan, Plan(decoded.todos))


def _with_ids(old: Plan, new: Plan) -> Plan:
    came_from = {j: i for i, j in match(old, new).items()}
    return Plan(
        tuple(
            replace(todo, id=old.todos[came_from[j]].id, active_form=old.todos[came_from[j]].active_form)
            if j in came_from
            else todo
            for j, todo in enumerate(new)
        )
    )


def in_editor(plan: Plan) -> str:
    """What the person makes of the checklist in `$VISUAL` or `$EDITOR`. Raises `ConfigError`."""
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="onplan-") as directory:
        path = Path(directory) / "plan.md"
        path.write_text(HEADER + to_checklist(plan), encoding="utf-8")
        # Ctrl-C is the editor's then; a handler, unlike an ignored signal, is not handed down to it.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            code = subprocess.run([*editor, str(path)], check=False).returncode
        except OSError as error:
            raise ConfigError(
                f"the editor {editor[0]} cannot be started ({error.strerror}): set EDITOR, or use --file"
            ) from None
        finally:
            signal.signal(signal.SIGINT, before)
        if code:
            raise ConfigError(f"the editor {editor[0]} ended with {code}: nothing was changed")
        return path.read_text(encoding="utf-8", errors="replace")


def read_checklist(source: str) -> str:
    """The text of a file, or of stdin for `-`. Raises `ConfigError`."""
    if source == "-":
        return sys.stdin.buffer.read(_MOST).decode("utf-8", "replace")
    try:
        return Path(source).read_bytes()[:_MOST].decode("utf-8", "replace")
    except OSError as error:
        raise ConfigError(f"{source} cannot be read: {error.strerror or error}") from None
