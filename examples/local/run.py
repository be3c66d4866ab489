"""Tries onplan with a real llama.cpp server and a GGUF model of yours: doctor, one tool call, one plan write.

make local MODEL=path/to/model.gguf
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVE = Path(__file__).with_name("serve.py")
NOTE = "Monday: buy quinces.\n"
TOOL_JOB = (
    "Call the tool read_file once, with the path note.txt. Then say in one sentence what the file says "
    "to buy."
)
PLAN_JOB = (
    "Call the tool write_todos once, with three todos for baking bread: the first in_progress, the others "
    "pending. Do nothing else."
)
# The model runs unattended: it may read and write files in a folder made for it, and that is all.
SETTINGS = '[permissions]\ndeny = ["bash", "web_fetch"]\n'
KEPT_FROM_IT = ("KEY", "TOKEN", "_BASE_URL", "MODEL_ID")


class LocalError(Exception):
    """One line for the person: the thing and the way out."""


# --- the model and its server -----------------------------------------------------------------------


def checked(path: str) -> Path:
    """The model's file. Raises `LocalError` for what is no GGUF model."""
    if not path:
        raise LocalError("no model was named: make local MODEL=path/to/model.gguf")
    file = Path(path).expanduser().absolute()
    try:
        with file.open("rb") as opened:
            magic = opened.read(4)
    except OSError as error:
        raise LocalError(
            f"{path} cannot be read ({error.strerror}): MODEL is the path of a GGUF file"
        ) from None
    if magic != b"GGUF":
        raise LocalError(f"{path} is no GGUF file (it does not begin with GGUF): take a model in that format")
    return file


@contextmanager
def serving(model: Path, options: list[str], log: Path, wait: float) -> Iterator[dict[str, str]]:
    """A server of its own, healthy; ended by its own process, and no other."""
    command = [sys.executable, str(SERVE), str(model), *options]
    with log.open("wb") as written:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=written)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        if not line:
            raise LocalError(f"the server did not start: {_last_line(log)}")
        told = json.loads(line)
        _await_health(told["url"], time.monotonic() + wait)
        yield told
    finally:
        _end(server)


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")


def _await_health(url: str, until: float) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=10):
                return
        except (urllib.error.URLError, TimeoutError) as error:
            if time.monotonic() > until:
                raise LocalError(f"the server at {url} is not healthy: {error}") from None
        time.sleep(0.5)


def _end(server: subprocess.Popen[bytes]) -> None:
    assert server.stdin is not None
    server.stdin.close()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def speeds(url: str) -> str:
    """Tokens a second as the server itself counted them, over all requests so far."""
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    except (urllib.error.URLError, TimeoutError):
        return "not told"
    found = {name: float(value) for name, value in re.findall(r"^llamacpp:(\w+) (\S+)$", text, re.MULTILINE)}
    read = _rate(found, "prompt_tokens_total", "prompt_seconds_total")
    written = _rate(found, "tokens_predicted_total", "tokens_predicted_seconds_total")
    return f"{read} read, {written} written"


def _rate(found: dict[str, float], tokens: str, seconds: str) -> str:
    return f"{found[tokens] / found[seconds]:.1f}" if found.get(seconds) else "?"


# --- the jobs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A finished job: the events of its run, the last one its result."""

    events: tuple[dict[str, Any], ...]

    @property
    def result(self) -> dict[str, Any]:
        return self.events[-1]

    def results(self) -> Iterator[dict[str, Any]]:
        return (event for event in self.events if event["type"] == "tool_result")


