"""The orders of a shop: payment attempts, their outcomes, and what postbacks change. Both shops here use it.

An order can have several payment attempts. Each attempt has an id, `<order>-<number>`, which is the
`transaction_api_id` of its payment. It is stored before the gateway is called, so the shop can ask for the payment
later, whatever happens. The gateway charges an id once.

| what the gateway says | status of the attempt | HTTP | the next request for the order |
|---|---|---|---|
| approved for the whole amount | paid, later settled | 200 | shows it |
| declined | declined | 200 | starts an attempt with a new id |
| approved for a part | partially approved, until that part is voided | 202 | voids it |
| the part is voided | partial approval voided | 200 | starts an attempt with a new id |
| nothing yet: the outcome is unknown, or another request is in progress | open | 202 | looks the payment up |
| the request is invalid | not charged | 422 | uses the attempt again, under the same id |
| nothing: it was not sent, or there were too many requests | not charged | 503 | the same |
| wrong credentials, or another mistake of the shop's own | not charged | 500 | the same |
| the id is taken, by a payment with the same card and amount | that of the payment | | |
| the id is taken, by another payment | conflict | 409 | shows it: a person has to decide |
| a paid order was voided in the back office | voided | 200 | shows it |

Postbacks are stored in the same database (an inbox). What they change is written in the transaction that marks them as
handled: once, however often they are delivered and whenever the shop is killed.
"""

import asyncio
import json
import logging
import math
import os
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from gateway_async import (
    AsyncGateway,
    BatchStatus,
    DuplicateError,
    GatewayError,
    InvalidRequestError,
    NotSentError,
    RateLimitError,
    RecordDeletedError,
    StatusError,
    Transaction,
    TransactionBatch,
    TransactionCreate,
    TransactionStatus,
    ValidationError,
)
from gateway_async.postbacks import Postback, PostbackReceiver, SqliteInbox

logger = logging.getLogger("shop")

T = TypeVar("T")
Row = dict[str, Any]

DATABASE = os.environ.get("SHOP_DATABASE", "shop.db")

IN_DOUBT_SECONDS = 150.0
"""How long after its start an attempt may still be charged: the client's `timeout` and its `in_doubt_seconds`.

It need not be exact: an attempt that is not found is used again under the same id, which the gateway charges once.
"""

CHECK_SECONDS = 30.0
RETRY_SECONDS = 5.0

OPEN, NOT_CHARGED, DECLINED, PAID, SETTLED = (
    "open",
    "not charged",
    "declined",
    "paid",
    "settled",
)
PARTIAL, PARTIAL_VOIDED = "partially approved", "partial approval voided"
VOIDED, CONFLICT = "voided", "conflict"

UNDECIDED = (OPEN, PARTIAL)
HTTP_STATUSES = {OPEN: 202, PARTIAL: 202, CONFLICT: 409}
MESSAGES = {
    OPEN: "The outcome of the payment is not known yet. Please do not pay in another way.",
    NOT_CHARGED: "Nothing was charged. Please try again.",
    DECLINED: "The card was declined. Please try another card.",
    PARTIAL: "The card covers only a part of the amount. That part is reserved and will be released.",
    PARTIAL_VOIDED: "The card covers only a part of the amount. Nothing was charged. Please try another card.",
    CONFLICT: "Another payment has the number of this one. We are looking into it.",
}

_NOT_YET_KNOWN = (OPEN, NOT_CHARGED)
MAY_FOLLOW: Mapping[str, tuple[str, ...]] = {
    OPEN: (OPEN,),
    DECLINED: _NOT_YET_KNOWN,
    CONFLICT: _NOT_YET_KNOWN,
    PARTIAL: (*_NOT_YET_KNOWN, PARTIAL),
    PARTIAL_VOIDED: (*_NOT_YET_KNOWN, PARTIAL),
    PAID: (*_NOT_YET_KNOWN, PAID),
    SETTLED: (*_NOT_YET_KNOWN, PAID),
    VOIDED: (*_NOT_YET_KNOWN, PAID),
}
"""Status → the statuses that it may follow, so that a late postback changes nothing."""

