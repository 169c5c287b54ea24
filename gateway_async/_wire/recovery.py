"""How a record shows that a change to it was made, so that a lost answer can be settled by reading.

An action that is not in the table leaves no mark of its own (two partial reversals of one amount look like one of
both), so a lost answer to it stays unknown.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from gateway_async._wire.belonging import is_less, same_value
from gateway_async._wire.convert import FieldError

__all__ = [
    "BEARS_THE_NAME",
    "EXISTS",
    "IS_OFF_INVOICE",
    "IS_ON_INVOICE",
    "IS_REOPENED",
    "IS_SETTLED",
    "SAYS",
    "SAYS_OR_IS_CLOSED",
    "Mark",
    "agrees",
    "knows",
    "mark_of",
    "shows",
]

Raw = Mapping[str, Any]
Done = Callable[[Raw, Raw], bool]
"""Of what was sent and the raw record: whether the change has been made."""

_ORDERS: Final = frozenset({"action", "update_if_exists"})
"""Fields that say what to do, which no record repeats."""

_VOIDED: Final = ("201",)
_NOT_COMPLETED: Final = ("102", "201", "301")
_CLOSED: Final = ("0", "2")


@attrs.frozen
class Mark:
    """What a record shows once a write was carried out.

    Attributes:
        name: what it is called in the table below.
        compares: the fields of what was sent that it looks at; None for all of them.
    """

    name: str
    compares: tuple[str, ...] | None = ()

    def facts(self, sent: Raw) -> Raw:
        """Of what was sent, what the mark needs."""
        return {name: value for name, value in sent.items() if self.compares is None or name in self.compares}


def shows(mark: str, sent: Raw, record: Raw) -> bool:
    """Whether the raw `record` has the mark of that name, given what the mark needs of what was sent.

    Raises:
        KeyError: no mark has this name.
        FieldError: the record does not say enough to tell.
    """
    return _MARKS[mark](sent, record)


def knows(mark: str) -> bool:
    """Whether there is a mark of that name."""
    return mark in _MARKS


def _exists(_: Raw, __: Raw) -> bool:
    """The record is there, which is all that a create wants."""
    return True


def _says(sent: Raw, record: Raw) -> bool:
    """The record has every value that was sent."""
    return all(same_value(value, record.get(name)) for name, value in sent.items() if name not in _ORDERS)


def _agrees(sent: Raw, record: Raw) -> bool:
    """The record has no other value than was sent: it is not one that bore its name before."""
    return all(same_value(value, record[name]) for name, value in sent.items() if record.get(name) is not None)


def _bears_the_name(sent: Raw, contact: Raw) -> bool:
    """A contact is the one that was sent, and not one that had its integrator id before."""
    return same_value(sent.get("last_name"), contact.get("last_name"))


def _says_or_is_closed(sent: Raw, invoice: Raw) -> bool:
    """An invoice has every value that was sent; closed is 0 or 2, in the one as in the other."""
    status = str(invoice.get("status_id"))
    if str(sent.get("status_id")) in _CLOSED and status in _CLOSED:
        sent = {**sent, "status_id": status}
    return _says(sent, invoice)


def _is_reopened(_: Raw, invoice: Raw) -> bool:
    """An invoice is open."""
    return same_value(1, invoice.get("status_id"))


def _is_settled(_: Raw, batch: Raw) -> bool:
    """A batch is closed."""
    return same_value(0, batch.get("is_open"))


def _is_on_invoice(sent: Raw, transaction: Raw) -> bool:
    """A transaction is the invoice's; one that does not say whose it is, as old ones do, tells nothing."""
    if "quick_invoice_id" not in transaction:
        raise FieldError(".transaction.quick_invoice_id", "missing")
    return str(transaction["quick_invoice_id"]) == str(sent["quick_invoice_id"])


def _is_off_invoice(sent: Raw, transaction: Raw) -> bool:
    """A transaction is no more the invoice's."""
    return not _is_on_invoice(sent, transaction)


def _is_voided(_: Raw, transaction: Raw) -> bool:
    """A transaction was taken back."""
    return str(transaction.get("status_id")) in _VOIDED


def _is_completed(sent: Raw, transaction: Raw) -> bool:
    """An authorization was captured, for the sums that were sent.

    One that was captured for others says nothing: another's capture, or this one, changed since. It is not asked for
    again.
    """
    status = transaction.get("status_id")
    if status is None:
        raise FieldError(".transaction.status_id", "missing")
    if str(status) in _NOT_COMPLETED:
        return False
    if not _says(sent, transaction):
        raise FieldError(".transaction", "it was captured, and not for the sums that were sent")
    return True


def _is_raised(sent: Raw, transaction: Raw) -> bool:
    """An authorization was raised to the sum that was sent.

    One of a higher sum says nothing: another raised it, after this or instead. To ask again could lower it.
    """
    if is_less(sent.get("transaction_amount"), transaction.get("transaction_amount")):
        raise FieldError(".transaction.transaction_amount", "it was raised beyond the sum that was sent")
    return _says(sent, transaction)


_MARKS: Final[Mapping[str, Done]] = {
    "exists": _exists,
    "says": _says,
    "agrees": _agrees,
    "bears the name": _bears_the_name,
    "says or is closed": _says_or_is_closed,
    "is reopened": _is_reopened,
    "is settled": _is_settled,
    "is on invoice": _is_on_invoice,
    "is off invoice": _is_off_invoice,
    "is voided": _is_voided,
    "is completed": _is_completed,
    "is raised": _is_raised,
}
"""By names that stand in ledgers on disk: they are never given to anything else."""

EXISTS: Final = Mark("exists")
SAYS: Final = Mark("says", compares=None)
BEARS_THE_NAME: Final = Mark("bears the name", ("last_name",))
SAYS_OR_IS_CLOSED: Final = Mark("says or is closed", compares=None)
IS_REOPENED: Final = Mark("is reopened")
IS_SETTLED: Final = Mark("is settled")
IS_ON_INVOICE: Final = Mark("is on invoice", ("quick_invoice_id",))
IS_OFF_INVOICE: Final = Mark("is off invoice", ("quick_invoice_id",))

_SUMS: Final = ("transaction_amount", "tip_amount", "tax", "subtotal_amount")
"""What is compared after money has moved: it moved with all else that was sent, or not at all."""

_ACTIONS: Final[Mapping[str, Mark]] = {
    "void": Mark("is voided"),
    "authcomplete": Mark("is completed", _SUMS),
    "authincrement": Mark("is raised", _SUMS),
    "tipadjust": Mark("says", _SUMS),
    "edit": SAYS,
}


def mark_of(action: str) -> Mark | None:
    """How a transaction shows that `action` was carried out; None when it does not."""
    return _ACTIONS.get(action)


def agrees(*names: str) -> Mark:
    """The named fields of the record, as far as it shows them, are as they were sent."""
    return Mark("agrees", names)
