"""Traces, metrics and health of clients, receivers and migrations.

Start at `opentelemetry`, which records the events of `gateway_async.observe`. Import all names from here; those that
need the extra `otel` load it on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateway_async.telemetry.health import Health, InboxHealth, PoolUse, Readiness, ReceiverHealth

if TYPE_CHECKING:
    from gateway_async.telemetry.metrics import MigrationMetrics, ReceiverMetrics
    from gateway_async.telemetry.opentelemetry import OpenTelemetryObserver, trace_headers

__all__ = [
    "Health",
    "InboxHealth",
    "MigrationMetrics",
    "OpenTelemetryObserver",
    "PoolUse",
    "Readiness",
    "ReceiverHealth",
    "ReceiverMetrics",
    "trace_headers",
]

_OF_THE_EXTRA = {
    "MigrationMetrics": "metrics",
    "OpenTelemetryObserver": "opentelemetry",
    "ReceiverMetrics": "metrics",
    "trace_headers": "opentelemetry",
}
"""Name → the module that defines it and imports OpenTelemetry."""


def __dir__() -> list[str]:
    return [*globals(), *_OF_THE_EXTRA]


if not TYPE_CHECKING:  # otherwise type checkers would accept every misspelled name as `Any`

    def __getattr__(name: str) -> Any:
        if name not in _OF_THE_EXTRA:
            msg = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return getattr(import_module(f"{__name__}.{_OF_THE_EXTRA[name]}"), name)
