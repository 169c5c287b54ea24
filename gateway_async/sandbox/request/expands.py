"""The `expand` parameter, which adds related data to records.

The data files say what each record type can include, and where it comes from. The names are the contract's
"Endpoints". Data that the sandbox does not have is null or empty. What the files call `code` is here.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Raw

from gateway_async.sandbox.http.responses import RefusedFieldsError
from gateway_async.sandbox.notifications import invoice_url, paylink_url
from gateway_async.sandbox.request.transaction_relations import (
    find_surcharge,
    is_completable,
    is_refundable,
    is_reversible,
    is_voidable,
    read_changelogs,
    show_level3,
    show_tags,
)
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    BY_PLURAL,
    CONTACT,
    DEVICE_TERM,
    NOTE,
    PRODUCT_FILE,
    PRODUCT_TRANSACTION,
    SIGNATURE,
    TABLES,
)
from gateway_async.sandbox.schema.codes import REASONS
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.schema.loader import ContractError
from gateway_async.sandbox.state_machines import transactions as states

Expand = Callable[[Gateway, Row], Any]
_CONSTANTS = ("null", "[]", "false")


def read_expands(plural: str, text: str) -> dict[str, Expand]:
    """Read the `expand` parameter of a request.

    Args:
        plural: The plural name of the record type, as in paths (`accountvaults`).
        text: Comma-separated names.
    """
    names = [name for name in text.split(",") if name]
    known = EXPANDS.get(plural, {})
    if unknown := [name for name in names if name not in known]:
        raise RefusedFieldsError({"expand": [f"Expand names an unknown relation: {unknown[0][:64]!r}."]})
    return {name: known[name] for name in names}


def _make_expand(table: Table, name: str, source: str) -> Expand:
    """Return the function behind a line of a data file.

    Raises:
        ContractError: The source is unknown.
    """
    plural, _, column = source.partition(".")
    if source in _CONSTANTS:
        return lambda _gateway, _row: json.loads(source)
    if column and plural in BY_PLURAL:
        return _make_list_expand(BY_PLURAL[plural], column)
    if source[1:] in table.by_name:
        return _show_column(source[1:])
    if source[1:-1] in table.codes:
        return _show_code(source[1:-1], table.codes[source[1:-1]])
    if source in table.by_name and table.by_name[source].target:
        return _make_record_expand(BY_PLURAL[table.by_name[source].target], source)
    try:
        return _CODE[f"{table.plural}.{name}"]
    except KeyError:
        raise ContractError(f"{table.plural}, expands, {name}: unknown source {source!r}") from None


def _make_record_expand(table: Table, column: str) -> Expand:
    def find(gateway: Gateway, row: Row) -> Row | None:
        found = row[column] and gateway.store.find(table, id=row[column])
        return table.show(found) if found else None

    return find


def _make_list_expand(table: Table, column: str) -> Expand:
    def find(gateway: Gateway, row: Row) -> list[Row]:
        return [table.show(found) for found in gateway.store.filter(table, **{column: row["id"]})]

    return find


def _show_column(name: str) -> Expand:
    return lambda _gateway, row: row[name]


def _show_code(column: str, titles: Mapping[Any, str]) -> Expand:
    def show(_gateway: Gateway, row: Row) -> Row | None:
        return None if row[column] is None else {"id": row[column], "title": titles.get(row[column], "")}

    return show


def _find_default_product(gateway: Gateway, row: Row) -> Row | None:
    where = {"location_id": row["location_id"], "payment_method": row["payment_method"]}
    found = gateway.store.find(PRODUCT_TRANSACTION, **where)
    return PRODUCT_TRANSACTION.show(found) if found else None


def _find_vault_contact(gateway: Gateway, recurring: Row) -> Row | None:
    vault = gateway.store.find(ACCOUNT_VAULT, id=recurring["account_vault_id"])
    return _make_record_expand(CONTACT, "contact_id")(gateway, vault) if vault else None


def _find_notes(gateway: Gateway, contact: Row) -> list[Row]:
    return [NOTE.show(note) for note in gateway.store.filter(NOTE, resource="Contact", resource_id=contact["id"])]


def _find_file_storage(gateway: Gateway, location: Row) -> Row | None:
    found = gateway.store.find(PRODUCT_FILE, location_id=location["id"])
    return PRODUCT_FILE.show(found) if found else None


def _find_signature(resource: str) -> Expand:
    """Find the newest signature of a record."""

    def find(gateway: Gateway, row: Row) -> Row | None:
        found = gateway.store.filter(SIGNATURE, resource=resource, resource_id=row["id"])
        return SIGNATURE.show(found[-1]) if found else None

    return find


_CODE: dict[str, Expand] = {
    "accountvaults.product_transaction": _find_default_product,
    "accountvaults.signature": _find_signature("AccountVault"),
    "contacts.notes": _find_notes,
    "deviceterms.reason_code": _show_code("reason_code_id", REASONS),
    "deviceterms.signature": _find_signature("DeviceTerm"),
    "locations.product_file": _find_file_storage,
    "paylinks.payment_url": paylink_url,
    "quickinvoices.payment_url": invoice_url,
    "quickinvoices.tags": lambda _gateway, row: Raw(row["tags"].encode()),
    "recurrings.contact": _find_vault_contact,
    "recurrings.signature": _find_signature("Recurring"),
    "transactionbatches.changelogs": read_changelogs,
    "transactions.is_completable": is_completable,
    "transactions.is_refundable": is_refundable,
    "transactions.is_reversible": is_reversible,
    "transactions.is_settled": lambda _gateway, row: row["status_id"] == states.TransactionState.SETTLED,
    "transactions.is_voidable": is_voidable,
    "transactions.reason_code": _show_code("reason_code_id", REASONS),
    "transactions.signature": _find_signature("Transaction"),
    "transactions.surcharge": find_surcharge,
    "transactions.tags": show_tags,
    "transactions.transaction_level3": show_level3,
}
"""The relations that need code."""

EXPANDS: dict[str, dict[str, Expand]] = {
    table.plural: {name: _make_expand(table, name, source) for name, source in table.expands.items()}
    for table in TABLES.values()
    if table.expands
}
"""The relations that each record type can include."""

EXPANDS |= {table.plural: EXPANDS[table.expands_of] for table in TABLES.values() if table.expands_of}

COMPUTED: dict[str, dict[str, Expand]] = {
    DEVICE_TERM.plural: {
        "device_term_api_id": _show_column("device_terms_api_id"),
        "signature": _find_signature("DeviceTerm"),
    },
}
"""The relations that every response of a record type includes."""
