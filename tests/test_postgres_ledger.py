"""The ledger in PostgreSQL: which calls each process may recover, and what happens when a connection drops."""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest

from gateway_async import LedgerError, PostgresLedger
from gateway_async._storage import backends
from gateway_async._storage.postgres import read_committed
from gateway_async.ledger import store as ledger_store
from tests.support.intents import BARE, NOON, SALE
from tests.support.killed_programs import ids_kept_until_killed
from tests.support.ledgers import LedgerStore, disconnect
from tests.support.servers import POSTGRES, postgres_only
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LedgerStore]:
    """A table for ledgers, which is dropped in the end."""
    made = LedgerStore("postgres", tmp_path)
    yield made
    made.drop()


@postgres_only
async def test_connected_process(store: LedgerStore) -> None:
    """Another process sees its calls only at their terminal; when its ledger is closed, it sees all of them."""
    one, other = store.ledger(), store.ledger()
    await one.record_intent(SALE)
    await other.record_intent(BARE)
    assert list(await one.open_intents()) == [SALE]
    assert list(await other.open_intents()) == [BARE]
    assert list(await other.open_intents("till")) == [SALE]
    await one.aclose()
    assert list(await other.open_intents()) == [SALE, BARE]
    await other.aclose()


@postgres_only
async def test_ended_calls(store: LedgerStore) -> None:
    """All processes see them, by the database's clock and the longest time of a call, whatever their own clock said."""
    one, other = store.ledger(), store.ledger()
    ended = attrs.evolve(SALE, conclusive_at=NOON + timedelta(microseconds=1))
    await one.record_intent(ended)
    await one.record_intent(BARE)
    assert list(await other.open_intents()) == [ended]
    await one.aclose()
    await other.aclose()


@postgres_only
async def test_crash(store: LedgerStore) -> None:
    """The intents of a killed process are seen, and none counts as orphaned: no host can know that of another."""
    ids_kept_until_killed(store.source, 5)
    ledger = store.ledger()
    with anyio.fail_after(PATIENCE):
        while not (intents := await ledger.open_intents()):
            await anyio.sleep(0.01)
    assert {intent.orphaned for intent in intents} == {False}
    await ledger.aclose()


@postgres_only
async def test_dropped_connection(store: LedgerStore) -> None:
    """Others see the open intents until the next write connects again; that write succeeds."""
    one, other = store.ledger(), store.ledger()
    await one.record_intent(SALE)
    assert list(await other.open_intents()) == []
    disconnect(store.table)
    assert list(await other.open_intents()) == [SALE]
    await one.record_outcome("nobody", "done")
    await one.record_intent(BARE)
    assert list(await other.open_intents()) == []
    assert list(await one.open_intents()) == [SALE, BARE]
    await one.aclose()
    await other.aclose()


@postgres_only
async def test_lost_commit(store: LedgerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit whose response is lost is repeated without effect on a new connection."""
    lost: list[Any] = []

    @asynccontextmanager
    async def lose_the_first(connection: Any) -> AsyncIterator[None]:
        async with read_committed(connection):
            yield
        if not lost:
            lost.append(connection)
            connection.terminate()
            raise ConnectionResetError

    ledger = store.ledger()
    await ledger.record_intent(SALE)
    monkeypatch.setattr(backends, "read_committed", lose_the_first)
    await ledger.record_outcome(SALE.id, "done", "r1")
    await ledger.record_intent(BARE)
    assert len(lost) == 1
    assert list(await ledger.open_intents()) == [BARE]
    assert store.outcomes() == {SALE.id: ("done", "r1"), BARE.id: (None, None)}
    await ledger.aclose()


@postgres_only
@pytest.mark.parametrize(
    ("state", "reason"),
    [
        pytest.param("1 / (SELECT 1 - count(*) FROM @)", "division by zero", id="without its lock"),
        pytest.param(
            "set_config('default_transaction_read_only', (SELECT count(*) FROM @)::text, false)",
            "read-only transaction",
            id="to a server that became a standby",
        ),
    ],
)
async def test_read_only(store: LedgerStore, monkeypatch: pytest.MonkeyPatch, state: str, reason: str) -> None:
    """A connection that cannot write is replaced by the next write, and the new one has its lock."""
    first = store.ledger()
    await first.record_intent(BARE)
    await first.aclose()
    monkeypatch.setattr(ledger_store, "_LOCK", f"{ledger_store._LOCK.rstrip()}, {state}".replace("@", store.table))
    ledger = store.ledger()
    with pytest.raises(LedgerError, match=reason):
        await ledger.record_intent(SALE)
    store.ask("DELETE FROM @")
    await ledger.record_intent(SALE)
    assert list(await ledger.open_intents()) == [SALE]
    await ledger.aclose()


@postgres_only
async def test_synchronous_commit(store: LedgerStore) -> None:
    """A session of a database with `synchronous_commit = off` waits for the disk."""
    ledger = PostgresLedger(f"{POSTGRES}?options=-csynchronous_commit%3Doff", table=store.table)
    await ledger.record_intent(SALE)
    connection = ledger._store.writer._backend._connection  # type: ignore[union-attr]
    setting = ledger._store.writer._backend._runner  # type: ignore[union-attr]
    shown = await anyio.to_thread.run_sync(lambda: setting.run(connection.fetchval("SHOW synchronous_commit")))
    assert shown == "on"
    await ledger.aclose()


@postgres_only
async def test_missing_table(store: LedgerStore) -> None:
    """With `create=False`, nothing is stored until it exists."""
    ledger = store.ledger(create=False)
    with pytest.raises(LedgerError, match="there is no such table"):
        await ledger.record_intent(SALE)
    await store.ledger().open_intents()
    await ledger.record_intent(SALE)
    assert list(await ledger.open_intents()) == [SALE]
    await ledger.aclose()


async def test_silent_database() -> None:
    """The error names the database without its password; closing does not wait for it."""
    ledger = PostgresLedger("postgresql://someone:hush@127.0.0.1:1/shop")
    with pytest.raises(LedgerError, match=r"127\.0\.0\.1:1/shop \(payment_ledger\) cannot be used") as caught:
        await ledger.record_intent(SALE)
    assert "hush" not in f"{caught.value}{ledger!r}"
    await ledger.aclose()


def test_missing_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra when the ledger is made, not when the first payment is."""
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(ModuleNotFoundError, match=r"PostgresLedger needs an extra: pip install 'gateway-async\[post"):
        PostgresLedger("postgresql://127.0.0.1/shop")
