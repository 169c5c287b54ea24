"""What became of a migration, while it runs and in the end."""

from collections.abc import Sequence
from typing import Final

import attrs

__all__ = ["Report", "Sample", "Samples"]

_MOST_SAMPLES: Final = 600


@attrs.frozen
class Sample:
    """How a migration stood at one moment.

    Attributes:
        seconds: since it began.
        done: rows that had ended, skipped ones not counted.
        trouble: attempts that had failed.
        limit: calls that were allowed at once.
    """

    seconds: float
    done: int
    trouble: int
    limit: int


@attrs.define
class Report:
    """What became of a migration's rows. While it runs, the numbers grow.

    Attributes:
        name: of the migration.
        stored: rows whose account was stored in this run, or found stored.
        rejected: rows that cannot be stored as they are; the journal and the file of rejects say why.
        unknown: rows of which nobody can say whether they are stored: run it again, they are looked up first.
        skipped: rows that an earlier run had stored.
        stopped: why it stopped before the end of its input, in words; "" if it did not.
        seconds: how long it took.
        trouble: attempts that failed and were looked up or made again.
        in_flight: calls under way; 0 in the end.
        limit: calls allowed at once, at last.
        waiting: what it waits for, in words, such as room on the disk or a gateway that answers; "" if
            for nothing.
        samples: how it went, evenly over its time; a few hundred at most.
    """

    name: str = ""
    stored: int = 0
    rejected: int = 0
    unknown: int = 0
    skipped: int = 0
    stopped: str = ""
    seconds: float = 0.0
    trouble: int = 0
    in_flight: int = 0
    limit: int = 0
    waiting: str = ""
    samples: Sequence[Sample] = attrs.field(factory=list, repr=False)

    @property
    def rows(self) -> int:
        """Rows that have ended, one way or another."""
        return self.stored + self.rejected + self.unknown + self.skipped

    @property
    def complete(self) -> bool:
        """Whether every row of the input has ended and none is unknown."""
        return not self.stopped and not self.unknown


class Samples:
    """At most a few hundred samples, evenly over a time of any length."""

    def __init__(self) -> None:
        self._kept: list[Sample] = []
        self._every = 1
        self._seen = 0

    def with_one_of(self, report: Report) -> Sequence[Sample]:
        """The samples, after a look at the report; half of them are dropped when they are too many."""
        if self._seen % self._every == 0:
            done = report.stored + report.rejected + report.unknown
            self._kept.append(Sample(report.seconds, done, report.trouble, report.limit))
        self._seen += 1
        if len(self._kept) > _MOST_SAMPLES:
            self._kept = self._kept[::2]
            self._every *= 2
        return self._kept
