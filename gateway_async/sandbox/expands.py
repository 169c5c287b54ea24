"""The `expand` parameter: which related data each family adds to its records, and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway_async.sandbox import states
from gateway_async.sandbox.errors import InvalidError
from gateway_async.sandbox.tables import (
    ACCOUNT_VAULT,
    CONTACT,
    LOCATION,
    PRODUCT_TRANSACTION,
    TERMINAL,
    TRANSACTION,
    USER,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway_async.sandbox.fields import Row, Table
    from gateway_async.sandbox.store import Store

    Expand = Callable[[Store, Row], Any]


def read_expands(table: Table, text: str | None) -> dict[str, Expand]:
    """Read the `expand` parameter.

    Raises:
        InvalidError: The family has no such relation.
    """
    names = [name for name in (text or "").split(",") if name]
    known = EXPANDS[table.plural]
    if unknown := [name for name in names if name not in known]:
        raise InvalidError({"expand": [f"Expand names a relation that there is not: {unknown[0][:64]!r}."]})
    return {name: known[name] for name in names}


def _related(table: Table, column: str) -> Expand:
    def find(store: Store, row: Row) -> Row | None:
        found = row[column] and store.find(table, id=row[column])
        return table.show(found) if found else None

    return find


def _none(_store: Store, _row: Row) -> None:
    return None


def _empty(_store: Store, _row: Row) -> list[Any]:
    return []


def _allowed(action: str) -> Expand:
    return lambda _store, row: states.allows(action, row["status_id"])


_LOCATION = _related(LOCATION, "location_id")
_CONTACT = _related(CONTACT, "contact_id")

EXPANDS: dict[str, dict[str, Expand]] = {
    CONTACT.plural: {"location": _LOCATION, "tags": _empty},
    ACCOUNT_VAULT.plural: {
        "location": _LOCATION,
        "contact": _CONTACT,
        "signature": _none,
        "created_user": _none,
        "product_transaction": _none,
        "account_vault_cau_product_transaction": _none,
        "account_vault_cau_logs": _empty,
        "tags": _empty,
    },
    TRANSACTION.plural: {
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
        "is_settled": lambda _store, row: row["status_id"] == states.SETTLED,
    },
}
