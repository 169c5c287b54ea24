"""The state machine of a transaction: its first state, and its later changes.

A payment that the issuer refuses starts as 301 declined. It ends so, unless a manager overrides the decline.
"""

from enum import StrEnum

import attrs

from gateway_async.sandbox.schema.codes import REFUNDING_TYPES, TransactionType
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.machine import NumericState, StateMachine

__all__ = ["INITIAL_STATES", "MACHINE", "SETTLEABLE", "InitialState", "State", "Trigger", "next_state", "took_money"]


class State(NumericState):
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


class Trigger(StrEnum):
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
    status_id: State


INITIAL_STATES = {
    ("cc", "sale"): InitialState(TransactionType.SALE, State.APPROVED),
    ("cc", "force"): InitialState(TransactionType.SALE, State.APPROVED),
    ("cc", "authonly"): InitialState(TransactionType.SALE, State.AUTHORIZED),
    ("cc", "avsonly"): InitialState(TransactionType.ADDRESS_CHECK, State.ADDRESS_CHECKED),
    ("cc", "refund"): InitialState(TransactionType.REFUND, State.REFUNDED),
    ("ach", "sale"): InitialState(TransactionType.BANK_DEBIT, State.PENDING_ORIGINATION),
    ("ach", "debit"): InitialState(TransactionType.BANK_DEBIT, State.PENDING_ORIGINATION),
    ("ach", "credit"): InitialState(TransactionType.BANK_CREDIT, State.PENDING_ORIGINATION),
    ("ach", "refund"): InitialState(TransactionType.REFUND, State.PENDING_ORIGINATION),
    ("ach", "avsonly"): InitialState(TransactionType.ADDRESS_CHECK, State.ADDRESS_CHECKED),
}
"""The first state of a transaction, by payment method and action of the POST."""

MACHINE = StateMachine(
    "Transaction",
    {
        (State.AUTHORIZED, Trigger.INCREMENT): State.AUTHORIZED,
        (State.AUTHORIZED, Trigger.REVERSE): State.AUTHORIZED,
        (State.AUTHORIZED, Trigger.COMPLETE): State.APPROVED,
        (State.AUTHORIZED, Trigger.VOID): State.VOIDED,
        (State.APPROVED, Trigger.TIP): State.APPROVED,
        (State.APPROVED, Trigger.REVERSE): State.APPROVED,
        (State.APPROVED, Trigger.REFUND): State.APPROVED,
        (State.APPROVED, Trigger.VOID): State.VOIDED,
        (State.APPROVED, Trigger.SETTLE): State.SETTLED,
        (State.REFUNDED, Trigger.VOID): State.VOIDED,
        (State.REFUNDED, Trigger.SETTLE): State.SETTLED,
        (State.PENDING_ORIGINATION, Trigger.VOID): State.VOIDED,
        (State.PENDING_ORIGINATION, Trigger.ORIGINATE): State.ORIGINATING,
        (State.ORIGINATING, Trigger.ORIGINATE): State.ORIGINATED,
        (State.ORIGINATED, Trigger.ORIGINATE): State.SETTLED,
        (State.SETTLED, Trigger.REFUND): State.SETTLED,
        (State.DECLINED, Trigger.OVERRIDE): State.PENDING_ORIGINATION,
        (State.VOIDED, Trigger.CORRECT): State.PENDING_ORIGINATION,
        (State.ORIGINATING, Trigger.RETURN): State.CHARGED_BACK,
        (State.ORIGINATED, Trigger.RETURN): State.CHARGED_BACK,
        (State.SETTLED, Trigger.RETURN): State.CHARGED_BACK,
    },
)

SETTLEABLE = frozenset(state for state, trigger in MACHINE.transitions if trigger is Trigger.SETTLE)
"""The states that a batch settles."""


def next_state(trigger: Trigger, row: Row) -> State | None:
    """Return the state of a transaction after a trigger.

    The result is None if the trigger is not allowed. Only a transaction that took money can be refunded.
    """
    if trigger is Trigger.REFUND and row["type_id"] in REFUNDING_TYPES:
        return None
    return MACHINE.next_state(State(row["status_id"]), trigger)


_WITH_MONEY = frozenset({State.APPROVED, State.PENDING_ORIGINATION, State.ORIGINATING, State.ORIGINATED, State.SETTLED})


def took_money(row: Row) -> bool:
    """Return whether a transaction charged the customer, and was not taken back."""
    return row["status_id"] in _WITH_MONEY and row["type_id"] not in REFUNDING_TYPES
