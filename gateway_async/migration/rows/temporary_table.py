"""Tables of millions of rows in bounded memory: duplicate texts, and the started rows of a journal.

SQLite keeps each table in memory, or in a private temporary file if it is large. The file is deleted when closed.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

import attrs

_BATCH: Final = 1000
_REPEATED: Final = """
CREATE TABLE IF NOT EXISTS repeated AS
SELECT digest, count(*) - 1 AS times FROM texts GROUP BY digest HAVING times > 0
"""
_EXAMPLES: Final = """
SELECT line, first FROM (
    SELECT line, first_value(line) OVER same AS first, row_number() OVER same AS occurrence
    FROM texts WHERE digest IN (SELECT digest FROM repeated) WINDOW same AS (PARTITION BY digest ORDER BY rowid)
) WHERE occurrence > 1 ORDER BY line, first LIMIT ?
"""


class _TemporaryTable:
    def __init__(self, columns: str) -> None:
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._connection.execute(f"CREATE TABLE {columns}")
        self._connection.execute("BEGIN")

    def close(self) -> None:
        """Delete the table."""
        self._connection.close()


@attrs.frozen
class DuplicateCount:
    """The texts that occurred more than once.

    Attributes:
        count: number of repeated occurrences.
        examples: lines of some of them, each with the line of the first occurrence.
    """

    count: int
    examples: Sequence[tuple[int, int]] = ()


class DuplicateFinder(_TemporaryTable):
    """Finds duplicates among texts, of which it keeps digests of eight bytes.

    With ten million texts, the probability of one false duplicate is 1 : 300,000. The digests are keyed with a random
    number that stays in memory, so that a temporary file reveals no card number.
    """

    def __init__(self) -> None:
        super().__init__("texts (digest INTEGER, line INTEGER)")
        self._secret = os.urandom(32)
        self._pending: list[tuple[int, int]] = []

    def add(self, text: str, line: int) -> None:
        """Add a text and its line."""
        digest = blake2b(text.encode(errors="surrogatepass"), key=self._secret, digest_size=8).digest()
        self._pending.append((int.from_bytes(digest, signed=True), line))
        if len(self._pending) >= _BATCH:
            self._flush()

    def find(self, most_examples: int = 5) -> DuplicateCount:
        """Find the texts that occurred more than once. No more can be added afterwards."""
        self._flush()
        self._connection.execute(_REPEATED)
        (count,) = self._connection.execute("SELECT coalesce(sum(times), 0) FROM repeated").fetchone()
        return DuplicateCount(count, tuple(self._connection.execute(_EXAMPLES, (most_examples,)).fetchall()))

    def _flush(self) -> None:
        self._connection.executemany("INSERT INTO texts VALUES (?, ?)", self._pending)
        self._pending.clear()


class JournalRow(NamedTuple):
    """The journal's data of a started row, with its reasons in one text, and whether it is to be read back."""

    key: str
    line: int | None
    state: str
    fingerprint: str
    vault_id: str
    api_id: str
    last_four: str | None
    reasons: str
    is_sampled: bool


class JournalRows(_TemporaryTable):
    """Started rows by key."""

    def __init__(self) -> None:
        super().__init__(
            "rows (key TEXT PRIMARY KEY, line INTEGER, state TEXT, fingerprint TEXT, vault_id TEXT, api_id TEXT, "
            "last_four TEXT, reasons TEXT, sampled BOOLEAN, taken INTEGER NOT NULL DEFAULT FALSE) WITHOUT ROWID"
        )

    def add(self, row: JournalRow) -> None:
        """Add a row."""
        self._connection.execute("INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, FALSE)", row)

    def find(self, key: str) -> tuple[JournalRow | None, bool]:
        """Find the row of a key, and whether it was taken."""
        row = self._connection.execute("SELECT * FROM rows WHERE key = ?", (key,)).fetchone()
        return (JournalRow(*row[:-1]), bool(row[-1])) if row else (None, False)

    def take(self, key: str) -> None:
        """Note that the input has the row of a key."""
        self._connection.execute("UPDATE rows SET taken = TRUE WHERE key = ?", (key,))

    def remaining(self) -> Iterator[JournalRow]:
        """Yield the sampled rows that were not taken."""
        for row in self._connection.execute("SELECT * FROM rows WHERE sampled AND NOT taken"):
            yield JournalRow(*row[:-1])
