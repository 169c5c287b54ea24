"""What Dask runs in a worker: one shard at a time, and what it is asked and told meanwhile."""

from typing import Any, Final

import anyio
import attrs

from gateway_async.errors import GatewayError, InvalidRequestError
from gateway_async.migration.report import Report
from gateway_async.migration.sharding import ShardResult, ShardWork

__all__ = ["TICK_SECONDS", "carry_out", "ready", "stop"]

TICK_SECONDS: Final = 0.5
"""How often a shard tells how it stands, and its news is looked at."""

_ASKED: Final = "it was asked to stop"
_stopping: set[str] = set()
"""Migrations that were asked to stop."""


async def ready(work: ShardWork) -> str:
    """What keeps this worker from beginning, or ""."""
    try:
        work.check_file()
        await work.check_client()
    except InvalidRequestError as error:
        return "; ".join(error.problems)
    except GatewayError as error:
        return str(error)
    return ""


def stop(migration: str) -> None:
    """Have the shards of a migration that are carried out here finish what is under way."""
    _stopping.add(migration)


def carry_out(migration: str, work: ShardWork, shard: Any) -> ShardResult:
    """What Dask runs."""
    from distributed import get_worker

    teller = _Teller(get_worker(), migration, shard)

    def stop_when(_report: Report) -> str | None:
        return _ASKED if migration in _stopping else None

    return work.carry_out(shard, stop_when=stop_when, on_progress=teller.tell)


class _Teller:
    """Tells how a shard stands, now and then."""

    def __init__(self, worker: Any, migration: str, shard: Any) -> None:
        self._worker = worker
        self._migration = migration
        self._start = shard.start
        self._next = float("-inf")

    def tell(self, report: Report) -> None:
        """Tell, unless it was just told."""
        now = anyio.current_time()
        if now >= self._next:
            self._next = now + TICK_SECONDS
            facts = attrs.asdict(report, filter=attrs.filters.exclude("samples"))
            self._worker.log_event(self._migration, {"shard": self._start, "report": facts})
