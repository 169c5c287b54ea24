"""Display of a migration: a progress bar on a terminal, lines elsewhere, JSON for programs, a page; and the result."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Final

import anyio
from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from gateway_async._text import pluralize
from gateway_async.cli.migrate.journal import ROW_COLORS
from gateway_async.cli.output import ExitStatus, print_json
from gateway_async.cli.standard_streams import OutputError
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.output.live_page import LivePage
from gateway_async.migration.output.summary import (
    COUNTS,
    RunContext,
    RunProgress,
    duration,
    facts,
    failures,
    headline,
    rate_of,
)
from gateway_async.migration.report import STATES, Report
from gateway_async.sandbox.http.server import Listener

_HOST: Final = "127.0.0.1"
_LAST_UPDATE_SECONDS: Final = 2.0
"""Time for open pages to show the end."""

_OBJECT_SECONDS: Final = 1.0
_LINE_SECONDS: Final = 5.0
_RATE_SECONDS: Final = 5.0
_ETA_SECONDS: Final = 30.0
_MAX_REASONS: Final = 10


class ProgressMeter:
    """Measures a migration's current rate and its remaining time.

    Args:
        share: returns the share of the input that is done, from 0 to 1; None if not known.

    Attributes:
        progress: the last measurement: rows per second over the last seconds, share and remaining seconds.
        bar: a progress bar of the share, with the rate and the remaining time.
    """

    def __init__(self, share: Callable[[], float | None]) -> None:
        self.progress = RunProgress(rate=0.0, share=None, eta=None)
        self._share = share
        self._seconds = 0.0
        self._rows = Progress(get_time=lambda: self._seconds, speed_estimate_period=_RATE_SECONDS)
        self.bar = Progress(
            SpinnerColumn(style="cyan"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]:,.0f} rows/s", style="bold"),
            TimeRemainingColumn(),
            get_time=lambda: self._seconds,
            speed_estimate_period=_ETA_SECONDS,
            expand=True,
        )
        self._counted = self._rows.add_task("", total=None)
        self._read = self.bar.add_task("", total=None, rate=0.0)

    def update(self, report: Report) -> None:
        """Add a measurement. Skipped rows do not count for the rate."""
        self._seconds = report.seconds
        self._rows.update(self._counted, completed=report.rows - report.skipped)
        rate, share = self._rows.tasks[0].speed or 0.0, self._share()
        self.bar.update(self._read, total=None if share is None else 1.0, completed=share or 0.0, rate=rate)
        eta = None if share is None else self.bar.tasks[0].time_remaining
        self.progress = RunProgress(rate=rate, share=share, eta=eta)


class MigrationDisplay:
    """Shows a migration while it runs: a bar on a terminal, lines elsewhere, or JSON.

    Args:
        meter: measures the rate and the remaining time.
        as_json: whether to print objects on standard output, for programs.
        console: where people see the bar or the lines.
    """

    def __init__(self, meter: ProgressMeter, console: Console, *, as_json: bool) -> None:
        self._meter = meter
        self._console = console
        self._message = ""
        self._live: Live | None = None
        if as_json:
            self._draw, self._every, self._next = self._print_object, _OBJECT_SECONDS, 0.0
        elif console.is_interactive:
            self._draw, self._every, self._next = self._update_bar, 0.0, 0.0
            self._live = Live(console=console, transient=True, refresh_per_second=10, redirect_stdout=False)
        else:
            self._draw, self._every, self._next = self._print_line, _LINE_SECONDS, _LINE_SECONDS

    def show(self, report: Report) -> None:
        """Show the current state, if it is time; called often."""
        self._meter.update(report)
        if report.seconds >= self._next:
            self._next = report.seconds + self._every
            self._draw(report)

    def print(self, text: str) -> None:
        """Show a message to people: from now on under the bar, or as a line."""
        self._message = text
        if not self._live:
            self._console.print(Text(text), soft_wrap=True)

    def close(self) -> None:
        """Remove the bar."""
        if self._live:
            self._live.stop()

    def _update_bar(self, report: Report) -> None:
        remark = self._message or (f"waiting: {report.waits_for}" if report.waits_for else "")
        if self._live:
            self._live.start()
            self._live.update(Group(self._meter.bar, format_counts(report), Text(remark, style="yellow")))

    def _print_line(self, report: Report) -> None:
        now = self._meter.progress
        parts = ["" if now.share is None else f"{now.share:4.0%}", f"{now.rate:,.0f} rows/s"]
        figures = "  ".join(filter(None, [*parts, "" if now.eta is None else f"{duration(now.eta)} left"]))
        waiting = f", waiting: {report.waits_for}" if report.waits_for else ""
        self.print(f"{figures}: {format_counts(report).plain}{waiting}")

    def _print_object(self, report: Report) -> None:
        now = self._meter.progress
        values = {
            "event": "progress",
            "seconds": round(report.seconds, 3),
            **{name: getattr(report, name) for name in (*COUNTS, "in_flight", "limit")},
            "totals": report.totals and report.totals.as_values(),
            "waiting": report.waits_for,
            "rows_per_second": round(now.rate, 1),
            "share": None if now.share is None else round(now.share, 4),
            "eta_seconds": now.eta,
        }
        with suppress(OutputError):  # a migration goes on; its end reports the lost output
            print_json([values])


@asynccontextmanager
async def serve_live_page(port: int, read: Callable[[], tuple[Report, RunContext]]) -> AsyncIterator[str]:
    """Serve the page during the block, and yield its address. Open pages show the end before this returns.

    Args:
        port: the port of 127.0.0.1; 0 picks a free one.
        read: returns the current report. Without progress in its context, the migration has ended.

    Raises:
        InvalidRequestError: the port is taken.
    """
    page = LivePage(read)
    listener = Listener(page.app, _HOST, port)
    try:
        await listener.bind()
    except OSError as error:
        problem = f"serve: port {port} of {_HOST} cannot be used: {error.strerror} (expected a free port, or 0)"
        raise InvalidRequestError(problem) from None
    await listener.open()
    try:
        yield listener.url
    finally:
        with anyio.CancelScope(shield=True):
            page.end()
            with anyio.move_on_after(_LAST_UPDATE_SECONDS):
                await listener.wait_until_idle()
            await listener.close()


@contextmanager
def progress_bar(*columns: ProgressColumn, description: str = "") -> Iterator[Callable[..., None]]:
    """Show a bar on a terminal, and yield its update function."""
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_interactive) as progress:
        yield partial(progress.update, progress.add_task(description, total=None))


def format_counts(report: Report, *, running: bool = True) -> Text:
    """Format the number of rows in each state and, while the migration runs, the number of calls."""
    parts = [Text(f"{count:,} {STATES[state]}", style=ROW_COLORS[state]) for state, count in report.figures.figures()]
    if running and report.skipped:
        parts.append(Text(f"{report.skipped:,} of them before", style="dim"))
    if running:
        parts.append(
            Text(f"{report.in_flight} of {report.limit} concurrent {pluralize(report.limit, 'call')}", style="cyan")
        )
    if running and report.failed_attempts:
        failed = report.failed_attempts
        parts.append(Text(f"{failed:,} {pluralize(failed, 'attempt')} failed", style="yellow"))
    return Text(" · ").join(parts)


def exit_status(report: Report, *, stopped_by_limit: bool) -> ExitStatus:
    """The exit status of a finished migration.

    Args:
        report: the results of the rows.
        stopped_by_limit: whether a limit that the user set stopped it, and not a failure.
    """
    if report.stopped:
        return ExitStatus.STOPPED if stopped_by_limit else ExitStatus.FAILED
    if report.unknown:
        return ExitStatus.UNKNOWN
    return ExitStatus.ATTENTION if report.rejected or report.repeated else ExitStatus.DONE


def print_result(
    report: Report, context: RunContext, status: int, files: Sequence[tuple[str, str]], notes: Sequence[str]
) -> None:
    """Print the result of a migration for people.

    Args:
        report: the results of the rows.
        context: the facts beside the report.
        status: the exit status.
        files: the written files: the kind of each, and its path.
        notes: remarks for the user.
    """
    console = Console(highlight=False)
    style = "bold green" if not status else "bold yellow" if report.complete else "bold red"
    console.print(Text(headline(report), style=style), soft_wrap=True)
    console.print(Text.assemble("  ", format_counts(report, running=False)), soft_wrap=True)
    totals = f"  {duration(report.seconds)}, {rate_of(report):,.0f} rows/s, {failures(report)}"
    console.print(Text(totals, style="dim"), soft_wrap=True)
    if context.reasons:
        table = Table("rows", "why they are not stored", box=None, padding=(0, 2), header_style="dim")
        table.columns[0].justify = "right"
        for reason, rows in context.reasons[:_MAX_REASONS]:
            table.add_row(f"{rows:,}", Text(reason, overflow="fold"))
        console.print(table)
    written = dict(files)
    shown = [(name, text) for name, text in facts(report, context) if name not in written]
    for name, text in (*shown, *files):
        console.print(Text.assemble("  ", (f"{name}: ", "dim"), text), soft_wrap=True)
    for note in notes:
        console.print(Text(f"  {note}", style="yellow"), soft_wrap=True)
    if not report.complete:
        console.print(Text.assemble("\nContinue with:\n  ", (context.resume_command, "bold cyan")), soft_wrap=True)
