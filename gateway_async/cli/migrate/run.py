"""Run of the `migrate` command: shows progress, stops at limits, and writes the output files."""

import json
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import attrs
import typer
from rich.console import Console

from gateway_async.cli.migrate.display import (
    MigrationDisplay,
    ProgressMeter,
    exit_status,
    format_counts,
    print_result,
    serve_live_page,
)
from gateway_async.cli.migrate.options import MigrationOptions, client_factory
from gateway_async.cli.migrate.signals import Interruption
from gateway_async.cli.output import (
    ExitStatus,
    command_line,
    display_location,
    print_json,
    printing,
    warn,
    without_option,
)
from gateway_async.errors import GatewayError, InvalidRequestError, JournalError
from gateway_async.migration import Journal, migrate_vaults, migrate_vaults_dask
from gateway_async.migration.journal.protocol import RowResult, RowState, iterate_entries
from gateway_async.migration.journal.store import open_limited_journal
from gateway_async.migration.output.files import AtomicFile, back_up, backup_path
from gateway_async.migration.output.page import render_page
from gateway_async.migration.output.rejects import Rejects
from gateway_async.migration.output.summary import RunContext, as_values, duration
from gateway_async.migration.output.tables import InputFormat, write_vault_ids
from gateway_async.migration.report import REJECTED_STATES, Report, count_reasons, update_totals
from gateway_async.migration.rows.row import VaultRow
from gateway_async.sandbox.serve import handle_signals

_MAX_REASONS: Final = 20
_MAX_NEWEST_REJECTS: Final = 5
_WINDOW_SECONDS: Final = 1.0
_MASKED_NOTE: Final = (
    "Card numbers in the rejects are masked: correct the rows in the input, or write the rejects with "
    "--rejects-with-card-numbers, before you migrate them again."
)


