"""A customer pays invoices and paylinks in a browser, and the merchant's program learns of it."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from playwright.async_api import Page, expect

from gateway_async import ApiId, AsyncGateway, Attachment, PaylinkCreate, PostbackConfigCreate, QuickInvoiceCreate
from gateway_async.models.quick_invoices import QuickInvoice
from gateway_async.sandbox import Sandbox
from tests.sandbox.receiver import Receiver
from tests.support.browser import IN_BROWSER, Visitor, find_barriers

pytestmark = IN_BROWSER

PHONE = {"viewport": {"width": 375, "height": 800}, "color_scheme": "dark"}
HOSTILE = "<img src=x onerror=alert(1)>"
WORD = "Wirtschaftspruefungsgesellschaftsvertrag"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver of postbacks, the merchant's program."""
    receiver = Receiver()
    yield receiver
    receiver.stop()


async def bill(gateway: AsyncGateway, **fields: Any) -> QuickInvoice:
    items = {"Soup": Decimal("10.00"), "Tea": Decimal("11.00")}
    known: dict[str, Any] = {"title": "Lunch", "due_date": date(2030, 1, 31), "item_list": items}
    return await gateway.quick_invoices.create(QuickInvoiceCreate(**known | fields))


async def open_bill(visitor: Visitor, gateway: AsyncGateway, invoice: QuickInvoice) -> Page:
    """Open the payment page of an invoice at the address that the client returns."""
    page = await visitor.open(gateway.quick_invoices.payment_url(invoice.id))
    await expect(page.get_by_role("heading", level=1)).to_have_text(invoice.title or "")
    return page


async def enter_card(page: Page) -> None:
    await page.get_by_label("Card number").fill("4111 1111 1111 1111")
    await page.get_by_label("Expiration").fill("12/30")
    await page.get_by_label("Security code").fill("999")
    await page.get_by_label("Name on the card").fill("Ada Lovelace")


async def pay(page: Page) -> None:
    await page.get_by_role("button", name="Pay").click()


async def expect_heading(page: Page, text: str) -> None:
    """Wait for a page with this heading, which people with disabilities can use."""
    await expect(page.get_by_role("heading", level=1)).to_have_text(text)
    assert await find_barriers(page) == []


async def test_invoice(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway, receiver: Receiver) -> None:
    """The client sees a paid invoice as paid, and a receiver gets the postback of the transaction."""
    product = sandbox.cc_product_transaction_id
    config = PostbackConfigCreate(
        resource="transaction", product_transaction_id=product, url=receiver.url, on_create=True
    )
    await gateway.postback_configs.create(config)
    invoice = await bill(gateway, quick_invoice_api_id="order-7")
    page = await visitor.open(gateway.quick_invoices.payment_url(ApiId("order-7")))
    await expect_heading(page, "Lunch")
    await enter_card(page)
    await pay(page)
    await expect_heading(page, "Thank you")
    await expect(page.get_by_text("Visa ending in 1111")).to_be_visible()
    assert (await gateway.quick_invoices.get(invoice.id)).payment_status_id == 2
    sandbox.wait_until_idle()
    (postback,) = receiver.requests
    assert (postback.fields["type"], postback.data["quick_invoice_id"]) == ("CREATE", invoice.id)
    await page.reload()
    await expect_heading(page, "Thank you")
    assert await gateway.transactions.list().count() == 1


async def test_declined_card(visitor: Visitor, gateway: AsyncGateway) -> None:
    """A test card is entered with one click; the issuer declines the first one and approves the second one."""
    link = await gateway.paylinks.create(PaylinkCreate(amount_due="21.00", display_billing_fields=True))
    page = await visitor.open(gateway.paylinks.payment_url(link.id))
    await page.get_by_role("link", name="Declined for its address").click()
    await pay(page)
    await expect_heading(page, "The payment was declined")
    await expect(page.get_by_text("$21.00")).to_be_visible()
    await page.get_by_role("link", name="Try again").click()
    await page.get_by_role("link", name="Mastercard ending in 5454").click()
    await pay(page)
    await expect_heading(page, "Thank you")
    assert (await gateway.paylinks.get(link.id)).status_id == 1


