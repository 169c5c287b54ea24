"""The worker: what it has handled, how often, in which order, and what it does when something breaks."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway_async.models.postbacks import Postback
from gateway_async.postbacks import Claim, InboxError, PostbackState, SqliteInbox
from gateway_async.postbacks.worker import Worker
from tests.support.sqlite_files import ask_sqlite
from tests.support.waiting import PATIENCE, until

from .inboxes import change, states

WAITING, HANDLED, SUPERSEDED, DEAD, _ = PostbackState
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
CARD = "4111111111111111"
pytestmark = pytest.mark.anyio


class Clock:
    """A clock that advances when a test advances it."""

    def __init__(self) -> None:
        self.seconds = NOON.timestamp()

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.seconds


class BrokenInbox(SqliteInbox):
    """An inbox that cannot be used as long as it is broken; it counts how often it was asked in vain."""

    broken: frozenset[str] = frozenset()
    failures = 0

    def on_claim(self) -> None:
        """Run when claims are requested."""

    async def _or_fail(self, name: str, operation: Awaitable[Any]) -> Any:
        result = await operation
        if name in self.broken:
            self.failures += 1
            raise InboxError("inbox.db", "the disk is full")
        return result

    async def claim(self, limit: int, seconds: float) -> Sequence[Claim]:
        """Fail after it was done, as a database whose response is lost."""
        self.on_claim()
        claims: Sequence[Claim] = await self._or_fail("claim", super().claim(limit, seconds))
        return claims

    async def complete(self, claim: Claim, state: PostbackState, statements: Any = ()) -> bool:
        """Fail before."""
        await self._or_fail("complete", anyio.lowlevel.checkpoint())
        return await super().complete(claim, state, statements)


class Shop:
    """Handlers that note what they receive; one may do more."""

    def __init__(self, more: Callable[[Postback[Any]], Awaitable[object]] | None = None) -> None:
        self.received: list[tuple[str, int, bool]] = []
        self.busy = 0
        self.busiest = 0
        self._more = more
        self.heard = anyio.Event()

    async def handle(self, postback: Postback[Any], superseded: bool) -> None:
        """Note it."""
        self.received.append((postback.record_id, postback.raw["modified_ts"], superseded))
        self.heard.set()
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            if self._more:
                await self._more(postback)
        finally:
            self.busy -= 1


@pytest.fixture
def clock() -> Clock:
    """The inbox's time."""
    return Clock()


@pytest.fixture
async def inbox(tmp_path: Path, clock: Clock) -> AsyncIterator[BrokenInbox]:
    """An empty inbox that can be broken."""
    made = BrokenInbox(tmp_path / "inbox.db", now=clock)
    yield made
    await made.aclose()


async def fail(postback: Postback[Any]) -> None:
    """Raise what a handler should not raise."""
    raise KeyError(f"no order for card {CARD} of {postback.record_id}")


def worker(inbox: SqliteInbox, shop: Shop, **options: Any) -> Worker:
    """A worker without chance that asks again after a moment."""
    return Worker(inbox, shop.handle, **{"chance": lambda: 1.0, "poll_seconds": 0.01, **options})


@asynccontextmanager
async def at_work(*workers: Worker) -> AsyncIterator[None]:
    """Let workers handle postbacks during the block."""
    async with anyio.create_task_group() as tasks:
        for each in workers:
            tasks.start_soon(each.work)
        yield
        tasks.cancel_scope.cancel()


async def put(inbox: SqliteInbox, *postbacks: Postback[Any]) -> None:
    for postback in postbacks:
        await inbox.store(postback)


# --- what is handled


async def test_due_postbacks(inbox: BrokenInbox) -> None:
    """Each is handled once, those of a record in order, with the flag that a newer state was handled before."""
    shop = Shop()
    await put(inbox, change("t1", 2), change("t2", 1), change("t1", 1), change("t1", 3))
    await worker(inbox, shop).work(until_empty=True)
    assert sorted(shop.received) == [("t1", 1, True), ("t1", 2, False), ("t1", 3, False), ("t2", 1, False)]
    assert [modified for record, modified, _ in shop.received if record == "t1"] == [2, 1, 3]
    assert [state for *_, state in await states(inbox)] == [HANDLED, HANDLED, SUPERSEDED, HANDLED]


async def test_concurrency(inbox: BrokenInbox) -> None:
    """Handlers that wait for each other come together; two of a record never do."""
    shop: Shop
    together = anyio.Event()

    async def wait(postback: Postback[Any]) -> None:
        if shop.busy == 3:
            together.set()
        with anyio.fail_after(PATIENCE):
            await together.wait()
        running = [record for record, *_ in shop.received[-shop.busy :]]
        assert len(running) == len(set(running))

    shop = Shop(wait)
    await put(inbox, *(change(f"t{number % 5}", number) for number in range(20)))
    await worker(inbox, shop, concurrency=3).work(until_empty=True)
    assert (len(shop.received), shop.busiest) == (20, 3)


