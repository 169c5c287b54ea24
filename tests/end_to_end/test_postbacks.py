"""From a sale to the news of its settlement: SDK, sandbox and receiver over real sockets, in every server."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest
import uvicorn
from aiohttp import web
from fastapi import FastAPI

from gateway_async import (
    AccountVault,
    AsyncGateway,
    BatchStatus,
    Contact,
    ContactCreate,
    ContactUpdate,
    PostbackConfigCreate,
    Transaction,
    TransactionBatch,
    TransactionCreate,
    TransactionStatus,
)
from gateway_async.models.postback_configs import ConfigResource
from gateway_async.postbacks import Postback, PostbackReceiver, SqliteInbox
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.runtime.postback_delivery import PostbackFormat
from tests.support.sales import NEW_CARD
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio

RESOURCES: tuple[ConfigResource, ...] = ("contact", "accountvault", "transaction", "transactionbatch")
RECORDS = {
    "contact": Contact,
    "accountvault": AccountVault,
    "transaction": Transaction,
    "transactionbatch": TransactionBatch,
}

Serve = Callable[[PostbackReceiver], AbstractAsyncContextManager[str]]


@asynccontextmanager
async def by_fastapi(receiver: PostbackReceiver) -> AsyncIterator[str]:
    """The receiver mounted in a FastAPI app, served by uvicorn; where postbacks go."""
    app = FastAPI()
    app.mount("/postbacks", receiver.asgi)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        serving = asyncio.create_task(server.serve([bound]))
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/postbacks/"
        finally:
            server.should_exit = True
            await serving


@asynccontextmanager
async def by_aiohttp(receiver: PostbackReceiver) -> AsyncIterator[str]:
    """The receiver as a route of an aiohttp app, served by its runner; where postbacks go."""
    app = web.Application()
    app.router.add_post("/postbacks", receiver.aiohttp)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/postbacks"
    finally:
        await runner.cleanup()


SERVERS = {"fastapi": by_fastapi, "aiohttp": by_aiohttp}


@pytest.fixture(params=SERVERS)
def serve(request: pytest.FixtureRequest) -> Serve:
    """Each server in turn."""
    return SERVERS[request.param]


@pytest.fixture(params=["handled at once", "kept in an inbox"])
def receiver(request: pytest.FixtureRequest, tmp_path: Path) -> PostbackReceiver:
    """A receiver, with and without an inbox."""
    inbox = SqliteInbox(tmp_path / "inbox.db") if "inbox" in request.param else None
    return PostbackReceiver("shop", "secret", inbox=inbox)


def config(url: str, resource: ConfigResource, **fields: Any) -> PostbackConfigCreate:
    """A config for a receiver, with its credentials."""
    login: dict[str, Any] = {"basic_auth_username": "shop", "basic_auth_password": "secret"}
    return PostbackConfigCreate(url=url, resource=resource, on_create=True, is_active=True, **login, **fields)


async def tell_of_all(gateway: AsyncGateway, sandbox: Sandbox, url: str) -> None:
    """Have the gateway tell of every change of everything."""
    for resource in RESOURCES:
        product = sandbox.cc_product_transaction_id if resource.startswith("transaction") else None
        new = config(url, resource, product_transaction_id=product, on_update=True, on_delete=True)
        await gateway.postback_configs.create(new)


def idle(sandbox: Sandbox) -> Any:
    """Wait, without holding up the receiver in this loop, until the sandbox has delivered what is due."""
    return anyio.to_thread.run_sync(sandbox.wait_until_idle)


async def sell(gateway: AsyncGateway, card: AccountVault, amount: str = "12.50") -> Transaction:
    """A sale by a stored card."""
    return await gateway.transactions.create(
        TransactionCreate(action="sale", account_vault_id=card.id, transaction_amount=amount)
    )


async def settle(gateway: AsyncGateway) -> TransactionBatch:
    """Settle the open batch."""
    batch = await gateway.transaction_batches.list({"is_open": True}).first()
    assert batch
    return await gateway.transaction_batches.settle(batch.id)


@pytest.mark.parametrize("postback_format", get_args(PostbackFormat))
async def test_sale(
    serve: Serve, receiver: PostbackReceiver, sandbox: Sandbox, gateway: AsyncGateway, postback_format: PostbackFormat
) -> None:
    """Every step of a sale reaches its handler, typed, in the order of the record's changes, as JSON or as a form."""
    sandbox.set_postback_format(postback_format)
    payments: list[Postback[Transaction]] = []
    batches: list[Postback[TransactionBatch]] = []
    everything: list[Postback[Any]] = []

    @receiver.on("transaction")
    async def on_payment(postback: Postback[Transaction]) -> None:
        payments.append(postback)

    @receiver.on("transactionbatch", "UPDATE")
    async def on_batch(postback: Postback[TransactionBatch]) -> None:
        batches.append(postback)

    @receiver.on()
    async def on_anything(postback: Postback[Any]) -> None:
        everything.append(postback)

    async with receiver, serve(receiver) as url:
        await tell_of_all(gateway, sandbox, url)
        contact = await gateway.contacts.create(ContactCreate(last_name="Ada"))
        card = await gateway.account_vaults.create(NEW_CARD)
        sale = await sell(gateway, card)
        batch = await settle(gateway)
        await gateway.contacts.update(contact.id, ContactUpdate(first_name="Ada"))
        await gateway.account_vaults.delete(card.id)
        await idle(sandbox)
        delivered = sandbox.postbacks()
        await until(lambda: len(everything) >= len(delivered))
    assert {each["state"] for each in delivered} == {"delivered"}
    assert [(each.type, each.record.status_id) for each in payments] == [
        ("CREATE", TransactionStatus.APPROVED),
        ("UPDATE", TransactionStatus.SETTLED),
    ]
    assert {(type(each.record), each.record_id, each.record.transaction_amount) for each in payments} == {
        (Transaction, sale.id, Decimal("12.50"))
    }
    assert (batches[-1].record_id, batches[-1].record.processing_status_id) == (batch.id, BatchStatus.SETTLED)
    assert {each.resource for each in everything} == set(RESOURCES)
    assert all(type(each.record) is RECORDS[each.resource] and not each.caught_up for each in everything)
    assert [each.type for each in everything if each.record_id == card.id][-1] == "DELETE"
    assert [each.type for each in everything if each.record_id == contact.id] == ["CREATE", "UPDATE"]
