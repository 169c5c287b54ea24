"""Tables of millions of rows in bounded memory: duplicate texts, and the started rows of a journal.

SQLite keeps each table in memory, or in a private temporary file if it is large. The file is deleted when closed.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

import attrs
import msgspec

from gateway_async._secrets import mask_text
from gateway_async.errors import JournalError
from gateway_async.migration.journal.protocol import JournalEntry

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
    """A started row, whether it is to be read back, and whether the input has it."""

    entry: JournalEntry
    is_sampled: bool
    is_taken: bool = False


class JournalRows(_TemporaryTable):
    """Started rows by key."""

    def __init__(self) -> None:
        super().__init__("rows (key TEXT PRIMARY KEY, entry BLOB, sampled BOOLEAN, taken BOOLEAN) WITHOUT ROWID")

    def add(self, row: JournalRow) -> None:
        """Add a row."""
        values = (row.entry.key, msgspec.msgpack.encode(row.entry), row.is_sampled, row.is_taken)
        self._connection.execute("INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?)", values)

    def find(self, key: str) -> JournalRow | None:
        """Find the row of a key."""
        row = self._connection.execute("SELECT entry, sampled, taken FROM rows WHERE key = ?", (key,)).fetchone()
        return row and JournalRow(_read_entry(key, row[0]), *map(bool, row[1:]))

    def take(self, key: str) -> None:
        """Note that the input has the row of a key."""
        self._connection.execute("UPDATE rows SET taken = TRUE WHERE key = ?", (key,))

    def remaining(self) -> Iterator[JournalEntry]:
        """Yield the sampled rows that were not taken."""
        for key, entry in self._connection.execute("SELECT key, entry FROM rows WHERE sampled AND NOT taken"):
            yield _read_entry(key, entry)


_decoder: Final = msgspec.msgpack.Decoder(JournalEntry)


def _read_entry(key: str, encoded: bytes) -> JournalEntry:
    """Read an entry of the table. A journal of the user's own may have given it values of wrong types."""
    try:
        return _decoder.decode(encoded)
    except msgspec.ValidationError as error:
        raise JournalError("given", f"the entry of key {mask_text(key)!r}: {error}") from None