async def test_a_record_does_not_wait_for_another(inbox: BrokenInbox) -> None:
    release = anyio.Event()

    async def wait(postback: Postback[Any]) -> None:
        if postback.record_id == "slow":
            await release.wait()

    shop = Shop(wait)
    await put(inbox, change("slow", 1), change("slow", 2), *(change("t1", number) for number in range(10)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(worker(inbox, shop, concurrency=2).work, until_empty=True))
        await until(lambda: len(shop.received) == 11)
        assert ("slow", 2, False) not in shop.received
        release.set()
    assert len(shop.received) == 12


async def test_notification(inbox: BrokenInbox) -> None:
    """A stored postback is handled at once: the worker is notified, and does not wait for its next query."""
    shop = Shop()
    busy = worker(inbox, shop, poll_seconds=3600)
    async with at_work(busy):
        await anyio.sleep(0.1)
        assert busy.is_running
        await inbox.store(change())
        busy.notify()
        await until(lambda: len(shop.received) == 1)
    assert not busy.is_running


async def test_the_worker_queries_the_inbox_at_intervals(inbox: BrokenInbox) -> None:
    shop = Shop()
    async with at_work(worker(inbox, shop)):
        await anyio.sleep(0.05)
        await inbox.store(change())
        await until(lambda: len(shop.received) == 1)


async def test_released_record(inbox: BrokenInbox) -> None:
    """A waiting postback is handled as soon as there is room, or its record is free; not only at the next query."""
    shop = Shop()
    await put(inbox, *(change(f"t{number % 2}", number) for number in range(6)))
    with anyio.fail_after(PATIENCE):
        await worker(inbox, shop, concurrency=1, poll_seconds=3600).work(until_empty=True)
    assert len(shop.received) == 6


async def test_two_workers(inbox: BrokenInbox) -> None:
    """Two workers share the postbacks, and both end when nothing is left."""
    shop = Shop()
    busy = worker(inbox, shop)
    await put(inbox, *(change(f"t{number}") for number in range(50)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(busy.work, until_empty=True))
        tasks.start_soon(partial(busy.work, until_empty=True))
    assert len(shop.received) == len(set(shop.received)) == 50


async def test_writes(inbox: BrokenInbox, tmp_path: Path) -> None:
    """A statement takes effect when the postback is handled, and not when a handler fails."""

    async def write(postback: Postback[Any]) -> None:
        postback.execute("INSERT INTO effects VALUES (?)", postback.record_id)
        if postback.record_id == "bad":
            await fail(postback)

    await put(inbox, change("good"), change("bad"))
    path = str(tmp_path / "inbox.db")
    ask_sqlite(path, "CREATE TABLE effects (record)")
    await worker(inbox, Shop(write)).work(until_empty=True)
    assert ask_sqlite(path, "SELECT record FROM effects") == [("good",)]


# --- what fails


@pytest.mark.parametrize(("chance", "pauses"), [(0.0, [0.5, 1, 2]), (1.0, [1, 2, 4])])
async def test_pauses(inbox: BrokenInbox, clock: Clock, chance: float, pauses: list[float]) -> None:
    """A pause is half to the whole of 1, 2, 4 seconds, at random; later postbacks of the record wait as long."""
    shop = Shop(fail)
    await put(inbox, change("t1", 1), change("t1", 2))
    for pause in pauses:
        await worker(inbox, shop, chance=lambda: chance).work(until_empty=True)
        stored, _ = await inbox.list()
        assert stored.due_at == datetime.fromtimestamp(clock.seconds, UTC) + timedelta(seconds=pause)
        clock.seconds += pause
    assert shop.received == [("t1", 1, False)] * 3


async def test_a_pause_is_an_hour_at_most(inbox: BrokenInbox, clock: Clock) -> None:
    shop = Shop(fail)
    await inbox.store(change())
    for _ in range(20):
        await worker(inbox, shop, max_attempts=100).work(until_empty=True)
        (stored,) = await inbox.list()
        assert stored.due_at
        pause = stored.due_at.timestamp() - clock.seconds
        clock.seconds += pause
    assert (len(shop.received), pause) == (20, 3600)


async def test_dead(inbox: BrokenInbox, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """A dead postback is logged and kept; the next of its record is handled. No card number or body is shown."""

    async def fail_first(postback: Postback[Any]) -> None:
        if postback.raw["modified_ts"] == 1:
            await fail(postback)

    shop = Shop(fail_first)
    await put(inbox, change("t1", 1, note="planted-body"), change("t1", 2))
    with caplog.at_level(logging.DEBUG):
        for _ in range(3):
            await worker(inbox, shop, max_attempts=3).work(until_empty=True)
            clock.seconds += 10
    assert shop.received == [("t1", 1, False)] * 3 + [("t1", 2, False)]
    assert await states(inbox) == [("t1", 1, DEAD), ("t1", 2, HANDLED)]
    (stored,) = await inbox.list(DEAD)
    assert stored.error == "KeyError: 'no order for card ************1111 of t1'"
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "ERROR"]
    assert "is dead after 3 attempts, number 1 of the inbox" in caplog.text
    assert "in fail" in caplog.text
    assert CARD not in caplog.text
    assert "planted-body" not in caplog.text


async def write_nowhere(postback: Postback[Any]) -> None:
    """Pass on a statement that fails."""
    postback.execute("INSERT INTO nowhere VALUES (1)")


async def hang(postback: Postback[Any]) -> None:
    """Never end."""
    await anyio.sleep_forever()


async def run_out(postback: Postback[Any]) -> None:
    """Cancel what it waits for."""
    with anyio.fail_after(0):
        await anyio.sleep_forever()


async def miss_a_file(postback: Postback[Any]) -> None:
    """Fail with a file name that is not UTF-8, as Python reads it."""
    raise FileNotFoundError("caf\udce9.csv")


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        (miss_a_file, "FileNotFoundError: caf?.csv"),
        (write_nowhere, "OperationalError: no such table: nowhere"),
        (hang, "TimeoutError: the handlers took longer than 0.2 seconds"),
        (run_out, "TimeoutError: "),
    ],
)
async def test_retries(inbox: BrokenInbox, handler: Any, error: str) -> None:
    """A handler is called again when its error cannot be stored, a statement fails or the time is over."""
    await inbox.store(change())
    await worker(inbox, Shop(handler), handler_seconds=0.2).work(until_empty=True)
    (stored,) = await inbox.list()
    assert (stored.state, stored.attempts, stored.error) == (WAITING, 1, error)


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_self_cancellation(inbox: BrokenInbox) -> None:
    """The handler has failed, and is called again after a pause."""

    async def cancel(postback: Postback[Any]) -> None:
        raise asyncio.CancelledError

    await inbox.store(change())
    await worker(inbox, Shop(cancel)).work(until_empty=True)
    (stored,) = await inbox.list()
    assert (stored.state, stored.attempts, stored.error) == (WAITING, 1, "RuntimeError: a handler cancelled itself")


