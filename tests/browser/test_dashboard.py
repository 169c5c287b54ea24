"""The dashboard: what programs did is seen while it happens."""

import json
import re
from datetime import date

import pytest
from playwright.async_api import expect

from gateway_async import AsyncGateway, QuickInvoiceCreate, TransactionCreate
from gateway_async.sandbox import Sandbox
from tests.support.browser import IN_BROWSER, Visitor, find_barriers

pytestmark = IN_BROWSER

SALE = TransactionCreate(action="sale", transaction_amount="12.50", account_number="4111111111111111", exp_date="1230")


async def test_a_request_is_seen_at_once(visitor: Visitor, gateway: AsyncGateway) -> None:
    page = await visitor.open()
    await expect(page.get_by_text("No program has sent a request yet.")).to_be_visible()
    await gateway.contacts.list()
    await expect(page.get_by_text("GET /v2/contacts")).to_be_visible()
    assert await find_barriers(page) == []


async def test_a_fault_is_planned_in_the_page(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    page = await visitor.open("/faults")
    await page.get_by_role("combobox", name="Fault", exact=True).select_option("error_after_commit")
    await page.get_by_role("button", name="Plan", exact=True).first.click()
    await expect(page.get_by_role("row", name="error_after_commit")).to_contain_text("0")
    payment = await gateway.transactions.create(SALE)
    await expect(page.get_by_role("row", name="error_after_commit")).to_contain_text(str(payment.transaction_api_id))
    assert sandbox.ledger()["charged"] == {payment.transaction_api_id: 1}


async def test_mail(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """A mail arrives in the open outbox as text, with a link to the payment page."""
    page = await visitor.open("/outbox")
    invoice = QuickInvoiceCreate(
        title="<b>Piano</b>",
        due_date=date(2030, 1, 1),
        item_list={"<img src=x>": "50.00"},
        email="ada@example.test",
        send_email=True,
        cc_product_transaction_id=sandbox.cc_product_transaction_id,
    )
    made = await gateway.quick_invoices.create(invoice)
    await expect(page.get_by_text("<b>Piano</b>").first).to_be_visible()
    await expect(page.get_by_role("link", name=re.compile(made.id))).to_be_visible()


async def test_reset(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """A reset is two clicks away from any page, by keyboard alone."""
    await gateway.contacts.list()
    page = await visitor.open("/clock")
    await page.get_by_role("link", name="Connect").press("Enter")
    sandbox.fault("GET /v2/contacts", "empty")
    await page.get_by_role("button", name="Reset the sandbox").press("Enter")
    await expect(page.get_by_role("heading", name="Connect a program")).to_be_visible()
    assert sandbox.faults() == []


SIZES = [
    {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    {"viewport": {"width": 375, "height": 800}, "color_scheme": "light"},
]


@pytest.mark.parametrize("visitor", SIZES, indirect=True, ids=["wide and dark", "phone"])
async def test_accessibility(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """Each page fits a phone, and has contrast, labels and headings."""
    sandbox.scenario("a bad day for lookups")
    await gateway.contacts.list()
    await gateway.transactions.create(SALE)
    page = await visitor.open()  # a new tab would cost more than its page
    for path in ("/", "/postbacks", "/outbox", "/faults", "/clock", "/connect"):
        await page.goto(sandbox.base_url + path)
        assert (path, await find_barriers(page)) == (path, [])
        width = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert (path, width) == (path, 0)


async def test_overview(visitor: Visitor, gateway: AsyncGateway) -> None:
    """An open page adds up a payment that is made later, and its figure leads to the payment."""
    page = await visitor.open()
    assert await find_barriers(page) == []
    payment = await gateway.transactions.create(SALE)
    await expect(page.get_by_role("link", name="$12.50")).to_be_visible()
    assert await find_barriers(page) == []
    await page.get_by_role("link", name="$12.50").click()
    await expect(page.get_by_role("link", name=payment.id)).to_be_visible()


@pytest.mark.parametrize("visitor", [{"permissions": ["clipboard-read", "clipboard-write"]}], indirect=True)
async def test_copying(visitor: Visitor, gateway: AsyncGateway) -> None:
    """A button copies the whole JSON, also what is folded, and another one an id."""
    payment = await gateway.transactions.create(SALE)
    page = await visitor.open(f"/records/transactions/{payment.id}")
    links = page.locator("#record-json summary", has_text="_links")
    await links.click()
    button = page.get_by_title("Copy: JSON of the record")
    await button.click()
    await expect(button).to_have_accessible_name("Copied")
    copied = json.loads(await page.evaluate("navigator.clipboard.readText()"))
    assert copied["transaction"]["_links"]["self"]["href"].endswith(payment.id)
    button = page.get_by_title("Copy: id", exact=True)
    await button.press("Enter")
    await expect(button).to_have_accessible_name("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == payment.id
    assert await find_barriers(page) == []


@pytest.mark.parametrize("visitor", [{"java_script_enabled": False}], indirect=True)
async def test_no_scripts(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """A fault is chosen and planned, a request searched, and JSON folded, without JavaScript."""
    page = await visitor.open("/faults")
    await page.get_by_role("link", name="rate_limit").click()
    await page.get_by_role("button", name="Plan", exact=True).first.click()
    await expect(page.get_by_role("row", name="rate_limit")).to_contain_text("from request 1 on, 1 ×")
    payment = await gateway.transactions.create(SALE)
    await page.goto(f"{sandbox.base_url}/requests")
    await page.get_by_label("Path, status, id or amount").fill("12.5")
    await page.get_by_role("button", name="Search").click()
    await page.get_by_role("link", name="POST /v2/transactions").first.click()
    body = page.get_by_role("region", name="Body of the response")
    await body.locator("summary").first.click()
    await expect(body.get_by_text(payment.id).first).to_be_hidden()
    await expect(page.get_by_role("button")).to_have_count(0)


async def test_live_record(visitor: Visitor, gateway: AsyncGateway) -> None:
    """Typed text, folded JSON and the keyboard's place stay when the record changes; the form says what it refuses."""
    payment = await gateway.transactions.create(SALE)
    page = await visitor.open(f"/records/transactions/{payment.id}")
    await page.evaluate("htmx.config.defaultSettleDelay = 60_000")  # at once, not when the new part has settled
    links, address = page.locator("#record-json summary", has_text="_links"), page.get_by_text('"self"')
    await page.get_by_label("Code").fill("R99")
    await links.press("Enter")
    await gateway.transactions.void(payment.id)
    await expect(page.locator(".state")).to_contain_text("Voided")
    await expect(address).to_be_hidden()
    await page.keyboard.press("Enter")
    await expect(address).to_be_visible()
    await page.get_by_role("button", name="Return payment").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(page.get_by_label("Code")).to_have_value("R99")
    assert await find_barriers(page) == []
