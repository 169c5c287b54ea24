"""A checkout API on FastAPI: sell, refund, and one HTTP status for each error of the SDK.

    gateway-async sandbox                    # in another terminal; paste the export lines that it shows
    uvicorn --app-dir examples checkout:app --port 8000

The caller chooses the id of each payment (`Idempotency-Key`), and the gateway takes every id once. `fastapi_shop.py` is
the longer example: it stores orders and receives postbacks. `test_checkout.py` is the test suite of this program.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

import gateway_async as sdk
from gateway_async import AsyncGateway, Transaction, TransactionCreate

STATUSES: dict[type[sdk.GatewayError], int] = {
    sdk.InvalidRequestError: 422,  # .problems; nothing was sent
    sdk.DuplicateError: 409,  # of a refund: the id was used before
    sdk.ValidationError: 422,  # .fields, as the gateway names them
    sdk.NotFoundError: 404,
    sdk.RecordDeletedError: 410,
    sdk.RateLimitError: 429,
    sdk.MismatchedWriteError: 409,  # a payment of another card or amount has the key
    sdk.OutcomeUnknownError: 202,  # the money may have moved: the caller must not pay in another way
    sdk.NotSentError: 503,  # nothing happened: the caller may repeat the request
    sdk.TerminalBusyError: 409,
    sdk.DeadlineExceededError: 504,  # of a read
    sdk.ConnectionLostError: 502,
    sdk.MalformedReplyError: 502,
    sdk.MismatchedReplyError: 502,
    sdk.ServerError: 502,
    sdk.StatusError: 500,  # our own credentials or privileges are wrong: an operator has to act
    sdk.GatewayError: 500,
}
"""HTTP status of each error. The first class that an error is an instance of counts."""


class Sale(BaseModel):
    """A card that was stored before, and the amount to charge. This API never receives card numbers."""

    account_vault_id: str
    amount: Decimal


class Refund(BaseModel):
    """The amount to return; None returns all of it."""

    amount: Decimal | None = None


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    """Open one client while the API runs."""
    async with AsyncGateway.from_env() as app.state.gateway:
        yield


app = FastAPI(lifespan=lifespan)
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=36)]


@app.post("/sales", status_code=201)
async def sell(sale: Sale, key: Key) -> dict[str, Any]:
    """Charge a stored card once for each key. A decline is a normal result with `approved` false."""
    new = TransactionCreate(
        action="sale",
        account_vault_id=sale.account_vault_id,
        transaction_amount=sale.amount,
        transaction_api_id=key,
    )
    return show(await gateway().transactions.create_once(new))


@app.post("/sales/{payment_id}/refunds", status_code=201)
async def refund(payment_id: str, wanted: Refund, key: Key) -> dict[str, Any]:
    """Return the money of a payment, in whole or in part."""
    return show(
        await gateway().transactions.refund(
            payment_id, wanted.amount, transaction_api_id=key
        )
    )


@app.delete("/sales/{payment_id}")
async def void(payment_id: str) -> dict[str, Any]:
    """Void a payment that has not settled. It costs nothing, so prefer it to a refund."""
    return show(await gateway().transactions.void(payment_id))


@app.exception_handler(sdk.GatewayError)
async def explain(_: Request, error: Exception) -> JSONResponse:
    """Respond to an error with its status and what to correct."""
    assert isinstance(error, sdk.GatewayError)
    body: dict[str, Any] = {"error": type(error).__name__, "retryable": error.retryable}
    headers: dict[str, str] = {}
    match error:
        case sdk.InvalidRequestError():
            body["problems"] = list(error.problems)
        case sdk.DuplicateError():
            body["payment"] = show(await gateway().transactions.existing(error))
        case sdk.ValidationError() | sdk.RecordDeletedError():
            body["fields"] = {name: list(texts) for name, texts in error.fields.items()}
        case sdk.MismatchedWriteError():
            body["differences"] = list(error.differences)
            body["payment"] = error.record and error.record.to_dict()
        case sdk.OutcomeUnknownError():
            body["message"] = (
                "The outcome is not known yet. Do not pay in another way; ask again with the same key."
            )
        case sdk.RateLimitError():
            headers["Retry-After"] = str(int(error.retry_after or 1))
        case _:
            pass
    return JSONResponse(body, status_of(error), headers)


def status_of(error: sdk.GatewayError) -> int:
    """Return the HTTP status of an error."""
    return next(status for kind, status in STATUSES.items() if isinstance(error, kind))


def show(payment: Transaction) -> dict[str, Any]:
    """Return what the caller may see of a payment."""
    return {
        "id": payment.id,
        "approved": payment.approved,
        "amount": str(payment.transaction_amount),
        "reason": payment.verbiage,
    }


def gateway() -> AsyncGateway:
    """Return the client of the running API."""
    client: AsyncGateway = app.state.gateway
    return client
