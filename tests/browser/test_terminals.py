"""The terminals: a person presents cards and presses keys, and the waiting call of the SDK returns."""

import asyncio
import re
from collections.abc import Callable

import pytest
from playwright.async_api import Locator, Page, expect

from gateway_async import AsyncGateway, RouterTransactionCreate, Transaction
from gateway_async.sandbox import Sandbox
from tests.support.browser import IN_BROWSER, Visitor, find_barriers

pytestmark = IN_BROWSER

Sale = asyncio.Task[Transaction]
Sell = Callable[..., Sale]


@pytest.fixture
def sell(gateway: AsyncGateway, sandbox: Sandbox) -> Sell:
    """Begin a sale at a terminal, by default the first one."""

    def begin(amount: str = "12.50", terminal_id: str | None = None, api_id: str | None = None) -> Sale:
        new = RouterTransactionCreate(
            action="sale",
            terminal_id=terminal_id or sandbox.terminal_id,
            transaction_amount=amount,
            transaction_api_id=api_id,
        )
        return asyncio.create_task(gateway.router_transactions.create(new))

    return begin


def device(page: Page, title: str = "Counter") -> Locator:
    return page.get_by_role("region", name=title)


async def press(terminal: Locator, key: str) -> None:
    await terminal.get_by_role("button", name=key).click()


async def test_approval(visitor: Visitor, sell: Sell) -> None:
    """The open page shows the call, and the call returns with the chosen card when a key is pressed."""
    page = await visitor.open("/terminals")
    counter = device(page)
    await expect(counter.get_by_text("No call waits here")).to_be_visible()
    sale = sell(api_id="order-1")
    await expect(counter.get_by_text("$12.50")).to_be_visible()
    await expect(counter.get_by_text(re.compile(r"Sandy Box, gateway-async/\S+, order-1"))).to_be_visible()
    assert await find_barriers(page) == []
    await counter.get_by_role("radio", name="Mastercard").check()
    await counter.get_by_role("radio", name="Contactless").check()
    await press(counter, "Approve")
    made = await sale
    assert (made.approved, made.account_type, made.last_four, made.entry_mode_id) == (True, "mc", "5454", "P")
    await expect(counter.get_by_role("listitem")).to_contain_text("Approved $12.50 Sale, mc ···· 5454")
    await expect(counter.get_by_role("radio", name="Mastercard")).to_be_checked()
    await expect(counter.get_by_role("button", name="Approve")).to_be_focused()
    assert await find_barriers(page) == []


@pytest.mark.parametrize(
    ("key", "text", "reason", "last_four"),
    [
        ("Decline", "DECLINED", 1500, "1111"),
        ("Wrong PIN", "BAD_PIN", 1610, "1111"),
        ("Cancel", "CANCELLED", 1500, None),
    ],
)
async def test_a_refused_sale_and_its_receipt_say_why(
    visitor: Visitor, sell: Sell, sandbox: Sandbox, key: str, text: str, reason: int, last_four: str | None
) -> None:
    counter = device(await visitor.open("/terminals"))
    sale = sell()
    await expect(counter.get_by_text("$12.50")).to_be_visible()
    await press(counter, key)
    made = await sale
    assert (made.declined, made.verbiage, made.reason_code_id, made.last_four) == (True, text, reason, last_four)
    await expect(counter.get_by_role("listitem")).to_contain_text(f"Declined: {text} $12.50 Sale")


async def test_two_terminals(visitor: Visitor, sell: Sell, sandbox: Sandbox) -> None:
    """A key of one terminal does not end the call of the other, and each shows its own call."""
    bar_id = sandbox.add_terminal("Bar")
    page = await visitor.open("/terminals")
    first, second = sell("1.00"), sell("2.00", bar_id)
    await expect(device(page).get_by_text("$1.00")).to_be_visible()
    await press(device(page, "Bar"), "Approve")
    assert (await second).terminal_id == bar_id
    assert not first.done()
    await press(device(page), "Cancel")
    assert (await first).declined


async def test_queue(visitor: Visitor, sell: Sell, sandbox: Sandbox) -> None:
    """The page shows the queue; a pressed key ends the first call and shows the next one."""
    page = await visitor.open(f"/terminals/{sandbox.terminal_id}")
    counter = device(page)
    first = sell("1.00")
    await expect(counter.get_by_text("$1.00")).to_be_visible()
    async with sandbox.gateway() as other:
        new = RouterTransactionCreate(
            action="sale", terminal_id=sandbox.terminal_id, transaction_amount="2.00", transaction_api_id="second"
        )
        second = asyncio.create_task(other.router_transactions.create(new))
        await expect(counter.get_by_role("listitem")).to_contain_text(
            re.compile(r"Sale \$2\.00 Sandy Box, \S+, second")
        )
        assert await find_barriers(page) == []
        await press(counter, "Approve")
        assert (await first).approved
        await expect(counter.get_by_label("Screen")).to_contain_text("$2.00")
        assert not second.done()
        await press(counter, "Decline")
        assert (await second).declined


