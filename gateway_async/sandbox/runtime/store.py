"""The SQLite record store.

Its columns and indexes are generated from the field tables. A write is committed before the function that makes it
returns. Therefore every acknowledged change survives a crash of the process. The store has one connection, which one
thread uses.

A watcher of a table is called for every change of the table, within the same transaction.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

from gateway_async._storage.private_file import restrict_mode
from gateway_async._storage.sqlite import FileFormat, open_database, transaction
from gateway_async.sandbox.schema import STORED
from gateway_async.sandbox.schema.fields import Field, Row, Table

Change = Literal["CREATE", "UPDATE", "DELETE"]
Watcher = Callable[[Change, Sequence[Row]], None]
"""A callback for a change: its type, and the changed records with their new values."""

ALIVE = "deleted_ts IS NULL"
WAITING = "state = 'waiting'"
_DELETED = "deleted_ts IS NOT NULL"

_FORMAT = FileFormat(
    kind="a sandbox's data",
    error=lambda _, reason: sqlite3.DatabaseError(reason),
    application_id=0x67617473,  # "gats"
    version=0,
    schema="CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT)",
)
"""The other tables are generated from the field tables."""


class Store:
    """The records of a gateway, in memory or in a file.

    Args:
        path: A file, created if missing and migrated if older; None keeps the records in memory.
        check_settings: Raises a `DatabaseError` for settings that are not a sandbox's, before the file is changed;
            None checks nothing.

    Attributes:
        on_change: Called after each transaction.

    Raises:
        sqlite3.DatabaseError: The file is not a database, belongs to another program, or another sandbox uses it.
    """

    def __init__(
        self, path: str | None = None, check_settings: Callable[[dict[str, str]], object] | None = None
    ) -> None:
        self._connection = open_database(path, 0) if path else _open_in_memory()
        self._watchers: dict[str, Watcher] = {}
        self.on_change: Callable[[], object] = lambda: None
        if not path:
            return
        try:
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            if _FORMAT.has_tables(self._connection, path) and check_settings:
                check_settings(self.read_settings())
            _prepare(self._connection, path)
            restrict_mode(path)
        except sqlite3.DatabaseError:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def change_count(self) -> int:
        """The number of records added, changed and deleted since the store was opened."""
        return self._connection.total_changes

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Group several writes into one transaction.

        All are committed at the end, or none. A nested call joins the outer transaction.
        """
        if self._connection.in_transaction:
            yield
            return
        with transaction(self._connection):
            yield
        self.on_change()

    def read_settings(self) -> dict[str, str]:
        """Read the settings of this gateway that survive a restart."""
        return dict(self._connection.execute("SELECT name, value FROM settings"))

    def write_setting(self, name: str, value: str) -> None:
        """Store a setting of this gateway."""
        self._connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def watch(self, table: Table, watcher: Watcher) -> None:
        """Call a watcher for every later change of a table."""
        self._watchers[table.plural] = watcher

    def insert(self, table: Table, *rows: Row) -> None:
        """Add records."""
        marks = ", ".join("?" * len(table.columns))
        with self.transaction():
            self._connection.executemany(
                f"INSERT INTO {table.plural} ({', '.join(table.columns)}) VALUES ({marks})",  # noqa: S608  # names from our own tables
                ([row.get(column) for column in table.columns] for row in rows),
            )
            self._notify_watcher(table, "CREATE", rows)

    def update(self, table: Table, record_id: str, changes: Row, *, notify: bool = True) -> None:
        """Change columns of one record; `notify` says whether the table's watcher is called."""
        columns = ", ".join(f"{column} = ?" for column in changes)
        with self.transaction():
            self._connection.execute(
                f"UPDATE {table.plural} SET {columns} WHERE id = ?",  # noqa: S608  # names from our own tables
                (*changes.values(), record_id),
            )
            if notify and table.plural in self._watchers:
                changed = self.select(table, "id = ?", (record_id,))
                self._notify_watcher(table, "UPDATE" if changes.get("deleted_ts") is None else "DELETE", changed)

    def delete(self, table: Table, record_id: str) -> None:
        """Delete a record permanently."""
        with self.transaction():
            if table.plural in self._watchers:
                self._notify_watcher(table, "DELETE", self.select(table, "id = ?", (record_id,)))
            self._connection.execute(f"DELETE FROM {table.plural} WHERE id = ?", (record_id,))  # noqa: S608  # names from our own tables

    def clear(self, table: Table, where: str = "1", values: Sequence[Any] = ()) -> None:
        """Delete the records that match an SQL condition, without calling watchers. The default is all records."""
        self._connection.execute(f"DELETE FROM {table.plural} WHERE {where}", values)  # noqa: S608  # names from our own tables

    def find(self, table: Table, **equal: Any) -> Row | None:
        """Find the record with these column values. A deleted record is returned only if no other record matches."""
        return self.find_where(table, _all_equal(equal), tuple(equal.values()))

    def find_alive(self, table: Table, **equal: Any) -> Row | None:
        """Find the record with these column values, unless it was deleted."""
        found = self.select(table, f"{_all_equal(equal)} AND {ALIVE} LIMIT 1", tuple(equal.values()))
        return found[0] if found else None

    def find_where(self, table: Table, where: str, values: Sequence[Any]) -> Row | None:
        """Find the record that matches an SQL condition, as `find` does."""
        found = self.select(table, f"{where} AND {ALIVE} LIMIT 1", values)
        found = found or self.select(table, f"{where} AND {_DELETED} LIMIT 1", values)
        return found[0] if found else None

    def select(self, table: Table, condition: str = "1", values: Sequence[Any] = ()) -> list[Row]:
        """Select the records that match an SQL condition, which may be followed by an order and a limit."""
        columns = table.columns
        return [dict(zip(columns, row, strict=True)) for row in self.query(table, columns, condition, values)]

    def query(
        self, table: Table, columns: Sequence[str], condition: str = "1", values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """Query columns, counts or sums of the records that match a condition."""
        found = self._connection.execute(f"SELECT {', '.join(columns)} FROM {table.plural} WHERE {condition}", values)  # noqa: S608  # names from our own tables
        return found.fetchall()

    def filter(self, table: Table, **equal: Any) -> list[Row]:
        """List the records that were not deleted, oldest first; a column value of None does not restrict them."""
        wanted = {column: value for column, value in equal.items() if value is not None}
        return self.select(table, f"{_all_equal(wanted) or 1} AND {ALIVE} ORDER BY id", tuple(wanted.values()))

    def newest(self, tables: Iterable[Table]) -> str:
        """The greatest id in the tables; empty without records."""
        found = (self._connection.execute(f"SELECT max(id) FROM {table.plural}").fetchone()[0] for table in tables)  # noqa: S608  # names from our own tables
        return max(filter(None, found), default="")

    def total(self, table: Table, what: str, where: str, values: Sequence[Any]) -> int:
        """A count or sum over matching records."""
        return int(self.query(table, (what,), where, values)[0][0])

    def _notify_watcher(self, table: Table, change: Change, rows: Sequence[Row]) -> None:
        watcher = self._watchers.get(table.plural)
        if watcher and rows:
            watcher(change, rows)


def _open_in_memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _empty_database().backup(connection)
    return connection


@cache
def _empty_database() -> sqlite3.Connection:
    """Return a database without records. Creating its tables takes longer than copying them."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _prepare(connection, "")
    return connection


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    _FORMAT.initialize(connection, path)
    connection.execute("PRAGMA synchronous = NORMAL")
    with transaction(connection):
        for table in STORED:
            _create_table(connection, table)


def _create_table(connection: sqlite3.Connection, table: Table) -> None:
    columns = ", ".join(map(_column, table.stored))
    connection.execute(f"CREATE TABLE IF NOT EXISTS {table.plural} ({columns}, deleted_ts INTEGER)")
    known = {row[1] for row in connection.execute(f"PRAGMA table_info({table.plural})")}
    for field in table.stored:
        if field.name not in known:
            connection.execute(f"ALTER TABLE {table.plural} ADD COLUMN {_column(field)}")
    for statement in _indexes(table):
        connection.execute(statement)


def _all_equal(columns: Iterable[str]) -> str:
    return " AND ".join(f"{column} = ?" for column in columns)


def _column(field: Field) -> str:
    key = " PRIMARY KEY" if field.name == "id" else ""
    value = int(field.default) if isinstance(field.default, int) else field.default  # an enum's repr is not SQL
    default = f" DEFAULT {value!r}" if value is not None else ""
    return f"{field.name} {field.kind.column}{key}{default}"


_INDEXED = {
    "account_vault_id": "account_vault_id",
    "contact_id": "contact_id",
    "previous_transaction_id": "previous_transaction_id",
    "quick_invoice_id": "quick_invoice_id, id",
    "transaction_api_id": "transaction_api_id, type_id, status_id",
    "transaction_batch_id": "transaction_batch_id",
    "account_vault_api_id": "account_vault_api_id",
    "batch_num": "product_transaction_id, batch_num",
    "model_id": "model_id, id",
    "record_id": "record_id, id",
    "recurring_id": "recurring_id, id",
}
"""The columns of further indexes, by the column that a table must have."""


def _indexes(table: Table) -> Iterable[str]:
    prefix = f"INDEX IF NOT EXISTS {table.plural}"
    if "location_id" in table.by_name:
        yield f"CREATE {prefix}_by_id ON {table.plural} (location_id, id) WHERE {ALIVE}"
        yield f"CREATE {prefix}_by_time ON {table.plural} (location_id, created_ts, id) WHERE {ALIVE}"
    for column, columns in _INDEXED.items():
        if column in table.shown:
            yield f"CREATE {prefix}_by_{column} ON {table.plural} ({columns})"
    if "due_ts" in table.shown:
        yield f"CREATE {prefix}_waiting ON {table.plural} (config_id, due_ts, id) WHERE {WAITING}"
        yield f"CREATE {prefix}_ended ON {table.plural} (id) WHERE NOT {WAITING}"
    if table.api_id and "location_id" in table.by_name:
        yield f"CREATE UNIQUE {prefix}_by_api_id ON {table.plural} (location_id, {table.api_id}) WHERE {ALIVE}"
        yield f"CREATE {prefix}_deleted_by_api_id ON {table.plural} (location_id, {table.api_id}) WHERE {_DELETED}"
