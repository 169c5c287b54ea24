"""Commands that run until a signal ends them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway_async.sandbox import Sandbox
from tests.support.processes import Facts, Listen, Process, Serve, Start
from tests.support.processes import start as start_command


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start `gateway-async`; what still runs when the test is over is killed."""
    started: list[Process] = []
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}

    def start(*arguments: str, **environment: str) -> Process:
        started.append(start_command(*arguments, **state, **environment))
        return started[-1]

    yield start
    for process in started:
        with process:
            pass


@pytest.fixture
def serve(start: Start) -> Serve:
    """Start `gateway-async sandbox --json` on a free port and read its line."""

    def serve(*options: str) -> tuple[Process, Facts]:
        process = start("sandbox", "--json", "--port", "0", *options)
        return process, next(process.events())

    return serve


@pytest.fixture
def listen(start: Start) -> Listen:
    """Start `gateway-async listen --json` on a free port, and read where it listens."""

    def listen(*options: str, **environment: str) -> tuple[Process, str]:
        process = start("listen", "--json", "--port", "0", *options, **environment)
        ready = next(process.events())
        assert ready["event"] == "ready"
        return process, ready["url"]

    return listen


@pytest.fixture
def environment(sandbox: Sandbox) -> dict[str, str]:
    return sandbox.environment()
