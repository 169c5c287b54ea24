"""The inbox in PostgreSQL: how it comes into being, whose pool it uses, and what it says when the database is away."""

import asyncio
import socket
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway_async.postbacks import Claim, InboxError, PostbackState, PostgresInbox
from gateway_async.postbacks.inbox._mapping import row_of
from gateway_async.postbacks.inbox.store import _STORE_ROW
from tests.support.servers import POSTGRES, postgres_only
from tests.support.waiting import PATIENCE

from .inboxes import Store, change, opened

HANDLED = PostbackState.HANDLED
PASSWORD = "planted-82c1"
pytestmark = pytest.mark.anyio
pytest.importorskip("asyncpg")


@pytest.fixture
def anyio_backend() -> str:
    """PostgreSQL inboxes run on asyncio."""
    return "asyncio"


@pytest.fixture(params=[pytest.param("postgres", marks=postgres_only)])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Names for an inbox's tables."""
    async with opened(request.param, tmp_path) as made:
        yield made


async def test_one_of_eight_inboxes_makes_the_tables(store: Store) -> None:
    inboxes = [store.another() for _ in range(8)]
    news = await asyncio.gather(*(inbox.store(change(f"t{number}")) for number, inbox in enumerate(inboxes)))
    assert (news, len(await store.inbox.list())) == ([True] * 8, 8)


async def test_missing_tables(store: Store) -> None:
    """With `create=False` the error says that the tables do not exist, until they are created."""
    careful = store.another(create=False)
    with pytest.raises(InboxError, match="there is no such table"):
        await careful.list()
    await store.inbox.store(change())
    assert len(await careful.list()) == 1


async def test_own_pool(store: Store) -> None:
    """A pool of the user's is used with any default isolation level, and left open."""
    import asyncpg

    settings = {"default_transaction_isolation": "serializable"}
    async with asyncpg.create_pool(POSTGRES, min_size=1, max_size=4, server_settings=settings) as pool:
        inbox = PostgresInbox(pool, table=store.table)
        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(inbox.store, change("t1", number))
        (claim,) = await inbox.claim(10, 60)
        assert await inbox.complete(claim, HANDLED) is True
        await inbox.aclose()
        assert await pool.fetchval("SELECT 1") == 1
        assert repr(inbox) == f"PostgresInbox('of a PostgreSQL pool ({store.table})')"


async def test_deferred_constraint(store: Store) -> None:
    """Amounts are the database's numbers; what is wrong at the commit only is the handler's failure as well."""
    await store.make_effects()
    await store.ask("ALTER TABLE {effects} ADD amount numeric, ADD UNIQUE (amount) DEFERRABLE INITIALLY DEFERRED")
    await store.inbox.store(change())
    (claim,) = await store.inbox.claim(1, 60)
    write = (store.named("INSERT INTO {effects} (amount) VALUES (?)"), (Decimal("12.50"),))
    with pytest.raises(Exception, match="duplicate key"):
        await store.inbox.complete(claim, HANDLED, [write, write])
    assert await store.inbox.complete(claim, HANDLED, [write]) is True
    assert await store.ask("SELECT amount FROM {effects}") == [(Decimal("12.50"),)]


async def test_undeletable(store: Store) -> None:
    """A table of the user's own may refer to postbacks: they stay, and the next one is claimed."""
    await store.make_effects()
    await store.ask("ALTER TABLE {effects} ADD number bigint REFERENCES {inbox}")
    await store.inbox.store(change("t1"))
    (claim,) = await store.inbox.claim(1, 60)
    await store.inbox.complete(claim, HANDLED)
    await store.ask("INSERT INTO {effects} (number) VALUES (?)", claim.number)
    await store.ask("UPDATE {inbox} SET ended_at = ended_at - interval '8 days'")
    await store.inbox.store(change("t2"))
    later = store.another(keep_days=7)
    assert [claim.number for claim in await later.claim(1, 60)] == [2]
    assert len(await later.list()) == 2


async def test_ended_transaction(store: Store) -> None:
    """A handler that ends the transaction is cancelled, and its postback is not handled."""
    await store.inbox.store(change())
    (claim,) = await store.inbox.claim(1, 60)
    with pytest.raises(RuntimeError, match="COMMIT: a handler's statement must not end the transaction"):
        await store.inbox.complete(claim, HANDLED, [("COMMIT", ())])
    assert [stored.state for stored in await store.inbox.list()] == [PostbackState.WAITING]


