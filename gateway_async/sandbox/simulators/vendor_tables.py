"""The tables of the vendor's test environment, from the files in `tables/`.

A line of a file is a row, with two spaces or more between its columns; a line with # says what they are.
"""

import re
from pathlib import Path

from gateway_async.sandbox.schema.kinds import MONEY

__all__ = ["BATCH_ERRORS", "read_table"]

_FOLDER = Path(__file__).parent / "tables"
_GAP = re.compile(" {2,}")


def read_table(name: str) -> list[list[str]]:
    """Read the rows of a table.

    Raises:
        ValueError: A row has more or fewer columns than the first; the message names the file and the line.
    """
    path = _FOLDER / f"{name}.txt"
    rows: list[list[str]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("#"):
            continue
        row = _GAP.split(line.strip())
        if rows and len(row) != len(rows[0]):
            raise ValueError(f"{path.name}, line {number}: {len(row)} columns (expected {len(rows[0])})")
        rows.append(row)
    return rows


BATCH_ERRORS = {int(MONEY.read(amount)): message for amount, message in read_table("batch_errors")}
"""The messages of the processor, by the amount in cents that makes the settlement of a batch fail once."""
