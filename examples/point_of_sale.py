"""A point of sale: sales at hundreds of card terminals.

uvicorn point_of_sale:app --port 8000
"""

import asyncio
import json
import logging
import os
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

import gateway_async as ga
from gateway_async.observe import TerminalProgress

logger = logging.getLogger("uvicorn.error.point_of_sale")

Event = dict[str, Any]
UNKNOWN: Event = {
    "result": "unknown",
    "message": "Send the same sale again, under no other name.",
}
RECOVERY_SECONDS = 5
KEEP_ALIVE_SECONDS = 15
KEEP_SECONDS = 600


class NewSale(BaseModel):
    """The request of a till."""

    terminal_id: str
    amount: Decimal


class Sale:
    """A sale at a terminal, and its newest event."""

    def __init__(self, name: str, new: NewSale) -> None:
        self.new = new
        self.event: Event = {"state": "new"}
        self.changed = asyncio.Event()
        self.task = asyncio.create_task(self.charge(name))

    @property
    def result(self) -> str | None:
        """How the sale has ended; None before its end."""
        return self.event.get("result")

    def report(self, event: Event) -> None:
        """Replace the newest event, and wake who waits for it."""
        self.event = event
        self.changed.set()
        self.changed = asyncio.Event()

    async def charge(self, name: str) -> None:
        """Charge the customer at the terminal."""
        event = UNKNOWN
        try:
            new = ga.RouterTransactionCreate(
                action="sale",
                terminal_id=self.new.terminal_id,
                transaction_amount=self.new.amount,
                transaction_api_id=name,
            )
            event = describe(
                await gateway().router_transactions.create_once(
                    new,
                    on_progress=self.show_progress,
                )
            )
        except ga.OutcomeUnknownError as error:
            logger.warning("%s: %s", name, error)
            if getattr(error, "record", None):
                # Another sale has this name.
                event = {"result": "conflict"}
        except ga.GatewayError as error:
            result = "try again" if error.retryable else "refused"
            event = {"result": result, "message": str(error)}
        finally:
            self.report(event)
            loop = asyncio.get_running_loop()
            loop.call_later(KEEP_SECONDS, self.forget, name)

    def forget(self, name: str) -> None:
        """Free the memory; a till that asks later sends it again."""
        if sales.get(name) is self:
            del sales[name]

    def show_progress(self, progress: TerminalProgress) -> None:
        """Report what the terminal does."""
        self.report(progress.to_dict())


def describe(payment: ga.Transaction) -> Event:
    """Return the last event of a sale."""
    result = "approved" if payment.approved else "declined"
    if payment.voided:
        result = "voided"
    elif payment.partially_approved:
        # The till asks for the rest, or voids the part.
        result = "partially approved"
    return {
        "result": result,
        "amount": str(payment.auth_amount),
        "message": payment.verbiage,
    }


sales: dict[str, Sale] = {}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    """Open the client; at the end, wait for the customers."""
    ledger = ga.SqliteLedger(os.environ.get("LEDGER", "payments.db"))
    async with ga.AsyncGateway.from_env(ledger=ledger) as client:
        app.state.gateway = client
        recovery = asyncio.create_task(recover_sales())
        yield
        recovery.cancel()
        tasks = [sale.task for sale in sales.values()]
        await asyncio.wait([recovery, *tasks])


app = FastAPI(lifespan=lifespan)


def gateway() -> ga.AsyncGateway:
    """Return the client of this process."""
    client: ga.AsyncGateway = app.state.gateway
    return client


async def recover_sales() -> None:
    """Find out what happened to the sales of a killed process."""
    while True:
        outcomes: Counter[str] = Counter()
        try:
            for recovered in await gateway().recover(wait=0):
                outcome = recovered.outcome
                if isinstance(recovered.record, ga.Transaction):
                    outcome = describe(recovered.record)["result"]
                    logger.info("%s: %s", recovered.api_id, outcome)
                outcomes[outcome] += 1
        except ga.GatewayError as error:
            logger.warning("cannot recover: %s", error)
        if outcomes:
            logger.warning("recovered: %s", dict(outcomes))
        await asyncio.sleep(RECOVERY_SECONDS)


@app.put("/sales/{name}", status_code=202)
async def sell(name: str, new: NewSale) -> Event:
    """Start a sale, once for each name. It takes minutes."""
    sale = sales.get(name)
    if sale and sale.new != new:
        raise HTTPException(409, "another sale has this name")
    if sale is None or sale.result in ("unknown", "try again"):
        sale = sales[name] = Sale(name, new)
    return sale.event


@app.get("/sales")
async def count() -> dict[str, int]:
    """Count the sales by result or state."""
    events = [sale.event for sale in sales.values()]
    return Counter(e.get("result") or e["state"] for e in events)


@app.get("/sales/{name}/events")
async def show(name: str) -> StreamingResponse:
    """Send the newest and all later events to a browser."""
    if name not in sales:
        raise HTTPException(404, "no such sale: send it again")
    return StreamingResponse(
        stream(sales[name]),
        media_type="text/event-stream",
        headers={
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
        },
    )


async def stream(sale: Sale) -> AsyncGenerator[str, None]:
    """Yield server-sent events until the sale has ended."""
    while True:
        changed, result = sale.changed, sale.result
        yield f"data: {json.dumps(sale.event)}\n\n"
        if result:
            return
        while not changed.is_set():
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    await changed.wait()
            except TimeoutError:
                # Proxies close streams on which nothing is sent.
                yield ": waiting\n\n"
