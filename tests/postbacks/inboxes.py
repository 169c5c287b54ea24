"""Postbacks to put into an inbox, and an inbox of each kind."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

from gateway_async._storage.backends import SqliteBackend
from gateway_async._storage.sql import Steps
from gateway_async._wire.postback import postback_of
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks import Inbox, PostbackState, PostgresInbox, SqliteInbox
from gateway_async.postbacks.inbox import _operations as operations
from gateway_async.postbacks.inbox._mapping import PostbackRow
from gateway_async.postbacks.inbox.store import _FORMAT, _insert_together
from tests.support.servers import POSTGRES
from tests.support.sqlite_files import ask_sqlite


def change(
    record: str = "t1", modified: int | None = 1, type_: str = "UPDATE", *, caught_up: bool = False, **fields: Any
) -> Postback[Any]:
    """A postback that tells of a change."""
    raw = {"id": record, "modified_ts": modified, **fields}
    return postback_of(type_, "transaction", raw, attempts=1, caught_up=caught_up)


class InboxFile:
    """An open file of an inbox, without the thread that writes it."""

    def __init__(self, path: str | Path, *, shared: bool = False) -> None:
        self._file = SqliteBackend(path, _FORMAT, shared=shared)
        self._connection = self._file._connection
        self._store_rows = partial(operations.store, _insert_together)

    def execute_batch(self, together: Sequence[PostbackRow | Callable[[], Steps[Any]]]) -> Sequence[Any]:
        """Store postbacks and run operations in one transaction."""
        queued = [(self._store_rows, each) if isinstance(each, PostbackRow) else each for each in together]
        return self._file.execute_batch(queued, [])

    def close(self) -> None:
        self._file.close()


class Store:
    """An inbox for a test, and its database seen from beside it.

    Attributes:
        inbox: one that is open.
        another: makes one more on the same store, as in another process.
    """

    def __init__(self, location: str, table: str, **options: Any) -> None:
        self.location = location
        self.table = table
        self.is_file = not table
        self._options = options
        self._made: list[Inbox] = []
        self.inbox = self.another()

    def another(self, **options: Any) -> Inbox:
        """One more inbox on the same store."""
        options = self._options | options
        inbox = SqliteInbox(self.location, **options) if self.is_file else self._on_postgres(options)
        self._made.append(inbox)
        return inbox

    def _on_postgres(self, options: dict[str, Any]) -> PostgresInbox:
        return PostgresInbox(self.location, table=self.table, **options)

    async def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; `{effects}` and `{counter}` are the test's tables, `{inbox}` the inbox's."""
        return ask_sqlite(self.location, self.named(sql), values) if self.is_file else await self._ask(sql, values)

    def named(self, sql: str) -> str:
        """A statement with the table's name, and the placeholders of the database (`?` in the text)."""
        prefix = f"{self.table}_" if self.table else ""
        sql = sql.format(effects=f"{prefix}effects", counter=f"{prefix}counter", inbox=self.inbox_table)
        for number in range(0 if self.is_file else sql.count("?")):
            sql = sql.replace("?", f"${number + 1}", 1)
        return sql

    @property
    def inbox_table(self) -> str:
        """The name of the inbox's table."""
        return self.table or "postback_inbox"

    async def _ask(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        import asyncpg

        connection = await asyncpg.connect(self.location)
        try:
            return [tuple(row) for row in await connection.fetch(self.named(sql), *values)]
        finally:
            await connection.close()

    async def make_effects(self) -> None:
        """A table of the test's own: what handlers did."""
        await self.inbox.list()  # the file is there, and ours
        await self.ask("CREATE TABLE {effects} (record text, modified integer)")

    async def effects(self) -> list[tuple[str, int]]:
        """Return the effects of handlers, in order."""
        return [(str(record), int(modified)) for record, modified in await self.ask("SELECT * FROM {effects}")]

    def effect(self, postback: Postback[Any]) -> tuple[str, tuple[Any, ...]]:
        """Return the statement that a handler passes to `execute`."""
        statement = self.named("INSERT INTO {effects} VALUES (?, ?)")
        return statement, (postback.record_id, postback.raw["modified_ts"])

    async def close(self) -> None:
        """Close all, and leave nothing in a database."""
        if not self.is_file:
            await self.ask("DROP TABLE IF EXISTS {inbox}, {inbox}_keys, {effects}, {counter}")
        for inbox in self._made:
            await inbox.aclose()


@asynccontextmanager
async def opened(kind: str, folder: Path, **options: Any) -> AsyncIterator[Store]:
    """A store of a kind, of which nothing is left afterwards."""
    store = (
        Store(str(folder / "inbox.db"), "", **options)
        if kind == "sqlite"
        else Store(POSTGRES, f"inbox_{token_hex(6)}", **options)
    )
    try:
        yield store
    finally:
        await store.close()


async def empty_store(kind: str, tmp_path: Path) -> AsyncIterator[Store]:
    """An inbox in an empty store, for fixtures."""
    async with opened(kind, tmp_path) as made:
        yield made


async def states(inbox: Inbox) -> list[tuple[str, int | None, PostbackState]]:
    """Return the record, the time of its change and the state of each stored postback."""
    return [
        (stored.postback.record_id, stored.postback.raw["modified_ts"], stored.state) for stored in await inbox.list()
    ]
