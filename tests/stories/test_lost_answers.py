"""Every misfortune the sandbox can cause, met by a sale: money moves once, and the caller knows."""

import anyio
import httpx
import pytest

from gateway_async import (
    CardVaultCreate,
    NotSentError,
    OutcomeUnknownError,
    RouterTransactionCreate,
    ServerError,
    Transaction,
    TransactionCreate,
)
from gateway_async.observe import Event, LookedUp
from gateway_async.sandbox import Sandbox

pytestmark = pytest.mark.anyio

SALE = TransactionCreate(
    action="sale",
    transaction_amount="12.50",
    account_number="4111111111111111",
    exp_date="1230",
    transaction_api_id="once",
)
CARRIED_OUT = ["reset_after_commit", "close_after_commit", "error_after_commit", "cut_body", "wrong_length", "garbage"]
ALSO_CARRIED_OUT = ["html", "empty", "swap_answer", "double_answer", "delay"]
NOT_CARRIED_OUT = ["reset_before_commit", "error_before_commit", "rate_limit", "unavailable"]


@pytest.mark.parametrize("fault", [*CARRIED_OUT, *ALSO_CARRIED_OUT, *NOT_CARRIED_OUT])
async def test_a_sale_survives_one_misfortune(sandbox: Sandbox, fault: str) -> None:
    """Whatever happened to the first answer, the caller gets the approved sale, and it was charged once."""
    sandbox.fault("POST /v2/transactions", fault, seconds=0.1, retry_after=0.1)  # type: ignore[arg-type]
    async with sandbox.gateway() as gateway:
        transaction = await gateway.transactions.create(SALE)
        assert transaction.approved
        assert (await gateway.transactions.get(transaction.id)).transaction_api_id == "once"
    assert sandbox.ledger()["charged"] == {"once": 1}


@pytest.mark.parametrize("fault", ["silence", "drip"])
async def test_a_peer_that_never_finishes_is_cut_off_and_asked_again(sandbox: Sandbox, fault: str) -> None:
    """Neither silence nor a byte a second outlasts the deadline."""
    sandbox.fault("POST /v2/transactions", fault, seconds=0.5)  # type: ignore[arg-type]
    async with sandbox.gateway(timeout=3) as gateway:
        with anyio.fail_after(4):
            assert (await gateway.transactions.create(SALE)).approved
    assert sandbox.ledger()["charged"] == {"once": 1}


async def test_a_gateway_that_is_not_there_was_not_charged(sandbox: Sandbox) -> None:
    """A refused port is `NotSentError`: the till may try again."""
    async with sandbox.gateway(max_attempts=2) as gateway:
        sandbox.stop()
        with pytest.raises(NotSentError):
            await gateway.transactions.create(SALE)


async def test_a_gateway_that_goes_down_after_the_charge_leaves_it_unknown(sandbox: Sandbox) -> None:
    """The error resolves itself once the gateway is back."""
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=1)
    async with sandbox.gateway() as gateway:
        with pytest.raises(OutcomeUnknownError) as caught:
            await gateway.transactions.create(SALE)
        assert (await caught.value.resolve()).approved
    assert sandbox.ledger()["charged"] == {"once": 1}


async def test_a_vault_store_whose_answer_is_cut_off_is_stored_once(sandbox: Sandbox) -> None:
    """The id that the SDK made up finds it."""
    sandbox.fault("POST /v2/accountvaults", "close_after_commit")
    async with sandbox.gateway() as gateway:
        vault = await gateway.account_vaults.create(CardVaultCreate(account_number="4111111111111111", exp_date="1230"))
    assert sandbox.ledger()["stored"] == {vault.account_vault_api_id: 1}


async def test_a_terminal_sale_whose_answer_is_cut_off_is_found(sandbox: Sandbox) -> None:
    """It is looked up among the transactions and not sent again."""
    sandbox.fault("POST /v2/routertransactions", "close_after_commit")
    new = RouterTransactionCreate(action="sale", terminal_id=sandbox.terminal_id, transaction_amount="12.50")
    async with sandbox.gateway() as gateway:
        transaction = await gateway.router_transactions.create(new)
    assert transaction.approved
    assert sandbox.ledger()["charged"] == {transaction.transaction_api_id: 1}


async def test_a_cancelled_terminal_sale_is_known_to_the_observers(sandbox_by_hand: Sandbox) -> None:
    """The task is cancelled while the customer pays: the lookup tells what became of it."""
    box, events = sandbox_by_hand, list[Event]()
    new = RouterTransactionCreate(
        action="sale", terminal_id=box.terminal_id, transaction_amount="12.50", transaction_api_id="cancelled"
    )
    async with box.gateway(observers=[events.append]) as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.router_transactions.create, new)
        with anyio.fail_after(20):
            while not box.terminals()[0]["waiting"]:
                await anyio.sleep(0.01)
        box.fault("POST /v2/routertransactions", "silence")
        tasks.cancel_scope.cancel()
        box.present()
    (lookup,) = [event for event in events if isinstance(event, LookedUp)]
    assert (lookup.api_id, lookup.outcome, lookup.cancelled) == ("cancelled", "found", True)
    assert box.ledger()["charged"] == {"cancelled": 1}


async def test_reads_go_on_through_passing_misfortunes(sandbox: Sandbox) -> None:
    """Two in a row are survived, an error of the gateway's own is not hidden."""
    async with sandbox.gateway() as gateway:
        sandbox.fault("GET /v2/contacts/{id}", "reset_before_commit")
        sandbox.fault("GET /v2/contacts/{id}", "unavailable", nth=2, retry_after=0)
        assert (await gateway.contacts.get(sandbox.contact_id)).id == sandbox.contact_id
        sandbox.fault("GET /v2/contacts/{id}", "error_before_commit")
        with pytest.raises(ServerError):
            await gateway.contacts.get(sandbox.contact_id)


async def test_two_hundred_sales_under_a_mixed_plan_are_each_charged_once(sandbox: Sandbox) -> None:
    """Each fault strikes at random: no sale is doubled, none is lost, none is in doubt afterwards."""
    for number, fault in enumerate([*CARRIED_OUT, *ALSO_CARRIED_OUT, *NOT_CARRIED_OUT]):
        sandbox.fault("POST /v2/transactions", fault, probability=0.03, seed=number, seconds=0.05, retry_after=0.05)  # type: ignore[arg-type]
    outcomes: list[Transaction | None] = []
    async with sandbox.gateway(max_attempts=6) as gateway:

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
                outcomes.append(await unknown.resolve())

        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(pay, number)
    charged = sandbox.ledger()["charged"]
    approved = {each.transaction_api_id for each in outcomes if each is not None and each.approved}
    assert set(charged.values()) == {1}
    assert approved == set(charged)
    assert len(outcomes) == 200


async def test_the_sandbox_answers_httpx_as_it_answers_the_sdk(sandbox: Sandbox) -> None:
    """No credentials, an unknown id and garbage are answered with an error that names the problem."""
    async with httpx.AsyncClient(base_url=sandbox.base_url) as client:
        answers = [
            await client.get("/v2/contacts"),
            await client.get("/v2/nothing"),
            await client.post("/v2/contacts", content=b"{", headers={"developer-id": sandbox.developer_id}),
        ]
    assert [answer.status_code for answer in answers] == [401, 404, 401]
    assert all(answer.json()["message"] for answer in answers)
