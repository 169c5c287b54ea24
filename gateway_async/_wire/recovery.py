"""How a record shows that a change to it was made, so that a lost answer can be settled by reading.

An action that is not in the table leaves no mark of its own (two partial reversals of one amount look like one of
both), so a lost answer to it stays unknown.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_async._wire.belonging import same_value

__all__ = ["Done", "done_when", "exists", "says"]

Raw = Mapping[str, Any]
Done = Callable[[Raw, Raw], bool]
"""Of what was sent and the raw record: whether the change has been made."""

_ORDERS: Final = frozenset({"action", "update_if_exists"})
"""Fields that say what to do, which no record repeats."""

_VOIDED: Final = ("201",)
_NOT_COMPLETED: Final = ("102", "201", "301")


def exists(_: Raw, __: Raw) -> bool:
    """The record is there, which is all that a create wants."""
    return True


def says(sent: Raw, record: Raw) -> bool:
    """The record has every value that was sent."""
    return all(same_value(value, record.get(name)) for name, value in sent.items() if name not in _ORDERS)


def _is_voided(_: Raw, record: Raw) -> bool:
    return str(record.get("status_id")) in _VOIDED


def _is_completed(sent: Raw, record: Raw) -> bool:
    return str(record.get("status_id")) not in _NOT_COMPLETED and says(sent, record)


_MARKS: Final[Mapping[str, Done]] = {
    "void": _is_voided,
    "authcomplete": _is_completed,
    "authincrement": says,
    "tipadjust": says,
    "edit": says,
}


def done_when(action: str) -> Done | None:
    """How a transaction shows that `action` was carried out; None when it does not."""
    return _MARKS.get(action)
