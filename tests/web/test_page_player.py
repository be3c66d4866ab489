"""The player's page as a file: what it shows at a step, and every way to get to one."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from pages import (
    FAINT_WORDS,
    Told,
    eventful,
    messages_of_length,
    plan,
    run_from,
    source_text,
    write_page,
)
from playwright.async_api import Page, Request, expect
from run_logs import stamped

from onplan.events import Compacted
from onplan.messages import Assistant, Usage, User
from onplan.session import Stamped

pytestmark = pytest.mark.asyncio(loop_scope="session")

TITLE = "Move the settings"


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("player") / "run.html", eventful(), TITLE)


@pytest_asyncio.fixture(loop_scope="session")
async def player(page: Page, address: str) -> AsyncIterator[Page]:
    await open_at(page, address, 1)
    yield page


async def open_at(page: Page, address: str, step: int) -> None:
    await page.goto("about:blank")
    await page.goto(f"{address}#step={step}")
    await expect(page.locator("body[data-ready=true]")).to_be_attached()


async def at(page: Page) -> int:
    return int((await page.locator("#slider").get_attribute("aria-valuenow")) or 0)


async def title(page: Page) -> str:
    return await page.locator("#step-title").inner_text()


async def go_to(page: Page, kind: str, *, times: int = 1) -> None:
    for _ in range(times):
        await page.locator(f"[data-jump={kind}]").click()


async def test_a_file_opens_from_a_disk_and_asks_nobody(page: Page, address: str):
    asked: list[str] = []

    def hear(request: Request) -> None:
        asked.append(request.url.split("#")[0])

    page.on("request", hear)
    await page.context.set_offline(True)
    await open_at(page, address, 1)
    await page.keyboard.press("End")
    assert await page.locator("#title").inner_text() == TITLE
    assert {url for url in asked if not url.startswith(("data:", "about:"))} == {address}


async def test_it_begins_with_what_the_person_said(page: Page, address: str):
    await page.goto(address)
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    assert (await title(page)).startswith("You: Move the settings from INI to TOML")
    assert await page.locator("#graph .node.lit").get_attribute("data-node") == "user"


async def test_a_step_moves_graph_window_and_plan_together(player: Page):
    await go_to(player, "write")
    assert (await title(player)).startswith("write_todos: plan r1: 4 added")
    assert await player.locator("#graph .node.lit").evaluate_all("ns => ns.map(n => n.dataset.node)") == [
        "tools",
        "plan",
    ]
    assert await player.locator("#context .row.now .role").all_inner_texts() == ["model", "tool"]
    assert await player.locator("#plan .todo .content").all_inner_texts() == [
        "Find every reader of the settings",
        "Write the TOML reader",
        "Migrate old files",
        "Document it",
    ]
    await expect(player.locator("#bar .distance")).to_contain_text("the plan is 0 messages from the end")


async def test_the_distance_climbs_and_snaps_back_on_a_write(player: Page):
    await go_to(player, "write")
    seen: list[int] = []
    while not (await title(player)).startswith("write_todos: plan r2"):
        seen.append(int(await player.locator("#bar .big").inner_text()))
        await player.keyboard.press("ArrowRight")
    climbs = [new - old for old, new in pairwise(seen)]
    assert set(climbs) == {0, 1}
    assert seen[-1] == 11
    assert await player.locator("#bar .big").inner_text() == "0"


async def test_stepping_back_undoes_a_step(player: Page):
    await player.keyboard.press("ArrowRight")
    await player.keyboard.press("ArrowRight")
    before = await player.locator("#view-run").inner_text()
    await player.keyboard.press("ArrowRight")
    await player.keyboard.press("ArrowLeft")
    assert await player.locator("#view-run").inner_text() == before


async def test_verdicts_and_starts_of_a_batch_are_a_step_each(player: Page):
    await player.keyboard.press("n")
    while not (await title(player)).startswith("The model calls grep, glob"):
        await player.keyboard.press("ArrowRight")
    titles: list[str] = []
    for _ in range(4):
        await player.keyboard.press("ArrowRight")
        titles.append(await title(player))
    assert titles == [
        "glob allowed by auto, and 1 more",
        "glob runs **/*.py, and 1 more",
        "grep: src/settings.py:3:import configparser (+1 line)",
        "glob: src/settings.py (+2 lines)",
    ]


async def test_play_runs_to_the_end_and_stops(player: Page):
    await player.select_option("#speed", "50")
    await player.get_by_role("button", name="Play", exact=True).click()
    await expect(player.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    last = int((await player.locator("#slider").get_attribute("aria-valuemax")) or 0)
    await expect(player.locator("#slider")).to_have_attribute("aria-valuenow", str(last))
    await expect(player.get_by_role("button", name="Play", exact=True)).to_be_visible()


async def test_space_pauses_where_it_is(player: Page):
    await player.keyboard.press("Space")
    await expect(player.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    await expect(player.locator("#slider")).not_to_have_attribute("aria-valuenow", "1")
    await player.keyboard.press("Space")
    step = await at(player)
    await player.wait_for_timeout(1_300)
    assert await at(player) == step


@pytest.mark.parametrize(
    ("key", "began"),
    [
        ("w", "write_todos: plan r1"),
        ("r", "Reminder"),
        ("e", "bash failed"),
        ("a", "Asked: may edit_file run?"),
        ("c", "Context compacted"),
        ("n", "write_todos: plan r1"),
        ("End", "The turn ends: done"),
    ],
)
async def test_a_key_jumps(player: Page, key: str, began: str):
    await player.keyboard.press("ArrowRight")
    await player.keyboard.press(key)
    assert (await title(player)).startswith(began)


async def test_shift_jumps_back(player: Page):
    await player.keyboard.press("End")
    await player.keyboard.press("Shift+W")
    assert (await title(player)).startswith("write_todos: plan r5")
    await player.keyboard.press("Shift+E")
    assert (await title(player)).startswith("bash denied by person")


async def test_brackets_walk_the_phases(player: Page):
    await player.keyboard.press("]")
    await player.keyboard.press("]")
    assert await player.locator(".phase.current").inner_text() == "Write the TOML reader"
    await player.keyboard.press("[")
    assert await player.locator(".phase.current").inner_text() == "Find every reader of the settings"


async def test_a_phase_is_clicked_to_jump(player: Page):
    await player.get_by_role("button", name="Document it").click()
    assert (await title(player)).startswith("write_todos: plan r4")


async def test_a_click_near_a_tall_tick_means_the_tick(player: Page):
    box = await player.locator("#slider").bounding_box()
    assert box is not None
    log = run_from(eventful())
    kinds = [log.kinds[kind] for kind in log.steps.kind]
    reminder = await player.evaluate("() => document.querySelector('.tall.reminder').getBBox().x")
    await player.mouse.click(box["x"] + reminder + 3, box["y"] + 12)
    assert kinds.count("reminder") == 1
    assert (await title(player)).startswith("Reminder")


async def test_a_chart_is_clicked_to_jump(player: Page):
    chart = player.locator(".chart svg").first
    box = await chart.bounding_box()
    assert box is not None
    await player.mouse.click(box["x"] + box["width"] - 1, box["y"] + 20)
    assert await at(player) == int((await player.locator("#slider").get_attribute("aria-valuemax")) or 0)


async def test_a_link_leads_to_its_step_and_view(page: Page, address: str):
    await open_at(page, address, 20)
    assert await at(page) == 20
    await page.evaluate("() => { location.hash = 'step=31&tab=tools' }")
    await expect(page.locator("#view-tools")).to_be_visible()
    assert await at(page) == 31


async def test_the_address_says_where_one_is(player: Page):
    await go_to(player, "write", times=2)
    step = await at(player)
    await expect(player).to_have_url(re.compile(f"#step={step}$"))


async def test_a_link_beyond_the_end_is_the_end(page: Page, address: str):
    await open_at(page, address, 99_999)
    assert (await title(page)).startswith("The turn ends: done")


async def test_search_finds_a_message_opens_and_marks_it(player: Page):
    await player.keyboard.press("/")
    await player.keyboard.type("part_3_37")
    await expect(player.locator("#hits").get_by_role("option")).to_have_count(1)
    await player.keyboard.press("Enter")
    row = player.locator(".row.flash")
    await expect(row).to_contain_text("def part_3_37")
    assert await player.evaluate("() => CSS.highlights.get('found').size") == 1
    assert (await title(player)).startswith("read_file: 1 def part_3_1")


async def test_search_that_finds_nothing_says_so(player: Page):
    await player.fill("#query", "no such words")
    await expect(player.locator("#hits")).to_contain_text("Nothing found")
    await player.keyboard.press("Escape")
    assert await player.input_value("#query") == ""


async def test_what_is_typed_into_a_field_is_no_command(player: Page):
    await player.keyboard.press("/")
    await player.keyboard.type("we n")
    assert await at(player) == 1
    assert await player.input_value("#query") == "we n"


async def test_a_call_and_its_result_lead_to_each_other(player: Page):
    await go_to(player, "write")
    await player.get_by_role("button", name="result in message 3").click()
    await expect(player.locator(".row.flash .index")).to_have_text("3")
    await player.get_by_role("button", name="answers the call in message 2").click()
    await expect(player.locator(".row.flash .index")).to_have_text("2")


async def test_what_the_runtime_filled_in_stands_apart_from_what_the_model_sent(player: Page):
    while not (await title(player)).startswith("The model calls read_file src/settings.py"):
        await player.keyboard.press("ArrowRight")
    call = player.locator(".row.now .call")
    assert await call.locator(".sent").inner_text() == "path\nsrc/settings.py"
    assert "workspace" in await call.locator(".filled").inner_text()
    assert "workspace" not in await call.locator(".sent").inner_text()


async def test_a_long_message_is_folded_and_opens(player: Page):
    while not (await title(player)).startswith("read_file: 1 def settings_1"):
        await player.keyboard.press("ArrowRight")
    row = player.locator(".row.now.tool")
    assert "def settings_59" not in await row.inner_text()
    await row.get_by_role("button", name="Show all 59 lines").click()
    await expect(row).to_contain_text("def settings_59")
    await row.get_by_role("button", name="Show less").click()
    await expect(row).not_to_contain_text("def settings_59")


async def test_a_step_tells_what_it_changed_in_the_plan(player: Page):
    await go_to(player, "write", times=3)
    assert (await title(player)).startswith("Plan edited by you")
    assert await player.locator("#plan .todo.changed").all_inner_texts() == ["Keep INI files readable\nadded"]
    await expect(player.locator(".plan-news")).to_contain_text("You edited the plan in this step")
    assert await player.locator(".plan-news s").all_inner_texts() == ["Migrate old files"]


async def test_a_todo_leads_to_where_it_was_begun(player: Page):
    await player.keyboard.press("End")
    await player.keyboard.press("Shift+W")
    await player.locator("#plan").get_by_role("button", name="Write the TOML reader").click()
    assert (await title(player)).startswith("write_todos: plan r2: 1 finished, 1 started")


async def test_a_compaction_takes_messages_out_of_the_window_and_shows_them_again(player: Page):
    await player.keyboard.press("c")
    note = await player.locator("#window-note").inner_text()
    assert note == "6 messages, 34 left out"
    await player.locator("#context").evaluate("node => { node.scrollTop = 0 }")
    gap = player.locator(".row.gap")
    await expect(gap).to_contain_text("34 messages left the context window here.")
    step = await at(player)
    await gap.get_by_role("button", name="Show the window before").click()
    assert await at(player) == step - 1
    assert await player.locator("#window-note").inner_text() == "38 messages"


async def test_a_message_that_left_the_window_is_shown_where_it_was_in_it(player: Page):
    await player.keyboard.press("End")
    await player.fill("#query", "decode")
    await player.keyboard.press("Enter")
    await expect(player.locator(".row.flash")).to_contain_text("has no attribute 'decode'")
    assert (await title(player)).startswith("bash failed")


async def test_figures_are_those_of_the_log(player: Page):
    log = run_from(eventful())
    await player.keyboard.press("End")

    async def figure(name: str) -> str:
        return await player.locator(f"[data-figure={name}] dd").inner_text()

    assert await figure("turn") == str(log.steps.turn[-1])
    assert await figure("messages") == str(len(log.messages))
    assert await figure("cost") == f"${log.steps.cost[-1]:.4f}"
    assert await player.locator(".cost-name").all_inner_texts() == [
        cost.content or "unplanned" for cost in log.costs
    ]


async def test_the_lens_shows_both_faces_and_what_would_leak(player: Page):
    await player.keyboard.press("2")
    tools = player.locator("#view-tools")
    await tools.get_by_role("button", name="bash").click()
    seen, called = tools.locator(".pane.seen > pre"), tools.locator(".pane.called > pre")
    assert "shell" not in await seen.inner_text()
    assert "shell: Shell" in await called.inner_text()
    await expect(tools.locator(".lens-count")).to_contain_text("2 parameters on the left, 4 on the right.")
    face = next(tool for tool in run_from(eventful()).tools or () if tool.name == "bash")
    await tools.get_by_role("switch", name="Take the injection away").check()
    assert await tools.locator(".leaked b").all_inner_texts() == ['"shell"', '"ctx"']
    await expect(tools.locator(".lens-count")).to_contain_text(
        f"{face.leaked_size - face.seen_size} more characters in every request"
    )


async def test_the_lens_begins_with_the_tool_where_the_views_are_furthest_apart(player: Page):
    await player.get_by_role("tab", name="Tools").click()
    assert await player.locator("#view-tools h2 code").inner_text() == "read_todos"
    assert await player.locator(".pane.seen > pre").inner_text() == "{}"
    await expect(player.locator(".lens-count")).to_contain_text("0 parameters on the left, 1 on the right.")


async def test_a_tool_whose_views_agree_has_no_switch(player: Page):
    await player.keyboard.press("2")
    await player.locator("#view-tools").get_by_role("button", name="issue_search").click()
    await expect(player.locator(".lens-count")).to_contain_text("The two views agree")
    await expect(player.get_by_role("switch")).to_have_count(0)


async def test_the_theme_follows_the_system_until_the_person_says_otherwise(player: Page):
    back = "getComputedStyle(document.body).backgroundColor"
    light = await player.evaluate(back)
    await player.emulate_media(color_scheme="dark")
    dark = await player.evaluate(back)
    await player.keyboard.press("t")
    assert light != dark
    assert await player.evaluate(back) == light
    await player.reload()
    await expect(player.locator("body[data-ready=true]")).to_be_attached()
    assert await player.evaluate(back) == light


async def test_the_sheet_of_keys_opens_and_closes(player: Page):
    await player.keyboard.press("?")
    await expect(player.get_by_role("dialog", name="Keyboard")).to_be_visible()
    await player.keyboard.press("ArrowRight")
    assert await at(player) == 1
    await player.keyboard.press("Escape")
    await expect(player.get_by_role("dialog")).to_have_count(0)


async def test_everything_that_can_be_pressed_has_a_name(player: Page):
    await go_to(player, "write", times=3)
    for tab in ("1", "2"):
        await player.keyboard.press(tab)
        nameless = await player.evaluate(
            """() => [...document.querySelectorAll(
                'button, input, select, [role=slider], [role=tab], [role=img]')]
              .filter((node) => node.offsetParent !== null || node instanceof SVGElement)
              .filter((node) => !node.closest('[hidden], dialog:not([open])'))
              .filter((node) => !(node.getAttribute('aria-label') || node.getAttribute('aria-labelledby')
                || node.textContent.trim() || node.labels?.length))
              .map((node) => node.outerHTML.slice(0, 120))"""
        )
        assert nameless == []


@pytest.mark.parametrize("width", [900, 1440])
async def test_nothing_is_cut_off_at_the_sides(player: Page, width: int):
    await player.set_viewport_size({"width": width, "height": 800})
    for key in ("w", "c", "2"):
        await player.keyboard.press(key)
        await expect(player.locator("html")).to_have_js_property("scrollWidth", width)


async def test_the_tab_key_reaches_the_player(player: Page):
    reached: set[str] = set()
    for _ in range(40):
        await player.keyboard.press("Tab")
        reached.add(await player.evaluate("() => document.activeElement.id"))
    assert {"tab-run", "query", "link", "theme", "help", "context", "slider", "play", "speed"} <= reached


async def test_a_long_run_is_seen_close_up(page: Page, tmp_path: Path):
    await open_at(page, write_page(tmp_path / "run.html", messages_of_length(2_000)), 2_000)
    assert await page.locator(".phase").count() == 100
    await page.keyboard.press("z")
    await expect(page.locator("#zoom")).to_have_attribute("aria-pressed", "true")
    await expect(page.get_by_role("heading", name="Around this step")).to_be_visible()
    assert await page.locator(".phase").count() < 20
    assert await page.locator(".phase.current").inner_text() == "Step 1"
    box = await page.locator("#slider").bounding_box()
    assert box is not None
    await page.mouse.click(box["x"] + box["width"] - 4, box["y"] + 25)
    assert 2_100 < await at(page) < 2_300
    await page.keyboard.press("z")
    await expect(page.get_by_role("heading", name="Over the run")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_words_stand_out_from_what_they_stand_on(player: Page, theme: str):
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5, for every word in sight at every key step."""
    await player.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    last = ""
    while (step := await player.locator(".counter").inner_text()) != last:
        assert await player.evaluate(FAINT_WORDS) == []
        last = step
        await player.keyboard.press("n")
    await player.keyboard.press("2")
    await player.get_by_role("switch").check()
    assert await player.evaluate(FAINT_WORDS) == []


