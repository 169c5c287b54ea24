"""Changes of payments, invoices, plans and tags for faults to strike."""

from collections.abc import Awaitable, Callable
from datetime import date
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any

from gateway_async import (
    ApiId,
    AsyncGateway,
    Attachment,
    QuickInvoice,
    QuickInvoiceCreate,
    QuickInvoiceUpdate,
    Recurring,
    RecurringCreate,
    TagCreate,
    TagUpdate,
    Transaction,
)
from gateway_async.sandbox import Sandbox
from tests.support.sales import NEW_CARD, monthly, sale

from .struck_writes import Operation, only

FILE = Attachment("a.bin", b"x" * 200_000)


# --- changes of payments


def _change(gateway: AsyncGateway, made: Transaction, change: Callable[[], Awaitable[Any]], **after: Any) -> Operation:
    return Operation(f"PUT /v2/transactions/{made.id}", change, lambda: gateway.transactions.get(made.id), after)


async def void(gateway: AsyncGateway, _: Sandbox) -> Operation:
    made = await gateway.transactions.create(sale())
    return _change(gateway, made, lambda: gateway.transactions.void(made.id), status_id=201, transaction_amount=0)


async def capture(gateway: AsyncGateway, _: Sandbox) -> Operation:
    held = await gateway.transactions.create(sale(action="authonly"))
    complete = gateway.transactions.complete
    return _change(gateway, held, lambda: complete(held.id, "5.00"), status_id=101, transaction_amount=5)


async def increment(gateway: AsyncGateway, _: Sandbox) -> Operation:
    held = await gateway.transactions.create(sale(action="authonly"))
    raised = gateway.transactions.increment
    return _change(gateway, held, lambda: raised(held.id, "15.00"), status_id=102, transaction_amount=15)


async def tip(gateway: AsyncGateway, _: Sandbox) -> Operation:
    """Tips that are sent twice do not add up."""
    made = await gateway.transactions.create(sale())
    adjust, after = gateway.transactions.tip_adjust, {"tip_amount": 2, "transaction_amount": Decimal("14.50")}
    return _change(gateway, made, lambda: adjust(made.id, "2.00"), **after)


async def edit(gateway: AsyncGateway, box: Sandbox) -> Operation:
    made = await gateway.transactions.create(sale())
    after: dict[str, Any] = {"description": "Tea", "contact_id": box.contact_id}
    return _change(gateway, made, lambda: gateway.transactions.edit(made.id, **after), **after, transaction_amount=12.5)


async def settle(gateway: AsyncGateway, _: Sandbox) -> Operation:
    await gateway.transactions.create(sale())
    batches = gateway.transaction_batches
    batch = await only(batches.list({"is_open": True}))
    request = f"POST /v2/transactionbatches/{batch.id}/settle"
    return Operation(request, lambda: batches.settle(batch.id), lambda: batches.get(batch.id), {"is_open": False})


# --- changes of invoices


async def new_invoice(gateway: AsyncGateway, files: tuple[Attachment, ...] = ()) -> QuickInvoice:
    """Create an invoice over twenty, which can be paid in parts."""
    items = {"Tea": Decimal(20)}
    new = QuickInvoiceCreate(title="Tea", due_date=date(2039, 12, 1), item_list=items, allow_partial_pay=True)
    return await gateway.quick_invoices.create(new, files)


def by_id(invoice: QuickInvoice) -> str:
    return invoice.id


def by_api_id(invoice: QuickInvoice) -> ApiId:
    return ApiId(invoice.quick_invoice_api_id or "")


By = Callable[[QuickInvoice], str | ApiId]
"""Which id of an invoice a call gets."""


def _path(id: str | ApiId) -> str:
    return f"/v2/quickinvoices/{id.value if isinstance(id, ApiId) else id}"


async def reopen(gateway: AsyncGateway, _: Sandbox, by: By) -> Operation:
    to, made = gateway.quick_invoices, await new_invoice(gateway)
    await to.update(made.id, QuickInvoiceUpdate(status_id=0))
    request, id = f"POST {_path(by(made))}/reopen", by(made)
    return Operation(request, lambda: to.reopen(id), lambda: to.get(made.id), {"is_closed": False})


