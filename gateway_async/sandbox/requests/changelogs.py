"""What a record's `changelogs` tell: who made it, who changed it, and what it held before, newest first.

A change is noted before it is made, in one transaction with it: whoever is told of it is told of the note too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gateway_async.sandbox.tables import CHANGELOG, USER

if TYPE_CHECKING:
    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.tables.fields import Row

_USER = ("id", "username", "first_name", "last_name")


def log_creation(gateway: Gateway, model: str, row: Row, user: Row) -> None:
    """Note who made a record."""
    _log(gateway, "CREATE", model, row, user)


def log_update(gateway: Gateway, model: str, row: Row, user: Row, changes: Row) -> None:
    """Note who changed a record, and what it held before.

    Args:
        gateway: Where it is noted.
        model: What the record is, in the words of change logs: `TransactionBatch`.
        row: The record as it was.
        user: Who changed it; without an `id` it was nobody.
        changes: What it holds from now on.
    """
    _log(gateway, "UPDATE", model, row, user, {name: row[name] for name in changes if changes[name] != row[name]})


def _log(gateway: Gateway, action: str, model: str, row: Row, user: Row, former: Row | None = None) -> None:
    entry = gateway.new_row(CHANGELOG, row, {"action": action, "model": model, "model_id": row["id"]})
    details = [
        {
            "id": gateway.identifiers.new(),
            "changelog_id": entry["id"],
            "field": name,
            "old_value": None if value is None else str(value),
        }
        for name, value in sorted((former or {}).items())
    ]
    told = {"user_id": user.get("id"), "changelog_details": msgspec.json.encode(details).decode()}
    gateway.store.insert(CHANGELOG, entry | told)


def changelogs_of(gateway: Gateway, row: Row) -> list[Row]:
    """What was noted of a record."""
    entries = gateway.store.select(CHANGELOG, "model_id = ? ORDER BY id DESC", (row["id"],))
    return [CHANGELOG.show(entry) | {"user": _show_user(gateway, entry["user_id"])} for entry in entries]


def _show_user(gateway: Gateway, user_id: str | None) -> dict[str, Any] | None:
    user = user_id and gateway.store.find(USER, id=user_id)
    return {name: user[name] for name in _USER} if user else None
