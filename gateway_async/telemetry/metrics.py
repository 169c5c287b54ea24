"""`MigrationMetrics` and `ReceiverMetrics`: metrics of migrations and receivers. They need the extra `otel`."""

from collections.abc import Mapping
from typing import Final, Protocol

import anyio
import attrs

from gateway_async._extras import missing_extra
from gateway_async.telemetry.health import InboxHealth, ReceiverHealth

try:
    from opentelemetry import metrics
    from opentelemetry.metrics import Counter, Meter, MeterProvider
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(missing_extra(missing.name, extra="otel", user="metrics"), name=missing.name) from None

_SCOPE: Final = "gateway_async"

_GAUGES: Final = {
    "available": ("1", "1 if the inbox can be read, otherwise 0."),
    "waiting": ("{postback}", "Postbacks that are not handled yet."),
    "in_progress": ("{postback}", "Postbacks that a worker is handling."),
    "retrying": ("{record}", "Records whose next postback has failed and waits for its retry."),
    "dead": ("{postback}", "Postbacks whose handlers have failed too often."),
    "oldest": ("s", "Age of the oldest waiting postback; 0 if nothing waits."),
}


def _open_meter(provider: MeterProvider | None) -> Meter:
    """Return the package's meter; by default the global provider's."""
    return metrics.get_meter(_SCOPE, meter_provider=provider)


@attrs.define(eq=False)
class _TotalCounter:
    """A counter that is given totals instead of increases.

    Args:
        counter: gets the increases.
    """

    _counter: Counter = attrs.field(alias="counter")
    _totals: dict[str | int, int] = attrs.field(init=False, factory=dict)

    def record(self, attribute: str, totals: Mapping[str, int] | Mapping[int, int]) -> None:
        """Record the total of each value of an attribute."""
        for value, total in totals.items():
            if increase := total - self._totals.get(value, 0):
                self._counter.add(increase, {attribute: value})
                self._totals[value] = total


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
        meter = _open_meter(meter_provider)
        self._rows = _TotalCounter(
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


class _Receiver(Protocol):
    async def health(self) -> ReceiverHealth: ...


class ReceiverMetrics:
    """Records the health of one receiver as metrics; use a new one for each receiver.

        tasks.start_soon(ReceiverMetrics().watch, receiver)

    Args:
        meter_provider: creates the metrics; by default the global one.
    """

    def __init__(self, *, meter_provider: MeterProvider | None = None) -> None:
        meter = _open_meter(meter_provider)
        self._responses = _TotalCounter(
            meter.create_counter("gateway_async.postbacks.responses", "{response}", "Responses to postback requests.")
        )
        self._attempts = _TotalCounter(
            meter.create_counter("gateway_async.postbacks.attempts", "{attempt}", "Attempts to handle a postback.")
        )
        self._gauges = {
            name: meter.create_gauge(f"gateway_async.inbox.{name}", *facts) for name, facts in _GAUGES.items()
        }

    async def watch(self, receiver: _Receiver, *, interval: float = 15.0) -> None:
        """Record the health of a receiver every `interval` seconds.

        It returns only if its task is cancelled.
        """
        while True:
            self.record(await receiver.health())
            await anyio.sleep(interval)

    def record(self, health: ReceiverHealth) -> None:
        """Record `await receiver.health()`."""
        self._responses.record("http.response.status_code", health.responses)
        self._attempts.record("gateway_async.outcome", {"done": health.handled, "failed": health.failed})
        if health.inbox is not None:
            self._record_inbox(health.inbox)
        elif health.inbox_problem is not None:
            self._gauges["available"].set(0)

    def _record_inbox(self, inbox: InboxHealth) -> None:
        self._gauges["available"].set(1)
        self._gauges["waiting"].set(inbox.waiting)
        self._gauges["in_progress"].set(inbox.in_progress)
        self._gauges["retrying"].set(inbox.retrying)
        self._gauges["dead"].set(inbox.dead)
        self._gauges["oldest"].set(inbox.oldest_seconds or 0.0)
