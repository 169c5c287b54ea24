"""The SQLite file or the PostgreSQL connection on which a writer's thread runs the operations of a store."""

import asyncio
import os
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from os import fspath
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from gateway_async._storage.dialect import to_sqlite, translate
from gateway_async._storage.postgres import Database, read_committed
from gateway_async._storage.private_file import restrict_mode
from gateway_async._storage.sql import Pruning, Queued, Reading, Steps, run_on_postgres, run_together
from gateway_async._storage.sqlite import FileFormat, describe_sqlite_error, file_identity, open_database, transaction
from gateway_async.errors import GatewayError

T = TypeVar("T")

_CLOSING_SECONDS: Final = 10.0


class _Backend(ABC):
    """A file or a connection on which a writer's thread runs operations.

    Args:
        prune: deletes old rows, once a minute.
    """

    def __init__(self, prune: Callable[[], Steps[None]] | None) -> None:
        self._pruning = Pruning(prune)

    def execute_batch(self, awaited: Sequence[Queued], deferred: Sequence[Queued]) -> Sequence[Any]:
        """Write in one transaction, which is on disk when this returns; then run each reading operation by itself.

        A read that fails, for example on a damaged page, gives its error as its result. The writes are committed.
        """
        writing = [each for each in awaited if not isinstance(each, Reading)]
        written = iter(self.run(partial(run_together, writing, deferred)) if writing or deferred else ())
        results = [self._read(each) if isinstance(each, Reading) else next(written) for each in awaited]
        if prune := self._pruning.take():
            with suppress(GatewayError):  # until the next time
                self.run(prune)
        return results

    def _read(self, operation: "Reading[Any]") -> Any:
        try:
            return self.run(operation, only_reads=True)
        except Exception as error:  # noqa: BLE001  it is raised to the caller
            return error

    @abstractmethod
    def run(self, operation: Callable[[], Steps[T]], *, only_reads: bool = False) -> T:
        """Run an operation in a transaction of its own."""


