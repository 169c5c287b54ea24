"""`MigrationMetrics`: the progress of a migration as metrics. It needs the extra `otel`."""

from typing import Protocol

from gateway_async.telemetry.meter import MeterProvider, TotalCounter, open_meter

__all__ = ["MigrationMetrics"]


class _Report(Protocol):
    """The numbers of a migration's `Report`."""

    stored: int
    rejected: int
    repeated: int
    unknown: int
    skipped: int
    failed_attempts: int
    in_flight: int
    limit: int


class MigrationMetrics:
    """Records the progress of one migration as metrics; use a new one for each migration.

        await migrate_vaults(gateway, rows, journal="cards.db", on_progress=MigrationMetrics().record)

    The rate of the migration is the increase of `gateway_async.migration.rows` over time.

    Args:
        meter_provider: creates the metrics; by default the global one.
    """

    def __init__(self, *, meter_provider: MeterProvider | None = None) -> None:
        meter = open_meter(meter_provider)
        self._rows = TotalCounter(
            meter.create_counter("gateway_async.migration.rows", "{row}", "Rows that have ended.")
        )
        self._failed = meter.create_gauge(
            "gateway_async.migration.failed_attempts", "{attempt}", "Failed attempts since the start."
        )
        self._calls = meter.create_gauge("gateway_async.migration.calls", "{call}", "Calls in progress.")
        self._limit = meter.create_gauge("gateway_async.migration.limit", "{call}", "Concurrent calls allowed.")

    def record(self, report: _Report) -> None:
        """Record the report of a migration; pass this method as `on_progress`."""
        rows = {
            "stored": report.stored,
            "rejected": report.rejected,
            "repeated": report.repeated,
            "unknown": report.unknown,
            "skipped": report.skipped,
        }
        self._rows.record("gateway_async.result", rows)
        self._failed.set(report.failed_attempts)
        self._calls.set(report.in_flight)
        self._limit.set(report.limit)
