"""`migrate_vaults`: any number of accounts into the vault, each once, however often it is begun anew."""

from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, Final

import anyio

from gateway_async.client import AsyncGateway
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.endings import OnEnd
from gateway_async.migration.journal import Journal
from gateway_async.migration.pace import Pace, Rate, SteadyRate
from gateway_async.migration.report import Report, Samples
from gateway_async.migration.rows import VaultRow
from gateway_async.migration.runner import Runner
from gateway_async.migration.sqlite_journal import SqliteJournal
from gateway_async.models.account_vaults import VaultCreate

__all__ = ["migrate_vaults"]

_TICK_SECONDS: Final = 0.1


async def migrate_vaults(
    gateway: AsyncGateway,
    rows: Iterable[VaultRow | VaultCreate] | AsyncIterable[VaultRow | VaultCreate],
    *,
    journal: str | PathLike[str] | Journal,
    concurrency: int = 64,
    rate: float | Rate | None = None,
    name: str | None = None,
    patience: float = 600.0,
    retry_rejected: bool = False,
    stop_when: Callable[[Report], str | None] | None = None,
    on_end: OnEnd | None = None,
    on_progress: Callable[[Report], object] | None = None,
) -> Report:
    """Store many accounts (contract, *Account vaults*); run again with the same journal, it goes on where it stopped.

    Each row ends as stored, rejected, unknown or skipped, and none is stored twice: rows bear an
    `account_vault_api_id`, their own or one made of the migration's name and the row's key, and whatever may have been
    sent is looked up by it before it is sent again. The journal holds no card number.

    Args:
        gateway: a client; how long its calls may take and how often they are tried are its own options.
        rows: vault-create requests, each with its `account_vault_api_id`, or `VaultRow`s, such as `read_rows` gives.
            They are read as they are needed, a few hundred ahead.
        journal: the file of its journal, made if it is not there; or a journal of another kind, which is closed.
        concurrency: calls under way at once, at most. It begins with a quarter of that and goes by how the gateway
            bears it: up by one, down by a third.
        rate: calls a second, at most; or a rate that several migrations share.
        name: of the migration; by default the name of the journal's file. Ids are made of it.
        patience: seconds without a single answer, or without a journal that can be written, after which it stops.
        retry_rejected: send rows again that the gateway refused in an earlier run, though they are unchanged: what was
            wrong was mended at the gateway.
        stop_when: asked ten times a second with the report; says why to stop, or None. What is under way is finished.
        on_end: told of each row as it ends, in the event loop; must not block.
        on_progress: told of the report ten times a second.

    Returns:
        How many rows ended how; `complete` says whether there is anything left to do.

    Raises:
        InvalidRequestError: `concurrency`, `rate` or `patience` is no number above 0.
        JournalError: the journal cannot be used, or belongs to another migration, gateway or location. Later it is
            waited for.
    """
    _check(concurrency=concurrency, rate=rate, patience=patience)
    if not isinstance(concurrency, int):
        raise InvalidRequestError("concurrency: must be a whole number")
    kept = SqliteJournal(journal) if isinstance(journal, str | PathLike) else journal
    report = Report()
    pace = Pace(concurrency, SteadyRate(rate) if isinstance(rate, int | float) else rate)
    try:
        run = await kept.start(name, _place_of(gateway))
        report.name = run.name
        if retry_rejected:
            await kept.forget_rejected()
        runner = Runner(gateway, kept, name=run.name, pace=pace, report=report, on_end=on_end, patience=patience)
        with gateway.observing(pace.watch):
            await _watched(runner, rows, run.number, _Watch(report, pace, runner, stop_when, on_progress))
    finally:
        with anyio.CancelScope(shield=True):
            await kept.aclose()
    return report


async def _watched(runner: Runner, rows: Any, run: int, watch: "_Watch") -> None:
    with _plain_errors():
        async with anyio.create_task_group() as watching:
            watching.start_soon(watch.keep)
            try:
                await runner.run(rows, run)
            finally:
                watching.cancel_scope.cancel()
    watch.look()


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Raise the first of several errors, not the group in which tasks raise theirs."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from error.__cause__


class _Watch:
    """Looks at a migration ten times a second."""

    def __init__(
        self,
        report: Report,
        pace: Pace,
        runner: Runner,
        stop_when: Callable[[Report], str | None] | None,
        on_progress: Callable[[Report], object] | None,
    ) -> None:
        self._report = report
        self._pace = pace
        self._runner = runner
        self._stop_when = stop_when
        self._on_progress = on_progress
        self._began = anyio.current_time()
        self._samples = Samples()

    async def keep(self) -> None:
        """Look until the end."""
        while True:
            self.look()
            await self._runner.write()
            await anyio.sleep(_TICK_SECONDS)

    def look(self) -> None:
        """Bring the report up to date, show it, and ask whether to stop."""
        report, pace = self._report, self._pace
        report.seconds = anyio.current_time() - self._began
        report.trouble, report.limit, report.in_flight = pace.trouble, pace.limit, pace.in_flight
        report.waiting = self._runner.waiting
        report.samples = self._samples.with_one_of(report)
        if self._on_progress:
            self._on_progress(report)
        if self._stop_when and (why := self._stop_when(report)):
            self._runner.stop(why)


def _place_of(gateway: AsyncGateway) -> str:
    """Where rows are stored: ids are unique within a location, so what one has stored, another has not."""
    location = gateway.location_id
    return gateway.base_url if location is None else f"{gateway.base_url} (location {location})"


def _check(**numbers: object) -> None:
    """Refuse what is no number above 0.

    Raises:
        InvalidRequestError: one is none.
    """
    for name, value in numbers.items():
        if isinstance(value, bool) or (isinstance(value, int | float) and not 0 < value < float("inf")):
            raise InvalidRequestError(f"{name}: must be a number above 0")
