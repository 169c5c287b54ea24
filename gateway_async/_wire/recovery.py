"""How a record shows that a change to it was made, so that a lost answer can be settled by reading.

An action that is not in the table leaves no mark of its own (two partial reversals of one amount look like one of
both), so a lost answer to it stays unknown.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_async._wire.belonging import same_value

__all__ = ["Done", "agrees", "done_when", "exists", "is_reopened", "is_settled", "says", "says_or_is_closed"]

Raw = Mapping[str, Any]
Done = Callable[[Raw, Raw], bool]
"""Of what was sent and the raw record: whether the change has been made."""

_ORDERS: Final = frozenset({"action", "update_if_exists"})
"""Fields that say what to do, which no record repeats."""

_VOIDED: Final = ("201",)
_NOT_COMPLETED: Final = ("102", "201", "301")
_CLOSED: Final = ("0", "2")


def exists(_: Raw, __: Raw) -> bool:
    """The record is there, which is all that a create wants."""
    return True


def says(sent: Raw, record: Raw) -> bool:
    """The record has every value that was sent."""
    return all(same_value(value, record.get(name)) for name, value in sent.items() if name not in _ORDERS)


def agrees(*names: str) -> Done:
    """The record has no other value in the named fields than was sent: it is not one that bore its name before."""

    def done(sent: Raw, record: Raw) -> bool:
        given = [name for name in names if name in sent and record.get(name) is not None]
        return all(same_value(sent[name], record[name]) for name in given)

    return done


def says_or_is_closed(sent: Raw, invoice: Raw) -> bool:
    """An invoice has every value that was sent; closed is 0 or 2, in the one as in the other."""
    status = str(invoice.get("status_id"))
    if str(sent.get("status_id")) in _CLOSED and status in _CLOSED:
        sent = {**sent, "status_id": status}
    return says(sent, invoice)


def is_reopened(_: Raw, invoice: Raw) -> bool:
    """An invoice is open."""
    return same_value(1, invoice.get("status_id"))


def is_settled(_: Raw, batch: Raw) -> bool:
    """A batch is closed."""
    return same_value(0, batch.get("is_open"))


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
