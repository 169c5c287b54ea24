"""The pages of totals: the overview, the batches, and the ledger of what each integrator id did."""

from typing import Any

import attrs
from starlette.responses import Response

from gateway_async.sandbox.controls import payments, simulators
from gateway_async.sandbox.ledger import COUNTED_EFFECTS, CountedEffect
from gateway_async.sandbox.pages.masking import mask_shown_text
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.records.families import Summary, link_to_list, summarize
from gateway_async.sandbox.pages.records.states import Status, describe_payments, find_status
from gateway_async.sandbox.pages.requests import describe_request, is_control_call
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import POSTBACK, PRODUCT_TRANSACTION, TRANSACTION, TRANSACTION_BATCH
from gateway_async.sandbox.schema.codes import REFUNDING_TYPES, ReasonCode, TransactionType
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.postbacks import DeliveryState
from gateway_async.sandbox.state_machines.transaction_batches import BATCH_MACHINE, BY_PROCESSOR, OPEN, BatchState
from gateway_async.sandbox.state_machines.transactions import TransactionState, took_money

_LAST_REQUESTS = 8
_MOST_CLOSED = 50
_MOST_IDS = 200
_SETTLE = "settle"
_STEPS = {
    BatchState.PROCESSING: "Start processing",
    BatchState.SETTLED: "Finish",
    BatchState.ERROR: "Fail",
    BatchState.REPROCESS: "Try again",
    BatchState.FORCED_CLOSED: "Force closed",
}
"""The buttons of the processor, by the status that each sets."""

_WITHOUT_MONEY = (TransactionState.VOIDED, TransactionState.DECLINED)
"""The states of transactions that do not count in a batch."""
_UNSETTLED = OPEN | {BatchState.PROCESSING}
_UNSETTLED_CODES = ", ".join(str(int(each)) for each in _UNSETTLED)
_REFUNDING = ", ".join(str(int(each)) for each in REFUNDING_TYPES)
_AMOUNT = (
    f"CASE WHEN status_id = {int(TransactionState.VOIDED)} THEN auth_amount"
    f" WHEN reason_code_id = {int(ReasonCode.PARTIALLY_APPROVED)} THEN min(transaction_amount, auth_amount)"
    " ELSE transaction_amount END"
)
"""The cents of a payment: of a voided one what it had, and of a partial approval the approved part."""
_TOTALS = (
    "count(*)",
    f"coalesce(sum({_AMOUNT}) FILTER (WHERE type_id NOT IN ({_REFUNDING})), 0)",
    f"coalesce(sum({_AMOUNT}) FILTER (WHERE type_id IN ({_REFUNDING})), 0)",
)
"""The number of payments, and the cents that were charged and refunded."""
_GROUP = ("status_id", "type_id", f"CASE status_id WHEN {int(TransactionState.DECLINED)} THEN reason_code_id END")


@attrs.frozen
class _Payments:
    """Payments with the same result: their number, their amount in cents, and the list of them."""

    count: int
    amount: int
    address: str
    status: Status | None = None


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


@attrs.frozen
class _LedgerLine:
    """One integrator id, how often it had an effect, and the records that have the id."""

    api_id: str
    count: int
    records: list[Summary]


@attrs.frozen
class _Section:
    """The ids with one effect; ids with more than one effect first, then the newest ones."""

    effect: str
    lines: list[_LedgerLine]
    total: int
    repeated: int


async def show_overview(request: PageRequest) -> Response:
    """Handle GET /."""
    gateway = request.gateway
    groups = _group_payments(gateway)
    entries = [entry for entry in reversed(gateway.requests) if not is_control_call(entry)]
    postbacks = dict(gateway.store.query(POSTBACK, ("state", "count(*)"), "1 GROUP BY state"))
    return request.render(
        "overview.html",
        charged=_add_up([each for each in groups if took_money(each)]),
        refunded=_add_up(
            [each for each in groups if each["type_id"] in REFUNDING_TYPES and each["status_id"] not in _WITHOUT_MONEY]
        ),
        results=_list_results(groups),
        batches=_read_batches(gateway, _unsettled()),
        terminals=[each for each in simulators.terminals(gateway) if each["waiting"]],
        postbacks={state.value: postbacks.get(state, 0) for state in DeliveryState},
        postbacks_address=link_to_list(POSTBACK, state=""),
        repeated=sum(effect.count_ids(gateway)[1] for effect in COUNTED_EFFECTS.values()),
        faults=len(gateway.faults),
        requests=[describe_request(entry) for entry in entries[:_LAST_REQUESTS]],
    )


