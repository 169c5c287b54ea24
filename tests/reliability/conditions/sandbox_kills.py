"""A sandbox with a database file that is killed while a client sends: what it acknowledged exists, once."""

import socket
from collections.abc import Mapping
from contextlib import suppress
from itertools import count as numbers
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
import httpx

from gateway_async import (
    AsyncGateway,
    CardVaultCreate,
    GatewayError,
    OutcomeUnknownError,
    TransactionCreate,
    UserApiKey,
)
from tests.reliability.condition import Condition, Result
from tests.reliability.worker import Worker
from tests.reliability.worker_programs import serve_sandbox
from tests.reliability.worker_protections import without

__all__ = ["SANDBOX_KILL_CONDITIONS"]

_SENDERS: Final = 8
_WRITES: Final = 30
"""The maximum number of acknowledged writes before a kill."""

_DELAY_SECONDS: Final = 0.01
_PAUSE_SECONDS: Final = 0.01
_SEED: Final = 20261123
_CARD: Final[dict[str, Any]] = {"account_number": "4111111111111111", "exp_date": "1230"}
_OPTIONS: Final[dict[str, Any]] = {"timeout": 5.0, "in_doubt_seconds": 1.0, "max_attempts": 10}


class _Server:
    """A sandbox in a process, one after the other on the same file and port."""

    def __init__(self, folder: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._settings = (free.getsockname()[1], str(Path(folder, "sandbox.db")))
        self.start()

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self._worker = Worker(serve_sandbox, *self._settings)
        self.environment: Mapping[str, str] = self._worker.receive()

    def restart(self) -> None:
        """Kill it and start the next."""
        self.kill()
        self.start()

    def kill(self) -> None:
        """Kill it."""
        self._worker.kill()

    def count_effects(self) -> dict[str, int]:
        """Return how often each integrator id was charged or stored."""
        page = httpx.get(f"{self.environment['GATEWAY_BASE_URL']}/_sandbox/ledger", trust_env=False).json()
        return {**page["charged"], **page["stored"]}


class _Client:
    """Sends sales and cards to store, one after the other in several tasks.

    Attributes:
        outcomes: integrator id → "done", "unknown" or "not made".
        done: the number of writes that were acknowledged.
    """

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.done = 0
        self._numbers = numbers()
        self._unknown: dict[str, OutcomeUnknownError] = {}

    async def send(self, gateway: AsyncGateway) -> None:
        """Send until cancelled."""
        while True:
            name = f"w{next(self._numbers)}"
            self.outcomes[name] = "unknown"
            try:
                with anyio.CancelScope(shield=True):  # each write ends
                    await _write(gateway, name)
            except OutcomeUnknownError as error:
                self._unknown[name] = error
            except GatewayError:
                self.outcomes[name] = "not made"
                await anyio.sleep(_PAUSE_SECONDS)
            else:
                self.outcomes[name] = "done"
                self.done += 1
            await anyio.lowlevel.checkpoint()

    async def resolve(self) -> None:
        """Look up the writes that are unknown."""
        for name, error in self._unknown.items():
            with suppress(OutcomeUnknownError):
                self.outcomes[name] = "not made" if await error.resolve() is None else "done"


async def _write(gateway: AsyncGateway, name: str) -> object:
    if int(name[1:]) % 2:
        return await gateway.account_vaults.create(CardVaultCreate(account_vault_api_id=name, **_CARD))
    sale = TransactionCreate(action="sale", transaction_amount="1.00", transaction_api_id=name, **_CARD)
    return await gateway.transactions.create(sale)


async def _kill_again_and_again(server: _Server, client: _Client, count: int) -> None:
    random = Random(_SEED)  # noqa: S311  no secret
    environment = {name.removeprefix("GATEWAY_").lower(): value for name, value in server.environment.items()}
    gateway = AsyncGateway(
        environment["base_url"],
        developer_id=environment["developer_id"],
        credentials=UserApiKey(environment["user_id"], environment["user_api_key"]),
        location_id=environment["location_id"],
        **_OPTIONS,
    )
    async with gateway:
        async with anyio.create_task_group() as tasks:
            for _ in range(_SENDERS):
                tasks.start_soon(client.send, gateway)
            for _ in range(count):
                wanted = client.done + random.randint(1, _WRITES)
                while client.done < wanted:  # noqa: ASYNC110  a kill must not wait for a task
                    await anyio.sleep(0.001)
                await anyio.sleep(random.uniform(0, _DELAY_SECONDS))
                await anyio.to_thread.run_sync(server.restart)
            tasks.cancel_scope.cancel()
        await client.resolve()


def _kill_sandbox(count: int) -> Result:
    """Kill a sandbox so often, and compare its file with what its client was told."""
    client = _Client()
    with TemporaryDirectory() as folder:
        server = _Server(folder)
        try:
            anyio.run(_kill_again_and_again, server, client, count)
            times = server.count_effects()
        finally:
            server.kill()
    made = {name: outcome == "done" for name, outcome in client.outcomes.items() if outcome != "unknown"}
    return Result(
        count=count,
        double=sum(number - 1 for number in times.values()),
        lost=sum((name in times) != is_made for name, is_made in made.items()),
        unknown=len(client.outcomes) - len(made),
    )


SANDBOX_KILL_CONDITIONS: Final = (
    Condition(
        key="kill-sandbox",
        text="`kill -9` of a sandbox with a database file, while a client sends",
        count=250,
        short_count=5,
        run=_kill_sandbox,
        protections=without("commit-before-response"),
    ),
)
