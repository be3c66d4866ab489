"""A transcript is text: none of it becomes markup, script or style of the page that shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from pages import PAYLOADS, Served, Told, eventful, hostile, plan, run_from, write_page
from playwright.async_api import Page, expect
from run_logs import stamped

from onplan.events import ApprovalRequested
from onplan.messages import User
from onplan.web.html import single_file
from onplan.web.run import Run

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


_TOLD = ("role", "kind", "outcome", "stop", "action", "author", "status", "verdict", "nodes", "kinds")


def spoiled(value: Any, payload: str, name: str = "") -> Any:
    """The same with every text another one, but those that the fold chooses from a few."""
    match value:
        case str() if name not in _TOLD:
            return payload
        case dict():
            pairs = cast("dict[str, Any]", value)
            return {key: spoiled(item, payload, key) for key, item in pairs.items()}
        case list() | tuple():
            return [spoiled(item, payload, name) for item in cast("Iterable[Any]", value)]
        case _:
            return value


@pytest.mark.parametrize("payload", ["".join(PAYLOADS[:4]), "__proto__", "constructor"])
async def test_no_field_of_a_run_is_more_than_text(page: Page, tmp_path: Path, payload: str):
    """Title, id, directory, model, tools and their schemas, files, reasons, summaries: all of them."""
    run = msgspec.convert(spoiled(msgspec.to_builtins(run_from(eventful())), payload), Run)
    path = tmp_path / "run.html"
    path.write_text(single_file(run), encoding="utf-8")
    await page.goto(path.as_uri())
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    elements = set(await page.evaluate(ELEMENTS))
    last = ""
    while (step := await page.locator(".counter").inner_text()) != last:
        elements |= set(await page.evaluate(ELEMENTS))
        last = step
        await page.keyboard.press("n")
    await page.fill("#query", payload)
    await expect(page.locator(".hit").first).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.press("2")
    await page.get_by_role("button", name=payload).first.click()
    elements |= set(await page.evaluate(ELEMENTS))
    assert not elements & {"img", "iframe", "object", "embed", "base", "form"}
    assert await page.title() == f"{payload} · onplan"


async def test_a_question_and_the_form_for_the_plan_show_text(page: Page):
    payload = "".join(PAYLOADS)
    told = Told()
    told.put(User(payload))
    told.writes(payload, plan(f"> {payload[:400]}"))
    told.says(payload, (payload, {payload: payload}))
    told.put(ApprovalRequested(told.call(0).id, payload, payload))
    served = await asyncio.to_thread(Served, stamped(told.records))
    await page.goto(served.address)
    await expect(page.locator(".question pre")).to_have_text(payload)
    await page.get_by_role("button", name="Edit the plan").click()
    await expect(page.get_by_role("form").get_by_label("Todo").first).to_have_value(payload[:400])
    assert await page.locator("main :is(img, script, style, iframe, a)").count() == 0
    assert "owned" not in (await page.title()).replace(payload[:80], "").replace(payload, "")
    await asyncio.to_thread(served.stop)


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
