"""The runner of the reliability table: crashes of rows, recorded runs, and the tables made from them."""

from pathlib import Path

import attrs
import pytest

from tests.reliability import document, runner
from tests.reliability.condition import Condition, Result
from tests.reliability.conditions import CONDITIONS
from tests.reliability.runner import Job, Run

KEY = CONDITIONS[0].key
RUN = Run(
    key=KEY,
    planned=20,
    without="",
    result=Result(count=20, notes=("20 writes",)),
    seconds=61.4,
    peak_mib=70,
    date="2026-11-23",
    version="0.1.0",
    machine="Python 3.11.9, Linux, 2 cores",
    code="0" * 12,
)


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use files of the test."""
    monkeypatch.setattr(runner, "RESULTS", tmp_path / "results" / "runs.jsonl")
    monkeypatch.setattr(document, "PAGE", tmp_path / "page.md")


def test_ended_process() -> None:
    """A process that ends without a result is a failed run, and does not end the runner."""
    unknown = Condition(key="unknown to the process", text="", count=1, short_count=1, run=lambda _: Result(count=1))
    run = runner.run_job(Job(unknown, 1))
    assert run.result.problems == ("its process ended with exit status 1",)


def test_crashed_protection() -> None:
    """Without its protection a row must fail by what it did, and not by an error of its own."""
    without = attrs.evolve(RUN, without="a protection")
    failed, crashed = Result(count=20, lost=1), Result(count=0, problems=("its process ended",))
    assert [attrs.evolve(without, result=each).is_right for each in (RUN.result, failed, crashed)] == [
        False,
        True,
        False,
    ]


def test_recorded_runs_are_read_again_by_the_next_process() -> None:
    runner.record(RUN)
    (read,) = runner.read_runs()
    assert attrs.evolve(read, result=RUN.result) == RUN
    assert read.result.passed
    assert read.result.count == RUN.result.count


def test_largest_run() -> None:
    """A short run does not replace the row of a whole run, and a newer whole run does."""
    document.PAGE.write_text("<!-- printed: rows -->\n\nold\n\n<!-- end -->\n", encoding="utf-8")
    failed = attrs.evolve(RUN, planned=100, result=Result(count=100, lost=1))
    document.write_document([failed, attrs.evolve(failed, result=Result(count=1000)), RUN])
    assert "| 1,000 | 0 | 0 | 0 | 1 min 1 s | 70 MiB | passed |\n\n<!-- end -->" in document.PAGE.read_text("utf-8")
