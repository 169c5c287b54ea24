"""Settlement of payments: cards settle with their batch, bank payments by themselves.

A bank payment advances one status each midnight from its effective date on: originating, originated, settled.
"""

from datetime import date

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.transactions import State, Trigger, next_state

__all__ = ["advance_bank_payments", "apply_trigger"]


_ADVANCING_STATES = (State.PENDING_ORIGINATION, State.ORIGINATING, State.ORIGINATED)


def advance_bank_payments(gateway: Gateway, day: date) -> None:
    """Advance the bank payments at the midnight that begins a day."""
    where = "status_id IN (?, ?, ?) AND coalesce(effective_date, '') <= ?"
    with gateway.store.transaction():
        for row in gateway.store.select(TRANSACTION, where, (*_ADVANCING_STATES, day.isoformat())):
            apply_trigger(gateway, row, Trigger.ORIGINATE)


def apply_trigger(gateway: Gateway, row: Row, trigger: Trigger) -> None:
    """Apply a trigger to a payment; a settled one gets its settlement date."""
    state = next_state(trigger, row)
    changes: Row = {"status_id": state, "modified_ts": gateway.clock.timestamp()}
    if state is State.SETTLED:
        changes |= {"settle_date": f"{gateway.clock.date():%Y-%m-%d}", "transaction_settlement_status": "SETTLED"}
    gateway.store.update(TRANSACTION, row["id"], changes)
