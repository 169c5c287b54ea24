"""Counts of the reasons why rows were rejected."""

import re
from collections import Counter
from typing import Final

from gateway_async.migration.journal.protocol import RowResult, RowState

__all__ = ["MAX_KINDS", "Reasons", "generalize"]

MAX_KINDS: Final = 10_000
"""Maximum number of different reasons; more would not be useful."""

_ROW_DETAILS: Final = (
    (re.compile(r", ends in \w+"), ""),
    (re.compile(r"\bline \d+(?= has the same key)"), "another line"),
    (re.compile(r"\bline \d+"), "a line"),
    (re.compile(r": is \S+, not \S+"), ": differs"),
)
"""Details of a single row, and the common text that replaces them."""


class Reasons:
    """Counts the reasons of rejections without the details of single rows. The number of reasons is bounded."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, result: RowResult) -> None:
        """Count the reasons of a rejected or repeated row."""
        if result.state in (RowState.REJECTED, RowState.REPEATED):
            for reason in map(generalize, result.reasons):
                if reason in self._counts or len(self._counts) < MAX_KINDS:
                    self._counts[reason] += 1

    def most(self, number: int) -> list[tuple[str, int]]:
        """Return the most frequent reasons with their number of rows."""
        return self._counts.most_common(number)


def generalize(reason: str) -> str:
    """Return a reason without the details of a single row."""
    for detail, common in _ROW_DETAILS:
        reason = detail.sub(common, reason)
    return reason
