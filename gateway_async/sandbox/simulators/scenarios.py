"""Named failure scenarios, each as a list of fault plans."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import attrs

from gateway_async.sandbox.http.errors import unknown_name
from gateway_async.sandbox.simulators.faults import FAULTS, PlannedFault

__all__ = ["SCENARIOS", "FaultScenario", "make_plans"]


_SALE = "POST /v2/transactions"
_SALE_AT_TERMINAL = "POST /v2/routertransactions"
_STORE = "POST /v2/accountvaults"
_CHANGE = "PUT /v2/transactions/{id}"
_SETTLE = "POST /v2/transactionbatches/{id}/settle"
_LOOKUP = "GET /v2/transactions/{id}"

_WRITES = (_SALE, _SALE_AT_TERMINAL, _STORE, _CHANGE, _SETTLE)
_LOOKUPS = (_LOOKUP, "GET /v2/accountvaults/{id}", "GET /v2/transactionbatches/{id}")


@attrs.frozen
class FaultScenario:
    """A named scenario: its description, and the function that creates its plans."""

    description: str
    plans: Sequence[Callable[[], PlannedFault]]


def _each_by_chance(operations: Sequence[str]) -> list[Callable[[], PlannedFault]]:
    return [
        partial(
            PlannedFault,
            operation,
            fault,
            probability=0.02,
            seed=seed,
            seconds=0.02,
            retry_after=(None, 0.02)[seed % 2],
        )
        for seed, (operation, fault) in enumerate(product(operations, FAULTS))
    ]


SCENARIOS = {
    "response lost after approval": FaultScenario(
        "a sale is approved, and the connection ends without a response",
        [partial(PlannedFault, _SALE, "close_after_commit")],
    ),
    "response lost at the terminal": FaultScenario(
        "a sale at a terminal is approved, and the connection is reset",
        [partial(PlannedFault, _SALE_AT_TERMINAL, "reset_after_commit")],
    ),
    "card stored, response cut in half": FaultScenario(
        "an account vault is stored, and half of the response arrives",
        [partial(PlannedFault, _STORE, "cut_body")],
    ),
    "gateway restarts while a sale is under way": FaultScenario(
        "a sale is approved, its connection is reset, and for a second nothing listens on the port",
        [partial(PlannedFault, _SALE, "reset_after_commit"), partial(PlannedFault, _SALE, "refuse", nth=2)],
    ),
    "rate limited, then fine": FaultScenario(
        "two sales get 429 with a `Retry-After` of 0.1 seconds, the third is accepted",
        [partial(PlannedFault, _SALE, "rate_limit", times=2, retry_after=0.1)],
    ),
    "another customer's response": FaultScenario(
        "a sale is approved, and another customer's response arrives",
        [partial(PlannedFault, _SALE, "wrong_response")],
    ),
    "no response, and no lookup at first": FaultScenario(
        "a sale is approved without a response, and the next two lookups of a transaction get 503",
        [
            partial(PlannedFault, _SALE, "silence"),
            partial(PlannedFault, _LOOKUP, "unavailable", times=2, retry_after=0.1),
        ],
    ),
    "a bad day": FaultScenario(
        "each fault affects 2 % of all sales, changes to them, vault stores and settlements",
        _each_by_chance(_WRITES),
    ),
    "a bad day for lookups": FaultScenario(
        "each fault affects 2 % of the reads of a transaction, a vault or a batch",
        _each_by_chance(_LOOKUPS),
    ),
}


def make_plans(name: str) -> list[PlannedFault]:
    """Create new plans for a scenario.

    Raises:
        ValueError: The scenario is unknown.
    """
    if name not in SCENARIOS:
        raise unknown_name("scenario", name, SCENARIOS, f"must be one of {'; '.join(SCENARIOS)}")
    return [make() for make in SCENARIOS[name].plans]
