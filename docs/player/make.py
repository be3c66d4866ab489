"""Makes the player of the demo run, `demo.html`, and the pictures of it: `python docs/player/make.py`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from playwright.sync_api import Page, ViewportSize, sync_playwright

from onplan.cli.runs import runtime
from onplan.events import Record
from onplan.models.prices import load_prices
from onplan.protocols import SessionInfo
from onplan.session import Stamped
from onplan.web.folding import run_of
from onplan.web.html import single_file

HERE = Path(__file__).parent
PROJECT = HERE.parents[1] / "examples/project"
SHOWN_PATH = "/home/you/tidemark"
"""Stands in the pictures for the directory of the run."""

CHROMIUM = "/usr/bin/chromium"
WIDE: ViewportSize = {"width": 1440, "height": 900}
NARROW: ViewportSize = {"width": 900, "height": 800}
STEP = 29
"""Two todos on, six files read: the distance is at its greatest."""


class _Logged(msgspec.Struct):
    seq: int
    time: float
    record: Record


class _Shown(msgspec.Struct):
    session: SessionInfo
    records: list[_Logged]


def main() -> None:
    shown = demo_run()
    log = [Stamped(item.record, item.time) for item in shown.records]
    page = HERE / "demo.html"
    page.write_text(
        single_file(run_of(shown.session, log, prices=load_prices(), runtime=runtime())), encoding="utf-8"
    )
    if "--no-pictures" not in sys.argv[1:]:
        take_pictures(page)


def demo_run() -> _Shown:
    """What `make demo` does, in a directory that is gone afterwards."""
    with TemporaryDirectory() as directory:
        project = Path(directory) / "tidemark"
        shutil.copytree(PROJECT, project)
        environment = {**os.environ, "ONPLAN_HOME": f"{directory}/home"}

        def onplan(*arguments: str) -> bytes:
            command = [sys.executable, "-m", "onplan", *arguments]
            return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout

        onplan("demo", str(project), "--auto")
        shown = onplan("show", "latest", "--json")
        return msgspec.json.decode(shown.replace(str(project).encode(), SHOWN_PATH.encode()), type=_Shown)


def take_pictures(page: Path) -> None:
    """The run in both sizes and themes, and the tool lens."""
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        for width, size in (("wide", WIDE), ("narrow", NARROW)):
            for theme in ("light", "dark"):
                shot = browser.new_page(viewport=size, color_scheme=theme, reduced_motion="reduce")
                open_at(shot, page, f"step={STEP}")
                shot.screenshot(path=HERE / f"{width}-{theme}.png")
        shot = browser.new_page(viewport=WIDE, color_scheme="light", reduced_motion="reduce")
        open_at(shot, page, "tab=tools")
        shot.get_by_role("switch").check()
        shot.screenshot(path=HERE / "lens.png")
        browser.close()


def open_at(shot: Page, page: Path, fragment: str) -> None:
    shot.goto(f"{page.as_uri()}#{fragment}")
    shot.wait_for_selector("body[data-ready=true]")


if __name__ == "__main__":
    main()
