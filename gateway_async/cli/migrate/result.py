"""The end of a migration's command: its exit status and its final output."""

from collections.abc import Sequence
from enum import IntEnum

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway_async.cli.migrate.display import counts, print_event
from gateway_async.migration.output.summary import Surroundings, duration, facts, failures, headline, plain, rate_of
from gateway_async.migration.report import Report

__all__ = ["Ending", "Status", "status_of"]

_MOST_REASONS = 10


class Status(IntEnum):
    """The exit status, the first that fits; 130 and 143 are those of Ctrl-C and SIGTERM."""

    COMPLETE = 0
    FAILED = 1
    WRONG_USAGE = 2
    REJECTED = 3
    UNKNOWN = 4
    STOPPED = 5


def status_of(report: Report, *, as_asked: bool) -> Status:
    """Return the exit status.

    Args:
        report: the results of the rows.
        as_asked: whether a limit that the user set stopped it, and not a failure.
    """
    if report.stopped:
        return Status.STOPPED if as_asked else Status.FAILED
    if report.unknown:
        return Status.UNKNOWN
    return Status.REJECTED if report.rejected else Status.COMPLETE


@attrs.frozen(kw_only=True)
class Ending:
    """The final output of the command.

    Attributes:
        reasons: the reasons of rejections, and the number of rows for each.
        again: the command that continues the migration.
        files: the written files: what each is, and its path.
        notes: remarks for the user.
        surroundings: the input, the journal and its counts, the rejects.
    """

    report: Report
    status: int
    reasons: Sequence[tuple[str, int]] = ()
    again: str = ""
    files: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    surroundings: Surroundings = attrs.field(factory=Surroundings)

    def show(self, *, as_json: bool) -> None:
        """Print it on standard output."""
        if as_json:
            values = plain(self.report, self.reasons, self._further(), self.surroundings)
            print_event("end", **values, exit_status=int(self.status), files=dict(self.files), notes=list(self.notes))
        else:
            self._print(Console(highlight=False))

    def _further(self) -> str:
        return "" if self.report.complete else self.again

    def _print(self, console: Console) -> None:
        report = self.report
        style = "bold green" if not self.status else "bold yellow" if report.complete else "bold red"
        console.print(Text(headline(report), style=style), soft_wrap=True)
        console.print(Text.assemble("  ", counts(report, running=False)), soft_wrap=True)
        took = f"  {duration(report.seconds)}, {rate_of(report):,.0f} rows/s, {failures(report)}"
        console.print(Text(took, style="dim"), soft_wrap=True)
        self._print_reasons(console)
        written = {name for name, _ in self.files}
        for name, said in facts(report, self.surroundings):
            if name not in written:
                console.print(Text.assemble("  ", (f"{name}: ", "dim"), said), soft_wrap=True)
        for name, place in self.files:
            console.print(Text.assemble("  ", (f"{name}: ", "dim"), place), soft_wrap=True)
        for note in self.notes:
            console.print(Text(f"  {note}", style="yellow"), soft_wrap=True)
        if self._further():
            console.print(Text.assemble("\nGo on with:\n  ", (self._further(), "bold cyan")), soft_wrap=True)

    def _print_reasons(self, console: Console) -> None:
        if not self.reasons:
            return
        table = Table("rows", "why they were rejected", box=None, padding=(0, 2), header_style="dim")
        table.columns[0].justify = "right"
        for reason, rows in self.reasons[:_MOST_REASONS]:
            table.add_row(f"{rows:,}", Text(reason, overflow="fold"))
        console.print(table)
