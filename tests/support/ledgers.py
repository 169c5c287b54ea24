"""A ledger of each kind, for tests, and its table seen from beside it."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from gateway_async import Intent, PostgresLedger, SqliteLedger
from gateway_async.ledger import StoredIntent
from gateway_async.ledger import _operations as operations
from gateway_async.ledger.store import _open_ledger
from tests.support.servers import POSTGRES, postgres_only
from tests.support.sqlite_files import ask_sqlite

KINDS = [pytest.param("sqlite"), pytest.param("postgres", marks=postgres_only)]
"""Each ledger; both run on every event loop."""


class LedgerStore:
    """A file or a table for ledgers.

    Attributes:
        source: a Python expression that makes a ledger, for another process.
        arguments: the arguments that name the ledger in a command.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self._path = folder / "payments.db"
        self.table = f"ledger_{token_hex(6)}" if kind == "postgres" else ""
        path, table = str(self._path), self.table
        self.source = f"PostgresLedger({POSTGRES!r}, table={table!r})" if table else f"SqliteLedger({path!r})"

        self.arguments = (POSTGRES, "--table", table) if table else (path,)

    def ledger(self, **options: Any) -> SqliteLedger | PostgresLedger:
        """Make a ledger, as another process does."""
        if self.table:
            return PostgresLedger(POSTGRES, table=self.table, **options)
        return SqliteLedger(self._path, **options)

    def ask(self, sql: str) -> Sequence[Sequence[Any]]:
        """Return the rows of a query; `@` is the table."""
        if self.table:
            return ask_postgres(sql.replace("@", self.table))
        return ask_sqlite(str(self._path), sql.replace("@", "intents"))

    def files(self) -> list[str]:
        """Return the names of the files of the ledgers."""
        return [each.name for each in self._path.parent.iterdir()]

    def outcomes(self) -> dict[str, tuple[str | None, str | None]]:
        """Return the outcome and the record of each intent."""
        return {row[0]: (row[1], row[2]) for row in self.ask("SELECT id, outcome, record_id FROM @")}

    def drop(self) -> None:
        """Remove the table."""
        if self.table:
            ask_postgres(f"DROP TABLE IF EXISTS {self.table}")


class LedgerFile:
    """An open file of a ledger, without the thread that writes it."""

    def __init__(self, path: str | Path) -> None:
        self._file = _open_ledger(Path(path))
        self._connection = self._file._connection

    def write(self, intents: Sequence[Intent], outcomes: Sequence[operations.RecordedOutcome]) -> None:
        """Write intents and outcomes in one transaction."""
        recorded = [(operations.record_intents, intent) for intent in intents]
        resolved = [(operations.record_outcomes, outcome) for outcome in outcomes]
        self._file.execute_batch(recorded, resolved)

    def open_intents(self) -> Sequence[Intent]:
        """Return the intents without an outcome."""
        return self._file.run(partial(operations.open_intents, None))

    def entries(self) -> Sequence[StoredIntent]:
        """Return all intents."""
        return self._file.run(partial(operations.entries_after, "", -1))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def empty_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LedgerStore]:
    """Where ledgers of a kind may be made, for fixtures with the parameters `KINDS`."""
    made = LedgerStore(request.param, tmp_path)
    yield made
    made.drop()


def ask_postgres(sql: str) -> Sequence[Sequence[Any]]:
    """Run a statement in PostgreSQL, whatever the test's event loop is."""
    with ThreadPoolExecutor() as executor:
        return executor.submit(asyncio.run, _ask_postgres(sql)).result()


def disconnect(table: str) -> None:
    """End the connection of each ledger with an intent, and wait until its lock is released."""
    for (owner,) in ask_postgres(f"SELECT DISTINCT owner FROM {table}"):  # noqa: S608
        mine = f"(classid::bigint << 32) | objid::bigint = {owner} AND locktype = 'advisory' AND objsubid = 1"
        ask_postgres(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE {mine}")  # noqa: S608


async def _ask_postgres(sql: str) -> Sequence[Sequence[Any]]:
    import asyncpg

    connection = await asyncpg.connect(POSTGRES)
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()
