"""Compare the record that a hosted form has made with what was asked for."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from gateway_async._wire.amounts import money, subtract, to_cents
from gateway_async._wire.response_matching import is_less
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.codes import TransactionStatus
from gateway_async.models.transactions import Transaction

__all__ = ["compare_form_result"]

_COMPARED: Final = (
    "transaction_api_id",
    "account_vault_api_id",
    "location_id",
    "product_transaction_id",
    "contact_id",
    "payment_method",
)

_BANK_ACCEPTED: Final = frozenset(
    {
        TransactionStatus.PENDING_ORIGINATION,
        TransactionStatus.ORIGINATING,
        TransactionStatus.ORIGINATED,
        TransactionStatus.SETTLED,
    }
)
_GOOD_STATUSES: Final[Mapping[str, frozenset[TransactionStatus]]] = {
    "sale": frozenset({TransactionStatus.APPROVED, TransactionStatus.SETTLED}),
    "authonly": frozenset({TransactionStatus.AUTH_ONLY, TransactionStatus.APPROVED, TransactionStatus.SETTLED}),
    "avsonly": frozenset({TransactionStatus.AVS_ONLY}),
    "refund": _BANK_ACCEPTED | {TransactionStatus.REFUNDED},
    "debit": _BANK_ACCEPTED,
    "credit": _BANK_ACCEPTED,
}
"""Action → the statuses of an approved transaction; it may be completed or settled already."""


def compare_form_result(asked: Mapping[str, Any], record: Transaction | AccountVault) -> tuple[str, ...]:
    """Return the differences between a form's fields and its record.

    An empty result means that the payment was approved, for the whole amount and the merchant account of the URL that
    you made, or that the account vault is in the right place. Read the record from the gateway by its integrator id.
    What the customer's browser says about it proves nothing. A later refund is a payment of its own and is not noticed:
    deliver an order once.

    A surcharge that was asked for may be missing, because the gateway drops it for debit cards.
    """
    return tuple(_result_differences(asked, record))


def _result_differences(asked: Mapping[str, Any], record: Transaction | AccountVault) -> Iterator[str]:
    for name in _COMPARED:
        wanted, got = asked.get(name), getattr(record, name, None)
        if wanted not in (None, "") and hasattr(record, name) and got != wanted:
            yield f"{name} is {got!r}, not {wanted!r}"
    if isinstance(record, Transaction):
        yield from _payment_differences(asked, record)


def _payment_differences(asked: Mapping[str, Any], record: Transaction) -> Iterator[str]:
    action, status = str(asked.get("action")), record.status_id
    if status not in _GOOD_STATUSES.get(action, ()):
        yield f"status_id is {status!r}, which is not that of an approved {action}"
    if _is_partial(record):
        yield f"auth_amount is {record.auth_amount}, not {record.transaction_amount}"
    if asked.get("transaction_amount") is None:
        return
    wanted = Decimal(money(asked["transaction_amount"]))
    surcharge = Decimal(money(asked.get("surcharge_amount") or 0))
    got = record.transaction_amount
    if got is None or to_cents(got) not in (wanted, subtract(wanted, surcharge)):
        yield f"transaction_amount is {record.transaction_amount}, not {wanted}"


def _is_partial(record: Transaction) -> bool:
    """Return whether less was authorized than is due, by code or amount."""
    return record.partially_approved or is_less(record.auth_amount, record.transaction_amount)
