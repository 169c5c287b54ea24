"""The pages of records, ledger and batches at a browser."""

from decimal import Decimal

from playwright.async_api import expect

from gateway_async import AsyncGateway, ContactCreate, TransactionCreate, UserApiKey
from gateway_async.sandbox import Sandbox
from tests.support.browser import IN_BROWSER, Visitor, find_barriers

pytestmark = IN_BROWSER

ATTACK = "<img src=x onerror=alert(1)>"


def sale(amount: str, api_id: str | None = None) -> TransactionCreate:
    """Return a sale with a test card."""
    return TransactionCreate(
        action="sale",
        account_number="4111111111111111",
        exp_date="1230",
        transaction_amount=Decimal(amount),
        transaction_api_id=api_id,
    )


async def test_new_record(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """An open list shows a record that is created later, and keeps what is typed; its name stays text."""
    page = await visitor.open("/records")
    assert await find_barriers(page) == []
    await page.get_by_role("link", name="Contacts").click()
    await page.get_by_label("Part of an id").fill("typed")
    contact = await gateway.contacts.create(ContactCreate(last_name=ATTACK, location_id=sandbox.info.location_id))
    await expect(page.get_by_role("link", name=contact.id)).to_be_visible()
    await expect(page.get_by_label("Part of an id")).to_have_value("typed")
    await expect(page.get_by_role("cell", name=ATTACK)).to_be_visible()
    assert await find_barriers(page) == []
    await page.get_by_role("link", name=contact.id).click()
    await gateway.contacts.delete(contact.id)
    await expect(page.get_by_text("Deleted at")).to_be_visible()
    assert await find_barriers(page) == []


async def test_a_payment_is_found_by_keyboard_and_integrator_id(visitor: Visitor, gateway: AsyncGateway) -> None:
    await gateway.transactions.create(sale("12.50", "order-1"))
    page = await visitor.open("/records")
    await page.get_by_label("Id or integrator id").focus()
    await page.keyboard.type("order-1")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("cell", name="order-1")).to_be_visible()
    await page.get_by_role("region", name="Records").get_by_role("link").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="What can happen next")).to_be_visible()
    assert await find_barriers(page) == []


async def test_batch(visitor: Visitor, gateway: AsyncGateway) -> None:
    """A payment appears in an open batch; the first settlement fails, and the second one settles it."""
    page = await visitor.open("/batches")
    await expect(page.get_by_text("No batch is open.")).to_be_visible()
    payment = await gateway.transactions.create(sale("6.30"))
    await expect(page.get_by_text("To settle")).to_be_visible()
    await page.get_by_role("button", name="Settle").click()
    await expect(page.get_by_text("REJECTED_BATCH")).to_be_visible()
    assert await find_barriers(page) == []
    await page.get_by_role("button", name="Settle").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("No batch is open.")).to_be_visible()
    await expect(page.get_by_role("cell", name="Settled")).to_be_visible()
    assert (await gateway.transactions.get(payment.id)).status_id == 134
    assert await find_barriers(page) == []


async def test_a_double_charge_raises_an_alarm(visitor: Visitor, sandbox: Sandbox, gateway: AsyncGateway) -> None:
    page = await visitor.open("/ledger")
    await gateway.transactions.create(sale("12.50", "order-1"))
    await expect(page.get_by_text("Every id has one effect.")).to_be_visible()
    second = sandbox.add_location()
    credentials = UserApiKey(second.user_id, second.user_api_key)
    async with sandbox.gateway(credentials=credentials, location_id=second.location_id) as other:
        await other.transactions.create(sale("12.50", "order-1"))
    await expect(page.get_by_role("alert")).to_have_text("1 id has more than one effect.")
    await expect(page.get_by_role("row", name="order-1")).to_contain_text("2 times")
    assert await find_barriers(page) == []
