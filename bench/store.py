"""Figures of the SQLite store, beside a bare JSON-lines append in the same run.

`python bench/store.py [DIRECTORY]`: 2,000 rounds of three bodies, one append each, in DIRECTORY.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from onplan.stores.sqlite import SqliteStore, Sync

ROUNDS = 2_000
BODIES = [
    b'{"type":"assistant","parts":"' + b"a" * 270 + b'"}',
    b'{"type":"started","call_id":"call_0123"}',
    b'{"type":"result","content":"' + b"r" * 2_080 + b'"}',
]
TOTAL = ROUNDS * sum(len(body) for body in BODIES)
APPENDS = ROUNDS * len(BODIES)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        directory = Path(name)
        print(f"{ROUNDS:,} rounds, {APPENDS:,} appends, {TOTAL / 1e6:.1f} MB of bodies")
        print(f"{'':34}{'CPU us':>8}{'wall us':>9}{'last 10%':>9}  per append; last tenth to mean CPU")
        bare = measure("JSON lines", lambda: json_lines(directory / "bare", sync=False))
        synced = measure("JSON lines, fdatasync", lambda: json_lines(directory / "synced", sync=True))
        normal = measure("SqliteStore", lambda: store(directory / "normal.sqlite3", "normal"))
        full = measure("SqliteStore, sync=full", lambda: store(directory / "full.sqlite3", "full"))
        print(f"CPU: {normal[0] / bare[0]:.1f} x JSON lines, {normal[0] / synced[0]:.2f} x with fdatasync")
        print(
            f"wall: {normal[1] / bare[1]:.1f} x JSON lines; full {full[1] / synced[1]:.2f} x with fdatasync"
        )
        size = (directory / "normal.sqlite3").stat().st_size
        print(f"disk after close: {size / TOTAL:.3f} x the bodies")
        print(f"open, load {APPENDS:,} rows, close: {load(directory / 'normal.sqlite3')}")


def measure(title: str, run: Callable[[], list[float]]) -> tuple[float, float]:
    """CPU and wall time per append in microseconds, the best of three runs."""
    runs: list[tuple[float, float, float]] = []
    for _ in range(3):
        wall = time.perf_counter()
        marks = run()
        wall = time.perf_counter() - wall
        tenth = marks[-1] - marks[-1 - len(marks) // 10]
        cpu = marks[-1] - marks[0]
        runs.append((cpu / APPENDS * 1e6, wall / APPENDS * 1e6, tenth * 10 / cpu))
    cpu, wall, growth = min(runs)
    print(f"{title:34}{cpu:8.1f}{wall:9.1f}{growth:9.2f}")
    return cpu, wall


def json_lines(path: Path, *, sync: bool) -> list[float]:
    marks = [time.process_time()]
    with path.open("wb", buffering=0) as file:
        for _ in range(ROUNDS):
            for body in BODIES:
                file.write(body + b"\n")
                if sync:
                    os.fdatasync(file.fileno())
            marks.append(time.process_time())
    return marks


def store(path: Path, sync: Sync) -> list[float]:
    async def run() -> list[float]:
        path.unlink(missing_ok=True)
        store = SqliteStore.open(path, sync=sync)
        await store.create("bench", cwd="", time=0.0)
        marks = [time.process_time()]
        seq = 0
        for _ in range(ROUNDS):
            for body in BODIES:
                seq += 1
                await store.append("bench", seq, [body], time=1.0)
            marks.append(time.process_time())
        await store.close()
        return marks

    return asyncio.run(run())


def load(path: Path) -> str:
    async def run() -> str:
        times = [time.perf_counter()]
        store = SqliteStore.open(path)
        times.append(time.perf_counter())
        rows = await store.load("bench")
        times.append(time.perf_counter())
        await store.close()
        times.append(time.perf_counter())
        assert len(rows) == APPENDS
        return ", ".join(f"{(end - start) * 1e3:.1f} ms" for start, end in itertools.pairwise(times))

    return asyncio.run(run())


if __name__ == "__main__":
    main()
