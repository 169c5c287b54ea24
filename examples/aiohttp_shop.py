"""A shop on aiohttp: it takes a sale, and learns by postback when the money has moved.

    gateway-async sandbox                           # in another terminal; paste the export lines that it shows
    export SHOP_USERNAME=shop SHOP_PASSWORD=secret  # what the gateway has to show when it calls
    python examples/aiohttp_shop.py

The gateway calls http://127.0.0.1:8000/postbacks when it has a postback config that says so: README.md, Postbacks.
"""

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from decimal import Decimal

import orders
from aiohttp import web

from gateway_async import AsyncGateway, OutcomeUnknownError, TransactionCreate

GATEWAY = web.AppKey("GATEWAY", AsyncGateway)


async def gateway_and_receiver(app: web.Application) -> AsyncIterator[None]:
    """One client and one receiver for the life of the shop. What came while it was down, it asks for."""
    await orders.prepare()
    async with AsyncGateway.from_env() as app[GATEWAY], orders.receiver:
        await orders.catch_up(app[GATEWAY])
        yield


async def sell(request: web.Request) -> web.Response:
    """Charge a card, an account vault, for an order: `{"order": "1001", "amount": "12.50", "card": "…"}`."""
    sale = await request.json()
    if not await orders.add(sale["order"], Decimal(sale["amount"])):
        raise web.HTTPConflict(text="there is such an order already")
    new = TransactionCreate(
        action="sale",
        transaction_api_id=sale["order"],
        transaction_amount=sale["amount"],
        account_vault_id=sale["card"],
    )
    with suppress(OutcomeUnknownError):  # the order stays open until a postback tells
        await orders.note(await request.app[GATEWAY].transactions.create(new))
    return web.json_response(await orders.find(sale["order"]))


async def show(request: web.Request) -> web.Response:
    """How an order stands."""
    order = await orders.find(request.match_info["number"])
    if order is None:
        raise web.HTTPNotFound(text="there is no such order")
    return web.json_response(order)


def make_app() -> web.Application:
    """The shop."""
    app = web.Application()
    app.cleanup_ctx.append(gateway_and_receiver)
    app.router.add_post("/sales", sell)
    app.router.add_get("/orders/{number}", show)
    app.router.add_post("/postbacks", orders.receiver.aiohttp)
    return app


if __name__ == "__main__":
    web.run_app(make_app(), host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
