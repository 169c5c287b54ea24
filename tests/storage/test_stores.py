"""One store, written once, on SQLite and on PostgreSQL: what holds for the ledger, the inbox and the journal."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import anyio
import attrs
import pytest

from gateway_async import JournalError, LedgerError, PostgresLedger
from gateway_async._secrets import Secret
from gateway_async._storage import group_commit
from gateway_async._storage.backends import PostgresBackend, SqliteBackend
from gateway_async._storage.postgres import Database, check_dsn
from gateway_async._storage.sql import PooledStore, QueuedStore, Steps
from gateway_async._storage.sqlite import FileFormat
from gateway_async.migration import PostgresJournal
from gateway_async.postbacks import InboxError, PostgresInbox
from tests.support.ledgers import ask_postgres
from tests.support.servers import POSTGRES, postgres_only
from tests.support.sqlite_files import ask_sqlite, full_disk
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio
KINDS = [
    pytest.param("file", "asyncio", id="file-asyncio"),
    pytest.param("file", "trio", id="file-trio"),
    pytest.param("connection", "asyncio", id="connection-asyncio", marks=postgres_only),
    pytest.param("connection", "trio", id="connection-trio", marks=postgres_only),
    pytest.param("pool", "asyncio", id="pool-asyncio", marks=postgres_only),
]
"""Each kind of store, on each event loop that it runs on."""


@attrs.frozen
class Note:
    key: str
    text: str


ADD = """
INSERT INTO @ (key, text) SELECT given.* FROM jsonb_to_recordset($1::jsonb) AS given (key text, text text)
WHERE TRUE ORDER BY given.key COLLATE "C" ON CONFLICT (key) DO NOTHING
"""
READ = "SELECT key, text, :is_long AS is_long FROM @ WHERE key = ANY($1) ORDER BY key FOR UPDATE"


def add(notes: Sequence[Note]) -> Steps[Sequence[int]]:
    """Add notes; return how many were added together."""
    yield ADD, ([*notes],)
    return [len(notes)] * len(notes)


def read(*keys: str) -> Steps[dict[str, tuple[str, bool]]]:
    return {row["key"]: (row["text"], bool(row["is_long"])) for row in (yield READ, ([*keys],))}


def add_one(key: str, text: str) -> Steps[None]:
    yield ADD, ([Note(key, text)],)


def refuse(key: str) -> Steps[Exception | None]:
    """Return an error without having changed anything."""
    found = yield from read(key)
    return KeyError(key) if not found else None


def fail(key: str) -> Steps[None]:
    yield from add_one(key, "")
    yield "SELECT key FROM nowhere", ()


def select_nowhere() -> Steps[None]:
    yield "SELECT key FROM nowhere", ()


LONG = (":is_long", "length(text) > 5")
FILE_FORMAT = FileFormat(
    kind="a note",
    error=LedgerError,
    application_id=7,
    version=1,
    schema='CREATE TABLE @ (key text COLLATE "C" PRIMARY KEY, text text NOT NULL)',
    marks=(LONG, ("@", "notes")),
)


class Place:
    """A file or a table for stores of a kind."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.path = folder / "notes.db"
        self.table = f"notes_{token_hex(6)}"

    def open(self) -> QueuedStore | PooledStore:
        if self.kind == "file":
            return QueuedStore("notes", partial(SqliteBackend, self.path, FILE_FORMAT), LedgerError)
        database = Database(
            "Notes",
            check_dsn(Secret(POSTGRES), self.table),
            LedgerError,
            table=self.table,
            schema=FILE_FORMAT.schema,
            marks=(LONG,),
        )
        if self.kind == "pool":
            return PooledStore(database)
        return QueuedStore(
            "notes", lambda: PostgresBackend(database, ("SELECT $1::int", (1,)), add_nothing), LedgerError
        )

    def ask(self, sql: str) -> Sequence[Sequence[Any]]:
        sql = sql.replace("@", "notes" if self.kind == "file" else self.table)
        return ask_sqlite(self.path, sql) if self.kind == "file" else ask_postgres(sql)


def add_nothing() -> Steps[None]:
    yield "DELETE FROM @ WHERE FALSE", ()


