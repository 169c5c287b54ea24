"""Spans and metrics of calls to a sandbox, as OpenTelemetry's exporters receive them."""

import subprocess
import sys
from typing import Any

import anyio
import httpx
import pytest
from opentelemetry.trace import SpanKind, StatusCode, get_current_span

from gateway_async import NotFoundError, OutcomeUnknownError
from gateway_async.observe import LeaseRenewalFailed, RecordDiffers, RetryBudgetExhausted
from gateway_async.sandbox import Sandbox
from gateway_async.telemetry import trace_headers
from tests.support.sales import sale, sale_at
from tests.support.scripted_transport import Script, record
from tests.support.waiting import until

from .conftest import Recorded

pytestmark = pytest.mark.anyio

CARD = "4111111111111111"
CREATE = "POST /v2/transactions"
LIST = "GET /v2/transactions"
TARGET = {"http.request.method": "POST", "url.template": "/v2/transactions"}


def labels(recorded: Recorded, metric: str) -> list[dict[str, Any]]:
    return [dict(point.attributes) for point in recorded.points(metric)]


async def test_call_span(sandbox: Sandbox, recorded: Recorded) -> None:
    """The names and attributes are those of the semantic conventions, and the parent is the span of the caller."""
    tracer = recorded.tracers.get_tracer("test")
    async with sandbox.gateway(observers=[recorded.observer]) as gateway:
        with tracer.start_as_current_span("checkout") as parent:
            await gateway.transactions.create(sale("order-7"))
            assert get_current_span() is parent
    assert recorded.tree() == ["checkout", f"  {CREATE}", f"    {CREATE}"]
    _, call, attempt = recorded.spans
    url = httpx.URL(sandbox.base_url)
    server = {"server.address": url.host, "server.port": url.port}
    assert (call.kind, attempt.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT)
    assert dict(attempt.attributes or {}) == {**TARGET, **server, "http.response.status_code": 201}
    assert call.attributes is not None
    assert {name: call.attributes[f"gateway_async.{name}"] for name in ("api_id", "outcome", "attempts")} == {
        "api_id": "order-7",
        "outcome": "done",
        "attempts": 1,
    }
    assert labels(recorded, "http.client.request.duration") == [{**TARGET, **server, "http.response.status_code": 201}]
    assert labels(recorded, "gateway_async.call.duration") == [{**TARGET, "gateway_async.outcome": "done"}]


async def test_retry(sandbox: Sandbox, recorded: Recorded) -> None:
    """The failed attempt is marked as an error, and the call is not."""
    sandbox.fault("GET /v2/contacts/{id}", "unavailable", retry_after=0)
    async with sandbox.gateway(observers=[recorded.observer]) as gateway:
        await gateway.contacts.get(sandbox.contact_id)
    name = "GET /v2/contacts/{id}"
    assert recorded.tree() == [name, f"  {name}", f"  {name}"]
    call, first, second = recorded.spans
    assert [span.status.status_code for span in (call, first, second)] == [
        StatusCode.UNSET,
        StatusCode.ERROR,
        StatusCode.UNSET,
    ]
    assert first.attributes is not None
    assert (first.attributes["http.response.status_code"], first.attributes["error.type"]) == (503, "ServerError")
    assert second.attributes is not None
    assert second.attributes["http.request.resend_count"] == 1
    assert [(event.name, dict(event.attributes or {})) for event in call.events] == [
        ("attempt failed", {"gateway_async.next_step": "again", "error.type": "ServerError"})
    ]
    (attempts,) = recorded.points("gateway_async.call.attempts")
    assert (attempts.count, attempts.sum) == (1, 2)


async def test_lookup(sandbox: Sandbox, recorded: Recorded) -> None:
    """After a lost response, the lookup and its outcome are recorded."""
    sandbox.fault(CREATE, "close_after_commit")
    async with sandbox.gateway(observers=[recorded.observer]) as gateway:
        await gateway.transactions.create(sale("order-7"))
    call, attempt, lookup, read = recorded.tree()
    assert (call, attempt, lookup) == (CREATE, f"  {CREATE}", f"  look up {CREATE}")
    assert read.startswith("    GET /v2/transactions")
    outcome = {"gateway_async.outcome": "found", "gateway_async.cancelled": False}
    assert labels(recorded, "gateway_async.lookups") == [{**TARGET, **outcome}]


