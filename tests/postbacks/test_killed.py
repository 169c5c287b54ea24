"""A receiver that is killed again and again while postbacks arrive: every effect exactly once, none missing, in order.

    GATEWAY_KILLS=100 GATEWAY_POSTBACKS=5000 pytest -s --timeout 600 tests/postbacks/test_killed.py

kills a hundred times instead of five.
"""

import os
import random
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import httpx
import msgspec
import pytest

from gateway_async.postbacks import PostbackState
from tests.support.servers import postgres_only

from .inboxes import Store, opened

KILLS = int(os.environ.get("GATEWAY_KILLS", "5"))
POSTBACKS = int(os.environ.get("GATEWAY_POSTBACKS", "300"))
CHANGES = 10
"""Of each record."""

SENDERS = 16
SEED = 20261121
STORES = ["sqlite", pytest.param("postgres", marks=postgres_only)]
PROGRAM = Path(__file__).with_name("receiver_process.py")


@pytest.fixture
def anyio_backend() -> str:
    """The sender runs on asyncio."""
    return "asyncio"


@pytest.fixture
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An inbox, a table of effects without any constraint, and a counter beside it."""
    async with opened(request.param, tmp_path) as made:
        await made.inbox.list()
        number = "integer PRIMARY KEY AUTOINCREMENT" if made.is_file else "serial"
        await made.ask(f"CREATE TABLE {{effects}} (number {number}, record text, change integer)")
        await made.ask("CREATE TABLE {counter} (handled integer)")
        await made.ask("INSERT INTO {counter} VALUES (0)")
        yield made


@pytest.fixture
def port() -> int:
    """Return a free port, another one for each receiver."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    return number


class Shop:
    """The receiver's process, one after the other.

    Attributes:
        kills: how often one was killed.
    """

    def __init__(self, port: int, store: Store) -> None:
        kind = "sqlite" if store.is_file else "postgres"
        self._command = [sys.executable, str(PROGRAM), str(port), kind, store.place, *filter(None, [store.table])]
        self.kills = 0
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(self._command)  # noqa: S603  our own program

    def kill(self) -> None:
        """Kill it without a word (SIGKILL), and start the next."""
        self.end()
        self.kills += 1
        self._start()

    def end(self) -> None:
        """Kill it."""
        assert self._process.poll() is None, "it ended by itself"
        self._process.kill()
        self._process.wait()


class Gateway:
    """A sender that tries each postback again until it is acknowledged, and sends some once more.

    Attributes:
        acknowledged: how many postbacks were.
        attempts: how many requests were begun.
    """

    def __init__(self, port: int, total: int) -> None:
        self._url = f"http://127.0.0.1:{port}/"
        self._chance = random.Random(SEED)  # noqa: S311  no secret
        self._records = iter(range(total // CHANGES))
        self.acknowledged = 0
        self.attempts = 0

    async def deliver(self) -> None:
        """Deliver records one after the other, with their changes in order, until all are delivered."""
        async with httpx.AsyncClient(auth=("shop", "secret"), timeout=10, trust_env=False) as client:
            for record in self._records:
                for change in range(CHANGES):
                    await self._until_acknowledged(client, f"t{record}", change)
                    self.acknowledged += 1
                    if self._chance.random() < 0.1:
                        await self._until_acknowledged(client, f"t{record}", change)

    async def _until_acknowledged(self, client: httpx.AsyncClient, record: str, change: int) -> None:
        data = {"id": record, "change": change, "modified_ts": 1_700_000_000 + change, "transaction_amount": "12.50"}
        form = {"type": "UPDATE", "resource": "transaction", "data": msgspec.json.encode(data).decode()}
        for attempt in range(10_000):
            self.attempts += 1
            try:
                response = await client.post(self._url, data=form | {"number_of_attempts": str(attempt + 1)})
            except httpx.TransportError:
                await anyio.sleep(0.02)
            else:
                assert response.status_code == 204
                return
        raise AssertionError("it was never acknowledged")


async def kill_again_and_again(shop: Shop, gateway: Gateway) -> None:
    """The kills are spread evenly over all deliveries, at random moments."""
    chance = random.Random(SEED)  # noqa: S311  no secret
    for number in range(1, KILLS + 1):
        while gateway.acknowledged < number * POSTBACKS / (KILLS + 1):
            await anyio.sleep(0.001)
        await anyio.sleep(chance.uniform(0, 0.05))
        shop.kill()


@pytest.fixture
def shop(port: int, store: Store) -> Iterator[Shop]:
    """A receiver that runs, and has ended when the test has."""
    started = Shop(port, store)
    yield started
    started.end()


@pytest.mark.anyio
@pytest.mark.timeout(600)
@pytest.mark.parametrize("store", STORES, indirect=True)
async def test_every_effect_exactly_once(store: Store, shop: Shop, port: int) -> None:
    """Of all postbacks, though the receiver is killed (kill -9) while they arrive and are handled."""
    gateway, begun = Gateway(port, POSTBACKS), time.monotonic()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kill_again_and_again, shop, gateway)
        for _ in range(SENDERS):
            tasks.start_soon(gateway.deliver)
    with anyio.fail_after(60):
        while await store.inbox.list(PostbackState.WAITING, limit=1):
            await anyio.sleep(0.05)
    effects = await store.ask("SELECT record, change FROM {effects} ORDER BY number")
    handled: dict[str, list[int]] = defaultdict(list)
    for record, change in effects:
        handled[record].append(change)
    interrupted = (await store.ask("SELECT count(*) FROM {inbox} WHERE attempts > 1"))[0][0]
    print(  # noqa: T201  figures, for those who ask with -s
        f"\n{POSTBACKS} postbacks, {shop.kills} kills, {gateway.attempts} requests, {len(effects)} effects, "
        f"{interrupted} handled again after a kill, {time.monotonic() - begun:.0f} s"
    )
    assert handled == {f"t{record}": list(range(CHANGES)) for record in range(POSTBACKS // CHANGES)}
    assert await store.ask("SELECT handled FROM {counter}") == [(POSTBACKS,)]
    assert shop.kills == KILLS
