"""Every misfortune the sandbox can cause, met by a sale: money moves once, and the caller knows."""

import anyio
import attrs
import pytest

from gateway_async import (
    AccountVault,
    NotSentError,
    OutcomeUnknownError,
    RouterAccountVaultCreate,
    SendStage,
    ServerError,
    TagCreate,
    Transaction,
)
from gateway_async.observe import Event, OutcomeLookedUp
from gateway_async.sandbox import Sandbox
from tests.support.outcomes import resolved
from tests.support.sales import NEW_CARD, sale, sale_at
from tests.support.waiting import PATIENCE

from .struck_writes import ENDLESS, EXECUTED, NOT_EXECUTED

pytestmark = pytest.mark.anyio

SALE = sale("once")


@pytest.mark.parametrize("fault", [*EXECUTED, *NOT_EXECUTED, *ENDLESS])
async def test_sale(sandbox: Sandbox, fault: str) -> None:
    """The caller gets the approved sale, charged once, and does not wait for the end of an endless response."""
    seconds = 1.0 if fault in ENDLESS else 0.1
    sandbox.fault("POST /v2/transactions", fault, seconds=seconds, retry_after=0.1)  # type: ignore[arg-type]
    async with sandbox.gateway(timeout=9 if fault in ENDLESS else PATIENCE) as gateway:
        with anyio.fail_after(PATIENCE):  # a byte each second takes longer
            transaction = await gateway.transactions.create(SALE)
        assert transaction.approved
        assert (await gateway.transactions.get(transaction.id)).transaction_api_id == "once"
    assert sandbox.ledger()["charged"] == {"once": 1}


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
        await gateway.account_vaults.create(attrs.evolve(NEW_CARD, contact_id=box.contact_id))
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
    new = sale_at(box.terminal_id, "cancelled")
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
