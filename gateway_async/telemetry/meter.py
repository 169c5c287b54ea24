"""Open the package's meter of OpenTelemetry, and count totals with it."""

from collections.abc import Mapping
from typing import Final

import attrs

from gateway_async._kernel import missing_extra

try:
    from opentelemetry import metrics
    from opentelemetry.metrics import Counter, Meter, MeterProvider
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(missing_extra(missing.name, extra="otel", user="metrics"), name=missing.name) from None

__all__ = ["MeterProvider", "TotalCounter", "open_meter"]

_SCOPE: Final = "gateway_async"


def open_meter(provider: MeterProvider | None) -> Meter:
    """Return the package's meter; by default that of the global provider."""
    return metrics.get_meter(_SCOPE, meter_provider=provider)


@attrs.define(eq=False)
class TotalCounter:
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