TABLE = """
CREATE TABLE IF NOT EXISTS attempts (
    id TEXT PRIMARY KEY, order_number TEXT, number INTEGER, amount TEXT, card TEXT, status TEXT, started_at REAL,
    payment TEXT, approved_amount TEXT, product TEXT, batch TEXT, UNIQUE (order_number, number)
)"""
LATEST = "SELECT * FROM attempts WHERE order_number = ? ORDER BY number DESC LIMIT 1"
START = """
INSERT OR REPLACE INTO attempts (id, order_number, number, amount, card, status, started_at)
VALUES (?, ?, ?, ?, ?, 'open', ?)"""
RECORD_PAYMENT = """
UPDATE attempts SET status = ?, payment = ?, approved_amount = ?, product = ?, batch = ?
WHERE id = ? AND status IN (SELECT value FROM json_each(?))"""
RECORD_NOT_CHARGED = (
    "UPDATE attempts SET status = 'not charged' WHERE id = ? AND status = 'open'"
)
RECORD_SETTLED = "UPDATE attempts SET status = 'settled' WHERE product = ? AND batch = ? AND status = 'paid'"
OVERDUE = "SELECT * FROM attempts WHERE status IN ('open', 'partially approved') AND started_at < ?"

receiver = PostbackReceiver(
    os.environ["SHOP_USERNAME"],
    os.environ["SHOP_PASSWORD"],
    inbox=SqliteInbox(DATABASE, shared=True),
)


@dataclass(frozen=True)
class Response:
    """An HTTP response of a shop; `body` is JSON."""

    status: int
    body: Row
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


# --- a sale


async def sell(
    gateway: AsyncGateway, order: str, amount: Decimal, card: str
) -> Response:
    """Charge a card for an order once, however often this is called."""
    try:
        attempt = await pay(gateway, order, amount, card)
    except GatewayError as error:
        return explain(error, await find(order))
    if Decimal(attempt["amount"]) != amount:
        return Response(
            409,
            {"order": order, "problem": "the order has a payment of another amount"},
        )
    return show(attempt)


async def pay(gateway: AsyncGateway, order: str, amount: Decimal, card: str) -> Row:
    """Charge a new attempt, or look up the open one.

    Returns:
        The order's latest attempt.

    Raises:
        GatewayError: the attempt is open or not charged.
    """
    attempt, is_started = await start_attempt(order, amount, card)
    if not is_started and attempt["status"] in UNDECIDED:
        await look_up(gateway, attempt)
        attempt = await find(order) or attempt
        if attempt["status"] == NOT_CHARGED:
            attempt, is_started = await start_attempt(order, amount, card)
    if is_started:
        await charge(gateway, attempt)
    return await find(order) or attempt


async def start_attempt(order: str, amount: Decimal, card: str) -> tuple[Row, bool]:
    """Store an attempt, if the order may have a new one.

    It is one transaction, so only one of two simultaneous requests starts the attempt.

    Returns:
        The order's latest attempt, and whether it was started here.
    """

    def start(connection: sqlite3.Connection) -> tuple[Row, bool]:
        connection.execute("BEGIN IMMEDIATE")
        latest = connection.execute(LATEST, (order,)).fetchone()
        number = 1
        if latest is not None:
            if latest["status"] not in (NOT_CHARGED, DECLINED, PARTIAL_VOIDED):
                return dict(latest), False
            number = latest["number"] + (latest["status"] != NOT_CHARGED)
        connection.execute(
            START, (f"{order}-{number}", order, number, str(amount), card, time.time())
        )
        connection.execute("COMMIT")
        return dict(connection.execute(LATEST, (order,)).fetchone()), True

    return await use_database(start)


