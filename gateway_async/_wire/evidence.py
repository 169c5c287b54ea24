"""Rules that decide from a record whether a write was executed.

The client applies them to the response of the write, and to the record that it reads if the response is lost or shows
too little. An action that is not in the table leaves no evidence, so the outcome of a lost one stays unknown.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from gateway_async._secrets import Secret
from gateway_async._wire.convert import FieldError
from gateway_async._wire.response_matching import (
    AMOUNT_FIELDS,
    adds_surcharge,
    code_texts,
    compare,
    find_differences,
    is_difference,
    is_less,
    same_value,
)
from gateway_async.models.codes import BatchStatus, QuickInvoiceStatus, ReasonCode, TransactionStatus

Raw = Mapping[str, Any]
EvidenceRule = Callable[[Raw, Raw], bool]
"""Function from the sent values and the raw record to whether the write was executed.

It is False if the record shows that the write was not executed so far. It raises `FieldError` if the record does not
show enough, and `UnprovenError` if what it shows agrees.
"""


class UnprovenError(FieldError):
    """A record does not contradict the write, and does not show all that it changed.

    Attributes:
        record: the record, if it was read from the response to the write.
    """

    def __init__(self, path: str, reason: str, record: Any = None) -> None:
        super().__init__(path, reason)
        self.record = record


_NOT_COMPARED: Final = frozenset(
    {"action", "update_if_exists", "move_account_vault", "move_account_vault_transactions"}
    | {"modified_ts", "modified_user_id"}
)
"""Fields that are instructions, which records do not contain, and fields that the gateway sets with each change."""

_VOIDED: Final = code_texts(TransactionStatus.VOIDED)
_NOT_COMPLETED: Final = code_texts(TransactionStatus.AUTH_ONLY, TransactionStatus.VOIDED)
_DECLINED: Final = code_texts(TransactionStatus.DECLINED)
_INCREMENT_DECLINED: Final = code_texts(ReasonCode.AUTH_INCREMENT_DECLINED)
_TO_SETTLE: Final = code_texts(BatchStatus.TO_SETTLE)
_CLOSED: Final = code_texts(QuickInvoiceStatus.CLOSED, QuickInvoiceStatus.CLOSED_2)


@attrs.frozen
class Evidence:
    """A rule for telling from a record that a write was executed.

    Attributes:
        name: the rule's name in the table below.
        compares: the sent fields that the rule compares; None for all of them.
    """

    name: str
    compares: tuple[str, ...] | None = ()

    def facts(self, sent: Raw) -> Raw:
        """The sent values that the rule needs."""
        return {name: sent[name] for name in (sent if self.compares is None else self.compares) if name in sent}


def is_executed(evidence: str, sent: Raw, record: Raw) -> bool:
    """Whether the raw `record` has the named evidence.

    Args:
        evidence: the name of the rule.
        sent: the sent values that the rule needs, from `Evidence.facts`.
        record: the raw record.

    Raises:
        KeyError: no evidence has this name.
        UnprovenError: the record does not contradict the write, and does not show all that it changed.
        FieldError: the record does not contain enough to decide.
    """
    return _EVIDENCE[evidence](sent, record)


def describe_missing(evidence: str, sent: Raw, record: Raw) -> str:
    """Describe what the raw record shows instead of the named evidence. Secrets and personal data are left out."""
    names = _SHOWN_IN.get(evidence) or [name for name, value in sent.items() if not isinstance(value, Secret)]
    shown = ", ".join(f"{name} is {record.get(name)!r}" for name in names if name in record)
    return f"the record shows no effect of the call{shown and f': {shown}'}"


def is_known(evidence: str) -> bool:
    """Whether this version of the package has evidence with this name."""
    return evidence in _EVIDENCE


def _any_record(_: Raw, __: Raw) -> bool:
    return True


def _fields_match(sent: Raw, record: Raw) -> bool:
    compared = {name: compare(name, value, record) for name, value in sent.items() if name not in _NOT_COMPARED}
    if False in compared.values():
        return False
    if sent and not compared:
        raise FieldError("", "nothing that was sent is part of a record")
    hidden = [name for name, is_equal in compared.items() if is_equal is None]
    if hidden:
        raise UnprovenError(f".{hidden[0]}", "not shown, so the change is not proven")
    return True


def _fields_agree(sent: Raw, record: Raw) -> bool:
    """Whether the record contradicts none of the sent values.

    Raises:
        FieldError: it shows none of them.
    """
    compared = [compare(name, value, record) for name, value in sent.items() if name not in _NOT_COMPARED]
    if False in compared:
        return False
    if compared and True not in compared:
        raise FieldError("", "it shows none of the values that were sent")
    return True


def _fields_match_or_closed(sent: Raw, invoice: Raw) -> bool:
    """Whether the invoice has every value that was sent. Status 0 and status 2 both mean closed."""
    status = str(invoice.get("status_id"))
    if str(sent.get("status_id")) in _CLOSED and status in _CLOSED:
        sent = {**sent, "status_id": status}
    return _fields_match(sent, invoice)


def _shown(record: Raw, name: str) -> Any:
    if record.get(name) is None:
        raise FieldError(f".{name}", "missing")
    return record[name]


def _is_reopened(_: Raw, invoice: Raw) -> bool:
    return same_value(1, _shown(invoice, "status_id"))


def _is_settled(_: Raw, batch: Raw) -> bool:
    """Whether the batch was settled; one whose settlement failed stays open, with another status."""
    status = batch.get("processing_status_id")
    return same_value(0, _shown(batch, "is_open")) or (status is not None and str(status) not in _TO_SETTLE)


def _has_status(sent: Raw, record: Raw) -> bool:
    """Whether the record has the status that was set.

    A plan may end when it is activated, so another status proves nothing.
    """
    status = _shown(record, "status")
    is_set = compare("status", sent["status"], record)
    if not is_set and not compare("status", sent["status_before"], record):
        raise UnprovenError(".status", f"{status}, which is neither the status before nor the one that was set")
    return bool(is_set)


def _is_on_invoice(sent: Raw, transaction: Raw) -> bool:
    """Whether the transaction belongs to the invoice.

    Old transactions do not contain the invoice's id, so they prove nothing.
    """
    if "quick_invoice_id" not in transaction:
        raise FieldError(".transaction.quick_invoice_id", "missing")
    return str(transaction["quick_invoice_id"]) == str(sent["quick_invoice_id"])


def _is_off_invoice(sent: Raw, transaction: Raw) -> bool:
    return not _is_on_invoice(sent, transaction)


def _is_voided(_: Raw, transaction: Raw) -> bool:
    return str(_shown(transaction, "status_id")) in _VOIDED | _DECLINED


def _is_completed(sent: Raw, transaction: Raw) -> bool:
    """Whether the authorization was captured for the amounts that were sent.

    A capture of other amounts proves nothing: it may be another request's, or this one, changed later. The capture is
    not repeated then. A declined capture was executed.
    """
    status = str(_shown(transaction, "status_id"))
    if status in _NOT_COMPLETED or status in _DECLINED:
        return status in _DECLINED
    parts = {name: value for name, value in sent.items() if name in AMOUNT_FIELDS and value is not None}
    captured = {name: value for name, value in transaction.items() if name != "auth_amount"}  # still the old amount
    others = {name: value for name, value in sent.items() if name not in AMOUNT_FIELDS}
    if find_differences(parts, captured) or not _fields_agree(others, transaction):
        raise FieldError(".transaction", "it was captured for other amounts")
    return True


def _is_raised(sent: Raw, transaction: Raw) -> bool:
    """Whether the authorization was raised to the amount that was sent.

    A higher amount proves nothing: another request raised it, after this one or instead. A repeat could lower it. A
    declined increment was executed.
    """
    if str(transaction.get("status_id")) in _DECLINED or str(transaction.get("reason_code_id")) in _INCREMENT_DECLINED:
        return True
    if adds_surcharge(sent.get("transaction_amount"), transaction):
        return _fields_agree(_without_total(sent), transaction)
    if is_less(sent.get("transaction_amount"), transaction.get("transaction_amount")):
        raise FieldError(".transaction.transaction_amount", "it was raised to more than the sent amount")
    return _fields_agree(sent, transaction)


def _amounts_agree(sent: Raw, transaction: Raw) -> bool:
    """Whether the transaction has the sent amounts, such as a tip.

    A total that is higher by a surcharge agrees if another amount does. Alone, it may be the one from before.
    """
    if not adds_surcharge(sent.get("transaction_amount"), transaction):
        return _fields_agree(sent, transaction)
    others = _without_total(sent)
    if not others:
        raise FieldError(".transaction.transaction_amount", "it is higher by a surcharge, and no tip was sent")
    return _fields_agree(others, transaction)


def _without_total(sent: Raw) -> Raw:
    return {name: value for name, value in sent.items() if name != "transaction_amount"}


def _is_reversed(sent: Raw, transaction: Raw) -> bool:
    """Whether a part of the payment was reversed since.

    Gateways take either the amount that remains or the amount to return.
    """
    amount, before = _shown(transaction, "transaction_amount"), sent["amount_before"]
    if same_value(before, amount):
        return False
    if same_value(sent["transaction_amount"], amount) or is_difference(amount, before, sent["transaction_amount"]):
        return True
    raise FieldError(".transaction.transaction_amount", "it has changed by another amount")


def _names_payment(_: Raw, transaction: Raw) -> bool:
    """Whether a refund shows its payment; `find_differences` compares which one.

    A refund that does not show it may be an older one, of another payment, with the same integrator id.
    """
    if transaction.get("previous_transaction_id") is None:
        raise UnprovenError(".transaction.previous_transaction_id", "missing, so it may refund another payment")
    return True


def _lists_transaction(sent: Raw, invoice: Raw) -> bool:
    transactions = invoice.get("transactions")
    if not isinstance(transactions, list) or not all(isinstance(each, dict) for each in transactions):
        raise FieldError(".transactions", "missing, or not a list of transactions")
    return any(str(each.get("id")) == str(sent["transaction_id"]) for each in transactions)


def _lists_no_transaction(sent: Raw, invoice: Raw) -> bool:
    return not _lists_transaction(sent, invoice)


_EVIDENCE: Final[Mapping[str, EvidenceRule]] = {
    "exists": _any_record,
    "fields_match": _fields_match,
    "names_payment": _names_payment,
    "amounts_agree": _amounts_agree,
    "fields_match_or_closed": _fields_match_or_closed,
    "is_reopened": _is_reopened,
    "is_settled": _is_settled,
    "is_on_invoice": _is_on_invoice,
    "is_off_invoice": _is_off_invoice,
    "is_voided": _is_voided,
    "is_completed": _is_completed,
    "is_raised": _is_raised,
    "is_reversed": _is_reversed,
    "has_status": _has_status,
    "lists_transaction": _lists_transaction,
    "lists_no_transaction": _lists_no_transaction,
}
"""Rules by name. Ledgers on disk contain the names, so their meaning must never change."""

_SHOWN_IN: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("is_voided", "is_completed", "is_reopened"), ("status_id",)),
    "is_settled": ("is_open",),
    **dict.fromkeys(("is_raised", "is_reversed"), ("transaction_amount",)),
}
"""The record fields that a rule reads, where they differ from the sent ones."""

EXISTS: Final = Evidence("exists")
FIELDS_MATCH: Final = Evidence("fields_match", compares=None)
FIELDS_MATCH_OR_CLOSED: Final = Evidence("fields_match_or_closed", compares=None)
IS_REOPENED: Final = Evidence("is_reopened")
IS_SETTLED: Final = Evidence("is_settled")
IS_ON_INVOICE: Final = Evidence("is_on_invoice", ("quick_invoice_id",))
IS_OFF_INVOICE: Final = Evidence("is_off_invoice", ("quick_invoice_id",))
NAMES_PAYMENT: Final = Evidence("names_payment")
HAS_STATUS: Final = Evidence("has_status", ("status", "status_before"))
IS_REVERSED: Final = Evidence("is_reversed", ("transaction_amount", "amount_before"))
LISTS_TRANSACTION: Final = Evidence("lists_transaction", ("transaction_id",))
LISTS_NO_TRANSACTION: Final = Evidence("lists_no_transaction", ("transaction_id",))

_COMPARED_AMOUNTS: Final = (*AMOUNT_FIELDS, "tip_amount", "subtotal_amount")
"""Fields to compare after an action that moves money. The request's other fields are applied together with them."""

_ACTIONS: Final[Mapping[str, Evidence]] = {
    "void": Evidence("is_voided"),
    "authcomplete": Evidence("is_completed", _COMPARED_AMOUNTS),
    "authincrement": Evidence("is_raised", _COMPARED_AMOUNTS),
    "tipadjust": Evidence("amounts_agree", _COMPARED_AMOUNTS),
    "edit": FIELDS_MATCH,
}


def evidence_of(action: str) -> Evidence | None:
    """The evidence of an action on a transaction, or None."""
    return _ACTIONS.get(action)
