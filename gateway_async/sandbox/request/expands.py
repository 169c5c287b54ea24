"""The `expand` parameter, which adds related data to records.

A table says what each record type can include, and where it comes from. The names are those of the contract's
"Endpoints". Data that the sandbox does not have is null or empty.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from gateway_async.sandbox.http.errors import ValidationError
from gateway_async.sandbox.notifications.messages import paylink_url
from gateway_async.sandbox.request.changelogs import read_changelogs
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    CONTACT,
    LOCATION,
    PAYLINK,
    POSTBACK_CONFIG,
    PRODUCT_TRANSACTION,
    QUICK_INVOICE,
    QUICK_INVOICE_FILE,
    ROUTER_ACCOUNT_VAULT,
    ROUTER_TRANSACTION,
    TERMINAL,
    TRANSACTION,
    TRANSACTION_BATCH,
    USER,
)
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.state_machines import transactions as states

__all__ = ["EXPANDS", "Expand", "read_expands"]


Expand = Callable[[Gateway, Row], Any]


def read_expands(plural: str, text: str) -> dict[str, Expand]:
    """Read the `expand` parameter of a request.

    Args:
        plural: The plural name of the record type, as in paths (`accountvaults`).
        text: Comma-separated names.

    Raises:
        ValidationError: The record type has no such relation.
    """
    names = [name for name in text.split(",") if name]
    known = EXPANDS.get(plural, {})
    if unknown := [name for name in names if name not in known]:
        raise ValidationError({"expand": [f"Expand names an unknown relation: {unknown[0][:64]!r}."]})
    return {name: known[name] for name in names}


def _related(table: Table, column: str) -> Expand:
    def find(gateway: Gateway, row: Row) -> Row | None:
        found = row[column] and gateway.store.find(table, id=row[column])
        return table.show(found) if found else None

    return find


def _files(gateway: Gateway, invoice: Row) -> list[Row]:
    return [
        QUICK_INVOICE_FILE.show(row) for row in gateway.store.filter(QUICK_INVOICE_FILE, quick_invoice_id=invoice["id"])
    ]


def _no_record(_gateway: Gateway, _row: Row) -> None:
    return None


def _empty_list(_gateway: Gateway, _row: Row) -> list[Any]:
    return []


def _column(name: str) -> Expand:
    return lambda _gateway, row: row[name]


def _default_product(gateway: Gateway, row: Row) -> Row | None:
    where = {"location_id": row["location_id"], "payment_method": row["payment_method"]}
    found = gateway.store.find(PRODUCT_TRANSACTION, **where)
    return PRODUCT_TRANSACTION.show(found) if found else None


def _allowed(trigger: states.Trigger) -> Expand:
    return lambda _gateway, row: states.next_state(trigger, row) is not None


_LOCATION = _related(LOCATION, "location_id")
_SHARED: dict[str, Expand] = {
    "location": _LOCATION,
    "contact": _related(CONTACT, "contact_id"),
    "created_user": _related(USER, "created_user_id"),
    "tags": _empty_list,
}
_OF_VAULTS = _SHARED | {
    "signature": _no_record,
    "product_transaction": _default_product,
    "account_vault_cau_product_transaction": _no_record,
    "account_vault_cau_logs": _empty_list,
    "changelogs": _empty_list,
}
_OF_TRANSACTIONS = _SHARED | {
    "account_vault": _related(ACCOUNT_VAULT, "account_vault_id"),
    "product_transaction": _related(PRODUCT_TRANSACTION, "product_transaction_id"),
    "terminal": _related(TERMINAL, "terminal_id"),
    "signature": _no_record,
    "changelogs": _empty_list,
    "is_voidable": _allowed(states.Trigger.VOID),
    "is_refundable": _allowed(states.Trigger.REFUND),
    "is_completable": _allowed(states.Trigger.COMPLETE),
    "is_settled": lambda _gateway, row: row["status_id"] == states.State.SETTLED,
}

EXPANDS: dict[str, dict[str, Expand]] = {
    CONTACT.plural: {"location": _LOCATION, "tags": _empty_list, "changelogs": _empty_list},
    ACCOUNT_VAULT.plural: _OF_VAULTS,
    ROUTER_ACCOUNT_VAULT.plural: _OF_VAULTS,
    PAYLINK.plural: _SHARED | {"email_blacklist": _no_record, "sms_blacklist": _no_record, "payment_url": paylink_url},
    TRANSACTION.plural: _OF_TRANSACTIONS,
    ROUTER_TRANSACTION.plural: _OF_TRANSACTIONS,
    QUICK_INVOICE.plural: _SHARED
    | {
        "email_blacklist": _no_record,
        "files": _files,
        "payment_url": lambda gateway, row: f"{gateway.base_url}/#/quickinvoicepay/{row['id']}",
        "quick_invoice_settings": _no_record,
        "quick_invoice_views": _empty_list,
        "tags": lambda _gateway, row: Raw(row["tags"].encode()),
    },
    TRANSACTION_BATCH.plural: {
        "product_transaction": _related(PRODUCT_TRANSACTION, "product_transaction_id"),
        "changelogs": read_changelogs,
    },
    POSTBACK_CONFIG.plural: {name: _column(name) for name in ("basic_auth_username", "basic_auth_password")},
}
"""The relations that each record type can include."""
