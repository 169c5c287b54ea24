"""A shop on FastAPI: it takes a sale, and learns by postback when the money has moved.

    gateway-async sandbox                           # in another terminal; paste the export lines that it shows
    export SHOP_USERNAME=shop SHOP_PASSWORD=secret  # what the gateway has to show when it calls
    uvicorn --app-dir examples fastapi_shop:app --port 8000

The gateway calls http://127.0.0.1:8000/postbacks/ when it has a postback config that says so: README.md, Postbacks.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from decimal import Decimal
from typing import Any

import orders
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from gateway_async import AsyncGateway, OutcomeUnknownError, TransactionCreate


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One client and one receiver for the life of the shop. What came while it was down, it asks for."""
    await orders.prepare()
    async with AsyncGateway.from_env() as app.state.gateway, orders.receiver:
        await orders.catch_up(app.state.gateway)
        yield


app = FastAPI(lifespan=lifespan)
app.mount("/postbacks", orders.receiver.asgi)


class Sale(BaseModel):
    """What a customer buys."""

    order: str
    amount: Decimal
    card: str  # an account vault's id: card numbers do not come near this shop


@app.post("/sales")
async def sell(sale: Sale) -> dict[str, Any]:
    """Charge a card for an order."""
    if not await orders.add(sale.order, sale.amount):
        raise HTTPException(409, "there is such an order already")
    new = TransactionCreate(
        action="sale",
        transaction_api_id=sale.order,
        transaction_amount=sale.amount,
        account_vault_id=sale.card,
    )
    with suppress(OutcomeUnknownError):  # the order stays open until a postback tells
        await orders.note(await app.state.gateway.transactions.create(new))
    return await show(sale.order)


@app.get("/orders/{number}")
async def show(number: str) -> dict[str, Any]:
    """How an order stands."""
    order = await orders.find(number)
    if order is None:
        raise HTTPException(404, "there is no such order")
    return order
