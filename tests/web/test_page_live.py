"""A running session in the page: followed, caught up after a break, edited and answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from pages import Served, eventful, lines_of, plan, waiting, write_page
from playwright.async_api import Page, expect

from onplan.events import Decided, PlanEdited, TurnEnded
from onplan.messages import Assistant, Call, Text, ToolResult
from onplan.plan.changes import Written
from onplan.plan.stored import outcome_to_json
from onplan.session import InboxRequest

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def served() -> AsyncIterator[Served]:
    """A session that waits for an answer, and its server."""
    made = await asyncio.to_thread(Served, waiting())
    yield made
    await asyncio.to_thread(made.stop)


@pytest_asyncio.fixture(loop_scope="session")
async def live(page: Page, served: Served) -> Page:
    await page.goto(served.address)
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    await expect(page.locator("#live")).to_have_text("Live")
    return page


def step_title(page: Page):
    return page.locator("#step-title")


async def grow(served: Served, number: int) -> None:
    await asyncio.to_thread(served.append, Assistant((Text(f"Reply {number}."),)))


async def test_it_opens_at_the_end_and_goes_along(live: Page, served: Served):
    await expect(step_title(live)).to_contain_text("Asked: may bash run?")
    for number in (1, 2):
        await grow(served, number)
        await expect(step_title(live)).to_have_text(f"The model answers: Reply {number}.")
    await expect(live.locator("#context .row.now .text")).to_have_text("Reply 2.")
    last = await live.locator("#slider").get_attribute("aria-valuemax")
    assert await live.locator("#slider").get_attribute("aria-valuenow") == last


async def test_a_session_that_is_over_opens_at_its_beginning(page: Page):
    over = await asyncio.to_thread(Served, eventful())
    await page.goto(over.address)
    await expect(page.locator("#live")).to_have_text("Idle")
    await expect(step_title(page)).to_contain_text("You: Move the settings")
    await asyncio.to_thread(over.stop)


async def test_who_looks_back_is_left_there(live: Page, served: Served):
    await live.keyboard.press("Home")
    await grow(served, 1)
    await expect(live.locator(".counter")).to_contain_text("/ 9")
    assert await live.locator("#slider").get_attribute("aria-valuenow") == "1"


async def test_a_write_of_the_plan_comes_in(live: Page, served: Served):
    new = plan("x Remove what is old", "> Check")
    details = {"plan": outcome_to_json(Written(2, new))}
    call = Call("w2", "write_todos", {"todos": new.to_json()})
    result = ToolResult("w2", "write_todos", "Task list updated:\n" + lines_of(new), details=details)
    await asyncio.to_thread(served.append, Assistant((call,), "tool_calls"), result)
    await expect(live.locator(".plan-count")).to_have_text("1 of 2 done · revision 2")
    await expect(live.locator(".phase-label")).to_have_text("Check")


async def test_after_a_break_it_catches_up_and_shows_nothing_twice(live: Page, served: Served):
    await asyncio.to_thread(served.stop)
    await expect(live.locator("#live")).to_have_text("Connecting again…")
    for number in range(3):
        await grow(served, number)
    await asyncio.to_thread(served.start)
    await expect(live.locator("#live")).to_have_text("Live")
    await expect(step_title(live)).to_have_text("The model answers: Reply 2.")
    await grow(served, 3)
    await expect(step_title(live)).to_have_text("The model answers: Reply 3.")
    texts = await live.locator("#context .row.assistant .text.prose").all_inner_texts()
    assert texts[-4:] == ["Reply 0.", "Reply 1.", "Reply 2.", "Reply 3."]


async def test_a_page_loaded_anew_goes_on_following(live: Page, served: Served):
    await grow(served, 1)
    await expect(step_title(live)).to_have_text("The model answers: Reply 1.")
    await live.reload()
    await expect(step_title(live)).to_have_text("The model answers: Reply 1.")
    await grow(served, 2)
    await expect(step_title(live)).to_have_text("The model answers: Reply 2.")


async def test_a_log_that_cannot_be_read_is_said_until_it_can(live: Page, served: Served):
    served.store.is_away = True
    await expect(live.locator("#live")).to_have_text("The log cannot be read")
    await expect(live.locator("#live")).to_have_attribute("title", "the disk is away")
    served.store.is_away = False
    await expect(live.locator("#live")).to_have_text("Live")


async def test_a_server_with_another_token_is_told_from_one_that_is_gone(live: Page, served: Served):
    await asyncio.to_thread(served.stop)
    await expect(live.locator("#live")).to_have_text("Connecting again…")
    served.token = "beef" * 8
    await asyncio.to_thread(served.start)
    await expect(live.get_by_role("alert").first).to_contain_text("has another address now")
    await expect(live.locator("#live")).to_have_text("Not connected")


async def test_a_session_without_records_is_waited_for(page: Page):
    empty = await asyncio.to_thread(Served, [])
    await page.goto(empty.address)
    await expect(page.get_by_role("alert")).to_have_text("This session has no records yet.")
    await asyncio.to_thread(empty.append, *(item.record for item in waiting()))
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    await expect(step_title(page)).to_contain_text("Asked: may bash run?")
    await asyncio.to_thread(empty.stop)


@pytest.mark.parametrize(
    ("button", "action", "reason"), [("Allow", "approve", ""), ("Deny", "deny", "not now")]
)
async def test_a_question_is_answered_through_the_inbox(
    live: Page, served: Served, button: str, action: str, reason: str
):
    question = live.get_by_role("group", name="Approval of bash")
    await expect(question).to_contain_text("git clean -n")
    await question.get_by_role("button", name=button).click()
    await expect(question.get_by_role("alert")).to_contain_text("nobody has this session open")
    await asyncio.to_thread(served.hold)
    await question.get_by_label("Reason for the model").fill(reason)
    await question.get_by_role("button", name=button).click()
    await expect(live.locator("#asked")).to_be_hidden()
    left = await asyncio.to_thread(served.requests)
    assert left == [InboxRequest(action, call_id="c2", reason=reason)]
    await expect(live.locator("#context")).to_be_focused()


async def test_a_question_that_was_answered_elsewhere_goes(live: Page, served: Served):
    await expect(live.locator("#asked")).to_be_visible()
    await asyncio.to_thread(served.append, Decided("c2", "deny", "person"))
    await expect(live.locator("#asked")).to_be_hidden()


async def edit(page: Page) -> None:
    await page.get_by_role("button", name="Edit the plan").click()
    form = page.get_by_role("form", name="Edit the plan")
    await form.get_by_label("Todo").nth(1).fill("Check twice")
    await form.get_by_role("button", name="Add a todo").click()
    await form.get_by_label("Todo").nth(2).fill("Tell the others")
    await form.get_by_role("button", name="Save").click()


EDITED = plan("> Remove what is old", "  Check twice", "  Tell the others")


async def test_an_edit_goes_to_who_holds_the_session(live: Page, served: Served):
    await asyncio.to_thread(served.hold)
    await edit(live)
    await expect(live.locator(".said")).to_have_text("The agent takes this before its next request.")
    left = await asyncio.to_thread(served.requests)
    assert left == [InboxRequest("edit", tuple(EDITED.to_json()), base=1)]
    await asyncio.to_thread(served.append, PlanEdited(2, tuple(EDITED.to_json())))
    await expect(live.locator("#plan .todo .content")).to_have_text(
        ["Remove what is old", "Check twice", "Tell the others"]
    )
    await expect(live.locator(".said")).to_have_text("")  # it is taken


async def test_an_edit_of_a_session_that_nobody_holds_is_made_at_once(live: Page):
    await edit(live)
    await expect(live.locator("#plan .todo .content")).to_have_text(
        ["Remove what is old", "Check twice", "Tell the others"]
    )
    await live.get_by_role("button", name="Undo the last change of the plan").click()
    await expect(live.locator("#plan .todo .content")).to_have_text(["Remove what is old", "Check"])
    await live.get_by_role("button", name="Redo").click()
    await expect(live.locator("#plan .todo .content")).to_have_count(3)


async def test_a_plan_that_breaks_the_rules_is_refused_in_the_form(live: Page):
    await live.get_by_role("button", name="Edit the plan").click()
    form = live.get_by_role("form", name="Edit the plan")
    await form.get_by_label("Status").nth(1).select_option("in_progress")
    await form.get_by_role("button", name="Save").click()
    await expect(live.locator("#plan [role=alert]")).to_contain_text("only 1 todo may be in progress")
    await expect(form).to_be_visible()
    await form.get_by_role("button", name="Cancel").click()
    await expect(live.locator("#plan .todo .content")).to_have_text(["Remove what is old", "Check"])


async def test_the_form_is_left_with_escape_and_opened_once(live: Page):
    button = live.get_by_role("button", name="Edit the plan")
    await button.click()
    field = live.get_by_role("form").get_by_label("Todo").first
    await field.fill("Half a thought")
    await button.click()
    await expect(field).to_have_value("Half a thought")
    await field.press("Escape")
    await expect(live.locator("#plan .todo .content")).to_have_text(["Remove what is old", "Check"])
    await expect(button).to_be_focused()


async def test_a_wrong_token_shows_one_line(page: Page, served: Served):
    await page.goto(served.address.replace("f00d", "beef"))
    await expect(page.get_by_role("alert")).to_contain_text("the token is missing or wrong")


async def test_the_token_stays_in_the_address(live: Page, served: Served):
    await live.keyboard.press("Home")
    await live.wait_for_url("**/#token=*step=1")
    await live.reload()
    await expect(live.locator("body[data-ready=true]")).to_be_attached()
    assert await live.locator("#slider").get_attribute("aria-valuenow") == "1"


async def test_a_file_has_nothing_to_edit(page: Page, tmp_path_factory: pytest.TempPathFactory):
    await page.goto(write_page(tmp_path_factory.mktemp("file") / "run.html", [*waiting(), eventful()[-1]]))
    await expect(page.locator("body[data-ready=true]")).to_be_attached()
    await expect(page.get_by_role("button", name="Edit the plan")).to_have_count(0)
    await expect(page.locator("#asked")).to_be_hidden()


async def test_the_end_of_a_turn_is_told(live: Page, served: Served):
    await asyncio.to_thread(served.append, TurnEnded("cost"))
    await expect(live.locator("#facts")).to_contain_text("ended: cost")
    await expect(live.locator("#live")).to_have_text("Idle")
