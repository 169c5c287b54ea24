"""Display of a running migration, from reports made by hand."""

import io
import json

import pytest
from rich.console import Console

from gateway_async.cli.migrate.display import MigrationDisplay, ProgressMeter, exit_status
from gateway_async.migration import Report


def test_rate() -> None:
    """Five of them, so that a slow start is soon forgotten. Skipped rows do not count."""
    meter = ProgressMeter(lambda: None)
    for second in range(1, 21):
        stored = second if second <= 10 else 10 + 100 * (second - 10)
        meter.update(Report(stored=stored, skipped=5000, seconds=float(second)))
    assert (meter.progress.rate, meter.progress.share, meter.progress.eta) == (100.0, None, None)


def test_remaining_time() -> None:
    """If a quarter is read in ten seconds, thirty remain. Before anything is read, the time is not known."""
    share = [0.0]
    meter = ProgressMeter(lambda: share[0])
    meter.update(Report(seconds=0.0))
    assert meter.progress.eta is None
    for seconds in (5.0, 10.0):
        share[0] = seconds / 40
        meter.update(Report(stored=10, seconds=seconds))
    remaining: float | None = meter.progress.eta
    assert meter.progress.share == 0.25
    assert remaining == pytest.approx(30)


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Elsewhere than on a terminal, lines come every five seconds, with what it waits for."""
    output = io.StringIO()
    display = MigrationDisplay(ProgressMeter(lambda: 0.5), Console(file=output, width=200), as_json=False)
    for tenth in range(120):
        display.show(Report(stored=tenth, seconds=tenth / 10, limit=64, in_flight=9, waits_for="room on the disk"))
    first, second = output.getvalue().splitlines()
    assert (
        "50 stored · 0 rejected · 0 repeated · 0 unknown · 9 of 64 concurrent calls, waiting: room on the disk" in first
    )
    assert " 50%" in first
    assert "100 stored" in second
    assert capsys.readouterr().out == ""


def test_events(capsys: pytest.CaptureFixture[str]) -> None:
    """Events come every second on standard output, one object a line, without what is said to people."""
    display = MigrationDisplay(ProgressMeter(lambda: None), Console(stderr=True), as_json=True)
    for tenth in range(25):
        display.show(Report(stored=tenth, seconds=tenth / 10))
    display.print("Finishing")
    shown = capsys.readouterr()
    events = [json.loads(line) for line in shown.out.splitlines()]
    assert [event["stored"] for event in events] == [0, 10, 20]
    assert events[0]["share"] is None
    assert shown.err == "Finishing\n"


def test_bar() -> None:
    """With share, rate, counts and calls, drawn in place and taken away at the end."""
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100, height=20)
    display = MigrationDisplay(ProgressMeter(lambda: 0.5), console, as_json=False)
    assert output.getvalue() == ""  # the cursor is shown while the window is closed
    display.print("Finishing the calls in progress")
    display.show(Report(stored=1234, rejected=5, seconds=10.0, limit=64, in_flight=60, failed_attempts=7))
    display.close()
    for shown in (
        "1,234 stored",
        "5 rejected",
        "60 of 64",
        "7 attempts failed",
        "50%",
        "rows/s",
        "Finishing the calls in progress",
    ):
        assert shown in output.getvalue()
    assert output.getvalue().endswith(("\x1b[2K", "\x1b[?25h"))


@pytest.mark.parametrize(
    ("report", "stopped_by_limit", "status"),
    [
        (Report(stored=1), False, 0),
        (Report(stored=1, rejected=1), False, 3),
        (Report(stored=1, repeated=1), False, 3),
        (Report(stored=1, rejected=1, unknown=1), False, 4),
        (Report(stopped="it is past the window", unknown=1), True, 5),
        (Report(stopped="the credentials were not accepted"), False, 1),
    ],
)
def test_the_exit_status(report: Report, stopped_by_limit: bool, status: int) -> None:
    """The first that fits: failed, stopped as asked, unknown, rejected, complete."""
    assert exit_status(report, stopped_by_limit=stopped_by_limit) == status
