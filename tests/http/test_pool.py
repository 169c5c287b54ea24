"""Slots of the pool: how many there are, who gets them, and that none is ever lost."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable
from random import Random

import anyio
import anyio.lowlevel
import attrs
import httpx
import pytest

from gateway_async._http import pool as module
from gateway_async._http.connection import Connection
from gateway_async._http.pool import ConnectionPool
from gateway_async._http.progress import PROGRESS, Progress, Stage
from gateway_async._http.transport import POOL
from gateway_async.telemetry.health import PoolUse
from tests.support.scripted_server import (
    Script,
    Wire,
    at_once,
    client,
    connecting,
    idle,
    never_respond,
    once,
    serving,
    together,
    until,
    use,
    waiting_to_connect,
)
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

ORIGIN = ("http", "127.0.0.1", 80)


async def test_limit_of_connections() -> None:
    """Open at most as many connections as slots, and finish every call."""
    busiest = 0

    async def watch(wire: Wire) -> None:
        nonlocal busiest
        while True:
            await wire.request()
            busiest = max(busiest, peer.open)
            await wire.respond()

    async with serving(watch) as peer, client(peer, max_connections=3) as http:
        await at_once(http, 50)
        assert (busiest, peer.opened) == (3, 3)


async def test_the_call_that_has_waited_longest_gets_the_slot() -> None:
    order: list[bytes] = []

    async def note(wire: Wire) -> None:
        while True:
            head, _ = await wire.request()
            order.append(head.split(b" ")[1])
            await wire.respond()

    def waiting(http: httpx.AsyncClient, count: int) -> bool:
        return use(http).waiting == count

    async with (
        serving(note) as peer,
        client(peer, max_connections=1) as http,
        anyio.create_task_group() as tasks,
        http.stream("GET", "/0"),
    ):
        for number in range(1, 5):
            tasks.start_soon(http.get, f"/{number}")
            await until(functools.partial(waiting, http, number))
    assert order == [b"/0", b"/1", b"/2", b"/3", b"/4"]


async def test_waiting_terminals_take_no_ordinary_slot() -> None:
    async with (
        serving(never_respond) as terminals,
        serving(together(2)) as ordinary,
        client(ordinary, max_connections=2) as http,
        anyio.create_task_group() as tasks,
    ):
        for _ in range(300):
            tasks.start_soon(functools.partial(http.post, terminals.url, extensions={POOL: "terminal"}))
        await until(lambda: terminals.open == 300)
        await at_once(http, 2)
        tasks.cancel_scope.cancel()


async def test_limit_of_terminals() -> None:
    """A terminal's call beyond the limit waits for a slot as long as its pool timeout says."""
    async with (
        serving(never_respond) as peer,
        client(peer, max_terminals=1) as http,
        anyio.create_task_group() as tasks,
    ):
        call = functools.partial(http.get, "/", extensions={POOL: "terminal"})
        tasks.start_soon(call)
        await until(lambda: peer.open == 1)
        with pytest.raises(httpx.PoolTimeout, match="timed out"):
            await call(timeout=httpx.Timeout(PATIENCE, pool=0.01))
        tasks.cancel_scope.cancel()


async def test_simultaneous_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """While some connections are set up the next ones wait, so that thousands of calls can begin at once."""
    monkeypatch.setattr(module, "_MAX_CONNECTING", 3)
    async with serving(never_respond) as peer, client(peer) as http, anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(http.get, peer.secure_url)
        await until(lambda: peer.open == 3)
        assert (connecting(http), waiting_to_connect(http)) == (3, 7)
        tasks.cancel_scope.cancel()


async def begin_and_stall() -> AsyncIterator[bytes]:
    yield b"a"
    yield b" sa"
    await anyio.sleep_forever()


@attrs.frozen
class Phase:
    """A moment in the life of a call, and how to hold many calls there."""

    stage: Stage
    script: Script = never_respond
    content: Callable[[], bytes | AsyncIterator[bytes]] = lambda: b"a sale"
    secure: bool = False
    calls: int = 200
    held: int = 200

    def holds(self, crowd: list[Progress]) -> bool:
        """Whether every call is there, but for one that may hold up the others."""
        return sum(progress.stage is self.stage for progress in crowd) >= self.calls - 1


