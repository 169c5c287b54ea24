"""The charges of recurrings, and what follows from them for the recurring and its account vault.

A charge runs at the first midnight UTC on or after `next_run_date`. A declined charge counts like an approved one. An
account vault that an active recurring uses has `has_recurring`, and cannot be deleted.
"""

from datetime import date, timedelta

from gateway_async.sandbox.handlers.account_sources import PAYMENT_SOURCES
from gateway_async.sandbox.handlers.card_decisions import decide_card_payment
from gateway_async.sandbox.handlers.payments import record_payment
from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import ACCOUNT_VAULT, RECURRING, TRANSACTION
from gateway_async.sandbox.schema.codes import TransactionSource
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import NO_DATE, is_set
from gateway_async.sandbox.simulators import issuer_decisions as issuer
from gateway_async.sandbox.simulators import recurring_schedule as schedule
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.state_machines.recurrings import RECURRING_MACHINE, RecurringState, RecurringTrigger

__all__ = ["days_with_charges", "is_in_use", "mark_vaults", "run_charges", "with_end"]


_ACTIONS = {"cc": "sale", "ach": "debit"}
_DUE = f"status = '{RecurringState.ACTIVE}' AND next_run_date <= ? AND {ALIVE} ORDER BY next_run_date, id"


def run_charges(gateway: Gateway, day: date) -> None:
    """Make the charges that are due when a day begins."""
    for row in gateway.store.select(RECURRING, _DUE, (day.isoformat(),)):
        if is_set(row["active"]):
            _charge(gateway, row)
        state = RECURRING_MACHINE.next_state(RecurringState(row["status"]), RecurringTrigger.RUN)
        next_run_date = schedule.advance(row, row["next_run_date"], 1)
        changed = with_end(gateway, row | {"status": state, "next_run_date": next_run_date})
        names = ("status", "next_run_date")
        changes = {name: changed[name] for name in names} | {"modified_ts": gateway.clock.timestamp()}
        gateway.store.update(RECURRING, row["id"], changes)
        mark_vaults(gateway, row["account_vault_id"])


def days_with_charges(gateway: Gateway, last: date, today: date) -> set[date]:
    """Return the days on which charges may be due.

    They are after `last`, and not after today.
    """
    rows = gateway.store.select(RECURRING, _DUE, (today.isoformat(),))
    first = last + timedelta(days=1)
    return {max(day, first) for row in rows for day in schedule.dates_until(row, today)}


def with_end(gateway: Gateway, row: Row) -> Row:
    """Return a recurring, ended if no charge is left."""
    if row["status"] != RecurringState.ACTIVE or not _is_finished(gateway, row):
        return row
    return row | {
        "status": RECURRING_MACHINE.next_state(RecurringState.ACTIVE, RecurringTrigger.FINISH),
        "next_run_date": NO_DATE,
    }


def is_in_use(gateway: Gateway, vault_id: str) -> bool:
    """Return whether a recurring that has not ended charges the vault."""
    where = f"account_vault_id = ? AND status != ? AND {ALIVE}"
    return gateway.store.total(RECURRING, "count(*)", where, (vault_id, RecurringState.ENDED)) > 0


def mark_vaults(gateway: Gateway, *vault_ids: str) -> None:
    """Set `has_recurring` of account vaults. This is not reported by a postback, because no request changed them."""
    for vault_id in dict.fromkeys(vault_ids):
        changes = {"has_recurring": int(is_in_use(gateway, vault_id))}
        gateway.store.update(ACCOUNT_VAULT, vault_id, changes, notify=False)


def _is_finished(gateway: Gateway, row: Row) -> bool:
    if row["end_date"] != NO_DATE and row["next_run_date"] > row["end_date"]:
        return True
    total: int | None = row.get("installment_total_count")
    return total is not None and "id" in row and _count_runs(gateway, row) >= total


def _count_runs(gateway: Gateway, row: Row) -> int:
    return gateway.store.total(TRANSACTION, "count(*)", "recurring_id = ?", (row["id"],))


def _charge(gateway: Gateway, row: Row) -> None:
    user = {"id": row["created_user_id"], "location_id": row["location_id"]}
    source = {"account_vault_id": row["account_vault_id"]}
    account = PAYMENT_SOURCES["account_vault_id"](gateway, user, source, Problems())
    vault = gateway.store.find(ACCOUNT_VAULT, id=row["account_vault_id"])
    if account is None or vault is None:
        return  # a vault in use cannot be deleted, so this is a data file that was changed by hand
    number = _count_runs(gateway, row) + 1
    is_plan = row["installment_total_count"] is not None
    values = {
        "payment_method": account.payment_method,
        "action": _ACTIONS[account.payment_method],
        "transaction_amount": row["transaction_amount"],
        "contact_id": vault["contact_id"],
        "product_transaction_id": row["product_transaction_id"],
        "description": row["description"],
        "recurring_id": row["id"],
        "is_recurring": 1,
        "trx_source_id": TransactionSource.RECURRING,
        "recurring_number": number,
        "installment_number": number if is_plan else None,
        "installment_total_count": row["installment_total_count"],
    }
    record_payment(gateway, user, values, account, _decide(gateway, user, values, account))


def _decide(gateway: Gateway, user: Row, values: Row, account: Account) -> issuer.IssuerDecision:
    if account.payment_method == "ach":
        return issuer.IssuerDecision()
    return decide_card_payment(gateway, user, values, account)
