"""Plans of misfortune: which request of which operation shall go wrong, and how.

An operation is a method and a path, with ids as `{id}`: "PUT /v2/transactions/{id}"; a literal id means
that one record. A plan counts the requests that match it from the moment it is made, and strikes
either from the `nth` on, `times` times, or by chance with a `probability` and a `seed`.

`refuse` keeps a request from arriving, so it strikes behind the request before: at once for the first.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Any, Literal, get_args

FaultName = Literal[
    "refuse",
    "reset_before_commit",
    "reset_after_commit",
    "close_after_commit",
    "error_before_commit",
    "error_after_commit",
    "cut_body",
    "double_answer",
    "swap_answer",
    "wrong_length",
    "drip",
    "silence",
    "delay",
    "rate_limit",
    "unavailable",
    "garbage",
    "html",
    "empty",
]

FAULTS: tuple[str, ...] = get_args(FaultName)

_REMEMBERED = 1000
"""Struck requests that a plan can name, the newest."""


@dataclass(slots=True)
class Plan:
    """One planned misfortune.

    Attributes:
        operation: Method and path.
        fault: Its name.
        nth: The first matching request that is struck, from 1.
        times: How many are struck in all; by default 1, and without limit when by chance.
        probability: From 0 to 1; the chance of each matching request, instead of `nth`.
        seed: Makes chance repeatable.
        seconds: How long a `delay` takes, a `drip` pauses between bytes, and a `refuse` lasts.
        retry_after: What `Retry-After` says, in seconds; None leaves the header out.
        seen: Matching requests so far.
        struck: Requests that went wrong so far.
        struck_ids: Of the newest of them, the integrator id that was written, or the id in the path.
    """

    operation: str
    fault: str
    nth: int = 1
    times: int | None = None
    probability: float | None = None
    seed: int | None = None
    seconds: float = 1.0
    retry_after: float | None = 1.0
    seen: int = 0
    struck: int = 0
    struck_ids: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    _chance: Random = field(default_factory=Random, repr=False)

    def __post_init__(self) -> None:
        if self.times is None and self.probability is None:
            self.times = 1
        self._chance = Random(self.seed)  # noqa: S311  # repeatable mishaps, not secrets

    def check(self) -> None:
        """Check that the plan makes sense.

        Raises:
            ValueError: It does not.
        """
        holds = {
            f"fault: must be one of {', '.join(FAULTS)}.": self.fault in FAULTS,
            "nth: must be 1 or more.": self.nth >= 1,
            "times: must be 1 or more.": self.times is None or self.times >= 1,
            "probability: must be from 0 to 1.": 0 <= (self.probability or 0) <= 1,
            "seconds: must be 0 or more.": 0 <= self.seconds < inf,
            "retry_after: must be 0 or more.": 0 <= (self.retry_after or 0) < inf,
        }
        for rule, is_kept in holds.items():
            if not is_kept:
                raise ValueError(rule)

    @property
    def begins_at_once(self) -> bool:
        """Whether it waits for no request: the port is closed before the first one."""
        return self.fault == "refuse" and self.nth == 1 and self.probability is None

    def matches(self, method: str, path: str) -> bool:
        """Whether the plan is about a request; the path is percent-encoded."""
        wanted, _, pattern = self.operation.partition(" ")
        return wanted == method and is_path(pattern, path)

    def strikes(self) -> bool:
        """Count a matching request, and say whether it is struck."""
        self.seen += 1
        spent = self.times is not None and self.struck >= self.times
        first = self.nth - 1 if self.fault == "refuse" else self.nth
        lucky = self.seen < first if self.probability is None else self._chance.random() >= self.probability
        if spent or lucky:
            return False
        self.struck += 1
        return True

    def describe(self) -> dict[str, Any]:
        """The plan as control calls show it."""
        names = [name for name in self.__slots__ if not name.startswith("_")]
        return {name: getattr(self, name) for name in names} | {"struck_ids": [*self.struck_ids]}


def is_path(pattern: str, path: str) -> bool:
    """Whether a path has the form of a pattern, in which `{id}`, or another name in braces, stands for any id."""
    ours, theirs = pattern.split("/"), path.split("/")
    return len(ours) == len(theirs) and all(map(_stands_for, ours, theirs))


def _stands_for(part: str, other: str) -> bool:
    return part == other or (part.startswith("{") and part.endswith("}"))


class Faults:
    """The plans that are in force."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def strike(self, method: str, path: str) -> list[Plan]:
        """The plans that strike a request, the oldest first. Every matching plan counts the request."""
        return [plan for plan in self.plans if plan.matches(method, path) and plan.strikes()]
