"""The decimal context of a program changes no amount: neither at the client nor at the sandbox."""

import decimal
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gateway_async import AsyncGateway, QuickInvoiceCreate, SqliteLedger, Transaction, TransactionStatus
from gateway_async.hosted_forms import compare_form_result
from gateway_async.sandbox import Sandbox
from tests.support.sales import sale

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

CONTEXTS = {
    "four digits": decimal.Context(prec=4),
    "six digits, always up": decimal.Context(prec=6, rounding=decimal.ROUND_UP),
    "inexact results are errors": decimal.Context(prec=4, traps=[decimal.Inexact, decimal.Rounded]),
    "no error for an invalid text": decimal.Context(prec=4, traps=[]),
}
FIELDS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")


@pytest.fixture(params=CONTEXTS.values(), ids=[*CONTEXTS], autouse=True)
def context(request: pytest.FixtureRequest) -> Iterator[decimal.Context]:
    """A context of this thread, and of every thread that starts."""
    usual = decimal.DefaultContext.copy()
    with decimal.localcontext(request.param) as own:
        for name in FIELDS:
            setattr(decimal.DefaultContext, name, getattr(own, name))
        try:
            yield own
        finally:
            for name in FIELDS:
                setattr(decimal.DefaultContext, name, getattr(usual, name))


async def pay(gateway: AsyncGateway, action: Any, amount: str, **fields: Any) -> Transaction:
    """Charge or reserve an amount."""
    return await gateway.transactions.create(sale(None, amount, action, **fields))


async def test_payments(gateway: AsyncGateway) -> None:
    """A sale with surcharge and tax, a tip, a capture for less, an increment and a refund are exact."""
    sale = await pay(gateway, "sale", "12345.64", surcharge_amount="123.45", tax="1000.01")
    assert sale.transaction_amount == Decimal("12345.64")
    tipped = await gateway.transactions.tip_adjust(sale.id, "10.11")
    again = await gateway.transactions.tip_adjust(sale.id, Decimal("1000.22"))
    assert [each.transaction_amount for each in (tipped, again)] == [Decimal("12355.75"), Decimal("13345.86")]
    held = await pay(gateway, "authonly", "12345.64")
    raised = await gateway.transactions.increment(held.id, "23456.78")
    captured = await gateway.transactions.complete(held.id, "23456.77")
    assert [each.transaction_amount for each in (raised, captured)] == [Decimal("23456.78"), Decimal("23456.77")]
    refund = await gateway.transactions.refund(held.id)
    assert refund.transaction_amount == Decimal("23456.77")


async def test_invoice(sandbox: Sandbox, gateway: AsyncGateway) -> None:
    """The sandbox adds up the items, and subtracts what was paid."""
    items = {"Tea": Decimal("12345.64"), "Scones": Decimal("0.37")}
    new = QuickInvoiceCreate(title="Tea", due_date=date(2030, 1, 1), item_list=items, allow_partial_pay=True)
    invoice = await gateway.quick_invoices.create(new)
    sandbox.pay_quick_invoice(invoice.id, "2345.68")
    paid = await gateway.quick_invoices.get(invoice.id)
    assert (paid.item_list, paid.amount_due, paid.remaining_balance) == (
        items,
        Decimal("12346.01"),
        Decimal("10000.33"),
    )


async def test_reconciliation(sandbox: Sandbox, tmp_path: Path) -> None:
    """The totals of a ledger, of the gateway and of a batch are exact."""
    async with sandbox.gateway(ledger=SqliteLedger(tmp_path / "ledger.db")) as gateway:
        first = await pay(gateway, "sale", "12345.64")
        await pay(gateway, "sale", "12345.67")
        await gateway.transactions.refund(first.id, "2345.67")
        found = await gateway.reconcile(datetime.now(UTC) - timedelta(hours=1))
    (batch,) = found.batches
    for totals in (found.ledger, found.gateway, batch.payments):
        assert (str(totals.charged), str(totals.refunded)) == ("24691.31", "2345.67")
    assert found.agrees


async def test_hosted_form() -> None:
    """A debit card's payment is lower by the surcharge that was asked for."""
    asked = {"action": "sale", "transaction_amount": "12345.64", "surcharge_amount": "0.31"}
    paid = Transaction(id="1", status_id=TransactionStatus.APPROVED, transaction_amount=Decimal("12345.33"))
    assert compare_form_result(asked, paid) == ()
