"""The file of all transactions of a location since a time (`/custom/tsvtransactions`).

The contract says that it has twelve columns, and not which. A void or a reject is a row of its own, after the row of
its payment. It takes the amount back. The id of a reject ends in `cb`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from starlette.responses import Response

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.list_files import make_file
from gateway_async.sandbox.request.listing import read_time
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.state_machines.transactions import TransactionState

__all__ = ["get_file"]


_COLUMNS = (
    *("id", "event", "date", "transaction_api_id", "payment_method", "type_id", "reason_code_id"),
    *("transaction_amount", "last_four", "account_holder_name", "order_num", "description"),
)


async def get_file(context: RequestContext) -> Response:
    """Handle GET /custom/tsvtransactions."""
    since = _read_query(context)
    where = f"location_id = ? AND created_ts >= ? AND {ALIVE} ORDER BY id"
    found = context.gateway.store.select(TRANSACTION, where, (context.user["location_id"], since))
    rows = (row for transaction in found for row in _events(transaction))
    return make_file(_COLUMNS, ([row[name] for name in _COLUMNS] for row in rows), "tsv")


def _read_query(context: RequestContext) -> int:
    """Return the time from which on transactions are wanted."""
    problems, since = Problems(), 0
    if context.query.get("location_id") != context.user["location_id"]:
        problems.add("location_id", "location_id provided is not valid")
    try:
        since = read_time(context.query.get("from_date", ""))
    except ValueError:
        problems.add("from_date", "From Date must be a time of the form 2025-12-31 23:59:59.")
    problems.raise_if_any()
    return since


def _events(transaction: Row) -> Iterator[Row]:
    """Yield the row of a payment, then its void or reject."""
    shown = transaction | {"event": "payment", "date": _time(transaction["created_ts"])}
    is_void, is_reject = (
        transaction["status_id"] == state for state in (TransactionState.VOIDED, TransactionState.CHARGED_BACK)
    )
    if not is_void and not is_reject:
        yield shown | {"transaction_amount": show_money(transaction["transaction_amount"])}
        return
    amount = show_money(transaction["auth_amount"] if is_void else transaction["transaction_amount"])
    yield shown | {"transaction_amount": amount, "reason_code_id": ReasonCode.APPROVED.value}
    taken_back = shown | {"transaction_amount": f"-{amount}"}
    if is_void:
        yield taken_back | {"event": "void", "date": transaction["void_date"]}
    else:
        day = f"{transaction['return_date']} 00:00:00"
        yield taken_back | {"id": f"{transaction['id']}cb", "event": "reject", "date": day}


def _time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