class SqliteBackend(_Backend):
    """An open SQLite file, for one thread at a time.

    Args:
        path: the file; it is created if it does not exist.
        file_format: its format.
        prune: deletes old rows, once a minute.
        shared: whether the file may be a database of the user's own program.
        now: returns the current time, in seconds since 1970.

    Raises:
        Exception: the error of the format; `execute_batch` raises it too.
    """

    def __init__(
        self,
        path: str | Path,
        file_format: FileFormat,
        *,
        prune: Callable[[], Steps[None]] | None = None,
        shared: bool = False,
        now: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(prune)
        self.path = fspath(path)
        self._format = file_format
        self._now = now
        with self._describe_errors():
            self._connection = open_database(self.path, shared=shared)
            try:
                file_format.initialize(self._connection, self.path, shared=shared)
            except BaseException:
                self._connection.close()
                raise
        self._connection.row_factory = sqlite3.Row
        target = os.path.realpath(self.path)  # SQLite puts the other files beside it
        files = {"it": self.path, **{f"its file {suffix}": target + suffix for suffix in ("-wal", "-shm")}}
        self._identities = [(name, path, found) for name, path in files.items() if (found := file_identity(path))]
        if not shared:  # now the file is known to be one of this package's
            restrict_mode(self.path)

    def run(self, operation: Callable[[], Steps[T]], *, only_reads: bool = False) -> T:
        """Run an operation in a transaction of its own."""
        failures: dict[Callable[[Any], Any], Any] = {}
        while True:
            with (
                suppress(_RolledBackError),
                self._describe_errors(),
                transaction(self._connection, only_reading=only_reads),
            ):
                self._check_paths()
                return self._run_steps(operation(), failures)

    def close(self) -> None:
        """Close the file; it contains everything that was written."""
        self._connection.close()

    def _run_steps(self, steps: Steps[T], failures: dict[Callable[[Any], Any], Any]) -> T:
        try:
            step = next(steps)
            while True:
                step = steps.send(self._call(step, failures) if callable(step) else self._fetch(*step))
        except StopIteration as end:
            return cast("T", end.value)

    def _call(self, function: Callable[[Any], Any], failures: dict[Callable[[Any], Any], Any]) -> Any:
        """Call a function of the connection. If it rolls the batch back, the batch runs again without calling it."""
        if function in failures:
            return failures[function]
        result = function(self._connection)
        if not self._connection.in_transaction:
            failures[function] = result
            raise _RolledBackError
        return result

    def _fetch(self, statement: str, values: Sequence[Any]) -> Sequence[Any]:
        """Execute a statement of an operation and return its rows."""
        given = {str(number): to_sqlite(value) for number, value in enumerate(values, start=1)}
        given["now"] = (self._now or time.time)()
        return self._connection.execute(translate(statement, self._format.marks), given).fetchall()

    def _check_paths(self) -> None:
        """Check that the paths still lead to the open files.

        Data in an unlinked file would be lost with the process. If only the write-ahead log is unlinked, closing the
        file saves its data.
        """
        for name, path, identity in self._identities:
            if file_identity(path) != identity:
                reason = f"{name} was moved, removed or replaced: put it back, or restart the program"
                raise self._format.error(self.path, reason)

    @contextmanager
    def _describe_errors(self) -> Iterator[None]:
        """Raise errors of SQLite as errors of this store, without the frames that hold what was to be written."""
        try:
            yield
        except sqlite3.Error as error:
            reason = describe_sqlite_error(error, self._format.kind)
            raise self._format.error(self.path, reason) from error.with_traceback(None)


class _RolledBackError(Exception):
    """One operation has rolled back the transaction of the whole batch."""


class PostgresBackend(_Backend):
    """A connection to a PostgreSQL database, for one thread at a time.

    Its methods run their own event loop, so they need a thread without one. An operation whose connection was lost runs
    once more, although it may have been committed: if it is repeated, it must change nothing.

    Args:
        database: the database with the table.
        prepare: the statement that prepares a new connection.
        prune: deletes old rows, once a minute.
    """

    def __init__(
        self, database: Database, prepare: tuple[str, tuple[Any, ...]], prune: Callable[[], Steps[None]]
    ) -> None:
        super().__init__(prune)
        self._runner = asyncio.Runner()
        self._database = database
        self._prepare = prepare
        self._connection: Any = None

    def run(self, operation: Callable[[], Steps[T]], *, only_reads: bool = False) -> T:  # noqa: ARG002
        """Run an operation in a transaction of its own; once more if the connection was lost."""
        return self._runner.run(self._execute_with_retry(operation))

    def close(self) -> None:
        """Close the connection."""
        with self._runner:
            if self._connection is not None:
                self._runner.run(self._close_connection())

    async def _execute_with_retry(self, operation: Callable[[], Steps[T]]) -> T:
        with self._database.describe_errors():
            try:
                return await self._execute(operation)
            except Exception as error:
                was_lost = self._connection is not None and self._connection.is_closed()
                if self._connection is not None and self._database.needs_new_connection(error):
                    self._connection.terminate()
                if not was_lost:
                    raise
            return await self._execute(operation)

    async def _execute(self, operation: Callable[[], Steps[T]]) -> T:
        connection = await self._connect()
        async with read_committed(connection):
            return await run_on_postgres(self._database, connection, operation())

    async def _connect(self) -> Any:
        """Return the connection; replace a closed one."""
        if self._connection is None or self._connection.is_closed():
            self._connection = None
            connection = await self._database.connect()
            try:
                await self._database.fetch(connection, self._prepare[0], *self._prepare[1])
            except BaseException:
                connection.terminate()
                raise
            self._connection = connection
        return self._connection

    async def _close_connection(self) -> None:
        with suppress(GatewayError), self._database.describe_errors():
            await self._connection.close(timeout=_CLOSING_SECONDS)
