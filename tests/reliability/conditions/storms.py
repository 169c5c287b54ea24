"""Storms: the gateway rejects every request for a while, then recovers."""

from collections import Counter
from functools import partial
from typing import Final

import anyio
import attrs

from gateway_async import AsyncGateway, GatewayError
from gateway_async._execution.circuit_breaker import DEPOSIT, MAX_BALANCE
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.http.request_log import LoggedRequest
from gateway_async.sandbox.simulators.faults import FaultName
from tests.reliability import protections
from tests.reliability.condition import Condition, Result
from tests.reliability.duplicate_ids import accept_duplicate_ids
from tests.reliability.traffic import CONCURRENCY, Traffic, compare

_CALLS: Final = ("POST /v2/transactions", "GET /v2/contacts/{id}")
_LOOKUPS: Final = ("GET /v2/transactions/{id}", "GET /v2/transactions")
_RECOVERY_SHARE: Final = 5
"""The count of a storm divided by the count of its recovery."""


class _Reads:
    """Ordinary reads, of which only the failures are counted."""

    def __init__(self, gateway: AsyncGateway, contact_id: str) -> None:
        self._gateway = gateway
        self._contact_id = contact_id
        self.failed = 0

    async def run(self, number: int) -> None:
        """Send so many reads."""
        left = iter(range(number))

        async def work() -> None:
            for _ in left:
                try:
                    await self._gateway.contacts.get(self._contact_id)
                except GatewayError:
                    self.failed += 1

        async with anyio.create_task_group() as tasks:
            for _ in range(CONCURRENCY):
                tasks.start_soon(work)


def _apply(fault: FaultName, count: int, *, with_lookups: bool) -> Result:
    """Send `count` sales and `count` reads during a storm, and a share of them after it."""
    requests = Counter[str]()

    def count_request(request: LoggedRequest) -> None:
        requests[f"{request.method} {request.path.removesuffix(sandbox.contact_id)}"] += 1

    with accept_duplicate_ids(), Sandbox(on_request=count_request) as sandbox:
        for operation in (*_CALLS, *(_LOOKUPS if with_lookups else ())):
            sandbox.fault(operation, fault, probability=1.0, retry_after=0.05)
        return anyio.run(_send, sandbox, requests, count)


async def _send(sandbox: Sandbox, requests: Counter[str], count: int) -> Result:
    async with sandbox.gateway(in_doubt_seconds=2.0, timeout=8.0) as gateway:
        traffic, reads = Traffic(gateway, resolves=False), _Reads(gateway, sandbox.contact_id)
        await _send_both(traffic, reads, count)
        sent = requests["POST /v2/transactions"] + requests["GET /v2/contacts/"]
        sandbox.clear_faults()
        in_storm, reads.failed = len(traffic.writes), 0
        await _send_both(traffic, reads, max(1, count // _RECOVERY_SHARE))
        failed = reads.failed + sum(write.outcome != "done" for write in traffic.writes[in_storm:])
        await traffic.resolve_all()
    return _evaluate(compare(traffic.writes, sandbox), calls=2 * count, sent=sent, failed=failed)


async def _send_both(traffic: Traffic, reads: _Reads, number: int) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(traffic.sell_many, number)
        tasks.start_soon(reads.run, number)


def _evaluate(result: Result, *, calls: int, sent: int, failed: int) -> Result:
    """Add the requests during the storm, and the failures after it."""
    allowed = calls + int(MAX_BALANCE + DEPOSIT * calls)
    problems = [*result.problems]
    if sent > allowed:
        problems.append(f"{calls:,} calls sent {sent:,} requests during the storm (expected at most {allowed:,})")
    if failed:
        problems.append(f"{failed:,} calls failed after the storm")
    note = f"{calls:,} calls sent {sent:,} requests during the storm; the retry budget allows {allowed:,}"
    return attrs.evolve(result, problems=tuple(problems), notes=(*result.notes, note))


STORM_CONDITIONS: Final = (
    Condition(
        key="storm-429",
        text="every sale and read is rejected with 429, then the gateway recovers",
        count=5000,
        short_count=100,
        run=partial(_apply, "rate_limit", with_lookups=False),
        protections={"retry-budget": protections.retry_budget},
    ),
    Condition(
        key="storm-503",
        text="everything, also each lookup, is rejected with 503, then the gateway recovers",
        count=5000,
        short_count=100,
        run=partial(_apply, "unavailable", with_lookups=True),
    ),
    Condition(
        key="storm-500",
        text="everything is executed and answered with 500, then the gateway recovers",
        count=5000,
        short_count=100,
        run=partial(_apply, "error_after_commit", with_lookups=True),
    ),
)
