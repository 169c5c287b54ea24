"""The links between records: what a record refers to, and what refers to it."""

import attrs

from gateway_async.sandbox.pages.records.families import TITLES, Summary, summarize
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    CHANGELOG,
    CONTACT,
    HOSTED_PAYMENT_PAGE,
    LOCATION,
    PAYLINK,
    POSTBACK_CONFIG,
    PRODUCT_TRANSACTION,
    QUICK_INVOICE,
    RECURRING,
    STORED,
    TERMINAL,
    TRANSACTION,
    TRANSACTION_BATCH,
    USER,
)
from gateway_async.sandbox.schema.fields import Row, Table, label

__all__ = ["Relation", "find_links", "find_referring"]


_OWNERS = {
    "location_id": LOCATION,
    "parent_id": LOCATION,
    "primary_location_id": LOCATION,
    "created_user_id": USER,
    "modified_user_id": USER,
    "user_id": USER,
    "product_transaction_id": PRODUCT_TRANSACTION,
    "cc_product_transaction_id": PRODUCT_TRANSACTION,
    "ach_product_transaction_id": PRODUCT_TRANSACTION,
    "default_product_transaction_id": PRODUCT_TRANSACTION,
    "default_cc": PRODUCT_TRANSACTION,
    "default_ach": PRODUCT_TRANSACTION,
}
"""The columns that refer to an owner; a list of everything that it owns would be too long."""

_RELATED = {
    "contact_id": CONTACT,
    "account_vault_id": ACCOUNT_VAULT,
    "previous_transaction_id": TRANSACTION,
    "transaction_batch_id": TRANSACTION_BATCH,
    "quick_invoice_id": QUICK_INVOICE,
    "paylink_id": PAYLINK,
    "recurring_id": RECURRING,
    "terminal_id": TERMINAL,
    "config_id": POSTBACK_CONFIG,
    "hosted_payment_page_id": HOSTED_PAYMENT_PAGE,
    "transaction_id": TRANSACTION,
    "model_id": TRANSACTION_BATCH,
}
"""The columns that refer to other records, by their names in every table."""

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


def find_links(gateway: Gateway, row: Row) -> dict[str, str]:
    """Return the pages of records that a record refers to, by column."""
    targets = {name: _table_of(row, name) for name in row if row[name]}
    return {
        name: f"/records/{target.plural}/{row[name]}"
        for name, target in targets.items()
        if target and gateway.store.find(target, id=row[name])
    }


def _table_of(row: Row, column: str) -> Table | None:
    if column in _OF_ANY_FAMILY:
        name = row["resource"].lower()
        return next((each for each in STORED if name in (each.singular, each.plural)), None)
    return _OWNERS.get(column) or _RELATED.get(column)


def find_referring(gateway: Gateway, table: Table, row: Row) -> list[Relation]:
    """Return the records that refer to a record, by family and column; the change log is not among them."""
    tables = [each for each in STORED if each is not CHANGELOG]
    columns = [(each, column) for each in tables for column in _columns_to(each, table)]
    relations = (_find_relation(gateway, each, column, row["id"]) for each, column in columns)
    return [relation for relation in relations if relation.count]


def _columns_to(table: Table, target: Table) -> list[str]:
    columns = (field.name for field in table.stored)
    return [name for name in columns if name in _OF_ANY_FAMILY or _RELATED.get(name) is target]


def _find_relation(gateway: Gateway, table: Table, column: str, record_id: str) -> Relation:
    where, values = f"{column} = ?", (record_id,)
    rows = gateway.store.select(table, f"{where} ORDER BY rowid DESC LIMIT {_MOST}", values)
    count = gateway.store.total(table, "count(*)", where, values) if len(rows) == _MOST else len(rows)
    records = [summarize(gateway, table, each) for each in rows]
    return Relation(table.plural, TITLES.get(table.plural, table.plural), label(column), records, count)
