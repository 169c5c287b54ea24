"""The simulation in its short form: the real code breaks no rule, and each planted bug breaks one."""

from collections.abc import Iterator

import pytest

from tests.simulation.planted_bugs import PLANTED_BUGS
from tests.simulation.simulation import Simulation

_SEEDS = 80
_MOST_SEEDS = 200
"""Seeds within which a planted bug must be found."""

_FOUND_BY = {
    "lookup-that-believes-a-proxy": 98,
    "shortened-doubt": 75,
    "response-without-evidence": 39,
    "reused-id": 27,
}
"""Seeds that found the rarer bugs, to try first; when the code changes, others may find them."""


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    """Return a simulation."""
    with Simulation() as running:
        yield running


def test_schedules(simulation: Simulation) -> None:
    """The real client, ledger, terminals and sandbox keep the money rules in every schedule."""
    broken = {seed: result.problems for seed in range(_SEEDS) if (result := simulation.run(seed)).problems}
    assert not broken


def test_replay(simulation: Simulation) -> None:
    """A seed has the same trace in another simulation, whatever ran before it."""
    first = [simulation.run(seed).trace for seed in range(10)]
    with Simulation() as other:
        second = [other.run(seed).trace for seed in reversed(range(10))]
    assert first == second[::-1]
    assert min(map(len, first)) > 3


@pytest.mark.parametrize("bug", PLANTED_BUGS)
def test_planted_bugs(bug: str) -> None:
    """A schedule breaks a rule while a bug is planted, and keeps it without the bug."""
    with PLANTED_BUGS[bug](), Simulation() as simulation:
        seeds = (_FOUND_BY.get(bug, 0), *range(_MOST_SEEDS))
        found = next((seed for seed in seeds if simulation.run(seed).problems), None)
    assert found is not None
    with Simulation() as simulation:
        assert not simulation.run(found).problems
