"""`migrate_vaults_dask`: run a migration on the workers of a Dask cluster.

Dask distributes the shards, restarts them when a worker dies, and may run one twice. The correctness does not depend on
Dask: the id and the journal make sure that each row is stored once, as `shard_job` describes. Only the positions of
shards in the file, and counts, pass through the scheduler.
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

from gateway_async._arguments import number_problems
from gateway_async._kernel import Problem, import_extra
from gateway_async._secrets import Secret
from gateway_async.client import AsyncGateway
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.distributed.coordinator import RESPONSE_SECONDS, Coordinator
from gateway_async.migration.distributed.shard_job import ReportTotals, ShardJob, open_shard_journal, seal_shard_address
from gateway_async.migration.distributed.worker import find_problem
from gateway_async.migration.engine.concurrency_limiter import Rate
from gateway_async.migration.engine.redis_rate_limiter import RedisRate
from gateway_async.migration.engine.result_recorder import RowCallback
from gateway_async.migration.journal.protocol import Journal
from gateway_async.migration.report import Report
from gateway_async.migration.sources.files import read_rows
from gateway_async.migration.sources.shards import shards as shards_of

__all__ = ["migrate_vaults_dask"]

_FIRST_WORKER_SECONDS: Final = 30
"""Seconds to wait for the first worker."""


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
    give_up_after: float = 600.0,
    retry_rejected: bool = False,
    max_rows: int | None = None,
    stop_when: Callable[[Report], str | None] | None = None,
    on_row: RowCallback | None = None,
    on_progress: Callable[[Report], object] | None = None,
    **reading: Any,
) -> Report:
    """Store the accounts of a file from several machines.

    Run it again with the same journal to continue where it stopped.

    The file must be at the same path for the caller and all workers. They read it themselves, so that no card number
    passes through the scheduler. Workers create their clients from their own environment, so that no key does either.
    Start them with one thread each (`dask worker --nthreads 1`), one for each core. Needs asyncio.

    Each row ends as in `migrate_vaults`. It is stored once, although Dask may run a shard again, or twice at once. If
    two rows have the same key, one of them is stored and the other is repeated, also if they are in different shards.

    Args:
        scheduler: a Dask scheduler's address, or a `distributed.Client`, whose scheduler and TLS settings are used.
        path: the file: CSV, JSON Lines or Parquet.
        journal: the address of a PostgreSQL that all processes can reach. Preferably it has no password, because
            workers can take it from `PGPASSWORD` or a password file. Or a function that opens a journal; it is pickled.
        name: name of the migration. Ids are made of it.
        redis: the address of the Redis that shares the rate.
        rate: maximum calls per second over all workers: a number, which needs `redis`; or a function that opens a rate.
        concurrency: maximum number of concurrent calls of each worker.
        gateway: creates a client in a worker; it is pickled, so it should not hold a key.
        rows_per_shard: rows that a worker processes at a time.
        retries: how often a shard is restarted after a failure. Dask restarts it by itself until
            `distributed.scheduler.allowed-failures` workers have died, which then counts as one failure.
        give_up_after: seconds without a single success, or without a worker, after which it stops.
        retry_rejected: send rows again that the gateway rejected in an earlier run, also if they are unchanged. Use it
            after the cause was fixed at the gateway.
        max_rows: maximum number of rows stored in this run by all workers, as in `migrate_vaults`. It is not exceeded
            if workers die or a shard runs twice.
        stop_when: called twice a second; returns the reason to stop, or None. Running shards finish their calls in
            progress.
        on_row: called for rows that were rejected or repeated, or are unknown, when their shard is done. They are read
            again by the caller's process.
        on_progress: called with the report twice a second.
        reading: further arguments of `read_rows`: `columns`, `format`, `encoding`, …

    Returns:
        The number of rows of each result, over all workers.

    Raises:
        InvalidRequestError: an argument is wrong, the file cannot be read, here or by a worker, or no worker connected.
        JournalError: the journal cannot be used, or belongs to another migration.
    """
    sealed_journal, sealed_redis = seal_shard_address(journal), seal_shard_address(redis)
    del journal, redis  # an error's traceback shows local variables
    _check(
        rate=rate,
        redis=sealed_redis,
        max_rows=max_rows,
        concurrency=concurrency,
        rows_per_shard=rows_per_shard,
        give_up_after=give_up_after,
    )
    file, size = _locate_file(path)
    job = ShardJob(
        path=str(file),
        size=size,
        name=name,
        journal=sealed_journal,
        gateway=gateway,
        rate=rate,
        redis=sealed_redis,
        concurrency=concurrency,
        give_up_after=give_up_after,
        reading=reading,
    )
    await read_rows(file, **reading).header()
    shards = await anyio.to_thread.run_sync(lambda: list(shards_of(file, rows_per_shard, **reading)))
    async with _connect(scheduler) as client, _closing(open_shard_journal(sealed_journal, name)) as store:
        run = await store.start(name)
        await _check_workers(client, job)
        if retry_rejected:
            await store.delete_rejected()
        job = attrs.evolve(job, name=run.name, since=run.number)
        coordinator = Coordinator(
            client,
            job,
            store,
            ReportTotals(run.name, await store.counts()),
            retries=retries,
            max_rows=max_rows,
            stop_when=stop_when,
            on_row=on_row,
            on_progress=on_progress,
        )
        await coordinator.run(shards)
    return coordinator.report


# --- checks before the start


def _check(*, rate: Any, redis: Secret | None, max_rows: int | None, **numbers: Any) -> None:
    """Reject arguments that cannot be right.

    Raises:
        InvalidRequestError: an argument is wrong.
        RuntimeError: asyncio is not running.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError("migrate_vaults_dask needs asyncio") from None
    rate_number = rate if isinstance(rate, int | float) else 1
    problems = number_problems(above=0, rate=rate_number, max_rows=1 if max_rows is None else max_rows, **numbers)
    if isinstance(rate, int | float) and redis is None:
        problems.append("rate: redis required, through which workers share the rate")
    if problems:
        raise InvalidRequestError(problems)
    if redis is not None:
        try:
            RedisRate(redis, rate_number)  # a check only: it connects when it is first used
        except InvalidRequestError as error:
            raise InvalidRequestError([Problem(Problem.of(line).message, "redis") for line in error.problems]) from None


