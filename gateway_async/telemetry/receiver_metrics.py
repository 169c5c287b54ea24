"""`ReceiverMetrics`: the health of a postback receiver as metrics. It needs the extra `otel`."""

from typing import Final, Protocol

import anyio

from gateway_async.telemetry.meter import MeterProvider, TotalCounter, open_meter
from gateway_async.telemetry.receiver_health import InboxHealth, ReceiverHealth

__all__ = ["ReceiverMetrics"]

_GAUGES: Final = {
    "available": ("1", "1 if the inbox can be read, otherwise 0."),
    "waiting": ("{postback}", "Postbacks that are not handled yet."),
    "in_progress": ("{postback}", "Postbacks that a worker is handling."),
    "retrying": ("{record}", "Records whose next postback has failed and waits for its retry."),
    "dead": ("{postback}", "Postbacks whose handlers have failed too often."),
    "oldest": ("s", "Age of the oldest waiting postback; 0 if nothing waits."),
}


class _Receiver(Protocol):
    async def health(self) -> ReceiverHealth: ...


class ReceiverMetrics:
    """Records the health of one receiver as metrics; use a new one for each receiver.

        tasks.start_soon(ReceiverMetrics().watch, receiver)

    Args:
        meter_provider: creates the metrics; by default the global one.
    """

    def __init__(self, *, meter_provider: MeterProvider | None = None) -> None:
        meter = open_meter(meter_provider)
        self._responses = TotalCounter(
            meter.create_counter("gateway_async.postbacks.responses", "{response}", "Responses to postback requests.")
        )
        self._attempts = TotalCounter(
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
