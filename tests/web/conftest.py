"""One browser for all page tests of a worker; a fresh page for each test, which fails on any script error."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from pages import CHROMIUM, CHROMIUM_ARGS
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

expect.set_options(timeout=20_000)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is missing: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_ARGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page of 1440 by 900 without a network. Script errors and violations of the policy fail the test."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = await context.new_page()
    problems: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # A server that is gone, or refuses, is a test's doing.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            problems.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    await context.close()
    assert problems == []
