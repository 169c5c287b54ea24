"""`receiver.health()`: what a receiver has done, and what waits in its inbox, in each kind of inbox."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway_async.postbacks import InboxHealth, Postback, PostbackState, ReceiverHealth, SqliteInbox
from tests.support.servers import KINDS

from .inboxes import Store, change, empty_store
from .postback_requests import HEADERS, MemoryInbox, chunks, form, receiver

MINUTE = 60.0


store = pytest.fixture(empty_store)


@pytest.mark.anyio
async def test_states(store: Store) -> None:
    """Waiting includes what is in progress and what is retried; handled and discarded ones are not counted."""
    inbox = store.inbox
    for record in ("handled", "dead", "discarded", "retried", "claimed"):
        await inbox.store(change(record))
    handled, dead, discarded, retried, _ = await inbox.claim(5, MINUTE)
    await inbox.complete(handled, PostbackState.HANDLED)
    await inbox.fail(dead, "broken", None)
    await inbox.fail(discarded, "broken", None)
    await inbox.discard(discarded.number)
    await inbox.fail(retried, "broken", MINUTE)
    await inbox.store(change("new"))
    health = await inbox.health()
    assert (health.waiting, health.in_progress, health.retrying, health.dead) == (3, 1, 1, 1)


@pytest.mark.anyio
async def test_expired_claim(store: Store) -> None:
    """The process of the claim may be dead, and its postback is due again."""
    await store.inbox.store(change())
    await store.inbox.claim(1, 0.0)
    health = await store.inbox.health()
    assert (health.waiting, health.in_progress) == (1, 0)


@pytest.mark.anyio
async def test_age(store: Store) -> None:
    """The oldest waiting postback has an age; handled ones have none, however old they are."""
    empty = InboxHealth(waiting=0, in_progress=0, retrying=0, dead=0, oldest_seconds=None)
    assert await store.inbox.health() == empty
    for record in ("first", "second"):
        await store.inbox.store(change(record))
    await set_age(store, "first", 7200)
    await set_age(store, "second", 600)
    assert (await store.inbox.health()).oldest_seconds == pytest.approx(7200, abs=60)
    for expected in (pytest.approx(600, abs=60), None):
        (claim,) = await store.inbox.claim(1, MINUTE)
        await store.inbox.complete(claim, PostbackState.HANDLED)
        assert (await store.inbox.health()).oldest_seconds == expected


@pytest.mark.anyio
async def test_other_process(store: Store) -> None:
    """The inbox is counted in its database, and not in the memory of this process."""
    await store.another().store(change())
    shop = receiver(inbox=store.inbox)
    health = await shop.health()
    assert health.inbox is not None
    assert (health.inbox.waiting, health.is_working, health.handled) == (1, False, 0)


@pytest.mark.anyio
async def test_results(store: Store) -> None:
    """One postback is handled, and one fails and is dead."""
    shop = receiver(inbox=store.inbox, max_attempts=1)

    @shop.on()
    async def handle(postback: Postback[Any]) -> None:
        if postback.record_id == "bad":
            raise ValueError("bad record")

    started = datetime.now(UTC)
    for record in ("good", "bad"):
        await shop.accept(change(record))
    await shop.work(until_empty=True)
    health = await shop.health()
    assert (health.handled, health.failed, health.responses) == (1, 1, {})
    assert health.last_handled_at is not None
    assert started <= health.last_handled_at <= datetime.now(UTC)
    assert health.inbox == InboxHealth(waiting=0, in_progress=0, retrying=0, dead=1, oldest_seconds=None)


@pytest.mark.anyio
async def test_the_postback_of_a_running_handler_is_in_progress(store: Store) -> None:
    shop = receiver(inbox=store.inbox)
    seen: list[ReceiverHealth] = []

    @shop.on()
    async def handle(_: Postback[Any]) -> None:
        seen.append(await shop.health())

    await shop.accept(change())
    await shop.work(until_empty=True)
    (health,) = seen
    assert health.inbox is not None
    assert (health.is_working, health.inbox.waiting, health.inbox.in_progress) == (True, 1, 1)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
class TestWithoutDatabase:
    """Behavior that no database decides."""

    async def test_responses(self) -> None:
        """Without an inbox, a postback is handled before its response, which is 500 after a failure."""
        shop = receiver()

        @shop.on()
        async def handle(_: Postback[Any]) -> None:
            if (await shop.health()).last_handled_at is None:
                return
            raise ValueError("broken")

        for method, headers in (("POST", HEADERS), ("POST", HEADERS), ("GET", HEADERS), ("POST", {})):
            await shop.receive(method, headers, chunks(form()))
        health = await shop.health()
        assert health.responses == {204: 1, 500: 1, 405: 1, 401: 1}
        assert (health.accepted, health.rejected, health.handled, health.failed) == (1, 3, 1, 1)
        assert (health.inbox, health.inbox_problem) == (None, None)

    async def test_unreadable_inbox(self, tmp_path: Path) -> None:
        """Nothing is raised: a health page shows the problem."""
        health = await receiver(inbox=SqliteInbox(tmp_path / "missing" / "inbox.db")).health()
        assert health.inbox is None
        assert health.inbox_problem is not None
        assert "missing" in health.inbox_problem

    async def test_raising_inbox(self) -> None:
        """An inbox of the user may raise anything; card numbers in it are masked."""

        class BrokenInbox(MemoryInbox):
            async def health(self) -> InboxHealth:
                raise ValueError("row 4111111111111111")

        health = await receiver(inbox=BrokenInbox()).health()
        assert (health.inbox, health.inbox_problem) == (None, "ValueError: row ************1111")

    async def test_the_time_limit_ends_the_wait_for_an_inbox(self) -> None:
        class HangingInbox(MemoryInbox):
            async def health(self) -> InboxHealth:
                await anyio.sleep_forever()
                raise AssertionError

        health = await receiver(inbox=HangingInbox()).health(timeout=0.001)
        assert (health.inbox, health.inbox_problem) == (None, "no response within 0.001 s")


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "anyio_backend"), KINDS[:1])
async def test_query_plan(store: Store) -> None:
    """Every part of the query searches an index, so that handled postbacks are not scanned."""
    from gateway_async._storage.dialect import translate
    from gateway_async.postbacks.inbox._operations import _READ_HEALTH
    from gateway_async.postbacks.inbox.store import _FORMAT

    await store.inbox.list()
    query = translate(_READ_HEALTH, _FORMAT.marks).replace(":now", "0")
    plan = [str(row[-1]) for row in await store.ask(f"EXPLAIN QUERY PLAN {query}")]
    assert [line for line in plan if line.startswith("SCAN") and line != "SCAN later"] == []
    assert sum("INDEX" in line for line in plan) == 4


async def set_age(store: Store, record: str, seconds: int) -> None:
    """Set when a postback was stored, to some seconds ago."""
    moment = "received_at - ?" if store.is_file else "received_at - make_interval(secs => ?)"
    key = f"transaction {record}"
    await store.ask(f"UPDATE {{inbox}} SET received_at = {moment} WHERE ordering_key = ?", seconds, key)  # noqa: S608
