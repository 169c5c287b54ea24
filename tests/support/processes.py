"""The real command, in a process of its own."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

COMMAND = ("-W", "default", "-m", "gateway_async.cli")
"""With warnings shown, so that a socket left open is seen on standard error."""

PYTHON = Path(sys.executable).name
"""The name of this Python, such as `python` or `python3.11`."""

_COLORED = {"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _COLORED}
ENVIRONMENT |= {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}

Ended = subprocess.CompletedProcess[str]
Process = subprocess.Popen[str]
Facts = dict[str, Any]
Start = Callable[..., Process]
Serve = Callable[..., tuple[Process, Facts]]
Listen = Callable[..., tuple[Process, str]]


def start_python(*arguments: str, **environment: str) -> Process:
    """Start this Python and capture its output; the caller ends it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; children would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(  # noqa: S603  what runs is this project
        [sys.executable, *arguments],
        env=ENVIRONMENT | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def run_python(*arguments: str, **environment: str) -> Ended:
    """Run this Python to its end, or kill it after 50 seconds."""
    with start_python(*arguments, **environment) as process:
        try:
            output, errors = process.communicate(timeout=50)
        finally:
            process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def run(*arguments: str, **environment: str) -> Ended:
    """Run `gateway-async` to its end."""
    return run_python(*COMMAND, *arguments, **environment)


def run_on_terminal(*arguments: str, **environment: str) -> Ended:
    """Run `gateway-async` to its end on a terminal; standard error goes there too. Colors are removed."""
    ended = run_on_color_terminal(*arguments, **environment)
    ended.stdout = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", ended.stdout)
    return ended


def run_on_color_terminal(*arguments: str, **environment: str) -> Ended:
    """Run `gateway-async` to its end on a terminal, and keep the codes for colors and the cursor."""
    leader, follower = pty.openpty()
    options = {"TERM": "xterm", **environment}
    with subprocess.Popen(  # noqa: S603  what runs is this project
        [sys.executable, *COMMAND, *arguments],
        env=ENVIRONMENT | options,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    ) as process:
        os.close(follower)
        shown = b"".join(iter(lambda: _read(leader), b""))
        os.close(leader)
    return subprocess.CompletedProcess(process.args, process.wait(20), shown.decode().replace("\r\n", "\n"), "")


def _read(descriptor: int) -> bytes:
    """Read from a terminal; its end is an error on Linux."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def events(process: Process) -> Iterator[Facts]:
    """Yield the objects that `--json` prints."""
    assert process.stdout
    return (json.loads(line) for line in process.stdout)


def stop(process: Process, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
    """Return the exit status and the rest of the output after a signal."""
    process.send_signal(number)
    output, errors = process.communicate(timeout=20)
    return process.returncode, output, errors
