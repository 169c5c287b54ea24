"""`Condition`: one row of the reliability table, and `Result`: what running it showed."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

import attrs

Protection = Callable[[], AbstractContextManager[object]]
"""Switches one protection off while its context is entered, so that a run shows whether the row depends on it."""


@attrs.frozen(kw_only=True)
class Result:
    """The effects of a condition on money and data.

    Attributes:
        count: how often the condition was applied: writes, kills, cuts or inputs.
        double: effects that exist twice.
        lost: effects that were reported and do not exist, or that exist and were never reported.
        unknown: outcomes that were still unknown at the end. Each was reported to its caller, so it is not a failure.
        problems: whatever else went wrong, one line each.
        notes: figures of the run for the document, one line each.
    """

    count: int
    double: int = 0
    lost: int = 0
    unknown: int = 0
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Return whether nothing was done twice, lost, or wrong in another way."""
        return not (self.double or self.lost or self.problems)


def add_up(results: Sequence[Result]) -> Result:
    """Return the sums of several results, with all their problems and notes."""
    return Result(
        count=sum(result.count for result in results),
        double=sum(result.double for result in results),
        lost=sum(result.lost for result in results),
        unknown=sum(result.unknown for result in results),
        problems=tuple(problem for result in results for problem in result.problems),
        notes=tuple(note for result in results for note in result.notes),
    )


@attrs.frozen(kw_only=True)
class Condition:
    """One row of the reliability table.

    Attributes:
        key: its name on the command line, such as `"kill-migration"`.
        text: its name in the table.
        count: how often the whole run applies it.
        short_count: how often the short run of the test suite applies it.
        run: applies it so many times. It starts the event loops, processes and files that it needs, and ends them.
        needs: environment variables and programs without which it cannot run, such as `"GATEWAY_TEST_POSTGRES"` and
            `"initdb"`.
        protections: name → switches that protection off. With it off, the row must fail.
    """

    key: str
    text: str
    count: int
    short_count: int
    run: Callable[[int], Result]
    needs: tuple[str, ...] = ()
    protections: Mapping[str, Protection] = attrs.field(factory=dict, hash=False)
