"""Move the cards of a CSV file into account vaults, each once.

python move_cards.py cards.csv cards.journal
"""

import asyncio
import sys

from gateway_async import AsyncGateway, GatewayError
from gateway_async.migration import (
    Columns,
    Report,
    RowResult,
    RowState,
    VaultRow,
    migrate_vaults,
    read_rows,
)

ENCODING = "cp1252"
COLUMNS = Columns(
    {
        "Card No": "account_number",
        "Valid until": "exp_date",
        "Holder": "account_holder_name",
    },
    key="Customer",
    ignore=["Remark"],
)
MOST_SHOWN = 20


def show_progress(report: Report) -> None:
    """Show the progress on one line."""
    stored = report.stored + report.skipped
    print(f"\r{stored} stored", end="", file=sys.stderr)


async def move(cards: str, journal: str) -> int:
    """Move the cards; return the exit status."""
    reasons: list[str] = []

    def note(row: VaultRow, result: RowResult) -> None:
        is_stored = result.state is RowState.STORED
        if not is_stored and len(reasons) < MOST_SHOWN:
            why = "; ".join(result.reasons)
            reasons.append(f"line {row.line}: {why}")

    async with AsyncGateway.from_env() as gateway:
        report = await migrate_vaults(
            gateway,
            read_rows(cards, columns=COLUMNS, encoding=ENCODING),
            journal=journal,
            on_progress=show_progress,
            on_row=note,
        )
    print(file=sys.stderr)
    print(report.stored, "stored,", report.skipped, "before")
    print(report.rejected, "rejected,", report.repeated, "repeated")
    print(report.unknown, "unknown")
    print(*reasons, sep="\n", end="\n" if reasons else "")
    not_sent = report.rejected + report.repeated
    if not_sent > len(reasons):
        print("and", not_sent - len(reasons), "more")
    return 0 if report.complete and not not_sent else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        sys.exit(asyncio.run(move(*sys.argv[1:])))
    except GatewayError as error:
        sys.exit(str(error))