def _group_payments(gateway: Gateway) -> list[Row]:
    """Return the number and the amount of payments with the same state, type and, if declined, reason."""
    names = ("status_id", "type_id", "reason_code_id", "count", "amount")
    where = f"type_id <> {int(TransactionType.ADDRESS_CHECK)} GROUP BY 1, 2, 3 ORDER BY 1, 4 DESC"
    found = gateway.store.query(TRANSACTION, (*_GROUP, "count(*)", f"sum({_AMOUNT})"), where)
    return [dict(zip(names, row, strict=True)) for row in found]


def _add_up(groups: list[Row], status: Status | None = None) -> _Payments:
    filters: dict[str, Any] = {name: sorted({each[name] for each in groups}) for name in ("status_id", "type_id")}
    if reasons := {each["reason_code_id"] for each in groups} - {None}:
        filters["reason_code_id"] = sorted(reasons)
    count, amount = (sum(each[name] for each in groups) for name in ("count", "amount"))
    return _Payments(count, amount, link_to_list(TRANSACTION, **filters), status)


def _list_results(groups: list[Row]) -> list[_Payments]:
    """Return the payments by state and, if declined, by reason."""
    results: dict[tuple[int, int | None], list[Row]] = {}
    for group in groups:
        results.setdefault((group["status_id"], group["reason_code_id"]), []).append(group)
    return [_add_up(each, describe_payments(*codes)) for codes, each in results.items()]


async def show_batches(request: PageRequest) -> Response:
    """Handle GET /batches."""
    closed = _unsettled("NOT IN")
    return request.render(
        "batches.html",
        open=_read_batches(request.gateway, _unsettled()),
        closed=_read_batches(request.gateway, closed, _MOST_CLOSED),
        total=request.gateway.store.total(TRANSACTION_BATCH, "count(*)", closed, ()),
    )


async def change_batch(request: PageRequest) -> Response:
    """Handle POST /batches/{id}: settle a batch, or set its status as the processor does."""
    batch_id, step = request.parameter("id"), request.form.get("step", "")
    if step == _SETTLE:
        payments.settle_batch(request.gateway, batch_id)
    else:
        payments.process_batch(request.gateway, batch_id, int(step) if step.isdecimal() else 0)
    return request.redirect("/batches")


def _unsettled(is_unsettled: str = "IN") -> str:
    return f"processing_status_id {is_unsettled} ({_UNSETTLED_CODES})"


def _read_batches(gateway: Gateway, where: str, most: int = -1) -> list[_Batch]:
    rows = gateway.store.select(TRANSACTION_BATCH, f"{where} ORDER BY rowid DESC LIMIT ?", (most,))
    return [_describe_batch(gateway, row) for row in rows]


def _describe_batch(gateway: Gateway, row: Row) -> _Batch:
    where = "transaction_batch_id = ? AND status_id NOT IN (?, ?)"
    payments, charged, refunded = gateway.store.query(TRANSACTION, _TOTALS, where, (row["id"], *_WITHOUT_MONEY))[0]
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


def _find_steps(state: BatchState) -> list[tuple[str, str]]:
    """Find the values and the labels of the buttons."""
    settle = [(_SETTLE, "Settle")] if state in OPEN else []
    allowed = [status for status in _STEPS if BATCH_MACHINE.next_state(state, BY_PROCESSOR[status]) is not None]
    return settle + [(str(int(status)), _STEPS[status]) for status in allowed]


async def show_ledger(request: PageRequest) -> Response:
    """Handle GET /ledger."""
    sections = [_read_section(request.gateway, name, effect) for name, effect in COUNTED_EFFECTS.items()]
    repeated = sum(section.repeated for section in sections)
    return request.render("ledger.html", sections=sections, repeated=repeated)


def _read_section(gateway: Gateway, name: str, effect: CountedEffect) -> _Section:
    counts = effect.count_by_id(gateway, _MOST_IDS)
    records: dict[str, list[Summary]] = {api_id: [] for api_id in counts}
    for row in effect.find_records(gateway, [*counts]):
        records[row[effect.table.api_id]].append(summarize(gateway, effect.table, row))
    lines = [_LedgerLine(mask_shown_text(api_id), count, records[api_id]) for api_id, count in counts.items()]
    return _Section(name, lines, *effect.count_ids(gateway))
