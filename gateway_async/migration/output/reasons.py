"""Counts of the reasons why rows were rejected."""

import re
from collections import Counter
from typing import Final

from gateway_async.migration.journal.protocol import RowResult, RowState

__all__ = ["Reasons"]

_MAX_KINDS: Final = 10_000
"""Maximum number of different reasons; more would not be useful."""

_ROW_DETAILS: Final = (
    (re.compile(r", ends in \w+"), ""),
    (re.compile(r"\bline \d+(?= has the same key)"), "another line"),
    (re.compile(r"\bline \d+"), "a line"),
)
"""Details of a single row, and the common text that replaces them."""


class Reasons:
    """Counts the reasons of rejections without the details of single rows. The number of reasons is bounded."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, result: RowResult) -> None:
        """Count the reasons of a row if it was rejected."""
        if result.state is RowState.REJECTED:
            for reason in map(_generalize, result.reasons):
                if reason in self._counts or len(self._counts) < _MAX_KINDS:
                    self._counts[reason] += 1

    def most(self, number: int) -> list[tuple[str, int]]:
        """Return the most frequent reasons with their number of rows."""
        return self._counts.most_common(number)


def _generalize(reason: str) -> str:
    """Return a reason without the details of a single row."""
    for detail, common in _ROW_DETAILS:
        reason = detail.sub(common, reason)
    return reason
