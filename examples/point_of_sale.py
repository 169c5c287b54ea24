"""A point-of-sale backend on aiohttp: hundreds of card terminals, and their progress as server-sent events.

    gateway-async sandbox                    # in another terminal; paste the export lines that it shows
    python examples/point_of_sale.py
    curl -d '{"terminal_id": "…", "amount": "12.50"}' http://127.0.0.1:8000/sales      # {"sale": "…"}
    curl -N http://127.0.0.1:8000/sales/…/events

A sale waits up to 300 seconds for the customer. It continues when a till loses its connection. A till that connects
again gets the newest event first. The ledger has every sale on disk before it is sent. After a crash, the next start
finds out the outcome of the open sales.
"""

import asyncio
import json
import logging
import os
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from gateway_async import (
    AsyncGateway,
    GatewayError,
    OutcomeUnknownError,
    RouterTransactionCreate,
    SqliteLedger,
)
from gateway_async.observe import TerminalProgress

logger = logging.getLogger("point_of_sale")

Event = dict[str, Any]


@dataclass
class Sale:
    """A sale at a terminal, and its newest event."""

    event: Event = field(default_factory=lambda: {"state": "new"})
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_done(self) -> bool:
        """Whether the event is the last one."""
        return "result" in self.event

    def report(self, event: Event) -> None:
        """Replace the newest event, and wake the tills that wait for it."""
        self.event = event
        self.changed.set()
        self.changed = asyncio.Event()


GATEWAY = web.AppKey("GATEWAY", AsyncGateway)
SALES = web.AppKey("SALES", dict[str, Sale])
TASKS: web.AppKey[set[asyncio.Task[None]]] = web.AppKey("TASKS", set)


async def run_client(app: web.Application) -> AsyncIterator[None]:
    """Open one client while the backend runs. When it stops, wait for the sales at the terminals."""
    ledger = SqliteLedger(os.environ.get("LEDGER", "payments.db"))
    async with AsyncGateway.from_env(ledger=ledger) as app[GATEWAY]:
        for recovered in await app[GATEWAY].recover(wait=0):
            logger.warning("%s %s: %s", recovered.call, recovered.api_id, recovered.outcome)
        yield
        open_sales = app[TASKS]
        if open_sales:
            await asyncio.wait(open_sales)


async def start_sale(request: web.Request) -> web.Response:
    """Start a sale: `{"terminal_id": "…", "amount": "12.50"}`. The response does not wait for the customer."""
    try:
        wanted = await request.json()
        terminal_id, amount = str(wanted["terminal_id"]), str(wanted["amount"])
    except (ValueError, LookupError, TypeError):
        return web.json_response({"problem": "terminal_id, amount: required"}, status=422)
    name, sale = uuid.uuid4().hex, Sale()
    request.app[SALES][name] = sale
    task = asyncio.create_task(charge(request.app[GATEWAY], name, terminal_id, amount, sale))
    request.app[TASKS].add(task)
    task.add_done_callback(request.app[TASKS].discard)
    return web.json_response({"sale": name}, status=202)


async def charge(gateway: AsyncGateway, name: str, terminal_id: str, amount: str, sale: Sale) -> None:
    """Charge a customer at a terminal; report progress and result."""

    def report(progress: TerminalProgress) -> None:
        sale.report(progress.to_dict())

    try:
        payment = await gateway.router_transactions.create(
            RouterTransactionCreate(
                action="sale", terminal_id=terminal_id, transaction_amount=amount, transaction_api_id=name
            ),
            on_progress=report,
        )
    except OutcomeUnknownError as error:
        logger.error("sale %s: %s", name, error)  # noqa: TRY400  the text has all that helps
        sale.report({"result": "unknown", "message": "Do not charge again. Check the terminal."})
    except GatewayError as error:
        sale.report({"result": "not charged", "message": str(error), "retryable": error.retryable})
    else:
        result = "approved" if payment.approved else "declined"
        sale.report({"result": result, "amount": str(payment.transaction_amount), "message": payment.verbiage})


async def send_events(request: web.Request) -> web.StreamResponse:
    """Send the newest and all later events of a sale."""
    sale = request.app[SALES].get(request.match_info["name"])
    if sale is None:
        raise web.HTTPNotFound(text="there is no such sale")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    while True:
        changed, is_done = sale.changed, sale.is_done
        await response.write(f"data: {json.dumps(sale.event)}\n\n".encode())
        if is_done:
            return response
        await changed.wait()


def make_app() -> web.Application:
    """Make the backend."""
    app = web.Application()
    app[SALES], app[TASKS] = {}, set()
    app.cleanup_ctx.append(run_client)
    app.router.add_post("/sales", start_sale)
    app.router.add_get("/sales/{name}/events", send_events)
    return app


if __name__ == "__main__":
    logging.basicConfig()
    web.run_app(make_app(), host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
