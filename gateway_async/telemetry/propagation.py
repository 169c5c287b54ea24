"""Propagation of the current trace to the gateway, in headers of each request."""

from collections.abc import Callable, Mapping
from typing import Final

from gateway_async.observe import logger

__all__ = ["TraceHeaders", "read_trace_headers"]

TraceHeaders = Callable[[], Mapping[str, str]]
"""Returns the headers that identify the current trace."""

_NAMES: Final = frozenset({"traceparent", "tracestate", "baggage"})
"""Headers of W3C Trace Context and Baggage.

Others are not sent, so that the function can replace neither credentials nor the length of a body.
"""


def read_trace_headers(trace_headers: TraceHeaders) -> list[tuple[bytes, bytes]]:
    """Return the valid headers; log a failure and return none, because the call must continue."""
    try:
        fields = [(name, value) for name, value in trace_headers().items() if name.lower() in _NAMES]
        return [(name.encode("ascii"), value.encode("ascii")) for name, value in fields if value.isprintable()]
    except Exception:  # noqa: BLE001  telemetry must not fail a payment
        logger.exception("trace_headers failed")
        return []
