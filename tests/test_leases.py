"""`RedisTerminalLease`, with a real Redis, and tills in processes of their own."""

import asyncio
import json
import os
import pickle
import socket
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from gateway_async import (
    InvalidRequestError,
    NotSentError,
    RedisTerminalLease,
    SqliteLedger,
    TerminalBusyError,
    TerminalLease,
    UserApiKey,
)
from gateway_async.observe import Event, LeaseRenewalFailed, TerminalProgress, TerminalState
from gateway_async.sandbox import Sandbox
from tests.support.killed_programs import facts_of, sell_at_terminal
from tests.support.processes import Process, start_function, start_python
from tests.support.sales import sale_at
from tests.support.sandboxes import manual_sandbox
from tests.support.servers import REDIS, redis_only
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.anyio

Leases = Any


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Leases in Redis need asyncio."""
    return getattr(request, "param", "asyncio")


box = pytest.fixture(manual_sandbox)


@pytest.fixture(params=[pytest.param("redis", marks=redis_only)])
async def lease() -> AsyncIterator[Leases]:
    """Makes leases for tills in this process, and closes them."""
    made: list[RedisTerminalLease] = []

    def make(owner: str, **options: Any) -> RedisTerminalLease:
        made.append(RedisTerminalLease(REDIS, owner=owner, **options))
        return made[-1]

    yield make
    for each in made:
        await each.aclose()


def till(box: Sandbox, owner: str, *, sales: int = 1, seconds: float = 30.0) -> Process:
    """Start a till in a process of its own; the caller ends it."""
    process = start_function(sell_at_terminal, facts_of(box), REDIS, owner, sales, seconds)
    process.wait_for("ready")
    return process


def test_every_wrong_argument_of_a_lease_is_named() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        RedisTerminalLease("http://till", owner=" ", seconds=0.5, wait=-1)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["owner", "seconds", "wait", "url"]


def test_the_repr_of_a_lease_shows_no_password() -> None:
    lease: TerminalLease = RedisTerminalLease("redis://:planted-82c1@127.0.0.1", owner="till-7", wait=5)
    assert repr(lease) == "RedisTerminalLease(owner='till-7', seconds=30, wait=5)"


def test_a_busy_terminal_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(TerminalBusyError("t", holder="till-8", advice="wait")))  # noqa: S301  our own
    assert (str(error), error.holder, error.advice) == ("terminal t is busy; holder: till-8; wait", "till-8", "wait")


FORKED = """
import asyncio, os
from gateway_async import AsyncGateway, GatewayError, RouterTransactionCreate, UserApiKey

class Lease:
    owner, seconds, wait = "till", 30.0, 0

    async def acquire(self, terminal_id, token):
        os.write(1, f"{token}\\n".encode())
        return "nobody"

    async def release(self, terminal_id, token): ...
    async def aclose(self): ...

async def ask():
    try:
        await gateway.router_transactions.create(
            RouterTransactionCreate(action="sale", terminal_id="t", transaction_amount="1.00")
        )
    except GatewayError:
        pass

gateway = AsyncGateway(
    "https://gateway.test", developer_id="d", credentials=UserApiKey("u", "k"), location_id="l", terminal_lease=Lease()
)
child = os.fork()
asyncio.run(ask())
if child:
    os.waitpid(child, 0)
"""


def test_fork() -> None:
    """A client that was made before a server forked its workers gives each of them a name of its own."""
    with start_python("-c", FORKED) as process:
        tokens, errors = process.communicate(timeout=PATIENCE)
    assert errors == ""
    assert len(set(tokens.split())) == 2


async def test_no_redis(box: Sandbox) -> None:
    """Without a server at the port, the call is not sent, and the error says why."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"redis://:planted-82c1@127.0.0.1:{free.getsockname()[1]}"
        async with box.gateway(terminal_lease=RedisTerminalLease(address, owner="till-7")) as gateway:
            with pytest.raises(NotSentError, match="the terminal's lease is not available: ConnectionError") as caught:
                await gateway.router_transactions.create(sale_at(box.terminal_id, "never", "1.00"))
    assert "planted" not in str(caught.value)
    assert box.terminals()[0]["waiting"] == []


@pytest.mark.parametrize("anyio_backend", ["trio"], indirect=True)
async def test_trio(box: Sandbox) -> None:
    """redis-py needs asyncio: the call was not sent, and the error says why."""
    async with box.gateway(terminal_lease=RedisTerminalLease("redis://127.0.0.1", owner="till-7")) as gateway:
        with pytest.raises(NotSentError, match="RedisTerminalLease needs asyncio"):
            await gateway.router_transactions.create(sale_at(box.terminal_id, "never", "1.00"))


