"""Display of a running migration: a progress bar on a terminal, lines elsewhere, JSON for programs."""

import json
import sys
from typing import Any, Final, Protocol

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from gateway_async.cli.migrate.progress import Course, Glance
from gateway_async.migration.output.summary import duration
from gateway_async.migration.report import Report

__all__ = ["Bar", "JsonLines", "Lines", "MigrationDisplay", "counts", "print_event", "screen_for"]

_LINE_SECONDS: Final = 5.0
_EVENT_SECONDS: Final = 1.0
_COLOURS: Final = {"stored": "green", "rejected": "red", "unknown": "yellow", "skipped": "dim"}


class MigrationDisplay(Protocol):
    """Shows a migration while it runs."""

    def show(self, report: Report) -> None:
        """Show the current state; called often."""
        ...

    def say(self, text: str) -> None:
        """Show a message."""
        ...

    def close(self) -> None:
        """Restore the terminal."""
        ...


def screen_for(course: Course, *, as_json: bool) -> MigrationDisplay:
    """Return the reporter that fits the output: a bar, lines or JSON."""
    if as_json:
        return JsonLines(course)
    console = Console(stderr=True)
    return Bar(course, console) if console.is_terminal else Lines(course, console)


class Bar:
    """A progress bar with the counts under it, redrawn in place."""

    def __init__(self, course: Course, console: Console) -> None:
        self._course = course
        self._note = ""
        self._spinner = Spinner("dots", style="cyan")
        self._live = Live(console=console, transient=True, refresh_per_second=10, redirect_stdout=False)
        self._live.start()

    def show(self, report: Report) -> None:
        """Draw the current state."""
        self._live.update(Group(self._bar(report, self._course.look(report)), counts(report), self._remark(report)))

    def say(self, text: str) -> None:
        """Show a message under the counts from now on."""
        self._note = text

    def close(self) -> None:
        """Remove the bar."""
        self._live.stop()

    def _bar(self, report: Report, glance: Glance) -> Table:
        row = Table.grid(padding=(0, 1), expand=True)
        row.add_column()
        row.add_column(ratio=1)
        row.add_column(justify="right")
        total = None if glance.share is None else 1.0
        bar = ProgressBar(total=total, completed=glance.share or 0.0, pulse=total is None)
        row.add_row(self._spinner, bar, Text(_figures(report, glance), style="bold"))
        return row

    def _remark(self, report: Report) -> Text:
        return Text(self._note or (f"waiting: {report.waiting}" if report.waiting else ""), style="yellow")


class Lines:
    """Prints a line every few seconds."""

    def __init__(self, course: Course, console: Console) -> None:
        self._course = course
        self._console = console
        self._next = _LINE_SECONDS

    def show(self, report: Report) -> None:
        """Print a line, if it is time."""
        if report.seconds >= self._next:
            self._next = report.seconds + _LINE_SECONDS
            waiting = f", waiting: {report.waiting}" if report.waiting else ""
            self.say(f"{_figures(report, self._course.look(report))}: {counts(report).plain}{waiting}")

    def say(self, text: str) -> None:
        """Print a message."""
        self._console.print(Text(text), soft_wrap=True)

    def close(self) -> None:
        """Do nothing: the terminal was not changed."""


class JsonLines:
    """Prints one JSON object every second on standard output."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._next = 0.0

    def show(self, report: Report) -> None:
        """Print an object, if it is time."""
        if report.seconds >= self._next:
            self._next = report.seconds + _EVENT_SECONDS
            print_event("progress", **_values(report, self._course.look(report)))

    def say(self, text: str) -> None:
        """Print a message on standard error, for people."""
        sys.stderr.write(f"{text}\n")

    def close(self) -> None:
        """Do nothing: the terminal was not changed."""


def print_event(event: str, **values: Any) -> None:
    """Print one line of JSON."""
    typer.echo(json.dumps({"event": event, **values}))


def _values(report: Report, glance: Glance) -> dict[str, Any]:
    names = ("stored", "rejected", "unknown", "skipped", "trouble", "in_flight", "limit", "waiting")
    return {
        "seconds": round(report.seconds, 3),
        **{name: getattr(report, name) for name in names},
        "rows_per_second": round(glance.rate, 1),
        "share": glance.share if glance.share is None else round(glance.share, 4),
        "eta_seconds": glance.eta if glance.eta is None else round(glance.eta, 1),
    }


def _figures(report: Report, glance: Glance) -> str:
    """Return share, rate and remaining time as short text."""
    share = "" if glance.share is None else f"{glance.share:4.0%}  "
    left = f"  {duration(glance.eta)} left" if glance.eta is not None and report.seconds > 1 else ""
    return f"{share}{glance.rate:,.0f} rows/s{left}"


def counts(report: Report, *, running: bool = True) -> Text:
    """Return the number of rows of each result; while the migration runs also the number of calls."""
    parts = [Text(f"{getattr(report, name):,} {name}", style=style) for name, style in _COLOURS.items()]
    if running:
        parts.append(Text(f"{report.in_flight} of {report.limit} calls at once", style="cyan"))
    if running and report.trouble:
        parts.append(Text(f"{report.trouble:,} attempts failed", style="yellow"))
    return Text(" · ").join(parts)
