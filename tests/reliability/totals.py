"""Add up the results of the parts of a condition."""

from collections.abc import Sequence

from tests.reliability.condition import Result

__all__ = ["add_up"]


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
