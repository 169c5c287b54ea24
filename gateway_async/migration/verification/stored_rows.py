"""The stored rows of a journal by key, in a private file that is deleted when closed."""

import sqlite3
from collections.abc import Iterable
from types import TracebackType
from typing import Self

import attrs

__all__ = ["Stored", "StoredRows"]


@attrs.frozen
class Stored:
    """The journal's data of a stored account."""

    key: str
    line: int | None
    vault_id: str
    api_id: str
    last_four: str | None


class StoredRows:
    """Stored rows by key. SQLite keeps them in memory, or on disk if there are too many."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute(
            "CREATE TABLE stored (key TEXT PRIMARY KEY, line INTEGER, vault_id TEXT, api_id TEXT, last_four TEXT, "
            "seen INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID"
        )
        self._database.execute("CREATE INDEX unseen ON stored (key) WHERE NOT seen")
        self._database.execute("BEGIN")

    def put(self, rows: Iterable[Stored]) -> None:
        """Add rows."""
        self._database.executemany(
            "INSERT OR IGNORE INTO stored (key, line, vault_id, api_id, last_four) VALUES (?, ?, ?, ?, ?)",
            map(attrs.astuple, rows),
        )

    def take(self, key: str) -> Stored | None:
        """Return the row of a key if it exists and was not taken before."""
        row = self._database.execute(
            "UPDATE stored SET seen = 1 WHERE key = ? AND NOT seen RETURNING key, line, vault_id, api_id, last_four",
            (key,),
        ).fetchall()
        return Stored(*row[0]) if row else None

    def has(self, key: str) -> bool:
        """Return whether a key exists, taken or not."""
        return self._database.execute("SELECT 1 FROM stored WHERE key = ?", (key,)).fetchone() is not None

    def rest(self, limit: int = 1000) -> list[Stored]:
        """Take some rows that were not taken before; none when there are no more."""
        rows = self._database.execute(
            "UPDATE stored SET seen = 1 WHERE key IN (SELECT key FROM stored WHERE NOT seen LIMIT ?) "
            "RETURNING key, line, vault_id, api_id, last_four",
            (limit,),
        ).fetchall()
        return [Stored(*row) for row in rows]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._database.close()
