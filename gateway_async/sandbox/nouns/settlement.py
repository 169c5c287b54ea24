"""The last of a payment: its money moves. Cards settle with their batch, bank payments by themselves.

A bank payment takes a step each night from its effective date on: originating, originated, settled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway_async.sandbox.states.transactions import State, Trigger, after
from gateway_async.sandbox.tables import TRANSACTION

if TYPE_CHECKING:
    from datetime import date

    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.tables.fields import Row

_UNDER_WAY = (State.PENDING_ORIGINATION, State.ORIGINATING, State.ORIGINATED)


def originate_overnight(gateway: Gateway, day: date) -> None:
    """What the midnight at which a day begins does to bank payments."""
    where = "status_id IN (?, ?, ?) AND coalesce(effective_date, '') <= ?"
    with gateway.store.transaction():
        for row in gateway.store.select(TRANSACTION, where, (*_UNDER_WAY, day.isoformat())):
            move_on(gateway, row, Trigger.ORIGINATE)


def move_on(gateway: Gateway, row: Row, trigger: Trigger) -> None:
    """Bring a payment one step nearer to its settlement."""
    state = after(trigger, row)
    changes: Row = {"status_id": state, "modified_ts": gateway.clock.timestamp()}
    if state is State.SETTLED:
        changes |= {"settle_date": f"{gateway.clock.date():%Y-%m-%d}", "transaction_settlement_status": "SETTLED"}
    gateway.store.update(TRANSACTION, row["id"], changes)
