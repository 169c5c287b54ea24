"""Every misfortune the sandbox can cause, met by a sale: money moves once, and the caller knows."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from datetime import date
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import anyio
import httpx
import pytest

from gateway_async import (
    AccountVault,
    AsyncGateway,
    CardVaultCreate,
    NotSentError,
    OutcomeUnknownError,
    QuickInvoice,
    QuickInvoiceCreate,
    QuickInvoiceUpdate,
    RouterAccountVaultCreate,
    RouterTransactionCreate,
    SendStage,
    ServerError,
    TagCreate,
    Transaction,
    TransactionCreate,
)
from gateway_async.observe import Event, OutcomeLookedUp
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import FAULTS
from tests.support.outcomes import resolved

pytestmark = pytest.mark.anyio

SALE = TransactionCreate(
    action="sale",
    transaction_amount="12.50",
    account_number="4111111111111111",
    exp_date="1230",
    transaction_api_id="once",
)
CARD: dict[str, Any] = {"account_number": "4111111111111111", "exp_date": "1230"}
CARRIED_OUT = ["reset_after_commit", "close_after_commit", "error_after_commit", "cut_body", "wrong_length", "garbage"]
ALSO_CARRIED_OUT = ["html", "empty", "wrong_response", "duplicate_response", "delay"]
NOT_CARRIED_OUT = ["reset_before_commit", "error_before_commit", "rate_limit", "unavailable"]


@pytest.mark.parametrize("fault", [*CARRIED_OUT, *ALSO_CARRIED_OUT, *NOT_CARRIED_OUT])
async def test_sale(sandbox: Sandbox, fault: str) -> None:
    """After every fault of the first response, the caller gets the approved sale, charged once."""
    sandbox.fault("POST /v2/transactions", fault, seconds=0.1, retry_after=0.1)  # type: ignore[arg-type]
    async with sandbox.gateway() as gateway:
        transaction = await gateway.transactions.create(SALE)
        assert transaction.approved
        assert (await gateway.transactions.get(transaction.id)).transaction_api_id == "once"
    assert sandbox.ledger()["charged"] == {"once": 1}


@pytest.mark.parametrize("fault", ["silence", "drip"])
async def test_endless_response(sandbox: Sandbox, fault: str) -> None:
    """Neither silence nor a byte a second outlasts the deadline."""
    sandbox.fault("POST /v2/transactions", fault, seconds=0.5)  # type: ignore[arg-type]
    async with sandbox.gateway(timeout=3) as gateway:
        with anyio.fail_after(10):
            assert (await gateway.transactions.create(SALE)).approved
    assert sandbox.ledger()["charged"] == {"once": 1}


async def test_refused_port(sandbox: Sandbox) -> None:
    """A refused port is `NotSentError`: the till may try again."""
    async with sandbox.gateway(max_attempts=2) as gateway:
        sandbox.stop()
        with pytest.raises(NotSentError):
            await gateway.transactions.create(SALE)


async def test_gateway_down(sandbox: Sandbox) -> None:
    """A charge before the gateway went down is unknown; the error resolves itself once the gateway is back."""
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=1000)
    async with sandbox.gateway(timeout=1) as gateway:
        with pytest.raises(OutcomeUnknownError) as caught:
            await gateway.transactions.create(SALE)
        sandbox.clear_faults()
        assert (await resolved(caught.value, Transaction)).approved
    assert sandbox.ledger()["charged"] == {"once": 1}


async def test_vault(sandbox: Sandbox) -> None:
    """A vault whose response is cut off is found by its generated id, and stored once."""
    sandbox.fault("POST /v2/accountvaults", "close_after_commit")
    async with sandbox.gateway() as gateway:
        vault = await gateway.account_vaults.create(CardVaultCreate(account_number="4111111111111111", exp_date="1230"))
    assert sandbox.ledger()["stored"] == {vault.account_vault_api_id: 1}


async def test_terminal_sale(sandbox: Sandbox) -> None:
    """A sale whose response is cut off is looked up among the transactions and not sent again."""
    sandbox.fault("POST /v2/routertransactions", "close_after_commit")
    new = RouterTransactionCreate(action="sale", terminal_id=sandbox.terminal_id, transaction_amount="12.50")
    async with sandbox.gateway() as gateway:
        transaction = await gateway.router_transactions.create(new)
    assert transaction.approved
    assert sandbox.ledger()["charged"] == {transaction.transaction_api_id: 1}


@pytest.mark.parametrize("fault", [*CARRIED_OUT, *ALSO_CARRIED_OUT])
async def test_terminal_vault(sandbox: Sandbox, fault: str) -> None:
    """Of the contact's cards, the one that is new after the lost response is the result, and stored once."""
    sandbox.fault("POST /v2/routeraccountvaults", fault, seconds=0.1)  # type: ignore[arg-type]
    new = RouterAccountVaultCreate(terminal_id=sandbox.terminal_id, contact_id=sandbox.contact_id)
    async with sandbox.gateway() as gateway:
        before = await gateway.account_vaults.create(CardVaultCreate(contact_id=sandbox.contact_id, **CARD))
        stored = await gateway.router_account_vaults.create(new)
        vaults = [vault.id async for vault in gateway.account_vaults.list({"contact_id": sandbox.contact_id})]
    assert sorted(vaults) == sorted([before.id, stored.id])


