"""A migration by its command: watched, stopped where it was told to, written down."""

import json
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio

from gateway_async.cli.failure import warn
from gateway_async.cli.migrate.course import Course
from gateway_async.cli.migrate.ending import Ending, Status, status_of
from gateway_async.cli.migrate.journal import entries_of
from gateway_async.cli.migrate.options import command_again
from gateway_async.cli.migrate.order import Order
from gateway_async.cli.migrate.screen import Screen, screen_for
from gateway_async.cli.migrate.signals import Interruption
from gateway_async.errors import GatewayError, InvalidRequestError
from gateway_async.migration.journal import End, RowState
from gateway_async.migration.outputs import write_out, write_report
from gateway_async.migration.reasons import Reasons
from gateway_async.migration.rejects import Rejects
from gateway_async.migration.report import Report
from gateway_async.migration.report_page import page
from gateway_async.migration.rows import VaultRow
from gateway_async.migration.shapes import Shape
from gateway_async.migration.stopping import Budget, Stop, any_of, outside, rejected_more, taken_longer
from gateway_async.migration.summary import duration, plain

__all__ = ["carry_out"]

_MOST_REASONS: Final = 20
_WINDOW_LOOK_SECONDS: Final = 1.0


def carry_out(order: Order) -> int:
    """Carry it out, and say how it ended.

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
        self._screen: Screen = screen_for(Course(self._share), as_json=order.as_json)
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

    async def run(self) -> int:
        """All of it, from the window to the last word."""
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

    # --- before

    async def _window_is_open(self) -> bool:
        """Whether it may begin; waits for it, if that was asked for.

        Raises:
            InvalidRequestError: it may not.
        """
        window = self._order.window
        if window is None or window.holds(datetime.now()):  # noqa: DTZ005  the time on the user's wall
            return True
        left = duration(window.opens_in(datetime.now()))  # noqa: DTZ005
        if not self._order.wait_for_window:
            raise InvalidRequestError(f"window: {window} opens in {left}; --wait-for-window begins then")
        self._screen.say(f"The window {window} opens in {left}.")
        while not window.holds(datetime.now()) and not self._asked.look():  # noqa: ASYNC110, DTZ005  a clock has no event
            await anyio.sleep(_WINDOW_LOOK_SECONDS)
        self._report.stopped = self._asked.why
        return not self._asked.why

    # --- meanwhile

    async def _migrate_to_an_end(self) -> None:
        """Migrate; an error after something was sent is one more way to stop.

        Raises:
            GatewayError: nothing was sent.
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
        budget = Budget(order.max_rows, self._rows) if order.max_rows else None
        async with AsyncGateway.from_env() as gateway:
            self._report = await migrate_vaults(
                gateway,
                budget.rows() if budget else self._rows,
                journal=order.opened_journal(),
                retry_rejected=order.retry_rejected,
                concurrency=order.concurrency,
                rate=order.rate,
                name=order.name,
                stop_when=self._stop(budget.look if budget else None),
                on_end=self._heard,
                on_progress=self._show,
            )

    async def _migrate_on_dask(self, scheduler: str) -> None:
        from gateway_async.migration import migrate_vaults_dask

        order, most = self._order, self._order.max_rows
        self._report = await migrate_vaults_dask(
            scheduler,
            order.input.path or "",
            journal=order.place,
            name=order.name or "",
            redis=order.redis,
            rate=order.rate,
            retry_rejected=order.retry_rejected,
            concurrency=order.concurrency,
            stop_when=self._stop((lambda report: _past(most, report)) if most else None),
            on_end=self._heard,
            on_progress=self._show,
            **order.input.reading,
        )

    def _stop(self, budget: Stop | None) -> Stop:
        """When to stop, and a note of whether that was the user's wish."""
        order = self._order
        wishes = any_of(
            budget,
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

    def _heard(self, row: VaultRow, end: End) -> None:
        if end.state is RowState.REJECTED:
            self._reasons.add(end)
            if self._rejects:
                self._rejects.add(row, end)

    def _share(self) -> float | None:
        rows = self._rows
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

    # --- afterwards

    async def _write(self) -> None:
        """Write every file that was asked for; one that cannot be written does not keep the others back."""
        files = self._order.files
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
        return json.dumps(plain(self._report, self._reasons.most(_MOST_REASONS), self._again()), indent=2) + "\n"

    def _as_page(self) -> str:
        reasons, ended = self._reasons.most(_MOST_REASONS), datetime.now()  # noqa: DTZ005  the time on the user's wall
        return page(self._report, reasons=reasons, again=self._again(), ended=ended)

    async def _write_out(self) -> int:
        assert self._order.files.out is not None  # noqa: S101  the caller has looked
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
        """Those of an earlier run are no longer true when all rows have ended and none was rejected."""
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
        status: int = asked or status_of(report, as_asked=self._as_asked)
        if self._failed and not asked:
            status = Status.FAILED
        reasons: Any = self._reasons.most(_MOST_REASONS)
        ending = Ending(
            report=report, status=status, reasons=reasons, again=self._again(), files=self._files, notes=self._notes
        )
        ending.show(as_json=self._order.as_json)
        return status


def _past(most: int, report: Report) -> str | None:
    return f"{report.stored:,} rows were stored, as asked" if report.stored >= most else None
