"""The tour's commands run, and show what the page says they show."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SETUP = ("make demo", "export ")


def commands(page: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each command of the page with the lines that stand below it."""
    for block in _BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            yield command, tuple(shown)


def missing(shown: tuple[str, ...], output: str) -> list[str]:
    """The lines of the page that do not come in the output, in order; `…` stands for anything."""
    lines, gone = iter(output.splitlines()), list[str]()
    for wanted in shown:
        if wanted == "…":
            continue
        pattern = re.compile(".*".join(map(re.escape, wanted.split("…"))) + r"\s*")
        if not any(pattern.search(line) for line in lines):
            gone.append(wanted)
    return gone


TOUR = [found for found in commands((ROOT / "docs/tour.md").read_text()) if not found[0].startswith(_SETUP)]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What `make demo` leaves, as the environment of the commands after it."""
    place = tmp_path_factory.mktemp("tour")
    shutil.copytree(ROOT / "examples/project", place / "project")
    environment = {**os.environ, "ONPLAN_HOME": str(place / "home"), "NO_COLOR": "1"}
    ran(f"onplan demo {shlex.quote(str(place / 'project'))} --auto", environment)
    return environment


def ran(command: str, environment: Mapping[str, str]) -> str:
    program, *arguments = shlex.split(command)
    module = ["-m", "onplan"] if program == "onplan" else []
    done = subprocess.run(
        [sys.executable, *module, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout.decode()


def test_every_command_of_the_tour_shows_what_the_page_says(demo: Mapping[str, str]) -> None:
    wrong = {command: lines for command, shown in TOUR if (lines := missing(shown, ran(command, demo)))}
    assert wrong == {}


def test_the_tour_goes_through_all_three_and_beyond() -> None:
    page = (ROOT / "docs/tour.md").read_text()
    assert len(TOUR) > 25
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## The first: a plan that lives in the conversation",
        "## The second: rules, strings, and a counter that reminds",
        "## The third: ids, and a reminder as a message of its own",
        "## What none of them has",
    ]
    assert page.count("**beyond**") >= 5


def test_a_line_that_does_not_come_is_noticed() -> None:
    assert missing(("a", "…", "b … d", "e"), "a\nx\nb c d\n") == ["e"]
    assert missing(("b", "a"), "a\nb\n") == ["a"]