async def test_owner(lease: Leases) -> None:
    """The second caller gets the owner's name, and the terminal after the release; the owner may renew."""
    one, two, terminal = lease("till-1"), lease("till 2"), os.urandom(8).hex()
    assert await one.acquire(terminal, "a") is None
    assert await two.acquire(terminal, "b") == "till-1"
    assert await one.acquire(terminal, "a") is None
    await two.release(terminal, "a")  # another owner's name, so not his
    assert await two.acquire(terminal, "b") == "till-1"
    await one.release(terminal, "a")
    assert await two.acquire(terminal, "b") is None
    assert await one.acquire(terminal, "a") == "till 2"
    await two.release(terminal, "b")
    await one.release(terminal, "a")


async def test_fairness(lease: Leases) -> None:
    """A till with many sales in its own line cannot keep the others from the terminal."""
    one, two, three, terminal = lease("one"), lease("two"), lease("three"), os.urandom(8).hex()
    assert await one.acquire(terminal, "1") is None
    assert [await each.acquire(terminal, name) for each, name in ((two, "2"), (three, "3"))] == ["one", "one"]
    await one.release(terminal, "1")
    assert [await each.acquire(terminal, name) for each, name in ((one, "1"), (three, "3"))] == ["two", "two"]
    await two.release(terminal, "2")  # leaves the line
    assert [await each.acquire(terminal, name) for each, name in ((one, "1"), (three, "3"))] == ["three", None]
    for each, name in ((one, "1"), (three, "3")):
        await each.release(terminal, name)


async def test_dead_waiter(lease: Leases) -> None:
    """A till that was killed while it waited keeps its place for two seconds, and then lets the next one through."""
    one, killed, three, terminal = lease("one"), lease("killed"), lease("three"), os.urandom(8).hex()
    await one.acquire(terminal, "1")
    await killed.acquire(terminal, "2")
    await one.release(terminal, "1")
    assert await three.acquire(terminal, "3") == "killed"
    with anyio.fail_after(PATIENCE):
        while await three.acquire(terminal, "3") is not None:
            await anyio.lowlevel.checkpoint()
    await three.release(terminal, "3")


async def test_a_released_lease_leaves_no_keys(lease: Leases) -> None:
    one, terminal = lease("one"), os.urandom(8).hex()
    started = time.monotonic()
    await one.acquire(terminal, "1")
    assert len(await one._redis.keys(f"*{terminal}*")) == 1
    left = await one._redis.pttl(f"gateway_async:{{{terminal}}}:lease")
    assert 30_000 - 1000 * (time.monotonic() - started) - 1 <= left <= 30_000
    await one.release(terminal, "1")
    assert await one._redis.keys(f"*{terminal}*") == []


@redis_only
async def test_three_processes() -> None:
    """Three tills, each in a process of its own, sell twelve times in all: one call at a time at the terminal."""
    with (
        Sandbox(terminal_delay=0.02) as box,
        till(box, "a", sales=4) as a,
        till(box, "b", sales=4) as b,
        till(box, "c", sales=4) as c,
    ):
        tills = (a, b, c)
        most = 0
        while any(each.poll() is None for each in tills):
            most = max(most, len(box.terminals()[0]["waiting"]))
            await anyio.lowlevel.checkpoint()
        ended = [each.collect() for each in tills]
        sold = [name for each in ended for name in json.loads(each.stdout)]
        assert (most, len(sold), [each.stderr for each in ended]) == (1, 12, ["", "", ""])
        assert box.ledger()["charged"] == dict.fromkeys(sold, 1)


async def test_killed_holder(box: Sandbox, lease: Leases) -> None:
    """After kill -9 the next till waits for what is left of the lease, sees who held it, and goes on."""
    shown: list[TerminalProgress] = []
    with till(box, "till-a"):
        await anyio.to_thread.run_sync(box.wait_for_call)
    next_lease = lease("till-b")
    async with box.gateway(terminal_lease=next_lease) as gateway, anyio.create_task_group() as tasks:

        async def sell() -> None:
            assert (
                await gateway.router_transactions.create(
                    sale_at(box.terminal_id, "b", "1.00"), on_progress=shown.append
                )
            ).approved

        tasks.start_soon(sell)
        await until(lambda: any(each.state is TerminalState.HELD for each in shown))
        key = f"gateway_async:{{{box.terminal_id}}}:lease"
        assert 0 < await next_lease._redis.pttl(key) <= 30_000
        await next_lease._redis.pexpire(key, 1)  # the time passes
        await until(lambda: len(box.terminals()[0]["waiting"]) == 2)  # the device still shows the dead till's sale
        box.cancel()
        box.present()
    assert {each.holder for each in shown if each.state is TerminalState.HELD} == {"till-a"}
    assert box.ledger()["charged"] == {"b": 1}


