"""Creates for faults to strike, under ids that the client generates or has from its caller."""

from datetime import date
from functools import partial
from typing import Any

from gateway_async import (
    AccountVault,
    AsyncGateway,
    CardVaultCreate,
    PaylinkCreate,
    RouterAccountVaultCreate,
    Transaction,
)
from gateway_async.sandbox import Sandbox
from tests.support.sales import CARD, sale, sale_at

from .struck_changes import FILE, new_invoice, new_plan, with_file_count
from .struck_writes import EXECUTED, Operation, only


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
    to, (new, plan) = gateway.recurrings, await new_plan(gateway)
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
        found = await only(gateway.quick_invoices.list())
        return found and await with_file_count(gateway, found.id)

    async def write() -> Any:
        made = await new_invoice(gateway, (FILE,))
        return await with_file_count(gateway, made.id)

    return Operation("POST /v2/quickinvoices", write, read, {"title": "Tea", "files": 1})


async def accept_terms(gateway: AsyncGateway, box: Sandbox) -> Operation:
    """The record of device terms spells the integrator id in another way."""
    terms = gateway.resource("deviceterms", name="deviceterm", api_id="device_terms_api_id")
    new = {"terminal_id": box.terminal_id, "terms_conditions": "Tea is served at five.", "require_signature": True}
    return Operation("POST /v2/deviceterms", lambda: terms.create(new), lambda: only(terms.list()), {}, faults=EXECUTED)
