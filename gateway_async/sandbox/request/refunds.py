"""The refunds of a transaction, which limit its further changes."""

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.codes import REFUNDING_TYPES
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines import transactions as states

__all__ = ["is_voidable", "refunded_amount"]


_NOT_GIVEN_BACK = (states.TransactionState.DECLINED, states.TransactionState.CHARGED_BACK)


def refunded_amount(gateway: Gateway, transaction_id: str) -> int:
    """Return the cents that refunds of a transaction have given back."""
    return gateway.store.total(
        TRANSACTION,
        "coalesce(sum(transaction_amount), 0)",
        "previous_transaction_id = ? AND type_id IN (?, ?) AND status_id NOT IN (?, ?)",
        (transaction_id, *REFUNDING_TYPES, *_NOT_GIVEN_BACK),
    )


def is_voidable(gateway: Gateway, row: Row) -> bool:
    """Return whether a transaction can be voided: it is not settled, and nothing of it was refunded."""
    return states.next_state(states.TransactionTrigger.VOID, row) is not None and not refunded_amount(
        gateway, row["id"]
    )
