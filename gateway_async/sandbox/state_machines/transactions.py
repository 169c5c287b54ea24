"""The state machine of transactions."""

from enum import StrEnum

import attrs

from gateway_async.sandbox.schema.codes import REFUNDING_TYPES, TransactionType
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.machine import NumericState, StateMachine


class TransactionState(NumericState):
    """`status_id` of a transaction."""

    APPROVED = 101
    AUTHORIZED = 102
    REFUNDED = 111
    ADDRESS_CHECKED = 121
    PENDING_ORIGINATION = 131
    ORIGINATING = 132
    ORIGINATED = 133
    SETTLED = 134
    VOIDED = 201
    DECLINED = 301
    CHARGED_BACK = 331


class TransactionTrigger(StrEnum):
    """The actions, refunds and settlement steps that can change a transaction."""

    VOID = "void"
    COMPLETE = "authcomplete"
    INCREMENT = "authincrement"
    REVERSE = "partialreversal"
    TIP = "tipadjust"
    OVERRIDE = "override"
    CORRECT = "achupdate"
    REFUND = "refund"
    SETTLE = "its batch settles"
    ORIGINATE = "midnight passes"
    RETURN = "the bank returns it"


@attrs.frozen
class InitialState:
    """The type and first status of a new transaction when it is approved."""

    type_id: TransactionType
    status_id: TransactionState


INITIAL_STATES = {
    ("cc", "sale"): InitialState(TransactionType.SALE, TransactionState.APPROVED),
    ("cc", "force"): InitialState(TransactionType.SALE, TransactionState.APPROVED),
    ("cc", "authonly"): InitialState(TransactionType.SALE, TransactionState.AUTHORIZED),
    ("cc", "avsonly"): InitialState(TransactionType.ADDRESS_CHECK, TransactionState.ADDRESS_CHECKED),
    ("cc", "refund"): InitialState(TransactionType.REFUND, TransactionState.REFUNDED),
    ("ach", "sale"): InitialState(TransactionType.BANK_DEBIT, TransactionState.PENDING_ORIGINATION),
    ("ach", "debit"): InitialState(TransactionType.BANK_DEBIT, TransactionState.PENDING_ORIGINATION),
    ("ach", "credit"): InitialState(TransactionType.BANK_CREDIT, TransactionState.PENDING_ORIGINATION),
    ("ach", "refund"): InitialState(TransactionType.REFUND, TransactionState.PENDING_ORIGINATION),
    ("ach", "avsonly"): InitialState(TransactionType.ADDRESS_CHECK, TransactionState.ADDRESS_CHECKED),
}
"""The first state of a transaction, by payment method and action of the POST."""

TRANSACTION_MACHINE = StateMachine(
    "Transaction",
    {
        (TransactionState.AUTHORIZED, TransactionTrigger.INCREMENT): TransactionState.AUTHORIZED,
        (TransactionState.AUTHORIZED, TransactionTrigger.REVERSE): TransactionState.AUTHORIZED,
        (TransactionState.AUTHORIZED, TransactionTrigger.COMPLETE): TransactionState.APPROVED,
        (TransactionState.AUTHORIZED, TransactionTrigger.VOID): TransactionState.VOIDED,
        (TransactionState.APPROVED, TransactionTrigger.TIP): TransactionState.APPROVED,
        (TransactionState.APPROVED, TransactionTrigger.REVERSE): TransactionState.APPROVED,
        (TransactionState.APPROVED, TransactionTrigger.REFUND): TransactionState.APPROVED,
        (TransactionState.APPROVED, TransactionTrigger.VOID): TransactionState.VOIDED,
        (TransactionState.APPROVED, TransactionTrigger.SETTLE): TransactionState.SETTLED,
        (TransactionState.REFUNDED, TransactionTrigger.VOID): TransactionState.VOIDED,
        (TransactionState.REFUNDED, TransactionTrigger.SETTLE): TransactionState.SETTLED,
        (TransactionState.PENDING_ORIGINATION, TransactionTrigger.VOID): TransactionState.VOIDED,
        (TransactionState.PENDING_ORIGINATION, TransactionTrigger.ORIGINATE): TransactionState.ORIGINATING,
        (TransactionState.ORIGINATING, TransactionTrigger.ORIGINATE): TransactionState.ORIGINATED,
        (TransactionState.ORIGINATED, TransactionTrigger.ORIGINATE): TransactionState.SETTLED,
        (TransactionState.SETTLED, TransactionTrigger.REFUND): TransactionState.SETTLED,
        (TransactionState.DECLINED, TransactionTrigger.OVERRIDE): TransactionState.PENDING_ORIGINATION,
        (TransactionState.VOIDED, TransactionTrigger.CORRECT): TransactionState.PENDING_ORIGINATION,
        (TransactionState.ORIGINATING, TransactionTrigger.RETURN): TransactionState.CHARGED_BACK,
        (TransactionState.ORIGINATED, TransactionTrigger.RETURN): TransactionState.CHARGED_BACK,
        (TransactionState.SETTLED, TransactionTrigger.RETURN): TransactionState.CHARGED_BACK,
    },
)

SETTLEABLE = frozenset(
    state for state, trigger in TRANSACTION_MACHINE.transitions if trigger is TransactionTrigger.SETTLE
)
"""The states that a batch settles."""


def next_state(trigger: TransactionTrigger, row: Row) -> TransactionState | None:
    """The state of a transaction after a trigger.

    The result is None if the trigger is not allowed. Only a transaction that took money can be refunded.
    """
    if trigger is TransactionTrigger.REFUND and row["type_id"] in REFUNDING_TYPES:
        return None
    return TRANSACTION_MACHINE.next_state(TransactionState(row["status_id"]), trigger)


_WITH_MONEY = frozenset(
    {
        TransactionState.APPROVED,
        TransactionState.PENDING_ORIGINATION,
        TransactionState.ORIGINATING,
        TransactionState.ORIGINATED,
        TransactionState.SETTLED,
    }
)


def took_money(row: Row) -> bool:
    """Whether a transaction charged the customer, and was not taken back."""
    return row["status_id"] in _WITH_MONEY and row["type_id"] not in REFUNDING_TYPES
