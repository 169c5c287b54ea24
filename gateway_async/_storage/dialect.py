"""The statements of the stores, which are written for PostgreSQL and rewritten for SQLite.

Where the two databases need different texts, a statement contains a mark, such as `@`, the name of the first table.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import msgspec

Marks = tuple[tuple[str, str], ...]
"""Marks in statements, and what replaces them, in this order."""

CREATED_TABLES: Final = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?([\w.]+)")
"""Finds the names of the tables in the statements that create them."""

_SYNTAX: Final[Sequence[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]] = (
    (
        re.compile(r"jsonb_to_recordset\((\$\d)::jsonb\)\s+AS (\w+) \(([^)]+)\)"),
        lambda found: f"(SELECT {_json_fields(found[3])} FROM json_each({found[1]})) AS {found[2]}",  # noqa: S608  constant names
    ),
    (re.compile(r"= ANY\((\$\d)\)"), r"IN (SELECT value FROM json_each(\1))"),
    (re.compile(r' ORDER BY given\.\w+( COLLATE "C")?'), ""),
    (re.compile(r' COLLATE "C"'), ""),
    (re.compile(r" FOR UPDATE( OF \w+)?( SKIP LOCKED)?"), ""),  # a transaction excludes other writers
    (re.compile(r"::\w+"), ""),
    (re.compile(r"bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"), "INTEGER PRIMARY KEY AUTOINCREMENT"),
    (re.compile(r"ADD COLUMN IF NOT EXISTS"), "ADD COLUMN"),
    (
        re.compile(r"CREATE INDEX ON (\w+) \(([^)]+)\)"),
        lambda found: f"CREATE INDEX {found[1]}_by_{found[2].replace(', ', '_')} ON {found[1]} ({found[2]})",
    ),
)
"""PostgreSQL's syntax → SQLite's."""

_encoder: Final = msgspec.json.Encoder(enc_hook=dict)  # encodes mappings of any type


def replace_marks(statement: str, marks: Marks) -> str:
    """Replace the marks in a statement."""
    for mark, replacement in marks:
        statement = statement.replace(mark, replacement)
    return statement


@lru_cache(512)
def translate(statement: str, marks: Marks) -> str:
    """Rewrite a statement of PostgreSQL for SQLite, with its marks replaced."""
    statement = replace_marks(statement, marks)
    for pattern, rewritten in _SYNTAX:
        statement = pattern.sub(rewritten, statement)
    return statement


def _json_fields(columns: str) -> str:
    """SQL that reads the columns from the JSON object `value`."""
    names = [column.split()[0] for column in columns.split(",")]
    return ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in names)


def to_sqlite(value: Any) -> Any:
    """Convert a value of a statement: lists to JSON, times to seconds, and NUL to "?"."""
    match value:
        case list():
            text = _to_json(value)
            plain = without_nul(value) if "\\u0000" in text else text
            return plain if isinstance(plain, str) else _to_json(plain)
        case str():
            return without_nul(value)
        case timedelta():
            return value.total_seconds()
        case datetime():
            return value.timestamp()
        case _:
            return value


def without_nul(value: Any) -> Any:
    """Convert objects to JSON, and NUL to "?": PostgreSQL cannot store it, and SQLite's JSON ends a text there."""
    match value:
        case str():
            return value.replace("\0", "?")
        case [str() | int(), *_] | []:
            return [*map(without_nul, value)]
        case list():
            rows = msgspec.to_builtins(value, enc_hook=dict)
            return _to_json([{name: without_nul(each) for name, each in row.items()} for row in rows])
        case dict():
            return _to_json(value)  # as text, in which NUL is escaped
        case _:
            return value


def _to_json(value: Any) -> str:
    return _encoder.encode(value).decode()
