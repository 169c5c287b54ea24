"""SQLite files of the tests, and what may happen to them."""

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import resource


def ask_sqlite(path: str | Path, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query on an SQLite file."""
    with closing(sqlite3.connect(path, timeout=10)) as connection, connection:
        return connection.execute(sql, values).fetchall()


@contextmanager
def full_disk(size: int = 1) -> Iterator[None]:
    """Let no file of this process grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
