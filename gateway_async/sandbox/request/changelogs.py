"""The `changelogs` of a transaction batch, newest first.

They show the creator, each change, and the earlier values. A change is logged before it is stored, in the same
transaction. Therefore a postback about the change can include the log entry.
"""

from typing import Any

import msgspec

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import CHANGELOG, USER
from gateway_async.sandbox.schema.fields import Row

__all__ = ["log_change", "read_changelogs"]


_USER = ("id", "username", "first_name", "last_name")


def log_change(gateway: Gateway, batch: Row, user: Row, changes: Row) -> None:
    """Log the changes of a batch with the earlier values; without changes, its creation.

    `batch` is the record before the change. `user` has no `id` if no user made the change.
    """
    known = {"action": "UPDATE" if changes else "CREATE", "model": "TransactionBatch", "model_id": batch["id"]}
    entry = gateway.new_row(CHANGELOG, batch, known)
    details = [
        {
            "id": gateway.ids.new(),
            "changelog_id": entry["id"],
            "field": name,
            "old_value": None if value is None else str(value),
        }
        for name, value in sorted((name, batch[name]) for name in changes if changes[name] != batch[name])
    ]
    entry |= {"user_id": user.get("id"), "changelog_details": msgspec.json.encode(details).decode()}
    gateway.store.insert(CHANGELOG, entry)


def read_changelogs(gateway: Gateway, row: Row) -> list[Row]:
    """Return the change log of a batch."""
    entries = gateway.store.select(CHANGELOG, "model_id = ? ORDER BY id DESC", (row["id"],))
    return [CHANGELOG.show(entry) | {"user": _show_user(gateway, entry["user_id"])} for entry in entries]


def _show_user(gateway: Gateway, user_id: str | None) -> dict[str, Any] | None:
    user = user_id and gateway.store.find(USER, id=user_id)
    return {name: user[name] for name in _USER} if user else None
