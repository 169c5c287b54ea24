"""Run of the `migrate` command: shows progress, stops at limits, and writes the output files."""

import json
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from typing import Any, Final

import anyio
import attrs
import typer

from gateway_async.cli.command_name import command_line
from gateway_async.cli.errors import printing, warn
from gateway_async.cli.exit_status import ExitStatus
from gateway_async.cli.migrate.display import ProgressMeter, create_display, format_counts
from gateway_async.cli.migrate.live_page import serve_live_page
from gateway_async.cli.migrate.result import CommandResult, exit_status
from gateway_async.cli.migrate.settings import Settings, client_factory
from gateway_async.cli.migrate.signals import Interruption
from gateway_async.cli.store_location import display_location
from gateway_async.errors import GatewayError, InvalidRequestError
from gateway_async.migration import migrate_vaults, migrate_vaults_dask
from gateway_async.migration.journal.protocol import RowResult, RowState, iterate_entries
from gateway_async.migration.output.files import back_up
from gateway_async.migration.output.page import render_page
from gateway_async.migration.output.rejects import Rejects
from gateway_async.migration.output.summary import Reasons, RunContext, as_values, duration
from gateway_async.migration.output.tables import InputFormat, write_report, write_vault_ids
from gateway_async.migration.report import Report, read_totals
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.stop import (
    StopCondition,
    stop_after_rejects,
    stop_after_seconds,
    stop_on_any,
    stop_outside,
)

__all__ = ["run_migration"]

_MAX_REASONS: Final = 20
_MAX_NEWEST_REJECTS: Final = 5
_WINDOW_SECONDS: Final = 1.0
_MASKED_NOTE: Final = (
    "Card numbers in the rejects are masked: correct the rows in the input, or write the rejects with "
    "--rejects-with-card-numbers, before you migrate them again."
)


def run_migration(settings: Settings) -> int:
    """Run the migration and print its result.

    Returns:
        The exit status.

    Raises:
        GatewayError: something is wrong, and nothing was sent.
    """
    return anyio.run(_MigrationRun(settings).run)


