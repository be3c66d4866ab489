"""Figures of the shell guard over its corpus, beside a bare tree-sitter parse in the same run.

`python bench/guard.py`. Ends with an error when a hard deny is missed, or when more than 2 % of the harmless
lines do not pass.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onplan.shellguard import judge
from onplan.shellguard.syntax import bash_parser

CORPUS = Path(__file__).parents[1] / "tests" / "guard" / "corpus.json"
LONG = 100_000
FALSE_ALARMS = 2.0


def main() -> None:
    corpus = json.loads(CORPUS.read_text(encoding="utf-8"))
    missed, alarms = verdicts(corpus)
    started = time.perf_counter()
    speed(corpus)
    print(f"(measured in {time.perf_counter() - started:.1f} s)")
    if missed or alarms > FALSE_ALARMS:
        sys.exit(1)


def verdicts(corpus: dict[str, Any]) -> tuple[int, float]:
    """Missed hard denies, and the false alarms among harmless lines in percent."""
    place = {"cwd": corpus["cwd"], "home": corpus["home"]}
    dangerous = [entry for group in ("bypasses", "spellings") for entry in corpus[group]]
    denied = [entry["line"] for entry in dangerous if entry["decision"] == "deny"]
    asked = [entry["line"] for entry in dangerous if entry["decision"] == "ask"]
    harmless = [entry["line"] for entry in corpus["harmless"]]
    missed = sum(judge(line, **place).decision != "deny" for line in denied)
    passed = sum(judge(line, **place).decision == "pass" for line in asked)
    alarms = sum(judge(line, **place).decision != "pass" for line in harmless)
    share = 100 * alarms / len(harmless)
    print(f"hard denies missed      {missed} of {len(denied)}")
    print(f"asks passed             {passed} of {len(asked)}")
    print(f"false alarms            {share:.2f} % of {len(harmless)}")
    return missed, share


def speed(corpus: dict[str, Any]) -> None:
    print(f"{'':24}{'judge ms':>10}{'parse ms':>10}{'ratio':>8}")
    lines = [entry["line"] for entry in corpus["harmless"]]
    row("typical line (median)", [measured(line) for line in lines])
    for title, piece in (
        ("100 KB of commands", "git status && ls -la src\n"),
        ("100 KB of data", "a word of data, "),
        ("100 KB in a here-document", "a line of text\n"),
    ):
        row(title, [measured(long_line(title, piece))])


def long_line(title: str, piece: str) -> str:
    body = piece * (LONG // len(piece))
    if "commands" in title:
        return body
    return f"echo '{body}'" if "data" in title else f"cat > x <<'E'\n{body}E\n"


def measured(line: str) -> tuple[float, float]:
    """Milliseconds for a verdict and for a bare parse, the best of three each."""
    data = line.encode()
    parser = bash_parser()
    return (
        best(lambda: judge(line, cwd="/home/u/proj", home="/home/u")),
        best(lambda: parser.parse(data).root_node.has_error),
    )


def best(run: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def row(title: str, figures: list[tuple[float, float]]) -> None:
    judged = statistics.median(figure[0] for figure in figures)
    parsed = statistics.median(figure[1] for figure in figures)
    print(f"{title:24}{judged:10.3f}{parsed:10.3f}{judged / parsed:8.1f}")


if __name__ == "__main__":
    main()
