"""The dashboard: what programs did is seen while it happens."""

import re
from datetime import date

import pytest
from playwright.async_api import expect

from gateway_async import AsyncGateway, QuickInvoiceCreate, TransactionCreate
from gateway_async.sandbox import Sandbox
from tests.support.browser import IN_BROWSER, Visitor, find_barriers

pytestmark = IN_BROWSER


async def test_a_request_is_seen_at_once(visitor: Visitor, gateway: AsyncGateway) -> None:
    """The log of an open page shows a request that is made later."""
    page = await visitor.open()
    await expect(page.get_by_text("No program has sent a request yet.")).to_be_visible()
    await gateway.contacts.list()
    await expect(page.get_by_text("GET /v2/contacts")).to_be_visible()
    assert await find_barriers(page) == []


async def test_a_fault_is_planned_in_the_page(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """The page counts the requests that it affects, without being loaded again."""
    page = await visitor.open("/faults")
    await page.get_by_role("combobox", name="Fault").select_option("error_after_commit")
    await page.get_by_role("button", name="Plan", exact=True).first.click()
    await expect(page.get_by_role("row", name="error_after_commit")).to_contain_text("0")
    sale = TransactionCreate(
        action="sale", transaction_amount="12.50", account_number="4111111111111111", exp_date="1230"
    )
    payment = await gateway.transactions.create(sale)
    await expect(page.get_by_role("row", name="error_after_commit")).to_contain_text(str(payment.transaction_api_id))
    assert sandbox.ledger()["charged"] == {payment.transaction_api_id: 1}


async def test_a_mail_arrives_in_the_open_outbox(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """The mail is shown as text, with a link to the payment page."""
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


async def test_a_reset_is_two_clicks_away(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """From any page, by keyboard alone."""
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
async def test_every_page_is_for_everybody(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """Each page fits a phone, and has contrast, labels and headings."""
    sandbox.scenario("a bad day for lookups")
    await gateway.contacts.list()
    for path in ("/postbacks", "/outbox", "/faults", "/clock", "/connect"):
        page = await visitor.open(path)
        assert (path, await find_barriers(page)) == (path, [])
        width = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert (path, width) == (path, 0)
        await page.close()
