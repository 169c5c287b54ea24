"""The `expand` parameter: which related data each family adds to its records, and where it comes from.

The names are those of the contract's "Endpoints"; what a sandbox has nothing of is null or empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway_async.sandbox.errors import InvalidError
from gateway_async.sandbox.states import transactions as states
from gateway_async.sandbox.tables import (
    ACCOUNT_VAULT,
    CONTACT,
    LOCATION,
    PRODUCT_TRANSACTION,
    ROUTER_ACCOUNT_VAULT,
    ROUTER_TRANSACTION,
    TERMINAL,
    TRANSACTION,
    USER,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway_async.sandbox.fields import Row, Table
    from gateway_async.sandbox.gateway import Gateway

    Expand = Callable[[Gateway, Row], Any]


def read_expands(family: str, text: str) -> dict[str, Expand]:
    """Read the `expand` parameter of a request.

    Args:
        family: The path segment of the family (`accountvaults`).
        text: Names with commas between them.

    Raises:
        InvalidError: The family has no such relation.
    """
    names = [name for name in text.split(",") if name]
    known = EXPANDS.get(family, {})
    if unknown := [name for name in names if name not in known]:
        raise InvalidError({"expand": [f"Expand names a relation that there is not: {unknown[0][:64]!r}."]})
    return {name: known[name] for name in names}


def _related(table: Table, column: str) -> Expand:
    def find(gateway: Gateway, row: Row) -> Row | None:
        found = row[column] and gateway.store.find(table, id=row[column])
        return table.show(found) if found else None

    return find


def _none(_gateway: Gateway, _row: Row) -> None:
    return None


def _empty(_gateway: Gateway, _row: Row) -> list[Any]:
    return []


def _allowed(action: str) -> Expand:
    return lambda _gateway, row: states.allows(action, row["status_id"])


_LOCATION = _related(LOCATION, "location_id")
_CONTACT = _related(CONTACT, "contact_id")

_OF_CONTACTS: dict[str, Expand] = {"location": _LOCATION, "tags": _empty}
_OF_VAULTS: dict[str, Expand] = {
    "location": _LOCATION,
    "contact": _CONTACT,
    "signature": _none,
    "created_user": _none,
    "product_transaction": _none,
    "account_vault_cau_product_transaction": _none,
    "account_vault_cau_logs": _empty,
    "tags": _empty,
}
_OF_TRANSACTIONS: dict[str, Expand] = {
    "location": _LOCATION,
    "contact": _CONTACT,
    "account_vault": _related(ACCOUNT_VAULT, "account_vault_id"),
    "product_transaction": _related(PRODUCT_TRANSACTION, "product_transaction_id"),
    "created_user": _related(USER, "created_user_id"),
    "terminal": _related(TERMINAL, "terminal_id"),
    "signature": _none,
    "tags": _empty,
    "changelogs": _empty,
    "is_voidable": _allowed("void"),
    "is_refundable": _allowed("refund"),
    "is_completable": _allowed("authcomplete"),
    "is_settled": lambda _gateway, row: row["status_id"] == states.SETTLED,
}

EXPANDS = {
    CONTACT.plural: _OF_CONTACTS,
    ACCOUNT_VAULT.plural: _OF_VAULTS,
    ROUTER_ACCOUNT_VAULT.plural: _OF_VAULTS,
    TRANSACTION.plural: _OF_TRANSACTIONS,
    ROUTER_TRANSACTION.plural: _OF_TRANSACTIONS,
}
"""What each family can add to its records."""
