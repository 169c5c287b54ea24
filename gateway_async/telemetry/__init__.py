"""Traces, metrics and health of a client.

`opentelemetry` records the events of `gateway_async.observe`. Start there. Its names can be imported from here.
"""

from typing import TYPE_CHECKING

from gateway_async._lazy_index import lazy_index

if TYPE_CHECKING:
    from gateway_async.telemetry.health import Health, PoolUse
    from gateway_async.telemetry.opentelemetry import OpenTelemetryObserver, trace_headers
    from gateway_async.telemetry.readiness import Readiness

__all__ = ["Health", "OpenTelemetryObserver", "PoolUse", "Readiness", "trace_headers"]

_MODULES = {
    "Health": "telemetry.health",
    "OpenTelemetryObserver": "telemetry.opentelemetry",
    "PoolUse": "telemetry.health",
    "Readiness": "telemetry.readiness",
    "trace_headers": "telemetry.opentelemetry",
}

if not TYPE_CHECKING:  # otherwise type checkers would accept every misspelt name as `Any`
    __getattr__, __dir__ = lazy_index(__name__, _MODULES)
