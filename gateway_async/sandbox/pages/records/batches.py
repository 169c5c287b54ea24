"""The page of the transaction batches: their totals, and the buttons that settle and process them."""

import attrs
from starlette.responses import Response

from gateway_async.sandbox.controls import payments
from gateway_async.sandbox.http.responses import UnknownRecordError
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.records.states import Status, find_status
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import PRODUCT_TRANSACTION, TRANSACTION, TRANSACTION_BATCH
from gateway_async.sandbox.schema.codes import REFUNDING_TYPES
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines import transactions
from gateway_async.sandbox.state_machines.transactions import BATCH_MACHINE, BY_PROCESSOR, OPEN, BatchState

__all__ = ["change_batch", "show_batches"]


_MOST_CLOSED = 50
_SETTLE = "settle"
_STEPS = {
    BatchState.PROCESSING: "Start processing",
    BatchState.SETTLED: "Finish",
    BatchState.ERROR: "Fail",
    BatchState.REPROCESS: "Try again",
    BatchState.FORCED_CLOSED: "Force closed",
}
"""The buttons of the processor, by the status that each sets."""

_WITHOUT_MONEY = (transactions.TransactionState.VOIDED, transactions.TransactionState.DECLINED)
"""The states of transactions that do not count in a batch."""
_UNSETTLED = OPEN | {BatchState.PROCESSING}
_UNSETTLED_CODES = ", ".join(str(int(each)) for each in _UNSETTLED)
_REFUNDING = ", ".join(str(int(each)) for each in REFUNDING_TYPES)
_TOTALS = (
    "count(*)",
    f"coalesce(sum(transaction_amount) FILTER (WHERE type_id NOT IN ({_REFUNDING})), 0)",
    f"coalesce(sum(transaction_amount) FILTER (WHERE type_id IN ({_REFUNDING})), 0)",
)
"""The number of payments, and the cents that were charged and refunded."""


@attrs.frozen
class _Batch:
    """One batch with its totals, in cents, and the steps that are possible."""

    row: Row
    account: str
    status: Status | None
    payments: int
    charged: int
    refunded: int
    steps: list[tuple[str, str]]


async def show_batches(request: PageRequest) -> Response:
    """Handle GET /batches."""
    return _show(request)


async def change_batch(request: PageRequest) -> Response:
    """Handle POST /batches/{id}: settle a batch, or set its status as the processor does."""
    batch_id, step = request.parameter("id"), request.form.get("step", "")
    try:
        if step == _SETTLE:
            payments.settle_batch(request.gateway, batch_id)
        else:
            payments.process_batch(request.gateway, batch_id, int(step) if step.isdecimal() else 0)
    except UnknownRecordError:
        raise
    except ValueError as error:
        return _show(request, str(error))
    return request.redirect("/batches")


def _show(request: PageRequest, problem: str = "") -> Response:
    unsettled, closed = (f"processing_status_id {each} ({_UNSETTLED_CODES})" for each in ("IN", "NOT IN"))
    return request.render(
        "batches.html",
        422 if problem else 200,
        problem=problem,
        open=_read_batches(request.gateway, unsettled),
        closed=_read_batches(request.gateway, closed, _MOST_CLOSED),
        total=request.gateway.store.total(TRANSACTION_BATCH, "count(*)", closed, ()),
    )


def _read_batches(gateway: Gateway, where: str, most: int = -1) -> list[_Batch]:
    rows = gateway.store.select(TRANSACTION_BATCH, f"{where} ORDER BY rowid DESC LIMIT ?", (most,))
    return [_describe(gateway, row) for row in rows]


def _describe(gateway: Gateway, row: Row) -> _Batch:
    payments, charged, refunded = _add_up(gateway, row)
    account = gateway.store.find(PRODUCT_TRANSACTION, id=row["product_transaction_id"])
    return _Batch(
        row=row,
        account=(account or {}).get("title") or "",
        status=find_status(gateway, TRANSACTION_BATCH, row),
        payments=payments,
        charged=charged,
        refunded=refunded,
        steps=_find_steps(BatchState(row["processing_status_id"])),
    )


def _add_up(gateway: Gateway, batch: Row) -> tuple[int, ...]:
    """Return the totals of a batch."""
    where = "transaction_batch_id = ? AND status_id NOT IN (?, ?)"
    return gateway.store.query(TRANSACTION, _TOTALS, where, (batch["id"], *_WITHOUT_MONEY))[0]


def _find_steps(state: BatchState) -> list[tuple[str, str]]:
    """Return the values and the labels of the buttons."""
    settle = [(_SETTLE, "Settle")] if state in OPEN else []
    allowed = [status for status in _STEPS if BATCH_MACHINE.next_state(state, BY_PROCESSOR[status]) is not None]
    return settle + [(str(int(status)), _STEPS[status]) for status in allowed]
