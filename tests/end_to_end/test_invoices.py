"""An invoice from its making to its payment, with files and payments from elsewhere: the SDK against the sandbox."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gateway_async import (
    ApiId,
    AsyncGateway,
    Attachment,
    NotFoundError,
    PaymentStatus,
    QuickInvoiceCreate,
    QuickInvoiceStatus,
    QuickInvoiceUpdate,
    RecordDeletedError,
    ValidationError,
)
from tests.support.sales import sale

pytestmark = pytest.mark.anyio


def lunch(**fields: Any) -> QuickInvoiceCreate:
    """Tea and cake, due in a far year."""
    given: dict[str, Any] = {
        "title": "Lunch",
        "due_date": date(2039, 12, 1),
        "item_list": {"Tea": Decimal("2.50"), "Crème brûlée": 4},
        "email": "jo@example.test",
    }
    return QuickInvoiceCreate(**{**given, **fields})


async def test_invoice(gateway: AsyncGateway) -> None:
    """Create, read by both ids, list, change, close, reopen, delete; and then it is gone."""
    invoices = gateway.quick_invoices
    made = await invoices.create(lunch(quick_invoice_api_id="lunch-1", allow_partial_pay=True, tags=["noon"]))
    assert (made.amount_due, made.remaining_balance, made.is_closed) == (Decimal("6.50"), Decimal("6.50"), False)
    assert made.item_list == {"Tea": Decimal("2.50"), "Crème brûlée": Decimal(4)}
    assert (made.payment_status_id, made.allow_partial_pay, made.is_active) == (PaymentStatus.UNPAID, True, True)
    assert (await invoices.get(made.id)).id == (await invoices.get(ApiId("lunch-1"))).id == made.id
    changed = await invoices.update(ApiId("lunch-1"), QuickInvoiceUpdate(title="Late lunch", item_list={"Tea": "3.00"}))
    assert (changed.title, changed.amount_due) == ("Late lunch", Decimal(3))
    assert [invoice.id async for invoice in invoices.list({"status_id": [1]}, sort="-created_ts")] == [made.id]
    closed = await invoices.update(made.id, QuickInvoiceUpdate(status_id=QuickInvoiceStatus.CLOSED))
    assert closed.is_closed
    with pytest.raises(ValidationError):
        await invoices.update(made.id, QuickInvoiceUpdate(note="too late"))
    assert not (await invoices.reopen(ApiId("lunch-1"))).is_closed
    await invoices.resend(made.id, sms=False)
    await invoices.delete(made.id)
    with pytest.raises(RecordDeletedError):
        await invoices.get(made.id)


async def test_added_payment(gateway: AsyncGateway) -> None:
    """A sale at the till is put on the invoice, and taken off again."""
    made = await gateway.quick_invoices.create(lunch(allow_partial_pay=True))
    paid = await gateway.transactions.create(sale(amount="2.50"))
    part = await gateway.quick_invoices.add_transaction(made.id, paid.id)
    assert (part.payment_status_id, part.remaining_balance) == (PaymentStatus.PARTIALLY_PAID, Decimal(4))
    assert [transaction.id for transaction in part.transactions or ()] == [paid.id]
    assert (await gateway.transactions.get(paid.id)).quick_invoice_id == made.id
    again = await gateway.quick_invoices.remove_transaction(ApiId(made.quick_invoice_api_id or ""), paid.id)
    assert (again.payment_status_id, again.remaining_balance, again.transactions) == (
        PaymentStatus.UNPAID,
        Decimal("6.5"),
        (),
    )


async def test_files(gateway: AsyncGateway, tmp_path: Path) -> None:
    """A file is added with the invoice and afterwards, and removed again."""
    invoices = gateway.quick_invoices
    path = tmp_path / "menu.txt"
    path.write_bytes(b"tea, cake")
    made = await invoices.create(lunch(tags=["noon"]), [Attachment("a.pdf", b"%PDF"), Attachment("menu.txt", path)])
    assert made.item_list == {"Tea": Decimal("2.50"), "Crème brûlée": Decimal(4)}
    attached = await invoices.attach_file(made.id, Attachment("c.bin", b"\x00\xff"))
    assert attached is not None
    files = (await invoices.get(made.id, expand=("files",))).files or ()
    assert len(files) == 3
    await invoices.remove_file(made.id, attached.id or "")
    left = (await invoices.get(made.id, expand=("files",))).files or ()
    assert [file.id for file in left] == [file.id for file in files if file.id != attached.id]
    with pytest.raises(NotFoundError):
        await invoices.remove_file(made.id, attached.id or "")