class _MigrationRun:
    """One run of the command."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rows = settings.input.rows()
        self._meter = ProgressMeter(self._share)
        self._display = create_display(self._meter, as_json=settings.as_json)
        self._interruption = Interruption(self._display.print)
        self._stopped_by_limit = False
        self._reasons = Reasons()
        self._newest_rejects: deque[RowResult] = deque(maxlen=_MAX_NEWEST_REJECTS)
        self._report = Report()
        outputs = settings.outputs
        self._rejects = (
            Rejects(outputs.rejects, self._input_format, with_card_numbers=outputs.with_card_numbers)
            if outputs.rejects
            else None
        )
        self._files: list[tuple[str, str]] = []
        self._notes: list[str] = []
        self._failed = self._ended = False

    async def run(self) -> int:
        """Wait for the window, migrate, write the files and print the result."""
        try:
            with self._interruption.handle_signals():
                await self._rows.header()
                async with self._serve_live_page():
                    if await self._wait_for_window():
                        await self._migrate()
                        await self._write_outputs()
        finally:
            self._display.close()
            await self._rows.aclose()
        return self._finish()

    @asynccontextmanager
    async def _serve_live_page(self) -> AsyncIterator[None]:
        """Serve the report as a page during the block, if requested."""
        if self._settings.serve is None:
            yield
            return
        async with serve_live_page(self._settings.serve, self._read_report) as address:
            typer.echo(f"Live page: {address}", err=True)
            try:
                yield
            finally:
                self._ended = True

    def _read_report(self) -> tuple[Report, RunContext]:
        """Return what the live page shows."""
        progress = None if self._ended else self._meter.progress
        return self._report, attrs.evolve(self._context(), progress=progress)

    async def _wait_for_window(self) -> bool:
        """Return whether the migration may start; wait for the window if the user asked for that.

        Raises:
            InvalidRequestError: the window is closed and the user did not ask to wait.
        """
        window = self._settings.window
        if window is None or window.contains(datetime.now()):  # noqa: DTZ005  the user's local time
            return True
        left = duration(window.seconds_until_open(datetime.now()))  # noqa: DTZ005
        if not self._settings.wait_for_window:
            raise InvalidRequestError(f"window: {window} opens in {left} (expected --wait-for-window to wait for it)")
        self._display.print(f"Waiting for the window {window}, which opens in {left}.")
        self._report.waits_for = f"the window {window} opens in {left}"
        while not window.contains(datetime.now()) and not self._interruption.check():  # noqa: ASYNC110, DTZ005  a clock has no event
            await anyio.sleep(_WINDOW_SECONDS)
        self._report.stopped = self._interruption.reason
        return not self._interruption.reason

    # --- during the migration

    async def _migrate(self) -> None:
        """Migrate. An error after a row has ended counts as a stop.

        Raises:
            GatewayError: no row has ended.
        """
        settings = self._settings
        options = {
            "retry_rejected": settings.retry_rejected,
            "concurrency": settings.concurrency,
            "rate": settings.rate,
            "max_rows": settings.max_rows,
            "stop_when": self._stop_condition(),
            "on_row": self._on_row,
            "on_progress": self._on_progress,
        }
        try:
            if settings.dask:
                await self._migrate_on_dask(settings.dask, options)
            else:
                await self._migrate_here(options)
        except (GatewayError, OSError) as error:
            self._report.stopped = str(error)
            if not self._report.rows:
                raise
        settings.input.check_has_rows(bool(self._report.rows or self._report.stopped))

    async def _migrate_here(self, options: Mapping[str, Any]) -> None:
        journal, name = self._settings.create_journal(), self._settings.name
        async with client_factory(self._settings.concurrency)() as gateway:
            self._report = await migrate_vaults(gateway, self._rows, journal=journal, name=name, **options)

    async def _migrate_on_dask(self, scheduler: str, options: Mapping[str, Any]) -> None:
        settings = self._settings
        self._report = await migrate_vaults_dask(
            scheduler,
            settings.input.path or "",
            journal=settings.journal_location,
            name=settings.name or "",
            redis=settings.redis,
            gateway=client_factory(settings.concurrency),
            **options,
            **settings.input.reading,
        )

    def _stop_condition(self) -> StopCondition:
        """Return the stop condition. It also records whether the user's limits caused the stop."""
        settings = self._settings
        limits = stop_on_any(
            stop_outside(settings.window, datetime.now) if settings.window else None,
            stop_after_seconds(settings.max_seconds) if settings.max_seconds else None,
            stop_after_rejects(settings.max_rejected) if settings.max_rejected is not None else None,
        )

        def check(report: Report) -> str | None:
            reason = None if report.stopped else self._interruption.check() or limits(report)
            self._stopped_by_limit = self._stopped_by_limit or bool(reason)
            return reason

        return check

    def _on_progress(self, report: Report) -> None:
        self._report = report
        self._display.show(report)

    def _on_row(self, row: VaultRow, result: RowResult) -> None:
        if result.state in (RowState.REJECTED, RowState.REPEATED):
            self._reasons.add(result)
            self._newest_rejects.appendleft(result)
            if self._rejects:
                self._rejects.add(row, result)

    def _share(self) -> float | None:
        """Return the share of the input that has ended; None if not known."""
        rows = self._rows
        if self._report.share is not None or self._settings.dask:
            return self._report.share
        if not rows.total:
            return None
        read_ahead = max(rows.row_count - self._report.rows, 0)
        share: float = min(1.0, rows.position / rows.total) * (1 - read_ahead / max(rows.row_count, 1))
        return share

    def _input_format(self) -> InputFormat:
        rows = self._rows
        return InputFormat(
            format=rows.format,
            mapping=self._settings.input.columns,
            columns=rows.columns,
            delimiter=rows.delimiter or ",",
            encoding=rows.encoding,
        )

    # --- after the migration

    async def _write_outputs(self) -> None:
        """Write all requested files. If one cannot be written, the others are still written."""
        if self._report.totals is None:  # an error ended the migration
            async with aclosing(self._settings.create_journal()) as journal:
                self._report.totals = await read_totals(journal)
        for option, write in (
            ("--out", self._write_vault_ids),
            ("--rejects", self._write_rejects),
            ("--report-json", self._write_json_report),
            ("--report", self._write_html_report),
        ):
            try:
                await write()
            except (OSError, GatewayError) as error:
                self._failed = True
                has_file = isinstance(error, OSError) and error.strerror
                cause = f"{error.filename}: {error.strerror}" if has_file else str(error)  # type: ignore[union-attr]
                warn(f"{option} could not be written: {cause}")

    async def _write_vault_ids(self) -> None:
        if not (path := self._settings.outputs.vault_ids):
            return
        async with aclosing(self._settings.create_journal()) as journal:
            number = await write_vault_ids(path, iterate_entries(journal, RowState.STORED))
        self._files.append(("vault ids", f"{path} ({number:,})"))

    async def _write_rejects(self) -> None:
        rejects, outputs = self._rejects, self._settings.outputs
        if rejects is None:
            return
        if rejects.close():
            self._files.append(("rejects", f"{outputs.rejects} ({rejects.count:,})"))
            if not outputs.with_card_numbers:
                self._notes.append(_MASKED_NOTE)
        elif outputs.rejects and not self._report.stopped and (backup := back_up(outputs.rejects)):
            self._notes.append(f"No row was rejected; the rejects of an earlier run are now in {backup}.")

    async def _write_json_report(self) -> None:
        if path := self._settings.outputs.json_report:
            write_report(path, json.dumps(as_values(self._report, self._context()), indent=2) + "\n")
            self._files.append(("report", str(path)))

    async def _write_html_report(self) -> None:
        if path := self._settings.outputs.html_report:
            write_report(path, render_page(self._report, self._context()))
            self._files.append(("report", str(path)))

    def _context(self) -> RunContext:
        settings, wrote_rejects = self._settings, any(name == "rejects" for name, _ in self._files)
        same_input = "" if settings.input.path else "with the same input again"
        return RunContext(
            input=settings.input.location,
            journal=display_location(settings.journal_location),
            rejects=str(settings.outputs.rejects) if wrote_rejects else "",
            reasons=self._reasons.most(_MAX_REASONS),
            newest_rejects=tuple(self._newest_rejects),
            resume_command=command_line(sys.argv[1:], same_input),
        )

    def _finish(self) -> int:
        """Print the result and return the exit status."""
        report = self._report
        interrupted = self._interruption.status if report.stopped == self._interruption.reason else 0
        status: int = interrupted or exit_status(report, stopped_by_limit=self._stopped_by_limit or report.at_cap)
        if self._failed and not interrupted:
            status = ExitStatus.FAILED
        result = CommandResult(
            report=report, status=status, context=self._context(), files=self._files, notes=self._notes
        )
        with printing(status, done=self._describe_result()):
            result.show(as_json=self._settings.as_json)
        return status

    def _describe_result(self) -> str:
        """Say what was done, if there was anything to do."""
        counts = format_counts(self._report, running=False).plain.replace(" · ", ", ")
        journal = display_location(self._settings.journal_location)
        return f"{counts}, in the journal {journal}" if self._report.rows else ""
