"""`migrate_vaults`: store any number of accounts in the vault, each once, also over several runs."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from typing import Final

from gateway_async._arguments import check_numbers
from gateway_async._background import repeat, run_beside
from gateway_async.client import AsyncGateway
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.journal.protocol import Journal
from gateway_async.migration.journal.store import open_limited_journal
from gateway_async.migration.limiter import ConcurrencyLimiter
from gateway_async.migration.rate import Rate, SteadyRate
from gateway_async.migration.recorder import RowCallback
from gateway_async.migration.report import Report, ReportCallbacks, counting_totals
from gateway_async.migration.rows.row import InputRow, VaultRow, iterate_rows
from gateway_async.migration.runner import Runner
from gateway_async.migration.sources.files import Rows
from gateway_async.migration.stop import RowAllowance
from gateway_async.models.account_vaults import VaultCreate

_TICK_SECONDS: Final = 0.1


async def migrate_vaults(
    gateway: AsyncGateway,
    rows: Iterable[VaultRow | VaultCreate] | AsyncIterable[VaultRow | VaultCreate],
    *,
    journal: str | PathLike[str] | Journal,
    concurrency: int = 64,
    rate: float | Rate | None = None,
    name: str | None = None,
    give_up_after: float = 600.0,
    retry_rejected: bool = False,
    max_rows: int | None = None,
    stop_when: Callable[[Report], str | None] | None = None,
    on_row: RowCallback | None = None,
    on_progress: Callable[[Report], object] | None = None,
) -> Report:
    """Store many accounts in the vault (contract, *Account vaults*).

    Run it again with the same journal to continue where it stopped.

    Each row ends as stored, rejected, repeated, unknown or skipped. No row is stored twice, because each has an
    `account_vault_api_id`: its own, or one made of the migration's name and the row's key. Of several rows with one key
    the first that can be sent is sent, and the others are repeated. A row that may have been sent is looked up by its
    id before it is sent again. The journal holds no card number and no hash of one. Therefore a row is skipped as
    stored if its card was replaced by another one with the same last four digits and length.

    Args:
        gateway: a client; its own options set the timeouts and the number of attempts of each call.
        rows: vault-create requests, each with its `account_vault_api_id`, or `VaultRow`s, such as `read_rows` gives.
            They are read when they are needed, a few hundred rows ahead.
        journal: the file of the journal, created if it does not exist; or a journal of another kind, which is closed at
            the end.
        concurrency: maximum number of concurrent calls. It starts with a quarter of that, and doubles until the first
            overload. Then it adapts to latency and errors: up by one, down by a third.
        rate: maximum calls per second; or a `Rate`, which several migrations may share.
        name: name of the migration; by default the name of the journal's file. Ids are made of it.
        give_up_after: seconds without a single response, or without a writable journal, after which it stops.
        retry_rejected: send rows again that the gateway rejected in an earlier run, also if they are unchanged. Use it
            after the cause was fixed at the gateway. Not with a part of a file, whose run would also forget the
            rejects of the others.
        max_rows: maximum number of rows stored in this run. An unknown row counts as stored; a skipped, rejected or
            repeated row does not count. Later rows of the input are not processed.
        stop_when: called ten times a second with the report; returns the reason to stop, or None. Calls in progress are
            finished.
        on_row: called for each row when it ends, in the event loop; must not block.
        on_progress: called with the report ten times a second.

    Returns:
        The number of rows of each result; `complete` says whether anything is left to do, and `totals` has the rows of
        all runs.

    Raises:
        InvalidRequestError: `concurrency`, `rate`, `give_up_after` or `max_rows` is not a number above 0, or
            `retry_rejected` is true for a part of a file.
        JournalError: the journal cannot be used, or belongs to another migration, gateway or location. If the journal
            fails later, the migration waits for it.
    """
    is_shard = isinstance(rows, Rows) and rows.is_shard
    if is_shard and retry_rejected:
        raise InvalidRequestError("retry_rejected: not allowed for a part of a file (expected in a run over all of it)")
    rows = iterate_rows(rows)
    check_numbers(whole=True, above=0, concurrency=concurrency)
    check_numbers(above=0, give_up_after=give_up_after, rate=rate if isinstance(rate, int | float) else 1)
    check_numbers(whole=True, above=0, optional=True, max_rows=max_rows)
    async with open_limited_journal(journal) as store:
        return await migrate_rows(
            gateway,
            rows,
            store,
            is_shard=is_shard,
            name=name,
            allowance=RowAllowance(max_rows),
            concurrency=concurrency,
            rate=SteadyRate(rate) if isinstance(rate, int | float) else rate,
            give_up_after=give_up_after,
            retry_rejected=retry_rejected,
            stop_when=stop_when,
            on_row=on_row,
            on_progress=on_progress,
        )


async def migrate_rows(
    gateway: AsyncGateway,
    rows: AsyncGenerator[InputRow],
    journal: Journal,
    *,
    is_shard: bool,
    name: str | None,
    allowance: RowAllowance,
    concurrency: int,
    rate: Rate | None,
    give_up_after: float,
    retry_rejected: bool = False,
    since: int | None = None,
    stop_when: Callable[[Report], str | None] | None,
    on_row: RowCallback | None,
    on_progress: Callable[[Report], object] | None,
) -> Report:
    """Store the rows of a whole input, or of one of its shards.

    It takes the arguments of `migrate_vaults`, but `rows` come from `iterate_rows`. For a shard of several processes,
    `since` is the journal's first run that counts as this one. Then the coordinator counts the rows of all runs.
    """
    report = Report(gateway=gateway.base_url, location=gateway.location_id, started_at=datetime.now(UTC))
    limiter = ConcurrencyLimiter(concurrency, rate)
    try:
        run = await journal.start(name, _gateway_identity(gateway), since=since)
        report.name = run.name
        if retry_rejected:
            await journal.delete_rejected()
        runner = Runner(
            gateway,
            journal,
            name=run.name,
            has_former_keys=run.has_former_keys,
            limiter=limiter,
            report=report,
            allowance=allowance,
            on_row=on_row,
            give_up_after=give_up_after,
        )
        callbacks = ReportCallbacks(report, stop_when, on_progress)

        async def update() -> None:
            report.failed_attempts = limiter.failed_attempts
            report.limit = limiter.limit
            report.in_flight = limiter.in_flight
            report.failures = dict(limiter.failures)
            report.waits_for = runner.waits_for
            if reason := callbacks.call():
                runner.stop(reason)

        async with counting_totals(report, journal) if since is None else nullcontext():
            with gateway.observing(limiter.observe):
                # Neither waits for the other: a slow journal would delay a stop.
                async with run_beside(
                    partial(repeat, update, _TICK_SECONDS), partial(repeat, runner.write, _TICK_SECONDS)
                ):
                    await runner.run(rows, since or run.number, is_shard=is_shard)
                await update()
    finally:
        report.ended_at = datetime.now(UTC)
    return report


def _gateway_identity(gateway: AsyncGateway) -> str:
    """Return the address and location of the gateway. Ids are unique within a location only."""
    location = gateway.location_id
    return gateway.base_url if location is None else f"{gateway.base_url} (location {location})"