def _locate_file(path: str | PathLike[str]) -> tuple[Path, int]:
    """Return the absolute path of the file, and its size."""
    file = Path(path).absolute()
    try:
        return file, file.stat().st_size
    except OSError as error:
        raise InvalidRequestError(f"path: {file} cannot be read: {error.strerror}") from None


@asynccontextmanager
async def _closing(journal: Journal) -> AsyncIterator[Journal]:
    try:
        yield journal
    finally:
        with anyio.CancelScope(shield=True):
            await journal.aclose()


@asynccontextmanager
async def _connect(scheduler: Any) -> AsyncIterator[Any]:
    """Create a client on this event loop."""
    client_class = import_extra("distributed", extra="dask", user="migrate_vaults_dask").Client
    address, security = (
        (scheduler, None) if isinstance(scheduler, str) else (scheduler.scheduler.address, scheduler.security)
    )
    try:
        client = await client_class(address, asynchronous=True, security=security, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidRequestError(f"scheduler: {address} cannot be reached: {error}") from None
    try:
        yield client
    finally:
        with anyio.CancelScope(shield=True), suppress(OSError, TimeoutError):
            await client.close(timeout=RESPONSE_SECONDS)


async def _check_workers(client: Any, job: ShardJob) -> None:
    """Check that every worker is able to start.

    Raises:
        InvalidRequestError: no worker is connected, or one is not able to start.
    """
    try:
        await client.wait_for_workers(1, timeout=_FIRST_WORKER_SECONDS)
    except TimeoutError:
        raise InvalidRequestError(f"scheduler: no worker connected within {_FIRST_WORKER_SECONDS} s") from None
    results: dict[str, Any] = await client.run(find_problem, job, on_error="return")
    gone = OSError  # a worker that has just died is not a problem of the others
    problems = [
        f"worker {worker}: {problem}"
        for worker, problem in results.items()
        if problem and not isinstance(problem, gone)
    ]
    if problems:
        raise InvalidRequestError(problems)
