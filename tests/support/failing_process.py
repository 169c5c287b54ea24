"""Make payments whose responses are lost, in a process that can load no module or open no file any more.

The argument is one JSON object; `breakage` says what is missing during each call. The program prints how each ended.
"""

import http.client
import importlib.abc
import json
import os
import resource
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import date
from typing import Any, NoReturn
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel

from gateway_async import Attachment, OutcomeUnknownError, QuickInvoiceCreate, SqliteLedger
from tests.support.killed_programs import gateway_of
from tests.support.sales import sale, sale_at

_OPEN_FILES = 256


class _NoImports(importlib.abc.MetaPathFinder):
    """A package that was replaced in place: its old files are gone."""

    def find_spec(self, name: str, *_: object) -> NoReturn:
        """Find nothing."""
        raise ModuleNotFoundError(name)


@asynccontextmanager
async def without_imports() -> AsyncGenerator[None]:
    """Load no module while the block runs."""
    finder = _NoImports()
    sys.meta_path.insert(0, finder)
    yield
    sys.meta_path.remove(finder)


@asynccontextmanager
async def without_files() -> AsyncGenerator[None]:
    """Leave no free descriptor while the block runs: the rest of the service takes each at once."""
    taken: list[int] = []

    async def take() -> None:
        while True:
            with suppress(OSError):
                while True:
                    taken.append(os.open(os.devnull, os.O_RDONLY))
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take)
        await anyio.lowlevel.checkpoint()
        yield
        tasks.cancel_scope.cancel()
    for descriptor in taken:
        os.close(descriptor)


BREAKAGES = {"imports": without_imports, "files": without_files}


def plan_faults(base_url: str, faults: list[dict[str, Any]]) -> None:
    """Replace the faults that the sandbox produces."""
    address = urlsplit(base_url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port)
    for method, body in (("DELETE", None), *(("POST", json.dumps(fault)) for fault in faults)):
        connection.request(method, "/_sandbox/faults", body)
        response = connection.getresponse()
        assert response.status < http.client.BAD_REQUEST, response.read()
        response.read()
    connection.close()


async def ending(call: Awaitable[object]) -> str:
    """Return the name of what a call returns or raises."""
    try:
        return type(await call).__name__
    except Exception as error:  # noqa: BLE001  which one is the result
        return type(error).__name__


async def run(facts: dict[str, Any]) -> dict[str, str]:
    """Make each call; return how it ended, by its integrator id."""
    limits: dict[str, Any] = {"timeout": 10.0, "terminal_timeout": 2.0, "in_doubt_seconds": 0.1, "max_attempts": 2}
    gateway = gateway_of(facts, ledger=SqliteLedger(facts["ledger"]), **limits)
    resources = gateway.transactions, gateway.router_transactions, gateway.quick_invoices

    async def sell(name: str) -> object:
        return await resources[0].create(sale(name, "1.00"))

    async def sell_at_terminal(name: str) -> object:
        return await resources[1].create(sale_at(facts["terminal_id"], name, "1.00"))

    async def send_invoice(name: str) -> object:
        new = QuickInvoiceCreate(
            title="Tea",
            due_date=date(2099, 1, 1),
            item_list={"tea": "1.00"},
            cc_product_transaction_id=facts["cc_product_transaction_id"],
            quick_invoice_api_id=name,
        )
        return await resources[2].create(new, files=[Attachment("tea.txt", b"tea")])

    async def cancel(name: str) -> object:
        with anyio.move_on_after(0.2):
            return await sell(name)
        raise TimeoutError

    async def resolve(name: str) -> object:
        try:
            return await sell(name)
        except OutcomeUnknownError as error:
            return await error.resolve(wait=0.5)

    async def recover(name: str) -> object:
        await ending(sell(name))
        (found,) = [each.record for each in await gateway.recover(wait=0) if each.api_id == name] or [None]
        return found

    verbs: dict[str, Callable[[str], Awaitable[object]]] = {
        "terminal": sell_at_terminal,
        "invoice": send_invoice,
        "cancelled": cancel,
        "resolved": resolve,
        "recovered": recover,
    }
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    endings = {}
    for name, faults in facts["plans"].items():
        plan_faults(facts["base_url"], [])
        if facts["breakage"] == "files":  # with an open ledger, and a connection on which the request can still leave
            await sell(f"before_{name}")
        plan_faults(facts["base_url"], faults)
        async with BREAKAGES[facts["breakage"]]():
            endings[name] = await ending(verbs.get(name, sell)(name))
    await gateway.aclose()
    return endings


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(anyio.run(run, given, backend=given["backend"])))  # noqa: T201
