"""`migrate_vaults_dask`: the same migration on the workers of a Dask cluster.

Dask hands out shards, begins them again when a worker dies, and may carry one out twice. Nothing rests on it: what
makes each row stored once is its id and the journal, as `migration.sharding` says. Through the scheduler go only the
places of shards in the file, and counts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import attrs

from gateway_async.client import AsyncGateway
from gateway_async.errors import InvalidRequestError
from gateway_async.migration._dask_crew import ANSWER_SECONDS, Crew, Told
from gateway_async.migration._dask_shards import ready
from gateway_async.migration.endings import OnEnd
from gateway_async.migration.journal import Journal
from gateway_async.migration.pace import Rate
from gateway_async.migration.report import Report
from gateway_async.migration.sharding import ShardWork, Sum, journal_of
from gateway_async.migration.sources.cutting import shards as shards_of

__all__ = ["migrate_vaults_dask"]

_COMING_SECONDS: Final = 30
"""How long the first worker may take to come."""


async def migrate_vaults_dask(
    scheduler: Any,
    path: str | PathLike[str],
    *,
    journal: str | Callable[[], Journal],
    name: str,
    redis: str | None = None,
    rate: float | Callable[[], Rate] | None = None,
    concurrency: int = 64,
    gateway: Callable[[], AsyncGateway] = AsyncGateway.from_env,
    rows_per_shard: int = 10_000,
    retries: int = 3,
    patience: float = 600.0,
    retry_rejected: bool = False,
    stop_when: Callable[[Report], str | None] | None = None,
    on_end: OnEnd | None = None,
    on_progress: Callable[[Report], object] | None = None,
    **reading: Any,
) -> Report:
    """Store the accounts of a file from several machines; run again with the same journal, it goes on.

    The file must be at the same path for the caller and all workers: they read it themselves, so that no card number
    goes through the scheduler. Workers make their clients from their own environment, so that no key does either.
    Start them with one thread each (`dask worker --nthreads 1`), one for each core. Needs asyncio.

    Each row ends as in `migrate_vaults`, and is stored once though Dask may carry out a shard again, or twice at once.
    A key that two rows have is stored for one of them, whatever shards they are in; the other is rejected.

    Args:
        scheduler: its address, or a `distributed.Client`, whose scheduler and TLS settings are used.
        path: the file: CSV, JSON Lines or Parquet.
        journal: the address of a PostgreSQL that all can reach; better without a password, which the workers can take
            from `PGPASSWORD` or a password file. Or a function that opens a journal; it is pickled.
        name: of the migration. Ids are made of it.
        redis: the address of the Redis that shares the rate.
        rate: calls a second over all workers, at most: a number, which needs `redis`; or a function that opens a rate.
        concurrency: calls under way at once for each worker, at most.
        gateway: makes a client in a worker; it is pickled, so it should not hold a key.
        rows_per_shard: rows that a worker takes at a time.
        retries: how often a shard is begun anew after it failed, or after Dask gave it up (Dask does after
            `distributed.scheduler.allowed-failures` dead workers).
        patience: seconds without a single success, or without a worker, after which it stops.
        retry_rejected: send rows again that the gateway refused in an earlier run, though they are unchanged: what was
            wrong was mended at the gateway.
        stop_when: asked twice a second; says why to stop, or None. Shards under way finish their calls under way.
        on_end: told of rows that were rejected or are unknown when their shard is done; they are read again, here.
        on_progress: told of the report twice a second.
        reading: what else `read_rows` is to know of the file: `columns`, `format`, `encoding`, …

    Returns:
        How many rows ended how, over all workers.

    Raises:
        InvalidRequestError: an argument is wrong, the file cannot be read, here or by a worker, or no worker came.
        JournalError: the journal cannot be used, or belongs to another migration.
    """
    _check(rate=rate, redis=redis, concurrency=concurrency, rows_per_shard=rows_per_shard, patience=patience)
    file, size = _found(path)
    work = ShardWork(
        path=str(file),
        size=size,
        name=name,
        journal=journal,
        gateway=gateway,
        rate=rate,
        redis=redis,
        concurrency=concurrency,
        patience=patience,
        reading=reading,
    )
    shards = await anyio.to_thread.run_sync(lambda: list(shards_of(file, rows_per_shard, **reading)))
    async with _client_of(scheduler) as client, _opened(journal_of(journal, name)) as kept:
        run = await kept.start(name)
        await _check_workers(client, work)
        if retry_rejected:
            await kept.forget_rejected()
        work = attrs.evolve(work, name=run.name, since=run.number)
        before = await kept.counts()
        crew = Crew(client, work, kept, Sum(run.name, before), retries, Told(stop_when, on_end, on_progress))
        await crew.run(shards)
    return crew.report


# --- before it begins


def _check(*, rate: Any, redis: str | None, **numbers: float) -> None:
    """Refuse what cannot be right.

    Raises:
        InvalidRequestError: it says what.
        RuntimeError: no asyncio is running.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError("migrate_vaults_dask needs asyncio") from None
    if isinstance(rate, int | float):
        numbers["rate"] = rate
    problems = [
        f"{name}: must be a number above 0" for name, number in numbers.items() if not 0 < number < float("inf")
    ]
    if isinstance(rate, int | float) and redis is None:
        problems.append("rate: workers can only share it through a Redis: say redis, too")
    if problems:
        raise InvalidRequestError(problems)


def _found(path: str | PathLike[str]) -> tuple[Path, int]:
    """The file as others can find it, and its size."""
    file = Path(path).absolute()
    try:
        return file, file.stat().st_size
    except OSError as error:
        raise InvalidRequestError(f"path: {file} cannot be read: {error.strerror}") from None


@asynccontextmanager
async def _opened(journal: Journal) -> AsyncIterator[Journal]:
    try:
        yield journal
    finally:
        with anyio.CancelScope(shield=True):
            await journal.aclose()


@asynccontextmanager
async def _client_of(scheduler: Any) -> AsyncIterator[Any]:
    """A client of our own on this event loop, whatever kind the caller has."""
    client_class = _client_class()
    address, security = (scheduler, None) if isinstance(scheduler, str) else _place_of(scheduler)
    try:
        client = await client_class(address, asynchronous=True, security=security, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidRequestError(f"scheduler: {address} cannot be reached: {error}") from None
    try:
        yield client
    finally:
        with anyio.CancelScope(shield=True), suppress(OSError, TimeoutError):
            await client.close(timeout=ANSWER_SECONDS)


def _place_of(client: Any) -> tuple[str, Any]:
    return client.scheduler.address, client.security


def _client_class() -> Any:
    try:
        from distributed import Client
    except ModuleNotFoundError as missing:
        msg = f"migrate_vaults_dask needs an extra: pip install 'gateway-async[dask]' ({missing.name} is missing)"
        raise ModuleNotFoundError(msg, name=missing.name) from None
    return Client


async def _check_workers(client: Any, work: ShardWork) -> None:
    """Ask every worker whether it could begin.

    Raises:
        InvalidRequestError: there is none, or one could not.
    """
    try:
        await client.wait_for_workers(1, timeout=_COMING_SECONDS)
    except TimeoutError:
        raise InvalidRequestError(f"scheduler: no worker has come for {_COMING_SECONDS} s") from None
    said: dict[str, Any] = await client.run(ready, work, on_error="return")
    gone = OSError  # a worker that has just died says nothing of the others
    problems = [
        f"worker {where}: {trouble}" for where, trouble in said.items() if trouble and not isinstance(trouble, gone)
    ]
    if problems:
        raise InvalidRequestError(problems)
