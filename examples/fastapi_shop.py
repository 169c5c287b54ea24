"""A shop on FastAPI: it charges a card, and receives a postback when the payment has settled.

    gateway-async sandbox                           # in another terminal; paste the export lines that it shows
    export SHOP_USERNAME=shop SHOP_PASSWORD=secret  # the credentials that the gateway sends with a postback
    uvicorn --app-dir examples fastapi_shop:app --port 8000

The gateway calls http://127.0.0.1:8000/postbacks/ if it has a postback config with that URL (docs/guides/postbacks.md).
The table in orders.py shows the effect of each outcome of a payment. `test_fastapi_shop.py` is the test suite of this
program.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal

import orders
from fastapi import FastAPI, HTTPException
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from gateway_async import AsyncGateway


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    """Open one client while the shop runs."""
    async with (
        AsyncGateway.from_env() as app.state.gateway,
        orders.run_in_background(app.state.gateway),
    ):
        yield


app = FastAPI(lifespan=lifespan)
app.mount("/postbacks", orders.receiver.asgi)


class Sale(BaseModel):
    """A sale to charge. In your shop, the amount comes from your own order, not from the customer."""

    order: str
    amount: Decimal
    card: str  # an account vault's id: this shop never receives card numbers


@app.post("/sales")
async def sell(sale: Sale) -> JSONResponse:
    """Charge a card for an order."""
    return respond(
        await orders.sell(app.state.gateway, sale.order, sale.amount, sale.card)
    )


@app.get("/orders/{number}")
async def show(number: str) -> JSONResponse:
    """Show an order."""
    attempt = await orders.find(number)
    if attempt is None:
        raise HTTPException(404, "there is no such order")
    return respond(orders.show(attempt))


def respond(response: orders.Response) -> JSONResponse:
    """Turn a response of `orders` into one of FastAPI."""
    return JSONResponse(response.body, response.status, dict(response.headers))
