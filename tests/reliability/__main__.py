"""Run the conditions of the reliability table, and write the table.

    python -m tests.reliability                          # everything; continues a run that was stopped
    python -m tests.reliability steady-load --share 0.1  # one row, a tenth of its size
    python -m tests.reliability --short                  # everything, a few seconds for each row
    python -m tests.reliability --without retry-budget   # rows that must fail, because a protection is switched off

Without keys and options, each row is also run with each of its protections switched off. Every run is a line of
`tests/reliability/results/runs.jsonl`. The exit status is 1 if a row failed, or did not fail without its protection.
"""

import argparse
import sys
from collections.abc import Sequence

from tests.reliability.condition import Condition
from tests.reliability.conditions import CONDITIONS
from tests.reliability.document import write_document
from tests.reliability.runner import (
    RESULTS,
    Job,
    Run,
    code_digest,
    missing_needs,
    read_runs,
    record,
    run_job,
    short_jobs,
    whole_jobs,
)


def main() -> int:
    """Run what the arguments name, and return the exit status."""
    options = _read_arguments()
    conditions = [each for each in CONDITIONS if each.key in options.keys or not options.keys]
    if options.list:
        _list(conditions)
        return 0
    if options.fresh:
        RESULTS.unlink(missing_ok=True)
    are_right = _run_all(_plan(conditions, options), resume=not options.keys and not options.without)
    if options.write:
        write_document(read_runs())
    return 0 if are_right else 1


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.reliability", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    keys = [condition.key for condition in CONDITIONS]
    protections = sorted({name for condition in CONDITIONS for name in condition.protections})
    parser.add_argument("keys", nargs="*", metavar="KEY", help="rows to run (default: all)")
    parser.add_argument("--list", action="store_true", help="list the rows and their protections")
    parser.add_argument("--short", action="store_true", help="run the short form, as the test suite does")
    parser.add_argument("--share", type=float, default=1.0, help="the part of the whole count to run (default: 1)")
    parser.add_argument("--without", choices=["all", *protections], help="run rows with this protection switched off")
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier runs")
    parser.add_argument("--write", action="store_true", help="write docs/why/reliability.md from the results")
    options = parser.parse_args()
    if unknown := sorted(set(options.keys) - set(keys)):
        parser.error(f"unknown rows: {', '.join(unknown)} (--list shows them)")
    return options


def _list(conditions: Sequence[Condition]) -> None:
    for condition in conditions:
        protections = f"  (depends on {', '.join(condition.protections)})" if condition.protections else ""
        _say(f"{condition.key:24} {condition.count:>9,}  {condition.text}{protections}")


def _plan(conditions: Sequence[Condition], options: argparse.Namespace) -> list[Job]:
    """Return the jobs of a run; a run of everything includes the rows without their protections."""
    if options.without:
        return [*short_jobs(conditions, protection=options.without)]
    jobs = short_jobs(conditions) if options.short else whole_jobs(conditions, options.share)
    return [*jobs, *(() if options.keys else short_jobs(conditions, protection="all"))]


def _run_all(jobs: Sequence[Job], *, resume: bool) -> bool:
    """Run jobs, and return whether all ended as they should; `resume` takes over earlier results of the same code."""
    earlier = (run for run in read_runs() if resume and run.code == code_digest())
    known = {(run.key, run.planned, run.without): run for run in earlier}
    are_right = True
    for number, job in enumerate(jobs, 1):
        title = f"[{number}/{len(jobs)}] {job.condition.key}"
        title += f" without {job.without}" if job.without else ""
        if missing := missing_needs(job.condition):
            _say(f"{title}: skipped (needs {', '.join(missing)})")
            continue
        run = known.get((job.condition.key, job.count, job.without))
        if run is None or not run.is_right:
            _say(f"{title}: {job.count:,} …")
            run = run_job(job)
            record(run)
        _say(f"{title}: {_summary(run)}")
        are_right = are_right and run.is_right
    return are_right


def _summary(run: Run) -> str:
    result = run.result
    word = "passed" if result.passed else "FAILED"
    note = ", as it must" if run.without and run.is_right else ""
    counts = f"{result.count:,} applied, {result.double:,} double, {result.lost:,} lost, {result.unknown:,} unknown"
    figures = f"{counts}, {run.seconds:g} s, peak {run.peak_mib} MiB"
    return "\n    ".join([f"{word}{note}: {figures}", *result.problems, *result.notes])


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
