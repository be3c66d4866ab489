"""A session of 20,000 messages: the page is there at once, keeps few rows, and steps without a wait."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import messages_of_length, write_page
from playwright.async_api import Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")

ONE_STEP = """(key) => {
  const times = [];
  for (let n = 0; n < 40; n++) {
    const began = performance.now();
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    document.body.offsetHeight;
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[20];
}"""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a run of 4,000 messages."""
    return write_page(tmp_path_factory.mktemp("long") / "run.html", messages_of_length(4_000))


async def test_twenty_thousand_messages_load_and_step(page: Page, tmp_path: Path):
    """The promise is 2 s and no lag; the bounds here only tell a hang from a wait."""
    await page.goto(write_page(tmp_path / "long.html", messages_of_length(20_000)))
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    await page.keyboard.press("End")
    assert await page.locator("[data-figure=messages] dd").inner_text() == "20,002"
    assert await page.locator("#context .row").count() < 40
    assert await page.evaluate(ONE_STEP, "ArrowLeft") < 500
    assert await page.evaluate(ONE_STEP, "ArrowRight") < 500
    await page.locator("#context").evaluate("node => { node.scrollTop = node.scrollHeight / 2 }")
    await expect(page.locator("#context .row .index").first).to_have_text(re.compile(r"^(9|10)\d{3}$"))


async def test_any_message_of_a_long_session_is_found_and_shown(page: Page, long: str):
    await page.goto(long)
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    await page.fill("#query", "src/module_1777.py")
    await page.keyboard.press("Enter")
    row = page.locator(".row.flash")
    await expect(row).to_contain_text("src/module_1777.py")
    await expect(row).to_be_in_viewport()
    await expect(page.locator(".row.flash .index")).to_have_text("3556")


async def test_scrolling_shows_rows_where_they_belong(page: Page, long: str):
    """Heights are guessed until a row was seen: what is in sight must still follow without holes."""
    await page.goto(f"{long}#step=8000")
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    for share in (0.1, 0.9, 0.35, 0):
        await page.locator("#context").evaluate(
            "(node, share) => { node.scrollTop = node.scrollHeight * share }", share
        )
        await page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        seen = await page.evaluate(
            """() => {
              const box = document.getElementById('context').getBoundingClientRect();
              const rows = [...document.querySelectorAll('#context .row')]
                .map((row) => row.getBoundingClientRect());
              return { top: rows[0].top <= box.top + 2, bottom: rows.at(-1).bottom >= box.bottom - 2 };
            }"""
        )
        assert seen == {"top": True, "bottom": True}
        numbers = [int(n) for n in await page.locator("#context .row .index").all_inner_texts() if n]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
