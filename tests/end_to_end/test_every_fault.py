"""Every write meets every fault: it is done once, or its outcome is unknown."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import anyio
import pytest

from gateway_async import OutcomeUnknownError, RateLimitError, TagCreate
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import FAULTS
from tests.support.sales import CARD
from tests.support.waiting import PATIENCE

from .struck_changes import (
    activate,
    add_payment,
    by_api_id,
    by_id,
    capture,
    defer,
    edit,
    hold,
    increment,
    remove_file,
    remove_payment,
    rename_tag,
    reopen,
    settle,
    skip,
    tip,
    void,
)
from .struck_creates import (
    accept_terms,
    create_invoice,
    create_paylink,
    create_plan,
    refund,
    sell,
    sell_at_terminal,
    sell_unnamed,
    sell_untyped,
    store,
    store_at_terminal,
)
from .struck_writes import ENDLESS, EXECUTED, NOT_EXECUTED, Make, Operation

# It waits for real silences, and the decision table is tried on both event loops.
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


class Group(NamedTuple):
    """Options of a client, and operations that can meet faults at one sandbox without disturbing each other."""

    options: Mapping[str, Any]
    operations: Sequence[Make]


_NO_LOCATION: Mapping[str, Any] = {"location_id": None}
_INVOICE_CHANGES = [
    partial(change, by=by) for change in (reopen, add_payment, remove_payment, remove_file) for by in (by_id, by_api_id)
]

GROUPS: Mapping[str, Sequence[Group]] = {
    "payments": [Group({}, [void, capture, increment, tip, edit])],
    "invoices": [Group({}, _INVOICE_CHANGES)],
    "records": [Group({}, [hold, activate, skip, defer, rename_tag])],
    "creates": [
        Group(
            {}, [store, store_at_terminal, create_plan, create_paylink, create_invoice, accept_terms, sell_at_terminal]
        )
    ],
    "sales": [
        Group({}, [settle, sell]),
        *(Group({}, [create]) for create in (sell_unnamed, sell_untyped, refund)),
        *(Group(_NO_LOCATION, [create]) for create in (sell, sell_unnamed, sell_at_terminal)),
    ],
}

ONE_FOR_EACH_LOOKUP = [
    Group({}, [void, increment, edit, *_INVOICE_CHANGES[2:], skip, create_plan]),
    Group({}, [settle, sell]),
    Group(_NO_LOCATION, [sell]),
]
"""A write for each kind of record, list and evidence that a lookup may need."""


ENDLESS_SECONDS = 30.0
"""The time of a call whose response does not end. The client keeps the last ten seconds for the lookup."""


def shown(record: Any, names: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the fields of a record; None for no record."""
    return record and {name: getattr(record, name) for name in names or {}}


async def strike(operation: Operation, sandbox: Sandbox) -> Any:
    """Return what the response shows, or the error, what is read afterwards, and how often the write was sent."""
    written: Any = None
    try:
        written = await operation.write()
        outcome: Any = shown(written, operation.after)
    except (OutcomeUnknownError, RateLimitError) as error:
        outcome = type(error)
    read = await operation.read()
    assert written is None or written.id == read.id, f"{operation.request}: the result is another record"
    (sent,) = [plan["seen"] for plan in sandbox.faults() if plan["operation"] == operation.request]
    return outcome, shown(read, operation.after), sent


def expected(operation: Operation, fault: str) -> Any:
    """Return what a fault should lead to."""
    if fault not in NOT_EXECUTED:
        return operation.after, operation.after, 1
    if operation.is_repeated:
        return operation.after, operation.after, 2
    return RateLimitError if fault == "rate_limit" else OutcomeUnknownError, operation.before, 1


async def check(groups: Sequence[Group], faults: Sequence[str], seconds: float = PATIENCE) -> None:
    """Strike every operation with every fault, all at once, by clients whose calls may take so many seconds."""
    outcomes: dict[tuple[Any, ...], Any] = {}
    wanted: dict[tuple[Any, ...], Any] = {}

    async def meet(fault: str, sandbox: Sandbox, group: Group) -> None:
        async with sandbox.gateway(timeout=seconds, **group.options) as gateway:
            prepared = [(make, await make(gateway, sandbox)) for make in group.operations]
            async with anyio.create_task_group() as tasks:
                for make, operation in prepared:
                    if fault in operation.faults:
                        sandbox.fault(operation.request, fault, seconds=0.5, retry_after=0.1)  # type: ignore[arg-type]
                        wanted[make, *group.options, fault] = expected(operation, fault)
                        tasks.start_soon(note, (make, *group.options, fault), operation, sandbox)

    async def note(key: tuple[Any, ...], operation: Operation, sandbox: Sandbox) -> None:
        outcomes[key] = await strike(operation, sandbox)

    with ExitStack() as stack:
        async with anyio.create_task_group() as tasks:
            for fault in faults:
                for group in groups:
                    tasks.start_soon(meet, fault, stack.enter_context(Sandbox()), group)
    assert outcomes == wanted


@pytest.mark.parametrize("group", GROUPS)
async def test_every_write(group: str) -> None:
    """A write that was executed is found and not repeated; any other is repeated, or unknown without being executed."""
    await check(GROUPS[group], (*EXECUTED, *NOT_EXECUTED))


async def test_endless_responses() -> None:
    """The lookup begins before the time of the call is over, and finds that the write was executed."""
    await check(ONE_FOR_EACH_LOOKUP, ENDLESS, ENDLESS_SECONDS)


async def test_fault_groups() -> None:
    """They miss no fault but `refuse`, whose requests do not arrive."""
    assert {*EXECUTED, *NOT_EXECUTED, *ENDLESS, "refuse"} == FAULTS.keys()


@pytest.mark.parametrize(
    "fault", ["close_after_commit", "error_after_commit", "cut_body", "garbage", *NOT_EXECUTED[:2]]
)
async def test_unnamed_writes(sandbox: Sandbox, fault: Any) -> None:
    """Without an integrator id nothing is looked up or repeated."""
    sale = {"action": "sale", "payment_method": "cc", "transaction_amount": "12.50", **CARD}
    sale["location_id"] = sandbox.location_id
    reads = [f"GET /v2/{plural}{record}" for plural in ("tags", "transactions") for record in ("", "/{id}")]
    for read in reads:
        sandbox.fault(read, "refuse", nth=1000)  # it only counts requests
    async with sandbox.gateway() as gateway:
        writes = {
            "POST /v2/tags": gateway.tags.create(TagCreate(title="Rent")),
            "POST /v2/transactions": gateway.request("POST", "/v2/transactions", body={"transaction": sale}),
        }
        for operation, write in writes.items():
            sandbox.fault(operation, fault)
            with pytest.raises(OutcomeUnknownError):
                await write
    assert {plan["operation"]: plan["seen"] for plan in sandbox.faults()} == {
        **dict.fromkeys(reads, 0),
        **dict.fromkeys(writes, 1),
    }
    assert len(sandbox.ledger()["transactions"]) == (fault not in NOT_EXECUTED)
