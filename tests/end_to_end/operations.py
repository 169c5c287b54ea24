"""Writes for faults to strike: each prepares what it needs, and says what the records show before and after it."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

from gateway_async import (
    AccountVault,
    ApiId,
    AsyncGateway,
    Attachment,
    CardVaultCreate,
    PaylinkCreate,
    QuickInvoice,
    QuickInvoiceCreate,
    QuickInvoiceUpdate,
    Recurring,
    RecurringCreate,
    RouterAccountVaultCreate,
    TagCreate,
    TagUpdate,
    Transaction,
)
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import FAULTS
from tests.support.sales import CARD, NEW_CARD, monthly, sale, sale_at

NOT_EXECUTED = ("reset_before_commit", "error_before_commit", "rate_limit", "unavailable")
"""Faults of requests that arrive and are not executed."""

FILE = Attachment("a.bin", b"x" * 200_000)
ENDLESS = ("silence", "drip")
EXECUTED = tuple(fault for fault in FAULTS if fault not in (*NOT_EXECUTED, *ENDLESS, "refuse"))
"""Faults of the responses to requests that are executed; these responses end."""


class Operation(NamedTuple):
    """A write.

    Attributes:
        request: the request that a fault strikes.
        write: sends it, and returns the record in the response.
        read: reads the record; None if there is none.
        after: the fields that both records show.
        before: what a write that cannot be repeated leaves if it was not executed: fields, or no record.
        is_repeated: whether it is sent again if it was not executed; otherwise its outcome stays unknown.
        faults: those that it can meet.
    """

    request: str
    write: Callable[[], Awaitable[Any]]
    read: Callable[[], Awaitable[Any]]
    after: Mapping[str, Any]
    before: Mapping[str, Any] | None = None
    is_repeated: bool = True
    faults: Collection[str] = (*EXECUTED, *NOT_EXECUTED, *ENDLESS)


async def only(pages: Any, *others: str) -> Any:
    """Return the only record of a list, besides others; None if there is none."""
    found = [each async for each in pages if each.id not in others]
    assert len(found) < 2, "it exists twice"
    return found[0] if found else None


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


async def _invoice(gateway: AsyncGateway, files: tuple[Attachment, ...] = ()) -> QuickInvoice:
    """Create an invoice over twenty, which can be paid in parts."""
    items = {"Tea": Decimal(20)}
    new = QuickInvoiceCreate(title="Tea", due_date=date(2039, 12, 1), item_list=items, allow_partial_pay=True)
    return await gateway.quick_invoices.create(new, files)


async def reopen(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, made = gateway.quick_invoices, await _invoice(gateway)
    await to.update(made.id, QuickInvoiceUpdate(status_id=0))
    api_id = made.quick_invoice_api_id or ""
    request = f"POST /v2/quickinvoices/{api_id}/reopen"
    return Operation(request, lambda: to.reopen(ApiId(api_id)), lambda: to.get(made.id), {"is_closed": False})


async def add_payment(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, made = gateway.quick_invoices, await _invoice(gateway)
    paid = await gateway.transactions.create(sale(amount="10.00"))
    request, after = f"PUT /v2/quickinvoices/{made.id}/addTransaction", {"remaining_balance": 10}
    return Operation(request, lambda: to.add_transaction(made.id, paid.id), lambda: to.get(made.id), after)


async def remove_payment(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, made = gateway.quick_invoices, await _invoice(gateway)
    paid = await gateway.transactions.create(sale(amount="10.00"))
    await to.add_transaction(made.id, paid.id)
    api_id = made.quick_invoice_api_id or ""
    request, after = f"PUT /v2/quickinvoices/{api_id}/removeTransaction", {"remaining_balance": 20}
    return Operation(request, lambda: to.remove_transaction(ApiId(api_id), paid.id), lambda: to.get(made.id), after)


def _with_file_count(invoice: QuickInvoice) -> Any:
    return SimpleNamespace(title=invoice.title, files=len(invoice.files or ()))


async def remove_file(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, made = gateway.quick_invoices, await _invoice(gateway, (FILE,))
    (file,) = (await to.get(made.id, expand=("files",))).files or ()

    async def read() -> Any:
        return _with_file_count(await to.get(made.id, expand=("files",)))

    async def write() -> Any:
        await to.remove_file(made.id, file.id or "")
        return await read()

    return Operation(f"DELETE /v2/quickinvoices/{made.id}/files/{file.id}", write, read, {"files": 0})


# --- changes of recurring payment plans


async def _plan(gateway: AsyncGateway) -> tuple[RecurringCreate, Recurring]:
    """Create a plan; return what was sent and the plan."""
    vault = await gateway.account_vaults.create(NEW_CARD)
    new = monthly(account_vault_id=vault.id)
    return new, await gateway.recurrings.create(new)


async def hold(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, (_new, plan) = gateway.recurrings, await _plan(gateway)
    request = f"POST /v2/recurrings/{plan.id}/placeOnHold"
    return Operation(request, lambda: to.hold(plan.id), lambda: to.get(plan.id), {"status": "on hold"})


async def activate(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, (_new, plan) = gateway.recurrings, await _plan(gateway)
    await to.hold(plan.id)
    request = f"POST /v2/recurrings/{plan.id}/activate"
    return Operation(request, lambda: to.activate(plan.id), lambda: to.get(plan.id), {"status": "active"})


async def skip(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, (_new, plan) = gateway.recurrings, await _plan(gateway)
    after, before = ({"next_run_date": day} for day in (date(2031, 4, 23), plan.next_run_date))
    request = f"POST /v2/recurrings/{plan.id}/skipPayment"
    return Operation(request, lambda: to.skip(plan.id, 2), lambda: to.get(plan.id), after, before, is_repeated=False)


async def defer(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, (_new, plan) = gateway.recurrings, await _plan(gateway)
    after = {"next_run_date": date(2031, 5, 23), "end_date": date(2032, 5, 22)}
    before = {"next_run_date": plan.next_run_date, "end_date": plan.end_date}
    request = f"POST /v2/recurrings/{plan.id}/deferPayment"
    return Operation(request, lambda: to.defer(plan.id, 3), lambda: to.get(plan.id), after, before, is_repeated=False)


async def rename_tag(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, tag = gateway.tags, await gateway.tags.create(TagCreate(title="Rent"))
    change, request = TagUpdate(title="Lease"), f"PUT /v2/tags/{tag.id}"
    return Operation(request, lambda: to.update(tag.id, change), lambda: to.get(tag.id), {"title": "Lease"})


# --- creates, under ids that the client generates or has from its caller


async def sell(gateway: AsyncGateway, _: Sandbox) -> Operation:
    """The id of an earlier sale contains that of the next one."""
    await gateway.transactions.create(sale("order-11"))
    earlier = [each.id async for each in gateway.transactions.list()]
    after = {"approved": True, "transaction_api_id": "order-1"}
    return Operation(
        "POST /v2/transactions",
        lambda: gateway.transactions.create(sale("order-1")),
        lambda: only(gateway.transactions.list(), *earlier),
        after,
    )


async def sell_unnamed(gateway: AsyncGateway, _: Sandbox) -> Operation:
    return Operation(
        "POST /v2/transactions",
        lambda: gateway.transactions.create(sale()),
        lambda: only(gateway.transactions.list()),
        {"approved": True},
    )


async def sell_untyped(gateway: AsyncGateway, _: Sandbox) -> Operation:
    untyped = gateway.resource("transactions", name="transaction", api_id="transaction_api_id")
    content = {"action": "sale", "payment_method": "cc", "transaction_amount": "12.50"}

    async def write() -> Transaction:
        return await gateway.transactions.get(str((await untyped.create(content | CARD)).id))

    return Operation(
        "POST /v2/transactions", write, lambda: only(gateway.transactions.list()), {"transaction_amount": 12.5}
    )


async def refund(gateway: AsyncGateway, _: Sandbox) -> Operation:
    paid = await gateway.transactions.create(sale())
    return Operation(
        "POST /v2/transactions",
        lambda: gateway.transactions.refund(paid.id, 5),
        lambda: only(gateway.transactions.list(), paid.id),
        {"previous_transaction_id": paid.id, "transaction_amount": 5},
    )


async def sell_at_terminal(gateway: AsyncGateway, box: Sandbox) -> Operation:
    """It is sent once, whatever happens."""
    return Operation(
        "POST /v2/routertransactions",
        lambda: gateway.router_transactions.create(sale_at(box.terminal_id)),
        lambda: only(gateway.transactions.list({"terminal_id": box.terminal_id})),
        {"approved": True},
        faults=EXECUTED,
    )


async def store(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to, new = gateway.account_vaults, CardVaultCreate(title="Mine", **CARD)
    read = partial(to.list, {"title": "Mine"})
    return Operation("POST /v2/accountvaults", lambda: to.create(new), lambda: only(read()), {"last_four": "1111"})


async def store_at_terminal(gateway: AsyncGateway, box: Sandbox) -> Operation:
    """Of the contact's cards, the new one is the result."""
    new = RouterAccountVaultCreate(terminal_id=box.terminal_id, contact_id=box.contact_id)
    earlier: AccountVault = await gateway.router_account_vaults.create(new)
    vaults = gateway.account_vaults
    return Operation(
        "POST /v2/routeraccountvaults",
        lambda: gateway.router_account_vaults.create(new),
        lambda: only(vaults.list({"contact_id": box.contact_id}), earlier.id),
        {"contact_id": box.contact_id, "last_four": "1111"},
        faults=EXECUTED,
    )