async def charge(gateway: AsyncGateway, attempt: Row) -> None:
    """Charge an attempt that has been stored.

    Raises:
        GatewayError: the attempt is not charged, or it is open because its outcome is not known.
    """
    try:
        payment = await gateway.transactions.create(
            TransactionCreate(
                action="sale",
                transaction_api_id=attempt["id"],
                transaction_amount=Decimal(attempt["amount"]),
                account_vault_id=attempt["card"],
            )
        )
    except (
        DuplicateError
    ) as error:  # another worker was faster, or the database was restored from a backup
        payment = await gateway.transactions.existing(error)
    except (
        InvalidRequestError,
        NotSentError,
        StatusError,
    ):  # the gateway has executed nothing
        await execute(RECORD_NOT_CHARGED, attempt["id"])
        raise
    await record_outcome(gateway, attempt, payment)


async def record_outcome(
    gateway: AsyncGateway, attempt: Row, payment: Transaction
) -> None:
    """Store the outcome of an attempt. Void a payment that was approved only in part.

    Raises:
        GatewayError: the part may still be reserved.
    """
    await execute(RECORD_PAYMENT, *payment_values(attempt, payment))
    if status_of(attempt, payment) != PARTIAL:
        return
    try:
        payment = await gateway.transactions.void(payment.id)
    except ValidationError:  # another worker has voided it, or it has settled
        payment = await gateway.transactions.get(payment.id)
    await execute(RECORD_PAYMENT, *payment_values(attempt, payment))
    if status_of(attempt, payment) == PARTIAL:
        logger.error(
            "attempt %s: %s cannot be voided, please refund it",
            attempt["id"],
            payment.auth_amount,
        )


async def look_up(gateway: AsyncGateway, attempt: Row) -> None:
    """Find the payment of an attempt without a known outcome. Nothing is charged.

    It reads a list, because a 404 may also come from a proxy.

    Raises:
        GatewayError: the payment cannot be looked up at the moment.
    """
    is_overdue = attempt["started_at"] < time.time() - IN_DOUBT_SECONDS
    async for payment in gateway.transactions.list(
        {"transaction_api_id": attempt["id"]}
    ):
        if (
            payment.transaction_api_id == attempt["id"]
        ):  # the filter matches parts of an id, too
            return await record_outcome(gateway, attempt, payment)
    if is_overdue:
        await execute(RECORD_NOT_CHARGED, attempt["id"])
    return None


def status_of(attempt: Row, payment: Transaction) -> str:
    """Return the status that a payment gives its attempt.

    An attempt is paid only if the whole amount was approved, from the same card.
    """
    amount, approved = Decimal(attempt["amount"]), payment.auth_amount
    is_partial = payment.partially_approved or (
        approved is not None and approved < amount
    )
    if payment.declined:
        return DECLINED
    if payment.account_vault_id not in (None, attempt["card"]):
        return CONFLICT
    if payment.voided:  # its transaction_amount is 0
        return PARTIAL_VOIDED if is_partial else VOIDED
    if payment.transaction_amount != amount:
        return CONFLICT
    if not payment.approved:
        return OPEN
    settled = SETTLED if payment.status_id == TransactionStatus.SETTLED else PAID
    return PARTIAL if is_partial else settled


def payment_values(
    attempt: Row, payment: Transaction
) -> tuple[str | Decimal | None, ...]:
    """Return the values for `RECORD_PAYMENT`."""
    status = status_of(attempt, payment)
    approved = None if payment.auth_amount is None else str(payment.auth_amount)
    facts = (payment.id, approved, payment.product_transaction_id, payment.batch)
    return status, *facts, attempt["id"], json.dumps(MAY_FOLLOW[status])


# --- responses to customers


def show(attempt: Row) -> Response:
    """Show an order, as its latest attempt."""
    status = attempt["status"]
    shown = ("payment", "amount", "approved_amount", "batch")
    body = {
        "order": attempt["order_number"],
        "attempt": attempt["id"],
        "status": status,
    }
    body |= {name: attempt[name] for name in shown} | {
        "message": MESSAGES.get(status, "")
    }
    return Response(HTTP_STATUSES.get(status, 200), body)


