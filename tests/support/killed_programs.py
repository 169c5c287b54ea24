"""Programs that tests run in processes of their own (`start_function`), most of them to kill them."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from unittest.mock import patch

import anyio
import attrs

import gateway_async
from gateway_async import AsyncGateway, RedisTerminalLease, SqliteLedger, UserApiKey
from gateway_async._execution import recorder
from gateway_async.sandbox import Sandbox
from tests.support.intents import BARE
from tests.support.processes import start_function
from tests.support.sales import sale_at


def facts_of(sandbox: Sandbox) -> dict[str, str]:
    """Return the address, credentials and ids that the programs need."""
    names = ["base_url", "developer_id", "user_id", "user_api_key", "location_id", "terminal_id"]
    names.append("cc_product_transaction_id")
    return {name: getattr(sandbox, name) for name in names}


def make_call(facts: Mapping[str, str], ledger: str, call: str, clock: float) -> None:
    """Print a line, and make a call, which is an expression; the clock of its intent is `clock` seconds ahead."""

    async def run() -> None:
        async with gateway_of(facts, ledger=SqliteLedger(ledger)) as gateway:
            _print("ready")
            await eval(call, vars(gateway_async) | {"gateway": gateway, "facts": facts})  # noqa: S307  our own

    with patch.object(recorder, "_utc_now", lambda: datetime.now(UTC) + timedelta(seconds=clock)):
        anyio.run(run)


def sell_at_terminal(facts: Mapping[str, str], redis: str, owner: str, sales: int, seconds: float) -> None:
    """Make sales at one terminal at once, under a lease; print a line before the first, and their ids."""

    async def run() -> None:
        lease = RedisTerminalLease(redis, owner=owner, seconds=seconds)
        sale = sale_at(facts["terminal_id"], amount="1.00")
        async with gateway_of(facts, terminal_lease=lease) as gateway:
            _print("ready")
            made = await asyncio.gather(*(gateway.router_transactions.create(sale) for _ in range(sales)))
            _print(json.dumps([each.transaction_api_id for each in made]))

    asyncio.run(run())


def keep_intents(source: str, terminal: str) -> None:
    """Record intents in a ledger, and an outcome for each second one, until killed; print each id when it is kept."""
    later = datetime.now(UTC) + timedelta(hours=1)

    async def keep(ledger: Any, name: str) -> None:
        for number in count():
            api_id = f"{name}-{number}"
            intent = attrs.evolve(BARE, id=api_id, api_id=api_id, terminal_id=terminal or None, conclusive_at=later)
            await ledger.record_intent(intent)
            _print(f"kept {intent.id}")
            if number % 2:
                await ledger.record_outcome(intent.id, "done")

    async def run() -> None:
        ledger = eval(source, vars(gateway_async).copy())  # noqa: S307  our own
        async with anyio.create_task_group() as tasks:
            for name in "abcdefgh":
                tasks.start_soon(keep, ledger, name)

    anyio.run(run)


def ids_kept_until_killed(source: str, lines: int, terminal: str = "") -> list[str]:
    """Kill `keep_intents` after some lines; return the ids that it said it had kept."""
    with start_function(keep_intents, source, terminal) as process:
        said = [process.wait_for("kept ") for _ in range(lines)]
        process.kill()
        assert process.stdout
        said += process.stdout.readlines()
    return [line.split()[1] for line in said if line.startswith("kept ") and line.endswith("\n")]


def gateway_of(facts: Mapping[str, str], **options: Any) -> AsyncGateway:
    """Make a client with the facts of a sandbox."""
    credentials = UserApiKey(facts["user_id"], facts["user_api_key"])
    known: dict[str, Any] = {name: facts[name] for name in ("developer_id", "location_id")}
    return AsyncGateway(facts["base_url"], credentials=credentials, **known, **options)


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201