def environment(home: Path) -> dict[str, str]:
    """Without keys, addresses and settings of the person: nothing of theirs goes to the model."""
    kept = {name: value for name, value in os.environ.items() if not any(w in name for w in KEPT_FROM_IT)}
    return {**kept, "ONPLAN_HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / "none")}


def ran(task: str, model: str, into: Path, environ: dict[str, str], max_rounds: int) -> Job:
    command = [sys.executable, "-m", "onplan", "-p", task, "--auto", "--model", model, "--cwd", str(into)]
    command += ["--max-rounds", str(max_rounds), "--output-format", "stream-json"]
    done = subprocess.run(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    events = tuple(json.loads(line) for line in done.stdout.splitlines())
    if not events or events[-1]["type"] != "result":
        raise LocalError(f"a run did not come to a result (exit code {done.returncode})")
    return Job(events)


# --- what the log says ------------------------------------------------------------------------------

Row = tuple[bool | None, str, str]
"""Whether it is as it should be (`None`: neither), what, and what was found."""


def tool_rows(job: Job) -> Iterator[Row]:
    read = [event for event in job.results() if event["name"] == "read_file"]
    fine = any(event.get("outcome", "ok") == "ok" for event in read)
    made = ", ".join(f"{event['name']} {event.get('outcome', 'ok')}" for event in job.results())
    yield fine, "tool call", made or f"none; it said {job.result['text'].strip()[:60]!r}"
    answered = "quince" in job.result["text"].casefold()
    yield answered, "answer from its result", f"{job.result['text'].strip()[:60]!r}"
    yield from _figures(job, "tool job")


def plan_rows(job: Job) -> Iterator[Row]:
    todos = len(job.result["plan"])
    said = "" if todos else f"; it said {job.result['text'].strip()[:60]!r}"
    yield todos > 0, "plan write", f"{todos} todo{'' if todos == 1 else 's'}{said}"
    yield from _figures(job, "plan job")


def _figures(job: Job, name: str) -> Iterator[Row]:
    figures, result = job.result["figures"], job.result
    told = [f"{key} {figures[key]}" for key in ("refused", "repaired", "reminders")]
    usage = result["usage"]
    ending = f"{result['reason']} after {result['requests']} requests"
    yield None, name, f"{ending}; {', '.join(told)}; {usage['output']} tokens written"
    if result["error"]:
        yield False, name, result["error"]


def shown(rows: list[Row]) -> Iterator[str]:
    width = max(len(name) for _, name, _ in rows)
    marks = {True: "✓", False: "✗", None: " "}
    return (f"{marks[fine]} {name:<{width}}  {told}" for fine, name, told in rows)


def run(model: Path, template: str, context: int, max_rounds: int, wait: float, into: Path) -> bool:
    """Prints what worked; whether all of it did."""
    home, work, log = into / "home", into / "work", into / "server.log"
    home.mkdir(parents=True)
    work.mkdir()
    (home / "settings.toml").write_text(SETTINGS)
    (work / "note.txt").write_text(NOTE)
    alias = re.sub(r"[^\w.-]", "_", model.stem)
    print(f"loading {model.name} …", flush=True)
    options = ["--alias", alias, "--context", str(context), "--template", template]
    with serving(model, options, log, wait) as server:
        name = f"openai:{alias}@{server['url']}/v1"
        print(f"llama.cpp of xllamacpp {server['version']} answers at {server['url']}\n", flush=True)
        environ = environment(home)
        doctor = [sys.executable, "-m", "onplan", "doctor", "--model", name]
        well = subprocess.run(doctor, env=environ, cwd=work, check=False).returncode == 0
        rows: list[Row] = [(well, "doctor", "all well" if well else "see above")]
        rows += tool_rows(ran(TOOL_JOB, name, work, environ, max_rounds))
        rows += plan_rows(ran(PLAN_JOB, name, work, environ, max_rounds))
        rows.append((None, "tokens a second", speeds(server["url"])))
    print("", *shown(rows), sep="\n")
    return all(fine is not False for fine, _, _ in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Try onplan with a llama.cpp server and a GGUF model.")
    parser.add_argument("model", nargs="?", default="", help="path of a GGUF file")
    parser.add_argument("--template", default="", help="a chat template in place of the model's own")
    parser.add_argument("--check", action="store_true", help="only look whether it is one")
    parser.add_argument("--context", type=int, default=16_384, help="tokens that the server keeps room for")
    parser.add_argument("--max-rounds", type=int, default=4, help="of each job")
    parser.add_argument("--wait", type=float, default=120.0, help="seconds until a loaded model is healthy")
    chosen = parser.parse_args()
    try:
        model = checked(chosen.model)
        if chosen.check:
            return 0
        with tempfile.TemporaryDirectory(prefix="onplan-local-") as made:
            well = run(model, chosen.template, chosen.context, chosen.max_rounds, chosen.wait, Path(made))
    except LocalError as error:
        print(f"local: {error}", file=sys.stderr)
        return 2
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
