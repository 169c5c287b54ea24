"""The `expand` parameter, which adds related data to records.

A table says what each record type can include, and where it comes from. The names are those of the contract's
"Endpoints". Data that the sandbox does not have is null or empty.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from gateway_async.sandbox.http.errors import RefusedFieldsError
from gateway_async.sandbox.notifications.messages import invoice_url, paylink_url
from gateway_async.sandbox.request.changelogs import read_changelogs
from gateway_async.sandbox.request.refunds import is_voidable
from gateway_async.sandbox.request.transaction_expands import TRANSACTION_EXPANDS
from gateway_async.sandbox.request.transaction_tags import show_tags
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    CONTACT,
    DEVICE_TERM,
    HOSTED_PAYMENT_PAGE,
    LOCATION,
    LOCATION_INFO,
    NOTE,
    PAYLINK,
    POSTBACK_CONFIG,
    PRODUCT_FILE,
    PRODUCT_TRANSACTION,
    QUICK_INVOICE,
    QUICK_INVOICE_FILE,
    RECURRING,
    ROUTER_ACCOUNT_VAULT,
    ROUTER_TRANSACTION,
    SIGNATURE,
    TAG,
    TERMINAL,
    TRANSACTION,
    TRANSACTION_BATCH,
    USER,
)
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.state_machines import transactions as states

__all__ = ["COMPUTED", "EXPANDS", "Expand", "read_expands"]


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
        raise RefusedFieldsError({"expand": [f"Expand names an unknown relation: {unknown[0][:64]!r}."]})
    return {name: known[name] for name in names}


def _make_record_expand(table: Table, column: str) -> Expand:
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


def _make_action_expand(trigger: states.TransactionTrigger) -> Expand:
    return lambda _gateway, row: states.next_state(trigger, row) is not None


def _vault_contact(gateway: Gateway, recurring: Row) -> Row | None:
    vault = gateway.store.find(ACCOUNT_VAULT, id=recurring["account_vault_id"])
    return _make_record_expand(CONTACT, "contact_id")(gateway, vault) if vault else None


def _make_list_expand(table: Table, column: str) -> Expand:
    def find(gateway: Gateway, row: Row) -> list[Row]:
        found = gateway.store.filter(table, **{column: row["id"]})
        return [table.show(each) for each in found if each["deleted_ts"] is None]

    return find


def _notes(gateway: Gateway, contact: Row) -> list[Row]:
    found = gateway.store.filter(NOTE, resource="Contact", resource_id=contact["id"])
    return [NOTE.show(note) for note in found if note["deleted_ts"] is None]


def _file_storage(gateway: Gateway, location: Row) -> Row | None:
    found = gateway.store.find(PRODUCT_FILE, location_id=location["id"])
    return PRODUCT_FILE.show(found) if found else None


def _signature_of(resource: str) -> Expand:
    """Return the newest signature of a record."""

    def find(gateway: Gateway, row: Row) -> Row | None:
        found = gateway.store.filter(SIGNATURE, resource=resource, resource_id=row["id"])
        return SIGNATURE.show(found[-1]) if found else None

    return find


_LOCATION = _make_record_expand(LOCATION, "location_id")
_SHARED: dict[str, Expand] = {
    "location": _LOCATION,
    "contact": _make_record_expand(CONTACT, "contact_id"),
    "created_user": _make_record_expand(USER, "created_user_id"),
    "tags": _empty_list,
}
_OF_VAULTS = _SHARED | {
    "signature": _signature_of("AccountVault"),
    "product_transaction": _default_product,
    "account_vault_cau_product_transaction": _no_record,
    "account_vault_cau_logs": _empty_list,
    "changelogs": _empty_list,
}
_OF_TRANSACTIONS = (
    _SHARED
    | TRANSACTION_EXPANDS
    | {
        "account_vault": _make_record_expand(ACCOUNT_VAULT, "account_vault_id"),
        "recurring": _make_record_expand(RECURRING, "recurring_id"),
        "product_transaction": _make_record_expand(PRODUCT_TRANSACTION, "product_transaction_id"),
        "quick_invoice": _make_record_expand(QUICK_INVOICE, "quick_invoice_id"),
        "terminal": _make_record_expand(TERMINAL, "terminal_id"),
        "tags": show_tags,
        "signature": _signature_of("Transaction"),
        "changelogs": _empty_list,
        "is_voidable": is_voidable,
        "is_refundable": _make_action_expand(states.TransactionTrigger.REFUND),
        "is_completable": _make_action_expand(states.TransactionTrigger.COMPLETE),
        "is_settled": lambda _gateway, row: row["status_id"] == states.TransactionState.SETTLED,
    }
)

EXPANDS: dict[str, dict[str, Expand]] = {
    CONTACT.plural: {
        "location": _LOCATION,
        "created_user": _SHARED["created_user"],
        "notes": _notes,
        "tags": _empty_list,
        "user": _no_record,
        "changelogs": _empty_list,
    },
    RECURRING.plural: _SHARED
    | {
        "account_vault": _make_record_expand(ACCOUNT_VAULT, "account_vault_id"),
        "contact": _vault_contact,
        "product_transaction": _make_record_expand(PRODUCT_TRANSACTION, "product_transaction_id"),
        "signature": _signature_of("Recurring"),
        "transactions": _make_list_expand(TRANSACTION, "recurring_id"),
    },
    HOSTED_PAYMENT_PAGE.plural: {
        "location": _LOCATION,
        "created_user": _SHARED["created_user"],
        "modified_user": _make_record_expand(USER, "modified_user_id"),
        "product_transaction": _make_record_expand(PRODUCT_TRANSACTION, "product_transaction_id"),
    },
    TAG.plural: {"created_user": _SHARED["created_user"]},
    NOTE.plural: {"created_user": _SHARED["created_user"], "visibility_group": _no_record},
    DEVICE_TERM.plural: {
        "created_user": _SHARED["created_user"],
        "location": _LOCATION,
        "terminal": _make_record_expand(TERMINAL, "terminal_id"),
        "reason_code": TRANSACTION_EXPANDS["reason_code"],
        "signature": _signature_of("DeviceTerm"),
    },
    ACCOUNT_VAULT.plural: _OF_VAULTS,
    ROUTER_ACCOUNT_VAULT.plural: _OF_VAULTS,
    PAYLINK.plural: _SHARED | {"email_blacklist": _no_record, "sms_blacklist": _no_record, "payment_url": paylink_url},
    TRANSACTION.plural: _OF_TRANSACTIONS,
    ROUTER_TRANSACTION.plural: _OF_TRANSACTIONS,
    QUICK_INVOICE.plural: _SHARED
    | {
        "email_blacklist": _no_record,
        "files": _files,
        "payment_url": invoice_url,
        "quick_invoice_settings": _no_record,
        "quick_invoice_views": _empty_list,
        "tags": lambda _gateway, row: Raw(row["tags"].encode()),
    },
    TRANSACTION_BATCH.plural: {
        "product_transaction": _make_record_expand(PRODUCT_TRANSACTION, "product_transaction_id"),
        "changelogs": read_changelogs,
    },
    LOCATION.plural: {
        "branding_domain": _no_record,
        "created_user": _SHARED["created_user"],
        "developer_company": _no_record,
        "parent": _make_record_expand(LOCATION, "parent_id"),
        "product_file": _file_storage,
        "product_recurring": _no_record,
        "product_transactions": _make_list_expand(PRODUCT_TRANSACTION, "location_id"),
        "terminal": _make_list_expand(TERMINAL, "location_id"),
    },
    LOCATION_INFO.plural: {"terminals": _make_list_expand(TERMINAL, "location_id")},
    TERMINAL.plural: {
        "location": _LOCATION,
        "created_user": _SHARED["created_user"],
        "terminal_application": _no_record,
        "terminal_cvm": _no_record,
        "terminal_manufacturer": _no_record,
        "terminal_routers": _empty_list,
        "has_terminal_routers": lambda _gateway, _row: False,
        "changelogs": _empty_list,
    },
    POSTBACK_CONFIG.plural: {name: _column(name) for name in ("basic_auth_username", "basic_auth_password")},
}
"""The relations that each record type can include."""

COMPUTED: dict[str, dict[str, Expand]] = {
    DEVICE_TERM.plural: {
        "device_term_api_id": _column("device_terms_api_id"),
        "signature": _signature_of("DeviceTerm"),
    },
}
"""The relations that every response of a record type includes."""
