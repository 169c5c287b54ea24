"""`gateway-async migrate --serve`: the command serves its page as long as it runs."""

import os
import signal
import socket
import time
from pathlib import Path

import httpx
import pytest

from gateway_async.sandbox import Sandbox
from tests.support.processes import Process, Start, run
from tests.support.waiting import PATIENCE

HEADER = "key,account_number,exp_date\n"


def write(folder: Path, rows: int = 4) -> str:
    file = folder / "cards.csv"
    file.write_text(HEADER + "".join(f"{row},4111111111111111,12/30\n" for row in range(rows)), encoding="utf-8")
    return str(file)


def address_of(process: Process) -> str:
    assert process.stderr
    label, _, address = process.stderr.readline().strip().partition(": ")
    assert label == "Live page"
    return address


def test_stopping(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path, start: Start) -> None:
    """An open page sees it run, stop and end. Afterwards nothing is served any more."""
    sandbox.fault("POST /v2/accountvaults", "delay", seconds=4, times=4)
    process = start("migrate", write(tmp_path), "--serve", "0", **environment)
    address = address_of(process)
    states: list[str] = []
    with httpx.stream("GET", f"{address}/events", timeout=PATIENCE) as response:
        for line in response.iter_lines():
            if 'class="headline' in line:
                state = line.partition('class="headline')[2].partition(">")[2].partition("<")[0]
                states += [state] if states[-1:] != [state] else []
            if "concurrent calls</dt><dd>4 of" in line and len(states) == 1:
                os.kill(process.pid, signal.SIGINT)
            if line == "data: </main></body></html>":  # the report has no script
                break
    assert states == [
        "Running.",
        "Stopping: interrupted by Ctrl-C. Calls in progress end first.",
        "Stopped before the end: interrupted by Ctrl-C.",
    ]
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Warning" in errors) == (130, False)
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)


def test_a_page_exists_before_the_window_opens(environment: dict[str, str], tmp_path: Path, start: Start) -> None:
    hour = time.localtime().tm_hour
    window = f"{(hour + 2) % 24:02}:00-{(hour + 3) % 24:02}:00"
    options = ("--window", window, "--wait-for-window", "--serve", "0", "--json")
    process = start("migrate", write(tmp_path), *options, **environment)
    page = httpx.get(address_of(process))
    assert f"Waiting: the window {window} opens in" in page.text
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 143


def test_a_port_that_is_taken_is_wrong_usage(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run("migrate", write(tmp_path), "--serve", port, **environment)
    assert ended.returncode == 2
    assert f"serve: port {port} of 127.0.0.1 cannot be used" in ended.stderr
    assert sandbox.ledger()["stored"] == {}
