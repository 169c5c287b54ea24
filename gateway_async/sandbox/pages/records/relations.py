"""The links between records: what a record refers to, and what refers to it."""

import attrs

from gateway_async.sandbox.pages.records.families import Summary, summarize
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import BY_PLURAL, CHANGELOG, LOCATION, PRODUCT_TRANSACTION, STORED, USER
from gateway_async.sandbox.schema.fields import Field, Row, Table, label

__all__ = ["Relation", "find_links", "find_referring"]


_OWNERS = (LOCATION, USER, PRODUCT_TRANSACTION)
"""The records that own others; a list of everything that one owns would be too long."""

_OF_ANY_FAMILY = ("record_id", "resource_id")
"""The columns that refer to a record of the family that `resource` names."""

_MOST = 20
"""How many records of one relation are listed."""


@attrs.frozen
class Relation:
    """The records of one family that refer to a record by one column.

    Attributes:
        records: The newest of them.
        count: The number of all.
    """

    plural: str
    title: str
    column: str
    records: list[Summary]
    count: int


def find_links(gateway: Gateway, table: Table, row: Row) -> dict[str, str]:
    """Return the pages of records that a record refers to, by column."""
    targets = {field.name: _find_target(row, field) for field in table.stored if row[field.name]}
    return {
        name: f"/records/{target.plural}/{row[name]}"
        for name, target in targets.items()
        if target and gateway.store.find(target, id=row[name])
    }


def _find_target(row: Row, field: Field) -> Table | None:
    if field.name in _OF_ANY_FAMILY:
        name = row["resource"].lower()
        return next((each for each in STORED if name in (each.singular, each.plural)), None)
    return BY_PLURAL.get(field.target)


def find_referring(gateway: Gateway, table: Table, row: Row) -> list[Relation]:
    """Return the records that refer to a record, by family and column; the change log is not among them."""
    tables = [each for each in STORED if each is not CHANGELOG]
    columns = [(each, column) for each in tables for column in _columns_to(each, table)]
    relations = (_find_relation(gateway, each, column, row["id"]) for each, column in columns)
    return [relation for relation in relations if relation.count]


def _columns_to(table: Table, target: Table) -> list[str]:
    is_owner = target in _OWNERS
    return [
        field.name
        for field in table.stored
        if field.name in _OF_ANY_FAMILY or (field.target == target.plural and not is_owner)
    ]


def _find_relation(gateway: Gateway, table: Table, column: str, record_id: str) -> Relation:
    where, values = f"{column} = ?", (record_id,)
    rows = gateway.store.select(table, f"{where} ORDER BY rowid DESC LIMIT {_MOST}", values)
    count = gateway.store.total(table, "count(*)", where, values) if len(rows) == _MOST else len(rows)
    records = [summarize(gateway, table, each) for each in rows]
    return Relation(table.plural, table.title, label(column), records, count)
