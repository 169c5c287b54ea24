"""The checkout, and what the gateway reports about payments."""

import os
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta

import checkout
from fastapi import FastAPI

from gateway_async import GatewayError, Transaction
from gateway_async.postbacks import (
    Postback,
    PostbackReceiver,
    SqliteInbox,
)

DATABASE = os.environ.get("SHOP_DATABASE", "shop.db")
TABLE = """
CREATE TABLE IF NOT EXISTS payments (
    id TEXT PRIMARY KEY, name TEXT, amount TEXT, status TEXT)"""
SAVE = "INSERT OR REPLACE INTO payments VALUES (?, ?, ?, ?)"
FIND = """
SELECT name, amount || ' ' || status FROM payments
WHERE name LIKE ? ORDER BY name"""

receiver = PostbackReceiver(
    username="shop",
    password=os.environ["SHOP_PASSWORD"],
    inbox=SqliteInbox(DATABASE, shared=True),
)


@receiver.on("transaction")
async def on_payment(postback: Postback[Transaction]) -> None:
    """Store the newest state of a payment."""
    payment = postback.record
    status = payment.status_id
    # Committed together with the mark that it is handled.
    postback.execute(
        SAVE,
        payment.id,
        payment.transaction_api_id,
        str(payment.transaction_amount),
        status.name.lower() if status else "unknown",
    )


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
    """Open the checkout, and handle what the inbox holds."""
    run(TABLE)
    async with checkout.lifespan(checkout.app), receiver:
        yesterday = datetime.now(UTC) - timedelta(days=1)
        try:
            await receiver.catch_up(
                checkout.gateway(),
                since=yesterday,
            )
        except GatewayError as error:
            checkout.logger.warning("cannot catch up: %s", error)
        yield


app = FastAPI(lifespan=lifespan)
app.mount("/postbacks", receiver.asgi)


@app.get("/orders/{number}")
def show(number: str) -> dict[str, str]:
    """Show the payments and refunds of an order."""
    return dict(run(FIND, f"{number}-%"))


def run(sql: str, *values: str) -> list[tuple[str, str]]:
    """Run a statement in the shop's database."""
    with closing(sqlite3.connect(DATABASE)) as connection:
        return connection.execute(sql, values).fetchall()


# Everything else is the checkout's.
app.mount("/", checkout.app)
