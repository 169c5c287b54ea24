"""A checkout: it charges an order once, and refunds it."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse

import gateway_async as ga

logger = logging.getLogger("uvicorn.error.checkout")

# In your shop, this is a table of the database.
TOTALS = {
    "1001": Decimal("12.50"),
    "1002": Decimal("40.00"),
    "1003": Decimal("99.00"),
    "1004": Decimal("2.01"),
}
MAX_ATTEMPTS = 10


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    """Open one client while the service runs."""
    async with ga.AsyncGateway.from_env() as app.state.gateway:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/orders/{number}/pay")
async def pay(number: str, card: str) -> JSONResponse:
    """Charge an order once, however often it is sent."""
    if number not in TOTALS:
        raise HTTPException(404, "there is no such order")
    for attempt in range(1, MAX_ATTEMPTS + 1):
        sale = ga.TransactionCreate(
            action="sale",
            account_vault_id=card,
            transaction_amount=TOTALS[number],
            transaction_api_id=f"{number}-{attempt}",
        )
        payment, is_new = await charge(sale)
        status = await status_of(payment, TOTALS[number])
        has_failed = status in ("declined", "too little")
        if is_new or not has_failed:
            return show(payment, status)
        # An earlier request has used this attempt: next one.
    raise HTTPException(429, "too many attempts")


async def charge(
    sale: ga.TransactionCreate,
) -> tuple[ga.Transaction, bool]:
    """Return the payment of an attempt, and if it is new."""
    transactions = gateway().transactions
    try:
        return await transactions.create(sale), True
    except ga.DuplicateError as error:
        return await transactions.existing(error), False


async def status_of(payment: ga.Transaction, total: Decimal) -> str:
    """Return what a payment means for its order."""
    if payment.declined:
        return "declined"
    if payment.partially_approved:
        payment = await give_back(payment)
    if payment.voided:
        is_whole = payment.auth_amount == total
        return "voided" if is_whole else "too little"
    if payment.auth_amount == payment.transaction_amount == total:
        return "paid" if payment.approved else "conflict"
    return "conflict"


async def give_back(payment: ga.Transaction) -> ga.Transaction:
    """Void a payment that covers only a part of its order."""
    transactions = gateway().transactions
    try:
        return await transactions.void(payment.id)
    except ga.ValidationError:
        # Another request has voided it, or it has settled.
        return await transactions.get(payment.id)


@app.post("/payments/{payment}/refunds/{name}")
async def refund(
    payment: str,
    name: str,
    amount: Decimal,
) -> JSONResponse:
    """Return money, once for each name."""
    transactions = gateway().transactions
    try:
        returned = await transactions.refund(
            ga.ApiId(payment),
            amount,
            transaction_api_id=f"{payment}-refund-{name}",
        )
    except ga.DuplicateError as error:
        returned = await transactions.existing(error)
    if returned.transaction_amount != amount:
        return show(returned, "conflict")
    return show(
        returned,
        "refunded" if returned.approved else "declined",
    )


def show(payment: ga.Transaction, status: str) -> JSONResponse:
    """Respond with a payment; a conflict needs a person."""
    body = {"payment": payment.transaction_api_id, "status": status}
    return JSONResponse(body, 409 if status == "conflict" else 200)


def gateway() -> ga.AsyncGateway:
    """Return the client of this process."""
    client: ga.AsyncGateway = app.state.gateway
    return client


@app.exception_handler(ga.GatewayError)
async def explain(_: Request, error: Exception) -> JSONResponse:
    """Say what the caller can do."""
    logger.warning("%s", error)
    match error:
        case ga.NotFoundError():
            return JSONResponse({"status": "not found"}, 404)
        case ga.InvalidFieldsError():
            fields = dict(error.fields)
            body = {"status": "refused", "fields": fields}
            return JSONResponse(body, 422)
        case ga.NotSentError() | ga.RateLimitError():
            # Nothing was charged.
            seconds = getattr(error, "retry_after", None) or 5
            headers = {"Retry-After": f"{seconds:.0f}"}
            return JSONResponse({"status": "try again"}, 503, headers)
        case ga.AuthenticationError() | ga.PermissionDeniedError():
            # The shop is configured wrongly.
            return JSONResponse({"status": "not possible"}, 500)
        case _:
            # Sending the same request again finds out.
            return JSONResponse({"status": "not known yet"}, 202)
