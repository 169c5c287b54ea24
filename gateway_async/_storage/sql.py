"""Run the operations of a ledger, an inbox or a journal on SQLite or PostgreSQL.

An operation is a generator that runs in one transaction. It yields statements with their values, gets the rows of each,
and returns its result; if that is an exception, it is raised to the caller. The statements are written for PostgreSQL,
and rewritten for SQLite. Each store replaces marks in them, such as `@`, the name of its table.

A `QueuedStore` runs the operations of many tasks in one transaction of a writer's thread (`backends.py`), but each that
only reads by itself. A `PooledStore` runs each in a transaction of its own.
"""

from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

import attrs

from gateway_async._storage.group_commit import GroupCommitWriter, WriterBackend
from gateway_async._storage.postgres import Database
from gateway_async.errors import GatewayError

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V")

_Step = tuple[str, tuple[Any, ...]] | Callable[[Any], Any]
"""A statement with its values, or a function of the connection."""

Steps = Generator[_Step, Any, T]
"""The steps of an operation, which gets the rows of each statement and returns a `T`."""

_PRUNING_SECONDS: Final = 60.0


Merged = tuple[Callable[[list[Any]], Steps[Sequence[Any]]], Any]
"""An operation and a value for it. It runs once, with all values queued for it, and returns a result for each."""

Queued = Merged | Callable[[], Steps[Any]]
"""An operation in a writer's queue: a plain tuple or function, because each payment queues two."""


class Reading(partial[Steps[T]]):
    """An operation that writes nothing: it needs no lock of a file, and can fail without failing others."""


class Pruning:
    """An operation that deletes old rows, once a minute; None deletes none."""

    def __init__(self, operation: Callable[[], Steps[None]] | None) -> None:
        self._operation = operation
        self._due_at = monotonic()

    def take(self) -> Callable[[], Steps[None]] | None:
        """Take the operation if it is due; whether it fails or not, it is due again in a minute."""
        if monotonic() < self._due_at:
            return None
        self._due_at = monotonic() + _PRUNING_SECONDS
        return self._operation


def run_together(awaited: Sequence[Queued], deferred: Sequence[Queued]) -> Steps[Sequence[Any]]:
    """Run merged operations, then deferred ones, then the others; return the results of `awaited`."""
    values: dict[Callable[[list[Any]], Steps[Sequence[Any]]], list[Any]] = {}
    for each in (*awaited, *deferred):
        if isinstance(each, tuple):
            values.setdefault(each[0], []).append(each[1])
    merged: dict[Callable[[list[Any]], Steps[Sequence[Any]]], Iterator[Any]] = {}
    for operation, of_all in values.items():
        merged[operation] = iter((yield from operation(of_all)))
    for each in deferred:
        if not isinstance(each, tuple):
            yield from each()
    results: list[Any] = []
    for each in awaited:
        result = next(merged[each[0]]) if isinstance(each, tuple) else (yield from each())
        results.append(result)
    return results


