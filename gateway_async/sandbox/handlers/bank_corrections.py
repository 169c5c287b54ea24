"""Bank payments that are declined or voided at first, and then accepted after all, on the same day.

A manager overrides a decline with reason 1663. A voided payment by POP or C21 is corrected, and pending again.
"""

from datetime import UTC, datetime

from starlette.responses import Response

from gateway_async.sandbox.handlers.payments import BANK_AUTH_CODE
from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.http.responses import json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import find_record, show_record, update_record
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.schema import ACH_UPDATE, TRANSACTION
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines import transactions as states

__all__ = ["correct", "override"]


_CORRECTABLE = ("POP", "C21")
"""The SEC codes of checks, whose data may be read wrongly."""


async def override(context: RequestContext) -> Response:
    """Handle POST /v2/transactions/{id}/override."""
    row, problems = find_record(context, TRANSACTION), Problems()
    if row["reason_code_id"] != ReasonCode.MANAGER_NEEDED:
        problems.add("action", f"Action override is not allowed when reason_code_id is {row['reason_code_id']}.")
    return _accept(context, states.TransactionTrigger.OVERRIDE, row, row["transaction_amount"], problems)


async def correct(context: RequestContext) -> Response:
    """Handle POST /v2/transactions/{id}/achupdate."""
    body, row, problems = await context.read_record(ACH_UPDATE.singular), find_record(context, TRANSACTION), Problems()
    values = read_fields(ACH_UPDATE, body, problems, strict=context.gateway.strict)
    if not values and not problems:
        problems.add("track_data", "One of Track Data and Transaction Amount must be given.")
    if values.get("transaction_amount") == 0:
        problems.add("transaction_amount", "Transaction Amount cannot be 0 for achupdate.")
    if row["ach_sec_code"] not in _CORRECTABLE:
        problems.add("action", f"Action achupdate is only allowed for {' and '.join(_CORRECTABLE)}.")
    elif datetime.fromtimestamp(row["created_ts"], UTC).date() != context.gateway.clock.date().date():
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
    changed = update_record(context, TRANSACTION, row, changes)
    return json_response({TRANSACTION.singular: show_record(context, TRANSACTION, changed)})
