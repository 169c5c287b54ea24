"""Exporters in memory, and an observer that records to them."""

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway_async.telemetry import OpenTelemetryObserver
from tests.support.sandboxes import manual_sandbox


@attrs.frozen
class Recorded:
    """The spans and metrics of an observer.

    Attributes:
        observer: the observer.
        tracers: the provider of its tracer.
        meters: the provider of its metrics.
    """

    observer: OpenTelemetryObserver
    tracers: TracerProvider
    meters: MeterProvider
    _spans: InMemorySpanExporter
    _metrics: InMemoryMetricReader

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, by their start."""
        return sorted(self._spans.get_finished_spans(), key=lambda span: span.start_time or 0)

    def tree(self) -> list[str]:
        """Return the names of the spans, indented below their parents."""
        parents = {span.context.span_id: span.parent and span.parent.span_id for span in self.spans if span.context}

        def depth(span_id: int | None) -> int:
            parent = parents.get(span_id) if span_id is not None else None
            return 0 if parent is None else 1 + depth(parent)

        return ["  " * depth(span.context.span_id) + span.name for span in self.spans if span.context]

    def points(self, metric: str) -> list[Any]:
        return [point for name, point in self.all_points() if name == metric]

    def all_points(self) -> list[tuple[str, Any]]:
        data = self._metrics.get_metrics_data()
        return [
            (each.name, point)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for each in scope.metrics
            for point in each.data.data_points
        ]


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    exporter, reader, tracers = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider(metric_readers=[reader])
    yield Recorded(
        OpenTelemetryObserver(tracer_provider=tracers, meter_provider=meters), tracers, meters, exporter, reader
    )
    tracers.shutdown()
    meters.shutdown()


sandbox_by_hand = pytest.fixture(manual_sandbox)
