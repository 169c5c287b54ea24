"""`OpenTelemetryObserver`: traces and metrics of a client's calls. It needs the extra `otel`.

    AsyncGateway(..., observers=[OpenTelemetryObserver()], trace_headers=trace_headers)

Names follow the semantic conventions for HTTP clients, or begin with `gateway_async`. Attributes contain no card
number, no secret and no text of an error. Attributes of metrics have few values: a call is its template, such as
`/v2/contacts/{id}`.
"""

from contextvars import Token
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

import attrs

from gateway_async._extras import missing_extra
from gateway_async._secrets import mask_text
from gateway_async.errors import NotSentError, OutcomeUnknownError
from gateway_async.observe import (
    AttemptEnded,
    AttemptFailed,
    AttemptStarted,
    CallEnded,
    CallStarted,
    Event,
    LeaseRenewalFailed,
    LookupOutcome,
    LookupStarted,
    OutcomeLookedUp,
    RecordDiffers,
    RetryBudgetExhausted,
    TerminalWaitEnded,
    TerminalWaitStarted,
)
from gateway_async.telemetry.health import Health, Readiness

try:
    from opentelemetry import context, metrics, propagate, trace
    from opentelemetry.trace import Span, SpanKind, StatusCode
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        missing_extra(missing.name, extra="otel", user="OpenTelemetryObserver"), name=missing.name
    ) from None

_SCOPE: Final = "gateway_async"
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300)
"""Boundaries of durations: the semantic conventions', and longer ones for terminals."""

_ATTEMPTS: Final = (1, 2, 3, 5, 10)

_GAUGES: Final = {
    "connections.in_use": ("{call}", "Calls that have a connection."),
    "connections.waiting": ("{call}", "Calls that wait for a connection."),
    "terminal.calls": ("{call}", "Calls at terminals or in their queues."),
    "retries_left": ("{retry}", "Retries that the retry budget allows at once."),
    "recorded_calls": ("{call}", "Calls in progress whose intent is in the ledger."),
    "open_intents": ("{call}", "Calls in the ledger without a known outcome."),
    "unknown_outcomes": ("{call}", "Calls that ended with an unknown outcome since the client was made."),
}

Attributes = dict[str, str | int | float | bool]


def trace_headers() -> dict[str, str]:
    """The headers that identify the current span, such as `traceparent`.

    Pass this function to `AsyncGateway(trace_headers=…)`. OpenTelemetry's global propagator decides which headers there
    are.
    """
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers


@attrs.define(eq=False)
class _OpenSpan:
    """A span that is the current one of its task.

    Attributes:
        event: the event that started it.
        span: the span.
        token: restores the context before it.
    """

    event: Event
    span: Span
    token: "Token[context.Context] | None" = None