async def create_plan(gateway: AsyncGateway, _: Sandbox) -> Operation:
    """The new plan is found beside an equal one."""
    to, (new, plan) = gateway.recurrings, await _plan(gateway)
    filters = {"account_vault_id": plan.account_vault_id}
    after = {"account_vault_id": plan.account_vault_id, "next_run_date": date(2031, 2, 23)}
    return Operation(
        "POST /v2/recurrings", lambda: to.create(new), lambda: only(to.list(filters), plan.id), after, is_repeated=False
    )


async def create_paylink(gateway: AsyncGateway, _: Sandbox) -> Operation:
    to = gateway.paylinks
    new = PaylinkCreate(amount_due=5)
    return Operation("POST /v2/paylinks", lambda: to.create(new), lambda: only(to.list()), {"amount_due": 5})


async def create_invoice(gateway: AsyncGateway, _: Sandbox) -> Operation:
    """It has its file, whichever attempt made it."""

    async def read() -> Any:
        return _with_file_count(await only(gateway.quick_invoices.list(expand=("files",))))

    async def write() -> Any:
        await _invoice(gateway, (FILE,))
        return await read()

    return Operation("POST /v2/quickinvoices", write, read, {"title": "Tea", "files": 1})


async def accept_terms(gateway: AsyncGateway, box: Sandbox) -> Operation:
    """The record of device terms spells the integrator id in another way."""
    terms = gateway.resource("deviceterms", name="deviceterm", api_id="device_terms_api_id")
    new = {"terminal_id": box.terminal_id, "terms_conditions": "Tea is served at five.", "require_signature": True}
    return Operation("POST /v2/deviceterms", lambda: terms.create(new), lambda: only(terms.list()), {}, faults=EXECUTED)


Make = Callable[[AsyncGateway, Sandbox], Awaitable[Operation]]

_NO_LOCATION: Mapping[str, Any] = {"location_id": None}

GROUPS: Mapping[str, Sequence[tuple[Mapping[str, Any], Sequence[Make]]]] = {
    "payments": [({}, [void, capture, increment, tip, edit])],
    "records": [({}, [reopen, add_payment, remove_payment, remove_file, hold, activate, skip, defer, rename_tag])],
    "creates": [
        ({}, [store, store_at_terminal, create_plan, create_paylink, create_invoice, accept_terms, sell_at_terminal])
    ],
    "sales": [
        ({}, [settle, sell]),
        *(({}, [create]) for create in (sell_unnamed, sell_untyped, refund)),
        *((_NO_LOCATION, [create]) for create in (sell, sell_unnamed, sell_at_terminal)),
    ],
}
"""Options of a client, and operations that can meet faults at one sandbox without disturbing each other."""