async def test_killed_process(inbox: BrokenInbox, clock: Clock) -> None:
    """A postback that kills its process, claimed again and again and never ended, is not handled for ever."""
    shop = Shop()
    await inbox.store(change())
    for _ in range(3):
        assert len(await inbox.claim(1, 60)) == 1
        clock.seconds += 60
    await worker(inbox, shop, max_attempts=3).work(until_empty=True)
    (stored,) = await inbox.list()
    assert (shop.received, stored.state) == ([], DEAD)
    assert "process ended during every attempt" in stored.error


# --- when it ends


async def test_cancellation(inbox: BrokenInbox) -> None:
    """A cancelled worker gives its postback back: due at once, and no attempt is counted."""
    shop = Shop(lambda _: anyio.sleep_forever())
    await put(inbox, change("t1"), change("t2"), change("t3"))
    async with at_work(worker(inbox, shop, concurrency=2)):
        await until(lambda: len(shop.received) == 2)
    assert [stored.attempts for stored in await inbox.list()] == [0, 0, 0]
    await worker(inbox, again := Shop()).work(until_empty=True)
    assert len(again.received) == 3


async def test_late_claim(inbox: BrokenInbox) -> None:
    """A worker that is cancelled while the inbox hands out something takes it, and gives it back."""
    await inbox.store(change())
    with anyio.CancelScope() as scope:
        inbox.on_claim = scope.cancel  # type: ignore[method-assign]
        await worker(inbox, Shop(lambda _: anyio.sleep_forever())).work()
    assert [stored.attempts for stored in await inbox.list()] == [0]


async def test_late_success(inbox: BrokenInbox) -> None:
    """A worker that is cancelled the moment a handler succeeds does not have it handled twice."""
    with anyio.CancelScope() as scope:

        async def end(postback: Postback[Any]) -> None:
            scope.cancel()

        await put(inbox, change())
        await worker(inbox, Shop(end)).work()
    assert [state for *_, state in await states(inbox)] == [HANDLED]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_exit(tmp_path: Path, backend: str) -> None:
    """A handler that ends the program does so; its postback and all others are released."""

    async def main() -> None:
        both = anyio.Event()

        async def stop(postback: Postback[Any]) -> None:
            if postback.record_id == "t1":
                await both.wait()
                raise SystemExit(7)
            both.set()
            await anyio.sleep_forever()

        inbox = SqliteInbox(tmp_path / "inbox.db")
        await put(inbox, change("t1"), change("t2"))
        await worker(inbox, Shop(stop)).work()

    with pytest.raises(BaseException) as ended:  # noqa: PT011  the exception, or a group of it
        anyio.run(main, backend=backend)
    assert isinstance(ended.value, SystemExit) or ended.group_contains(SystemExit)
    question = "SELECT state, attempts, token IS NULL FROM postback_inbox JOIN postback_inbox_keys USING (ordering_key)"

    async def given_back() -> None:  # the inbox's own thread may need a moment more than its event loop had
        await until(lambda: ask_sqlite(str(tmp_path / "inbox.db"), question) == [("waiting", 0, 1)] * 2)

    anyio.run(given_back)


