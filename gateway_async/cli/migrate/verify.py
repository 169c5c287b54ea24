"""`gateway-async migrate verify`: read back what was stored, and compare it."""

import json
from collections.abc import Callable
from contextlib import aclosing, nullcontext
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import attrs
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn
from rich.text import Text

from gateway_async._text import pluralize
from gateway_async.cli.errors import warn
from gateway_async.cli.exit_status import ExitStatus
from gateway_async.cli.migrate.display import progress_bar
from gateway_async.cli.migrate.journal_location import default_journal, open_existing_journal
from gateway_async.cli.migrate.options import CreateInput, add_input_options
from gateway_async.cli.migrate.settings import client_factory
from gateway_async.cli.migrate.usage_errors import exit_on_usage_error
from gateway_async.cli.table_output import NONE, TableRow, print_table
from gateway_async.errors import AuthenticationError, PermissionDeniedError
from gateway_async.migration import Finding, Journal, Verification, verify_vaults
from gateway_async.migration.output.files import check_output
from gateway_async.migration.output.summary import in_words, total_values
from gateway_async.migration.output.tables import write_findings
from gateway_async.migration.verify import Verdict

__all__ = ["verify"]

MAX_SHOWN_FINDINGS = 100
_MAX_REASONS: Final = 20
_HEADINGS: Final = ("key", "line", "account", "finding", "details")
_COUNTS: Final = ("matching", "different", "missing", "unread", "not_stored")


@add_input_options
def verify(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="The migration's input; - is standard input.")
    ] = None,
    *,
    journal: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The journal of the migration; by default the input's name with .journal."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the migration; required with a journal in PostgreSQL.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Read back N random accounts instead of all.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of concurrent reads.")] = 64,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every finding: .csv, .tsv or .jsonl.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that this command did not write.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
    create_input: CreateInput,
) -> None:
    """Read back what a migration stored, and compare it. It changes nothing.

    The journal provides the id and the last four digits. The input also provides expiry, holder and contact, and its
    rows that are not stored are counted, also with a sample. Of several rows with one key, the one that was stored is
    compared. A card that was replaced by one with the same last four digits is not detected, because neither the
    gateway nor the journal provides more of a number.

    The worst findings are shown first: missing accounts, different ones, those that could not be read, and then rows
    that are not stored. --out writes all of them.

    Exit status: 0 if every account matches, 3 if anything differs, 1 if the gateway rejects the credentials or does
    not respond, 2 for wrong usage. Reads the GATEWAY_* variables of the environment.
    """
    with exit_on_usage_error():
        source = create_input(file) if file else None
        if journal is None and not source:
            raise typer.BadParameter("FILE or --journal required")
        if out is not None:
            check_output("out", out, kind="findings", source=source.path if source else None, force=force)
        store = open_existing_journal(journal or default_journal(source.path if source else None), name)
        try:
            with nullcontext() if out is None else write_findings(out) as write:
                result = anyio.run(_verify, store, source.rows() if source else None, sample, concurrency, write)
        except (AuthenticationError, PermissionDeniedError) as refusal:
            warn(str(refusal))
            raise typer.Exit(ExitStatus.FAILED) from None
    _print_json(result) if as_json else _print(result, out)
    if not result.good:
        raise typer.Exit(ExitStatus.FAILED if result.stopped else ExitStatus.ATTENTION)


async def _verify(
    journal: Journal,
    rows: Any,
    sample: int | None,
    concurrency: int,
    on_finding: Callable[[Finding], object] | None,
) -> Verification:
    with progress_bar(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as update:
        async with nullcontext() if rows is None else aclosing(rows), client_factory(concurrency)() as gateway:
            return await verify_vaults(
                gateway,
                journal=journal,
                rows=rows,
                sample=sample,
                concurrency=concurrency,
                on_progress=lambda result: update(total=result.total, completed=result.checked),
                on_finding=on_finding,
            )


def _print_json(result: Verification) -> None:
    counts = {name: getattr(result, name) for name in _COUNTS}
    findings = [attrs.asdict(finding) for finding in result.findings]
    values = {"checked": result.checked, **counts, "good": result.good, "stopped": result.stopped}
    reasons = [
        {"finding": verdict, "reason": reason, "rows": rows} for (verdict, reason), rows in _most_frequent(result)
    ]
    values |= {"totals": total_values(result.totals), "reasons": reasons}
    typer.echo(json.dumps({**values, "findings": findings}))


def _most_frequent(result: Verification) -> list[tuple[tuple[Verdict, str], int]]:
    """Return the reasons, those of the worst findings first."""
    order = [*Verdict]
    return sorted(result.reasons.items(), key=lambda counted: (order.index(counted[0][0]), -counted[1]))


def _print(result: Verification, out: Path | None) -> None:
    console = Console(highlight=False)
    counts = ", ".join(f"{getattr(result, name):,} {name.replace('_', ' ')}" for name in _COUNTS)
    checked = f"{result.checked:,} {pluralize(result.checked, 'account')} checked: {counts}"
    console.print(Text(checked, style="green" if result.good else "bold red"), soft_wrap=True)
    if result.totals is not None:
        console.print(Text(f"over all runs: {in_words(result.totals)}", style="dim"), soft_wrap=True)
    if result.stopped:
        console.print(Text(f"Stopped before the end: {result.stopped}", style="bold red"), soft_wrap=True)
    if result.findings:
        print_table([_row_of(finding) for finding in result.findings[:MAX_SHOWN_FINDINGS]], _HEADINGS, _cells, "")
    more = result.different + result.missing + result.unread + result.not_stored - MAX_SHOWN_FINDINGS
    if more > 0:
        console.print(f"… and {more:,} more; --out FILE writes all.")
    if result.reasons:
        rows = [{"reason": reason, "rows": rows} for reason, rows in _most_frequent(result)[:_MAX_REASONS]]
        print_table(rows, ("rows", "finding", "reason"), _reason_cells, "")
    if out is not None:
        console.print(Text.assemble(("findings: ", "dim"), str(out)), soft_wrap=True)


def _reason_cells(row: TableRow) -> list[Text]:
    verdict, reason = row["reason"]
    return [Text(f"{row['rows']:,}"), Text(verdict), Text(reason or NONE)]


def _cells(row: TableRow) -> list[Text]:
    return [Text(row[name]) for name in _HEADINGS]


def _row_of(finding: Finding) -> TableRow:
    return {
        "key": finding.key,
        "line": NONE if finding.line is None else str(finding.line),
        "account": finding.vault_id or NONE,
        "finding": finding.verdict,
        "details": "; ".join(finding.details) or NONE,
    }
