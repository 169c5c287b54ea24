"""Fault plans: which requests of an operation fail, and how.

An operation is a method and a path, with ids as `{id}`: "PUT /v2/transactions/{id}". A literal id means that one
record. A plan counts the matching requests from its creation. It affects either `times` requests from the `nth` on, or
random ones, with a `probability` and a `seed`.

`refuse` prevents a request from arriving. Therefore it takes effect after the previous request, or at once for the
first.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from math import inf
from random import Random
from typing import Any, Literal

import attrs

from gateway_async.sandbox.http.responses import unknown_name

FaultName = Literal[
    "refuse",
    "reset_before_commit",
    "reset_after_commit",
    "close_after_commit",
    "error_before_commit",
    "error_after_commit",
    "cut_body",
    "duplicate_response",
    "wrong_response",
    "wrong_length",
    "drip",
    "silence",
    "delay",
    "rate_limit",
    "unavailable",
    "garbage",
    "html",
    "empty",
    "double_answer",
    "swap_answer",
]

_FORMER_NAMES = {"double_answer": "duplicate_response", "swap_answer": "wrong_response"}
"""Names that are still accepted, and their replacements."""

FAULTS = {
    "refuse": "The port is closed for `seconds`: at once, or after the request before the `nth`.",
    "reset_before_commit": "The connection is reset, and the request is not executed.",
    "reset_after_commit": "The connection is reset after the request was executed.",
    "close_after_commit": "The connection closes without a response after the request was executed.",
    "error_before_commit": "The response is a 500, and the request is not executed.",
    "error_after_commit": "The response is a 500, although the request was executed.",
    "cut_body": "Half of the response body arrives, then the connection closes.",
    "duplicate_response": "The response arrives twice.",
    "wrong_response": "The response has another customer's record.",
    "wrong_length": "The `content-length` of the response is too short.",
    "drip": "The response body arrives byte by byte, with `seconds` between the bytes.",
    "silence": "No response arrives, and the connection stays open.",
    "delay": "The response arrives after `seconds`.",
    "rate_limit": "The response is a 429 with `retry_after`, and the request is not executed.",
    "unavailable": "The response is a 503 with `retry_after`, and the request is not executed.",
    "garbage": "The response is bytes that are not JSON.",
    "html": "The response is an HTML page.",
    "empty": "The response has no body.",
}
"""The faults, and a sentence about what each one does."""

_MOST_IDS = 1000
"""How many affected requests a plan remembers; the newest are kept."""

_SALE = "POST /v2/transactions"
_SALE_AT_TERMINAL = "POST /v2/routertransactions"
_STORE = "POST /v2/accountvaults"
_CHANGE = "PUT /v2/transactions/{id}"
_SETTLE = "POST /v2/transactionbatches/{id}/settle"
_LOOKUP = "GET /v2/transactions/{id}"
_WRITES = (_SALE, _SALE_AT_TERMINAL, _STORE, _CHANGE, _SETTLE)
_LOOKUPS = (_LOOKUP, "GET /v2/accountvaults/{id}", "GET /v2/transactionbatches/{id}")


def _replace_former(name: str) -> str:
    return _FORMER_NAMES.get(name, name)


@attrs.define
class PlannedFault:
    """One planned fault.

    Attributes:
        operation: Method and path, with ids as `{id}`.
        fault: The name of the fault.
        nth: The first matching request that gets the fault, from 1.
        times: How many requests get the fault; the default is 1, or no limit with a `probability`.
        probability: The chance from 0 to 1 that a matching request gets the fault; it replaces `nth`.
        seed: Makes the random choice repeatable.
        seconds: How long a `delay` or a `refuse` lasts, or how long a `drip` pauses between bytes.
        retry_after: The `Retry-After` header, in seconds; None omits it.
        seen: The number of matching requests so far.
        affected: The number of affected requests so far.
        affected_ids: For the newest of them, the integrator id in the body, or the id in the path.
    """

    operation: str
    fault: str = attrs.field(converter=_replace_former)
    nth: int = 1
    times: int | None = None
    probability: float | None = None
    seed: int | None = None
    seconds: float = 1.0
    retry_after: float | None = 1.0
    seen: int = attrs.field(default=0, init=False)
    affected: int = attrs.field(default=0, init=False)
    affected_ids: deque[str] = attrs.field(factory=lambda: deque(maxlen=_MOST_IDS), init=False)
    _random: Random = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        if self.times is None and self.probability is None:
            self.times = 1
        self._random = Random(self.seed)  # noqa: S311  # repeatable faults, not secrets

    def check(self) -> None:
        """Check that the plan is consistent.

        Raises:
            ValueError: The plan is inconsistent.
        """
        if self.fault not in FAULTS:
            raise unknown_name("fault", self.fault, FAULTS, f"must be one of {', '.join(FAULTS)}")
        rules = {
            "nth: must be 1 or more.": self.nth >= 1,
            "times: must be 1 or more.": self.times is None or self.times >= 1,
            "probability: must be from 0 to 1.": 0 <= (self.probability or 0) <= 1,
            "seconds: must be 0 or more.": 0 <= self.seconds < inf,
            "retry_after: must be 0 or more.": 0 <= (self.retry_after or 0) < inf,
        }
        for rule, is_followed in rules.items():
            if not is_followed:
                raise ValueError(rule)

    @property
    def starts_immediately(self) -> bool:
        """Whether the plan closes the port before the first request."""
        return self.fault == "refuse" and self.nth == 1 and self.probability is None

    def matches(self, method: str, path: str) -> bool:
        """Whether the plan applies to a request; the path is percent-encoded."""
        wanted, _, pattern = self.operation.partition(" ")
        return wanted == method and matches_path(pattern, path)

    def count_request(self) -> bool:
        """Count a matching request, and return whether it gets the fault."""
        self.seen += 1
        spent = self.times is not None and self.affected >= self.times
        first = self.nth - 1 if self.fault == "refuse" else self.nth
        skipped = self.seen < first if self.probability is None else self._random.random() >= self.probability
        if spent or skipped:
            return False
        self.affected += 1
        return True

    def describe(self) -> dict[str, Any]:
        """Describe the plan in the form of control calls."""
        return attrs.asdict(self, filter=lambda field, _: field.name != "_random") | {
            "affected_ids": [*self.affected_ids]
        }


def matches_path(pattern: str, path: str) -> bool:
    """Whether a path matches a pattern. In the pattern, `{id}` or another name in braces matches any id."""
    parts, others = pattern.split("/"), path.split("/")
    return len(parts) == len(others) and all(
        part == other or (part.startswith("{") and part.endswith("}"))
        for part, other in zip(parts, others, strict=True)
    )


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
