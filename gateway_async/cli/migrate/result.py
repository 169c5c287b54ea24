"""The result of a migration's command: its exit status and its final output."""

from collections.abc import Sequence

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway_async.cli.exit_status import ExitStatus
from gateway_async.cli.migrate.display import format_counts, print_event
from gateway_async.migration.output.summary import (
    RunContext,
    as_values,
    duration,
    facts,
    failures,
    headline,
    rate_of,
)
from gateway_async.migration.report import Report

__all__ = ["CommandResult", "exit_status"]

_MAX_REASONS = 10


def exit_status(report: Report, *, stopped_by_limit: bool) -> ExitStatus:
    """Return the exit status.

    Args:
        report: the results of the rows.
        stopped_by_limit: whether a limit that the user set stopped it, and not a failure.
    """
    if report.stopped:
        return ExitStatus.STOPPED if stopped_by_limit else ExitStatus.FAILED
    if report.unknown:
        return ExitStatus.UNKNOWN
    return ExitStatus.ATTENTION if report.rejected or report.repeated else ExitStatus.DONE


@attrs.frozen(kw_only=True)
class CommandResult:
    """The result of the command.

    Attributes:
        context: the facts beside the report.
        files: the written files: the kind of each, and its path.
        notes: remarks for the user.
    """

    report: Report
    status: int
    context: RunContext
    files: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()

    def show(self, *, as_json: bool) -> None:
        """Print the result on standard output."""
        if as_json:
            values = as_values(self.report, self.context)
            values["resume_command"] = "" if self.report.complete else self.context.resume_command
            print_event("end", **values, exit_status=int(self.status), files=dict(self.files), notes=list(self.notes))
        else:
            self._print(Console(highlight=False))

    def _print(self, console: Console) -> None:
        report = self.report
        style = "bold green" if not self.status else "bold yellow" if report.complete else "bold red"
        console.print(Text(headline(report), style=style), soft_wrap=True)
        console.print(Text.assemble("  ", format_counts(report, running=False)), soft_wrap=True)
        totals = f"  {duration(report.seconds)}, {rate_of(report):,.0f} rows/s, {failures(report)}"
        console.print(Text(totals, style="dim"), soft_wrap=True)
        self._print_reasons(console)
        written = dict(self.files)
        shown = [(name, text) for name, text in facts(report, self.context) if name not in written]
        for name, text in (*shown, *self.files):
            console.print(Text.assemble("  ", (f"{name}: ", "dim"), text), soft_wrap=True)
        for note in self.notes:
            console.print(Text(f"  {note}", style="yellow"), soft_wrap=True)
        if not report.complete:
            resume = (self.context.resume_command, "bold cyan")
            console.print(Text.assemble("\nContinue with:\n  ", resume), soft_wrap=True)

    def _print_reasons(self, console: Console) -> None:
        if not self.context.reasons:
            return
        table = Table("rows", "why they are not stored", box=None, padding=(0, 2), header_style="dim")
        table.columns[0].justify = "right"
        for reason, rows in self.context.reasons[:_MAX_REASONS]:
            table.add_row(f"{rows:,}", Text(reason, overflow="fold"))
        console.print(table)