async def test_parts(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """An invoice is paid by card in part, after a wrong amount, and then the rest from a bank account."""
    invoice = await bill(
        gateway,
        allow_partial_pay=True,
        cc_product_transaction_id=sandbox.cc_product_transaction_id,
        ach_product_transaction_id=sandbox.ach_product_transaction_id,
    )
    page = await open_bill(visitor, gateway, invoice)
    await enter_card(page)
    await page.get_by_label("Amount").fill("30.00")
    await pay(page)
    await expect(page.get_by_role("alert")).to_contain_text("This invoice takes no more than 21.00.")
    assert await find_barriers(page) == []
    await enter_card(page)
    await page.get_by_label("Amount").fill("15.00")
    await pay(page)
    await expect_heading(page, "Thank you")
    await page.get_by_role("link", name="Pay the rest").click()
    await page.get_by_role("link", name="Bank account").click()
    await page.get_by_label("Account holder").fill("Ada Lovelace")
    await page.get_by_label("Routing number").fill("072000326")
    await page.get_by_label("Account number").fill("1234567890")
    await page.get_by_label("Savings").check()
    assert await find_barriers(page) == []
    await pay(page)
    await expect(page.get_by_text("Savings ending in 7890")).to_be_visible()
    assert (await gateway.quick_invoices.get(invoice.id)).remaining_balance == 0


async def test_expired_invoice(visitor: Visitor, gateway: AsyncGateway) -> None:
    """The page says that nothing can be paid."""
    page = await visitor.open(
        gateway.quick_invoices.payment_url((await bill(gateway, expire_date=date(2020, 1, 31))).id)
    )
    await expect_heading(page, "This invoice has expired")


async def test_two_tabs(visitor: Visitor, gateway: AsyncGateway) -> None:
    """The second tab is told that the invoice is paid."""
    invoice = await bill(gateway)
    pages = [await open_bill(visitor, gateway, invoice) for _ in range(2)]
    for page in pages:
        await enter_card(page)
        await pay(page)
    await expect_heading(pages[0], "Thank you")
    await expect_heading(pages[1], "This invoice is paid")
    assert await gateway.transactions.list().count() == 1


async def test_double_click(visitor: Visitor, gateway: AsyncGateway) -> None:
    """Both submissions of the form lead to the result of one payment, while the issuer takes a second."""
    items = {"Tea": Decimal("8.01")}
    page = await open_bill(visitor, gateway, await bill(gateway, item_list=items, allow_overpayment=True))
    await enter_card(page)
    await page.get_by_role("button", name="Pay").dblclick()
    await expect_heading(page, "Thank you")
    assert await gateway.transactions.list().count() == 1


async def test_keyboard(visitor: Visitor, gateway: AsyncGateway) -> None:
    """Tab and Enter choose a test card; then the focus is on the button, and Enter pays."""
    page = await open_bill(visitor, gateway, await bill(gateway))
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    sample = page.get_by_role("link", name="Visa ending in 1111")
    while not await sample.evaluate("link => link === document.activeElement"):
        await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Pay")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect_heading(page, "Thank you")


@pytest.mark.parametrize("visitor", [PHONE], indirect=True)
async def test_phone(visitor: Visitor, gateway: AsyncGateway) -> None:
    """Texts and names of files stay text, and no long word makes a page wider than a phone."""
    new = QuickInvoiceCreate(
        title=HOSTILE,
        item_header=WORD * 3,
        item_list={HOSTILE: Decimal(5), WORD * 4: Decimal(6)},
        item_footer=HOSTILE,
        note=HOSTILE,
        due_date=date(2030, 1, 31),
    )
    file = Attachment("<b>menu</b>.html", b"<script>alert(1)</script>", "text/html")
    page = await open_bill(visitor, gateway, await gateway.quick_invoices.create(new, files=[file]))
    await _expect_no_scrolling(page)
    async with page.expect_download() as download:
        await page.get_by_role("link", name="<b>menu</b>.html").click()
    assert "menu" in (await download.value).suggested_filename
    assert await find_barriers(page) == []
    await enter_card(page)
    await page.get_by_label("Name on the card").fill(HOSTILE)
    await page.get_by_label("Security code").fill("9")
    await pay(page)
    await expect(page.get_by_label("Name on the card")).to_have_value(HOSTILE)
    await enter_card(page)
    await pay(page)
    await expect_heading(page, "Thank you")
    await _expect_no_scrolling(page)


async def _expect_no_scrolling(page: Page) -> None:
    root = "document.documentElement"
    assert await page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")


async def test_link(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """The link in an e-mail opens the page, also in a tab that already shows the dashboard."""
    await bill(gateway, email="ada@example.test", send_email=True)
    (message,) = sandbox.outbox()
    page = await visitor.open()
    await page.evaluate("url => location.assign(url)", message["text"].splitlines()[-1])
    await expect_heading(page, "Lunch")
