"""The command line: reads files or standard input and prints the summary."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tidemark.lines import read_entries
from tidemark.summary import Summary, summarise
from tidemark.table import render_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Answers the exit code: 0, or 1 when a file cannot be read or holds no entry."""
    parser = argparse.ArgumentParser(prog="tidemark", description="Sum up log files.")
    parser.add_argument("files", nargs="*", type=Path, help="log files (default: standard input)")
    parser.add_argument("--top", type=int, default=5, help="how many messages to show (default: 5)")
    options = parser.parse_args(arguments)
    try:
        summary = summarise(read_entries(_lines(options.files)), options.top)
    except OSError as error:
        print(f"tidemark: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    if not summary.total:
        print("tidemark: no log entries found", file=sys.stderr)
        return 1
    print(_report(summary))
    return 0


def _lines(files: Sequence[Path]) -> Iterator[str]:
    if not files:
        yield from sys.stdin
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as opened:
            yield from opened


def _report(summary: Summary) -> str:
    return "\n".join(
        (
            f"{summary.total} entries, busiest hour {summary.busiest_hour}",
            "",
            render_table(summary.levels),
            "",
            *(f"{count:>6}  {shape}" for shape, count in summary.messages),
        )
    )