def explain(error: GatewayError, attempt: Row | None) -> Response:
    """Respond to a request that ended with an error.

    Details of the shop's own mistakes are only logged.
    """
    if attempt is not None and attempt["status"] != NOT_CHARGED:
        logger.warning("attempt %s is %s: %s", attempt["id"], attempt["status"], error)
        return show(attempt)
    match error:
        case InvalidRequestError():
            return Response(422, {"problems": list(error.problems)})
        case ValidationError() | RecordDeletedError():
            return Response(422, {"fields": dict(error.fields)})
        case NotSentError() | RateLimitError():
            logger.warning("nothing was charged: %s", error)
            wait = math.ceil(getattr(error, "retry_after", None) or RETRY_SECONDS)
            return Response(
                503, {"message": MESSAGES[NOT_CHARGED]}, {"Retry-After": str(wait)}
            )
        case _:
            logger.error("nothing can be charged: %s", error)
            return Response(
                500, {"message": "Payments are not possible at the moment."}
            )


# --- postbacks, and lookups in the background


@receiver.on("transaction")
async def on_payment(postback: Postback[Transaction]) -> None:
    """Store that a payment was made, voided or settled."""
    for attempt in await execute(
        "SELECT * FROM attempts WHERE id = ?", postback.record.transaction_api_id
    ):
        postback.execute(RECORD_PAYMENT, *payment_values(attempt, postback.record))


@receiver.on("transactionbatch")
async def on_batch(postback: Postback[TransactionBatch]) -> None:
    """Store that a batch has moved its money: all of its paid attempts are settled."""
    batch = postback.record
    if batch.processing_status_id == BatchStatus.SETTLED:
        postback.execute(
            RECORD_SETTLED, batch.product_transaction_id, str(batch.batch_num)
        )


@asynccontextmanager
async def run_in_background(gateway: AsyncGateway) -> AsyncGenerator[None, None]:
    """Handle postbacks and look up open attempts in the background.

    The shop also starts if the gateway does not respond.
    """
    await execute(TABLE)
    async with receiver:
        try:
            await receiver.catch_up(
                gateway, since=datetime.now(UTC) - timedelta(days=3)
            )
        except GatewayError:
            logger.exception(
                "cannot catch up: postbacks that the shop missed are not handled yet"
            )
        checks = asyncio.create_task(check_overdue_attempts(gateway))
        try:
            yield
        finally:
            checks.cancel()
            await asyncio.wait([checks])


async def check_overdue_attempts(gateway: AsyncGateway) -> None:
    """Look up overdue attempts at intervals.

    These have an unknown outcome, or a part that is still reserved.
    """
    while True:
        for attempt in await execute(OVERDUE, time.time() - IN_DOUBT_SECONDS):
            try:
                await look_up(gateway, attempt)
            except GatewayError as error:
                logger.warning(
                    "attempt %s is still %s: %s",
                    attempt["id"],
                    attempt["status"],
                    error,
                )
        await asyncio.sleep(CHECK_SECONDS)


# --- the database


async def find(order: str) -> Row | None:
    """Read the latest attempt of an order; None if the order does not exist."""
    attempts = await execute(LATEST, order)
    return attempts[0] if attempts else None


async def execute(sql: str, *values: Any) -> list[Row]:
    """Execute a statement and return its rows."""
    return await use_database(
        lambda connection: [dict(row) for row in connection.execute(sql, values)]
    )


async def use_database(work: Callable[[sqlite3.Connection], T]) -> T:
    """Call `work` with a connection in a thread."""

    def connect_and_work() -> T:
        with closing(
            sqlite3.connect(DATABASE, timeout=10, isolation_level=None)
        ) as connection:
            connection.row_factory = sqlite3.Row
            return work(connection)

    return await asyncio.to_thread(connect_and_work)
