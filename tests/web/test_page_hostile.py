"""A transcript is text: none of it becomes markup, script or style of the page that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import PAYLOADS, hostile, write_page
from playwright.async_api import Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")

ELEMENTS = "[...new Set([...document.querySelectorAll('*')].map((node) => node.localName))].sort()"


async def test_no_text_of_a_session_runs(page: Page, tmp_path: Path):
    address = write_page(tmp_path / "run.html", hostile(), PAYLOADS[1])
    await page.goto(address)
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    before = await page.evaluate(ELEMENTS)
    scripts = await page.evaluate("document.scripts.length")
    assert await page.locator("#title").inner_text() == PAYLOADS[1]
    steps = int((await page.locator("#slider").get_attribute("aria-valuemax")) or 0)
    for _ in range(steps):
        await page.keyboard.press("ArrowRight")
    await page.fill("#query", "owned")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Escape")
    await page.keyboard.press("2")
    await page.keyboard.press("1")
    assert "owned" not in (await page.title()).split("·")[0].replace(PAYLOADS[1], "")
    assert await page.title() == f"{PAYLOADS[1]} · onplan"
    assert await page.evaluate("document.scripts.length") == scripts
    added = set(await page.evaluate(ELEMENTS)) - set(before)
    assert not added & {"script", "style", "img", "iframe", "object", "embed", "base", "meta", "form"}
    assert await page.locator("#context a, #context img, #plan img, a[href^=javascript]").count() == 0


async def test_what_a_session_says_is_shown_as_it_was_said(page: Page, tmp_path: Path):
    address = write_page(tmp_path / "run.html", hostile())
    await page.goto(address)
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    await page.locator("#slider").press("Home")
    await page.keyboard.press("ArrowRight")
    shown = await page.locator(".row.user .text").inner_text()
    assert shown == " ".join(PAYLOADS).replace("\u2028", "\n").replace("\u2029", "\n") or all(
        payload[:12] in shown for payload in PAYLOADS
    )


async def test_the_policy_forbids_every_other_script(page: Page, tmp_path: Path):
    address = write_page(tmp_path / "run.html", hostile())
    await page.goto(address)
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    policy = await page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].startswith("'sha256-")
    assert "unsafe" not in policy
