"""The charges of recurrings: their dates, and what follows from them for the recurring and its account vault.

A charge runs at the first midnight UTC on or after `next_run_date`. A declined charge counts like an approved one. An
account vault that an active recurring uses has `has_recurring`, and cannot be deleted. A monthly charge keeps the day
of `start_date`. In a shorter month it is on the last day. No date is after the year 9999.
"""

from calendar import monthrange
from collections.abc import Iterator
from datetime import MAXYEAR, date, timedelta

from gateway_async.sandbox.handlers.merchant_accounts import find_product
from gateway_async.sandbox.handlers.payments.account import PAYMENT_SOURCES
from gateway_async.sandbox.handlers.payments.create import record_payment
from gateway_async.sandbox.handlers.payments.issuer import decide_payment
from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import ACCOUNT_VAULT, RECURRING, TRANSACTION
from gateway_async.sandbox.schema.codes import TransactionSource
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import NO_DATE, is_set
from gateway_async.sandbox.state_machines.recurrings import RECURRING_MACHINE, RecurringState, RecurringTrigger

_DAYS = {"d": 1, "w": 7}
_DAY = timedelta(days=1)
INTERVAL_TYPES = ("d", "w", "m")
"""Days, weeks and months."""

_ACTIONS = {"cc": "sale", "ach": "debit"}
_DUE = f"status = '{RecurringState.ACTIVE}' AND next_run_date <= ? AND {ALIVE} ORDER BY next_run_date, id"


def run_charges(gateway: Gateway, day: date) -> None:
    """Make the charges that are due when a day begins."""
    for row in gateway.store.select(RECURRING, _DUE, (day.isoformat(),)):
        if is_set(row["active"]):
            _charge(gateway, row)
        state = RECURRING_MACHINE.next_state(RecurringState(row["status"]), RecurringTrigger.RUN)
        next_run_date = advance_date(row, row["next_run_date"], 1)
        changed = with_end(gateway, row | {"status": state, "next_run_date": next_run_date})
        gateway.change(RECURRING, row, {name: changed[name] for name in ("status", "next_run_date")})
        mark_vaults(gateway, row["account_vault_id"])


def days_with_charges(gateway: Gateway, last: date, today: date) -> set[date]:
    """The days on which charges may be due. They are after `last`, and not after today."""
    rows = gateway.store.select(RECURRING, _DUE, (today.isoformat(),))
    first = last + timedelta(days=1)
    return {max(day, first) for row in rows for day in _dates_until(row, today)}


def with_end(gateway: Gateway, row: Row) -> Row:
    """The recurring, ended if no charge is left."""
    if row["status"] != RecurringState.ACTIVE or not _is_finished(gateway, row):
        return row
    return row | {
        "status": RECURRING_MACHINE.next_state(RecurringState.ACTIVE, RecurringTrigger.FINISH),
        "next_run_date": NO_DATE,
    }


def mark_vaults(gateway: Gateway, *vault_ids: str) -> None:
    """Set `has_recurring` of account vaults: a recurring that has not ended charges them.

    This is not reported by a postback, because no request changed them.
    """
    where = f"account_vault_id = ? AND status != ? AND {ALIVE}"
    for vault_id in dict.fromkeys(vault_ids):
        count = gateway.store.total(RECURRING, "count(*)", where, (vault_id, RecurringState.ENDED))
        changes = {"has_recurring": int(count > 0)}
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
    decision = decide_payment(find_product(gateway, user, values), values, account)
    record_payment(gateway, user, values, account, decision)


def advance_date(recurring: Row, day: str, count: int) -> str:
    """The date `count` intervals after a date."""
    return _advance(recurring, date.fromisoformat(day), count).isoformat()


def end_of_plan(recurring: Row) -> str:
    """The end date of an installment plan: the day before the charge after the last one."""
    after_last = _advance(recurring, _start(recurring), recurring["installment_total_count"])
    return (after_last - _DAY).isoformat()


def move_end(recurring: Row, count: int) -> str:
    """The end date, `count` intervals later."""
    after_end = min(date.fromisoformat(recurring["end_date"]), date.max - _DAY) + _DAY
    return (_advance(recurring, after_end, count) - _DAY).isoformat()


def first_date_from(recurring: Row, day: str, today: date) -> str:
    """The first date of a schedule that is not before today. `day` is a date of the schedule."""
    first = date.fromisoformat(day)
    if first >= today:
        return day
    longest = recurring["interval"] * (_DAYS.get(recurring["interval_type"]) or 31)
    count = (today - first).days // longest
    while (found := _advance(recurring, first, count)) < today:
        count += 1
    return found.isoformat()


def _dates_until(recurring: Row, last: date) -> Iterator[date]:
    """Yield the dates of the next charges up to a day."""
    if recurring["next_run_date"] == NO_DATE:
        return
    end = last if recurring["end_date"] == NO_DATE else min(last, date.fromisoformat(recurring["end_date"]))
    day = date.fromisoformat(recurring["next_run_date"])
    while day <= end:
        yield day
        if day == date.max:
            return
        day = _advance(recurring, day, 1)


def _start(recurring: Row) -> date:
    return date.fromisoformat(recurring["start_date"])


def _advance(recurring: Row, day: date, count: int) -> date:
    number = recurring["interval"] * count
    if recurring["interval_type"] != "m":
        days = number * _DAYS[recurring["interval_type"]]
        return day + timedelta(days=min(days, (date.max - day).days))
    years, month = divmod(day.month - 1 + number, 12)
    if day.year + years > MAXYEAR:
        return date.max
    wanted = _day_of_month(_start(recurring), day)
    return date(day.year + years, month + 1, min(wanted, monthrange(day.year + years, month + 1)[1]))


def _day_of_month(start: date, day: date) -> int:
    """The schedule's day of the month. A short month may have cut it off."""
    is_cut = day.day == monthrange(day.year, day.month)[1] < start.day
    return start.day if is_cut else day.day
