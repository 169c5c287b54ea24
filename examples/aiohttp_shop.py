"""A shop on aiohttp: it charges a card, and receives a postback when the payment has settled.

    gateway-async sandbox                           # in another terminal; paste the export lines that it shows
    export SHOP_USERNAME=shop SHOP_PASSWORD=secret  # the credentials that the gateway sends with a postback
    python examples/aiohttp_shop.py

The gateway calls http://127.0.0.1:8000/postbacks if it has a postback config with that URL (docs/guides/postbacks.md).
The table in orders.py shows the effect of each outcome of a payment.
"""

import os
from collections.abc import AsyncIterator
from decimal import Decimal

import orders
from aiohttp import web

from gateway_async import AsyncGateway

GATEWAY = web.AppKey("GATEWAY", AsyncGateway)


async def gateway_context(app: web.Application) -> AsyncIterator[None]:
    """Open one client while the shop runs."""
    async with (
        AsyncGateway.from_env() as app[GATEWAY],
        orders.run_in_background(app[GATEWAY]),
    ):
        yield


async def sell(request: web.Request) -> web.Response:
    """Charge a card for an order: `{"order": "1001", "amount": "12.50", "card": "an account vault's id"}`.

    In your shop, the amount comes from your own order, not from the customer.
    """
    try:
        sale = await request.json()
        order, amount, card = (
            str(sale["order"]),
            Decimal(str(sale["amount"])),
            str(sale["card"]),
        )
    except (ValueError, LookupError, TypeError, ArithmeticError):
        problem = "order, amount, card: required (expected a text, an amount and an account vault's id)"
        return web.json_response({"problems": [problem]}, status=422)
    return respond(await orders.sell(request.app[GATEWAY], order, amount, card))


async def show(request: web.Request) -> web.Response:
    """Show an order."""
    attempt = await orders.find(request.match_info["number"])
    if attempt is None:
        raise web.HTTPNotFound(text="there is no such order")
    return respond(orders.show(attempt))


def respond(response: orders.Response) -> web.Response:
    """Turn a response of `orders` into one of aiohttp."""
    return web.json_response(
        response.body, status=response.status, headers=response.headers
    )


def make_app() -> web.Application:
    """Make the shop."""
    app = web.Application()
    app.cleanup_ctx.append(gateway_context)
    app.router.add_post("/sales", sell)
    app.router.add_get("/orders/{number}", show)
    app.router.add_post("/postbacks", orders.receiver.aiohttp)
    return app


if __name__ == "__main__":
    web.run_app(make_app(), host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