async def test_prolonged_claim(tmp_path: Path) -> None:
    """While the handler runs, no other worker gets its postback, however short a claim is."""
    inboxes = [SqliteInbox(tmp_path / "inbox.db") for _ in range(2)]
    shop = Shop(lambda _: anyio.sleep(1.2))
    await inboxes[0].store(change())
    async with at_work(*(worker(inbox, shop, lease_seconds=0.4, poll_seconds=0.05) for inbox in inboxes)):
        await until(lambda: len(shop.received) == 1)
        await anyio.sleep(1.5)
    assert shop.received == [("t1", 1, False)]
    assert [state for *_, state in await states(inboxes[0])] == [HANDLED]
    for inbox in inboxes:
        await inbox.aclose()


async def test_late_handler(inbox: BrokenInbox, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """Another worker has claimed it meanwhile: nothing is written twice, and the log says so."""

    async def oversleep(postback: Postback[Any]) -> None:
        clock.seconds += 60
        assert len(await inbox.claim(1, 60)) == 1

    await inbox.store(change())
    await worker(inbox, Shop(oversleep)).work(until_empty=True)
    (stored,) = await inbox.list()
    assert (stored.state, stored.attempts) == (WAITING, 2)
    assert "claim expired while" in caplog.text


# --- when the inbox cannot be used


async def test_broken_inbox(inbox: BrokenInbox, caplog: pytest.LogCaptureFixture) -> None:
    """A worker waits until the inbox can be used, and logs the failure once and the recovery once."""
    shop = Shop()
    inbox.broken = frozenset({"claim"})
    with caplog.at_level(logging.INFO, "gateway_async"):
        async with at_work(worker(inbox, shop)):
            await until(lambda: inbox.failures > 3)
            inbox.broken = frozenset()
            await inbox.store(change())
            await until(lambda: len(shop.received) == 1)
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]
    assert "the disk is full" in caplog.text


async def test_delayed_note(inbox: BrokenInbox) -> None:
    """A success is noted when the inbox can be used again, and the handler is not called meanwhile."""
    shop = Shop()
    inbox.broken = frozenset({"complete"})
    await inbox.store(change())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(worker(inbox, shop).work, until_empty=True))
        await until(lambda: inbox.failures > 3)
        inbox.broken = frozenset()
    assert len(shop.received) == 1
    assert [state for *_, state in await states(inbox)] == [HANDLED]


async def test_until_empty(inbox: BrokenInbox) -> None:
    """With a broken inbox the caller of `work` gets the error instead of a wait."""
    inbox.broken = frozenset({"claim"})
    with pytest.raises(InboxError, match="the disk is full"):
        await worker(inbox, Shop()).work(until_empty=True)


# --- a claim that runs out while its handler is still at work


async def test_stopped_process(inbox: BrokenInbox, clock: Clock) -> None:
    """A process stopped for longer than a lease handles its postback once, if no other worker claimed it."""
    release = anyio.Event()
    shop = Shop(lambda _: release.wait())
    await put(inbox, change("t1", 1))
    async with at_work(worker(inbox, shop)):
        await shop.heard.wait()
        clock.seconds += 61
        await anyio.sleep(0.1)  # it asks what is due, and gets what it has in hand
        release.set()
        await until_in(inbox, HANDLED)
    assert shop.received == [("t1", 1, False)]


async def test_renewed_claim(inbox: BrokenInbox, clock: Clock) -> None:
    """A success noted after the database was away for longer than a lease is noted, and once."""
    shop = Shop()
    inbox.broken = frozenset({"complete"})
    await put(inbox, change("t1", 1))
    async with at_work(worker(inbox, shop)):
        await until(lambda: inbox.failures > 1)
        clock.seconds += 61
        await anyio.sleep(0.1)
        inbox.broken = frozenset()
        await until_in(inbox, HANDLED)
    assert shop.received == [("t1", 1, False)]


async def until_in(inbox: SqliteInbox, state: PostbackState) -> None:
    """Wait a moment until all is in a state."""
    with anyio.fail_after(PATIENCE):
        while {stored.state for stored in await inbox.list()} != {state}:
            await anyio.sleep(0.005)