async def add_payment(gateway: AsyncGateway, _: Sandbox, by: By) -> Operation:
    to, made = gateway.quick_invoices, await new_invoice(gateway)
    paid = await gateway.transactions.create(sale(amount="10.00"))
    request, id, after = f"PUT {_path(by(made))}/addTransaction", by(made), {"remaining_balance": 10}
    return Operation(request, lambda: to.add_transaction(id, paid.id), lambda: to.get(made.id), after)


async def remove_payment(gateway: AsyncGateway, _: Sandbox, by: By) -> Operation:
    to, made = gateway.quick_invoices, await new_invoice(gateway)
    paid = await gateway.transactions.create(sale(amount="10.00"))
    await to.add_transaction(made.id, paid.id)
    request, id, after = f"PUT {_path(by(made))}/removeTransaction", by(made), {"remaining_balance": 20}
    return Operation(request, lambda: to.remove_transaction(id, paid.id), lambda: to.get(made.id), after)


async def with_file_count(gateway: AsyncGateway, id: str) -> Any:
    invoice = await gateway.quick_invoices.get(id, expand=("files",))
    return SimpleNamespace(id=invoice.id, title=invoice.title, files=len(invoice.files or ()))


async def remove_file(gateway: AsyncGateway, _: Sandbox, by: By) -> Operation:
    to, made = gateway.quick_invoices, await new_invoice(gateway, (FILE,))
    (file,) = (await to.get(made.id, expand=("files",))).files or ()
    read = partial(with_file_count, gateway, made.id)

    async def write() -> Any:
        await to.remove_file(by(made), file.id or "")
        return await read()

    return Operation(f"DELETE {_path(by(made))}/files/{file.id}", write, read, {"files": 0})


# --- changes of recurring payment plans


async def new_plan(gateway: AsyncGateway) -> tuple[RecurringCreate, Recurring]:
    """Create a plan; return what was sent and the plan."""
    vault = await gateway.account_vaults.create(NEW_CARD)
    new = monthly(account_vault_id=vault.id)
    return new, await gateway.recurrings.create(new)


async def hold(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, (_new, plan) = gateway.recurrings, await new_plan(gateway)
    request = f"POST /v2/recurrings/{plan.id}/placeOnHold"
    return Operation(request, lambda: to.hold(plan.id), lambda: to.get(plan.id), {"status": "on hold"})


async def activate(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, (_new, plan) = gateway.recurrings, await new_plan(gateway)
    await to.hold(plan.id)
    request = f"POST /v2/recurrings/{plan.id}/activate"
    return Operation(request, lambda: to.activate(plan.id), lambda: to.get(plan.id), {"status": "active"})


async def skip(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, (_new, plan) = gateway.recurrings, await new_plan(gateway)
    after, before = ({"next_run_date": day} for day in (date(2031, 4, 23), plan.next_run_date))
    request = f"POST /v2/recurrings/{plan.id}/skipPayment"
    return Operation(request, lambda: to.skip(plan.id, 2), lambda: to.get(plan.id), after, before, is_repeated=False)


async def defer(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, (_new, plan) = gateway.recurrings, await new_plan(gateway)
    after = {"next_run_date": date(2031, 5, 23), "end_date": date(2032, 5, 22)}
    before = {"next_run_date": plan.next_run_date, "end_date": plan.end_date}
    request = f"POST /v2/recurrings/{plan.id}/deferPayment"
    return Operation(request, lambda: to.defer(plan.id, 3), lambda: to.get(plan.id), after, before, is_repeated=False)


async def rename_tag(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, tag = gateway.tags, await gateway.tags.create(TagCreate(title="Rent"))
    change, request = TagUpdate(title="Lease"), f"PUT /v2/tags/{tag.id}"
    return Operation(request, lambda: to.update(tag.id, change), lambda: to.get(tag.id), {"title": "Lease"})
