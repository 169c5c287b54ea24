"""Tables of millions of rows in bounded memory: duplicate texts, and the stored rows of a journal.

SQLite keeps each table in memory, or in a private temporary file if it is large. The file is deleted when closed.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final

import attrs

__all__ = ["DuplicateCount", "DuplicateFinder", "StoredRow", "StoredRows"]

_BATCH: Final = 1000
_REPEATED: Final = """
CREATE TABLE IF NOT EXISTS repeated AS
SELECT digest, count(*) - 1 AS times, max(0, sum(marked) - 1) AS marked FROM texts GROUP BY digest HAVING times > 0
"""
_EXAMPLES: Final = """
SELECT line, first FROM (
    SELECT line, first_value(line) OVER same AS first, row_number() OVER same AS occurrence
    FROM texts WHERE digest IN (SELECT digest FROM repeated) WINDOW same AS (PARTITION BY digest ORDER BY rowid)
) WHERE occurrence > 1 ORDER BY line, first LIMIT ?
"""


def _create_table(columns: str) -> sqlite3.Connection:
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    connection.execute(f"CREATE TABLE {columns}")
    connection.execute("BEGIN")
    return connection


@attrs.frozen
class DuplicateCount:
    """The texts that occurred more than once.

    Attributes:
        count: number of repeated occurrences.
        examples: lines of some of them, each with the line of the first occurrence.
    """

    count: int
    examples: Sequence[tuple[int, int]] = ()


class DuplicateFinder:
    """Finds duplicates among texts, of which it keeps digests of eight bytes.

    With ten million texts, the probability of one false duplicate is 1 : 300,000. The digests are keyed with a random
    number that stays in memory, so that a temporary file reveals no card number.
    """

    def __init__(self) -> None:
        self._secret = os.urandom(32)
        self._connection = _create_table("texts (digest INTEGER, line INTEGER, marked INTEGER)")
        self._pending: list[tuple[int, int, bool]] = []

    def add(self, text: str, line: int, *, marked: bool = True) -> None:
        """Add a text and its line. `count_marked` ignores texts that are not marked."""
        digest = blake2b(text.encode(errors="surrogatepass"), key=self._secret, digest_size=8).digest()
        self._pending.append((int.from_bytes(digest, signed=True), line, marked))
        if len(self._pending) >= _BATCH:
            self._flush()

    def find(self, most_examples: int = 5) -> DuplicateCount:
        """Return the texts that occurred more than once. No more texts can be added."""
        count = self._sum("times")
        return DuplicateCount(count, tuple(self._connection.execute(_EXAMPLES, (most_examples,)).fetchall()))

    def count_marked(self) -> int:
        """Return how many marked texts repeat an earlier marked text. No more texts can be added."""
        return self._sum("marked")

    def close(self) -> None:
        """Delete the table."""
        self._connection.close()

    def _sum(self, column: str) -> int:
        self._flush()
        self._connection.execute(_REPEATED)
        (count,) = self._connection.execute(f"SELECT coalesce(sum({column}), 0) FROM repeated").fetchone()  # noqa: S608
        return int(count)

    def _flush(self) -> None:
        self._connection.executemany("INSERT INTO texts VALUES (?, ?, ?)", self._pending)
        self._pending.clear()


@attrs.frozen
class StoredRow:
    """The journal's data of a stored account; `is_sampled` tells whether it is to be read back."""

    key: str
    line: int | None
    vault_id: str
    api_id: str
    last_four: str | None
    is_sampled: bool


class StoredRows:
    """Stored rows by key."""

    def __init__(self) -> None:
        self._connection = _create_table(
            "stored (key TEXT PRIMARY KEY, line INTEGER, vault_id TEXT, api_id TEXT, last_four TEXT, "
            "sampled BOOLEAN, taken INTEGER NOT NULL DEFAULT FALSE) WITHOUT ROWID"
        )

    def add(self, row: StoredRow) -> None:
        """Add a row."""
        self._connection.execute("INSERT OR IGNORE INTO stored VALUES (?, ?, ?, ?, ?, ?, FALSE)", attrs.astuple(row))

    def take(self, key: str) -> StoredRow | None:
        """Return the row of a key, unless it was taken before."""
        statement = "UPDATE stored SET taken = TRUE WHERE key = ? AND NOT taken RETURNING *"
        rows = self._connection.execute(statement, (key,)).fetchall()
        return StoredRow(*rows[0][:-1]) if rows else None

    def __contains__(self, key: str) -> bool:
        return self._connection.execute("SELECT 1 FROM stored WHERE key = ?", (key,)).fetchone() is not None

    def remaining(self) -> Iterator[StoredRow]:
        """Yield the sampled rows that were not taken."""
        for row in self._connection.execute("SELECT * FROM stored WHERE sampled AND NOT taken"):
            yield StoredRow(*row[:-1])

    def close(self) -> None:
        """Delete the table."""
        self._connection.close()
