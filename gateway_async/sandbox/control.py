"""How a gateway is steered from outside: faults, terminals, the ledger, and a new beginning.

The clock and the terminals take their orders themselves.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from gateway_async.sandbox import seed, states
from gateway_async.sandbox.cards import check_expiry, read_card
from gateway_async.sandbox.kinds import show_money
from gateway_async.sandbox.operations import is_operation
from gateway_async.sandbox.tables import ACCOUNT_VAULT, TERMINAL, TRANSACTION

if TYPE_CHECKING:
    from gateway_async.sandbox.cards import Account
    from gateway_async.sandbox.faults import Plan
    from gateway_async.sandbox.fields import Row, Table
    from gateway_async.sandbox.gateway import Gateway

_LEDGER = (
    "id",
    "location_id",
    "transaction_api_id",
    "account_vault_api_id",
    "transaction_amount",
    "auth_amount",
    "status_id",
    "reason_code_id",
    "last_four",
    "created_ts",
)


async def add_fault(gateway: Gateway, plan: Plan) -> None:
    """Put a plan in force. `refuse` begins at once: for its seconds nothing listens on the port.

    Raises:
        ValueError: The plan makes no sense, or its operation is not one of the gateway's.
    """
    plan.check()
    if not is_operation(plan.operation):
        raise ValueError("operation must be a method and a path of the gateway, as in POST /v2/transactions.")
    if plan.fault == "refuse":
        await gateway.listener.shut()
        gateway.clock.call_at(gateway.clock.now() + plan.seconds, gateway.listener.reopen_soon)
    else:
        gateway.faults.plans.append(plan)


async def clear_faults(gateway: Gateway) -> None:
    """Give up every plan."""
    gateway.faults.plans.clear()
    await gateway.listener.reopen()


def ledger(gateway: Gateway) -> Row:
    """How often each integrator id was charged or stored, and the records that say so."""
    payments = gateway.store.select(TRANSACTION)
    vaults = gateway.store.select(ACCOUNT_VAULT)
    made = [row for row in payments if row["status_id"] != states.DECLINED]
    return {
        "charged": _count(TRANSACTION, made),
        "stored": _count(ACCOUNT_VAULT, vaults),
        "transactions": [_brief(TRANSACTION, row) for row in payments],
        "accountvaults": [_brief(ACCOUNT_VAULT, row) for row in vaults],
    }


def _count(table: Table, rows: list[Row]) -> dict[str, int]:
    return dict(Counter(row[table.api_id] for row in rows if row[table.api_id] is not None))


def _brief(table: Table, row: Row) -> Row:
    record = table.show(row)
    return {name: record[name] for name in _LEDGER if name in record}


def terminals(gateway: Gateway) -> list[Row]:
    """Every terminal and what waits at it."""
    return [terminal(gateway, row) for row in gateway.store.select(TERMINAL)]


def terminal(gateway: Gateway, row: Row) -> Row:
    """One terminal and what waits at it, the call whose turn it is first."""
    waiting = gateway.terminals.waiting(row["id"])
    steps = ["waiting for a card"] + ["in line"] * len(waiting)
    calls = [
        {
            "action": visit.action,
            "amount": None if visit.amount is None else show_money(visit.amount),
            "since": int(visit.since),
            "state": state,
        }
        for visit, state in zip(waiting, steps, strict=False)
    ]
    silent = gateway.terminals.is_silent(row["id"])
    return {"id": row["id"], "title": row["title"], "silent": silent, "waiting": calls}


async def reset(gateway: Gateway) -> None:
    """Begin anew: cut off whatever waits, forget records and faults, and set the clock right."""
    await gateway.listener.cut_off()
    await clear_faults(gateway)
    gateway.terminals.hear()
    gateway.clock.set(time.time())
    seed.empty(gateway)


def read_test_card(number: str, exp_date: str | None = None) -> Account:
    """Read a card that somebody hands over.

    Raises:
        ValueError: It is no card, or the expiry no month.
    """
    try:
        return read_card(number, exp_date and check_expiry(exp_date))
    except ValueError as reason:
        raise ValueError(f"The card or its expiry {reason}") from None
