"""The page and the fold agree at every step of any log: compactions, edits, reused call ids, broken turns."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pages import run_from, write_page
from playwright.async_api import Page, expect
from run_logs import logs

from onplan.session import Stamped
from onplan.web.run import Run

pytestmark = pytest.mark.asyncio(loop_scope="session")

WALK = """() => {
  const text = (selector) => document.querySelector(selector)?.textContent ?? '';
  const press = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  const seen = [];
  press('Home');
  for (;;) {
    seen.push({
      window: text('#window-note').split(' ')[0],
      messages: text('[data-figure=messages] dd'),
      turn: text('[data-figure=turn] dd'),
      todos: [...document.querySelectorAll('#plan .todo .content')].map((node) => node.textContent),
      node: document.querySelector('#graph .node.lit:not(.plan)').dataset.node,
    });
    const slider = document.getElementById('slider');
    if (slider.getAttribute('aria-valuenow') === slider.getAttribute('aria-valuemax')) return seen;
    press('ArrowRight');
  }
}"""


def some_logs(count: int) -> list[list[Stamped]]:
    """The same ones each time: a browser is too slow for a search, and a failure must come back."""
    found: list[list[Stamped]] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(logs())
    def take(log: list[Stamped]) -> None:
        found.append(log)

    take()
    return found


async def test_the_page_shows_what_was_folded_at_every_step_of_any_log(page: Page, tmp_path: Path):
    for number, log in enumerate(some_logs(25)):
        await page.goto(write_page(tmp_path / f"{number}.html", log))
        await expect(page.locator("body[data-ready=true]")).to_be_attached()
        run = run_from(log)
        assert await page.evaluate(WALK) == [shown(run, record) for record in ends(run)]


def ends(run: Run) -> list[int]:
    """The last record of each of the page's steps: what nothing in sight tells apart is one step."""
    steps = run.steps
    in_sight = list(zip(steps.kind, steps.node, steps.messages, steps.round, steps.revisions, strict=True))
    last = len(in_sight) - 1
    return [n for n in range(last + 1) if n == last or steps.kind[n + 1] or in_sight[n] != in_sight[n + 1]]


def shown(run: Run, record: int) -> dict[str, Any]:
    steps = run.steps
    window = run.windows[bisect_right(run.windows, record, key=lambda each: each.step) - 1]
    kept = sum(behind - first for first, behind in window.base)
    revisions = steps.revisions[record]
    return {
        "window": f"{kept + steps.messages[record] - window.since:,}",
        "messages": f"{steps.messages[record]:,}",
        "turn": f"{steps.turn[record]:,}",
        "todos": [todo.content for todo in run.revisions[revisions - 1].todos] if revisions else [],
        "node": run.nodes[steps.node[record]],
    }
