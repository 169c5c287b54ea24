"""The `changelogs` of a record, newest first.

They show the creator, each change, and the earlier values. A change is logged before it is stored, in the same
transaction. Therefore a postback about the change can include the log entry.
"""

from typing import Any

import msgspec

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import CHANGELOG, USER
from gateway_async.sandbox.schema.fields import Row

__all__ = ["log_creation", "log_update", "read_changelogs"]


_USER = ("id", "username", "first_name", "last_name")


def log_creation(gateway: Gateway, model: str, row: Row, user: Row) -> None:
    """Log the creation of a record."""
    _log(gateway, "CREATE", model, row, user)


def log_update(gateway: Gateway, model: str, row: Row, user: Row, changes: Row) -> None:
    """Log a change of a record, with the earlier values.

    `model` is the record type as change logs spell it, such as `TransactionBatch`. `row` is the record before the
    change. `user` has no `id` if no user made the change.
    """
    _log(gateway, "UPDATE", model, row, user, {name: row[name] for name in changes if changes[name] != row[name]})


def _log(gateway: Gateway, action: str, model: str, row: Row, user: Row, former: Row | None = None) -> None:
    entry = gateway.new_row(CHANGELOG, row, {"action": action, "model": model, "model_id": row["id"]})
    details = [
        {
            "id": gateway.ids.new(),
            "changelog_id": entry["id"],
            "field": name,
            "old_value": None if value is None else str(value),
        }
        for name, value in sorted((former or {}).items())
    ]
    entry |= {"user_id": user.get("id"), "changelog_details": msgspec.json.encode(details).decode()}
    gateway.store.insert(CHANGELOG, entry)


def read_changelogs(gateway: Gateway, row: Row) -> list[Row]:
    """Return the change log of a record."""
    entries = gateway.store.select(CHANGELOG, "model_id = ? ORDER BY id DESC", (row["id"],))
    return [CHANGELOG.show(entry) | {"user": _show_user(gateway, entry["user_id"])} for entry in entries]


def _show_user(gateway: Gateway, user_id: str | None) -> dict[str, Any] | None:
    user = user_id and gateway.store.find(USER, id=user_id)
    return {name: user[name] for name in _USER} if user else None