PHASES = {
    "waiting for a slot": Phase(Stage.QUEUED, held=1),
    "waiting to connect": Phase(Stage.CONNECTING, secure=True, held=1),
    "securing the connection": Phase(Stage.CONNECTING, secure=True),
    "sending": Phase(Stage.SENDING, content=begin_and_stall),
    "waiting for the response": Phase(Stage.SENDING),
    "reading the body": Phase(
        Stage.RESPONSE_STARTED, once(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal", linger=True)
    ),
}


@pytest.mark.parametrize("phase", PHASES.values(), ids=PHASES)
async def test_cancelled_calls(phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that are cancelled, in whichever phase, leave no connection open and no slot taken."""
    slots = phase.held if phase.stage is Stage.QUEUED else phase.calls
    monkeypatch.setattr(module, "_MAX_CONNECTING", phase.held)
    crowd = [Progress() for _ in range(phase.calls)]
    async with serving(phase.script) as peer, client(peer, max_connections=slots) as http:
        async with anyio.create_task_group() as tasks:
            for progress in crowd:
                tasks.start_soon(
                    functools.partial(
                        http.post,
                        peer.secure_url if phase.secure else peer.url,
                        content=phase.content(),
                        extensions={PROGRESS: progress},
                        timeout=60,
                    )
                )
            await until(lambda: peer.open == phase.held and phase.holds(crowd))
            tasks.cancel_scope.cancel()
        await peer.deserted()
        assert (use(http).in_use, connecting(http), idle(http)) == (0, 0, 0)
        await all_get_a_slot(http, slots)


async def all_get_a_slot(http: httpx.AsyncClient, count: int) -> None:
    """Have `count` calls under way at the same time."""
    async with serving(together(count)) as peer:
        await at_once(http, count, peer.url)


async def test_every_step() -> None:
    """A call may be cancelled at any step of the event loop: its slot and its connection are accounted for."""
    async with serving() as peer, client(peer, max_connections=1) as http:
        for steps in range(100):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(functools.partial(http.post, "/", content=b"a sale"))
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
            assert (use(http).in_use, connecting(http)) == (0, 0)
            await until(lambda: peer.open == idle(http))
        assert (await http.get("/")).is_success


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_tasks_cancelled_twice() -> None:
    """A second cancellation, while the first is cleaned up after, loses nothing either."""
    async with serving(never_respond) as peer, client(peer) as http:
        tasks = [asyncio.create_task(http.get("/")) for _ in range(100)]
        await until(lambda: peer.open == 100)
        for _ in range(2):
            for task in tasks:
                task.cancel()
            await asyncio.sleep(0)
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {asyncio.CancelledError}
        await peer.deserted()
        assert use(http).in_use == 0


class Kept:
    """A connection that can always be used again."""

    is_open = True
    idle_seconds = 0.0

    def finish(self) -> bool:
        return True

    async def aclose(self) -> None:
        """Close nothing."""


async def test_the_slot_of_a_cancelled_call_goes_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async def connect(*_address: object) -> Kept:
        await anyio.lowlevel.checkpoint()
        return Kept()

    async def acquire(scope: anyio.CancelScope) -> None:
        with scope:
            got.append(await pool.acquire(ORIGIN, None, {}, Progress(), fresh=True))

    monkeypatch.setattr(module, "_connect", connect)
    pool = ConnectionPool(1, max_idle=1, keepalive_expiry=4.0)
    got: list[Connection] = []
    first, second = anyio.CancelScope(), anyio.move_on_after(30)
    connection = await pool.acquire(ORIGIN, None, {}, Progress())
    async with anyio.create_task_group() as tasks:
        for position, scope in enumerate((first, second), 1):
            tasks.start_soon(acquire, scope)
            await until(lambda position=position: pool.use().waiting == position)  # type: ignore[misc]
        await pool.release(ORIGIN, connection)
        first.cancel()
    assert (len(got), pool.use()) == (1, PoolUse(in_use=1, waiting=0, limit=1))
    await pool.release(ORIGIN, got[0])
    assert pool.use().in_use == 0


class Crowd:
    """Calls that use a pool at random, for some steps of the event loop each."""

    def __init__(self, pool: ConnectionPool, draw: Random) -> None:
        self.pool, self.draw = pool, draw
        self.busy = self.busiest = 0
        self.tasks: list[asyncio.Task[object]] = []

    async def connect(self, *_address: object) -> Kept:
        await self.pause()
        if self.draw.random() < 0.2:
            raise httpx.ConnectError("refused")
        return Kept()

    async def call(self, scope: anyio.CancelScope) -> None:
        if (task := asyncio_task()) is not None:
            self.tasks.append(task)
        with scope, contextlib.suppress(httpx.ConnectError, httpx.PoolTimeout, asyncio.CancelledError):
            timeouts = {"pool": self.draw.choice([None, 0.0, 0.001])}
            fresh = self.draw.random() < 0.3
            connection = await self.pool.acquire(ORIGIN, None, timeouts, Progress(), fresh=fresh)
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
            try:
                await self.pause(20)
            finally:
                self.busy -= 1
                await self.pool.release(ORIGIN, connection, discard=self.draw.random() < 0.3)

    async def pause(self, steps: int = 3) -> None:
        for _ in range(self.draw.randrange(steps)):
            await anyio.lowlevel.checkpoint()


def asyncio_task() -> "asyncio.Task[object] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


async def test_random_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls begin, end, fail, time out and are cancelled at random, natively too; then every slot is free."""
    for seed in range(30):
        busiest, use = await run_schedule(seed, monkeypatch)
        assert (busiest, use) == (3, PoolUse(in_use=0, waiting=0, limit=3)), seed


async def run_schedule(seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, PoolUse]:
    """Return the most slots that were in use at once during a random schedule, and the use after it."""
    draw = Random(seed)  # noqa: S311
    pool = ConnectionPool(3, max_idle=2, keepalive_expiry=4.0)
    crowd = Crowd(pool, draw)
    monkeypatch.setattr(module, "_connect", crowd.connect)
    async with anyio.create_task_group() as tasks:
        scopes = [anyio.CancelScope() for _ in range(60)]
        for scope in scopes:
            tasks.start_soon(crowd.call, scope)
            await crowd.pause()
            if draw.random() < 0.3:
                draw.choice(scopes).cancel()
                if crowd.tasks:
                    draw.choice(crowd.tasks).cancel()
    return crowd.busiest, pool.use()