async def test_foreign_card(sandbox_by_hand: Sandbox) -> None:
    """A card that an online shop stored meanwhile, under an id of its own, is not the terminal's."""
    box, stored = sandbox_by_hand, list[AccountVault]()
    new = RouterAccountVaultCreate(terminal_id=box.terminal_id, contact_id=box.contact_id)
    box.fault("POST /v2/routeraccountvaults", "close_after_commit")

    async def store() -> None:
        stored.append(await gateway.router_account_vaults.create(new))

    async with box.gateway() as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(store)
        await anyio.to_thread.run_sync(box.wait_for_call)
        await gateway.account_vaults.create(CardVaultCreate(contact_id=box.contact_id, **CARD))
        box.present(card="5555555555554444")
    assert [vault.last_four for vault in stored] == ["4444"]


async def test_two_cards(sandbox_by_hand: Sandbox) -> None:
    """When another till stored a card for the contact meanwhile, neither is chosen: the error names both."""
    box, errors = sandbox_by_hand, list[OutcomeUnknownError]()
    new = RouterAccountVaultCreate(terminal_id=box.terminal_id, contact_id=box.contact_id)
    box.fault("POST /v2/routeraccountvaults", "close_after_commit")

    async def store() -> None:
        with pytest.raises(OutcomeUnknownError) as caught:
            await gateway.router_account_vaults.create(new)
        errors.append(caught.value)

    other = box.add_terminal()
    async with box.gateway() as gateway, box.gateway() as other_till:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store)
            await anyio.to_thread.run_sync(box.wait_for_call)
            async with anyio.create_task_group() as elsewhere:
                there = RouterAccountVaultCreate(terminal_id=other, contact_id=box.contact_id)
                elsewhere.start_soon(other_till.router_account_vaults.create, there)
                await anyio.to_thread.run_sync(box.wait_for_call, other)
                box.present(other)
            box.present()
        ids = [vault.id async for vault in gateway.account_vaults.list({"contact_id": box.contact_id})]
        with pytest.raises(OutcomeUnknownError):
            await errors[0].resolve()
    assert len(ids) == 2
    assert all(each in str(errors[0]) for each in ids)


async def test_cancelled_sale(sandbox_by_hand: Sandbox) -> None:
    """The lookup after a task is cancelled while the customer pays tells observers the outcome."""
    box, events = sandbox_by_hand, list[Event]()
    new = RouterTransactionCreate(
        action="sale", terminal_id=box.terminal_id, transaction_amount="12.50", transaction_api_id="cancelled"
    )
    async with box.gateway(observers=[events.append]) as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.router_transactions.create, new)
        await box.await_call()
        box.fault("POST /v2/routertransactions", "silence")
        tasks.cancel_scope.cancel()
        box.present()
    (lookup,) = [event for event in events if isinstance(event, OutcomeLookedUp)]
    assert (lookup.api_id, lookup.outcome, lookup.cancelled) == ("cancelled", "found", True)
    assert box.ledger()["charged"] == {"cancelled": 1}


async def test_reads(sandbox: Sandbox) -> None:
    """Reads survive two faults in a row, and do not hide an error of the gateway's own."""
    async with sandbox.gateway() as gateway:
        sandbox.fault("GET /v2/contacts/{id}", "reset_before_commit")
        sandbox.fault("GET /v2/contacts/{id}", "unavailable", nth=2, retry_after=0)
        assert (await gateway.contacts.get(sandbox.contact_id)).id == sandbox.contact_id
        sandbox.fault("GET /v2/contacts/{id}", "error_before_commit")
        with pytest.raises(ServerError):
            await gateway.contacts.get(sandbox.contact_id)


