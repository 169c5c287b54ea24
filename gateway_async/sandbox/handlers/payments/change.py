"""Changes of a payment: PUT, override and achupdate.

PUT voids, completes, increments, reverses, adds a tip, or edits other fields. `transaction_amount` is always the amount
to be settled: the new total of an increment, and the remainder of a partial reversal. A money field that an action does
not use is a problem.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from starlette.responses import Response

from gateway_async.sandbox.handlers.payments.account import check_exp_date
from gateway_async.sandbox.handlers.payments.create import BANK_AUTH_CODE
from gateway_async.sandbox.handlers.payments.invoice_balance import check_invoice, update_invoice_of
from gateway_async.sandbox.handlers.payments.rules import check_completion, check_lodging_dates, check_not_zero
from gateway_async.sandbox.handlers.transaction_batches import batch_for
from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import find_record, read_update, respond, update_record
from gateway_async.sandbox.request.transaction_relations import amount_charged, find_tags, refunded_amount
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import ACCOUNT_VAULT, ACH_UPDATE, TRANSACTION
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row, label
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.state_machines import transactions as states

ActionChanges = Callable[[Row, Row, Problems], Row]
"""Computes further changes from the stored record and the values of the request."""

_MONEY = ("transaction_amount", "tip_amount", "tax", "subtotal_amount", "surcharge_amount")
_MOVES = ("move_account_vault", "move_account_vault_transactions")
_CORRECTABLE = ("POP", "C21")
"""The SEC codes of checks, whose data may be read wrongly."""


async def update_payment(context: RequestContext) -> Response:
    """Handle PUT /v2/transactions/{id}; without an `action` it edits the transaction.

    A void of a voided one returns it.
    """
    row, values, problems = await read_update(context, TRANSACTION)
    action = values.get("action") or "edit"
    if not problems and values == {"action": "void"} and row["status_id"] == states.TransactionState.VOIDED:
        return respond(context, TRANSACTION, row)
    _check_values(context, action, row, values, problems)
    changes = _changes(action, row, values, problems)
    _check_refunds(context.gateway, row, changes, problems)
    problems.raise_if_any()
    if "void_date" in changes:
        changes["void_date"] = f"{context.gateway.clock.utc_now():%Y-%m-%d %H:%M:%S}"
    changed = _store(context, row, values | changes)
    return respond(context, TRANSACTION, changed)


def _check_values(context: RequestContext, action: str, row: Row, values: Row, problems: Problems) -> None:
    check_exp_date(values, problems)
    check_lodging_dates(row | values, problems)
    _check_moves(action, values, problems)
    check_invoice(context.gateway, row, values, problems)
    if values.get("account_vault_api_id") is not None:
        where = {"location_id": row["location_id"], "account_vault_api_id": values["account_vault_api_id"]}
        if context.gateway.store.find_alive(ACCOUNT_VAULT, **where) is None:
            problems.add_invalid("account_vault_api_id")


def _store(context: RequestContext, row: Row, changes: Row) -> Row:
    with context.gateway.store.transaction():
        changes = changes | find_tags(context.gateway, context.user, changes)
        changed = update_record(
            context, TRANSACTION, row, changes | batch_for(context.gateway, context.user, row | changes)
        )
        _move_contact(context, changed, changes)
        update_invoice_of(context.gateway, changed, more=changed["quick_invoice_id"] != row["quick_invoice_id"])
    return changed


def _changes(action: str, row: Row, values: Row, problems: Problems) -> Row:
    if action not in _EFFECTS:
        problems.add("action", f"Action must be one of {', '.join(_EFFECTS)}.")
        return {}
    money, effect = _EFFECTS[action]
    for name in _MONEY:
        if name not in money and name in values and values[name] != row[name]:
            problems.add(name, f"{label(name)} cannot be changed by {action}.")
    check_not_zero(values, problems)
    status = row["status_id"] if action == "edit" else states.next_state(states.TransactionTrigger(action), row)
    if status is None:
        problems.add("action", f"Action {action} is not allowed when status_id is {row['status_id']}.")
        return {}
    return {"status_id": status} | effect(row, values, problems)


def _check_refunds(gateway: Gateway, row: Row, changes: Row, problems: Problems) -> None:
    """Check that a change leaves at least what was refunded."""
    if changes.get("transaction_amount", row["transaction_amount"]) >= row["transaction_amount"]:
        return
    refunded = refunded_amount(gateway, row["id"])
    if changes["transaction_amount"] >= refunded:
        return
    if "void_date" in changes:
        problems.add("action", f"Action void is not allowed when {show_money(refunded)} has been refunded.")
    else:
        _refuse_amount(problems, f"must be at least the {show_money(refunded)} that has been refunded.")


def _void(row: Row, _values: Row, _problems: Problems) -> Row:
    reason = ReasonCode.APPROVED if row["payment_method"] == "ach" else ReasonCode.VOIDED
    return {"transaction_amount": 0, "reason_code_id": reason, "void_date": None}


def _complete(row: Row, values: Row, problems: Problems) -> Row:
    check_completion(row, values, problems)
    amount = _amount(row, values)
    if not 0 < amount <= amount_charged(row):
        _refuse_amount(problems, f"must be above 0.00 and at most {show_money(amount_charged(row))}.")
    return {"transaction_amount": amount, "reason_code_id": ReasonCode.AUTH_COMPLETED}


def _increment(row: Row, values: Row, problems: Problems) -> Row:
    amount = _amount(row, values)
    if amount <= amount_charged(row):
        _refuse_amount(problems, f"must be more than {show_money(amount_charged(row))}.")
    return {"transaction_amount": amount, "reason_code_id": ReasonCode.APPROVED}


def _reverse(row: Row, values: Row, problems: Problems) -> Row:
    amount = _amount(row, values)
    if not 0 < amount < amount_charged(row):
        _refuse_amount(problems, f"must be above 0.00 and less than {show_money(amount_charged(row))}.")
    return {"transaction_amount": amount}


def _tip(row: Row, values: Row, problems: Problems) -> Row:
    if (tip := values.get("tip_amount")) is None:
        problems.add_blank("tip_amount")
        return {}
    total = row["transaction_amount"] - row["tip_amount"] + tip
    if values.get("transaction_amount") not in {None, total}:
        _refuse_amount(problems, f"must be {show_money(total)} with this tip.")
    return {"transaction_amount": total}


def _edit(_row: Row, _values: Row, _problems: Problems) -> Row:
    return {}


def _amount(row: Row, values: Row) -> int:
    amount = values.get("transaction_amount")
    return amount_charged(row) if amount is None else int(amount)


def _refuse_amount(problems: Problems, predicate: str) -> None:
    if "transaction_amount" not in problems:
        problems.add("transaction_amount", f"Transaction Amount {predicate}")


_EFFECTS: dict[str, tuple[tuple[str, ...], ActionChanges]] = {
    "void": ((), _void),
    "authcomplete": (_MONEY, _complete),
    "authincrement": (("transaction_amount",), _increment),
    "partialreversal": (("transaction_amount",), _reverse),
    "tipadjust": (("transaction_amount", "tip_amount"), _tip),
    "edit": (("tax", "subtotal_amount", "surcharge_amount"), _edit),
}
"""The money fields that each action accepts, and its effect."""


def _check_moves(action: str, values: Row, problems: Problems) -> None:
    """Check the flags that move a vault: they need an `edit` and a contact."""
    for name in _MOVES:
        if not values.get(name) or name in problems:
            continue
        if action != "edit":
            problems.add(name, f"{label(name)} is not allowed with {action}.")
        elif values.get("contact_id") is None and "contact_id" not in problems:
            problems.add("contact_id", f"Contact Id cannot be blank when {label(name)} is 1.")


def _move_contact(context: RequestContext, transaction: Row, values: Row) -> None:
    """Give the vault, and the vault's transactions, the transaction's contact as requested."""
    store, vault_id = context.gateway.store, transaction["account_vault_id"]
    if vault_id is None:
        return
    contact = {"contact_id": transaction["contact_id"]}
    vault = store.find(ACCOUNT_VAULT, id=vault_id)
    if vault and values.get("move_account_vault"):
        update_record(context, ACCOUNT_VAULT, vault, contact)
    if values.get("move_account_vault_transactions"):
        for row in store.filter(TRANSACTION, account_vault_id=vault_id):
            update_record(context, TRANSACTION, row, contact)


async def override_decline(context: RequestContext) -> Response:
    """Handle POST /v2/transactions/{id}/override."""
    row, problems = find_record(context, TRANSACTION), Problems()
    if row["reason_code_id"] != ReasonCode.MANAGER_NEEDED:
        problems.add("action", f"Action override is not allowed when reason_code_id is {row['reason_code_id']}.")
    return _accept(context, states.TransactionTrigger.OVERRIDE, row, row["transaction_amount"], problems)


async def correct_payment(context: RequestContext) -> Response:
    """Handle POST /v2/transactions/{id}/achupdate."""
    body, row, problems = await context.read_record(ACH_UPDATE.singular), find_record(context, TRANSACTION), Problems()
    values = read_fields(context, ACH_UPDATE, body, problems)
    if not values and not problems:
        problems.add("track_data", "One of Track Data and Transaction Amount must be given.")
    if values.get("transaction_amount") == 0:
        problems.add("transaction_amount", "Transaction Amount cannot be 0 for achupdate.")
    if row["ach_sec_code"] not in _CORRECTABLE:
        problems.add("action", f"Action achupdate is only allowed for {' and '.join(_CORRECTABLE)}.")
    elif datetime.fromtimestamp(row["created_ts"], UTC).date() != context.gateway.clock.today():
        problems.add("action", "Action achupdate is only allowed on the day of the payment.")
    amount = values.get("transaction_amount") or row["auth_amount"]
    return _accept(context, states.TransactionTrigger.CORRECT, row, amount, problems)


def _accept(
    context: RequestContext, trigger: states.TransactionTrigger, row: Row, amount: int, problems: Problems
) -> Response:
    status = states.next_state(trigger, row)
    if status is None and "action" not in problems:
        problems.add("action", f"Action {trigger} is not allowed when status_id is {row['status_id']}.")
    problems.raise_if_any()
    changes = {
        "status_id": status,
        "reason_code_id": ReasonCode.APPROVED,
        "verbiage": "APPROVED",
        "response_message": None,
        "auth_code": BANK_AUTH_CODE,
        "auth_amount": amount,
        "transaction_amount": amount,
        "void_date": None,
    }
    with context.gateway.store.transaction():
        changed = update_record(context, TRANSACTION, row, changes)
        update_invoice_of(context.gateway, changed, more=True)
    return respond(context, TRANSACTION, changed)
