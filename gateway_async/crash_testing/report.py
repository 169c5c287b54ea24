"""The report of a crash test, with the outcome of every call and the broken rules."""

from collections import Counter
from typing import Final

import attrs

from gateway_async._text import pluralize

_SHOWN: Final = 10
"""How many broken rules a report prints."""


@attrs.frozen(kw_only=True)
class CallOutcome:
    """The outcome of one call after the recovery, according to the ledger.

    Attributes:
        call: method and path, such as `"POST /v2/transactions"`.
        api_id: the integrator id of the written record, if any.
        outcome: `"done"`, `"refused"`, `"not_sent"`, `"not_made"`; `"unknown"` if it is still open; `"not_begun"` if
            its intent never reached the disk.
        recovered: whether its outcome was open after the crash and `recover()` had to look it up.
        record_id: the gateway's id of the record that shows the outcome, if known.
    """

    call: str
    api_id: str | None = None
    outcome: str = "unknown"
    recovered: bool = False
    record_id: str | None = None


@attrs.frozen(kw_only=True)
class Crash:
    """One run of a scenario that was stopped.

    Attributes:
        when: the moment of the crash, as a phrase.
        calls: the outcomes of its calls, according to the ledger.
        problems: one sentence for each broken rule.
    """

    when: str
    calls: tuple[CallOutcome, ...] = ()
    problems: tuple[str, ...] = ()


@attrs.frozen
class CrashReport:
    """The crashes of one scenario.

    Attributes:
        scenario: the name of the scenario.
        crashes: the crashes, in order.
    """

    scenario: str
    crashes: tuple[Crash, ...]

    def __add__(self, other: "CrashReport") -> "CrashReport":
        """Combine two reports."""
        return CrashReport(self.scenario, (*self.crashes, *other.crashes))

    @property
    def problems(self) -> tuple[str, ...]:
        """Every broken rule, with the moment of the crash."""
        broken = [f"{crash.when}: {problem}" for crash in self.crashes for problem in crash.problems]
        idle = not any(crash.calls for crash in self.crashes)
        return (*broken, *(["no call was made that a ledger keeps: nothing was tested"] if idle else []))

    @property
    def outcomes(self) -> Counter[str]:
        """The number of calls by outcome; outcomes that `recover()` looked up are counted separately."""
        return Counter(
            f"{call.outcome}{' (recovered)' if call.recovered else ''}"
            for crash in self.crashes
            for call in crash.calls
        )

    def check(self) -> None:
        """Raise an error if a rule was broken.

        Raises:
            AssertionError: a rule was broken; the message is the report.
        """
        if self.problems:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        crashes, rules = len(self.crashes), len(self.problems)
        found = f"{crashes} {pluralize(crashes, 'crash', 'crashes')}, {rules} broken {pluralize(rules, 'rule')}"
        lines = [f"{self.scenario}: {found}; calls: {counts}"]
        more = len(self.problems) - _SHOWN
        return "\n  ".join([*lines, *self.problems[:_SHOWN], *([f"… and {more} more"] if more > 0 else [])])