def shortened() -> list[Stamped]:
    """A fork that nobody counts the tokens of, with results that a compaction shortened."""
    told = Told()
    told.records[0] = msgspec.structs.replace(told.records[0], parent="0a0b0c0d")
    told.put(User("Look."))
    told.writes("", plan("> Look", "  Tell"))
    told.reads("", "a.py", source_text("a", 400))
    told.put(Compacted("limit", len(told.view), shortened={"c2": "cut " * 40}, before=9_000, after=900))
    told.says("Done.")
    free = [
        msgspec.structs.replace(each, usage=Usage()) if isinstance(each, Assistant) else each
        for each in told.records
    ]
    return stamped(free)


async def test_a_result_that_was_shortened_is_as_small_as_it_is_now(page: Page, tmp_path: Path):
    await open_at(page, write_page(tmp_path / "run.html", shortened()), 1)
    await page.keyboard.press("c")
    await expect(page.locator("#step-title")).to_have_text("Context shortened: 9,000 to 900 tokens")
    row = page.locator(".row.tool").last
    await expect(row.locator(".row-figures")).to_contain_text("40 tok")
    block = page.locator("#strip .block.tool").last
    after = await block.evaluate("node => node.getBoundingClientRect().width")
    await page.keyboard.press("ArrowLeft")
    before = await block.evaluate("node => node.getBoundingClientRect().width")
    assert after < before / 20
    await page.keyboard.press("ArrowRight")
    await page.locator("#context").evaluate("node => { node.scrollTop = 0 }")
    gap = page.locator(".row.gap strong")
    await expect(gap).to_have_text("1 result is shortened from here on.")


async def test_what_is_not_known_of_the_cost_is_said_quietly(page: Page, player: Page, tmp_path: Path):
    await page.keyboard.press("End")
    figure = page.locator("[data-figure=cost] dd")
    await expect(figure).to_have_text(re.compile(r"\$0\.\d{4}"))
    await open_at(page, write_page(tmp_path / "run.html", shortened()), 99)
    for name in ("spent", "cost"):
        figure = page.locator(f"[data-figure={name}] dd")
        await expect(figure).to_have_text("unknown")
        await expect(figure).to_have_class("unknown")
    await expect(page.get_by_role("heading", name="Replies by todo")).to_be_visible()


async def test_a_fork_says_what_it_was_forked_from(page: Page, tmp_path: Path):
    await open_at(page, write_page(tmp_path / "run.html", shortened()), 1)
    await expect(page.locator("#facts")).to_contain_text("forked from 0a0b0c0d")
