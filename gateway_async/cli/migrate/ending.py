"""How a migration's command ends: its exit status, and its last words."""

from collections.abc import Sequence
from enum import IntEnum

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway_async.cli.migrate.screen import counts, print_event
from gateway_async.migration.report import Report
from gateway_async.migration.summary import duration, headline, plain, rate_of

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
    """The exit status.

    Args:
        report: what became of the rows.
        as_asked: whether a limit that the user set stopped it, and not a failure.
    """
    if report.stopped:
        return Status.STOPPED if as_asked else Status.FAILED
    if report.unknown:
        return Status.UNKNOWN
    return Status.REJECTED if report.rejected else Status.COMPLETE


@attrs.frozen(kw_only=True)
class Ending:
    """All that there is to say at the end.

    Attributes:
        reasons: why rows were rejected, and how many for each.
        again: the command that goes on.
        files: what was written, and where.
        notes: what the user should know of it.
    """

    report: Report
    status: int
    reasons: Sequence[tuple[str, int]] = ()
    again: str = ""
    files: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()

    def show(self, *, as_json: bool) -> None:
        """Show it on standard output."""
        if as_json:
            values = plain(self.report, self.reasons, self._further())
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
        took = f"  {duration(report.seconds)}, {rate_of(report):,.0f} rows/s, {report.trouble:,} attempts failed"
        console.print(Text(took, style="dim"), soft_wrap=True)
        self._print_reasons(console)
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
