"""Rules that decide from a record whether a write was executed.

If a response is lost, the client reads the record and applies these rules. An action that is not in the table leaves no
evidence, so its outcome stays unknown. For example, two partial reversals look the same as one of the total amount.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from gateway_async._wire.convert.read import FieldError
from gateway_async._wire.response_matching import code_texts, is_less, same_value
from gateway_async.models.codes import QuickInvoiceStatus, TransactionStatus

__all__ = [
    "EXISTS",
    "FIELDS_MATCH",
    "FIELDS_MATCH_OR_CLOSED",
    "IS_OFF_INVOICE",
    "IS_ON_INVOICE",
    "IS_REOPENED",
    "IS_SETTLED",
    "LAST_NAME_MATCHES",
    "Evidence",
    "compare_fields",
    "evidence_of",
    "identifies_create",
    "is_known",
    "shows",
]

Raw = Mapping[str, Any]
Rule = Callable[[Raw, Raw], bool]
"""Function from the sent values and the raw record to whether the write was executed."""

_INSTRUCTIONS: Final = frozenset({"action", "update_if_exists"})
"""Fields that are instructions. Records do not contain them."""

_VOIDED: Final = code_texts(TransactionStatus.VOIDED)
_NOT_COMPLETED: Final = code_texts(TransactionStatus.AUTH_ONLY, TransactionStatus.VOIDED, TransactionStatus.DECLINED)
_CLOSED: Final = code_texts(QuickInvoiceStatus.CLOSED, QuickInvoiceStatus.CLOSED_2)


@attrs.frozen
class Evidence:
    """A rule by which a record shows that a write was executed.

    Attributes:
        name: the rule's name in the table below.
        compares: the sent fields that the rule compares; None for all of them.
    """

    name: str
    compares: tuple[str, ...] | None = ()

    def facts(self, sent: Raw) -> Raw:
        """Return the sent values that the rule needs."""
        return {name: value for name, value in sent.items() if self.compares is None or name in self.compares}


def shows(evidence: str, sent: Raw, record: Raw) -> bool:
    """Return whether the raw `record` has the named evidence.

    Args:
        evidence: the name of the rule.
        sent: the sent values that the rule needs, from `Evidence.facts`.
        record: the raw record.

    Raises:
        KeyError: no evidence has this name.
        FieldError: the record does not contain enough to decide.
    """
    return _EVIDENCE[evidence](sent, record)


def is_known(evidence: str) -> bool:
    """Return whether this version of the package has evidence with this name."""
    return evidence in _EVIDENCE


def identifies_create(evidence: str) -> bool:
    """Return whether a record without this evidence belongs to another request.

    Evidence of a change is different: a record without it may be one that has not changed yet.
    """
    return evidence in ("exists", "no_field_differs", "last_name_matches")


def _any_record(_: Raw, __: Raw) -> bool:
    return True


def _fields_match(sent: Raw, record: Raw) -> bool:
    return all(same_value(value, record.get(name)) for name, value in sent.items() if name not in _INSTRUCTIONS)


def _no_field_differs(sent: Raw, record: Raw) -> bool:
    """Return whether no field of the record contradicts the sent values.

    A record that had the integrator id before may have other values.
    """
    return all(same_value(value, record[name]) for name, value in sent.items() if record.get(name) is not None)


def _last_name_matches(sent: Raw, contact: Raw) -> bool:
    """Return whether the contact has the last name that was sent.

    Another name means that the contact had the integrator id before.
    """
    return same_value(sent.get("last_name"), contact.get("last_name"))


def _fields_match_or_closed(sent: Raw, invoice: Raw) -> bool:
    """Return whether the invoice has every value that was sent.

    Status 0 and status 2 both mean closed.
    """
    status = str(invoice.get("status_id"))
    if str(sent.get("status_id")) in _CLOSED and status in _CLOSED:
        sent = {**sent, "status_id": status}
    return _fields_match(sent, invoice)


def _is_reopened(_: Raw, invoice: Raw) -> bool:
    return same_value(1, invoice.get("status_id"))


def _is_settled(_: Raw, batch: Raw) -> bool:
    return same_value(0, batch.get("is_open"))


def _is_on_invoice(sent: Raw, transaction: Raw) -> bool:
    """Return whether the transaction belongs to the invoice.

    Old transactions do not contain the invoice's id, so they prove nothing.
    """
    if "quick_invoice_id" not in transaction:
        raise FieldError(".transaction.quick_invoice_id", "missing")
    return str(transaction["quick_invoice_id"]) == str(sent["quick_invoice_id"])


def _is_off_invoice(sent: Raw, transaction: Raw) -> bool:
    return not _is_on_invoice(sent, transaction)


def _is_voided(_: Raw, transaction: Raw) -> bool:
    return str(transaction.get("status_id")) in _VOIDED


def _is_completed(sent: Raw, transaction: Raw) -> bool:
    """Return whether the authorization was captured for the amounts that were sent.

    A capture of other amounts proves nothing: it may be another request's, or this one, changed later. The capture is
    not repeated then.
    """
    status = transaction.get("status_id")
    if status is None:
        raise FieldError(".transaction.status_id", "missing")
    if str(status) in _NOT_COMPLETED:
        return False
    if not _fields_match(sent, transaction):
        raise FieldError(".transaction", "it was captured for other amounts")
    return True


def _is_raised(sent: Raw, transaction: Raw) -> bool:
    """Return whether the authorization was raised to the amount that was sent.

    A higher amount proves nothing: another request raised it, after this one or instead. A repeat could lower it.
    """
    if is_less(sent.get("transaction_amount"), transaction.get("transaction_amount")):
        raise FieldError(".transaction.transaction_amount", "it was raised to more than the sent amount")
    return _fields_match(sent, transaction)


_EVIDENCE: Final[Mapping[str, Rule]] = {
    "exists": _any_record,
    "fields_match": _fields_match,
    "no_field_differs": _no_field_differs,
    "last_name_matches": _last_name_matches,
    "fields_match_or_closed": _fields_match_or_closed,
    "is_reopened": _is_reopened,
    "is_settled": _is_settled,
    "is_on_invoice": _is_on_invoice,
    "is_off_invoice": _is_off_invoice,
    "is_voided": _is_voided,
    "is_completed": _is_completed,
    "is_raised": _is_raised,
}
"""Rules by name. Ledgers on disk contain the names, so their meaning must never change."""

EXISTS: Final = Evidence("exists")
FIELDS_MATCH: Final = Evidence("fields_match", compares=None)
LAST_NAME_MATCHES: Final = Evidence("last_name_matches", ("last_name",))
FIELDS_MATCH_OR_CLOSED: Final = Evidence("fields_match_or_closed", compares=None)
IS_REOPENED: Final = Evidence("is_reopened")
IS_SETTLED: Final = Evidence("is_settled")
IS_ON_INVOICE: Final = Evidence("is_on_invoice", ("quick_invoice_id",))
IS_OFF_INVOICE: Final = Evidence("is_off_invoice", ("quick_invoice_id",))

_AMOUNTS: Final = ("transaction_amount", "tip_amount", "tax", "subtotal_amount")
"""Fields to compare after an action that moves money. The request's other fields are applied together with them."""

_ACTIONS: Final[Mapping[str, Evidence]] = {
    "void": Evidence("is_voided"),
    "authcomplete": Evidence("is_completed", _AMOUNTS),
    "authincrement": Evidence("is_raised", _AMOUNTS),
    "tipadjust": Evidence("fields_match", _AMOUNTS),
    "edit": FIELDS_MATCH,
}


def evidence_of(action: str) -> Evidence | None:
    """Return the evidence of an action on a transaction, or None."""
    return _ACTIONS.get(action)


def compare_fields(*names: str) -> Evidence:
    """Return evidence that the named fields do not differ from the request.

    A field that is missing in the record is ignored.
    """
    return Evidence("no_field_differs", names)
