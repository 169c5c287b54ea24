"""Functions that Dask runs in a worker: run a shard, report its progress, and stop."""

import asyncio
from typing import Any, Final

import anyio
import attrs

from gateway_async.errors import GatewayError, InvalidRequestError
from gateway_async.migration.distributed.shard_job import ShardJob, ShardResult
from gateway_async.migration.report import Report

__all__ = ["TICK_SECONDS", "find_problem", "run_shard", "stop_shards"]

TICK_SECONDS: Final = 0.5
"""Seconds between two progress reports of a shard, and between two updates of the coordinator."""

_STOP_REASON: Final = "the coordinator asked to stop"
_stopping: set[str] = set()
"""Ids of migrations that were asked to stop."""


async def find_problem(job: ShardJob) -> str:
    """Return why this worker is not able to start, or ""."""
    try:
        job.check_file()
        async with job.gateway():
            return ""
    except InvalidRequestError as error:
        return "; ".join(error.problems)
    except GatewayError as error:
        return str(error)


def stop_shards(migration: str) -> None:
    """Stop the shards of a migration in this worker."""
    _stopping.add(migration)


def run_shard(migration: str, job: ShardJob, shard: Any, quota: int | None = None) -> ShardResult:
    """Run one shard in a Dask worker, on a new event loop."""
    from distributed import get_worker

    sender = _ProgressSender(get_worker(), migration, shard)

    def stop_when(_report: Report) -> str | None:
        return _STOP_REASON if migration in _stopping else None

    return asyncio.run(job.run_shard(shard, quota=quota, stop_when=stop_when, on_progress=sender.send))


class _ProgressSender:
    """Sends the progress of a shard to the coordinator from time to time."""

    def __init__(self, worker: Any, migration: str, shard: Any) -> None:
        self._worker = worker
        self._migration = migration
        self._start = shard.start
        self._next = float("-inf")

    def send(self, report: Report) -> None:
        """Send the report, unless one was just sent."""
        now = anyio.current_time()
        if now >= self._next:
            self._next = now + TICK_SECONDS
            values = attrs.asdict(report, filter=attrs.filters.exclude("samples", "started_at", "ended_at", "totals"))
            self._worker.log_event(self._migration, {"shard": self._start, "report": values})
