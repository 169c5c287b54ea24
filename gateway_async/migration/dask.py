"""`migrate_vaults_dask`: the same migration on the workers of a Dask cluster.

Dask hands out shards, begins them again when a worker dies, and may carry one out twice. Nothing rests on it: what
makes each row stored once is its id and the journal, as `migration.sharding` says. Through the scheduler go only the
places of shards in the file, and counts.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from os import PathLike
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import anyio
import anyio.to_thread
import attrs

from gateway_async._net.beside import beside
from gateway_async.client import AsyncGateway
from gateway_async.errors import GatewayError, InvalidRequestError, JournalError
from gateway_async.migration.journal import Journal, RowState
from gateway_async.migration.pace import Rate
from gateway_async.migration.report import Report, Samples
from gateway_async.migration.runner import OnEnd
from gateway_async.migration.sharding import ShardResult, ShardWork, Sum, journal_of
from gateway_async.migration.sources.files import shards as shards_of

__all__ = ["migrate_vaults_dask"]

_logger = logging.getLogger("gateway_async")

_TICK_SECONDS: Final = 0.5
_COMING_SECONDS: Final = 30
"""How long the first worker may take to come."""

_ANSWER_SECONDS: Final = 5
_SHARDS_PER_THREAD: Final = 2
"""One that is carried out, and one that is there when it is done."""

_COUNTING_SHARE: Final = 10
"""The journal is counted for no more than a tenth of the time: millions of rows take it a while."""

_MOST_GIVEN_UP: Final = 10
_LONGEST_PAUSE: Final = 30
_ASKED: Final = "it was asked to stop"


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
        crew = _Crew(client, work, kept, Sum(run.name, before), retries, _Told(stop_when, on_end, on_progress))
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
            await client.close(timeout=_ANSWER_SECONDS)


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
    said: dict[str, Any] = await client.run(_ready, work, on_error="return")
    gone = OSError  # a worker that has just died says nothing of the others
    problems = [
        f"worker {where}: {trouble}" for where, trouble in said.items() if trouble and not isinstance(trouble, gone)
    ]
    if problems:
        raise InvalidRequestError(problems)


# --- in the workers

_stopping: set[str] = set()
"""Migrations that were asked to stop."""


async def _ready(work: ShardWork) -> str:
    """What keeps this worker from beginning, or ""."""
    try:
        work.check_file()
        await work.check_client()
    except InvalidRequestError as error:
        return "; ".join(error.problems)
    except GatewayError as error:
        return str(error)
    return ""


def _stop(migration: str) -> None:
    """Have the shards of a migration that are carried out here finish what is under way."""
    _stopping.add(migration)


def _carry_out(migration: str, work: ShardWork, shard: Any) -> ShardResult:
    """What Dask runs."""
    from distributed import get_worker

    teller = _Teller(get_worker(), migration, shard)

    def stop_when(_report: Report) -> str | None:
        return _ASKED if migration in _stopping else None

    return work.carry_out(shard, stop_when=stop_when, on_progress=teller.tell)


class _Teller:
    """Tells how a shard stands, now and then."""

    def __init__(self, worker: Any, migration: str, shard: Any) -> None:
        self._worker = worker
        self._migration = migration
        self._start = shard.start
        self._next = float("-inf")

    def tell(self, report: Report) -> None:
        """Tell, unless it was just told."""
        now = anyio.current_time()
        if now >= self._next:
            self._next = now + _TICK_SECONDS
            facts = attrs.asdict(report, filter=attrs.filters.exclude("samples"))
            self._worker.log_event(self._migration, {"shard": self._start, "report": facts})


# --- where it was begun


@attrs.frozen
class _Told:
    """Whom the caller wants to be asked and told."""

    stop_when: Callable[[Report], str | None] | None
    on_end: OnEnd | None
    on_progress: Callable[[Report], object] | None


class _Crew:
    """The workers of a cluster at one migration: shards out, counts back.

    Attributes:
        report: what all shards come to.
    """

    def __init__(self, client: Any, work: ShardWork, journal: Journal, total: Sum, retries: int, told: _Told) -> None:
        self.report = total.report
        self._client = client
        self._work = work
        self._sum = total
        self._retries = retries
        self._told = told
        self._counter = _Counter(journal)
        self._samples = Samples()
        self._migration = token_hex(8)
        self._places = anyio.CapacityLimiter(1)
        self._lacking = ""
        self._running: dict[int, Report] = {}
        self._given_up: list[str] = []
        self._began = self._with_worker = anyio.current_time()
        self._handing_out = anyio.CancelScope()

    async def run(self, shards: Sequence[Any]) -> None:
        """Have all shards carried out."""
        self._client.subscribe_topic(self._migration, self._hear)
        try:
            async with beside(self._watch):
                await self._hand_out(shards)
        except BaseException as error:  # noqa: BLE001  also when it is cancelled
            with anyio.CancelScope(shield=True):
                await self._have_stop()
            raise _first(error) from None
        if self._given_up:
            self.stop("; ".join(self._given_up))
        self._lacking = ""
        self._show(await self._counter.count(at_once=True), [])

    def stop(self, why: str) -> None:
        """Begin no more shards; the first reason counts."""
        self.report.stopped = self.report.stopped or why

    # --- shards

    async def _hand_out(self, shards: Sequence[Any]) -> None:
        with self._handing_out:
            async with anyio.create_task_group() as handed_out:
                for shard in shards:
                    place = object()
                    await self._places.acquire_on_behalf_of(place)
                    if self.report.stopped:
                        break
                    handed_out.start_soon(self._carry, shard, place)

    async def _carry(self, shard: Any, place: object) -> None:
        """One shard, until it is done or given up."""
        try:
            trouble = await self._attempt(shard)
            for attempt in range(self._retries):
                if not trouble or self.report.stopped:
                    break
                _logger.warning("%r failed: %s", shard, trouble)
                await anyio.sleep(min(2**attempt, _LONGEST_PAUSE))
                trouble = await self._attempt(shard)
            if trouble:
                self._give_up(f"{shard!r} was given up: {trouble}")
        finally:
            self._places.release_on_behalf_of(place)

    async def _attempt(self, shard: Any) -> str:
        """Have a worker carry it out; what went wrong, or ""."""
        future = self._client.submit(_carry_out, self._migration, self._work, shard, pure=False)
        self._running[shard.start] = Report()
        try:
            result: ShardResult = await future
        except Exception as error:  # noqa: BLE001  whatever happened in the worker, or to it
            return f"{type(error).__name__}: {error}"
        finally:
            del self._running[shard.start]
        self._sum.add(result.report)
        if result.report.stopped:
            self.stop(result.report.stopped)
        if self._told.on_end and result.ends:
            await self._tell(shard, result, self._told.on_end)
        return ""

    def _give_up(self, why: str) -> None:
        self._given_up.append(why)
        if len(self._given_up) >= _MOST_GIVEN_UP:
            self.stop(why)

    async def _tell(self, shard: Any, result: ShardResult, on_end: OnEnd) -> None:
        """Tell of rows that are not stored; they are read again, as they did not come back from the worker."""
        by_line = {end.line: end for end in result.ends}
        async for row in self._work.rows_of(shard):
            if end := by_line.pop(row.line, None):
                on_end(row, end)

    # --- looking at them

    async def _watch(self) -> None:
        while True:
            await self._see_workers()
            self._show(await self._counter.count(), list(self._running.values()))
            if self._told.stop_when and (why := self._told.stop_when(self.report)):
                self.stop(why)
            if self.report.stopped:
                await self._have_stop()
            await anyio.sleep(_TICK_SECONDS)

    def _hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """A worker tells how a shard stands."""
        _, said = event
        if said["shard"] in self._running:
            self._running[said["shard"]] = Report(**said["report"])

    async def _have_stop(self) -> None:
        """Ask all workers to stop, also those that have come since."""
        with anyio.move_on_after(_ANSWER_SECONDS), suppress(OSError):
            await self._client.run(_stop, self._migration, on_error="ignore")

    def _show(self, counts: Mapping[RowState, int], running: Sequence[Report]) -> None:
        self._sum.look(counts, running, anyio.current_time() - self._began)
        self.report.waiting = self.report.waiting or self._lacking
        self.report.samples = self._samples.with_one_of(self.report)
        if self._told.on_progress:
            self._told.on_progress(self.report)

    async def _see_workers(self) -> None:
        """Hand out as many shards as there are hands; without any, wait, but not for ever."""
        threads = await self._threads()
        self._places.total_tokens = max(1, threads * _SHARDS_PER_THREAD)
        self._lacking = "" if threads else "no worker is connected"
        if threads:
            self._with_worker = anyio.current_time()
        elif anyio.current_time() - self._with_worker > self._work.patience:
            self.stop(f"no worker was connected for {self._work.patience:g} s")
        if self.report.stopped and not threads:
            self._handing_out.cancel()

    async def _threads(self) -> int:
        """Of all workers; 0 also if the scheduler is not there."""
        threads = 0
        with anyio.move_on_after(_ANSWER_SECONDS), suppress(OSError):
            threads = sum((await self._client.nthreads()).values())
        return threads


class _Counter:
    """Counts the journal's rows, now and then."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._counts: Mapping[RowState, int] = {}
        self._next = float("-inf")

    async def count(self, *, at_once: bool = False) -> Mapping[RowState, int]:
        """What the journal had a little while ago, or has now; the last known while it cannot be asked."""
        began = anyio.current_time()
        if at_once or began >= self._next:
            with suppress(JournalError):
                self._counts = await self._journal.counts()
            self._next = anyio.current_time() + _COUNTING_SHARE * (anyio.current_time() - began)
        return self._counts


def _first(error: BaseException) -> BaseException:
    """What a caller's own function has raised, without the groups around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
