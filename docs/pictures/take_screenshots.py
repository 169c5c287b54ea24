"""Take the pictures in docs/pictures/screenshots/: of the sandbox and of a report, in two widths, light and dark.

pip install -e '.[tests]' pillow
GATEWAY_TEST_CHROMIUM=/usr/bin/chromium python docs/pictures/take_screenshots.py
"""

import asyncio
import io
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urljoin

from PIL import Image
from playwright.async_api import Browser, async_playwright

from gateway_async import (
    AsyncGateway,
    CardVaultCreate,
    ContactCreate,
    GatewayError,
    PaylinkCreate,
    PostbackConfigCreate,
    QuickInvoiceCreate,
    RouterTransactionCreate,
    TransactionCreate,
)
from gateway_async.sandbox import Sandbox

FOLDER = Path(__file__).with_name("screenshots")
TUTORIAL = Path(__file__).parents[1] / "tutorials/migration.md"
SIZES = {1280: 800, 375: 760}
SCHEMES = ("light", "dark")
COLORS = 64
"""The colors of a picture; more would make it larger, and not better."""

CARD = "4111111111111111"
PAGES = {
    "overview": "/",
    "requests": "/requests",
    "records": "/records",
    "terminals": "/terminals",
    "batches": "/batches",
    "postbacks": "/postbacks",
    "outbox": "/outbox",
    "ledger": "/ledger",
    "faults": "/faults",
    "clock": "/clock",
    "connect": "/connect",
    "reference": "/reference",
    "operation": "/reference#/Contacts/createContact",
}
"""The pages whose address is the same in every sandbox, by the name of the picture."""


@asynccontextmanager
async def busy_sandbox() -> AsyncIterator[tuple[Sandbox, dict[str, str]]]:
    """Run a sandbox in which something has happened; yield it and the addresses of the pages."""
    async with Sandbox() as other:
        folder = TemporaryDirectory()
        report = await migrate(other, Path(folder.name))
    async with Sandbox(terminals="manual") as sandbox, sandbox.gateway() as gateway:
        await listen(sandbox, gateway)
        payment_id = await pay(gateway)
        invoice_id, paylink_id = await invoice(sandbox, gateway)
        sandbox.scenario("no response, and no lookup at first")
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(sell_at_terminals(sandbox, gateway))
            await sandbox.await_call()
            yield (
                sandbox,
                {
                    **PAGES,
                    "record": f"/records/transactions/{payment_id}",
                    "invoice": f"/quickinvoicepay/{invoice_id}",
                    "paylink": f"/?paylink_id={paylink_id}",
                    "report": report.as_uri(),
                },
            )
            waiting.cancel()
    folder.cleanup()


async def migrate(sandbox: Sandbox, folder: Path) -> Path:
    """Migrate the file of the tutorial, and return its report."""
    text = TUTORIAL.read_text(encoding="utf-8")
    (export, *_), (columns,) = (
        re.findall(rf"^```{language}\n(.+?)^```", text, re.MULTILINE | re.DOTALL)
        for language in ("python", "toml")
    )
    (folder / "export.py").write_text(export, encoding="utf-8")
    (folder / "cards.toml").write_text(columns, encoding="utf-8")
    options = "--columns cards.toml --encoding cp1252 --report report.html"
    for command in (
        "export.py",
        f"-m gateway_async.cli migrate cards.csv {options}",
    ):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command.split(),
            cwd=folder,
            env=os.environ | sandbox.environment(),
            stdout=asyncio.subprocess.DEVNULL,
        )
        await process.wait()
    return folder / "report.html"


async def listen(sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """Ask for the postbacks of payments."""
    config = PostbackConfigCreate(
        location_id=sandbox.location_id,
        product_transaction_id=sandbox.cc_product_transaction_id,
        resource="transaction",
        url="http://127.0.0.1:8000/postbacks",
        on_create=True,
        on_update=True,
        number_of_attempts=3,
        attempt_interval=300,
    )
    await gateway.postback_configs.create(config)


async def pay(gateway: AsyncGateway) -> str:
    """Store a card and charge it; return the id of a payment."""
    await gateway.contacts.create(
        ContactCreate(last_name="Lovelace", first_name="Ada", email="ada@example.test")
    )
    vault = await gateway.account_vaults.create(
        CardVaultCreate(account_number=CARD, exp_date="1230")
    )
    sales = [
        await gateway.transactions.create(
            TransactionCreate(
                action="sale",
                transaction_amount=amount,
                account_vault_id=vault.id,
                transaction_api_id=f"order-{order}",
            )
        )
        for amount, order in (("42.00", "1001"), ("6.16", "1002"), ("118.40", "1003"))
    ]
    await gateway.transactions.refund(
        sales[0].id, "12.00", transaction_api_id="refund-1001"
    )
    with suppress(GatewayError):
        await gateway.contacts.get("0" * 24)
    return sales[0].id


async def invoice(sandbox: Sandbox, gateway: AsyncGateway) -> tuple[str, str]:
    """Send an invoice and a paylink, and return their ids."""
    bill = QuickInvoiceCreate(
        title="Piano lessons, November",
        due_date=date(2030, 12, 31),
        item_list={"Four lessons": "160.00", "Sheet music": "24.50"},
        email="ada@example.test",
        send_email=True,
        allow_partial_pay=True,
        note="Thank you, and see you on Monday.",
        cc_product_transaction_id=sandbox.cc_product_transaction_id,
        ach_product_transaction_id=sandbox.ach_product_transaction_id,
    )
    made = await gateway.quick_invoices.create(bill)
    link = PaylinkCreate(
        description="Concert ticket",
        amount_due="35.00",
        contact_id=sandbox.contact_id,
        email="ada@example.test",
    )
    return made.id, (await gateway.paylinks.create(link)).id


async def sell_at_terminals(sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """Let two sales wait at terminals."""
    async with asyncio.TaskGroup() as tasks:
        for title, amount in (("Bar", "12.50"), ("Terrace", "64.00")):
            sale = RouterTransactionCreate(
                action="sale",
                terminal_id=sandbox.add_terminal(title),
                transaction_amount=amount,
            )
            tasks.create_task(gateway.router_transactions.create(sale))
        first = RouterTransactionCreate(
            action="sale", terminal_id=sandbox.terminal_id, transaction_amount="8.75"
        )
        await gateway.router_transactions.create(first)


async def take(browser: Browser, base_url: str, name: str, path: str) -> None:
    """Take the pictures of a page."""
    for width, height in SIZES.items():
        for scheme in SCHEMES:
            page = await browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            await page.goto(urljoin(base_url, path))
            if path.startswith("/reference"):
                await page.locator(".opblock-tag").first.wait_for()
            if path == PAGES["operation"]:
                await page.get_by_role("button", name="Execute").click()
                await page.locator(".live-responses-table").wait_for()
                await page.wait_for_timeout(3000)  # until the viewer has scrolled
            picture = Image.open(io.BytesIO(await page.screenshot()))
            picture.quantize(COLORS).save(
                FOLDER / f"{name}-{width}-{scheme}.png", optimize=True
            )
            await page.close()


async def main() -> None:
    """Take the pictures of all pages, or of those that the arguments name."""
    FOLDER.mkdir(exist_ok=True)
    async with busy_sandbox() as (sandbox, pages), async_playwright() as playwright:
        chromium = os.environ.get("GATEWAY_TEST_CHROMIUM")
        browser = await playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        for name in sys.argv[1:] or pages:
            await take(browser, sandbox.base_url, name, pages[name])


if __name__ == "__main__":
    asyncio.run(main())
