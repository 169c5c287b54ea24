"""Traces, metrics and health of clients, receivers and migrations.

`opentelemetry` records the events of `gateway_async.observe`. Start there. Its names can be imported from here.
"""

from typing import TYPE_CHECKING

from gateway_async._lazy_index import lazy_index

if TYPE_CHECKING:
    from gateway_async.telemetry.health import Health, PoolUse
    from gateway_async.telemetry.migration_metrics import MigrationMetrics
    from gateway_async.telemetry.opentelemetry import OpenTelemetryObserver, trace_headers
    from gateway_async.telemetry.readiness import Readiness
    from gateway_async.telemetry.receiver_health import InboxHealth, ReceiverHealth
    from gateway_async.telemetry.receiver_metrics import ReceiverMetrics

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

_MODULES = {
    "Health": "telemetry.health",
    "InboxHealth": "telemetry.receiver_health",
    "MigrationMetrics": "telemetry.migration_metrics",
    "OpenTelemetryObserver": "telemetry.opentelemetry",
    "PoolUse": "telemetry.health",
    "Readiness": "telemetry.readiness",
    "ReceiverHealth": "telemetry.receiver_health",
    "ReceiverMetrics": "telemetry.receiver_metrics",
    "trace_headers": "telemetry.opentelemetry",
}

if not TYPE_CHECKING:  # otherwise type checkers would accept every misspelt name as `Any`
    __getattr__, __dir__ = lazy_index(__name__, _MODULES)
