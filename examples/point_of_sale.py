"""A point-of-sale backend on aiohttp: hundreds of card terminals, and their progress as server-sent events.

    gateway-async sandbox                    # in another terminal; paste the export lines that it shows
    python examples/point_of_sale.py
    curl -X PUT -d '{"terminal_id": "…", "amount": "12.50"}' http://127.0.0.1:8000/sales/till-7-1001
    curl -N http://127.0.0.1:8000/sales/till-7-1001/events

The till chooses the name of a sale, one that no other till uses, and may send the same request again at any time: the
customer pays once. After "try again" or "unknown" it does so. A sale waits up to 300 seconds for the customer. It
continues when the till loses its connection. A till that connects again gets the newest event first. The ledger has
every sale on disk before it is sent. After a crash, the next start finds out the outcome of the open sales.
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from aiohttp import web

from gateway_async import (
    AsyncGateway,
    GatewayError,
    MismatchedWriteError,
    OutcomeUnknownError,
    RouterTransactionCreate,
    SqliteLedger,
    Transaction,
)
from gateway_async.observe import TerminalProgress

logger = logging.getLogger("point_of_sale")

Event = dict[str, Any]

KEEP_SECONDS: Final = 600
"""How long a till can ask for the events of a sale that has ended. Later, it sends the sale again."""

KEEP_ALIVE_SECONDS: Final = 15
"""Proxies close connections on which nothing is sent."""

UNKNOWN: Final[Event] = {
    "result": "unknown",
    "message": "Send the same sale again. Do not charge under another name.",
}


@dataclass
class Sale:
    """A sale at a terminal, and its newest event."""

    terminal_id: str
    amount: Decimal
    event: Event = field(default_factory=lambda: {"state": "new"})
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_done(self) -> bool:
        """Whether the event is the last one."""
        return "result" in self.event

    @property
    def can_be_sent_again(self) -> bool:
        """Whether the same request may find out more, or charge the customer for the first time."""
        return self.event.get("result") in ("try again", "unknown")

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
        recovery = asyncio.create_task(recover_open_calls(app[GATEWAY]))
        yield
        recovery.cancel()
        await asyncio.wait([recovery])
        open_sales = app[TASKS]
        if open_sales:
            await asyncio.wait(open_sales)


async def recover_open_calls(gateway: AsyncGateway) -> None:
    """Find the outcomes of calls that an earlier process left open."""
    while True:
        try:
            for recovered in await gateway.recover(wait=None):
                logger.warning(
                    "%s %s: %s", recovered.call, recovered.api_id, recovered.outcome
                )
        except GatewayError as error:
            logger.warning("cannot recover: %s", error)
        await asyncio.sleep(60)


async def start_sale(request: web.Request) -> web.Response:
    """Start a sale: `{"terminal_id": "…", "amount": "12.50"}`. The response does not wait for the customer."""
    try:
        wanted = await request.json()
        terminal_id, amount = str(wanted["terminal_id"]), Decimal(str(wanted["amount"]))
    except (ValueError, LookupError, TypeError, InvalidOperation):
        return web.json_response(
            {"problem": "terminal_id, amount: required"}, status=422
        )
    name, sales = request.match_info["name"], request.app[SALES]
    sale = sales.get(name)
    if sale and (sale.terminal_id, sale.amount) != (terminal_id, amount):
        return web.json_response({"problem": f"{name}: is another sale"}, status=409)
    if not sale or sale.can_be_sent_again:
        new = sales[name] = Sale(terminal_id, amount)
        task = asyncio.create_task(charge(request.app[GATEWAY], name, new))
        request.app[TASKS].add(task)
        task.add_done_callback(request.app[TASKS].discard)
        task.add_done_callback(
            lambda _: task.get_loop().call_later(KEEP_SECONDS, forget, sales, name, new)
        )
    return web.json_response({"sale": name}, status=202)


async def charge(gateway: AsyncGateway, name: str, sale: Sale) -> None:
    """Charge a customer at a terminal; report progress and result."""

    def report(progress: TerminalProgress) -> None:
        sale.report(progress.to_dict())

    result = UNKNOWN  # also if the task is cancelled, or the program has a defect
    try:
        new = RouterTransactionCreate(
            action="sale",
            terminal_id=sale.terminal_id,
            transaction_amount=sale.amount,
            transaction_api_id=name,
        )
        result = describe(
            await gateway.router_transactions.create_once(new, on_progress=report)
        )
    except OutcomeUnknownError as error:
        logger.error("sale %s: %s", name, error)  # noqa: TRY400  the text has all that helps
        if isinstance(error, MismatchedWriteError) and error.record is not None:
            result = {"result": "conflict", "message": "Another sale has this name."}
    except GatewayError as error:
        result = {
            "result": "try again" if error.retryable else "refused",
            "message": str(error),
        }
    finally:
        sale.report(result)


def describe(payment: Transaction) -> Event:
    """Return the last event of a sale."""
    result = "approved" if payment.approved else "declined"
    if payment.voided:
        result = "voided"  # by the back office, since an earlier request
    elif payment.partially_approved:  # the till asks for the rest, or voids the part
        result = "partially approved"
    return {
        "result": result,
        "amount": str(payment.auth_amount),
        "message": payment.verbiage,
    }


def forget(sales: dict[str, Sale], name: str, sale: Sale) -> None:
    """Remove a sale that has ended; not one that replaced it."""
    if sales.get(name) is sale:
        del sales[name]


async def send_events(request: web.Request) -> web.StreamResponse:
    """Send the newest and all later events of a sale."""
    sale = request.app[SALES].get(request.match_info["name"])
    if sale is None:
        raise web.HTTPNotFound(text="there is no such sale: send it again")
    headers = {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
    }
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    while True:
        changed, is_done = sale.changed, sale.is_done
        await response.write(f"data: {json.dumps(sale.event)}\n\n".encode())
        if is_done:
            return response
        while not changed.is_set():
            try:
                await asyncio.wait_for(changed.wait(), KEEP_ALIVE_SECONDS)
            except TimeoutError:
                await response.write(b": waiting\n\n")


def make_app() -> web.Application:
    """Make the backend."""
    app = web.Application()
    app[SALES], app[TASKS] = {}, set()
    app.cleanup_ctx.append(run_client)
    app.router.add_put("/sales/{name}", start_sale)
    app.router.add_get("/sales/{name}/events", send_events)
    return app


if __name__ == "__main__":
    logging.basicConfig()
    web.run_app(make_app(), host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
