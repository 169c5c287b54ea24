"""Move stored cards from a CSV file into account vaults, and continue after every stop.

    gateway-async sandbox                    # in another terminal; paste the export lines that it shows
    python examples/move_cards.py cards.csv moved.journal

The first line of the file names the fields of an account vault, such as `key,account_number,exp_date`. The column `key`
names each row. Stop the script with Ctrl-C, or kill it, and run it again with the same journal: every card is stored
once. At its end it says why rows were rejected. Correct them in the file, and run it once more. The command
`gateway-async migrate` does the same with more options.
"""

import asyncio
import sys

from gateway_async import AsyncGateway, GatewayError
from gateway_async.migration import (
    Report,
    RowResult,
    RowState,
    VaultRow,
    migrate_vaults,
    read_rows,
)

CONCURRENCY = 64
MOST_SHOWN = 20
"""The number of rows whose reasons are shown. The journal has all of them."""


def show(report: Report) -> None:
    """Show the progress on one line."""
    print(
        f"\r{report.stored} stored, {report.rejected} rejected",
        end="",
        file=sys.stderr,
        flush=True,
    )


async def move(cards: str, journal: str) -> int:
    """Move the cards; return the exit status."""
    rejections: list[str] = []

    def keep_reasons(row: VaultRow, result: RowResult) -> None:
        is_stored = result.state in (RowState.STORED, RowState.UNKNOWN)
        if not is_stored and len(rejections) < MOST_SHOWN:
            rejections.append(f"line {row.line}: {'; '.join(result.reasons)}")

    async with AsyncGateway.from_env() as gateway:
        report = await migrate_vaults(
            gateway,
            read_rows(cards),
            journal=journal,
            concurrency=CONCURRENCY,
            on_progress=show,
            on_row=keep_reasons,
        )
    print(file=sys.stderr)
    print(
        f"{report.stored} stored, {report.skipped} stored before, {report.rejected} rejected, "
        f"{report.unknown} unknown, {report.repeated} with the key of another row"
    )
    print(*rejections, sep="\n", end="\n" if rejections else "")
    not_sent = report.rejected + report.repeated
    if not_sent > len(rejections):
        print(f"and {not_sent - len(rejections)} more")
    return 0 if report.complete and not not_sent else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        sys.exit(asyncio.run(move(*sys.argv[1:])))
    except GatewayError as error:
        sys.exit(str(error))
