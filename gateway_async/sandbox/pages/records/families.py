"""The families of records: their titles, and how records are counted, searched and summarized."""

from typing import Any

import attrs

from gateway_async.sandbox.http.responses import UnknownRecordError
from gateway_async.sandbox.pages.display.masking import mask_shown_text
from gateway_async.sandbox.pages.records.states import Status, find_status
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import BY_PLURAL, STORED
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.schema.kinds import show_money

__all__ = [
    "PAGE_SIZE",
    "Family",
    "Summary",
    "count_families",
    "find_table",
    "list_records",
    "search",
    "summarize",
]


PAGE_SIZE = 50

_SHOWN = [table for table in STORED if table.title]

_NAMES = ("title", "name", "username", "description", "subject", "note", "resource", "model")
"""The fields that can say what a record is about; the first one with a value does."""
_AMOUNTS = ("transaction_amount", "amount_due")
_LONGEST_NAME = 60


@attrs.frozen
class Family:
    """One family, with the numbers of its records.

    Attributes:
        plural: Its name in paths.
        count: The number of records that exist.
        deleted: The number of deleted records.
    """

    plural: str
    title: str
    count: int
    deleted: int


@attrs.frozen
class Summary:
    """One record, as lists show it.

    Attributes:
        name: What it is about; "" if no field says so.
        amount: Its amount, with two decimals; "" without one.
        created: When it was created, in Unix seconds, if that is known.
        status: Its state; None if records of the family have no states and this one is not deleted.
    """

    plural: str
    id: str
    api_id: str
    name: str
    amount: str
    created: int | None
    status: Status | None


def find_table(plural: str) -> Table:
    """Return the table of a family.

    Raises:
        UnknownRecordError: The family is unknown.
    """
    table = BY_PLURAL.get(plural)
    if table is None or not table.title:
        raise UnknownRecordError("family", plural)
    return table


def count_families(gateway: Gateway) -> list[Family]:
    """Count the records of each family."""
    return [_count(gateway, table) for table in _SHOWN]


def _count(gateway: Gateway, table: Table) -> Family:
    ((every, deleted),) = gateway.store.query(table, ("count(*)", "count(deleted_ts)"))
    return Family(table.plural, table.title, every - deleted, deleted)


def search(gateway: Gateway, text: str) -> list[Summary]:
    """Find records of all families by id or integrator id."""
    found = [(table, row) for table in _SHOWN for row in _find_exactly(gateway, table, text)]
    return [summarize(gateway, table, row) for table, row in found]


def _find_exactly(gateway: Gateway, table: Table, text: str) -> list[Row]:
    column = f" OR {table.api_id} = ?" if table.api_id else ""
    return gateway.store.select(table, f"id = ?{column} LIMIT {PAGE_SIZE}", (text, text)[: 2 if column else 1])


def list_records(gateway: Gateway, table: Table, text: str, page: int) -> tuple[list[Summary], int]:
    """Return a page of records, and the number of records.

    The newest record is first. `text` is a part of the id or of the integrator id; "" matches all records.
    """
    where, values = _condition(table, text)
    order = f"{where} ORDER BY rowid DESC LIMIT {PAGE_SIZE} OFFSET {(page - 1) * PAGE_SIZE}"
    rows = gateway.store.select(table, order, values)
    return [summarize(gateway, table, row) for row in rows], gateway.store.total(table, "count(*)", where, values)


def _condition(table: Table, text: str) -> tuple[str, tuple[str, ...]]:
    if not text:
        return "1", ()
    columns = ["id", *([table.api_id] if table.api_id else [])]
    return f"({' OR '.join(f'instr({column}, ?)' for column in columns)})", (text,) * len(columns)


def summarize(gateway: Gateway, table: Table, row: Row) -> Summary:
    """Return what a list shows of a record."""
    return Summary(
        plural=table.plural,
        id=row["id"],
        api_id=(row[table.api_id] or "") if table.api_id else "",
        name=mask_shown_text(_name(row)),
        amount=next((show_money(row[name]) for name in _AMOUNTS if row.get(name) is not None), ""),
        created=row.get("created_ts"),
        status=find_status(gateway, table, row),
    )


def _name(row: Row) -> str:
    people = " ".join(filter(None, (row.get("first_name"), row.get("last_name"))))
    found: Any = people or next((row[name] for name in _NAMES if row.get(name)), "")
    return f"{found[:_LONGEST_NAME]}…" if len(found) > _LONGEST_NAME else str(found)
