"""Move stored cards from a CSV file into account vaults, and continue after every stop.

    gateway-async sandbox                    # in another terminal; paste the export lines that it shows
    python examples/move_cards.py cards.csv moved.journal

The first line of the file names the fields of an account vault, such as `key,account_number,exp_date`. The column `key`
names each row. Stop the script
with Ctrl-C, or kill it, and run it again with the same journal: every card is stored once. The command
`gateway-async migrate` does the same with more options.
"""

import asyncio
import sys

from gateway_async import AsyncGateway, GatewayError
from gateway_async.migration import Report, migrate_vaults, read_rows

CONCURRENCY = 64


def show(report: Report) -> None:
    """Show the progress on one line."""
    print(f"\r{report.stored} stored, {report.rejected} rejected", end="", file=sys.stderr, flush=True)


async def move(cards: str, journal: str) -> int:
    """Move the cards; return the exit status."""
    async with AsyncGateway.from_env() as gateway:
        report = await migrate_vaults(
            gateway, read_rows(cards), journal=journal, concurrency=CONCURRENCY, on_progress=show
        )
    print(file=sys.stderr)
    print(
        f"{report.stored} stored, {report.skipped} stored before, {report.rejected} rejected, {report.unknown} unknown"
    )
    return 0 if report.complete and not report.rejected else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        sys.exit(asyncio.run(move(*sys.argv[1:])))
    except GatewayError as error:
        sys.exit(str(error))
