"""The frame of the comparisons: ratios with their spread over the rounds, goals, verdicts, and a table.

A program measures this package and its peers in alternating rounds, so that other load affects all. It has a function
`main` that returns rows, and whose parameters are the options of the program.
"""

import argparse
import inspect
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence

import attrs
from cores import pin_client


@attrs.frozen
class Spread:
    """The lowest, the middle and the highest value of all rounds."""

    lowest: float
    median: float
    highest: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """Summarize values."""
        ordered = sorted(values)
        return cls(ordered[0], statistics.median(ordered), ordered[-1])


@attrs.frozen
class Goal:
    """A bound of a median.

    Attributes:
        bound: the last value that meets the goal.
        at_least: the value must not be below the bound; otherwise, it must not be above.
    """

    bound: float
    at_least: bool = False

    def is_met(self, value: float) -> bool:
        """Return whether a value meets the goal."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"


@attrs.frozen
class Row:
    """One figure of this package, and its ratio to that of a peer.

    Attributes:
        subject: what was measured.
        unit: the unit of both figures.
        ours: the figure of this package.
        peer: what it is compared with; None if it is measured alone.
        theirs: the figure of the peer.
        ratio: ours divided by theirs, in each round.
        goal: the bound of the ratio, or of our figure if there is no peer.
    """

    subject: str
    unit: str
    ours: Spread
    peer: str | None = None
    theirs: Spread | None = None
    ratio: Spread | None = None
    goal: Goal | None = None

    @property
    def title(self) -> str:
        """The subject, and the peer if there is one."""
        return f"{self.subject}, beside {self.peer}" if self.peer else self.subject

    @property
    def measured(self) -> Spread:
        """The spread that the goal is about."""
        return self.ratio or self.ours

    @property
    def verdict(self) -> str:
        """Whether the goal is met, in a word; empty without a goal."""
        if self.goal is None:
            return ""
        return "met" if self.goal.is_met(self.measured.median) else "MISSED"


def beside(
    subject: str, unit: str, ours: Sequence[float], peer: str, theirs: Sequence[float], goal: Goal | None = None
) -> Row:
    """Compare two figures, round by round; a peer may have fewer rounds."""
    ratios = (our / their for our, their in zip(ours, theirs, strict=False))
    return Row(subject, unit, Spread.of(ours), peer, Spread.of(theirs), Spread.of(ratios), goal)


def alone(subject: str, unit: str, values: Sequence[float], goal: Goal | None = None) -> Row:
    """Show a figure that has no peer."""
    return Row(subject, unit, Spread.of(values), goal=goal)


def show(rows: Sequence[Row]) -> None:
    """Print a table."""
    width = max((len(row.title) for row in rows), default=0)
    print(f"{'':{width}} {'ours':>9} {'theirs':>9} {'':4} {'ratio':>6} {'(lowest to highest)':19}  goal")
    for row in rows:
        theirs = f"{row.theirs.median:9.3g}" if row.theirs else " " * 9
        ratio = f"{row.ratio.median:6.2f}" if row.ratio else " " * 6
        spread = f"({row.measured.lowest:.3g} to {row.measured.highest:.3g})"
        goal = f"{row.goal}: {row.verdict}" if row.goal else ""
        cells = f"{row.ours.median:9.3g} {theirs} {row.unit:4} {ratio} {spread:19}  {goal}"
        print(f"{row.title:{width}} {cells}".rstrip(), flush=True)


def run(program: Callable[..., list[Row]]) -> None:
    """Run `main` with the options of the command line; print its rows."""
    description = sys.modules[program.__module__].__doc__
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, parameter in inspect.signature(program).parameters.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(parameter.default), default=parameter.default)
    pin_client()
    show(program(**vars(parser.parse_args())))
