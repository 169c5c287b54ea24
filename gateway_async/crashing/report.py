"""What a crash test saw, crash by crash, and how it says so."""

from collections import Counter
from typing import Final

import attrs

__all__ = ["Crash", "CrashReport", "Kept"]

_SHOWN: Final = 10
"""Broken rules that a report prints."""


@attrs.frozen(kw_only=True)
class Kept:
    """What the ledger kept of one call, after the recovery.

    Attributes:
        call: such as `"POST /v2/transactions"`.
        api_id: the integrator id of what was written, if any.
        outcome: `"done"`, `"refused"`, `"not_sent"`, `"not_made"`; `"unknown"` where it is still open; `"not_begun"`
            where its intent never came to disk.
        recovered: whether its outcome was open when the client was gone, so that `recover()` had to ask.
        record_id: the gateway's id of the record that says so, if it is known.
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
        when: the moment, in words.
        kept: what the ledger kept of its calls.
        problems: the rules that were broken, a sentence for each.
    """

    when: str
    kept: tuple[Kept, ...] = ()
    problems: tuple[str, ...] = ()


@attrs.frozen
class CrashReport:
    """All crashes of one scenario.

    Attributes:
        scenario: its name.
        crashes: what was seen, in order.
    """

    scenario: str
    crashes: tuple[Crash, ...]

    def __add__(self, other: "CrashReport") -> "CrashReport":
        """Both reports in one."""
        return CrashReport(self.scenario, (*self.crashes, *other.crashes))

    @property
    def problems(self) -> tuple[str, ...]:
        """Every broken rule, with the moment at which it was broken."""
        broken = [f"{crash.when}: {problem}" for crash in self.crashes for problem in crash.problems]
        idle = not any(crash.kept for crash in self.crashes)
        return (*broken, *(["no call was made that a ledger keeps: nothing was tested"] if idle else []))

    @property
    def outcomes(self) -> Counter[str]:
        """How many calls came to what end; those that `recover()` had to ask for apart."""
        return Counter(
            f"{kept.outcome}{' (recovered)' if kept.recovered else ''}" for crash in self.crashes for kept in crash.kept
        )

    def check(self) -> None:
        """Be content, or say what was wrong.

        Raises:
            AssertionError: a rule was broken; the message is the report.
        """
        if self.problems:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        lines = [f"{self.scenario}: {len(self.crashes)} crashes, {len(self.problems)} broken rules; calls: {counts}"]
        more = len(self.problems) - _SHOWN
        return "\n  ".join([*lines, *self.problems[:_SHOWN], *([f"… and {more} more"] if more > 0 else [])])
