"""Which records a user sees.

A user sees the records of its location. It also sees the locations directly below that one, with their users and roles.
"""

from typing import Any

from gateway_async.sandbox.runtime.store import Store
from gateway_async.sandbox.schema import AUTH_ROLE_USER, LOCATION, USER
from gateway_async.sandbox.schema.fields import Row, Table

__all__ = ["Condition", "find_visible", "visible"]


Condition = tuple[str, tuple[Any, ...]]
"""An SQL condition and its values."""

_OF_LOCATIONS_BELOW = frozenset(table.plural for table in (LOCATION, USER, AUTH_ROLE_USER))
_LOCATIONS = "SELECT id FROM locations WHERE id = ? OR parent_id = ?"


def visible(table: Table, user: Row) -> Condition:
    """Return the condition for the records that a user sees."""
    own = user["location_id"]
    if table.plural not in _OF_LOCATIONS_BELOW:
        return "location_id = ?", (own,)
    return f"{'id' if table is LOCATION else 'location_id'} IN ({_LOCATIONS})", (own, own)


def find_visible(store: Store, table: Table, user: Row, column: str, value: str) -> Row | None:
    """Return the record with a column value, if the user sees it.

    The record may be deleted.
    """
    if table.plural not in _OF_LOCATIONS_BELOW:
        return store.find(table, **{"location_id": user["location_id"], column: value})
    row = store.find(table, **{column: value})
    if row is None:
        return None
    location_id = row["id" if table is LOCATION else "location_id"]
    return row if _sees_location(store, user, location_id) else None


def _sees_location(store: Store, user: Row, location_id: str) -> bool:
    if location_id == user["location_id"]:
        return True
    location = store.find(LOCATION, id=location_id)
    return location is not None and bool(location["parent_id"] == user["location_id"])
