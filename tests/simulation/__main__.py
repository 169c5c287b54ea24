"""Run the schedules of many seeds, or replay one: `python -m tests.simulation --seeds 0..1000 --processes 2`."""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from time import monotonic
from typing import Final

from tests.simulation.planted_bugs import PLANTED_BUGS
from tests.simulation.simulation import Result, run_seeds

_BATCH: Final = 250
"""Seeds that a process runs before it reports."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if a rule was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=_seeds, default=range(1000), help="START..END, without END, or one seed")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--plant", choices=PLANTED_BUGS, help="plant a bug; the simulation must find it")
    options = parser.parse_args(arguments)
    if len(options.seeds) == 1:
        return _replay(options.seeds[0], options.plant)
    return _run_all(options.seeds, options.processes, options.plant)


def _seeds(text: str) -> range:
    start, separator, end = text.partition("..")
    return range(int(start), int(end) if separator else int(start) + 1)


def _replay(seed: int, bug: str | None) -> int:
    """Print everything that happens in one schedule."""
    (result,) = run_seeds([seed], bug, failed_only=False)
    print(*result.trace, *result.problems, sep="\n")
    return 1 if result.problems else 0


def _run_all(seeds: range, processes: int, bug: str | None) -> int:
    started, done, failed = monotonic(), 0, 0
    batches = [seeds[start : start + _BATCH] for start in range(0, len(seeds), _BATCH)]
    with ProcessPoolExecutor(processes) as pool:
        for batch, results in zip(batches, pool.map(partial(run_seeds, bug=bug), batches), strict=True):
            done += len(batch)
            failed += len(results)
            for result in results:
                _print_failure(result, bug)
            rate = done / (monotonic() - started) * 60
            print(f"{done} schedules, {failed} with a broken rule, {rate:.0f} a minute", flush=True)
    return 1 if failed else 0


def _print_failure(result: Result, bug: str | None) -> None:
    planted = f" --plant {bug}" if bug else ""
    print(f"seed {result.seed}: replay it by python -m tests.simulation --seeds {result.seed}{planted}")
    print(*(f"  {problem}" for problem in result.problems), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