@pytest.mark.parametrize(
    ("fault", "reached"),
    [
        ("reset_before_commit", SendStage.SENT),
        ("silence", SendStage.SENT),
        ("cut_body", SendStage.RESPONSE_TRUNCATED),
        ("html", SendStage.RESPONDED),
        ("error_after_commit", SendStage.RESPONDED),
    ],
)
async def test_unknown_stage(sandbox: Sandbox, fault: str, reached: SendStage) -> None:
    """An unknown outcome says how far the request got over a real connection; a new tag can never be looked up."""
    async with sandbox.gateway(timeout=1.5) as gateway:
        sandbox.fault("POST /v2/tags", fault)  # type: ignore[arg-type]
        with pytest.raises(OutcomeUnknownError) as caught:
            await gateway.tags.create(TagCreate(title="t"))
    assert (caught.value.reached, f"({reached})" in str(caught.value)) == (reached, True)


async def test_unsent_stage(sandbox: Sandbox) -> None:
    """A refused connection leaves nothing written; with a full pool no connection is tried."""
    sandbox.fault("GET /v2/contacts/{id}", "silence")
    async with sandbox.gateway(max_connections=1, timeout=1, max_attempts=1) as gateway:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gateway.contacts.get, sandbox.contact_id)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(NotSentError) as waited:
                await gateway.transactions.create(SALE)
            tasks.cancel_scope.cancel()
        sandbox.stop()
        with pytest.raises(NotSentError) as refused:
            await gateway.transactions.create(SALE)
    assert (waited.value.reached, refused.value.reached) == (SendStage.NOT_CONNECTED, SendStage.NOTHING_WRITTEN)


async def test_mixed_faults(sandbox: Sandbox) -> None:
    """Each fault occurs at random: no sale is doubled, none is lost, and every outcome is known at the end."""
    for number, fault in enumerate([*CARRIED_OUT, *ALSO_CARRIED_OUT, *NOT_CARRIED_OUT]):
        sandbox.fault("POST /v2/transactions", fault, probability=0.03, seed=number, seconds=0.05, retry_after=0.05)  # type: ignore[arg-type]
    outcomes: list[Transaction | None] = []
    async with sandbox.gateway(max_attempts=6, in_doubt_seconds=2) as gateway:  # the sandbox executes nothing later

        async def pay(number: int) -> None:
            new = TransactionCreate(
                action="sale",
                transaction_amount="1.00",
                account_number="4111111111111111",
                exp_date="1230",
                transaction_api_id=f"sale-{number}",
            )
            try:
                outcomes.append(await gateway.transactions.create(new))
            except OutcomeUnknownError as unknown:
                outcome = await unknown.resolve()
                assert outcome is None or isinstance(outcome, Transaction)
                outcomes.append(outcome)

        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(pay, number)
    charged = sandbox.ledger()["charged"]
    approved = {each.transaction_api_id for each in outcomes if each is not None and each.approved}
    assert set(charged.values()) == {1}
    assert approved == set(charged)
    assert len(outcomes) == 200


ARRIVING = [fault for fault in FAULTS if fault != "refuse"]
"""Every fault of a request that arrives."""


class Operation(NamedTuple):
    """Something that is done to a record.

    Attributes:
        request: the one that a fault strikes.
        done: does it; the record as the response has it.
        read: the record as it is read.
        wanted: the fields that both should show.
    """

    request: str
    done: Awaitable[Any]
    read: Awaitable[Any]
    wanted: dict[str, Any]


async def paid(gateway: AsyncGateway, action: Literal["sale", "authonly"] = "sale") -> Transaction:
    """A payment of ten."""
    return await gateway.transactions.create(TransactionCreate(action=action, transaction_amount="10.00", **CARD))


async def invoice_of(gateway: AsyncGateway) -> QuickInvoice:
    """An invoice over twenty, which can be paid in parts."""
    items = {"Tea": Decimal(20)}
    return await gateway.quick_invoices.create(
        QuickInvoiceCreate(title="Tea", due_date=date(2039, 12, 1), item_list=items, allow_partial_pay=True)
    )


async def voiding(gateway: AsyncGateway) -> Operation:
    """A sale is taken back."""
    to, made = gateway.transactions, await paid(gateway)
    wanted = {"status_id": 201, "transaction_amount": 0}
    return Operation(f"PUT /v2/transactions/{made.id}", to.void(made.id), to.get(made.id), wanted)