class OpenTelemetryObserver:
    """Records the events of clients as spans and metrics.

    Pass it to `AsyncGateway(observers=[…])`. One observer can serve several clients, and a client needs only one. Spans
    are children of the current span of the task that makes the call. Without an OpenTelemetry SDK, it does nothing.

    Args:
        tracer_provider: creates the spans; by default the global one.
        meter_provider: creates the metrics; by default the global one.
    """

    def __init__(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._key = context.create_key("gateway_async")
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(_SCOPE, meter_provider=meter_provider)

        def seconds(name: str, description: str) -> metrics.Histogram:
            return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=_SECONDS)

        self._request_duration = seconds("http.client.request.duration", "Duration of HTTP requests.")
        self._call_duration = seconds("gateway_async.call.duration", "Duration of calls, with waits and lookups.")
        self._wait_duration = seconds("gateway_async.terminal.wait.duration", "Waits until a terminal is free.")
        self._attempts = meter.create_histogram(
            "gateway_async.call.attempts",
            "{attempt}",
            "Attempts of a call.",
            explicit_bucket_boundaries_advisory=_ATTEMPTS,
        )
        self._lookups = meter.create_counter("gateway_async.lookups", "{lookup}", "Lookups of lost writes.")
        self._gauges = {name: meter.create_gauge(f"gateway_async.{name}", *facts) for name, facts in _GAUGES.items()}
        self._counters = {
            RecordDiffers: meter.create_counter("gateway_async.differing_records", "{record}", "Differing records."),
            RetryBudgetExhausted: meter.create_counter(
                "gateway_async.retries_refused", "{retry}", "Retries that the retry budget did not allow."
            ),
            LeaseRenewalFailed: meter.create_counter(
                "gateway_async.lease_renewals_failed", "{renewal}", "Failed renewals of terminal leases."
            ),
        }

    def record_health(self, health: Health) -> None:
        """Record `gateway.health()` as gauges; call it regularly, from the event loop of the client."""
        for name, pool in (("ordinary", health.ordinary), ("terminal", health.terminal)):
            if pool is not None:
                self._gauges["connections.in_use"].set(pool.in_use, {"gateway_async.pool": name})
                self._gauges["connections.waiting"].set(pool.waiting, {"gateway_async.pool": name})
        self._gauges["terminal.calls"].set(sum(health.terminal_queues.values()))
        self._gauges["retries_left"].set(health.retries_left)
        self._gauges["recorded_calls"].set(health.recorded_calls)
        self._gauges["unknown_outcomes"].set(health.unknown_outcomes)

    def record_readiness(self, readiness: Readiness) -> None:
        """Record the open intents of `await gateway.check()` as a gauge."""
        if readiness.open_intent_count is not None:
            self._gauges["open_intents"].set(readiness.open_intent_count)

    def __call__(self, event: Event) -> None:
        """Record an event."""
        match event:
            case TerminalWaitStarted() | CallStarted() | LookupStarted() | AttemptStarted():
                self._start_span(event)
            case TerminalWaitEnded():
                self._end_wait(event)
            case AttemptEnded():
                self._end_attempt(event)
            case OutcomeLookedUp():
                self._end_lookup(event)
            case CallEnded():
                self._end_call(event)
            case AttemptFailed():
                failed = {"gateway_async.next_step": event.next_step.value} | _error(event.error)
                trace.get_current_span().add_event("attempt failed", failed)
            case RecordDiffers() | RetryBudgetExhausted() | LeaseRenewalFailed():
                self._counters[type(event)].add(1, _target(event))

    def _start_span(self, event: TerminalWaitStarted | CallStarted | LookupStarted | AttemptStarted) -> None:
        match event:
            case TerminalWaitStarted():
                self._start(event, "wait for terminal", _identity(event))
            case LookupStarted():
                self._start(event, f"look up {event.template}", _target(event) | _identity(event))
            case CallStarted():
                self._start(event, event.template, _target(event) | _identity(event))
            case AttemptStarted():
                repeated = {"http.request.resend_count": event.attempt - 1} if event.attempt > 1 else {}
                self._start(event, event.template, _request(event) | repeated, SpanKind.CLIENT)

    def _end_wait(self, event: TerminalWaitEnded) -> None:
        result = _error(event.error)
        self._end(TerminalWaitStarted, event, result)
        self._wait_duration.record(event.seconds, result)

    def _end_attempt(self, event: AttemptEnded) -> None:
        response = {} if event.status_code is None else {"http.response.status_code": event.status_code}
        result = response | _error(event.error)
        opened = self._end(AttemptStarted, event, result)
        if opened is not None and isinstance(opened.event, AttemptStarted):
            self._request_duration.record(event.seconds, _request(opened.event) | result)

    def _end_lookup(self, event: OutcomeLookedUp) -> None:
        result: Attributes = {"gateway_async.outcome": event.outcome.value, "gateway_async.cancelled": event.cancelled}
        self._end(LookupStarted, event, result, failed=event.outcome is LookupOutcome.UNKNOWN)
        self._lookups.add(1, _target(event) | result)

    def _end_call(self, event: CallEnded) -> None:
        result = {"gateway_async.outcome": _outcome(event.error)} | _error(event.error)
        self._end(CallStarted, event, result | {"gateway_async.attempts": event.attempts})
        self._call_duration.record(event.seconds, _target(event) | result)
        self._attempts.record(event.attempts, _target(event))

    def _start(self, event: Event, name: str, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL) -> None:
        """Start a span and make it the current one of the task."""
        opened = _OpenSpan(event, self._tracer.start_span(name, kind=kind, attributes=attributes))
        around = context.set_value(self._key, opened)
        opened.token = context.attach(trace.set_span_in_context(opened.span, around))

    def _end(
        self, started: type[Event], event: Event, attributes: Attributes, *, failed: bool = False
    ) -> _OpenSpan | None:
        """End the current span of an event, and return it.

        Return None if the observer was added during the call.
        """
        opened = context.get_value(self._key)
        if not isinstance(opened, _OpenSpan) or opened.token is None:
            return None
        if type(opened.event) is not started or opened.event.call_id != event.call_id:
            return None
        context.detach(opened.token)
        opened.span.set_attributes(attributes)
        if failed or "error.type" in attributes:
            opened.span.set_status(StatusCode.ERROR)  # without a text, which could name a person
        opened.span.end()
        return opened


def _target(event: Event) -> Attributes:
    """The method and the template of a call."""
    method, _, path = event.template.partition(" ")
    return {"http.request.method": method, "url.template": path}


def _identity(event: Event) -> Attributes:
    """The ids to find spans by."""
    ids = {"call_id": event.call_id, "api_id": event.api_id, "terminal_id": event.terminal_id}
    return {f"gateway_async.{name}": mask_text(value) for name, value in ids.items() if value}


def _request(event: AttemptStarted) -> Attributes:
    """The attributes of a request before its response."""
    address, port = _server(event.gateway)
    return _target(event) | {"server.address": address, "server.port": port}


@lru_cache(maxsize=16)
def _server(gateway: str) -> tuple[str, int]:
    url = urlsplit(gateway)
    return url.hostname or "", url.port or (443 if url.scheme == "https" else 80)


def _error(error: BaseException | None) -> Attributes:
    return {} if error is None else {"error.type": type(error).__name__}


def _outcome(error: BaseException | None) -> str:
    """The outcome of a call as one of a few words."""
    match error:
        case None:
            return "done"
        case OutcomeUnknownError():
            return "unknown"
        case NotSentError():
            return "not sent"
        case Exception():
            return "failed"
        case _:
            return "cancelled"
