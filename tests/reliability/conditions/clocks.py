"""Clocks that jump by an hour or a day, in the client or in the gateway."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Self
from unittest.mock import patch

import anyio
import attrs

from gateway_async import AsyncGateway, HashKey, SqliteLedger
from gateway_async._execution import recorder
from gateway_async.ledger import store as ledger_store
from gateway_async.sandbox import Sandbox
from tests.reliability import protections
from tests.reliability.condition import Condition, Result
from tests.reliability.duplicate_ids import accept_duplicate_ids
from tests.reliability.traffic import Traffic, Write, compare

_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR
_SHIFTS: Final = (_HOUR, -_HOUR, _DAY, -_DAY)
_SALE: Final = "POST /v2/transactions"
_LOOKUP: Final = "GET /v2/transactions/{id}"
_LATE: Final = 5
"""Sales of each round that the gateway executes only after the client has given up, and its clock has jumped."""

_CLOCK_USERS: Final[tuple[ModuleType, ...]] = (recorder, ledger_store)
"""Modules of the client that read the wall clock as a `datetime`."""

Shift = Callable[[Sandbox, float], Any]
"""Move a clock by some seconds within a block."""


@contextmanager
def _shift_client(_sandbox: Sandbox, seconds: float) -> Iterator[None]:
    """Move the wall clock of the client; the sandbox and monotonic clocks do not follow it."""

    class ShiftedDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            shifted: Any = datetime.now(tz) + timedelta(seconds=seconds)
            return shifted  # type: ignore[no-any-return]

    true_time = time.time
    with ExitStack() as stack:
        stack.enter_context(patch.object(time, "time", lambda: true_time() + seconds))
        for module in _CLOCK_USERS:
            stack.enter_context(patch.object(module, "datetime", ShiftedDatetime))
        yield


@contextmanager
def _shift_gateway(sandbox: Sandbox, seconds: float) -> Iterator[None]:
    """Move the clock of the sandbox."""
    sandbox.advance(seconds)
    try:
        yield
    finally:
        sandbox.advance(-seconds)


def _apply(shift: Shift, count: int) -> Result:
    """Send writes in four rounds, each with a jump in the middle."""
    with accept_duplicate_ids(), Sandbox() as sandbox, tempfile.TemporaryDirectory() as folder:
        return anyio.run(_send_rounds, sandbox, Path(folder), shift, count // len(_SHIFTS))


async def _send_rounds(sandbox: Sandbox, folder: Path, shift: Shift, count: int) -> Result:
    writes: list[Write] = []
    problems: list[str] = []
    for number, seconds in enumerate(_SHIFTS):
        sandbox.fault(_SALE, "close_after_commit", probability=0.2, seed=number)
        clock = partial(shift, sandbox, seconds)
        ledger = folder / f"{number}.db"
        async with sandbox.gateway(ledger=SqliteLedger(ledger), in_doubt_seconds=2.0) as gateway:
            traffic = Traffic(gateway, prefix=f"round-{number}")
            await traffic.run(count // 2)
            with clock():
                await traffic.run(count // 2)
            sandbox.clear_faults()
            problems += [f"{each.call} is open after the round" for each in await gateway.recover(wait=0)]
        writes += traffic.writes
        signed, failed = await _sell_with_hash_key(sandbox, number, count, clock)
        writes += signed
        problems += [f"{write.name} was {write.outcome} with equal clocks" for write in failed]
        writes += await _sell_late(sandbox, number, folder / f"late-{number}.db", clock)
    result = compare(writes, sandbox)
    return attrs.evolve(result, problems=(*result.problems, *problems))


async def _sell_with_hash_key(
    sandbox: Sandbox, number: int, count: int, clock: Callable[[], Any]
) -> tuple[list[Write], list[Write]]:
    """Send signed sales while the clocks differ, and after that.

    A rejected signature charges nothing. Returns all sales, and those of the second part that were not accepted.
    """
    credentials = HashKey(sandbox.user_id, sandbox.user_hash_key)
    async with sandbox.gateway(credentials=credentials) as gateway:
        traffic = Traffic(gateway, prefix=f"signed-{number}")
        with clock():
            await traffic.sell_many(count // 4)
        sent = len(traffic.writes)
        await traffic.sell_many(count // 4)
    return traffic.writes, [write for write in traffic.writes[sent:] if write.outcome != "done"]


async def _sell_late(sandbox: Sandbox, number: int, ledger: Path, clock: Callable[[], Any]) -> list[Write]:
    """Lose sales before they are executed, recover after the jump, execute them, and recover again."""
    names = [f"late-{number}-{each}" for each in range(_LATE)]
    sandbox.fault(_SALE, "reset_before_commit", times=_LATE)
    sandbox.fault(_LOOKUP, "unavailable", probability=1.0)
    async with sandbox.gateway(ledger=SqliteLedger(ledger), max_attempts=1) as gateway:
        await _sell_each(Traffic(gateway, resolves=False), names)
    sandbox.clear_faults()
    with clock():
        async with sandbox.gateway(ledger=SqliteLedger(ledger)) as gateway:
            first = await _recovered(gateway)
            async with sandbox.gateway() as other:  # as if the gateway had received them only now
                await _sell_each(Traffic(other), names)
            last = await _recovered(gateway)
    return [
        Write("charged", name, first[name] if first[name] != "unknown" else last.get(name, "unknown")) for name in names
    ]


async def _sell_each(traffic: Traffic, names: list[str]) -> None:
    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(traffic.sell, name)


_OUTCOMES: Final = {"found": "done", "not_made": "unknown, then not made", "unknown": "unknown"}


async def _recovered(gateway: AsyncGateway) -> dict[str, str]:
    """Recover the ledger without waiting; return the outcome of each id."""
    return {str(each.api_id): _OUTCOMES[each.outcome] for each in await gateway.recover(wait=0)}


def _condition(side: str, text: str, shift: Shift, **options: Any) -> Condition:
    return Condition(
        key=f"clock-{side}",
        text=f"the clock of the {text} jumps by ± 1 hour and ± 1 day",
        count=4000,
        short_count=80,
        run=partial(_apply, shift),
        **options,
    )


CLOCK_CONDITIONS: Final = (
    _condition("client", "client", _shift_client, protections={"monotonic-doubt": protections.monotonic_doubt}),
    _condition("gateway", "gateway", _shift_gateway),
)