async def capturing(gateway: AsyncGateway) -> Operation:
    """An authorization is captured for half of it."""
    to, made = gateway.transactions, await paid(gateway, "authonly")
    wanted = {"status_id": 101, "transaction_amount": 5}
    return Operation(f"PUT /v2/transactions/{made.id}", to.complete(made.id, "5.00"), to.get(made.id), wanted)


async def raising(gateway: AsyncGateway) -> Operation:
    """An authorization is raised."""
    to, made = gateway.transactions, await paid(gateway, "authonly")
    wanted = {"status_id": 102, "transaction_amount": 15}
    return Operation(f"PUT /v2/transactions/{made.id}", to.increment(made.id, "15.00"), to.get(made.id), wanted)


async def reopening(gateway: AsyncGateway) -> Operation:
    """A closed invoice is opened again."""
    to, made = gateway.quick_invoices, await invoice_of(gateway)
    await to.update(made.id, QuickInvoiceUpdate(status_id=0))
    request = f"POST /v2/quickinvoices/{made.id}/reopen"
    return Operation(request, to.reopen(made.id), to.get(made.id), {"is_closed": False})


async def adding(gateway: AsyncGateway) -> Operation:
    """A sale counts towards an invoice."""
    to, made, sale = gateway.quick_invoices, await invoice_of(gateway), await paid(gateway)
    request = f"PUT /v2/quickinvoices/{made.id}/addTransaction"
    return Operation(request, to.add_transaction(made.id, sale.id), to.get(made.id), {"remaining_balance": 10})


async def removing(gateway: AsyncGateway) -> Operation:
    """A sale counts no more towards an invoice."""
    to, made, sale = gateway.quick_invoices, await invoice_of(gateway), await paid(gateway)
    await to.add_transaction(made.id, sale.id)
    request = f"PUT /v2/quickinvoices/{made.id}/removeTransaction"
    return Operation(request, to.remove_transaction(made.id, sale.id), to.get(made.id), {"remaining_balance": 20})


async def settling(gateway: AsyncGateway) -> Operation:
    """The open batch is settled."""
    to, _ = gateway.transaction_batches, await paid(gateway)
    batch = await to.list({"is_open": True}).first()
    assert batch is not None
    request = f"POST /v2/transactionbatches/{batch.id}/settle"
    return Operation(request, to.settle(batch.id), to.get(batch.id), {"is_open": False})


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # it waits for real silences, and the table is tried on both
@pytest.mark.parametrize("makers", [[voiding, capturing, raising, reopening, adding, removing], [settling]])
async def test_operations(makers: list[Callable[[AsyncGateway], Awaitable[Operation]]]) -> None:
    """Each operation is executed despite the fault; it is repeated only if the fault prevented it."""
    outcomes: dict[tuple[str, str], Any] = {}
    wanted: dict[tuple[str, str], Any] = {}

    async def meet(fault: str, sandbox: Sandbox, make: Callable[[AsyncGateway], Awaitable[Operation]]) -> None:
        async with sandbox.gateway(
            timeout=10
        ) as gateway:  # a hundred operations at once, on a machine that may be busy
            operation = await make(gateway)
            sandbox.fault(operation.request, fault, seconds=0.5, retry_after=0.1)  # type: ignore[arg-type]
            records = [await operation.done, await operation.read]
            result, state = ({name: getattr(record, name) for name in operation.wanted} for record in records)
            (seen,) = [plan["seen"] for plan in sandbox.faults() if plan["operation"] == operation.request]
            outcomes[make.__name__, fault] = (result, state, seen)
            wanted[make.__name__, fault] = (operation.wanted, operation.wanted, 2 if fault in NOT_CARRIED_OUT else 1)

    with ExitStack() as stack:
        async with anyio.create_task_group() as tasks:
            for fault in ARRIVING:
                sandbox = stack.enter_context(Sandbox())
                for make in makers:
                    tasks.start_soon(meet, fault, sandbox, make)
    assert outcomes == wanted
    assert len(outcomes) == len(ARRIVING) * len(makers)


async def test_httpx(sandbox: Sandbox) -> None:
    """No credentials, an unknown id and garbage get an error that names the problem, as through the SDK."""
    async with httpx.AsyncClient(base_url=sandbox.base_url) as client:
        responses = [
            await client.get("/v2/contacts"),
            await client.get("/v2/nothing"),
            await client.post("/v2/contacts", content=b"{", headers={"developer-id": sandbox.developer_id}),
        ]
    assert [response.status_code for response in responses] == [401, 404, 401]
    assert all(response.json()["message"] for response in responses)