@pytest.fixture
async def place(kind: str, tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(kind, tmp_path)
    yield made
    if made.kind != "file":
        made.ask("DROP TABLE IF EXISTS @")


@pytest.fixture
async def store(place: Place) -> AsyncIterator[QueuedStore | PooledStore]:
    """A store of each kind that is closed in the end."""
    made = place.open()
    yield made
    await made.aclose()


async def test_written_rows(place: Place, store: QueuedStore | PooledStore) -> None:
    """A row is read by its store and by another one, with the same types; a known key changes nothing."""
    await store.run(add_one, "a", "short")
    await store.run(add_one, "a", "other")
    assert await store.run(read, "a", "b") == {"a": ("short", False)}
    other = place.open()
    await other.run(add_one, "b", "longer")
    assert await store.read(read, "a", "b") == {"a": ("short", False), "b": ("longer", True)}
    await other.aclose()


async def test_values_are_merged(store: QueuedStore | PooledStore) -> None:
    """Each task gets its own result, and all values are written."""
    together: list[int] = []

    async def add_it(number: int) -> None:
        together.append(await store.run_merged(add, Note(f"{number:02d}", "x")))

    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(add_it, number)
    assert len(await store.read(read, *(f"{number:02d}" for number in range(50)))) == 50
    assert len(together) == 50


async def test_deferred_writes(place: Place, store: QueuedStore | PooledStore) -> None:
    """A deferred write is seen by the next read, and by others after `flush`."""
    await store.run_soon(add_one, "a", "soon")
    assert await store.read(read, "a") == {"a": ("soon", False)}
    await store.run_soon(add_one, "b", "soon")
    await store.flush()
    assert len(place.ask("SELECT key FROM @")) == 2


async def test_returned_error(store: QueuedStore | PooledStore) -> None:
    """The error of an operation reaches its own caller only, and what runs in the same batch is written."""
    refused: list[str] = []

    async def refuse_it() -> None:
        try:
            await store.run(refuse, "missing")
        except KeyError as error:
            refused.append(error.args[0])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(refuse_it)
        tasks.start_soon(partial(run, store, add_one, "a", "kept"))
    assert refused == ["missing"]
    assert await store.read(read, "a") == {"a": ("kept", False)}


async def run(store: QueuedStore | PooledStore, operation: Callable[..., Steps[Any]], *values: Any) -> None:
    await store.run(operation, *values)


async def test_failed_statement(store: QueuedStore | PooledStore) -> None:
    """The transaction of a failed statement is rolled back, and the store can be used again."""
    with pytest.raises(LedgerError, match="nowhere"):
        await store.run(fail, "a")
    assert await store.read(read, "a") == {}
    await store.run(add_one, "a", "again")
    assert await store.read(read, "a") == {"a": ("again", False)}


async def test_failed_read(store: QueuedStore | PooledStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writes of its batch are committed, and the other reads are returned."""
    monkeypatch.setattr(group_commit, "_COMMIT_INTERVAL_SECONDS", 0.2)  # what follows the first commit comes together
    await store.run(add_one, "a", "first")
    failed: list[str] = []
    found: list[Any] = []

    async def read_nowhere() -> None:
        with pytest.raises(LedgerError) as raised:
            await store.read(select_nowhere)
        failed.append(raised.value.reason)

    async def read_both() -> None:
        found.append(await store.read(read, "a", "b"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_nowhere)
        tasks.start_soon(partial(run, store, add_one, "b", "kept"))
        tasks.start_soon(read_nowhere)
        tasks.start_soon(read_both)
    assert ["nowhere" in reason for reason in failed] == [True, True]
    assert "a" in found[0]
    assert await store.read(read, "b") == {"b": ("kept", False)}


async def test_read_order(store: QueuedStore | PooledStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads come after the commit of their batch, also if they were called for before."""
    monkeypatch.setattr(group_commit, "_COMMIT_INTERVAL_SECONDS", 0.2)
    await store.run(add_one, "a", "first")
    await store.run_soon(add_one, "b", "soon")
    assert set(await store.read(read, "a", "b")) == {"a", "b"}


async def test_reopened_store(store: QueuedStore | PooledStore) -> None:
    """A closed store can be opened again; until then it says that it is closed."""
    await store.run(add_one, "a", "kept")
    await store.aclose()
    await store.aclose()
    with pytest.raises(LedgerError, match="it is closed"):
        await store.run(read, "a")
    store.reopen()
    assert await store.run(read, "a") == {"a": ("kept", False)}


@pytest.mark.parametrize(("kind", "anyio_backend"), KINDS[2:])
async def test_nul(store: QueuedStore | PooledStore) -> None:
    """PostgreSQL cannot store NUL: it is replaced, and the other rows are stored as they are."""
    await store.run(add, [Note("a", "x\0y"), Note("b", "plain")])
    assert await store.run(read, "a", "b") == {"a": ("x?y", False), "b": ("plain", False)}


@pytest.mark.parametrize(("kind", "anyio_backend"), KINDS[2:3])
async def test_lost_connection(place: Place, store: QueuedStore) -> None:
    """An operation whose connection was lost runs once more."""
    await store.run(add_one, "a", "kept")
    backend: Any = store.writer._backend
    pid = backend._connection.get_server_pid()
    place.ask(f"SELECT pg_terminate_backend({pid}, 10000)")
    await store.run(add_one, "b", "kept")
    assert set(await store.run(read, "a", "b")) == {"a", "b"}


@pytest.mark.parametrize(("kind", "anyio_backend"), KINDS[:2])
async def test_full_disk(place: Place, store: QueuedStore, caplog: pytest.LogCaptureFixture) -> None:
    """Waiting tasks get the error; deferred operations, of which a warning tells, run when there is room."""
    await store.run(add_one, "a", "kept")
    with full_disk():
        await store.run_soon(add_one, "b", "later")
        with pytest.raises(LedgerError, match="the disk failed, or is full"):
            await store.run(add_one, "c", "lost")
    assert "writes are delayed" in caplog.text
    await store.flush()
    assert place.ask("SELECT key FROM @ ORDER BY key") == [("a",), ("b",)]


@pytest.mark.parametrize(("kind", "anyio_backend"), KINDS[:1])
@pytest.mark.parametrize(("suffix", "name"), [("", "it"), ("-wal", "its file -wal"), ("-shm", "its file -shm")])
@pytest.mark.parametrize("is_replaced", [False, True])
async def test_moved_file(place: Place, suffix: str, name: str, is_replaced: bool) -> None:
    """A write to a file without a name would be lost with the process; closing saves what was written before."""
    link = place.path.with_name("link")
    place.path.touch()
    link.symlink_to(place.path)
    store = QueuedStore("notes", partial(SqliteBackend, link, FILE_FORMAT), LedgerError)
    await store.run(add_one, "a", "kept")
    path = place.path.with_name(place.path.name + suffix)
    elsewhere = path.rename(path.with_name("elsewhere"))
    if is_replaced:
        path.touch()
    with pytest.raises(LedgerError, match=f"{name} was moved, removed or replaced"):
        await store.run(add_one, "b", "lost")
    elsewhere.replace(path)
    await store.run(add_one, "c", "kept")
    assert set(await store.run(read, "a", "b", "c")) == {"a", "c"}
    if suffix:
        path.unlink()
    await store.aclose()
    assert place.ask("SELECT key FROM @ ORDER BY key") == [("a",), ("c",)]


@pytest.mark.parametrize(("kind", "anyio_backend"), KINDS[:1])
async def test_concurrent_reader(place: Place, store: QueuedStore) -> None:
    """Another process may hold the lock of the file for long."""
    await store.run(add_one, "a", "kept")
    with sqlite3.connect(place.path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with anyio.fail_after(PATIENCE):
            assert await store.read(read, "a") == {"a": ("kept", False)}
        other.execute("ROLLBACK")
    other.close()


# --- where the stores in PostgreSQL cannot be used


async def open_ledger(address: str) -> None:
    ledger = PostgresLedger(address)
    try:
        await ledger.open_intents()
    finally:
        await ledger.aclose()


async def open_inbox(address: str) -> None:
    inbox = PostgresInbox(address)
    try:
        await inbox.list()
    finally:
        await inbox.aclose()


async def open_journal(address: str) -> None:
    journal = PostgresJournal(address, "cards")
    try:
        await journal.start("cards")
    finally:
        await journal.aclose()


def ask_database(statement: str, address: str = POSTGRES) -> list[str]:
    import asyncpg

    async def run() -> list[str]:
        connection = await asyncpg.connect(address)
        try:
            return [str(row[0]) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    return asyncio.run(run())


@pytest.fixture(params=["LATIN1", "SQL_ASCII"])
def encoded(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A database with another encoding: its address, and the encoding."""
    name = f"encoding_{token_hex(6)}"
    ask_database(f"CREATE DATABASE {name} ENCODING '{request.param}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    yield urlunsplit(urlsplit(POSTGRES)._replace(path=f"/{name}")), request.param
    ask_database(f"DROP DATABASE {name}")


@postgres_only
@pytest.mark.parametrize(
    ("open_store", "error"),
    [(open_ledger, LedgerError), (open_inbox, InboxError), (open_journal, JournalError)],
    ids=["ledger", "inbox", "journal"],
)
def test_database_encoding(
    encoded: tuple[str, str], open_store: Callable[[str], Coroutine[Any, Any, None]], error: type[Exception]
) -> None:
    """A name with an emoji could not be stored later, so the store is not opened, and no table is created."""
    address, encoding = encoded
    with pytest.raises(error, match=rf"the database has the encoding {encoding} \(expected UTF8\)"):
        asyncio.run(open_store(address))
    assert ask_database("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", address) == []


@postgres_only
def test_event_loop() -> None:
    """The use and the end in another one fail with one sentence each."""
    table = f"inbox_{token_hex(6)}"
    inbox = PostgresInbox(POSTGRES, table=table)
    with asyncio.Runner() as own:
        own.run(inbox.list())
        for use in (inbox.list, inbox.aclose):
            with pytest.raises(InboxError, match="belongs to another event loop") as failed:
                asyncio.run(use())
            assert failed.value.__cause__ is None
        own.run(inbox.aclose())
    asyncio.run(inbox.aclose())
    ask_database(f"DROP TABLE {table}, {table}_keys")
