"""A service that sells at card terminals, in several worker processes.

    gateway-async sandbox                    # in another terminal; paste the export lines that it shows
    export DATABASE=postgresql://127.0.0.1/shop REDIS=redis://127.0.0.1:6379/0
    uvicorn --app-dir examples terminal_service:app --workers 2 --timeout-graceful-shutdown 350
    curl -X PUT http://127.0.0.1:8000/sales/1001 --json '{"terminal_id": "…", "amount": "12.50"}'

Without `DATABASE`, the workers share the file `LEDGER`. Without `REDIS`, run one worker. The settings, and what a
signal does to a sale that waits for its customer: docs/guides/deployment.md.
"""

import logging
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal

import anyio
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

import gateway_async as sdk
from gateway_async import (
    AsyncGateway,
    PostgresLedger,
    RedisTerminalLease,
    RouterTransactionCreate,
    SqliteLedger,
)

# both servers show it
logger = logging.getLogger("uvicorn.error.terminal_service")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    """Open the client of this worker, and recover calls of earlier workers."""
    async with (
        AsyncGateway.from_env(
            ledger=open_ledger(), terminal_lease=open_lease()
        ) as app.state.gateway,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(recover_open_calls, app.state.gateway)
        yield
        tasks.cancel_scope.cancel()


def open_ledger() -> PostgresLedger | SqliteLedger:
    """Open a ledger that all workers share: a database for several hosts, or a file for one."""
    if database := os.environ.get("DATABASE"):
        return PostgresLedger(database)
    return SqliteLedger(os.environ.get("LEDGER", "payments.db"))


def open_lease() -> RedisTerminalLease | None:
    """Open the store of leases: one worker at a time for each terminal."""
    if redis := os.environ.get("REDIS"):
        return RedisTerminalLease(
            redis, owner=f"{socket.gethostname()}-{os.getpid()}", wait=30.0
        )
    return None


async def recover_open_calls(gateway: AsyncGateway) -> None:
    """Look up the calls that have no outcome in the ledger: at once, and then every minute."""
    while True:
        try:
            for recovered in await gateway.recover(wait=0):
                logger.warning(
                    "open call: %s %s, outcome %s",
                    recovered.call,
                    recovered.api_id,
                    recovered.outcome,
                )
        except sdk.GatewayError as error:
            logger.warning("cannot recover: %s", error)
        await anyio.sleep(60)


app = FastAPI(lifespan=lifespan)


class Sale(BaseModel):
    """A sale at a terminal."""

    terminal_id: str
    amount: Decimal


@app.put("/sales/{name}")
async def sell(name: str, sale: Sale, request: Request) -> JSONResponse:
    """Charge the customer at a terminal once for each name. The same request may be sent again at any time."""
    gateway: AsyncGateway = request.app.state.gateway
    new = RouterTransactionCreate(
        action="sale",
        terminal_id=sale.terminal_id,
        transaction_amount=sale.amount,
        transaction_api_id=name,
    )
    payment = await gateway.router_transactions.create_once(new)
    if payment.partially_approved:  # the till asks for the rest, or voids the part
        return JSONResponse(
            {
                "sale": name,
                "status": "partially approved",
                "amount": str(payment.auth_amount),
            }
        )
    status = "approved" if payment.approved else "declined"
    return JSONResponse(
        {"sale": name, "status": "voided" if payment.voided else status}
    )


@app.exception_handler(sdk.GatewayError)
async def explain(_: Request, error: Exception) -> JSONResponse:
    """Respond to an error: repeat the request, correct it, or ask again for the outcome."""
    match error:
        case sdk.MismatchedWriteError() if error.record:  # another sale has the name
            return JSONResponse({"status": "conflict"}, 409)
        case sdk.InvalidRequestError() | sdk.ValidationError():
            return JSONResponse({"status": "refused", "message": str(error)}, 422)
        case sdk.NotSentError() | sdk.RateLimitError() | sdk.TerminalBusyError():
            return JSONResponse(
                {"status": "try again", "message": str(error)},
                503,
                {"Retry-After": "5"},
            )
        case (
            sdk.AuthenticationError() | sdk.PermissionDeniedError()
        ):  # the service is configured wrongly
            return JSONResponse({"status": "not possible", "message": str(error)}, 500)
        case _:  # send the same request again
            return JSONResponse({"status": "not known yet"}, 202)


@app.get("/live")
async def live() -> dict[str, int]:
    """Respond if the event loop runs. The gateway does not matter: a restart would not repair it."""
    return {"worker": os.getpid()}


@app.get("/ready")
async def ready(request: Request) -> JSONResponse:
    """Respond with 503 if calls cannot work now."""
    gateway: AsyncGateway = request.app.state.gateway
    readiness = await gateway.check(timeout=3.0)
    problems = [
        readiness.gateway_problem,
        readiness.credentials_problem,
        readiness.ledger_problem,
    ]
    body = {
        "problems": [problem for problem in problems if problem],
        "open_intents": readiness.open_intent_count,
        "calls_in_progress": gateway.health().recorded_calls,
    }
    return JSONResponse(body, 200 if readiness.is_ready else 503)