async def test_unknown_outcome(sandbox: Sandbox, recorded: Recorded) -> None:
    """The call and its lookup are marked as errors, and the outcome is a label of the metric."""
    sandbox.fault(CREATE, "close_after_commit")
    sandbox.fault("GET /v2/transactions", "unavailable", times=100, retry_after=0)
    sandbox.fault("GET /v2/transactions/{id}", "unavailable", times=100, retry_after=0)
    async with sandbox.gateway(observers=[recorded.observer], max_attempts=1) as gateway:
        with pytest.raises(OutcomeUnknownError):
            await gateway.transactions.create(sale("order-7"))
    spans = {span.name: span for span in recorded.spans if span.kind is SpanKind.INTERNAL}
    assert {span.status.status_code for span in spans.values()} == {StatusCode.ERROR}
    assert labels(recorded, "gateway_async.call.duration") == [
        {**TARGET, "gateway_async.outcome": "unknown", "error.type": "OutcomeUnknownError"}
    ]


async def test_refused_call(sandbox: Sandbox, recorded: Recorded) -> None:
    """The type of the error is a label, its text is not recorded."""
    async with sandbox.gateway(observers=[recorded.observer]) as gateway:
        with pytest.raises(NotFoundError):
            await gateway.contacts.get("missing")
    (point,) = labels(recorded, "gateway_async.call.duration")
    assert (point["gateway_async.outcome"], point["error.type"]) == ("failed", "NotFoundError")
    assert {span.status.description for span in recorded.spans} == {None}
    assert "missing" not in "".join(span.to_json() for span in recorded.spans)


async def test_terminal_wait(sandbox_by_hand: Sandbox, recorded: Recorded) -> None:
    """The second call waits for the first one, and both waits end before their calls."""
    box = sandbox_by_hand
    async with box.gateway(observers=[recorded.observer]) as gateway, anyio.create_task_group() as tasks:
        for name in ("first", "second"):
            tasks.start_soon(gateway.router_transactions.create, sale_at(box.terminal_id, name))
        for _ in range(2):
            await box.await_call()
            box.present()
    name = "POST /v2/routertransactions"
    names = [span.name for span in recorded.spans if span.kind is SpanKind.INTERNAL]
    assert sorted(names) == [name, name, "wait for terminal", "wait for terminal"]
    call_ids = [span.attributes and span.attributes.get("gateway_async.call_id") for span in recorded.spans]
    assert {call_ids.count(call_id) for call_id in call_ids if call_id} == {2}  # the wait and the call
    (waits,) = recorded.points("gateway_async.terminal.wait.duration")
    assert waits.count == 2


async def test_cancelled_wait(sandbox_by_hand: Sandbox, recorded: Recorded) -> None:
    """A call that never gets its terminal has a wait that failed, and no call."""
    box = sandbox_by_hand
    waits: list[object] = []
    async with box.gateway(observers=[recorded.observer, waits.append]) as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.router_transactions.create, sale_at(box.terminal_id, "first"))
        await box.await_call()
        before = len(waits)
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as second:
                second.start_soon(gateway.router_transactions.create, sale_at(box.terminal_id, "second"))
                await until(lambda: len(waits) > before)
                scope.cancel()
        box.present()
    failed = [span for span in recorded.spans if span.status.status_code is StatusCode.ERROR]
    assert [span.name for span in failed] == ["wait for terminal"]


async def test_cancelled_call(sandbox_by_hand: Sandbox, recorded: Recorded) -> None:
    """Nothing stays the current span, and the lookup has its outcome."""
    box = sandbox_by_hand
    async with box.gateway(observers=[recorded.observer]) as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.router_transactions.create, sale_at(box.terminal_id, "cancelled"))
        await box.await_call()
        box.fault("POST /v2/routertransactions", "silence")
        tasks.cancel_scope.cancel()
        box.present()
    (point,) = labels(recorded, "gateway_async.call.duration")
    assert point["gateway_async.outcome"] == "cancelled"
    (lookup,) = labels(recorded, "gateway_async.lookups")
    assert (lookup["gateway_async.outcome"], lookup["gateway_async.cancelled"]) == ("found", True)


