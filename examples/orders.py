"""The orders of a shop, and what postbacks do to them: the same for both shops beside this file.

An order is stored before its card is charged, under the number that names the payment too; so whatever happens in
between, the postback finds its order. Postbacks are kept in the database of the orders (an inbox), and what they change
is written in the transaction that marks them as handled: once, however often they come and whenever the shop is killed.
"""

import asyncio
import logging
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from gateway_async import AsyncGateway, BatchStatus, GatewayError, Transaction, TransactionBatch, TransactionStatus
from gateway_async.postbacks import Postback, PostbackReceiver, SqliteInbox

logger = logging.getLogger("shop")

DATABASE = os.environ.get("SHOP_DATABASE", "shop.db")

TABLE = """
CREATE TABLE IF NOT EXISTS orders (
    number TEXT PRIMARY KEY, amount TEXT, status TEXT DEFAULT 'open', payment TEXT, product TEXT, batch TEXT
)"""
PAID = """
UPDATE orders SET payment = ?, product = ?, batch = ?, status = CASE status WHEN 'settled' THEN status ELSE ? END
WHERE number = ?"""
SETTLED = "UPDATE orders SET status = 'settled' WHERE product = ? AND batch = ? AND status = 'paid'"

receiver = PostbackReceiver(
    os.environ["SHOP_USERNAME"], os.environ["SHOP_PASSWORD"], inbox=SqliteInbox(DATABASE, shared=True)
)


@receiver.on("transaction")
async def on_payment(postback: Postback[Transaction]) -> None:
    """A payment was made, voided or settled."""
    postback.write(PAID, *paid(postback.record))


@receiver.on("transactionbatch")
async def on_batch(postback: Postback[TransactionBatch]) -> None:
    """A batch has moved its money: all of its payments are settled."""
    batch = postback.record
    if batch.processing_status_id == BatchStatus.SETTLED:
        postback.write(SETTLED, batch.product_transaction_id, str(batch.batch_num))


def paid(payment: Transaction) -> tuple[str | None, ...]:
    """What an order learns of its payment, for `PAID`."""
    settled = payment.status_id == TransactionStatus.SETTLED
    status = "settled" if settled else "paid" if payment.approved else "not paid"
    return payment.id, payment.product_transaction_id, payment.batch, status, payment.transaction_api_id


async def catch_up(gateway: AsyncGateway) -> None:
    """Ask for what came while the shop was down. If the gateway does not answer, the shop opens all the same."""
    try:
        await receiver.reconcile(gateway, since=datetime.now(UTC) - timedelta(days=3))
    except GatewayError:
        logger.exception("what came while the shop was down is not known yet")


async def prepare() -> None:
    """Make the table, if it is not there."""
    await run(TABLE)


async def add(number: str, amount: Decimal) -> bool:
    """Store a new order; false if its number was given before."""
    return bool(
        await run(
            "INSERT INTO orders (number, amount) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING 1",
            number,
            f"{amount:.2f}",
        )
    )


async def note(payment: Transaction) -> None:
    """Note the payment of an order."""
    await run(PAID, *paid(payment))


async def find(number: str) -> dict[str, Any] | None:
    """An order: open, paid, not paid or settled; None if there is no such number."""
    orders = await run("SELECT * FROM orders WHERE number = ?", number)
    return orders[0] if orders else None


async def run(sql: str, *values: Any) -> list[dict[str, Any]]:
    """Carry out a statement, in a thread, since SQLite may wait for its disk."""

    def carry_out() -> list[dict[str, Any]]:
        with closing(sqlite3.connect(DATABASE, timeout=10, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql, values)]

    return await asyncio.to_thread(carry_out)
