"""The page of the transaction batches: their totals, and the buttons that settle and process them."""

import attrs
from starlette.responses import Response

from gateway_async.sandbox.admin import actions
from gateway_async.sandbox.http.errors import UnknownRecordError
from gateway_async.sandbox.pages.records.states import Status, find_status
from gateway_async.sandbox.pages.visit import Visit
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import PRODUCT_TRANSACTION, TRANSACTION, TRANSACTION_BATCH
from gateway_async.sandbox.schema.codes import REFUNDING_TYPES
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines import transactions
from gateway_async.sandbox.state_machines.transaction_batches import BY_PROCESSOR, MACHINE, OPEN, State

__all__ = ["change_batch", "show_batches"]


_MOST_CLOSED = 50
_SETTLE = "settle"
_STEPS = {
    State.PROCESSING: "Start processing",
    State.SETTLED: "Finish",
    State.ERROR: "Fail",
    State.REPROCESS: "Try again",
    State.FORCED_CLOSED: "Force closed",
}
"""The buttons of the processor, by the status that each sets."""

_WITHOUT_MONEY = (transactions.State.VOIDED, transactions.State.DECLINED)
"""The states of transactions that do not count in a batch."""
_UNSETTLED = OPEN | {State.PROCESSING}
_SUM = "coalesce(sum(transaction_amount), 0)"
_REFUNDING = ", ".join(str(int(each)) for each in REFUNDING_TYPES)


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


async def show_batches(visit: Visit) -> Response:
    """Handle GET /batches."""
    return _show(visit)


async def change_batch(visit: Visit) -> Response:
    """Handle POST /batches/{id}: settle a batch, or set its status as the processor does."""
    batch_id, step = visit.parameter("id"), visit.form.get("step", "")
    try:
        if step == _SETTLE:
            actions.settle_batch(visit.gateway, batch_id)
        else:
            actions.process_batch(visit.gateway, batch_id, int(step) if step.isdecimal() else 0)
    except UnknownRecordError:
        raise
    except ValueError as error:
        return _show(visit, str(error))
    return visit.redirect("/batches")


def _show(visit: Visit, problem: str = "") -> Response:
    rows = visit.gateway.store.select(TRANSACTION_BATCH, "1 ORDER BY rowid DESC")
    unsettled = [row for row in rows if row["processing_status_id"] in _UNSETTLED]
    closed = [row for row in rows if row["processing_status_id"] not in _UNSETTLED]
    return visit.render(
        "batches.html",
        422 if problem else 200,
        problem=problem,
        open=[_describe(visit.gateway, row) for row in unsettled],
        closed=[_describe(visit.gateway, row) for row in closed[:_MOST_CLOSED]],
        total=len(closed),
    )


def _describe(gateway: Gateway, row: Row) -> _Batch:
    account = gateway.store.find(PRODUCT_TRANSACTION, id=row["product_transaction_id"])
    return _Batch(
        row=row,
        account=(account or {}).get("title") or "",
        status=find_status(gateway, TRANSACTION_BATCH, row),
        payments=_total(gateway, row, "count(*)"),
        charged=_total(gateway, row, _SUM, f"type_id NOT IN ({_REFUNDING})"),
        refunded=_total(gateway, row, _SUM, f"type_id IN ({_REFUNDING})"),
        steps=_find_steps(State(row["processing_status_id"])),
    )


def _total(gateway: Gateway, batch: Row, what: str, condition: str = "1") -> int:
    """Return a count or sum over payments of a batch."""
    where = f"transaction_batch_id = ? AND status_id NOT IN (?, ?) AND {condition}"
    return gateway.store.total(TRANSACTION, what, where, (batch["id"], *_WITHOUT_MONEY))


def _find_steps(state: State) -> list[tuple[str, str]]:
    """Return the values and the labels of the buttons."""
    settle = [(_SETTLE, "Settle")] if state in OPEN else []
    allowed = [status for status in _STEPS if MACHINE.next_state(state, BY_PROCESSOR[status]) is not None]
    return settle + [(str(int(status)), _STEPS[status]) for status in allowed]