async def test_contention(store: Store) -> None:
    """Storing, claiming, finishing and replaying from four inboxes at once ends with all handled."""
    inboxes = [store.another() for _ in range(4)]
    done: list[tuple[str, int]] = []

    async def put(number: int, inbox: Any) -> None:
        for step in range(40):
            await inbox.store(change(f"t{step % 3}", number * 100 + step))

    async def work(inbox: Any) -> None:
        idle = 0
        while idle < 10:
            claims = await inbox.claim(2, 60)
            idle = 0 if claims else idle + 1
            for claim in claims:
                assert await inbox.complete(claim, HANDLED)
                done.append((claim.postback.record_id, claim.number))
                if claim.number % 10 == 0 and claim.attempt == 1 and idle == 0:
                    await inbox.replay(claim.number + 1)
            await asyncio.sleep(0.01 * (not claims))

    async with anyio.create_task_group() as tasks:
        for number, inbox in enumerate(inboxes):
            tasks.start_soon(put, number, inbox)
            tasks.start_soon(work, inbox)
    stored_postbacks = await store.inbox.list()
    assert (len(stored_postbacks), {stored.state for stored in stored_postbacks}) == (160, {HANDLED})
    assert {number for _, number in done} == {stored.number for stored in stored_postbacks}


async def test_late_put(store: Store) -> None:
    """A postback stored while the last of its record ends is handed out next."""
    import asyncpg

    await store.inbox.store(change("t1", 1))
    (claim,) = await store.inbox.claim(1, 60)
    row = row_of(change("t1", 2))
    connection = await asyncpg.connect(POSTGRES)
    async with anyio.create_task_group() as tasks, connection.transaction():
        store_sql = _STORE_ROW.replace("@", store.table).replace(":now", "now()")
        await connection.execute(store_sql, row.key, row.ordering_key, row.deletes, row.modified, row.content)
        tasks.start_soon(store.inbox.fail, claim, "", None)
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{inbox}_keys%'"
        with anyio.fail_after(PATIENCE):
            while not await store.ask(waiting):
                await anyio.sleep(0.01)
    await connection.close()
    (claim,) = await store.inbox.claim(1, 60)
    assert claim.postback.raw["modified_ts"] == 2


# --- when it is away


async def test_database_away() -> None:
    """One error, which shows the address and no password; the next call tries again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        inbox = PostgresInbox(f"postgresql://shop:{PASSWORD}@{address}/shop")
        for attempt in (inbox.store(change()), inbox.claim(1, 60)):
            with pytest.raises(InboxError) as caught:
                await attempt
            assert str(caught.value).startswith(
                f"the inbox postgresql://{address}/shop (postback_inbox) cannot be used"
            )
            assert PASSWORD not in f"{caught.value}{inbox!r}"
    await inbox.aclose()


class ConfusedPool:
    """A pool whose connection was cut while it was in use, in a way that its driver did not expect."""

    def acquire(self, **_: Any) -> Any:
        """A connection that says so."""
        import asyncpg

        raise asyncpg.InternalClientError("cannot switch to state 15; another operation (2) is in progress")


async def test_driver_errors() -> None:
    """Every error of the driver is an `InboxError`; also for statements of handlers."""
    inbox = PostgresInbox(ConfusedPool())
    inbox._store.database._is_ready = True
    claim = Claim(number=1, postback=change(), lock_token="t", attempt=1, superseded=False)
    for asked in (inbox.store(change()), inbox.claim(1, 60), inbox.complete(claim, HANDLED, [("SELECT 1", ())])):
        with pytest.raises(InboxError, match="another operation"):
            await asked


async def test_broken_connections(store: Store) -> None:
    """A connection that the server ends is an `InboxError`; the next call gets a new connection."""
    await store.inbox.store(change())
    (claim,) = await store.inbox.claim(1, 60)
    with pytest.raises(InboxError):
        await store.inbox.complete(claim, HANDLED, [("SELECT pg_terminate_backend(pg_backend_pid())", ())])
    assert await store.inbox.complete(claim, HANDLED) is True


def test_on_trio() -> None:
    """The error names the event loop that is needed."""
    inbox = PostgresInbox("postgresql://127.0.0.1/shop")

    async def put() -> None:
        await inbox.store(change())

    with pytest.raises(RuntimeError, match="PostgresInbox needs asyncio"):
        anyio.run(put, backend="trio")
