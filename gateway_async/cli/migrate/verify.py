"""`gateway-async migrate verify`: read back what was stored, and compare it."""

from collections.abc import Callable
from contextlib import aclosing, nullcontext
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import attrs
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn
from rich.text import Text
from typer import Argument, BadParameter, Exit, Option

from gateway_async._text import pluralize
from gateway_async.cli.command import AsJson
from gateway_async.cli.migrate.display import progress_bar
from gateway_async.cli.migrate.options import (
    InputOptions,
    NameOption,
    client_factory,
    default_journal,
    open_journal,
)
from gateway_async.cli.output import ExitStatus, TableColumns, TableRow, print_json, print_rows
from gateway_async.migration import Finding, Journal, Verification, verify_vaults
from gateway_async.migration.output.files import check_output
from gateway_async.migration.output.tables import write_findings
from gateway_async.migration.verify import Verdict

MAX_SHOWN_FINDINGS = 100
_MAX_REASONS: Final = 20
_COLUMNS: Final[TableColumns] = {
    "key": "key",
    "line": "line",
    "account": "vault_id",
    "finding": "verdict",
    "details": lambda row: "; ".join(row["details"]),
}
_REASON_COLUMNS: Final[TableColumns] = {
    "rows": lambda row: f"{row['rows']:,}",
    "finding": "finding",
    "reason": "reason",
}
_COUNTS: Final = ("matching", "different", "missing", "unread", "not_stored")


@attrs.frozen(kw_only=True, repr=False)
class VerifyCommand(InputOptions):
    """Read back what a migration stored, and compare it. It changes nothing.

    The journal has the id and the last four digits. The input adds expiry, holder and contact, and shows which rows
    were edited since, or not stored, even with --sample. If several rows have the same key, the stored one is compared.
    A card that was replaced by another with the same last four digits goes unnoticed: neither the gateway nor the
    journal has more of its number.

    The worst findings come first: missing accounts, then different ones, unreadable ones, and rows that are not
    stored. --out writes all of them.

    Reads the GATEWAY_* variables of the environment.

    Exit status:
    - 0: every account matches
    - 1: the gateway rejects the credentials, or does not respond
    - 2: wrong usage
    - 3: an account differs, is missing or could not be read, or a row is not stored
    """

    file: Annotated[str | None, Argument(metavar="FILE", help="Input of the migration; - is standard input.")] = None
    journal: Annotated[
        str | None, Option(metavar="FILE", help="Journal of the migration. Default: the input's name with .journal.")
    ] = None
    name: NameOption = None
    sample: Annotated[int | None, Option(min=1, metavar="N", help="Read back N random accounts only.")] = None
    concurrency: Annotated[int, Option(min=1, metavar="N", help="Maximum concurrent reads.")] = 64
    out: Annotated[Path | None, Option(metavar="FILE", help="Write every finding: .csv, .tsv or .jsonl.")] = None
    force: Annotated[bool, Option("--force", help="Replace a file that this command did not write.")] = False
    as_json: AsJson = False

    def run(self) -> None:
        """Read back, and print what differs."""
        source = self.input_at(self.file) if self.file else None
        path = source.path if source else None
        if self.journal is None and not source:
            raise BadParameter("FILE or --journal: required")
        if self.out is not None:
            check_output("out", self.out, kind="findings", source=path, force=self.force)
        journal = open_journal(self.journal or default_journal(path), self.name, must_exist=True)
        with nullcontext() if self.out is None else write_findings(self.out) as write:
            result = anyio.run(self._verify, journal, source.rows() if source else None, write)
        _print_json(result) if self.as_json else _print(result, self.out)
        if not result.good:
            raise Exit(ExitStatus.FAILED if result.stopped else ExitStatus.ATTENTION)

    async def _verify(
        self, journal: Journal, rows: Any, on_finding: Callable[[Finding], object] | None
    ) -> Verification:
        with progress_bar(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as update:
            async with (
                nullcontext() if rows is None else aclosing(rows),
                client_factory(self.concurrency)() as gateway,
            ):
                return await verify_vaults(
                    gateway,
                    journal=journal,
                    rows=rows,
                    sample=self.sample,
                    concurrency=self.concurrency,
                    on_progress=lambda result: update(total=result.total, completed=result.checked),
                    on_finding=on_finding,
                )


def _print_json(result: Verification) -> None:
    counts = {name: getattr(result, name) for name in _COUNTS}
    findings = [attrs.asdict(finding) for finding in result.findings]
    values = {"checked": result.checked, **counts, "good": result.good, "stopped": result.stopped}
    values |= {"totals": result.totals and result.totals.as_values(), "reasons": _reasons(result)}
    print_json([{**values, "findings": findings}])


def _reasons(result: Verification) -> list[TableRow]:
    """The reasons, starting with the worst findings, and their most frequent ones."""
    order = [*Verdict]
    counted = sorted(result.reasons.items(), key=lambda counted: (order.index(counted[0][0]), -counted[1]))
    return [{"finding": verdict, "reason": reason, "rows": rows} for (verdict, reason), rows in counted]


def _print(result: Verification, out: Path | None) -> None:
    console = Console(highlight=False)
    counts = ", ".join(f"{getattr(result, name):,} {name.replace('_', ' ')}" for name in _COUNTS)
    checked = f"{result.checked:,} {pluralize(result.checked, 'account')} checked: {counts}"
    console.print(Text(checked, style="green" if result.good else "bold red"), soft_wrap=True)
    if result.totals is not None:
        console.print(Text(f"over all runs: {result.totals}", style="dim"), soft_wrap=True)
    if result.stopped:
        console.print(Text(f"Stopped before the end: {result.stopped}", style="bold red"), soft_wrap=True)
    if result.findings:
        print_rows([*map(attrs.asdict, result.findings[:MAX_SHOWN_FINDINGS])], _COLUMNS)
    more = result.different + result.missing + result.unread + result.not_stored - MAX_SHOWN_FINDINGS
    if more > 0:
        console.print(f"… and {more:,} more; --out FILE writes all.")
    if result.reasons:
        print_rows(_reasons(result)[:_MAX_REASONS], _REASON_COLUMNS)
    if out is not None:
        console.print(Text.assemble(("findings: ", "dim"), str(out)), soft_wrap=True)