async def test_keyboard(visitor: Visitor, sell: Sell) -> None:
    """Arrows choose a card and how it is read, Tab moves on, and Enter presses a key."""
    page = await visitor.open("/terminals")
    sale = sell()
    await expect(device(page).get_by_text("$12.50")).to_be_visible()
    await device(page).get_by_role("link", name="Counter").focus()
    for key in ("Tab", "ArrowRight", "ArrowRight", "Tab", "ArrowRight", "ArrowRight", "Tab", "Enter"):
        await page.keyboard.press(key)
    made = await sale
    assert (made.approved, made.account_type, made.entry_mode_id) == (True, "amex", "S")


@pytest.mark.parametrize("visitor", [{"viewport": {"width": 375, "height": 800}}], indirect=True)
async def test_phone(visitor: Visitor, sell: Sell, sandbox: Sandbox) -> None:
    """At 375 pixels nothing is cut off, also with a long title, and the keys work."""
    title = "W" * 64
    till = sandbox.add_terminal(title)
    page = await visitor.open("/terminals")
    sale = sell(terminal_id=till)
    await expect(device(page, title).get_by_text("$12.50")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert await find_barriers(page) == []
    await press(device(page, title), "Approve")
    assert (await sale).approved


async def test_form(visitor: Visitor) -> None:
    """The title of a terminal added by the form is text, even a script, and another open page offers the terminal."""
    other = await visitor.open("/terminals")
    page = await visitor.open("/terminals")
    title = "<script>alert(1)</script>"
    await page.get_by_label("Title").fill(title)
    await page.get_by_role("button", name="Add").click()
    await expect(device(page, title).get_by_text("No call waits here")).to_be_visible()
    await other.get_by_role("link", name="Show it").click()
    await device(other, title).get_by_role("link", name=title).click()
    await expect(other.get_by_role("heading", name=title, level=1)).to_be_visible()
    assert await find_barriers(other) == []


async def test_an_arriving_call_keeps_focus_and_typed_text(visitor: Visitor, sell: Sell) -> None:
    page = await visitor.open("/terminals")
    await page.get_by_label("Title").press_sequentially("Bar")
    sale = sell()
    await expect(device(page).get_by_text("$12.50")).to_be_visible()
    await page.keyboard.type(" 2")
    await expect(page.get_by_label("Title")).to_have_value("Bar 2")
    await press(device(page), "Approve")
    assert (await sale).approved


async def test_a_page_counts_the_seconds_of_a_wait(visitor: Visitor, sell: Sell) -> None:
    page = await visitor.open("/terminals")
    sale = sell()
    timer = device(page).get_by_role("timer")
    seen = await timer.text_content()
    await expect(timer).not_to_have_text(str(seen))
    await press(device(page), "Cancel")
    assert (await sale).declined


async def test_restart(visitor: Visitor, sandbox: Sandbox) -> None:
    """A key on a page from before a restart is refused and presses nothing; the next one works."""
    page = await visitor.open("/terminals")
    token = device(page).locator("[name=csrf_token]")
    valid = await token.input_value()
    await token.evaluate("field => { field.value = 'old' }")
    await press(device(page), "Stay silent")
    await expect(token).to_have_value(valid)
    assert sandbox.terminals()[0]["silent"] is False
    await press(device(page), "Stay silent")
    await expect(device(page).get_by_text("Will stay silent")).to_be_visible()
    visitor.complaints.clear()  # htmx logs the refusal


async def test_terms(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """Approve accepts the terms that a terminal shows, and the waiting call returns."""
    page = await visitor.open("/terminals")
    body = {"location_id": sandbox.location_id, "terminal_id": sandbox.terminal_id, "require_signature": 1}
    request = gateway.request(
        "POST", "/v2/deviceterms", body={"deviceterm": body | {"terms_conditions": "Tea is served at five."}}
    )
    async with asyncio.TaskGroup() as tasks:
        call = tasks.create_task(request)
        await expect(page.get_by_text("Accept the terms?")).to_be_visible()
        await page.get_by_role("button", name="Approve").first.click()
    assert call.result().json()["deviceterm"]["reason_code_id"] == 1000
