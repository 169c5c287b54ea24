"""Every write meets every fault: it is done once, or its outcome is unknown."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import anyio
import pytest

from gateway_async import OutcomeUnknownError, RateLimitError, TagCreate
from gateway_async.sandbox import Sandbox
from tests.support.waiting import PATIENCE

from .operations import ENDLESS, EXECUTED, GROUPS, NOT_EXECUTED, Make, Operation

# It waits for real silences, and the decision table is tried on both event loops.
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


ENDLESS_SECONDS = 30.0
"""The time of a call whose response does not end: a third of it is for the lookup, when the other calls have ended."""


def shown(record: Any, names: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the fields of a record; None for no record."""
    return record and {name: getattr(record, name) for name in names or {}}


async def strike(operation: Operation, sandbox: Sandbox) -> Any:
    """Return what the response shows, or the error, what is read afterwards, and how often the write was sent."""
    try:
        outcome: Any = shown(await operation.write(), operation.after)
    except (OutcomeUnknownError, RateLimitError) as error:
        outcome = type(error)
    found = shown(await operation.read(), operation.after)
    (sent,) = [plan["seen"] for plan in sandbox.faults() if plan["operation"] == operation.request]
    return outcome, found, sent


def expected(operation: Operation, fault: str) -> Any:
    """Return what a fault should lead to."""
    if fault not in NOT_EXECUTED:
        return operation.after, operation.after, 1
    if operation.is_repeated:
        return operation.after, operation.after, 2
    return RateLimitError if fault == "rate_limit" else OutcomeUnknownError, operation.before, 1


@pytest.mark.parametrize("group", GROUPS)
async def test_every_write(group: str) -> None:
    """A write that was executed is found and not repeated; any other is repeated, or unknown without being executed."""
    outcomes: dict[tuple[str, ...], Any] = {}
    wanted: dict[tuple[str, ...], Any] = {}

    async def meet(fault: str, sandbox: Sandbox, options: Mapping[str, Any], makers: Sequence[Make]) -> None:
        seconds = ENDLESS_SECONDS if fault in ENDLESS else PATIENCE
        async with sandbox.gateway(timeout=seconds, **options) as gateway:
            prepared = {make.__name__: await make(gateway, sandbox) for make in makers}
            async with anyio.create_task_group() as tasks:
                for name, operation in prepared.items():
                    if fault in operation.faults:
                        sandbox.fault(operation.request, fault, seconds=0.5, retry_after=0.1)  # type: ignore[arg-type]
                        wanted[name, *options, fault] = expected(operation, fault)
                        tasks.start_soon(note, (name, *options, fault), operation, sandbox)

    async def note(key: tuple[str, ...], operation: Operation, sandbox: Sandbox) -> None:
        outcomes[key] = await strike(operation, sandbox)

    with ExitStack() as stack:
        async with anyio.create_task_group() as tasks:
            for fault in (*EXECUTED, *NOT_EXECUTED, *ENDLESS):
                for options, makers in GROUPS[group]:
                    tasks.start_soon(meet, fault, stack.enter_context(Sandbox()), options, makers)
    assert outcomes == wanted


@pytest.mark.parametrize(
    "fault", ["close_after_commit", "error_after_commit", "cut_body", "garbage", *NOT_EXECUTED[:2]]
)
async def test_unnamed_writes(sandbox: Sandbox, fault: Any) -> None:
    """Without an integrator id nothing is looked up or repeated."""
    async with sandbox.gateway() as gateway:
        writes = {
            "POST /v2/tags": gateway.tags.create(TagCreate(title="Rent")),
            "POST /v2/transactions": gateway.request("POST", "/v2/transactions", body={"transaction": {}}),
        }
        for operation, write in writes.items():
            sandbox.fault(operation, fault)
            with pytest.raises(OutcomeUnknownError):
                await write
    assert [plan["seen"] for plan in sandbox.faults()] == [1, 1]