class MigrationRun:
    """One run of the command."""

    def __init__(self, options: MigrationOptions) -> None:
        self._options = options
        self._rows = options.input.rows()
        self._meter = ProgressMeter(self._share)
        self._display = MigrationDisplay(self._meter, Console(stderr=True), as_json=options.as_json)
        self._interruption = Interruption(self._display.print)
        self._limit_reason = ""
        self._reasons = Counter[str]()
        self._newest_rejects: deque[RowResult] = deque(maxlen=_MAX_NEWEST_REJECTS)
        self._report = Report()
        self._rejects = (
            Rejects(options.rejects, self._input_format, with_card_numbers=options.rejects_with_card_numbers)
            if options.rejects
            else None
        )
        self._files: list[tuple[str, str]] = []
        self._notes: list[str] = []
        self._failed = self._ended = False

    async def run(self) -> int:
        """Wait for the window, migrate, write the files and print the result. Return the exit status.

        Raises:
            GatewayError: something is wrong, and nothing was sent.
        """
        try:
            await self._rows.header()  # a signal ends the wait for it at once, as nothing is to be finished
            with handle_signals(self._interruption.handle):
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
        if self._options.serve is None:
            yield
            return
        async with serve_live_page(self._options.serve, self._read_report) as address:
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
        window = self._options.times
        if window is None or window.contains(datetime.now()):  # noqa: DTZ005  the user's local time
            return True
        left = duration(window.seconds_until_open(datetime.now()))  # noqa: DTZ005
        if not self._options.wait_for_window:
            raise InvalidRequestError(f"window: {window} opens in {left} (expected --wait-for-window to wait for it)")
        typer.echo(f"Waiting for the window {window}, which opens in {left}.", err=True)
        while (seconds := window.seconds_until_open(datetime.now())) and not self._interruption.check():  # noqa: DTZ005
            self._report.waits_for = f"the window {window} opens in {duration(seconds)}"
            await anyio.sleep(_WINDOW_SECONDS)
        self._report.stopped = self._interruption.reason
        return not self._interruption.reason

    # --- during the migration

    async def _migrate(self) -> None:
        """Migrate. An error after a row has ended counts as a stop.

        Raises:
            GatewayError: no row has ended.
        """
        options = self._options
        shared: Mapping[str, Any] = {
            "retry_rejected": options.retry_rejected,
            "concurrency": options.concurrency,
            "rate": options.rate,
            "max_rows": options.max_rows,
            "stop_when": self._reason_to_stop,
            "on_row": self._on_row,
            "on_progress": self._on_progress,
        }
        connect = client_factory(options.concurrency)
        try:
            if options.dask:
                self._report = await migrate_vaults_dask(
                    options.dask,
                    options.input.path or "",
                    journal=options.journal_location,
                    name=options.name or "",
                    redis=options.redis,
                    gateway=connect,
                    columns=options.input.columns,
                    **shared,
                    **options.input.reading,
                )
            else:
                async with connect() as gateway:
                    journal = options.create_journal()
                    self._report = await migrate_vaults(
                        gateway, self._rows, journal=journal, name=options.name, **shared
                    )
        except (GatewayError, OSError) as error:
            self._report.stopped, self._report.totals = str(error), None
            if not self._report.rows:
                raise
        options.input.check_has_rows(bool(self._report.rows or self._report.stopped))

    def _reason_to_stop(self, report: Report) -> str | None:
        if report.stopped:
            return None
        now = datetime.now()  # noqa: DTZ005  the user's local time
        reason = self._interruption.check() or self._options.reason_to_stop(report, now)
        self._limit_reason = reason or self._limit_reason
        return reason

    def _on_progress(self, report: Report) -> None:
        self._report = report
        self._display.show(report)

    def _on_row(self, row: VaultRow, result: RowResult) -> None:
        if result.state in REJECTED_STATES:
            count_reasons(self._reasons, result.reasons)
            self._newest_rejects.appendleft(result)
            if self._rejects:
                self._rejects.add(row, result)

    def _share(self) -> float | None:
        """Return the share of the input that has ended; None if not known."""
        rows = self._rows
        if self._report.share is not None or self._options.dask:
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
            mapping=self._options.input.columns,
            columns=rows.columns,
            delimiter=rows.delimiter or ",",
            encoding=rows.encoding,
        )

    # --- after the migration

    async def _write_outputs(self) -> None:
        """Write all requested files. If one cannot be written, the others are still written."""
        async with open_limited_journal(self._options.create_journal()) as journal:
            await self._complete_figures(journal)
            for option, write in (
                ("--out", partial(self._write_vault_ids, journal)),
                ("--rejects", self._write_rejects),
                ("--report-json", partial(self._write_report, "JSON report", self._options.report_json, _render_json)),
                ("--report", partial(self._write_report, "report", self._options.report, render_page)),
            ):
                try:
                    await write()
                except (OSError, GatewayError) as error:
                    self._failed = True
                    has_file = isinstance(error, OSError) and error.strerror
                    cause = f"{error.filename}: {error.strerror}" if has_file else str(error)  # type: ignore[union-attr]
                    warn(f"{option} could not be written: {cause}")

    async def _complete_figures(self, journal: Journal) -> None:
        """Read what the report lacks in the journal: the figures after an error, the reasons of rows not reached."""
        if self._report.totals is not None and not self._report.not_reached:
            return
        reasons = Counter[str]()
        if self._report.totals is None:
            await update_totals(self._report, journal)
        with suppress(JournalError):
            for state in REJECTED_STATES:
                async with aclosing(iterate_entries(journal, state)) as entries:
                    async for entry in entries:
                        count_reasons(reasons, entry.reasons)
            self._reasons = reasons

    async def _write_vault_ids(self, journal: Journal) -> None:
        if path := self._options.out:
            number = await write_vault_ids(path, iterate_entries(journal, RowState.STORED))
            self._files.append(("vault ids", f"{path} ({number:,})"))

    async def _write_rejects(self) -> None:
        rejects, path, stopped = self._rejects, self._options.rejects, bool(self._report.stopped)
        if rejects is None or path is None:
            return
        if rejects.close(is_partial=stopped):
            self._files.append(("rejects", f"{path} ({rejects.count:,})"))
            if not self._options.rejects_with_card_numbers:
                self._notes.append(_MASKED_NOTE)
            if rejects.fuller:
                self._notes.append(
                    f"This run did not reach all rejects of an earlier one, which are in {rejects.fuller}."
                )
        elif not stopped and back_up(path, backup_path(path)):
            self._notes.append(f"No row was rejected; the rejects of an earlier run are now in {backup_path(path)}.")

    async def _write_report(self, kind: str, path: Path | None, render: Callable[[Report, RunContext], str]) -> None:
        if path:
            with AtomicFile(path, "utf-8") as file:
                file.write(render(self._report, self._context()))
            self._files.append((kind, str(path)))

    def _context(self) -> RunContext:
        options, wrote_rejects = self._options, any(name == "rejects" for name, _ in self._files)
        same_input = "" if options.input.path else "with the same input again"
        arguments = without_option(sys.argv[1:], "--max-rows") if self._report.at_cap else sys.argv[1:]
        return RunContext(
            input=options.input.location,
            journal=display_location(options.journal_location),
            rejects=str(options.rejects) if wrote_rejects else "",
            reasons=self._reasons.most_common(_MAX_REASONS),
            newest_rejects=tuple(self._newest_rejects),
            resume_command=command_line(arguments, same_input),
        )

    def _finish(self) -> int:
        """Print the result and return the exit status."""
        report = self._report
        interrupted = self._interruption.status if report.stopped == self._interruption.reason else 0
        stopped_by_limit = report.at_cap or report.stopped == self._limit_reason
        status: int = interrupted or exit_status(report, stopped_by_limit=stopped_by_limit)
        if self._failed and not interrupted:
            status = ExitStatus.FAILED
        context, files, notes = self._context(), self._files, self._notes
        with printing(status, done=self._describe_result()):
            if self._options.as_json:
                values = as_values(report, context)
                values["resume_command"] = "" if report.complete else context.resume_command
                print_json([{"event": "end", **values, "exit_status": status, "files": dict(files), "notes": notes}])
            else:
                print_result(report, context, status, files, notes)
        return status

    def _describe_result(self) -> str:
        """Say what was done, if there was anything to do."""
        counts = format_counts(self._report, running=False).plain.replace(" · ", ", ")
        journal = display_location(self._options.journal_location)
        return f"{counts}, in the journal {journal}" if self._report.rows else ""


def _render_json(report: Report, context: RunContext) -> str:
    return json.dumps(as_values(report, context), indent=2) + "\n"
