"""Writes under faults: each fault of the sandbox by itself, and all of them at once."""

from functools import partial
from typing import Any, Final, cast

import anyio

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import FAULTS, FaultName
from tests.reliability import protections
from tests.reliability.condition import Condition, Protection, Result
from tests.reliability.duplicate_ids import accept_duplicate_ids
from tests.reliability.traffic import Traffic, compare

_OPERATIONS: Final = ("POST /v2/transactions", "POST /v2/accountvaults", "PUT /v2/transactions/{id}")
_PROBABILITY: Final = 0.15
_FAULT_SECONDS: Final = 0.02
_TERMINALS: Final = 32
_OPTIONS: Final[dict[str, Any]] = {"timeout": 8.0, "in_doubt_seconds": 2.0, "max_attempts": 4}
_SLOW_FAULTS: Final = frozenset({"drip", "silence"})
_SLOW_OPTIONS: Final = _OPTIONS | {"timeout": 1.5}
"""For faults that end each affected attempt at its time-out."""

_TERMINAL_SECONDS: Final = 8.0

_PROTECTIONS: Final[dict[str, dict[str, Protection]]] = {
    "close_after_commit": {"lookup-before-repeat": protections.lookup_before_repeat},
    "wrong_response": {"response-matching": protections.check_of_responses},
}
"""Fault → what protects a program from it, for the faults where a run shows it."""


def _apply_fault(fault: FaultName, count: int) -> Result:
    """Send writes until the fault has affected `count` of them, and compare them with the ledger."""
    with accept_duplicate_ids(), Sandbox() as sandbox:
        for seed, operation in enumerate(_OPERATIONS):
            sandbox.fault(
                operation, fault, probability=_PROBABILITY, seed=seed, seconds=_FAULT_SECONDS, retry_after=None
            )
        return anyio.run(_send_until, sandbox, _SLOW_OPTIONS if fault in _SLOW_FAULTS else _OPTIONS, count)


async def _send_until(sandbox: Sandbox, options: dict[str, Any], count: int) -> Result:
    async with sandbox.gateway(**options) as gateway:
        traffic = Traffic(gateway)
        while (affected := sum(plan["affected"] for plan in sandbox.faults())) < count:
            await traffic.run(max(10, round(1.2 * (count - affected) / _PROBABILITY)))
    return compare(traffic.writes, sandbox, affected)


async def _send_at_terminals(sandbox: Sandbox, count: int) -> Result:
    options = _OPTIONS | {"terminal_timeout": _TERMINAL_SECONDS}
    async with sandbox.gateway(**options) as gateway:
        traffic = Traffic(gateway, [sandbox.add_terminal() for _ in range(_TERMINALS)])
        await traffic.run(count)
    return compare(traffic.writes, sandbox)


async def _send(sandbox: Sandbox, count: int) -> Result:
    async with sandbox.gateway(**_OPTIONS) as gateway:
        traffic = Traffic(gateway)
        await traffic.run(count)
    return compare(traffic.writes, sandbox)


def _apply_all_faults(backend: str, count: int) -> Result:
    """Send writes while each fault affects 2 % of them and of their lookups; many of them also at terminals."""
    with accept_duplicate_ids(), Sandbox(terminal_delay=0.0) as sandbox:
        sandbox.scenario("a bad day")
        if count < _WITH_TERMINALS:
            return anyio.run(_send, sandbox, count, backend=backend)
        sandbox.scenario("a bad day for lookups")
        return anyio.run(_send_at_terminals, sandbox, count, backend=backend)


_WITH_TERMINALS: Final = 1000
"""The smallest count with sales at terminals, whose unknown outcomes need half a minute to be certain."""

FAULT_CONDITIONS: Final = (
    *(
        Condition(
            key=f"fault-{fault.replace('_', '-')}",
            text=f"the fault `{fault}` affects writes",
            count=1000,
            short_count=20,
            run=partial(_apply_fault, cast("FaultName", fault)),
            protections=_PROTECTIONS.get(fault, {}),
        )
        for fault in FAULTS
    ),
    *(
        Condition(
            key=f"bad-day-{backend}",
            text=f"each of the {len(FAULTS)} faults affects 2 % of writes and lookups, on {backend}",
            count=10_000,
            short_count=150,
            run=partial(_apply_all_faults, backend),
        )
        for backend in ("asyncio", "trio")
    ),
)
