"""Stored rows of a journal, found by their key: any number of them, in a private file that is gone when closed."""

import sqlite3
from collections.abc import Iterable
from types import TracebackType
from typing import Self

import attrs

__all__ = ["Shelf", "Stored"]


@attrs.frozen
class Stored:
    """What a journal knows of a stored account."""

    key: str
    line: int | None
    vault_id: str
    api_id: str
    last_four: str | None


class Shelf:
    """Holds what a journal holds, and nothing else; SQLite keeps it in memory, or on the disk where it is too much."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute(
            "CREATE TABLE stored (key TEXT PRIMARY KEY, line INTEGER, vault_id TEXT, api_id TEXT, last_four TEXT, "
            "seen INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID"
        )
        self._database.execute("CREATE INDEX unseen ON stored (key) WHERE NOT seen")
        self._database.execute("BEGIN")

    def put(self, rows: Iterable[Stored]) -> None:
        """Put rows on it."""
        self._database.executemany(
            "INSERT OR IGNORE INTO stored (key, line, vault_id, api_id, last_four) VALUES (?, ?, ?, ?, ?)",
            map(attrs.astuple, rows),
        )

    def take(self, key: str) -> Stored | None:
        """The row of a key, if it is there and was not taken before."""
        row = self._database.execute(
            "UPDATE stored SET seen = 1 WHERE key = ? AND NOT seen RETURNING key, line, vault_id, api_id, last_four",
            (key,),
        ).fetchall()
        return Stored(*row[0]) if row else None

    def has(self, key: str) -> bool:
        """Whether a key is there, taken or not."""
        return self._database.execute("SELECT 1 FROM stored WHERE key = ?", (key,)).fetchone() is not None

    def rest(self, limit: int = 1000) -> list[Stored]:
        """Take some that were not taken before; none when there are no more."""
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
