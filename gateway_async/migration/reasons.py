"""Why rows were rejected, and how many for each reason: the first thing that anybody wants to know."""

import re
from collections import Counter
from typing import Final

from gateway_async.migration.journal import End, RowState

__all__ = ["Reasons"]

_MOST_KEPT: Final = 10_000
"""Reasons that differ from each other; more of them say nothing to anybody."""

_OWN: Final = re.compile(r", ends in \w+|\bline \d+")
"""What is of one row only."""


class Reasons:
    """Counts the reasons of rejections, without what is of one row only; a bounded number of them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self.others = 0

    def add(self, end: End) -> None:
        """Count those of a row, if it was rejected."""
        if end.state is RowState.REJECTED:
            for reason in end.reasons:
                self._count(_OWN.sub(lambda own: "" if own[0].startswith(",") else "another line", reason))

    def most(self, number: int) -> list[tuple[str, int]]:
        """The most frequent, with how many rows each."""
        return self._counts.most_common(number)

    def _count(self, reason: str) -> None:
        if reason in self._counts or len(self._counts) < _MOST_KEPT:
            self._counts[reason] += 1
        else:
            self.others += 1
