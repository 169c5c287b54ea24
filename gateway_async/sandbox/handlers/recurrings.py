"""Recurrings (contract, "Recurrings"): payment plans (subscriptions) that charge a stored account.

`recurring_charges.py` makes the charges. A start date in the past is accepted; missed charges are not made up.
"""

from collections.abc import Callable

from starlette.responses import Response

from gateway_async.sandbox.handlers.merchant_accounts import check_product, default_product
from gateway_async.sandbox.handlers.payments.account import STORED_SOURCES, find_account
from gateway_async.sandbox.handlers.recurring_charges import (
    INTERVAL_TYPES,
    advance_date,
    end_of_plan,
    first_date_from,
    mark_vaults,
    move_end,
    with_end,
)
from gateway_async.sandbox.http.responses import Problems, RefusedFieldsError, empty_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import (
    delete_record,
    find_record,
    read_new,
    read_update,
    respond,
    update_record,
)
from gateway_async.sandbox.request.standard_handlers import RequestHandler
from gateway_async.sandbox.schema import RECURRING
from gateway_async.sandbox.schema.fields import Row, label
from gateway_async.sandbox.schema.kinds import NO_DATE, show_money
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.state_machines.recurrings import RECURRING_MACHINE, RecurringState, RecurringTrigger

_LARGEST_COUNT = 999
_LARGEST_TOTAL = 99_999_999_999
_ONGOING, _INSTALLMENTS = "o", "i"
_SETS_STATUS = {RecurringTrigger.HOLD: RecurringState.ON_HOLD, RecurringTrigger.ACTIVATE: RecurringState.ACTIVE}
"""The actions that only set a status; a recurring that has it already is returned."""


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/recurrings."""
    gateway = context.gateway
    values, problems = await read_new(context, RECURRING)
    _check_plan(values, problems)
    account = _find_account(context, values, problems)
    _check_method(values, account, problems)
    method = account.payment_method if account else None
    check_product(gateway, "product_transaction_id", values, method, problems)
    row = _complete(context, values, problems.require(account))
    with gateway.store.transaction():
        row = gateway.create(RECURRING, context.user, with_end(gateway, row))
        mark_vaults(gateway, row["account_vault_id"])
    return respond(context, RECURRING, row, 201)


async def update(context: RequestContext) -> Response:
    """Handle PUT /v2/recurrings/{id}. `active` of an installment plan is ignored."""
    row, values, problems = await read_update(context, RECURRING)
    before = row["account_vault_id"]
    _check_plan(row | values, problems)
    _check_change(context, row, values, problems)
    problems.raise_if_any()
    if row["recurring_type_id"] == _INSTALLMENTS:
        values.pop("active", None)
    changed = _save(context, row, values, RecurringTrigger.CHANGE)
    mark_vaults(context.gateway, before, changed["account_vault_id"])
    return respond(context, RECURRING, changed)


async def delete(context: RequestContext) -> Response:
    """Handle DELETE /v2/recurrings/{id}."""
    row = find_record(context, RECURRING)
    with context.gateway.store.transaction():
        delete_record(context, RECURRING, row)
        mark_vaults(context.gateway, row["account_vault_id"])
    return empty_response()


def _check_plan(row: Row, problems: Problems) -> None:
    """Check the interval, the amounts and the dates of a recurring."""
    is_type = row.get("interval_type") in {None, *INTERVAL_TYPES}
    problems.check(is_type, "interval_type", "Interval Type must be d, w or m.")
    for name, zero in (("interval", "0"), ("installment_total_count", "0"), ("transaction_amount", "0.00")):
        problems.check(row.get(name) != 0, name, f"{label(name)} must be greater than {zero}.")
    count, amount = (row.get(name) or 0 for name in ("installment_total_count", "transaction_amount"))
    message = f"Installment Amount Total must be at most {show_money(_LARGEST_TOTAL)}."
    problems.check(count * amount <= _LARGEST_TOTAL, "installment_total_count", message, "transaction_amount")
    start, end = (row.get(name) or NO_DATE for name in ("start_date", "end_date"))
    problems.check(not NO_DATE < end < start, "end_date", "End Date must not be before Start Date.", "start_date")


def _find_account(context: RequestContext, values: Row, problems: Problems) -> Account | None:
    """Find the account that a request names by one of its vault's ids. The system id is put into the values."""
    account = find_account(context.gateway, context.user, STORED_SOURCES, values, problems)
    if account:
        values["account_vault_id"] = account.vault_id
    return account


def _check_method(values: Row, account: Account | None, problems: Problems) -> None:
    name = "payment_method"
    if account and values.get(name) not in {None, account.payment_method} and name not in problems:
        problems.add(name, f"Payment Method of this account is {account.payment_method}.")


