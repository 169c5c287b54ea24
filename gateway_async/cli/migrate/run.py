"""Run of the `migrate` command: shows progress, stops at limits, and writes the output files."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio

from gateway_async.cli.errors import warn
from gateway_async.cli.migrate.display import MigrationDisplay, screen_for
from gateway_async.cli.migrate.journal import entries_of
from gateway_async.cli.migrate.journals import shown_place
from gateway_async.cli.migrate.options import command_again
from gateway_async.cli.migrate.progress import Course
from gateway_async.cli.migrate.result import Ending, Status, status_of
from gateway_async.cli.migrate.settings import Order
from gateway_async.cli.migrate.signals import Interruption
from gateway_async.errors import GatewayError, InvalidRequestError
from gateway_async.migration.journal.protocol import RowResult, RowState
from gateway_async.migration.output.formats import Shape
from gateway_async.migration.output.html_report import page
from gateway_async.migration.output.reasons import Reasons
from gateway_async.migration.output.rejects import Rejects
from gateway_async.migration.output.summary import Surroundings, duration, plain
from gateway_async.migration.output.vault_ids import write_out, write_report
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.stop_conditions import Stop, any_of, outside, rejected_more, taken_longer

__all__ = ["carry_out"]

_MOST_REASONS: Final = 20
_WINDOW_LOOK_SECONDS: Final = 1.0


def carry_out(order: Order) -> int:
    """Run the migration and print its result.

    Returns:
        The exit status.

    Raises:
        GatewayError: something is wrong, and nothing was sent.
    """
    return anyio.run(_Work(order).run)


class _Work:
    """One run of the command."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._rows = order.input.rows()
        self._screen: MigrationDisplay = screen_for(Course(self._share), as_json=order.as_json)
        self._asked = Interruption(self._screen.say)
        self._as_asked = False
        self._reasons = Reasons()
        self._report = Report()
        files = order.files
        self._rejects = (
            Rejects(files.rejects, self._shape, with_card_numbers=files.with_card_numbers) if files.rejects else None
        )
        self._files: list[tuple[str, str]] = []
        self._notes: list[str] = []
        self._failed = False
        self._totals: Mapping[RowState, int] | None = None

    async def run(self) -> int:
        """Wait for the window, migrate, write the files and print the result."""
        try:
            with self._asked.heard():
                await self._rows.header()
                if await self._window_is_open():
                    await self._migrate_to_an_end()
                    await self._write()
        finally:
            self._screen.close()
            await self._rows.aclose()
        return self._end()

    # --- before the migration

    async def _window_is_open(self) -> bool:
        """Return whether it may start; wait for the window if the user asked for that.

        Raises:
            InvalidRequestError: the window is closed and the user did not ask to wait.
        """
        window = self._order.window
        if window is None or window.holds(datetime.now()):  # noqa: DTZ005  the user's local time
            return True
        left = duration(window.opens_in(datetime.now()))  # noqa: DTZ005
        if not self._order.wait_for_window:
            raise InvalidRequestError(f"window: {window} opens in {left}; --wait-for-window begins then")
        self._screen.say(f"The window {window} opens in {left}.")
        while not window.holds(datetime.now()) and not self._asked.look():  # noqa: ASYNC110, DTZ005  a clock has no event
            await anyio.sleep(_WINDOW_LOOK_SECONDS)
        self._report.stopped = self._asked.why
        return not self._asked.why

    # --- during the migration

    async def _migrate_to_an_end(self) -> None:
        """Migrate. An error after a row has ended counts as a stop.

        Raises:
            GatewayError: no row has ended.
        """
        try:
            await self._migrate()
        except (GatewayError, OSError) as error:
            if not self._report.rows:
                raise
            self._report.stopped = str(error)

    async def _migrate(self) -> None:
        if self._order.dask:
            await self._migrate_on_dask(self._order.dask)
        else:
            await self._migrate_here()

    async def _migrate_here(self) -> None:
        from gateway_async import AsyncGateway
        from gateway_async.migration import migrate_vaults

        order = self._order
        async with AsyncGateway.from_env() as gateway:
            self._report = await migrate_vaults(
                gateway,
                self._rows,
                journal=order.opened_journal(),
                retry_rejected=order.retry_rejected,
                concurrency=order.concurrency,
                rate=order.rate,
                name=order.name,
                max_rows=order.max_rows,
                stop_when=self._stop(),
                on_row=self._heard,
                on_progress=self._show,
            )

    async def _migrate_on_dask(self, scheduler: str) -> None:
        from gateway_async.migration import migrate_vaults_dask

        order = self._order
        self._report = await migrate_vaults_dask(
            scheduler,
            order.input.path or "",
            journal=order.place,
            name=order.name or "",
            redis=order.redis,
            rate=order.rate,
            retry_rejected=order.retry_rejected,
            concurrency=order.concurrency,
            max_rows=order.max_rows,
            stop_when=self._stop(),
            on_row=self._heard,
            on_progress=self._show,
            **order.input.reading,
        )

    def _stop(self) -> Stop:
        """Return the stop condition. It also records whether the user's limits caused the stop."""
        order = self._order
        wishes = any_of(
            outside(order.window, datetime.now) if order.window else None,
            taken_longer(order.max_seconds) if order.max_seconds else None,
            rejected_more(order.max_rejected) if order.max_rejected is not None else None,
        )

        def look(report: Report) -> str | None:
            why = None if report.stopped else self._asked.look() or wishes(report)
            self._as_asked = self._as_asked or bool(why)
            return why

        return look

    def _show(self, report: Report) -> None:
        self._report = report
        self._screen.show(report)

    def _heard(self, row: VaultRow, end: RowResult) -> None:
        if end.state is RowState.REJECTED:
            self._reasons.add(end)
            if self._rejects:
                self._rejects.add(row, end)

    def _share(self) -> float | None:
        """Return the share of the input that has ended, from the engine or from the read position."""
        rows = self._rows
        if self._report.share is not None or self._order.dask:
            return self._report.share
        return min(1.0, rows.position / rows.total) if rows.total else None

    def _shape(self) -> Shape:
        rows = self._rows
        return Shape(
            format=rows.format,
            fit=self._order.input.columns,
            columns=rows.columns,
            delimiter=rows.delimiter or ",",
            encoding=rows.encoding,
        )

    # --- after the migration

    async def _write(self) -> None:
        """Write all requested files. If one cannot be written, the others are still written."""
        files = self._order.files
        self._totals = await self._count()
        if files.out:
            try:
                number = await self._write_out()
                self._files.append(("vault ids", f"{files.out} ({number:,})"))
            except (OSError, GatewayError) as error:
                self._failure("--out", error)
        if self._rejects:
            self._attempt("--rejects", self._write_rejects)
        if files.json:
            self._attempt("--report-json", partial(self._write_report, files.json, self._as_json()))
        if files.page:
            self._attempt("--report", partial(self._write_report, files.page, self._as_page()))

    def _write_report(self, path: Path, text: str) -> None:
        write_report(path, text)
        self._files.append(("report", str(path)))

    def _as_json(self) -> str:
        reasons = self._reasons.most(_MOST_REASONS)
        return json.dumps(plain(self._report, reasons, self._again(), self._surroundings()), indent=2) + "\n"

    def _as_page(self) -> str:
        reasons = self._reasons.most(_MOST_REASONS)
        return page(self._report, reasons=reasons, again=self._again(), surroundings=self._surroundings())

    def _surroundings(self) -> Surroundings:
        order, wrote_rejects = self._order, any(name == "rejects" for name, _ in self._files)
        return Surroundings(
            input=order.input.place,
            journal=shown_place(order.place),
            totals=self._totals,
            rejects=str(order.files.rejects) if wrote_rejects else "",
        )

    async def _count(self) -> Mapping[RowState, int] | None:
        """Return the rows of each state over all runs; None if the journal cannot be read."""
        journal = self._order.opened_journal()
        try:
            counts: Mapping[RowState, int] = await journal.counts()
        except GatewayError:
            return None
        finally:
            await journal.aclose()
        return counts

    async def _write_out(self) -> int:
        assert self._order.files.out is not None  # noqa: S101  the caller has checked
        journal = self._order.opened_journal()
        try:
            return await write_out(self._order.files.out, entries_of(journal, RowState.STORED))
        finally:
            await journal.aclose()

    def _write_rejects(self) -> None:
        assert self._rejects is not None  # noqa: S101
        if not self._rejects.close():
            self._set_former_rejects_aside(self._rejects)
            return
        place, masked = self._order.files.rejects, not self._order.files.with_card_numbers
        self._files.append(("rejects", f"{place} ({self._rejects.count:,})"))
        if masked:
            self._notes.append(
                "Card numbers in the rejects are masked: mend the rows in the input, or write the rejects "
                "with --rejects-with-card-numbers, before you migrate them again."
            )

    def _set_former_rejects_aside(self, rejects: Rejects) -> None:
        """Move old rejects aside if all rows have ended and none was rejected."""
        former = None if self._report.stopped else rejects.set_former_aside()
        if former:
            self._notes.append(f"No row was rejected; the rejects of an earlier run are now in {former}.")

    def _attempt(self, name: str, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            self._failure(name, error)

    def _failure(self, name: str, error: Exception) -> None:
        self._failed = True
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
        warn(f"{name} could not be written: {said}")

    def _again(self) -> str:
        return command_again() if self._order.input.path else f"{command_again()}   # with the same input again"

    def _end(self) -> int:
        report = self._report
        asked = self._asked.status if report.stopped == self._asked.why else 0
        status: int = asked or status_of(report, as_asked=self._as_asked or report.at_cap)
        if self._failed and not asked:
            status = Status.FAILED
        reasons: Any = self._reasons.most(_MOST_REASONS)
        ending = Ending(
            report=report,
            status=status,
            reasons=reasons,
            again=self._again(),
            files=self._files,
            notes=self._notes,
            surroundings=self._surroundings(),
        )
        ending.show(as_json=self._order.as_json)
        return status