class QueuedStore:
    """A store that is written by a thread, for asyncio and trio.

    Args:
        location: the file or the database, without a password.
        open_backend: opens it, in the thread, on first use.
        error: the error of a store that cannot be used, made of its location and the reason.
    """

    def __init__(
        self, location: str, open_backend: Callable[[], WriterBackend], error: Callable[[str, str], Exception]
    ) -> None:
        self.location = location
        closed = partial(error, location, "it is closed")
        self._new_writer = partial(GroupCommitWriter, f"gateway_async {location}", open_backend, closed)
        self.writer = self._new_writer()

    def run(self, operation: Callable[P, Steps[T | Exception]], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        """Run an operation; what it writes is on disk when this returns."""
        return self.writer.submit(partial(operation, *args, **kwargs))

    def read(self, operation: Callable[P, Steps[T]], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        """Run an operation that writes nothing, and waits for no other process that does."""
        return self.writer.submit(Reading(operation, *args, **kwargs))

    def run_merged(self, operation: Callable[[list[V]], Steps[Sequence[T]]], value: V) -> Awaitable[T]:
        """Run an operation with the values of all tasks that wait for it; return the result of this value."""
        return self.writer.submit((operation, value))

    async def run_soon(self, operation: Callable[P, Steps[None]], *args: P.args, **kwargs: P.kwargs) -> None:
        """Run an operation a moment later; what `run` and `read` are called for afterwards sees its effect."""
        self.writer.submit_nowait(partial(operation, *args, **kwargs))

    def run_merged_soon(self, operation: Callable[[list[V]], Steps[Sequence[None]]], value: V) -> None:
        """Run an operation a moment later, with all values queued for it."""
        self.writer.submit_nowait((operation, value))

    async def flush(self) -> None:
        """Wait until everything that was called before is on disk."""
        await self.run(_do_nothing)

    def reopen(self) -> None:
        """Make the store usable again after `aclose`."""
        if self.writer.is_closed:
            self.writer = self._new_writer()

    async def aclose(self) -> None:
        """Write what is pending and close the store, within 15 seconds; a second close is harmless."""
        await self.writer.aclose()


def _do_nothing() -> Steps[None]:
    yield from ()


class PooledStore:
    """A store in PostgreSQL with several connections, for asyncio.

    Args:
        database: the database.
        prune: deletes old rows, once a minute.
    """

    def __init__(self, database: Database, prune: Callable[[], Steps[None]] | None = None) -> None:
        self.location = database.location
        self.database = database
        self._pruning = Pruning(prune)

    async def run(self, operation: Callable[P, Steps[T | Exception]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation; what it writes is committed when this returns."""
        if prune := self._pruning.take():
            with suppress(GatewayError):  # until the next time
                await self._execute(prune())
        return await self._execute(operation(*args, **kwargs))

    async def read(self, operation: Callable[P, Steps[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation that writes nothing."""
        return await self._execute(operation(*args, **kwargs))

    async def _execute(self, steps: Steps[T | Exception]) -> T:
        async with self.database.transaction() as connection:
            result = await run_on_postgres(self.database, connection, steps)
            if isinstance(result, Exception):
                raise result
            return result

    async def run_soon(self, operation: Callable[P, Steps[None]], *args: P.args, **kwargs: P.kwargs) -> None:
        """Run an operation; what it writes is committed when this returns."""
        await self.run(operation, *args, **kwargs)

    async def run_merged(self, operation: Callable[[list[V]], Steps[Sequence[T]]], value: V) -> T:
        """Run an operation of several values with one."""
        (result,) = await self._execute(operation([value]))
        return result

    async def flush(self) -> None:
        """Do nothing: every change is committed when its method returns."""

    def reopen(self) -> None:
        """Make the store usable again after `aclose`."""
        if self.database.is_closed:
            self.database = attrs.evolve(self.database)

    async def aclose(self) -> None:
        """Close the connections within 10 seconds; a second close is harmless."""
        await self.database.aclose()


S = TypeVar("S", bound=QueuedStore | PooledStore)


class SqlStore(Generic[S]):
    """The base of ledgers, inboxes and journals; `store` runs their operations."""

    def __init__(self, store: S) -> None:
        self._store = store

    async def aclose(self) -> None:
        """Write what is pending and close the store, within 15 seconds; a second close is harmless."""
        await self._store.aclose()

    def __repr__(self) -> str:
        location = self._store.location if "_store" in vars(self) else ""  # also of one whose arguments are wrong
        return f"{type(self).__name__}({location!r})"


async def run_on_postgres(database: Database, connection: Any, steps: Steps[T]) -> T:
    """Run the steps of an operation in the transaction of a connection."""
    try:
        step = next(steps)
        while True:
            step = steps.send(
                await (step(connection) if callable(step) else database.fetch(connection, step[0], *step[1]))
            )
    except StopIteration as end:
        return cast("T", end.value)