async def test_doubt(box: Sandbox, lease: Leases, tmp_path: Path) -> None:
    """A lease lasts until `recover()` knows the outcome, or nothing of the call can arrive any more."""
    ledger = SqliteLedger(tmp_path / "ledger.db")
    async with (
        box.gateway(terminal_lease=lease("a", seconds=1), ledger=ledger) as gateway,
        box.gateway(terminal_lease=(others := lease("b", wait=0))) as other,
        anyio.create_task_group() as tasks,
    ):
        task = asyncio.create_task(gateway.router_transactions.create(sale_at(box.terminal_id, "doubtful", "1.00")))
        await box.await_call()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        left = await others._redis.pttl(f"gateway_async:{{{box.terminal_id}}}:lease")
        assert left > 400_000  # `terminal_timeout` and `in_doubt_seconds`
        with pytest.raises(TerminalBusyError, match="holder: a"):
            await other.router_transactions.create(sale_at(box.terminal_id, "too-early", "1.00"))
        box.cancel()
        assert [each.outcome for each in await gateway.recover()] == ["found"]
        tasks.start_soon(other.router_transactions.create, sale_at(box.terminal_id, "next", "1.00"))
        await box.await_call()
        box.present()
    assert box.ledger()["charged"] == {"next": 1}


class Relay:
    """The only way of a till to Redis; `cut` closes it."""

    def __init__(self) -> None:
        self._address = urlsplit(REDIS)
        self._pipes: list[asyncio.StreamWriter] = []
        self._is_open = True

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = self._address._replace(netloc=f"127.0.0.1:{port}").geturl()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """End all connections, and take no other."""
        self._is_open = False
        for pipe in self._pipes:
            pipe.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._pipes.append(writer)
        if not self._is_open:
            writer.close()
            return
        from_redis, to_redis = await asyncio.open_connection(self._address.hostname, self._address.port)
        self._pipes.append(to_redis)
        await asyncio.gather(_pump(reader, to_redis), _pump(from_redis, writer))


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    target.close()


class Key:
    """A key that a till fetches between its lease and its request, for as long as a test wants."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box
        self.is_wanted, self.is_there = asyncio.Event(), asyncio.Event()

    @property
    def credentials(self) -> UserApiKey:
        """The credentials with it."""
        return UserApiKey(self._box.user_id, self._fetch)

    async def _fetch(self) -> str:
        self.is_wanted.set()
        await self.is_there.wait()
        return self._box.user_api_key


async def cut_off(relay: Relay, _lease_key: str, _redis: Any) -> None:
    """One till loses Redis, and its lease runs out there."""
    relay.cut()


async def forget(_relay: Relay, lease_key: str, redis: Any) -> None:
    """Redis loses the lease, as in a failover."""
    await redis.delete(lease_key)


async def stop_the_loop(_relay: Relay, lease_key: str, redis: Any) -> None:
    """A callback blocks the till's event loop for longer than the lease."""
    await redis.pexpire(lease_key, 1)
    time.sleep(1.1)  # noqa: ASYNC251  the event loop must stand still


@pytest.mark.parametrize("failure", [cut_off, forget, stop_the_loop])
async def test_unsent_call(box: Sandbox, lease: Leases, failure: Any) -> None:
    """Another till has the terminal when the sale is about to be sent: its customer is not disturbed."""
    key, events = Key(box), list[Event]()
    async with (
        Relay() as relay,
        box.gateway(
            terminal_lease=RedisTerminalLease(relay.url, owner="a", seconds=1),
            credentials=key.credentials,
            observers=[events.append],
        ) as a,
        box.gateway(terminal_lease=(others := lease("b"))) as b,
        anyio.create_task_group() as tasks,
    ):
        late = asyncio.create_task(a.router_transactions.create(sale_at(box.terminal_id, "late", "1.00")))
        await key.is_wanted.wait()
        keys = f"gateway_async:{{{box.terminal_id}}}"
        tasks.start_soon(b.router_transactions.create, sale_at(box.terminal_id, "b", "1.00"))
        while not await others._redis.exists(f"{keys}:queue"):
            await anyio.sleep(0.01)
        await failure(relay, f"{keys}:lease", others._redis)
        await box.await_call()
        await until(lambda: any(isinstance(event, LeaseRenewalFailed) for event in events))
        key.is_there.set()
        with pytest.raises(NotSentError, match="the terminal's lease was lost"):
            await late
        assert [each["api_id"] for each in box.terminals()[0]["waiting"]] == ["b"]
        box.present()
    assert box.ledger()["charged"] == {"b": 1}


async def test_closed_lease(lease: Leases) -> None:
    """A call that is still in line when its client is closed gets nothing; a second close is harmless."""
    one = lease("one")
    await one.aclose()
    await one.aclose()
    with pytest.raises(RuntimeError, match="the lease is closed"):
        await one.acquire("t", "1")