async def test_leaks(sandbox: Sandbox, recorded: Recorded) -> None:
    """No attribute shows a card number or a key, even if an id is one, or a response is lost."""
    sandbox.fault(CREATE, "close_after_commit")
    async with sandbox.gateway(observers=[recorded.observer]) as gateway:
        await gateway.transactions.create(sale(CARD))
        with pytest.raises(NotFoundError):
            await gateway.contacts.get(CARD)
    spans = "".join(span.to_json() for span in recorded.spans)
    metrics = "".join(
        str(labels(recorded, name)) for name in ("http.client.request.duration", "gateway_async.call.duration")
    )
    for secret in (CARD, sandbox.user_api_key, sandbox.user_id, sandbox.developer_id):
        assert secret not in spans + metrics


async def test_trace_headers(recorded: Recorded) -> None:
    """Each request carries the `traceparent` of its own attempt."""
    script = Script(get=[httpx.Response(503), record("contact")])
    async with script.gateway(observers=[recorded.observer], trace_headers=trace_headers) as gateway:
        await gateway.contacts.get("found")
    attempts = [span.context for span in recorded.spans if span.kind is SpanKind.CLIENT]
    ids = [f"00-{each.trace_id:032x}-{each.span_id:016x}-" for each in attempts if each]
    sent = [request.headers["traceparent"] for request in script.asked]
    assert [header[:-2] for header in sent] == ids  # the last two characters are flags
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("event", "counter"),
    [
        (RecordDiffers(call=CREATE, differences=()), "differing_records"),
        (RetryBudgetExhausted(call=CREATE), "retries_refused"),
        (LeaseRenewalFailed(call=CREATE, terminal_id="t", reason="away"), "lease_renewals_failed"),
    ],
)
def test_rare_events_have_a_counter_by_call(event: Any, counter: str, recorded: Recorded) -> None:
    recorded.observer(event)
    (point,) = recorded.points(f"gateway_async.{counter}")
    assert (point.value, dict(point.attributes)) == (1, TARGET)


async def test_gauges(sandbox: Sandbox, recorded: Recorded) -> None:
    """Each pool has its own values; the other values have no attributes."""
    async with sandbox.gateway() as gateway:
        recorded.observer.record_health(gateway.health())
    points = recorded.all_points()  # once: some versions of the SDK export a gauge only after it was set again
    for gauge in ("gateway_async.connections.in_use", "gateway_async.connections.waiting"):
        attributes = [dict(point.attributes) for name, point in points if name == gauge]
        assert attributes == [{"gateway_async.pool": "ordinary"}, {"gateway_async.pool": "terminal"}]
    values = {"terminal.calls": 0, "retries_left": 100, "recorded_calls": 0, "unknown_outcomes": 0}
    assert {name: point.value for name, point in points if not point.attributes} == {
        f"gateway_async.{name}": value for name, value in values.items()
    }


async def test_late_observer(sandbox: Sandbox, recorded: Recorded) -> None:
    """An observer that is added during a call ignores ends without a start."""
    with_one: list[object] = []

    async with sandbox.gateway(observers=[with_one.append]) as gateway, anyio.create_task_group() as tasks:
        sandbox.fault("GET /v2/contacts/{id}", "delay", seconds=0.2)
        tasks.start_soon(gateway.contacts.get, sandbox.contact_id)
        await until(lambda: len(with_one) == 2)
        with gateway.observing(recorded.observer):
            await until(lambda: len(with_one) == 4)
    assert recorded.spans == []
    (point,) = recorded.points("gateway_async.call.duration")
    assert point.count == 1


def test_the_client_does_not_load_opentelemetry() -> None:
    program = """
import sys
from gateway_async import AsyncGateway, UserApiKey
AsyncGateway("https://gateway.test", developer_id="d", credentials=UserApiKey("u", "k"))
sys.exit("opentelemetry" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0  # noqa: S603  ours