def _check_change(context: RequestContext, row: Row, values: Row, problems: Problems) -> None:
    if any(values.get(name) not in {None, row.get(name)} for name in STORED_SOURCES):
        account = _find_account(context, values, problems)
        if account and account.payment_method != row["payment_method"]:
            name = "account_vault_api_id" if values.get("account_vault_api_id") else "account_vault_id"
            problems.add(name, f"{label(name)} must be of a {row['payment_method']} account.")
    elif "account_vault_id" in values and values["account_vault_id"] is None:
        problems.add_blank("account_vault_id")
    check_product(context.gateway, "product_transaction_id", values, row["payment_method"], problems)
    changed = row | values
    day, end = (changed[name] or NO_DATE for name in ("next_run_date", "end_date"))
    if day == row["next_run_date"]:
        return
    if row["status"] != RecurringState.ACTIVE:
        problems.add("next_run_date", f"Next Run Date cannot be set when status is {row['status']}.")
    elif day == NO_DATE:
        problems.add_blank("next_run_date")
    message = "Next Run Date must not be after End Date."
    problems.check(not NO_DATE < end < day, "next_run_date", message, "end_date")


def _complete(context: RequestContext, values: Row, account: Account) -> Row:
    """Return a new recurring's fields, with those that are computed."""
    given = {name: value for name, value in values.items() if value is not None}
    row = given | {"payment_method": account.payment_method, "status": RecurringState.ACTIVE}
    row.setdefault("product_transaction_id", default_product(context.gateway, context.user, account.payment_method))
    count = row.get("installment_total_count")
    row["recurring_type_id"] = _INSTALLMENTS if count else _ONGOING
    if count:
        row["installment_amount_total"] = count * row["transaction_amount"]
        row["end_date"] = end_of_plan(row)
    row.setdefault("end_date", NO_DATE)
    row["next_run_date"] = first_date_from(row, row["start_date"], context.gateway.clock.today())
    return row


def _make_action(trigger: RecurringTrigger, title: str, change: Callable[[RequestContext, Row], Row]) -> RequestHandler:
    """Create the handler of a POST that changes a recurring."""

    async def act(context: RequestContext) -> Response:
        row = find_record(context, RECURRING)
        if trigger in _SETS_STATUS and row["status"] == _SETS_STATUS[trigger]:
            return respond(context, RECURRING, row)
        if RECURRING_MACHINE.next_state(RecurringState(row["status"]), trigger) is None:
            raise RefusedFieldsError({"status": [f"{title} is not allowed when status is {row['status']}."]})
        changed = _save(context, row, change(context, row), trigger)
        mark_vaults(context.gateway, changed["account_vault_id"])
        return respond(context, RECURRING, changed)

    return act


def _save(context: RequestContext, row: Row, values: Row, trigger: RecurringTrigger) -> Row:
    state = RECURRING_MACHINE.next_state(RecurringState(row["status"]), trigger)
    changed = with_end(context.gateway, row | values | {"status": state})
    names = {*values, "status", "next_run_date"}
    return update_record(context, RECURRING, row, {name: changed[name] for name in names if name in changed})


def _skip(context: RequestContext, row: Row) -> Row:
    count = _read_count(context, "skip_count")
    return {"next_run_date": advance_date(row, row["next_run_date"], count)}


def _defer(context: RequestContext, row: Row) -> Row:
    count = _read_count(context, "defer_count")
    if row["recurring_type_id"] == _ONGOING:
        raise RefusedFieldsError({"recurring_type_id": ["Defer Payment is not allowed for an ongoing recurring."]})
    next_run_date = advance_date(row, row["next_run_date"], count)
    return {"next_run_date": next_run_date, "end_date": move_end(row, count)}


def _hold(_call: RequestContext, row: Row) -> Row:
    return {"held_run_date": row["next_run_date"], "next_run_date": NO_DATE}


def _activate(context: RequestContext, row: Row) -> Row:
    next_run_date = first_date_from(row, row["held_run_date"], context.gateway.clock.today())
    return {"held_run_date": NO_DATE, "next_run_date": next_run_date}


def _read_count(context: RequestContext, name: str) -> int:
    text = context.query.get(name, "")
    if text.isascii() and text.isdigit() and 0 < int(text[:4]) <= _LARGEST_COUNT:
        return int(text)
    said = "cannot be blank." if not text else f"must be an integer from 1 to {_LARGEST_COUNT}."
    raise RefusedFieldsError({name: [f"{label(name)} {said}"]})


skip = _make_action(RecurringTrigger.SKIP, "Skip Payment", _skip)
defer = _make_action(RecurringTrigger.DEFER, "Defer Payment", _defer)
hold = _make_action(RecurringTrigger.HOLD, "Place On Hold", _hold)
activate = _make_action(RecurringTrigger.ACTIVATE, "Activate", _activate)
